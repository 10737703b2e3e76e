r"""Conjugate pairs of the normal likelihood with a scalar datum.

Statistics are centred, and posteriors are written as corrections of the prior, so that data far
from 0 keep their digits.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.conjugate.pair import Correction, NaturalPair, Pair, register
from posteriori.distributions.joint.normal_gamma import NormalGamma
from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.distributions.statistics import Moments, Sums
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, number

__all__ = [
    "GammaPrecision",
    "InverseGammaVariance",
    "NormalGammaPair",
    "NormalInverseGammaPair",
    "NormalMeanPrecision",
    "NormalMeanScale",
    "NormalMeanVariance",
    "WeightedMoments",
]


class WeightedMoments(NamedTuple):
    """Moments of z = (x − b)/a under weights a²/v, and the log likelihood's constant part."""

    moments: Moments
    log_carrier: Array

    def merge(self, other: WeightedMoments) -> WeightedMoments:
        """Return the statistics of both sets of data."""
        return WeightedMoments(
            self.moments.merge(other.moments), self.log_carrier + other.log_carrier
        )

    def without(self, other: WeightedMoments) -> WeightedMoments:
        """Return the statistics without those of a part of the data."""
        return WeightedMoments(
            self.moments.without(other.moments), self.log_carrier - other.log_carrier
        )


class _NormalMean(Pair):
    """Unknown mean θ of x ~ N(aθ + b, v) with known a, b, v (per row, if need be)."""

    prior_family = Normal
    likelihood_family: ClassVar[type[Distribution]] = Normal

    def variance_of(self, known: Any) -> Array:
        """Return v from the known spread parameter."""
        raise TypeError("the spread parameter is stated by subclasses")

    def check_maps(self) -> None:
        """Allow any scalar affine map."""
        if self._map.matrix is not None:
            raise TypeError("a Normal prior takes scalar factors; use * instead of @")
        if self._map.factor is not None and np.any(np.asarray(self._map.factor) == 0):
            raise ValueError("a factor of 0 leaves the mean independent of the unknown")

    @property
    def _map(self) -> Any:
        return self.conditional.unknown["mean"]

    @property
    def _variance(self) -> Array:
        (known,) = self.known.values()
        return self.variance_of(known)

    def summarize(self, block: Array, start: int = 0) -> WeightedMoments:
        """Return weighted moments of the implied observations of θ."""
        a = self.rows(self._map.factor, start, block)
        b = self.rows(self._map.offset, start, block)
        v = self.rows(self._variance, start, block)
        z = block if b is None else block - b
        z = z if a is None else z / a
        weight = 1.0 / v if a is None else a * a / v
        log_carrier = -0.5 * np.broadcast_to(LOG_2PI + np.log(v), z.shape).sum(axis=0)
        return WeightedMoments(_weighted_moments(z, weight), log_carrier)

    def update(self, belief: Normal, statistics: WeightedMoments) -> Normal:
        """Add precisions; move the mean by its share of the innovation."""
        strength, centre = statistics.moments.count, statistics.moments.mean
        precision = belief.precision + strength
        if not belief._all_proper:
            return belief._from_natural(belief.weighted_mean + strength * centre, precision)
        mean = belief.mean + strength / precision * (centre - belief.mean)
        return Normal._from(mean=mean, precision=precision)

    def log_likelihood(self, theta: Any, statistics: WeightedMoments) -> Array:
        """Return −½ Σ w (z − θ)² + c."""
        return statistics.log_carrier - 0.5 * statistics.moments.scatter_about(theta)

    def predictive(self, belief: Normal) -> Distribution:
        """Return N(a m + b, a² s² + v)."""
        a = 1.0 if self._map.factor is None else self._map.factor
        b = 0.0 if self._map.offset is None else self._map.offset
        return Normal(a * belief.mean + b, variance=a * a * belief.variance + self._variance)

    def correction(self, posterior: Normal, statistics: WeightedMoments) -> Correction:
        """Return the scalar Kalman gain view."""
        strength, centre = statistics.moments.count, statistics.moments.mean
        gain = strength / posterior.precision
        error = centre - self.prior.mean
        return Correction(self.prior.mean, centre, gain, error, gain * error, posterior.mean)


@register
class NormalMeanVariance(_NormalMean):
    """Unknown mean, known variance."""

    unknown, needs = ("mean",), ("variance",)

    def variance_of(self, known: Any) -> Array:
        """Return it as it is."""
        return known


@register
class NormalMeanScale(_NormalMean):
    """Unknown mean, known standard deviation."""

    unknown, needs = ("mean",), ("scale",)

    def variance_of(self, known: Any) -> Array:
        """Return its square."""
        return known * known


@register
class NormalMeanPrecision(_NormalMean):
    """Unknown mean, known precision."""

    unknown, needs = ("mean",), ("precision",)

    def variance_of(self, known: Any) -> Array:
        """Return its inverse."""
        return 1.0 / known


class _KnownMean(NaturalPair):
    """Unknown spread (times a known factor), known mean: squared deviations add to the rate."""

    likelihood_family: ClassVar[type[Distribution]] = Normal
    needs = ("mean",)
    #: Of the exponent that turns the spread into a precision.
    sign: ClassVar[float] = 1.0

    def check_maps(self) -> None:
        """Allow a known positive factor times the spread."""
        (name,) = self.unknown
        unknown = self.conditional.unknown[name]
        if unknown.matrix is not None or unknown.offset is not None:
            raise TypeError(f"{name} must be the unknown or a known factor times it")
        if not np.all(self._factor > 0):
            raise ValueError(f"the known factor of {name} must be positive")

    @property
    def _factor(self) -> Array:
        factor = self.conditional.unknown[self.unknown[0]].factor
        return number(1.0) if factor is None else factor

    @staticmethod
    @abstractmethod
    def _amount(belief: Any) -> Array:
        """Return b."""

    def summarize(self, block: Array, start: int = 0) -> Sums:
        """Return (±N/2, −½ Σ c(x − m)²), where c times the unknown precision is that of a row."""
        c = self.rows(self._factor, start, block) ** self.sign
        deviation = block - self.rows(self.known["mean"], start, block)
        squares = np.broadcast_to(c * deviation**2, block.shape).sum(axis=0)
        half = np.full(block.shape[1:], 0.5 * len(block))[()]
        carrier = 0.5 * np.broadcast_to(np.log(c) - LOG_2PI, block.shape).sum(axis=0)
        return Sums(number(len(block)), (self.sign * half, -0.5 * squares), carrier)

    def predictive(self, belief: Any) -> Distribution:
        """Return a Student t with 2a degrees of freedom."""
        scale = np.sqrt(self._amount(belief) / (belief.shape * self._factor**self.sign))
        return StudentT(2.0 * belief.shape, self.known["mean"], scale=scale)

    def prediction(self, belief: Any) -> Array:
        """Return the expected squared deviation b/(a − 1)."""
        if np.any(belief.shape <= 1):
            raise ValueError("the expected variance needs a prior with shape > 1")
        return self._amount(belief) / (belief.shape - 1.0)

    def strengths(self, statistics: Sums) -> tuple[Array, Array, Array]:
        """Weigh a − 1 against N/2."""
        half, deviations = self.sign * statistics.sums[0], -statistics.sums[1]
        return self.prior.shape - 1.0, half, deviations / half


@register
class GammaPrecision(_KnownMean):
    """Unknown precision."""

    prior_family, unknown = Gamma, ("precision",)

    @staticmethod
    def _amount(belief: Gamma) -> Array:
        return belief.rate


@register
class InverseGammaVariance(_KnownMean):
    """Unknown variance."""

    prior_family, unknown = InverseGamma, ("variance",)
    sign = -1.0

    @staticmethod
    def _amount(belief: InverseGamma) -> Array:
        return belief.scale


class _MeanAndSpread(Pair):
    """Mean and spread both unknown: κ, m, a, b are corrected by count, mean and scatter."""

    likelihood_family: ClassVar[type[Distribution]] = Normal

    def summarize(self, block: Array, start: int = 0) -> Moments:
        """Return count, mean and centred scatter."""
        return Moments.of_numbers(block)

    def updated(
        self, belief: Any, amount: Array, statistics: Moments
    ) -> tuple[Array, Array, Array, Array]:
        """Return (m, κ, a, b) of the posterior; ``amount`` is the prior's b."""
        n, centre, scatter = statistics.count, statistics.mean, statistics.scatter
        strength = belief.mean_strength + n
        error = centre - belief.location
        spread = 0.5 * (scatter + belief.mean_strength * n / strength * error**2)
        mean = belief.location + n / strength * error
        return mean, strength, belief.shape + 0.5 * n, amount + spread

    def log_likelihood(self, theta: Any, statistics: Moments) -> Array:
        """Return (N/2) ln(τ/2π) − ½ τ Σ (x − μ)²."""
        mu, spread = theta
        tau = self.precision_of(spread)
        about = statistics.scatter_about(mu)
        return 0.5 * statistics.count * (np.log(tau) - LOG_2PI) - 0.5 * tau * about

    def precision_of(self, spread: Array) -> Array:
        """Return the precision from the second unknown."""
        raise TypeError("stated by subclasses")

    def correction(self, posterior: Any, statistics: Moments) -> Correction:
        """Return the view of the mean: gain N/(κ + N)."""
        gain = statistics.count / posterior.mean_strength
        before = self.prior.location
        error = statistics.mean - before
        return Correction(before, statistics.mean, gain, error, gain * error, before + gain * error)


@register
class NormalGammaPair(_MeanAndSpread):
    """Unknown mean and precision."""

    prior_family, unknown = NormalGamma, ("mean", "precision")

    def update(self, belief: NormalGamma, statistics: Moments) -> NormalGamma:
        """Correct all four parameters."""
        return NormalGamma(*self.updated(belief, belief.rate, statistics))

    def precision_of(self, spread: Array) -> Array:
        """Return it as it is."""
        return spread

    def predictive(self, belief: NormalGamma) -> Distribution:
        """Return a Student t with 2a degrees of freedom."""
        return _student(belief, belief.rate)


@register
class NormalInverseGammaPair(_MeanAndSpread):
    """Unknown mean and variance."""

    prior_family, unknown = NormalInverseGamma, ("mean", "variance")

    def update(self, belief: NormalInverseGamma, statistics: Moments) -> NormalInverseGamma:
        """Correct all four parameters."""
        return NormalInverseGamma(*self.updated(belief, belief.scale, statistics))

    def precision_of(self, spread: Array) -> Array:
        """Return 1/σ²."""
        return 1.0 / spread

    def predictive(self, belief: NormalInverseGamma) -> Distribution:
        """Return a Student t with 2a degrees of freedom."""
        return _student(belief, belief.scale)


def _student(belief: Any, amount: Array) -> StudentT:
    # scale² = (b/a)(κ + 1)/κ: uncertain mean plus noise
    widening = (belief.mean_strength + 1.0) / belief.mean_strength
    scale = np.sqrt(amount / belief.shape * widening)
    return StudentT(2.0 * belief.shape, belief.location, scale=scale)


def _weighted_moments(z: Array, weight: Array) -> Moments:
    if np.ndim(weight) < z.ndim or np.shape(weight)[0] == 1:
        plain = Moments.of_numbers(z)
        w = weight if np.ndim(weight) < z.ndim else weight[0]
        return Moments(plain.count * w, plain.mean, plain.scatter * w)
    weight = np.broadcast_to(weight, z.shape)
    strength = weight.sum(axis=0)
    centre = (weight * z).sum(axis=0) / strength
    return Moments(strength, centre, (weight * (z - centre) ** 2).sum(axis=0))
