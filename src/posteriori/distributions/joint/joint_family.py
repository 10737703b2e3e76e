r"""Joint laws of an unknown mean and an unknown spread, :math:`p(\mu, s) = p(s)\,
N(\mu \mid m, (K\Lambda)^{-1})`, where the precision :math:`\Lambda` is s or its inverse.

The spread s has statistics :math:`(\pm\ln|\Lambda|, \Lambda)` and natural parameters
:math:`(s_1, s_2)`. Multiplying by the normal density of the mean gives the statistics
:math:`(\pm\ln|\Lambda|, \Lambda, \Lambda\mu, \mu^\top\Lambda\mu)` and natural parameters

.. math:: (s_1 \pm \tfrac n2,\ s_2 - \tfrac12 K mm^\top,\ Km,\ -\tfrac12 K),

with n = 1, or the number of weights that share one :math:`\Lambda`. All laws below are sums over
the two pieces, in which a mean far from 0 costs no digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np

from posteriori.distributions.coordinates import inner
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.numerics.blocks.chunks import read_blocks
from posteriori.numerics.rank import difference
from posteriori.numerics.special import LOG_2PI, log1pmx
from posteriori.numerics.types import Array, Natural
from posteriori.numerics.validation import as_observation, check_symmetric, positive

__all__ = ["ETAS", "JointFamily", "vector_size"]

#: Where a value made from natural parameters keeps them.
ETAS = ("_eta1", "_eta2", "_eta3", "_eta4")


class JointFamily(ExponentialFamily):
    """Base of the joint families; as it stands, of a number μ with a number Λ.

    A value keeps the form it was given: location, strength and the parameters of the spread, or
    natural parameters, which for messages may belong to no location at all.
    """

    #: The event: a pair of the mean and the spread.
    _record: ClassVar[Any]
    #: The family of the spread.
    _spread_family: ClassVar[Any]
    #: +1 where the first statistic is ln|Λ|, −1 where it is −ln|Λ|.
    _sign: ClassVar[float]
    #: Name of the parameter K.
    _strength_name: ClassVar[str] = "mean_strength"
    #: Event axes of mean and spread.
    _event_ndims: ClassVar[tuple[int, int]] = (0, 0)
    _natural_ndims = (0, 0, 0, 0)

    # -- the algebra of one kind of mean and spread ----------------------------------------

    @classmethod
    def _apply(cls, strength: Array, vector: Array) -> Array:
        """Return K v."""
        return strength * vector

    @classmethod
    def _divide(cls, strength: Array, vector: Array) -> Array:
        """Return K⁻¹ v."""
        return vector / strength

    @classmethod
    def _bilinear(cls, strength: Array, a: Array, b: Array) -> Array:
        """Return what Λ multiplies in aᵀ(KΛ)b, of the shape of Λ."""
        return strength * a * b

    @classmethod
    def _lift(cls, precision: Array, mean: Array) -> tuple[Array, Array]:
        """Return the third and fourth statistic, Λμ and μᵀΛμ."""
        weighted = precision * mean
        return weighted, weighted * mean

    @classmethod
    def _lower(cls, precision: Array, weighted: Array) -> Array:
        """Return Λ⁻¹(Λμ)."""
        return weighted / precision

    @classmethod
    def _is_strength(cls, strength: Array) -> Any:
        """Tell whether K is positive (definite)."""
        return strength > 0

    @property
    def _copies(self) -> int:
        """How many factors |Λ|^½ the normal density of the mean has."""
        return 1

    @property
    def _size(self) -> int:
        """Number of entries of the mean."""
        return 1

    @cached_property
    def _log_det_strength(self) -> Array:
        """ln|K|, with K repeated for every entry of the mean."""
        return self._size * np.log(self._strength)

    @cached_property
    def _inverse_strength(self) -> Array:
        """E[μᵀΛμ] at location 0, the inverse of K."""
        return self._size / self._strength

    @classmethod
    def _strength_from(cls, inverse: Array, size: int) -> Array:
        """Invert :attr:`_inverse_strength`."""
        return size / positive("E[μᵀΛμ] less its value at the mean", inverse)

    def _strength_divergence(self, other: Self) -> Array:
        """Return Σ(ρ − 1 − ln ρ) over the eigenvalues ρ of K⁻¹K'."""
        excess = (other._strength - self._strength) / self._strength
        return -self._size * log1pmx(excess, other._strength / self._strength)

    def _colored(self, spread: Array, noise: Array) -> Array:
        """Turn unit noise into draws of N(0, (KΛ)⁻¹)."""
        precision = self._spread_family.sufficient(spread)[1]
        return noise / cast(Array, np.sqrt(self._strength * precision))

    def marginal_mean(self) -> Any:
        """Return the distribution of the mean alone, a Student t."""
        raise TypeError(f"{type(self).__name__} states no marginal of the mean")

    # -- the two forms ---------------------------------------------------------------------

    @classmethod
    def _build(cls, location: Array, strength: Array, spread: Any) -> Self:
        kept = {k: spread.__dict__[k] for k in spread._parameters if k in spread.__dict__}
        return cls._from(location=location, **{cls._strength_name: strength}, **kept)

    @cached_property
    def _pieces(self) -> tuple[Array, Array, Any]:
        """Location m, strength K and the distribution of the spread."""
        if "_eta1" not in self.__dict__:
            given = self.__dict__
            kept = {k: given[k] for k in self._spread_family._parameters if k in given}
            spread = self._spread_family._from(**kept)
            return given["location"], given[self._strength_name], spread
        first, second, third, fourth = (self.__dict__[name] for name in ETAS)
        strength = -2.0 * fourth
        with np.errstate(all="ignore"):
            location = self._divide(strength, third)
            excess = 0.5 * self._bilinear(strength, location, location)
            spread = self._spread_family._from_natural(first - self._shift, second + excess)
        return location, strength, spread

    @cached_property
    def location(self) -> Array:
        """Location m of the mean."""
        self._require_proper("location")
        return self._pieces[0]

    @property
    def _strength(self) -> Array:
        return self._pieces[1]

    @property
    def _spread(self) -> Any:
        return self._pieces[2]

    @property
    def _shift(self) -> float:
        """What the normal density of the mean adds to the first natural parameter."""
        return 0.5 * self._sign * self._copies

    @property
    def event_shape(self) -> tuple[Any, ...]:
        """Shapes of the mean and of the spread."""
        return ((self._size,) * self._event_ndims[0], (self._size,) * self._event_ndims[1])

    # -- moments ---------------------------------------------------------------------------

    @cached_property
    def mean(self) -> Any:
        """Means of both parts, where they exist."""
        self._require_proper("mean")
        return self._record(self.marginal_mean().mean, self._spread.mean)

    @cached_property
    def variance(self) -> Any:
        """Variances of the entries of both parts, where they exist."""
        self._require_proper("variance")
        return self._record(self.marginal_mean().variance, self._spread.variance)

    @cached_property
    def mode(self) -> Any:
        """Where the joint density is highest: m, and the mode of the spread given μ = m."""
        self._require_proper("mode")
        first, second = self._spread.natural
        given = self._spread_family._from_natural(first + self._shift, second)
        return self._record(self.location, given.mode)

    # -- exponential family ----------------------------------------------------------------

    @cached_property
    def natural(self) -> Natural:
        """(s₁ ± n/2, s₂ − ½Kmmᵀ, Km, −½K)."""
        if "_eta1" in self.__dict__:
            return tuple(self.__dict__[name] for name in ETAS)
        location, strength, spread = self._pieces
        first, second = spread.natural
        excess = 0.5 * self._bilinear(strength, location, location)
        weighted = self._apply(strength, location)
        return first + self._shift, second - excess, weighted, -0.5 * strength

    @classmethod
    def from_natural(cls, *natural: Any) -> Self:
        """Return the member or message with these natural parameters; matrices are symmetric."""
        made = super().from_natural(*natural)
        for part, ndim in zip(made.natural, cls._natural_ndims, strict=True):
            if ndim == 2:
                check_symmetric("natural parameters", part)
        return made

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        return cls._from(**dict(zip(ETAS, natural, strict=True)))

    @property
    def is_proper(self) -> Any:
        """Whether the strength is positive and the spread is proper."""
        return self._is_strength(self._strength) & self._spread.is_proper

    @classmethod
    def sufficient(cls, x: Any) -> Natural:
        """Return T(μ, s) = (±ln|Λ|, Λ, Λμ, μᵀΛμ)."""
        log_det, precision = cls._spread_family.sufficient(x[1])
        return log_det, precision, *cls._lift(precision, as_observation(x[0]))

    @cached_property
    def mean_params(self) -> Natural:
        """(±E[ln|Λ|], E[Λ], E[Λ]m, mᵀE[Λ]m + n/K)."""
        log_det, precision = self._spread.mean_params
        weighted, square = self._lift(precision, self.location)
        return log_det, precision, weighted, square + self._inverse_strength

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the member with E[T(μ, s)] as given."""
        log_det, precision, weighted, square = (
            as_observation(part, "mean_params") for part in mean_params
        )
        spread = cls._spread_family.from_mean_params(log_det, precision)
        location = cls._lower(precision, weighted)
        size = location.shape[-1] if cls._event_ndims[0] else 1
        excess = square - cls._lift(precision, location)[1]
        return cls._build(location, cls._strength_from(excess, size), spread)

    def _log_normalizer(self) -> Array:
        return self._spread._log_normalizer() + self._log_height

    @property
    def _log_height(self) -> Array:
        """½ ln|2π K⁻¹|."""
        return 0.5 * (self._size * LOG_2PI - self._log_det_strength)

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Any) -> Array:
        mean, spread = x
        gap = mean - self.location
        log_det, precision = self._spread_family.sufficient(spread)
        distance = self._scaled_distance(precision, gap)
        given = self._shift * log_det - 0.5 * distance - self._log_height
        return cast(Array, self._spread._log_density(spread) + given)

    def _scaled_distance(self, precision: Array, gap: Array) -> Array:
        """Return gapᵀ(KΛ)gap."""
        square = self._bilinear(self._strength, gap, gap)
        return inner((precision,), (square,), self._natural_ndims[1:2])

    def _entropy(self) -> Array:
        log_det = self._spread.mean_params[0]
        given = 0.5 * self._size + self._log_height - self._shift * log_det
        return cast(Array, self._spread._entropy() + given)

    def _kl(self, other: Self) -> Array:
        # KL of the spreads + ½ E[(m−m')ᵀ(K'Λ)(m−m')] + ½ Σ(ρ − 1 − ln ρ)
        gap = self.location - other.location
        distance = other._scaled_distance(self._spread.mean_params[1], gap)
        given = 0.5 * (distance + self._strength_divergence(other))
        return cast(Array, self._spread._kl(other._spread) + given)

    def _times(self, other: Self) -> Self:
        if not (self._all_proper and other._all_proper):
            return super()._times(other)
        return self._combine(other, 1.0)

    def _over(self, other: Self) -> Self:
        if not (self._all_proper and other._all_proper):
            return super()._over(other)
        matrices = np.ndim(self._strength) - len(self.batch_shape) == 2
        left = difference(self._strength, other._strength, matrices=matrices)
        if not np.all(self._is_strength(left)):
            return super()._over(other)
        return self._combine(other, -1.0)

    def _combine(self, other: Self, sign: float) -> Self:
        # K = K₁ ± K₂, m = m₁ ± K⁻¹K₂(m₂−m₁), s₂ less ½(m₂−m₁)ᵀK₁(m−m₁)
        strength = self._strength + sign * other._strength
        gap = other.location - self.location
        move = sign * self._divide(strength, self._apply(other._strength, gap))
        (p, p_slope), (q, q_slope) = self._spread.natural, other._spread.natural
        slope = p_slope + sign * q_slope - 0.5 * self._bilinear(self._strength, gap, move)
        spread = self._spread_family._from_natural(p + sign * (q + self._shift), slope)
        return self._build(self.location + move, strength, spread)

    def _to_the(self, power: Array) -> Self:
        if not self._all_proper or power <= 0:
            return super()._to_the(power)
        first, second = self._spread.natural
        first = power * (first + self._shift) - self._shift
        spread = self._spread_family._from_natural(first, power * second)
        return self._build(self.location, power * self._strength, spread)

    # -- pairs instead of arrays -----------------------------------------------------------

    def _observe(self, x: Any) -> Any:
        if not isinstance(x, (tuple, list)) or len(x) != 2:
            raise ValueError(f"x must be a pair ({', '.join(self._record._fields)}), got {x!r}")
        for name, part, event in zip(self._record._fields, x, self.event_shape, strict=True):
            shape = np.shape(part)
            if shape[len(shape) - len(event) :] != event:
                raise ValueError(
                    f"{name} must have shape (..., {', '.join(map(str, event))}) "
                    f"for this {type(self).__name__}, got {shape}"
                )
        return self._record(*map(as_observation, x, self._record._fields))

    @classmethod
    def _off_support(cls, x: Any) -> Any:
        return cls._spread_family._off_support(x[1])

    def _replace(self, x: Any, outside: Any) -> Any:
        mask = np.asarray(outside).reshape(np.shape(outside) + (1,) * self._event_ndims[1])
        return self._record(x[0], np.where(mask, self._interior()[1], x[1]))

    def _settle(self, value: Array, x: Any) -> Array:
        undefined = np.isnan(value)
        if not np.any(undefined):
            return value
        if any(np.any(np.isnan(part)) for part in x):
            raise ValueError("x must not hold NaN; drop or impute missing values first")
        return np.where(undefined, -np.inf, value)[()]  # an infinite point

    def _interior(self) -> Any:
        if self._all_proper:
            return self._record(self.location, self._spread._interior())
        mean_shape, spread_shape = self.event_shape
        ones = np.eye(self._size) if spread_shape else np.float64(1.0)
        return self._record(np.zeros(mean_shape)[()], ones)

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        spread = self._spread._sample(shape, rng)
        noise = rng.standard_normal((*shape, *self.event_shape[0]) or None)
        return self._record(self.location + self._colored(spread, noise), spread)

    @classmethod
    def _blocks(cls, data: Any, weights: Any) -> Iterator[tuple[Any, Array | None]]:
        """Read a pair of arrays, or an iterator of such pairs, with one weight per row."""
        pairs = data if hasattr(data, "__next__") else (data,)
        means, spreads = (
            np.concatenate(list(read_blocks(iter(parts), ndim)))
            for parts, ndim in zip(zip(*pairs, strict=True), cls._event_ndims, strict=True)
        )
        block = cls._record(means, spreads)
        cls._check_data(block)
        w = np.ones(len(means)) if weights is None else as_observation(weights, "weights")
        if w.shape != spreads.shape[:1] or not np.all(np.isfinite(w)) or np.any(w < 0):
            raise ValueError("weights must be one finite number >= 0 per row")
        if not np.any(w):
            raise ValueError("weights must not all be 0")
        yield block, w

    @classmethod
    def _check_data(cls, block: Any) -> None:
        if np.any(cls._off_support(block)):
            part = block._fields[1]
            raise ValueError(
                f"data must lie in the support of {cls.__name__}, not every {part} does"
            )


def vector_size(joint: JointFamily) -> int:
    """Return D of a joint law of a vector, whichever form it was given in."""
    stored = joint.__dict__["location" if "location" in joint.__dict__ else "_eta3"]
    return int(stored.shape[-1])
