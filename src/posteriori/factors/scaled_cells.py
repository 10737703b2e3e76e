r"""Cells of any size: numbers times a common power of 2, or logarithms.

Cells are kept as :math:`v \cdot 2^e` with one exponent e per table as long as every cell fits, and
as logarithms once the smallest and the largest are too far apart, so that a cell of e^{-100000}
keeps its digits. Bounds on their size travel along, so that most operations need not look.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from posteriori.factors.axes import Pairing, Reduction
from posteriori.factors.cells import multiply_cells, sum_cells
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = [
    "BITS",
    "LN2",
    "ScaledCells",
    "add_up",
    "divide",
    "multiply_scaled",
    "normalize",
    "scale_logs",
    "scale_plain",
    "tighten",
]

#: A power of two in logarithms.
LN2 = math.log(2.0)
#: Cells between 2^-BITS and 2^BITS are kept as plain numbers.
BITS = 1000


class ScaledCells(NamedTuple):
    """Cells that belong to nobody else, and what is known about their size."""

    cells: Array
    #: The exponent e of 2, or None when the cells are logarithms.
    exponent: int | None
    #: Every cell that is not 0 lies between 2^low and 2^high.
    low: float
    high: float

    def logs(self) -> Array:
        """Return the natural logarithms of the cells, −inf for exact zeros."""
        if self.exponent is None:
            return self.cells
        with np.errstate(divide="ignore"):
            logs = np.log(self.cells)
        return logs + self.exponent * LN2 if self.exponent else logs

    def values(self) -> Array:
        """Return the cells as plain numbers; those below 1e-308 come out as 0."""
        if self.exponent == 0:
            return self.cells.view()
        with np.errstate(over="ignore", under="ignore"):
            if self.exponent is None:
                values = np.asarray(np.exp(self.cells))
            else:
                values = np.asarray(np.ldexp(self.cells, max(-4000, min(4000, self.exponent))))
        if not np.isfinite(values).all():
            raise OverflowError("cells of this factor exceed 1e308; use log_values")
        return values


# -- from plain numbers and logarithms -----------------------------------------------------------


def scale_plain(cells: Array, exponent: int) -> ScaledCells:
    """Wrap plain cells times 2^exponent whose range is not known yet."""
    low, high = _range(cells)
    if low >= -BITS and high <= BITS:
        return ScaledCells(cells, exponent, low, high)
    if high - low <= BITS:
        return ScaledCells(np.ldexp(cells, -int(high)), exponent + int(high), low - high, 0.0)
    with np.errstate(divide="ignore"):
        return _keep_logs(np.log(cells) + exponent * LN2)


def scale_logs(logs: Array) -> ScaledCells:
    """Keep logarithms as plain numbers if these can hold them."""
    top = float(np.max(logs))
    if top == -np.inf:
        return ScaledCells(np.zeros(logs.shape), 0, np.inf, -np.inf)
    bottom = float(np.min(logs, where=logs > -np.inf, initial=np.inf))
    if top - bottom > BITS * LN2:
        return _keep_logs(logs)
    exponent = 0 if -bottom < 500 and top < 500 else round(top / LN2)
    shift = exponent * LN2
    cells = np.exp(logs - shift)
    return ScaledCells(cells, exponent, (bottom - shift) / LN2 - 1, (top - shift) / LN2 + 1)


def tighten(a: ScaledCells) -> ScaledCells:
    """Find the true range of the cells, and bring the largest near 1."""
    if a.exponent is None:
        return a
    low, high = _range(a.cells)
    if high == -np.inf:
        return ScaledCells(a.cells, 0, low, high)
    if high - low > BITS:
        return _keep_logs(a.logs())
    cells = np.ldexp(a.cells, -int(high))
    return ScaledCells(cells, a.exponent + int(high), low - high, 0.0)


def _keep_logs(logs: Array) -> ScaledCells:
    return ScaledCells(logs, None, -np.inf, np.inf)


def _range(cells: Array) -> tuple[float, float]:
    """Return whole binary logarithms that bracket the cells that are not 0."""
    top = float(np.max(cells))
    if top == 0.0:
        return np.inf, -np.inf
    bottom = float(np.min(cells))
    if bottom == 0.0:
        bottom = float(np.min(cells, where=cells > 0, initial=np.inf))
    return math.frexp(bottom)[1] - 1.0, float(math.frexp(top)[1])


# -- arithmetic ----------------------------------------------------------------------------------


def multiply_scaled(a: ScaledCells, b: ScaledCells, plan: Pairing) -> ScaledCells:
    """Return the products of the cells of two tables that are lined up by ``plan``."""
    low, high = a.low + b.low, a.high + b.high
    if not (low >= -BITS and high <= BITS):
        return _multiply_extremes(a, b, plan)
    left, right = _lined_up(a.cells, b.cells, plan)
    exponent = a.exponent + b.exponent  # type: ignore[operator]  # bounds say so
    return ScaledCells(multiply_cells(left, right), exponent, low, high)


def _multiply_extremes(a: ScaledCells, b: ScaledCells, plan: Pairing) -> ScaledCells:
    """Multiply where the known bounds do not promise that plain numbers hold the result."""
    a, b = tighten(a), tighten(b)
    if a.low + b.low >= -BITS and a.high + b.high <= BITS:
        return multiply_scaled(a, b, plan)
    left, right = _lined_up(a.logs(), b.logs(), plan)
    return scale_logs(left + right)


def divide(a: ScaledCells, b: ScaledCells, plan: Pairing) -> ScaledCells:
    """Return the quotients of the cells; 0/0 is 0, and dividing anything else by 0 is refused."""
    low, high = a.low - b.high, a.high - b.low
    plain = a.exponent is not None and b.exponent is not None
    if not (plain and low >= -BITS and high <= BITS):
        a, b = _keep_logs(a.logs()), _keep_logs(b.logs())
    left, right = _lined_up(a.cells, b.cells, plan)
    zero = -np.inf if a.exponent is None else 0.0
    nothing = right == zero
    if nothing.any():
        _refuse_division(plan, (left != zero) & nothing)
        right = np.where(nothing, 1.0, right)  # the numerator is 0 there, and stays 0
    if a.exponent is None or b.exponent is None:
        return scale_logs(left - right)
    return ScaledCells(np.divide(left, right), a.exponent - b.exponent, low, high)


def add_up(a: ScaledCells, plan: Reduction) -> ScaledCells:
    """Return the sums over the axes that go."""
    if a.exponent is not None and a.high + plan.log2_terms > BITS:
        a = tighten(a)
    if a.exponent is None:
        return scale_logs(np.asarray(log_sum_exp(a.cells, plan.gone)))
    cells = sum_cells(a.cells, plan.gone)
    return ScaledCells(cells, a.exponent, a.low, a.high + plan.log2_terms)


def normalize(a: ScaledCells, total: ScaledCells) -> ScaledCells:
    """Return the cells divided by their sum ``total``, a single cell that is not 0."""
    if a.exponent is None:
        return scale_logs(a.cells - float(total.logs()))
    assert total.exponent is not None
    scale = float(total.cells)
    cells, exponent, bits = a.cells / scale, a.exponent - total.exponent, math.log2(scale)
    low, high = a.low - bits, a.high - bits
    if low >= -BITS and high <= BITS:
        return ScaledCells(cells, exponent, low, high)
    return scale_plain(cells, exponent)


def _lined_up(a: Array, b: Array, plan: Pairing) -> tuple[Array, Array]:
    if plan.left is not None:
        a = a[plan.left]
    if plan.order is not None:
        b = b.transpose(plan.order)
    if plan.right is not None:
        b = b[plan.right]
    return a, b


def _refuse_division(plan: Pairing, wrong: Any) -> None:
    if wrong.any():
        at = np.argwhere(np.broadcast_to(wrong, plan.axes.shape))[0]
        cell = ", ".join(
            f"{name}={labels[i]!r}"
            for name, labels, i in zip(plan.axes.names, plan.axes.labels, at, strict=True)
        )
        raise ZeroDivisionError(
            f"the cell ({cell}) divides a positive number by 0; only 0/0 has a value, 0"
        )
