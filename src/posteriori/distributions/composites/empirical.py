r"""Weighted draws as a distribution, :math:`p(x) = \sum_n w_n\,[x = x_n]`.

What particle filters, importance samplers and bootstraps produce: expectations are weighted
sums over the points.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from posteriori.distributions.base import Distribution, Univariate, any_of
from posteriori.distributions.unknown import check_plate
from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import as_observation, nonnegative, real

__all__ = ["Empirical", "UnivariateEmpirical", "WeightedPoints"]


class WeightedPoints(Distribution):
    """What weighted points of every event shape have in common."""

    _parameters = {"points": 0, "weights": 1}
    _shown = ("points", "weights=", "event_ndim=")
    _has_atoms = True

    points: Array
    weights: Array

    def __new__(cls, points: Any, weights: Any = None, event_ndim: int | None = None) -> Self:
        x = real("points", points)
        if x.ndim == 0 or x.size == 0:
            raise ValueError("points is empty: at least one draw is needed")
        axes = x.ndim - 1 if event_ndim is None else event_ndim
        if axes not in range(x.ndim):
            raise ValueError(f"event_ndim must lie between 0 and {x.ndim - 1}, got {event_ndim!r}")
        lead = x.shape[: x.ndim - axes]
        return cls._make(x, _normalised(weights, lead), axes)

    @classmethod
    def _make(cls, points: Array, weights: Array, event_ndim: int) -> Self:
        self: Any = object.__new__(Empirical if event_ndim else UnivariateEmpirical)
        for array in (points, weights):
            array.setflags(write=False)
        self.__dict__.update(points=points, weights=weights, _event_ndim=event_ndim)
        return self

    @cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch: () for a single distribution."""
        return self.weights.shape[:-1]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one draw."""
        return self.points.shape[self.weights.ndim :]

    @property
    def event_ndim(self) -> int | None:
        """Number of axes of one draw; None, and not printed, where there is no batch."""
        return self._event_ndim if self.batch_shape else None

    # -- expectations ----------------------------------------------------------------------

    def expect(self, f: Callable[[Array], Any]) -> Array:
        """Return E[f(x)]; ``f`` maps all points at once and keeps their leading axes."""
        values = np.asarray(f(self.points), dtype=np.float64)
        weights = self.weights.reshape(
            self.weights.shape + (1,) * (values.ndim - self.weights.ndim)
        )
        return (weights * values).sum(axis=self.weights.ndim - 1)[()]

    @cached_property
    def mean(self) -> Array:
        """Weighted mean of the points."""
        return self.expect(lambda x: x)

    @property
    def _deviations(self) -> Array:
        return self.points - np.expand_dims(self.mean, self.weights.ndim - 1)

    @cached_property
    def variance(self) -> Array:
        """Weighted mean squared deviation of each entry."""
        return self.expect(lambda x: self._deviations**2)

    @property
    def std(self) -> Array:
        """Standard deviation of each entry."""
        return np.sqrt(self.variance)

    @cached_property
    def effective_sample_size(self) -> Array:
        """Number 1/Σw² of equally weighted draws that would be worth as much."""
        return 1.0 / (self.weights**2).sum(axis=-1)

    # -- density and draws -----------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        _refuse_nan(x)
        at = np.expand_dims(x, x.ndim - self._event_ndim)
        same = at == self.points
        if self._event_ndim:
            same = same.all(axis=tuple(range(-self._event_ndim, 0)))
        with np.errstate(divide="ignore"):
            return np.log((same * self.weights).sum(axis=-1))[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self._pick(_draw_indices(self.weights, shape, rng))

    def _pick(self, chosen: Any) -> Array:
        """Return the points at ``chosen`` (..., *batch), one index for each draw."""
        if not self.batch_shape:
            return self.points[chosen]
        grid = np.indices(chosen.shape)[chosen.ndim - len(self.batch_shape) :]
        return self.points[(*grid, chosen)]

    def resample(self, n: int | None = None, *, rng: Seed = None) -> Self:
        """Return ``n`` (default N) equally weighted draws by systematic resampling.

        Point n is repeated either ⌊n w⌋ or ⌈n w⌉ times: one random number moves a comb of n
        even teeth through the cumulative weights.
        """
        size = self.weights.shape[-1] if n is None else n
        if not isinstance(size, (int, np.integer)) or size < 1:
            raise ValueError(f"n must be a whole number >= 1, got {n!r}")
        start = as_generator(rng).random((*self.batch_shape, 1))
        teeth = (start + np.arange(size)) / size
        chosen = np.moveaxis(_search(self._cumulative, teeth), -1, 0)
        points = np.moveaxis(self._pick(chosen), 0, len(self.batch_shape))
        return self._make(
            points.copy(), np.full((*self.batch_shape, size), 1.0 / size), self._event_ndim
        )

    @cached_property
    def _cumulative(self) -> Array:
        return _cumulate(self.weights)

    # -- being a value ---------------------------------------------------------------------

    def _take_members(self, index: Any) -> Self:
        return self._make(self.points[index], self.weights[index], self._event_ndim)

    def iid(self, n: int | str) -> Any:
        """Return ``n`` independent copies: the same points with a leading batch axis."""
        plate = check_plate(n)
        if isinstance(plate, str):
            return super().iid(plate)
        points, weights = (np.repeat(a[None], plate, axis=0) for a in (self.points, self.weights))
        return self._make(points, weights, self._event_ndim)

    def _given_parameters(self) -> dict[str, Any]:
        return {"points": self.points, "weights": self.weights, "event_ndim": self._event_ndim}

    def _key(self) -> tuple[Array, ...]:
        return self.points, self.weights, np.asarray(self._event_ndim)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.points, self.weights, self._event_ndim)


class Empirical(WeightedPoints):
    """Distribution of weighted points of any event shape.

    Of numbers it is a :class:`UnivariateEmpirical`, which has quantiles as well.

    Parameters
    ----------
    points : array (..., N, *event)
        The draws; without a batch the first axis counts them.
    weights : array (..., N), optional
        Weights >= 0, divided by their sum; equal if None.
    event_ndim : int, optional
        Number of trailing axes of one draw, where leading axes of ``points`` make a batch.

    Examples
    --------
    >>> d = Empirical([[0.0, 1.0], [2.0, 1.0]], weights=[1.0, 3.0])
    >>> d.mean, d.effective_sample_size.round(6)
    (array([1.5, 1. ]), np.float64(1.6))
    >>> Empirical([3.0, 1.0, 2.0]).median
    np.float64(2.0)
    """

    @cached_property
    def cov(self) -> Array:
        """Weighted covariance of vectors, Σ w (x − m)(x − m)ᵀ."""
        if self._event_ndim != 1:
            raise ValueError(f"cov is for vectors; these draws have shape {self.event_shape}")
        gap = self._deviations
        return symmetrize(np.einsum("...n,...ni,...nj->...ij", self.weights, gap, gap))


class _Table(NamedTuple):
    """Distinct numbers in order, their probabilities, and the sums of these."""

    values: Array
    masses: Array
    cumulative: Array


class UnivariateEmpirical(WeightedPoints, Univariate):
    """Distribution of weighted numbers: what :class:`Empirical` makes of them.

    Parameters
    ----------
    points : array (..., N)
        The draws.
    weights : array (..., N), optional
        Weights >= 0, divided by their sum; equal if None.
    event_ndim : int, optional
        0, where leading axes of ``points`` make a batch.

    Examples
    --------
    >>> d = Empirical([1.0, 2.0, 5.0], weights=[0.5, 0.25, 0.25])
    >>> d.cdf([0.0, 2.0]), d.quantile(0.7)
    (array([0.  , 0.75]), np.float64(2.0))
    """

    @cached_property
    def _tables(self) -> list[_Table]:
        size = self.weights.shape[-1]
        rows = zip(self.points.reshape(-1, size), self.weights.reshape(-1, size), strict=True)
        return [_tabulate(points, weights) for points, weights in rows]

    def _by_member(self, x: Array, f: Callable[[_Table, Array], Array]) -> Array:
        shape = np.broadcast_shapes(np.shape(x), self.batch_shape)
        at = np.broadcast_to(x, shape).reshape(-1, len(self._tables))
        columns = [f(table, at[:, i]) for i, table in enumerate(self._tables)]
        return np.stack(columns, axis=-1).reshape(shape)[()]

    def _log_density(self, x: Array) -> Array:
        _refuse_nan(x)
        return self._by_member(x, _log_mass)

    def _cdf(self, x: Array) -> Array:
        return self._by_member(
            x, lambda t, at: np.append(0.0, t.cumulative)[t.values.searchsorted(at, side="right")]
        )

    def _quantile(self, q: Array) -> Array:
        return self._by_member(q, lambda t, at: t.values[t.cumulative.searchsorted(at)])


def _normalised(weights: Any, shape: tuple[int, ...]) -> Array:
    if weights is None:
        return np.full(shape, 1.0 / shape[-1])
    w = nonnegative("weights", weights)
    if w.shape != shape:
        raise ValueError(f"weights must have shape {shape}, one for each draw, got {w.shape}")
    total = w.sum(axis=-1, keepdims=True)
    if not np.all(total > 0):
        raise ValueError("weights must not all be 0")
    return w / total


def _cumulate(weights: Array) -> Array:
    cumulative = np.cumsum(weights, axis=-1)
    return cumulative / cumulative[..., -1:]


def _tabulate(points: Array, weights: Array) -> _Table:
    keep = weights > 0
    values, where = np.unique(points[keep], return_inverse=True)
    masses = np.bincount(where.ravel(), weights[keep])
    return _Table(values, masses, _cumulate(masses))


def _log_mass(table: _Table, x: Array) -> Array:
    at = np.minimum(table.values.searchsorted(x), len(table.values) - 1)
    with np.errstate(divide="ignore"):
        return np.log(np.where(table.values[at] == x, table.masses[at], 0.0))


def _draw_indices(weights: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    lead = len(shape) - (weights.ndim - 1)
    uniform = np.moveaxis(rng.random(shape).reshape(-1, *shape[lead:]), 0, -1)
    chosen = np.moveaxis(_search(_cumulate(weights), uniform), -1, 0)
    return chosen.reshape(shape)


def _search(cumulative: Array, at: Array) -> Any:
    """Return the index of the first cumulative weight beyond ``at``, row by row."""
    if cumulative.ndim == 1:
        return cumulative.searchsorted(at, side="right")
    rows = zip(
        cumulative.reshape(-1, cumulative.shape[-1]),
        np.broadcast_to(at, (*cumulative.shape[:-1], at.shape[-1])).reshape(-1, at.shape[-1]),
        strict=True,
    )
    found = [row.searchsorted(u, side="right") for row, u in rows]
    return np.asarray(found).reshape(*cumulative.shape[:-1], at.shape[-1])


def _refuse_nan(x: Array) -> None:
    if any_of(x != x):
        raise ValueError("x must not hold NaN; drop or impute missing values first")


def _restore(points: Array, weights: Array, event_ndim: int) -> WeightedPoints:
    return WeightedPoints._make(as_observation(points), as_observation(weights), event_ndim)
