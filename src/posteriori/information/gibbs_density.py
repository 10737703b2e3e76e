r"""Densities of Gibbs form on an interval, :math:`p(x) \propto b(x)\exp\{\sum_k\lambda_k f_k(x)\}`.

The normaliser, the moments and the cumulative probabilities are Gauss–Legendre sums over panels of
the interval; between the nodes the density is evaluated as it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = ["GibbsDensity", "panel_nodes"]

#: Nodes of a panel: exact for polynomials of degree 31.
_ORDER = 16
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(_ORDER)


def panel_nodes(edges: Array) -> tuple[Array, Array]:
    """Return Gauss–Legendre nodes and weights (P, 16) for the panels between ``edges``."""
    half = 0.5 * np.diff(edges)[:, None]
    return edges[:-1, None] + half * (1.0 + _NODES), half * _WEIGHTS


class GibbsDensity(Univariate):
    r"""A density known up to its normaliser, on a bounded interval.

    Parameters
    ----------
    log_weight : callable
        ln of the density up to a constant, elementwise on arrays.
    edges : array (P + 1,)
        Ends of the panels on which integrals are computed; the first and the last bound the
        support.

    Examples
    --------
    >>> d = GibbsDensity(lambda x: -2.0 * x, np.linspace(0.0, 1.0, 9))
    >>> round(float(d.mean), 9)  # 1/2 − 1/(e² − 1)
    0.343482357
    """

    _parameters = {}
    _shown = ()

    log_weight: Callable[[Array], Array]
    edges: Array

    def __new__(cls, log_weight: Callable[[Array], Array], edges: Any) -> GibbsDensity:
        self = object.__new__(cls)
        limits = np.array(edges, dtype=np.float64)
        if limits.ndim != 1 or len(limits) < 2 or not np.all(np.diff(limits) > 0):
            raise ValueError("edges must be at least two increasing numbers")
        limits.setflags(write=False)
        self.__dict__.update(log_weight=log_weight, edges=limits)
        return self

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """(): a single density."""
        return ()

    @cached_property
    def _rule(self) -> tuple[Array, Array]:
        return panel_nodes(self.edges)

    @cached_property
    def log_partition(self) -> Array:
        """Ln ∫ exp(log_weight)."""
        points, weights = self._rule
        return log_sum_exp(self.log_weight(points), weights=weights)

    @cached_property
    def _masses(self) -> Array:
        """Probability at each node, (P, 16)."""
        points, weights = self._rule
        return weights * np.exp(self.log_weight(points) - self.log_partition)

    @cached_property
    def mean(self) -> Array:
        """Mean."""
        return (self._masses * self._rule[0]).sum()

    @cached_property
    def variance(self) -> Array:
        """Variance."""
        return (self._masses * (self._rule[0] - self.mean) ** 2).sum()

    @cached_property
    def mode(self) -> Array:
        """Where the density is highest, to about 1e-6 of the interval."""
        points = np.concatenate([self._rule[0].ravel(), self.edges])
        step = float(np.max(np.diff(self.edges)))
        best = points[np.argmax(self.log_weight(points))]
        for _ in range(4):
            near = np.clip(np.linspace(best - step, best + step, 101), *self.edges[[0, -1]])
            best = near[np.argmax(self.log_weight(near))]
            step *= 0.04
        return best

    def entropy(self) -> Array:
        """Return −∫ p ln p in nats."""
        log_p = self.log_weight(self._rule[0]) - self.log_partition
        return -(self._masses * np.where(self._masses > 0, log_p, 0.0)).sum()

    def _log_density(self, x: Array) -> Array:
        return self.log_weight(x) - self.log_partition

    def _outside(self, x: Array) -> Any:
        return (x < self.edges[0]) | (x > self.edges[-1])

    def _cdf(self, x: Array) -> Array:
        inside = np.clip(np.asarray(x), *self.edges[[0, -1]])
        panel = np.clip(np.searchsorted(self.edges, inside, side="right") - 1, 0, None)
        panel = np.minimum(panel, len(self.edges) - 2)
        half = 0.5 * (inside - self.edges[panel])[..., None]
        points = self.edges[panel][..., None] + half * (1.0 + _NODES)
        part = (half * _WEIGHTS * np.exp(self.log_weight(points) - self.log_partition)).sum(axis=-1)
        return np.minimum(self._below[panel] + part, 1.0)[()]

    @cached_property
    def _below(self) -> Array:
        """Probability below each edge."""
        return np.concatenate([[0.0], np.cumsum(self._masses.sum(axis=1))])

    def _quantile(self, q: Array) -> Array:
        """Bracket by edges, then Newton steps that bisect where they would leave the bracket."""
        q = np.asarray(q)
        panel = np.searchsorted(self._below, q, side="right") - 1
        panel = np.clip(panel, 0, len(self.edges) - 2)
        low, high = self.edges[panel], self.edges[panel + 1]
        x = 0.5 * (low + high)
        for _ in range(60):
            gap = self._cdf(x) - q
            low, high = np.where(gap < 0, x, low), np.where(gap < 0, high, x)
            slope = np.exp(self._log_density(x))
            step = x - np.divide(gap, slope, out=np.full(np.shape(x), np.inf), where=slope > 0)
            new = np.where((step > low) & (step < high), step, 0.5 * (low + high))
            if np.all(np.abs(new - x) <= 1e-14 * np.maximum(np.abs(x), 1e-300)):
                break
            x = new
        ends = np.where(q <= 0, self.edges[0], self.edges[-1])
        return np.where((q <= 0) | (q >= 1), ends, x)[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self._quantile(np.asarray(rng.random(shape or None)))

    def iid(self, n: int | str) -> Any:
        """Refuse: a numeric density has no batches."""
        raise TypeError("a GibbsDensity has no batches; draw several with sample(n)")

    def _key(self) -> tuple[Array, ...]:
        return self.edges, self.log_weight(self._rule[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return GibbsDensity, (self.log_weight, self.edges)

    def __repr__(self) -> str:
        low, high = self.edges[[0, -1]]
        return f"GibbsDensity(on [{low:g}, {high:g}], mean={self.mean:.6g}, std={self.std:.6g})"
