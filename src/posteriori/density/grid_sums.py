r"""Sums of normal kernels in one or two columns at very many points.

Columns are cut into cells of the kernel's width. Between two cells the kernel is a polynomial to twelve
digits, :math:`e^{-(x-y)^2/2} \approx \sum_{ab} T_a(x)\,K_{ab}\,T_b(y)` with Chebyshev polynomials of the
places in the cells. So rows become moments :math:`\sum_n w_n T_a(x_n)` of their cell, these pass to the
cells around, column by column, and a point reads a polynomial: O(N + Q + cells), not O(N Q).

Reference: L. Greengard & J. Strain, "The fast Gauss transform", 1991 (there with Hermite functions).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from posteriori.numerics.compilation import as_kernel_input, kernel
from posteriori.numerics.types import Array

__all__ = ["grid_pays", "grid_sums"]

#: Coefficients of a polynomial: with 12 the kernel has an error of 1e-12 between cells of side 1.
_TERMS = 12
#: Cells that a kernel reaches to each side: beyond them lies less than e^−32 of its height.
_REACH = 8
#: Numbers that a grid may hold: 32 MB.
_LARGEST = 2**22
#: Multiplications of matrices that take as long as one pair of a row and a point.
_CHEAP = 16.0
#: Largest error of a sum that is returned, relative to it.
_ACCURACY = 1e-7


class _Transfer(NamedTuple):
    """Kernel between the polynomials of cells.

    Attributes
    ----------
    steps : (2 R + 1, P, P)
        Coefficients K of points that lie −R, …, R cells after the rows.
    error : float
        Largest error of the kernel.
    """

    steps: Array
    error: float


def _cells(rows: Array) -> list[int]:
    return [int(np.ceil(span)) + 1 for span in np.ptp(rows, axis=0)]


def grid_pays(rows: Array, points: int) -> bool:
    """Tell whether a grid takes less time than all pairs of rows and points."""
    if rows.shape[1] > 2:
        return False
    spans = np.ptp(rows, axis=0)
    size = float(np.prod((np.ceil(spans) + 1.0) * _TERMS))
    work = size * rows.shape[1] * _TERMS * (2 * _REACH + 1)
    return size <= _LARGEST and work <= _CHEAP * len(rows) * points


def grid_sums(rows: Array, weights: Array, points: Array) -> tuple[Array, Array]:
    """Return ln Σ_n w_n exp(−|q − x_n|²/2), and where it is right to 1e-7.

    Parameters
    ----------
    rows : (N, D)
        D is 1 or 2.
    weights : (N,)
    points : (Q, D)

    Returns
    -------
    (Q,), (Q,) of bool
        Where it is not right (points outside the box of the rows, or so far from them that little is
        left of the sum) the first is meaningless.
    """
    transfer = _transfer()
    cells, low = _cells(rows), rows.min(axis=0)
    if rows.shape[1] == 1:  # a second column of one cell and one coefficient
        rows, points = (np.pad(a, ((0, 0), (0, 1))) for a in (rows, points))
        cells, low = [*cells, 1], np.append(low, 0.0)
        terms = (_TERMS, 1)
    else:
        terms = (_TERMS, _TERMS)
    made = np.zeros((cells[0], terms[0], cells[1], terms[1]))
    held = np.zeros(cells)
    _gather(as_kernel_input(rows), as_kernel_input(weights), as_kernel_input(low), made, held)
    made, held = _pass_on(made, held, transfer.steps)
    if terms[1] > 1:
        made, held = _pass_on(made.transpose(2, 3, 0, 1), held.T, transfer.steps)
        made, held = made.transpose(2, 3, 0, 1), held.T
    sums, near = np.empty(len(points)), np.empty(len(points))
    _read(
        as_kernel_input(points),
        as_kernel_input(low),
        as_kernel_input(made),
        held.copy(),
        sums,
        near,
    )
    beyond = np.exp(-0.5 * _REACH**2) * weights.sum()
    error = 2.0 * transfer.error * near + beyond  # both columns
    good = sums * _ACCURACY > error
    return np.log(np.where(good, sums, 1.0)), good


def _pass_on(made: Array, held: Array, steps: Array) -> tuple[Array, Array]:
    """Pass moments (C, P, …) to the cells around along the first axis; count rows that are passed."""
    count = len(made)
    flat = made.reshape(count, steps.shape[1], -1)
    out, near = np.zeros_like(flat), np.zeros_like(held)
    for step, weights in zip(range(-_REACH, _REACH + 1), steps, strict=True):
        if abs(step) >= count:
            continue
        to = slice(max(step, 0), count + min(step, 0))
        of = slice(max(-step, 0), count + min(-step, 0))
        out[to] += weights @ flat[of]
        near[to] += held[of]
    return out.reshape(made.shape), near


@cache
def _transfer() -> _Transfer:
    nodes = np.cos(np.pi * (np.arange(_TERMS) + 0.5) / _TERMS)
    basis = chebyshev.chebvander(nodes, _TERMS - 1)
    interpolate = np.linalg.solve(basis, np.eye(_TERMS))  # values at nodes → coefficients
    offsets = np.arange(-_REACH, _REACH + 1)[:, None, None]
    steps = interpolate @ _kernel(offsets, nodes) @ interpolate.T
    fine = np.linspace(-1.0, 1.0, 41)
    values = chebyshev.chebvander(fine, _TERMS - 1)
    error = np.abs(values @ steps @ values.T - _kernel(offsets, fine)).max()
    steps.setflags(write=False)
    return _Transfer(steps, float(error))


def _kernel(offsets: Array, places: Array) -> Array:
    """Return the kernel between all places −1, …, 1 in cells of side 1 that are offsets apart."""
    return np.exp(-0.5 * (offsets + 0.5 * (places[:, None] - places[None, :])) ** 2)


# -- compiled loops ------------------------------------------------------------------------------


@kernel(sums="free")
def _gather(rows: Array, weights: Array, low: Array, made: Array, held: Array) -> None:
    """Add the moments w T_a(x₀) T_b(x₁) of each row to its cell."""
    first, second = np.empty(made.shape[1]), np.empty(made.shape[3])
    for n in range(len(rows)):
        i = min(int(rows[n, 0] - low[0]), made.shape[0] - 1)
        j = min(int(rows[n, 1] - low[1]), made.shape[2] - 1)
        x, y = 2.0 * (rows[n, 0] - low[0] - i) - 1.0, 2.0 * (rows[n, 1] - low[1] - j) - 1.0
        first[0], second[0] = weights[n], 1.0
        if len(first) > 1:
            first[1] = weights[n] * x
        if len(second) > 1:
            second[1] = y
        for a in range(2, len(first)):
            first[a] = 2.0 * x * first[a - 1] - first[a - 2]
        for b in range(2, len(second)):
            second[b] = 2.0 * y * second[b - 1] - second[b - 2]
        held[i, j] += weights[n]
        for a in range(len(first)):
            for b in range(len(second)):
                made[i, a, j, b] += first[a] * second[b]


@kernel(sums="free")
def _read(points: Array, low: Array, made: Array, held: Array, sums: Array, near: Array) -> None:
    """Evaluate the polynomial of the cell of each point; 0 outside of all cells."""
    first, second = np.empty(made.shape[1]), np.empty(made.shape[3])
    for q in range(len(points)):
        sums[q] = near[q] = 0.0
        p, r = points[q, 0] - low[0], points[q, 1] - low[1]
        if not (0.0 <= p < made.shape[0] and 0.0 <= r < made.shape[2]):
            continue
        i, j = int(p), int(r)
        x, y = 2.0 * (p - i) - 1.0, 2.0 * (r - j) - 1.0
        first[0] = second[0] = 1.0
        if len(first) > 1:
            first[1] = x
        if len(second) > 1:
            second[1] = y
        for a in range(2, len(first)):
            first[a] = 2.0 * x * first[a - 1] - first[a - 2]
        for b in range(2, len(second)):
            second[b] = 2.0 * y * second[b - 1] - second[b - 2]
        near[q] = held[i, j]
        for a in range(len(first)):
            part = 0.0
            for b in range(len(second)):
                part += made[i, a, j, b] * second[b]
            sums[q] += first[a] * part
