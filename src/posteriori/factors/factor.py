r"""Factors: non-negative tables over named, labelled axes.

A factor is a function :math:`\phi(x_1, \dots, x_n) \ge 0` of discrete variables, not necessarily
normalised. Its cells are kept as :math:`v \cdot 2^e` with one exponent e per table as long as
every cell fits, and as logarithms once the smallest and the largest are too far apart, so that a
cell of e^{-100000} keeps its digits. Which of the two is in use shows in no result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from posteriori.factors.axes import (
    Axes,
    Label,
    Names,
    Pairing,
    as_labels,
    as_names,
    hint,
    ordering,
    pair,
    reduction,
    without,
)
from posteriori.factors.cells import max_cells, multiply_cells, sum_cells
from posteriori.factors.formatting import format_table
from posteriori.numerics.lazy import special
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array
from posteriori.numerics.validation import nonnegative

__all__ = ["Factor", "Normalized"]

Labels = Mapping[str, Iterable[Label]] | Sequence[Iterable[Label] | None] | None

_LN2 = math.log(2.0)
#: Cells between 2^-_BITS and 2^_BITS are kept as plain numbers.
_BITS = 1000


class Normalized(NamedTuple):
    """A factor that sums to 1, and the logarithm of what it summed to before."""

    factor: Factor
    log_total: float


class Factor:
    r"""A non-negative table over named axes.

    Parameters
    ----------
    names : str or iterable of str
        One name per axis.
    values : array_like
        The cells: finite and not negative, one axis per name.
    labels : mapping or sequence, optional
        Labels of each axis, by name or in order; 0, …, K−1 where not given.

    Examples
    --------
    >>> prior = Factor("D", [0.99, 0.01])
    >>> test = Factor(["D", "T"], [[0.85, 0.15], [0.05, 0.95]])
    >>> joint = prior * test
    >>> joint.marginal("T").values
    array([0.842, 0.158])
    >>> joint.reduce({"T": 1}).normalize().factor
    Factor over D
    D  value
    0  0.939873
    1  0.060127

    Logarithms keep what linear numbers would lose:

    >>> tiny = Factor.from_log("A", [0.0, -1000.0])
    >>> (tiny * tiny * tiny).log_values
    array([    0., -3000.])
    """

    #: Lets ``number * factor`` reach the factor when the number is NumPy's.
    __array_ufunc__ = None

    _axes: Axes
    _cells: Array
    #: The exponent e of 2, or None when the cells are logarithms.
    _exponent: int | None
    #: Every cell that is not 0 lies between 2^low and 2^high.
    _low: float
    _high: float

    def __init__(self, names: Names, values: Any, labels: Labels = None) -> None:
        cells = np.asarray(nonnegative("values", values))
        axes = _axes_of(as_names(names), cells.shape, labels)
        self.__dict__.update(_linear(axes, cells, 0).__dict__)

    @classmethod
    def from_log(cls, names: Names, log_values: Any, labels: Labels = None) -> Self:
        """Return the factor with these logarithms; −inf stands for a cell of 0."""
        logs = np.array(log_values, dtype=np.float64)
        if np.isnan(logs).any() or (logs == np.inf).any():
            raise ValueError("log_values must hold finite numbers or -inf")
        return _from_logs(_axes_of(as_names(names), logs.shape, labels), logs)  # type: ignore[return-value]

    @classmethod
    def scalar(cls, value: float) -> Self:
        """Return a factor without axes, such as the product of no factors."""
        return cls((), value)

    # -- what it holds ---------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the axes."""
        return self._axes.names

    @property
    def labels(self) -> dict[str, tuple[Label, ...]]:
        """Labels of each axis, by name."""
        return dict(zip(self._axes.names, self._axes.labels, strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of labels of each axis."""
        return self._axes.shape

    @property
    def size(self) -> int:
        """Number of cells."""
        return self._axes.size

    @cached_property
    def values(self) -> Array:
        """The cells; those below 1e-308 come out as 0 (``log_values`` keeps them).

        Raises
        ------
        OverflowError
            When a cell is above 1e308.
        """
        if self._exponent == 0:
            values = self._cells.view()
        else:
            with np.errstate(over="ignore", under="ignore"):
                if self._exponent is None:
                    values = np.exp(self._cells)
                else:
                    values = np.ldexp(self._cells, _clipped(self._exponent))
            if not np.isfinite(values).all():
                raise OverflowError("cells of this factor exceed 1e308; use log_values")
        values = np.asarray(values)
        values.setflags(write=False)
        return values

    @property
    def log_values(self) -> Array:
        """Natural logarithms of the cells, −inf for exact zeros."""
        logs = np.array(self._logs())
        logs.setflags(write=False)
        return logs

    @cached_property
    def probabilities(self) -> Array:
        """The cells divided by their sum."""
        return self.normalize().factor.values

    def log_value(self, assignment: Mapping[str, Label]) -> float:
        """Return the logarithm of one cell; ``assignment`` gives a label for every axis."""
        for name in self.names:
            if name not in assignment:
                raise ValueError(f"the assignment gives no label for axis {name!r}")
        return float(self.reduce(assignment)._logs())

    # -- algebra ---------------------------------------------------------------------------

    def __mul__(self, other: Factor | float) -> Factor:
        if not isinstance(other, Factor):
            if not isinstance(other, (int, float, np.number)):
                return NotImplemented
            other = Factor.scalar(float(other))
        plan = pair(self._axes, other._axes)
        low, high = self._low + other._low, self._high + other._high
        if not (low >= -_BITS and high <= _BITS):
            return _product_of_extremes(self, other, plan)
        left, right = _lined_up(self._cells, other._cells, plan)
        exponent = self._exponent + other._exponent  # type: ignore[operator]  # bounds say so
        return _make(plan.axes, multiply_cells(left, right), exponent, low, high)

    __rmul__ = __mul__

    def __truediv__(self, other: Factor | float) -> Factor:
        """Divide; 0/0 is 0, and dividing anything else by 0 is an error."""
        if not isinstance(other, Factor):
            if not isinstance(other, (int, float, np.number)):
                return NotImplemented
            other = Factor.scalar(float(other))
        plan = pair(self._axes, other._axes)
        low, high = self._low - other._high, self._high - other._low
        plain = self._exponent is not None and other._exponent is not None
        numerator, denominator = self, other
        if not (plain and low >= -_BITS and high <= _BITS):
            numerator, denominator = _as_logs(self), _as_logs(other)
        left, right = _lined_up(numerator._cells, denominator._cells, plan)
        plain = numerator._exponent is not None
        nothing = right == (0.0 if plain else -np.inf)
        if nothing.any():
            _refuse_division(plan, (left != (0.0 if plain else -np.inf)) & nothing)
            right = np.where(nothing, 1.0, right)  # the numerator is 0 there, and stays 0
        if numerator._exponent is None or denominator._exponent is None:
            return _from_logs(plan.axes, left - right)
        exponent = numerator._exponent - denominator._exponent
        return _make(plan.axes, np.divide(left, right), exponent, low, high)

    def sum_out(self, names: Names) -> Factor:
        """Return the sum over the axes ``names``."""
        gone = self._axes.names_of(names)
        return self.marginal(tuple(name for name in self.names if name not in gone))

    def marginal(self, keep: Names) -> Factor:
        """Return the sum over all axes but ``keep``; the axes of the result are in that order."""
        chosen = as_names(keep, "keep")
        plan = reduction(self._axes, chosen)
        if not plan.gone:
            return self.transpose(chosen)
        source = self
        high = self._high + plan.log2_terms
        if self._exponent is None:
            logs = log_sum_exp(self._cells, plan.gone)
            result = _from_logs(plan.axes, np.asarray(logs))
        else:
            if high > _BITS:
                source = _tightened(self)
                if source._exponent is None:
                    return source.marginal(keep)
                high = source._high + plan.log2_terms
            cells = sum_cells(source._cells, plan.gone)
            result = _make(plan.axes, cells, source._exponent, source._low, high)
        return result if plan.axes.names == chosen else result.transpose(chosen)

    def max_out(self, names: Names) -> Factor:
        """Return the maximum over the axes ``names``."""
        gone = self._axes.names_of(names)
        return self.maximum(tuple(name for name in self.names if name not in gone))

    def maximum(self, keep: Names) -> Factor:
        """Return the maximum over all axes but ``keep``: the max-marginal."""
        chosen = as_names(keep, "keep")
        plan = reduction(self._axes, chosen)
        if not plan.gone:
            return self.transpose(chosen)
        cells = max_cells(self._cells, plan.gone)
        result = _make(plan.axes, cells, self._exponent, self._low, self._high)
        return result if plan.axes.names == chosen else result.transpose(chosen)

    def argmax(self) -> dict[str, Label]:
        """Return the labels of the largest cell (the first one, if several are equal)."""
        best = np.unravel_index(int(np.argmax(self._cells)), self.shape)
        return {
            name: labels[i]
            for name, labels, i in zip(self.names, self._axes.labels, best, strict=True)
        }

    def reduce(self, evidence: Mapping[str, Label]) -> Factor:
        """Fix some axes at a label and drop them.

        Names that are no axes are refused; see :meth:`restrict` for evidence that concerns other
        factors, too.
        """
        index: list[Any] = [slice(None)] * len(self.names)
        for name, label in evidence.items():
            axis, index[axis] = self._axes.locate(name, label)
        cells = np.array(self._cells[tuple(index)])
        return _make(
            without(self._axes, tuple(evidence)), cells, self._exponent, self._low, self._high
        )

    def restrict(self, evidence: Mapping[str, Label]) -> Factor:
        """Reduce by the part of ``evidence`` that concerns this factor."""
        mine = {name: label for name, label in evidence.items() if name in self._axes.position}
        return self.reduce(mine) if mine else self

    def transpose(self, names: Names) -> Factor:
        """Return the same function with its axes in another order."""
        chosen = as_names(names)
        if chosen == self.names:
            return self
        axes, order = ordering(self._axes, chosen)
        cells = self._cells.transpose(order)
        return _make(axes, cells, self._exponent, self._low, self._high)

    def rename(self, names: Mapping[str, str]) -> Factor:
        """Return the same table with some axes under new names, ``{old: new}``."""
        self._axes.names_of(names)
        renamed = as_names(tuple(names.get(name, name) for name in self.names))
        axes = Axes.of(renamed, self._axes.labels)
        return _make(axes, self._cells, self._exponent, self._low, self._high)

    # -- normalisation and information -----------------------------------------------------

    @cached_property
    def log_total(self) -> float:
        """Logarithm of the sum of all cells, −inf if all are 0."""
        return float(self.marginal(())._logs())

    def normalize(self) -> Normalized:
        """Return the factor divided by its sum, and the logarithm of that sum.

        Raises
        ------
        ValueError
            When every cell is 0: nothing is possible, and nothing can be normalised.
        """
        log_total = self.log_total
        if log_total == -np.inf:
            over = ", ".join(self.names) or "no axes"
            raise ValueError(
                f"every cell of the factor over {over} is 0: it has no normalised form"
            )
        if self._exponent is None:
            return Normalized(_from_logs(self._axes, self._cells - log_total), log_total)
        total = self.marginal(())
        assert total._exponent is not None
        scale = float(total._cells)
        cells = self._cells / scale
        shift = self._exponent - total._exponent
        bits = math.log2(scale)
        factor = _make(self._axes, cells, shift, self._low - bits, self._high - bits)
        if not (factor._low >= -_BITS and factor._high <= _BITS):
            factor = _linear(self._axes, cells, shift)
        return Normalized(factor, log_total)

    def entropy(self, *, unit: str = "nats") -> float:
        """Return the entropy −Σ p ln p of the normalised table.

        Parameters
        ----------
        unit : "nats" or "bits"
            Natural logarithms or logarithms of base 2.

        Examples
        --------
        >>> Factor("X", [1, 1]).entropy(unit="bits")
        1.0
        """
        total = float(np.sum(special.entr(self.probabilities)))
        return total / nats_per(unit)

    # -- being a value ---------------------------------------------------------------------

    def allclose(self, other: Factor, tolerance: float = 1e-9) -> bool:
        """Tell whether both are the same function up to rounding, whatever the order of axes.

        Cells agree when they differ by less than ``tolerance`` relative to their own size, however
        small that is; a zero equals a zero only.
        """
        if not self._same_axes(other):
            return False
        a, b = self._logs(), other.transpose(self.names)._logs()
        with np.errstate(invalid="ignore"):
            gap = np.abs(a - b)
        near = tolerance * np.maximum(1.0, np.minimum(np.abs(a), np.abs(b)))
        return bool(np.all((a == b) | (gap <= near)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Factor):
            return NotImplemented
        if not self._same_axes(other):
            return False
        same = other.transpose(self.names)
        if self._exponent == same._exponent:
            return bool(np.array_equal(self._cells, same._cells))
        return bool(np.array_equal(self._logs(), same._logs()))

    def __hash__(self) -> int:
        return hash(frozenset(zip(self.names, self._axes.labels, strict=True)))

    def _same_axes(self, other: Factor) -> bool:
        return set(zip(self.names, self._axes.labels, strict=True)) == set(
            zip(other.names, other._axes.labels, strict=True)
        )

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a Factor is a value: make a new one instead of setting {name}")

    def __getattr__(self, name: str) -> NoReturn:
        public = [known for known in dir(type(self)) if not known.startswith("_")]
        raise AttributeError(f"Factor has no attribute {name!r}{hint(name, public)}")

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self.names, self._axes.labels, self._cells)
        return _restore, (*state, self._exponent, self._low, self._high)

    def __repr__(self) -> str:
        return f"Factor over {', '.join(self.names) or 'no axes'}\n{self._table('value')}"

    def _table(self, title: str) -> str:
        """Return the cells as aligned text, one row per cell."""
        try:
            return format_table(self.names, self._axes.labels, self.values, title)
        except OverflowError:
            return format_table(self.names, self._axes.labels, self.log_values, f"log {title}")

    def _logs(self) -> Array:
        if self._exponent is None:
            return self._cells
        with np.errstate(divide="ignore"):
            logs = np.log(self._cells)
        return logs + self._exponent * _LN2 if self._exponent else logs


def nats_per(unit: str) -> float:
    """Return how many nats one unit of information is."""
    try:
        return {"nats": 1.0, "bits": _LN2}[unit]
    except KeyError:
        raise ValueError(f"unit must be 'nats' or 'bits', got {unit!r}") from None


def _make(axes: Axes, cells: Array, exponent: int | None, low: float, high: float) -> Factor:
    """Wrap cells that belong to nobody else."""
    factor = object.__new__(Factor)
    state = factor.__dict__
    state["_axes"], state["_cells"], state["_exponent"] = axes, cells, exponent
    state["_low"], state["_high"] = low, high
    return factor


def _linear(axes: Axes, cells: Array, exponent: int) -> Factor:
    """Wrap plain cells whose range is not known yet."""
    low, high = _range(cells)
    if low >= -_BITS and high <= _BITS:
        return _make(axes, cells, exponent, low, high)
    if high - low <= _BITS:
        return _make(axes, np.ldexp(cells, -int(high)), exponent + int(high), low - high, 0.0)
    with np.errstate(divide="ignore"):
        return _make(axes, np.log(cells) + exponent * _LN2, None, -np.inf, np.inf)


def _tightened(factor: Factor) -> Factor:
    """Find the true range of the cells, and bring the largest near 1."""
    if factor._exponent is None:
        return factor
    low, high = _range(factor._cells)
    if high == -np.inf:
        return _make(factor._axes, factor._cells, 0, low, high)
    if high - low > _BITS:
        return _as_logs(factor)
    cells = np.ldexp(factor._cells, -int(high))
    return _make(factor._axes, cells, factor._exponent + int(high), low - high, 0.0)


def _range(cells: Array) -> tuple[float, float]:
    """Return whole binary logarithms that bracket the cells that are not 0."""
    top = float(np.max(cells))
    if top == 0.0:
        return np.inf, -np.inf
    bottom = float(np.min(cells))
    if bottom == 0.0:
        bottom = float(np.min(cells, where=cells > 0, initial=np.inf))
    return math.frexp(bottom)[1] - 1.0, float(math.frexp(top)[1])


def _from_logs(axes: Axes, logs: Array) -> Factor:
    """Keep logarithms as plain numbers if these can hold them."""
    top = float(np.max(logs))
    if top == -np.inf:
        return _make(axes, np.zeros(axes.shape), 0, np.inf, -np.inf)
    bottom = float(np.min(logs, where=logs > -np.inf, initial=np.inf))
    if top - bottom > _BITS * _LN2:
        return _make(axes, logs, None, -np.inf, np.inf)
    exponent = 0 if -bottom < 500 and top < 500 else round(top / _LN2)
    cells = np.exp(logs - exponent * _LN2)
    shift = exponent * _LN2
    return _make(axes, cells, exponent, (bottom - shift) / _LN2 - 1, (top - shift) / _LN2 + 1)


def _as_logs(factor: Factor) -> Factor:
    return _make(factor._axes, factor._logs(), None, -np.inf, np.inf)


def _product_of_extremes(a: Factor, b: Factor, plan: Pairing) -> Factor:
    """Multiply where the known bounds do not promise that plain numbers hold the result."""
    a, b = _tightened(a), _tightened(b)
    if a._low + b._low >= -_BITS and a._high + b._high <= _BITS:
        return a * b
    left, right = _lined_up(a._logs(), b._logs(), plan)
    return _from_logs(plan.axes, left + right)


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


def _lined_up(a: Array, b: Array, plan: Pairing) -> tuple[Array, Array]:
    if plan.left is not None:
        a = a[plan.left]
    if plan.order is not None:
        b = b.transpose(plan.order)
    if plan.right is not None:
        b = b[plan.right]
    return a, b


def _axes_of(names: tuple[str, ...], shape: tuple[int, ...], labels: Labels) -> Axes:
    if len(names) != len(shape):
        raise ValueError(
            f"{len(names)} names {names} do not fit a table with {len(shape)} axes, shape {shape}"
        )
    for name, size in zip(names, shape, strict=True):
        if size == 0:
            raise ValueError(f"axis {name!r} has no cells; it needs at least one label")
    return Axes.of(names, as_labels(names, shape, labels))


def _clipped(exponent: int) -> int:
    return max(-4000, min(4000, exponent))


def _restore(
    names: tuple[str, ...],
    labels: tuple[tuple[Label, ...], ...],
    cells: Array,
    exponent: int | None,
    low: float,
    high: float,
) -> Factor:
    return _make(Axes.of(names, labels), cells, exponent, low, high)
