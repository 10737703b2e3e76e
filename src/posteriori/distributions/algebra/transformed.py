r"""Change of variables: the distribution of y = h(x),
:math:`p_y(y) = \sum_i p_x(g_i(y))\,|g_i'(y)|` over the inverse branches :math:`g_i` of h.

For vectors the slope is :math:`|\det J_g(y)|`; where x has probabilities instead of a density,
masses move without a slope.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from posteriori.distributions.algebra.expectations import expect
from posteriori.distributions.algebra.maps import (
    AbsoluteMap,
    Bijection,
    ExpMap,
    Map,
    MonotoneMap,
    PiecewiseMap,
    PowerMap,
)
from posteriori.distributions.base import Distribution, Univariate, any_of, has_atoms
from posteriori.distributions.batches import take_members
from posteriori.distributions.numbers.log_normal import LogNormal
from posteriori.distributions.numbers.normal import Normal
from posteriori.numerics.calculus.roots import invert_increasing
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array, number

__all__ = ["Transformed", "TransformedFamily", "UnivariateTransformed", "transform"]


def transform(
    base: Any,
    forward: Callable[[Any], Any],
    inverse: Callable[[Any], Any] | None = None,
    log_abs_jacobian: Callable[[Any], Any] | None = None,
    *,
    increasing: bool = True,
    image: tuple[float, float] = (-np.inf, np.inf),
    branches: Any = None,
) -> Any:
    """Return the distribution of forward(x), the map given by functions.

    Parameters
    ----------
    base : distribution
        Of a number or of vectors.
    forward, inverse : callable
        h and h⁻¹; vectors (..., D) map as a whole.
    log_abs_jacobian : callable
        y ↦ ln|g'(y)| or ln|det J_g(y)| of the inverse g.
    increasing, image : bool, (float, float)
        Whether h rises, and the open interval of its values; for numbers.
    branches : list of (inverse, derivative, domain), optional
        Instead of one inverse: every branch of a map of numbers that is not monotone.

    Examples
    --------
    >>> from posteriori import Normal
    >>> x = Normal(0.0, variance=1.0)
    >>> y = transform(x, np.exp, np.log, lambda y: -np.log(y), image=(0.0, np.inf))
    >>> y.log_prob(1.0).round(6), y.median.round(6)
    (np.float64(-0.918939), np.float64(1.0))
    """
    if branches is not None:
        return Transformed(base, PiecewiseMap(forward, tuple(branches)))
    if inverse is None or log_abs_jacobian is None:
        raise TypeError("transform needs inverse and log_abs_jacobian, or branches")
    if base.event_shape:
        return Transformed(base, Bijection(forward, inverse, log_abs_jacobian))
    return Transformed(base, MonotoneMap(forward, inverse, log_abs_jacobian, increasing, image))


class TransformedFamily(Distribution):
    """What transformed numbers and vectors have in common."""

    _parameters = {}
    _shown = ("base", "map")

    base: Any
    map: Map

    def __new__(cls, base: Any, map: Map) -> Self:
        if not isinstance(base, Distribution):
            raise TypeError(f"base must be a distribution, got {base!r}")
        if not isinstance(map, Map):
            raise TypeError(
                f"map must be one of posteriori.distributions.algebra.maps, got {map!r}"
            )
        if map.event_ndim != base._event_ndim:
            raise ValueError(
                f"{type(map).__name__} maps events of {map.event_ndim} axes, "
                f"those of {type(base).__name__} have {base._event_ndim}"
            )
        _require_source(base, map)
        return cls._make(base, map)

    @classmethod
    def _make(cls, base: Any, map: Map) -> Self:
        univariate = isinstance(base, Univariate)
        self: Any = object.__new__(UnivariateTransformed if univariate else Transformed)
        self.__dict__.update(base=base, map=map)
        return self

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Batch shape of the base."""
        return self.base.batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one event of the base."""
        return self.base.event_shape

    @property
    def _event_ndim(self) -> int:  # type: ignore[override]
        return self.base._event_ndim

    @cached_property
    def _has_atoms(self) -> bool:  # type: ignore[override]
        return has_atoms(self.base)

    def _outside(self, x: Array) -> Any:
        return np.isinf(x).any(axis=-1) if self._event_ndim else False

    def _log_density(self, x: Array) -> Array:
        if any_of(x != x):
            raise ValueError("x must not hold NaN; drop or impute missing values first")
        terms = []
        for point, log_slope, exists in self.map.preimages(x):
            mask = np.asarray(exists).reshape(np.shape(exists) + (1,) * self._event_ndim)
            log_p = self.base.log_prob(np.where(mask, point, 0.0)[()])
            moved = log_p if self._has_atoms else log_p + log_slope
            terms.append(np.where(exists & (log_p > -np.inf), moved, -np.inf)[()])
        return terms[0] if len(terms) == 1 else log_sum_exp(np.stack(terms), axis=0)

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.map.forward(self.base._sample(shape, rng))

    def _interior(self) -> Array:
        return self.map.forward(self.base._interior())

    # -- being a value ---------------------------------------------------------------------

    def _take_members(self, index: Any) -> Self:
        return self._make(take_members(self.base, index), self.map)

    def iid(self, n: int | str) -> Any:
        """Return ``n`` independent copies: the same map of a base with one more batch axis."""
        if isinstance(n, str):
            return super().iid(n)
        return self._make(self.base.iid(n), self.map)

    def _given_parameters(self) -> dict[str, Any]:
        return {"base": self.base, "map": self.map}

    def _key(self) -> tuple[Array, ...]:
        return np.asarray(type(self.base).__name__), *self.base._key()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TransformedFamily):
            return NotImplemented
        return self.map == other.map and super().__eq__(other)

    def __hash__(self) -> int:
        return hash((self.map, super().__hash__()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.base, self.map)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base!r}, {self.map!r})"


class Transformed(TransformedFamily):
    """Distribution of h(x) for vectors x; of numbers it is a :class:`UnivariateTransformed`.

    Parameters
    ----------
    base : distribution
        Distribution of x.
    map : Map
        The map h: ``LinearMap``, ``Bijection``, or one of the maps of numbers.

    Examples
    --------
    >>> from posteriori import MvNormal
    >>> from posteriori.distributions.algebra.maps import LinearMap
    >>> x = MvNormal([0.0, 0.0], cov=[[1.0, 0.0], [0.0, 1.0]])
    >>> Transformed(x, LinearMap([[2.0, 0.0], [0.0, 1.0]])).log_prob([2.0, 0.0]).round(6)
    np.float64(-3.031024)
    """


class UnivariateTransformed(TransformedFamily, Univariate):
    """Distribution of h(x) for a number x: what :class:`Transformed` makes of them.

    Parameters
    ----------
    base : univariate distribution
        Distribution of x.
    map : Map
        The map h: ``AffineMap``, ``ExpMap``, ``LogMap``, ``LogitMap``, ``SquareMap``,
        ``AbsoluteMap``, ``PowerMap``, ``MonotoneMap`` or ``PiecewiseMap``.

    Examples
    --------
    >>> from posteriori import Normal
    >>> from posteriori.distributions.algebra.maps import SquareMap
    >>> chi_squared = Transformed(Normal(0.0, variance=1.0), SquareMap())
    >>> chi_squared.cdf(1.0).round(6)
    np.float64(0.682689)
    """

    @cached_property
    def mean(self) -> Array:
        """E[h(x)], by quadrature or in closed form; infinite where the tails are too heavy."""
        if (known := self._log_normal) is not None:
            with np.errstate(over="ignore"):  # beyond the largest number: infinite
                return known.mean
        return self._expect(lambda y: y)

    @cached_property
    def variance(self) -> Array:
        """Var[h(x)], by quadrature or in closed form; infinite where the mean is."""
        if (known := self._log_normal) is not None:
            with np.errstate(over="ignore"):
                return known.variance
        out = np.empty(self.batch_shape)
        for index in np.ndindex(*self.batch_shape):
            mean = np.asarray(self.mean)[index]
            gap = partial(_squared_gap, mean=mean)
            out[index] = take_members(self, index)._expect(gap) if np.isfinite(mean) else np.inf
        return out[()]

    @property
    def _log_normal(self) -> LogNormal | None:
        """The same distribution with moments in closed form, where x is normal and h = exp."""
        if isinstance(self.map, ExpMap) and isinstance(self.base, Normal):
            return LogNormal(self.base.mean, variance=self.base.variance)
        return None

    def _expect(self, f: Callable[[Array], Array]) -> Array:
        """Integrate over x, or over y = h(x) where h turns or overflows before x has its tails."""
        turns = isinstance(self.map, (AbsoluteMap, PowerMap)) and self.map.increasing is None
        if (turns or isinstance(self.map, ExpMap)) and not self._has_atoms:
            return expect(self, f)
        return expect(self.base, lambda x: f(self.map.forward(x)))

    def _cdf(self, x: Array) -> Array:
        low, high = self.map.sublevel(x)
        empty = low > high
        below = self.base.cdf(np.where(empty, 0.0, high))
        if not self.map.increasing:  # else it begins at −∞
            below = below - self.base.cdf(np.where(empty, 0.0, low))
        if self._has_atoms:
            finite = np.isfinite(low) & ~empty
            below = below + finite * np.exp(self.base.log_prob(np.where(finite, low, 0.0)))
        return np.where(empty, 0.0, below)[()]

    def _quantile(self, q: Array) -> Array:
        if self.map.increasing is None:
            ends = [self.map.forward(self.base.quantile(u)) for u in (0.5 - 0.5 * q, 0.5 + 0.5 * q)]
            high = np.maximum(*ends)
            return invert_increasing(self._cdf, q, number(0.0), high, jumps=self._has_atoms)
        if self.map.increasing:
            return self.map.forward(self.base.quantile(q))
        rest = np.minimum(np.nextafter(1.0 - q, 2.0), 1.0) if self._has_atoms else 1.0 - q
        return self.map.forward(self.base.quantile(rest))


def _require_source(base: Any, map: Map) -> None:
    """Refuse a base with probability where the map is not defined."""
    low, high = map.source
    if not isinstance(base, Univariate) or (low == -np.inf and high == np.inf):
        return
    before = base.cdf(low) if low > -np.inf else 0.0
    if np.any(before > 0) or np.any(base.cdf(high) < 1.0):
        raise ValueError(
            f"{type(map).__name__} is defined on ({low:g}, {high:g}); {base!r} has probability "
            "elsewhere"
        )


def _squared_gap(y: Array, mean: Array) -> Array:
    return (y - mean) ** 2


def _restore(base: Any, map: Map) -> TransformedFamily:
    return TransformedFamily._make(base, map)
