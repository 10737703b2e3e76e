"""The best cut of each column under signed weights, in compiled loops; see :mod:`stumps`."""

from __future__ import annotations

from typing import Any

from posteriori.inference.trees.splits import TIE
from posteriori.numerics.compilation import compiled_beside, compiled_part

__all__ = ["find_cuts"]


@compiled_beside
def find_cuts(
    codes: Any,
    rows: Any,
    ends: Any,
    gaps: Any,
    starts: Any,
    signed: Any,
    gini: bool,
    first: int,
    last: int,
    cells: Any,
    scores: Any,
    cuts: Any,
    missing_left: Any,
) -> None:
    """Find the best cut of each column from ``first`` to ``last``: its worth, place, and where gaps go.

    The worth is 1 − 2ε, or the part of −2 Σ W Q that a cut changes.
    """
    s = w = 0.0
    for n in range(len(signed)):
        s += signed[n]
        w += abs(signed[n])
    for j in range(first, last):
        size = starts[j + 1] - starts[j]
        mine, of_bins = cells[: size + 1], ends[starts[j] : starts[j + 1]]
        if codes.shape[1]:
            _add_by_code(codes[j], signed, gini, mine)
        else:
            _add_gaps(rows[j, of_bins[size - 1] :], signed, mine[size])
        if gini:
            found = _scan_gini(mine, rows[j], of_bins, signed, gaps[j], s, w)
        else:
            found = _scan_error(mine, rows[j], of_bins, signed, gaps[j], s, w)
        scores[j], cuts[j], missing_left[j] = found


@compiled_part
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


@compiled_part
def _add_gaps(rows: Any, signed: Any, cell: Any) -> None:
    """Add up the rows whose entry is missing; the others are, as the scan comes to them."""
    cell[:] = 0.0
    for i in range(len(rows)):
        cell[0] += signed[rows[i]]
        cell[1] += abs(signed[rows[i]])


@compiled_part
def _scan_error(
    cells: Any, rows: Any, ends: Any, signed: Any, gaps: bool, s: float, w: float
) -> tuple[float, int, bool]:
    """Return |S_l| + |S_r| of the best cut, the bin before it (−1: none), and where gaps go."""
    size, i, left, gap = len(cells) - 1, 0, 0.0, cells[len(cells) - 1, 0]
    slack = TIE * w
    best, cut, missing_left = abs(s), -1, False
    for b in range(size if gaps else size - 1):
        if len(rows):
            while i < ends[b]:
                left += signed[rows[i]]
                i += 1
        else:
            left += cells[b, 0]
        worth = abs(left) + abs(s - left)
        if worth > best + slack:
            best, cut, missing_left = worth, b, False
        if gaps and b < size - 1:
            worth = abs(left + gap) + abs(s - left - gap)
            if worth > best + slack:
                best, cut, missing_left = worth, b, True
    return best, cut, missing_left


@compiled_part
def _scan_gini(
    cells: Any, rows: Any, ends: Any, signed: Any, gaps: bool, s: float, w: float
) -> tuple[float, int, bool]:
    """Return S_l²/W_l + S_r²/W_r of the best cut, the bin before it (−1: none), and where gaps go."""
    size, i, left, left_weight = len(cells) - 1, 0, 0.0, 0.0
    gap, gap_weight = cells[size, 0], cells[size, 1]
    slack = TIE * w
    best, cut, missing_left = s * s / w, -1, False
    for b in range(size if gaps else size - 1):
        if len(rows):
            while i < ends[b]:
                left += signed[rows[i]]
                left_weight += abs(signed[rows[i]])
                i += 1
        else:
            left += cells[b, 0]
            left_weight += cells[b, 1]
        for side in range(2 if gaps and b < size - 1 else 1):
            l, v = left + side * gap, left_weight + side * gap_weight
            r, u = s - l, w - v
            # S_l²/W_l + S_r²/W_r > best, without divisions
            if v > 0.0 and u > 0.0 and l * l * u + r * r * v > (best + slack) * u * v:
                best, cut, missing_left = l * l / v + r * r / u, b, side == 1
    return best, cut, missing_left
