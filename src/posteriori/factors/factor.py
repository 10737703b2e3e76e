r"""Factors: non-negative tables over named, labelled axes.

A factor is a function :math:`\phi(x_1, \dots, x_n) \ge 0` of discrete variables, not necessarily
normalised. How its cells are stored (:mod:`posteriori.factors.scaled_cells`) shows in no result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from posteriori.factors.axes import (
    Axes,
    Label,
    Names,
    as_labels,
    as_names,
    ordering,
    pair,
    reduction,
    without,
)
from posteriori.factors.cells import max_cells
from posteriori.factors.printing import format_table
from posteriori.factors.scaled_cells import (
    LN2,
    ScaledCells,
    add_up,
    divide,
    multiply_scaled,
    normalize,
    scale_logs,
    scale_plain,
)
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array
from posteriori.numerics.validation import hint, nonnegative

__all__ = ["Factor", "Normalized"]

Labels = Mapping[str, Iterable[Label]] | Sequence[Iterable[Label] | None] | None


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
    _scaled: ScaledCells

    def __init__(self, names: Names, values: Any, labels: Labels = None) -> None:
        cells = np.asarray(nonnegative("values", values))
        axes = _axes_of(as_names(names), cells.shape, labels)
        self.__dict__.update(_axes=axes, _scaled=scale_plain(cells, 0))

    @classmethod
    def from_log(cls, names: Names, log_values: Any, labels: Labels = None) -> Self:
        """Return the factor with these logarithms; −inf stands for a cell of 0."""
        logs = np.array(log_values, dtype=np.float64)
        if np.isnan(logs).any() or (logs == np.inf).any():
            raise ValueError("log_values must hold finite numbers or -inf")
        axes = _axes_of(as_names(names), logs.shape, labels)
        return _make(axes, scale_logs(logs))  # type: ignore[return-value]

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
        values = self._scaled.values()
        values.setflags(write=False)
        return values

    @property
    def log_values(self) -> Array:
        """Natural logarithms of the cells, −inf for exact zeros."""
        logs = np.array(self._scaled.logs())
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
        return float(self.reduce(assignment)._scaled.logs())

    # -- algebra ---------------------------------------------------------------------------

    def __mul__(self, other: Factor | float) -> Factor:
        if not isinstance(other, Factor):
            if not isinstance(other, (int, float, np.number)):
                return NotImplemented
            other = Factor.scalar(float(other))
        plan = pair(self._axes, other._axes)
        return _make(plan.axes, multiply_scaled(self._scaled, other._scaled, plan))

    __rmul__ = __mul__

    def __truediv__(self, other: Factor | float) -> Factor:
        """Divide; 0/0 is 0, and dividing anything else by 0 is an error."""
        if not isinstance(other, Factor):
            if not isinstance(other, (int, float, np.number)):
                return NotImplemented
            other = Factor.scalar(float(other))
        plan = pair(self._axes, other._axes)
        return _make(plan.axes, divide(self._scaled, other._scaled, plan))

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
        result = _make(plan.axes, add_up(self._scaled, plan))
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
        result = self._with(plan.axes, max_cells(self._scaled.cells, plan.gone))
        return result if plan.axes.names == chosen else result.transpose(chosen)

    def argmax(self) -> dict[str, Label]:
        """Return the labels of the largest cell (the first one, if several are equal)."""
        best = np.unravel_index(int(np.argmax(self._scaled.cells)), self.shape)
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
        cells = np.array(self._scaled.cells[tuple(index)])
        return self._with(without(self._axes, tuple(evidence)), cells)

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
        return self._with(axes, self._scaled.cells.transpose(order))

    def rename(self, names: Mapping[str, str]) -> Factor:
        """Return the same table with some axes under new names, ``{old: new}``."""
        self._axes.names_of(names)
        renamed = as_names(tuple(names.get(name, name) for name in self.names))
        return _make(Axes.of(renamed, self._axes.labels), self._scaled)

    def _with(self, axes: Axes, cells: Array) -> Factor:
        """Return a factor of some of the cells, which lie within the bounds of all."""
        _, exponent, low, high = self._scaled
        return _make(axes, ScaledCells(cells, exponent, low, high))

    # -- normalisation and information -----------------------------------------------------

    @cached_property
    def log_total(self) -> float:
        """Logarithm of the sum of all cells, −inf if all are 0."""
        return float(self._total.logs())

    @cached_property
    def _total(self) -> ScaledCells:
        return self.marginal(())._scaled

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
        return Normalized(_make(self._axes, normalize(self._scaled, self._total)), log_total)

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
        a, b = self._scaled.logs(), other.transpose(self.names)._scaled.logs()
        with np.errstate(invalid="ignore"):
            gap = np.abs(a - b)
        near = tolerance * np.maximum(1.0, np.minimum(np.abs(a), np.abs(b)))
        return bool(np.all((a == b) | (gap <= near)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Factor):
            return NotImplemented
        if not self._same_axes(other):
            return False
        mine, theirs = self._scaled, other.transpose(self.names)._scaled
        if mine.exponent == theirs.exponent:
            return bool(np.array_equal(mine.cells, theirs.cells))
        return bool(np.array_equal(mine.logs(), theirs.logs()))

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
        return _restore, (self.names, self._axes.labels, *self._scaled)

    def __repr__(self) -> str:
        return f"Factor over {', '.join(self.names) or 'no axes'}\n{self._table('value')}"

    def _table(self, title: str) -> str:
        """Return the cells as aligned text, one row per cell."""
        try:
            return format_table(self.names, self._axes.labels, self.values, title)
        except OverflowError:
            return format_table(self.names, self._axes.labels, self.log_values, f"log {title}")


def nats_per(unit: str) -> float:
    """Return how many nats one unit of information is."""
    try:
        return {"nats": 1.0, "bits": LN2}[unit]
    except KeyError:
        raise ValueError(f"unit must be 'nats' or 'bits', got {unit!r}") from None


def _make(axes: Axes, scaled: ScaledCells) -> Factor:
    """Wrap cells that belong to nobody else."""
    factor = object.__new__(Factor)
    state = factor.__dict__
    state["_axes"], state["_scaled"] = axes, scaled
    return factor


def _axes_of(names: tuple[str, ...], shape: tuple[int, ...], labels: Labels) -> Axes:
    if len(names) != len(shape):
        raise ValueError(
            f"{len(names)} names {names} do not fit a table with {len(shape)} axes, shape {shape}"
        )
    for name, size in zip(names, shape, strict=True):
        if size == 0:
            raise ValueError(f"axis {name!r} has no cells; it needs at least one label")
    return Axes.of(names, as_labels(names, shape, labels))


def _restore(
    names: tuple[str, ...],
    labels: tuple[tuple[Label, ...], ...],
    cells: Array,
    exponent: int | None,
    low: float,
    high: float,
) -> Factor:
    return _make(Axes.of(names, labels), ScaledCells(cells, exponent, low, high))
