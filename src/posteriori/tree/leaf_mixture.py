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

from posteriori.distributions.base import Univariate, has_atoms
from posteriori.distributions.batches import take_members
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.numerics.types import Array, IntArray
from posteriori.tree.mixture_quantiles import (
    Members,
    Parts,
    Rise,
    StudentLeaves,
    search_counts,
    search_numbers,
)

__all__ = ["LeafMixture", "average_over_leaves"]

#: Leaves times rows that are looked at together: a row lies in some hundredths of the leaves.
_TOGETHER = 3e7

#: Numbers that are held at a time.
_TERMS = 2e6


def average_over_leaves(trees: Any, places: Any, values: Array) -> Array:
    """Return the expected value of the leaf of each row, (N, V), from those of the leaves (K, V)."""
    found = [
        _average(trees, start, values.T[..., which], which)
        for _, start, which in _members(trees, places)
    ]
    return np.concatenate(found, axis=-1).T


def _members(trees: Any, places: Any) -> Iterator[Members]:
    """Return the leaves of some rows at a time."""
    step = int(np.clip(_TOGETHER / len(trees.leaves.probability), 16, 4096))
    for first in range(0, len(places), step):
        rows = slice(first, first + step)
        yield Members(rows, *trees.members(places[rows]))


def _average(trees: Any, start: IntArray, values: Array, which: Any) -> Array:
    """Return Σ P(B) v_B / Σ P(B) of each row; the leaves that are left out have no share."""
    weight = trees.leaves.probability[which]
    total = np.add.reduceat(values * weight, start[:-1], axis=-1)
    return total / np.add.reduceat(weight, start[:-1])


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
        found = []
        for rows, start, which in _members(self.trees, self.places):
            gap = mean[which] - np.repeat(self.mean[rows], np.diff(start))
            found.append(_average(self.trees, start, variance[which] + gap**2, which))
        return np.concatenate(found)

    # -- density and what follows from it ----------------------------------------------------

    def _at(self, function: Callable[[Members, Array], Array], x: Array) -> Array:
        """Return a function of leaves and numbers (L, N) at x (..., N)."""
        shape = np.broadcast_shapes(np.shape(x), self.batch_shape)
        points = np.broadcast_to(x, shape).reshape(-1, *self.batch_shape)
        found = np.empty(points.shape)
        for members in _members(self.trees, self.places):
            step = max(int(_TERMS / len(members[2])), 1)
            for some in (slice(i, i + step) for i in range(0, len(points), step)):
                found[some, members[0]] = function(members, points[some])
        return found.reshape(shape)[()]

    def _log_density(self, x: Array) -> Array:
        return self._at(self._log_density_of, x)

    def _log_density_of(self, members: Members, y: Array) -> Array:
        rows, start, which = members
        counts, probability = np.diff(start), self.trees.leaves.probability[which]
        with np.errstate(divide="ignore"):  # ln 0 = −∞ is the answer
            terms = self._log_terms(which, np.repeat(y[:, rows], counts, axis=1))
            terms += np.log(probability)
            top = np.maximum.reduceat(terms, start[:-1], axis=1)
            top = np.where(np.isfinite(top), top, 0.0)
            terms -= np.repeat(top, counts, axis=1)
            total = np.add.reduceat(np.exp(terms), start[:-1], axis=1)
            return top + np.log(total / np.add.reduceat(probability, start[:-1]))

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
        return self._at(self._cdf_of, x)

    def _cdf_of(self, members: Members, y: Array) -> Array:
        rows, start, which = members
        at = np.repeat(y[:, rows], np.diff(start), axis=1)
        below = np.asarray(take_members(self.components, which).cdf(at))
        return np.minimum(_average(self.trees, start, below, which), 1.0)

    def interval(self, mass: float = 0.95) -> tuple[Array, Array]:
        """Return the central interval that holds ``mass``; both ends share the search for leaves."""
        if not 0 < mass < 1:
            raise ValueError(f"mass must lie strictly between 0 and 1, got {mass!r}")
        tail = 0.5 * (1.0 - mass)
        low, high = self.quantile(np.array([[tail], [1.0 - tail]]))
        return low, high

    def _quantile(self, q: Array) -> Array:
        shape = np.broadcast_shapes(np.shape(q), self.batch_shape)
        levels = np.broadcast_to(q, shape).reshape(-1, *self.batch_shape)
        found = np.empty(levels.shape)
        search = self._search_counts if self._has_atoms else self._search_numbers
        for members in _members(self.trees, self.places):
            parts = Parts(members, self.trees.leaves.probability)
            for level, to in zip(levels, found, strict=True):
                to[members.rows] = search(parts, level[members.rows])
        return found.reshape(shape)

    def _search_numbers(self, parts: Parts, level: Array) -> Array:
        inner = (level > 0.0) & (level < 1.0)
        leaves = StudentLeaves(self.trees.leaves.probability, *self._student)
        x = search_numbers(self._rise, leaves, parts, np.where(inner, level, 0.5))
        return np.where(inner, x, np.where(level > 0.0, np.inf, -np.inf))

    def _search_counts(self, parts: Parts, level: Array) -> Array:
        def cumulative(part: Members, y: Array) -> Array:
            return self._cdf_of(part._replace(rows=slice(None)), y[None])[0]

        sought = np.where(level < 1.0, level, 0.0)
        found = search_counts(cumulative, parts, sought)
        return np.where(level < 1.0, found, np.inf)

    def _rise(self, members: Members) -> Rise:
        """Return cumulative probabilities and densities of given leaves."""
        here = members._replace(rows=slice(None))

        def rise(x: Array) -> tuple[Array, Array]:
            log_density = self._log_density_of(here, x[None])[0]
            return self._cdf_of(here, x[None])[0], np.exp(log_density)

        return rise

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        drawn = []
        draws = int(np.prod(shape[:-1]))
        for _, start, which in _members(self.trees, self.places):
            upto = np.cumsum(self.trees.leaves.probability[which])
            before = np.concatenate([[0.0], upto])[start[:-1]]
            mass = upto[start[1:] - 1] - before
            at = before + mass * rng.random((draws, len(mass)))
            chosen = np.clip(np.searchsorted(upto, at), start[:-1], start[1:] - 1)
            drawn.append(take_members(self.components, which[chosen]).sample(rng=rng))
        return np.concatenate(drawn, axis=1).reshape(shape)[()]
