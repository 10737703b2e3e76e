r"""Distributions known by tables: what sums and products become that belong to no family.

:class:`Numeric` is a density that is linear between nodes,
:math:`p(x) = p_i + (p_{i+1}-p_i)\frac{x-x_i}{x_{i+1}-x_i}`, whose cdf, quantiles and moments are
then exact; :class:`NumericCounts` lists the probabilities of whole numbers. Both carry ``error``,
a bound on how far any probability may be from that of the distribution they stand for.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.formatting import format_number
from posteriori.numerics.types import Array
from posteriori.numerics.validation import nonnegative, real, real_vector

__all__ = ["Numeric", "NumericCounts"]


class _Member(NamedTuple):
    """The table of one member of a batch."""

    nodes: Array
    density: Array
    cumulative: Array


class Numeric(Univariate):
    """A density tabulated at increasing nodes, linear between them and 0 beyond.

    Parameters
    ----------
    nodes : array (..., M)
        Increasing points, at least two.
    density : array (..., M)
        Values >= 0 at the nodes; they are divided by their integral.
    error : float or array, optional
        Bound on the deviation of any probability from the distribution that is meant.

    Examples
    --------
    >>> triangle = Numeric([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])
    >>> triangle.cdf([0.5, 1.0]), triangle.mean
    (array([0.125, 0.5  ]), np.float64(1.0))
    """

    _parameters = {"nodes": 1, "density": 1, "error": 0}
    _shown = ("nodes", "density", "error=")

    nodes: Array
    density: Array
    error: Array

    def __new__(cls, nodes: Any, density: Any, error: Any = 0.0) -> Self:
        x, p = real_vector("nodes", nodes), real_vector("density", nonnegative("density", density))
        if x.shape[-1] < 2 or x.shape[-1] != p.shape[-1]:
            raise ValueError(
                f"nodes and density must have one length of at least 2, got {x.shape}, {p.shape}"
            )
        if not np.all(x[..., 1:] > x[..., :-1]):
            raise ValueError("nodes must increase")
        with np.errstate(over="ignore", invalid="ignore"):
            area = _area(x, p)
        if not np.all(area > 0):
            raise ValueError("density must not be 0 everywhere")
        if not np.all(area < np.inf):
            raise ValueError("density over nodes must have a finite area; divide it by its largest")
        return cls._from(nodes=x, density=p / area[..., None], error=nonnegative("error", error))

    # -- moments ---------------------------------------------------------------------------

    def _moment(self, power: int, centre: Array) -> Array:
        """Return E[(x − c)ᵏ], cell by cell by Gauss's rule of two nodes, exact to k = 2."""
        half = 0.5 * np.diff(self.nodes, axis=-1)
        middle = 0.5 * (self.nodes[..., 1:] + self.nodes[..., :-1]) - centre[..., None]
        level = 0.5 * (self.density[..., 1:] + self.density[..., :-1])
        rise = 0.5 * np.diff(self.density, axis=-1)
        node = 1.0 / np.sqrt(3.0)
        terms = (level + node * rise) * (middle + node * half) ** power
        terms = terms + (level - node * rise) * (middle - node * half) ** power
        return (half * terms).sum(axis=-1)[()]

    @cached_property
    def mean(self) -> Array:
        """Mean of the tabulated density."""
        zero = np.zeros(self.batch_shape)
        return self._moment(1, zero)

    @cached_property
    def variance(self) -> Array:
        """Variance of the tabulated density."""
        return self._moment(2, np.asarray(self.mean))

    @cached_property
    def mode(self) -> Array:
        """The node of the highest density."""
        best = np.argmax(self.density, axis=-1)
        return np.take_along_axis(self.nodes, best[..., None], axis=-1)[..., 0][()]

    # -- tables of the members -------------------------------------------------------------

    @cached_property
    def _members(self) -> list[_Member]:
        size = self.nodes.shape[-1]
        rows = zip(self.nodes.reshape(-1, size), self.density.reshape(-1, size), strict=True)
        return [_Member(x, p, _cumulate(x, p)) for x, p in rows]

    def _by_member(self, x: Array, f: Any) -> Array:
        if not self.batch_shape:
            return f(self._members[0], np.asarray(x))[()]
        shape = np.broadcast_shapes(np.shape(x), self.batch_shape)
        at = np.broadcast_to(x, shape).reshape(-1, len(self._members))
        columns = [f(member, at[:, i]) for i, member in enumerate(self._members)]
        return np.stack(columns, axis=-1).reshape(shape)[()]

    def _outside(self, x: Array) -> Any:
        return (x < self.nodes[..., 0]) | (x > self.nodes[..., -1])

    def _interior(self) -> Array:
        return self.mode

    def _log_density(self, x: Array) -> Array:
        if np.any(np.isnan(x)):
            raise ValueError("x must not hold NaN; drop or impute missing values first")
        with np.errstate(divide="ignore"):
            return np.log(self._by_member(x, lambda m, at: np.interp(at, m.nodes, m.density)))

    def _cdf(self, x: Array) -> Array:
        return self._by_member(x, _cdf_of)

    def _quantile(self, q: Array) -> Array:
        return self._by_member(q, _quantile_of)

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self._quantile(rng.random(shape or None))

    def __repr__(self) -> str:
        if self.nodes.shape[-1] <= _FEW:
            return super().__repr__()
        return _describe(self, f"{self.nodes.shape[-1]} nodes")


class NumericCounts(Univariate):
    """Probabilities of the whole numbers start, start + 1, … as a table.

    Parameters
    ----------
    start : int or array
        The first whole number of the table; it may be negative.
    masses : array (..., M)
        Probabilities >= 0, divided by their sum.
    error : float or array, optional
        Bound on the deviation of any probability from the distribution that is meant.

    Examples
    --------
    >>> two_dice = NumericCounts(2, [1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1])
    >>> two_dice.mean.round(6), two_dice.cdf(4.0).round(6)
    (np.float64(7.0), np.float64(0.166667))
    """

    _parameters = {"start": 0, "masses": 1, "error": 0}
    _shown = ("start", "masses", "error=")
    _has_atoms = True

    start: Array
    masses: Array
    error: Array

    def __new__(cls, start: Any, masses: Any, error: Any = 0.0) -> Self:
        first = real("start", start)
        if not np.all(first == np.floor(first)):
            raise ValueError("start must be a whole number")
        p = real_vector("masses", nonnegative("masses", masses))
        total = p.sum(axis=-1, keepdims=True)
        if not np.all(total > 0):
            raise ValueError("masses must not all be 0")
        return cls._from(start=first, masses=p / total, error=nonnegative("error", error))

    @cached_property
    def points(self) -> Array:
        """The whole numbers of the table, (..., M)."""
        return self.start[..., None] + np.arange(float(self.masses.shape[-1]))

    @property
    def weights(self) -> Array:
        """Their probabilities."""
        return self.masses

    @cached_property
    def mean(self) -> Array:
        """Σ p x."""
        return (self.masses * self.points).sum(axis=-1)[()]

    @cached_property
    def variance(self) -> Array:
        """Σ p (x − m)²."""
        gap = self.points - np.asarray(self.mean)[..., None]
        return (self.masses * gap**2).sum(axis=-1)[()]

    @cached_property
    def mode(self) -> Array:
        """The most probable number, the first of equals."""
        return self.start + np.argmax(self.masses, axis=-1)

    def _position(self, x: Array) -> Any:
        """Return the index of x in the table, clipped to it."""
        last = self.masses.shape[-1] - 1
        return np.clip(np.floor(x - self.start), 0, last).astype(np.intp)

    def _outside(self, x: Array) -> Any:
        beyond = (x < self.start) | (x > self.start + (self.masses.shape[-1] - 1.0))
        return beyond | ((np.floor(x) != x) & (x == x))

    def _interior(self) -> Array:
        return self.mode

    def _log_density(self, x: Array) -> Array:
        if np.any(np.isnan(x)):
            raise ValueError("x must not hold NaN; drop or impute missing values first")
        with np.errstate(divide="ignore"):
            return np.log(_gather(self.masses, self._position(x)))

    @cached_property
    def _cumulative(self) -> Array:
        total = np.cumsum(self.masses, axis=-1)
        return total / total[..., -1:]

    def _cdf(self, x: Array) -> Array:
        below = _gather(self._cumulative, self._position(x))
        return np.where(x < self.start, 0.0, below)[()]

    def _quantile(self, q: Array) -> Array:
        shape = np.broadcast_shapes(np.shape(q), self.batch_shape)
        at = np.broadcast_to(q, shape).reshape(-1, int(np.prod(self.batch_shape)))
        rows = self._cumulative.reshape(-1, self.masses.shape[-1])
        found = [row.searchsorted(at[:, i]) for i, row in enumerate(rows)]
        return (self.start + np.stack(found, axis=-1).reshape(shape))[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self._quantile(rng.random(shape or None))

    def __repr__(self) -> str:
        if self.masses.shape[-1] <= _FEW:
            return super().__repr__()
        return _describe(self, f"{self.masses.shape[-1]} numbers from {self.points.min():g}")


#: Nodes up to which the text of a distribution lists them.
_FEW = 12


def _describe(d: Any, what: str) -> str:
    mean, std, error = (format_number(float(np.max(v))) for v in (d.mean, d.std, d.error))
    return f"<{type(d).__name__}: {what}, mean {mean}, std {std}, error {error}>"


def _area(x: Array, p: Array) -> Array:
    return (0.5 * np.diff(x, axis=-1) * (p[..., 1:] + p[..., :-1])).sum(axis=-1)


def _cumulate(x: Array, p: Array) -> Array:
    total = np.append(0.0, np.cumsum(0.5 * np.diff(x) * (p[1:] + p[:-1])))
    return total / total[-1]


def _cdf_of(m: _Member, x: Array) -> Array:
    """Integrate the line of the cell that holds x."""
    at = np.clip(x, m.nodes[0], m.nodes[-1])
    i = np.minimum(m.nodes.searchsorted(at, side="right"), len(m.nodes) - 1) - 1
    gap, width = at - m.nodes[i], m.nodes[i + 1] - m.nodes[i]
    slope = (m.density[i + 1] - m.density[i]) / width
    inner = m.cumulative[i] + gap * (m.density[i] + 0.5 * slope * gap)
    return np.where(at >= m.nodes[-1], 1.0, np.minimum(inner, 1.0))


def _quantile_of(m: _Member, q: Array) -> Array:
    """Solve the quadratic of the cell in which the cdf passes q."""
    i = np.clip(m.cumulative.searchsorted(q) - 1, 0, len(m.nodes) - 2)
    rest, width = q - m.cumulative[i], m.nodes[i + 1] - m.nodes[i]
    level, slope = m.density[i], (m.density[i + 1] - m.density[i]) / width
    root = np.sqrt(np.maximum(level * level + 2.0 * slope * rest, 0.0))
    step = np.divide(2.0 * rest, level + root, out=np.zeros(np.shape(q)), where=level + root > 0)
    return m.nodes[i] + np.clip(step, 0.0, width)


def _gather(table: Array, index: Any) -> Array:
    """Return table[..., index] with the batch axes of both aligned."""
    if table.ndim == 1:
        return table[index]
    shape = np.broadcast_shapes(np.shape(index), table.shape[:-1])
    wide = np.broadcast_to(table, (*shape, table.shape[-1]))
    return np.take_along_axis(wide, np.broadcast_to(index, shape)[..., None], axis=-1)[..., 0]
