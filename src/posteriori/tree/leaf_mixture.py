r"""What many trees predict together: each row has the leaves that it lies in, with their probabilities.

.. math:: p(y\mid x) = \sum_{B\ni x} P(B)\,p(y\mid B)

Rows share the leaves, of which there may be a million; those of a row are found when they are needed,
some rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.batches import has_atoms, take_members
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array, IntArray

__all__ = ["LeafMixture", "average_over_leaves"]

#: Leaves times rows that are looked at together: a row lies in some hundredths of the leaves.
_TOGETHER = 3e7

#: Steps of a search for quantiles, and how short the last one is in standard deviations: its square, by
#: which Newton's method is then off, is no more than rounding.
_MOST_STEPS, _NEAR = 200, 1e-6

#: The most probable leaves of a row, with which such a search begins.
_HEAVY = 200


def average_over_leaves(trees: Any, places: Any, values: Array) -> Array:
    """Return the expected value of the leaf of each row, (N, V), from those of the leaves (K, V)."""
    found = [
        _average(trees, start, values[which], which) for _, start, which in _members(trees, places)
    ]
    return np.concatenate(found)


def _members(
    trees: Any, places: Any, most: int | None = None
) -> Iterator[tuple[slice, IntArray, Any]]:
    """Return the leaves of some rows at a time, and where those of each row begin."""
    step = int(np.clip(_TOGETHER / len(trees.leaves.probability), 16, 4096))
    for first in range(0, len(places), step):
        rows = slice(first, first + step)
        start, which = trees.members(places[rows])
        if most is not None:  # they come in order
            place = np.arange(len(which)) - np.repeat(start[:-1], np.diff(start))
            start = np.concatenate([[0], np.cumsum(np.minimum(np.diff(start), most))])
            which = which[place < most]
        yield rows, start, which


def _average(trees: Any, start: IntArray, values: Array, which: Any) -> Array:
    """Return Σ P(B) v_B / Σ P(B) of each row; the leaves that are left out have no share."""
    weight = trees.leaves.probability[which]
    weighted = (values.T * weight).T
    total = np.add.reduceat(weighted, start[:-1], axis=0)
    return (total.T / np.add.reduceat(weight, start[:-1])).T


class LeafMixture(Univariate):
    """Mixture of what the leaves of many trees predict, for a batch of rows.

    Parameters
    ----------
    trees : AllTrees or TreePrunings
    places : (N, ...)
        Where each row is.
    components : distribution
        What the leaves predict, a batch (K,).
    """

    _parameters = {}
    _shown = ("components",)

    trees: Any
    places: Any
    components: Any

    def __new__(cls, trees: Any, places: Any, components: Any) -> Self:
        self = object.__new__(cls)
        self.__dict__.update(trees=trees, places=places, components=components)
        return self

    @cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """A member for each row."""
        return (len(self.places),)

    @property
    def _has_atoms(self) -> bool:  # type: ignore[override]
        return has_atoms(self.components)

    def _take_members(self, index: Any) -> LeafMixture:
        return LeafMixture(self.trees, self.places[index], self.components)

    def _key(self) -> tuple[Array, ...]:
        return self.places, self.trees.leaves.probability, *self.components._key()

    def __reduce__(self) -> tuple[Any, ...]:
        return LeafMixture, (self.trees, self.places, self.components)

    def __repr__(self) -> str:
        count, kind = len(self.trees.leaves.probability), type(self.components).__name__
        return f"LeafMixture({count} leaves, {kind}; batch {self.batch_shape})"

    # -- moments ---------------------------------------------------------------------------

    @cached_property
    def mean(self) -> Array:
        """Σ P(B) m_B."""
        return average_over_leaves(self.trees, self.places, np.asarray(self.components.mean))

    @cached_property
    def variance(self) -> Array:
        """Σ P(B) {v_B + (m_B − m)²}."""
        mean, variance = np.asarray(self.components.mean), np.asarray(self.components.variance)
        own = self.mean

        def spread(which: Any, rows: Any) -> Array:
            return variance[which] + (mean[which] - own[rows]) ** 2

        return self._expect(spread)

    def _expect(self, value: Callable[[Any, Any], Array], most: int | None = None) -> Array:
        """Return the expected value, (N,), of a function of leaves and the rows in them."""
        found = []
        for rows, start, which in _members(self.trees, self.places, most):
            row = rows.start + np.repeat(np.arange(len(start) - 1), np.diff(start))
            found.append(_average(self.trees, start, value(which, row), which))
        return np.concatenate(found)

    def _at_rows(self, function: Callable[[Array], Array], x: Array) -> Array:
        """Return a function of numbers (N,) at x (..., N)."""
        points = np.broadcast_to(x, np.broadcast_shapes(np.shape(x), self.batch_shape))
        found = [function(one) for one in points.reshape(-1, *self.batch_shape)]
        return np.array(found).reshape(points.shape)[()]

    # -- density and what follows from it ----------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        return self._at_rows(self._log_density_of_rows, x)

    def _log_density_of_rows(self, y: Array, most: int | None = None) -> Array:
        found = []
        with np.errstate(divide="ignore"):
            log_probability = np.log(self.trees.leaves.probability)
        for rows, start, which in _members(self.trees, self.places, most):
            counts = np.diff(start)
            terms = self._log_terms(which, np.repeat(y[rows], counts))
            terms += log_probability[which]
            top = np.maximum.reduceat(terms, start[:-1])
            top = np.where(np.isfinite(top), top, 0.0)
            total = np.add.reduceat(np.exp(terms - np.repeat(top, counts)), start[:-1])
            share = np.add.reduceat(np.exp(log_probability[which]), start[:-1])
            found.append(top + np.log(total / share))
        return np.concatenate(found)

    def _log_terms(self, which: Any, y: Array) -> Array:
        """Return ln p(y | B), where Student's t keeps what does not depend on y."""
        if not isinstance(self.components, StudentT):
            return np.array(take_members(self.components, which).log_prob(y))
        dof, location, scale, peak = self._student
        z = (y - location[which]) / scale[which]
        return peak[which] - 0.5 * (dof[which] + 1.0) * np.log1p(z * z / dof[which])

    @cached_property
    def _student(self) -> tuple[Array, ...]:
        t = self.components
        return t.dof, t.location, t.scale, np.asarray(t.log_prob(t.location))

    def _cdf(self, x: Array) -> Array:
        return self._at_rows(self._cdf_of_rows, x)

    def _cdf_of_rows(self, y: Array, most: int | None = None) -> Array:
        def below(which: Any, rows: Any) -> Array:
            return np.asarray(take_members(self.components, which).cdf(y[rows]))

        return np.minimum(self._expect(below, most), 1.0)

    def _quantile(self, q: Array) -> Array:
        search = _search_counts if self._has_atoms else _search_numbers
        return self._at_rows(lambda level: search(self, level), q)

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        drawn = []
        draws = int(np.prod(shape[:-1]))
        for rows, start, which in _members(self.trees, self.places):
            upto = np.cumsum(self.trees.leaves.probability[which])
            before = np.concatenate([[0.0], upto])[start[:-1]]
            mass = upto[start[1:] - 1] - before
            at = before + mass * rng.random((draws, len(mass)))
            chosen = np.clip(np.searchsorted(upto, at), start[:-1], start[1:] - 1)
            drawn.append(take_members(self.components, which[chosen]).sample(rng=rng))
        return np.concatenate(drawn, axis=1).reshape(shape)[()]


def _search_numbers(mixture: LeafMixture, level: Array) -> Array:
    """Return quantiles (N,): of the most probable leaves of each row, then of all."""
    spread = np.sqrt(np.where(np.isfinite(mixture.variance), mixture.variance, 1.0))
    x = mixture.mean + spread * np.clip(special.ndtri(level), -8.0, 8.0)
    inner = np.flatnonzero((level > 0.0) & (level < 1.0))
    part = mixture._take_members(inner)
    for most in (_HEAVY, None):
        x[inner] = _climb(part, level[inner], x[inner], spread[inner], most)
    x[level <= 0.0], x[level >= 1.0] = -np.inf, np.inf
    return x


def _climb(mixture: LeafMixture, level: Array, x: Array, spread: Array, most: int | None) -> Array:
    """Return where the cumulative probability reaches a level, by Newton's steps.

    A step that leaves the interval in which the answer is known to be is replaced by its middle.
    """
    low, high = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    moving = np.arange(len(x))
    for _ in range(_MOST_STEPS):
        if not len(moving):
            break
        part, at, width = mixture._take_members(moving), x[moving], spread[moving]
        gap = level[moving] - part._cdf_of_rows(at, most)
        below = low[moving] = np.where(gap > 0.0, at, low[moving])
        above = high[moving] = np.where(gap > 0.0, high[moving], at)
        slope = np.exp(part._log_density_of_rows(at, most))
        new = at + np.clip(gap / np.where(slope > 0.0, slope, 1e-300), -4.0 * width, 4.0 * width)
        outside = (new < below) | (new > above)
        new = np.where(outside, 0.5 * (below + above), new)
        x[moving] = new
        moving = moving[np.abs(new - at) > _NEAR * width]
    return x


def _search_counts(mixture: LeafMixture, level: Array) -> Array:
    """Return quantiles (N,): the least whole numbers that the cumulative probability reaches."""
    low, high = np.full(len(level), -1.0), np.ones(len(level))
    sought = np.where(level < 1.0, level, 0.0)
    while (short := mixture._cdf_of_rows(high) < sought).any():
        low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
    while (moving := (middle := np.floor(0.5 * (low + high))) > low).any():
        enough = mixture._cdf_of_rows(middle) >= sought
        high = np.where(moving & enough, middle, high)
        low = np.where(moving & ~enough, middle, low)
    return np.where(level < 1.0, high, np.inf)
