"""The best cut of each column under signed weights, in compiled loops; see :mod:`stumps`.

A column has places in order, its bins or its rows, and a cut comes after one of them.
"""

from __future__ import annotations

from typing import Any

from posteriori.inference.trees.scores import TIE
from posteriori.numerics.compilation import kernel

__all__ = ["find_cuts"]


@kernel(allocates=False)
def find_cuts(
    codes: Any,
    rows: Any,
    last: Any,
    places: Any,
    gaps: Any,
    signed: Any,
    gini: bool,
    begin: int,
    end: int,
    cells: Any,
    scores: Any,
    cuts: Any,
    missing_left: Any,
) -> None:
    """Find the best cut of each column from ``begin`` to ``end``: its worth, place, and where gaps go.

    The worth is 1 − 2ε, or the part of −2 Σ W Q that a cut changes.
    """
    s = w = 0.0
    for n in range(len(signed)):
        s += signed[n]
        w += abs(signed[n])
    for j in range(begin, end):
        size = places[j]
        if codes.shape[1]:
            _add_by_code(codes[j], signed, gini, cells[: size + 1])
        else:
            _add_gaps(rows[j, size:], signed, cells[size])
        if gini:
            found = _scan_gini(cells, rows[j], last[j], size, signed, gaps[j], s, w)
        else:
            found = _scan_error(cells, rows[j], last[j], size, signed, gaps[j], s, w)
        scores[j], cuts[j], missing_left[j] = found


@kernel(called="kernels")
def _add_by_code(codes: Any, signed: Any, gini: bool, cells: Any) -> None:
    """Add up signed weights by bins, and weights where Gini's impurity asks for them."""
    cells[:] = 0.0
    if not gini:
        for n in range(len(codes)):
            cells[codes[n], 0] += signed[n]
        return
    for n in range(len(codes)):
        cells[codes[n], 0] += signed[n]
        cells[codes[n], 1] += abs(signed[n])


@kernel(called="kernels")
def _add_gaps(rows: Any, signed: Any, cell: Any) -> None:
    """Add up the rows whose entry is missing; the others are, as the scan comes to them."""
    cell[:] = 0.0
    for i in range(len(rows)):
        cell[0] += signed[rows[i]]
        cell[1] += abs(signed[rows[i]])


@kernel(called="kernels")
def _scan_error(
    cells: Any, rows: Any, last: Any, size: int, signed: Any, gaps: bool, s: float, w: float
) -> tuple[float, int, bool]:
    """Return |S_l| + |S_r| of the best cut, the place before it (−1: none), and where gaps go."""
    left, gap, slack, ordered = 0.0, cells[size, 0], TIE * w, len(rows) > 0
    best, cut, missing_left = abs(s), -1, False
    for i in range(size if gaps else size - 1):
        left += signed[rows[i]] if ordered else cells[i, 0]
        worth = abs(left) + abs(s - left)
        if worth > best + slack and (not ordered or last[i]):
            best, cut, missing_left = worth, i, False
        if gaps and i < size - 1:
            worth = abs(left + gap) + abs(s - left - gap)
            if worth > best + slack and (not ordered or last[i]):
                best, cut, missing_left = worth, i, True
    return best, cut, missing_left


@kernel(called="kernels")
def _scan_gini(
    cells: Any, rows: Any, last: Any, size: int, signed: Any, gaps: bool, s: float, w: float
) -> tuple[float, int, bool]:
    """Return S_l²/W_l + S_r²/W_r of the best cut, the place before it (−1: none), and where gaps go.

    It is compared without divisions.
    """
    gap, gap_weight, slack, ordered = cells[size, 0], cells[size, 1], TIE * w, len(rows) > 0
    l = v = 0.0  # S and W on the left; r and u are those on the right
    best, cut, missing_left = s * s / w, -1, False
    for i in range(size if gaps else size - 1):
        l += signed[rows[i]] if ordered else cells[i, 0]
        v += abs(signed[rows[i]]) if ordered else cells[i, 1]
        r, u = s - l, w - v
        better = l * l * u + r * r * v > (best + slack) * u * v
        if better and (not ordered or last[i]) and u > 0.0 and v > 0.0:
            best, cut, missing_left = l * l / v + r * r / u, i, False
        if gaps and i < size - 1:
            m, t = l + gap, v + gap_weight  # what is missing goes left
            r, u = s - m, w - t
            better = m * m * u + r * r * t > (best + slack) * u * t
            if better and (not ordered or last[i]) and u > 0.0 and t > 0.0:
                best, cut, missing_left = m * m / t + r * r / u, i, True
    return best, cut, missing_left
