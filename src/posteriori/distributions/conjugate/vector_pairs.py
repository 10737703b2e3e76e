r"""Conjugate pairs of the multivariate normal likelihood: mean, covariance, both, linear maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.conjugate.pair import Correction, NaturalPair, Pair, register
from posteriori.distributions.joint.normal_inverse_wishart import NormalInverseWishart
from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.statistics import Moments, Sums
from posteriori.distributions.vectors.inverse_wishart import InverseWishart
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.distributions.vectors.wishart import Wishart
from posteriori.numerics.linalg import (
    inverse_from_factor,
    log_det_from_factor,
    outer,
    symmetrize,
)
from posteriori.numerics.rank import factor_definite
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, number

__all__ = [
    "InverseWishartCovariance",
    "LinearGaussianCovariance",
    "LinearGaussianPrecision",
    "NormalInverseWishartPair",
    "NormalWishartPair",
    "WishartPrecision",
]


class _LinearGaussian(Pair):
    """Unknown x of y = A x + b + noise, known A, b and noise covariance R."""

    prior_family, likelihood_family, unknown = MvNormal, MvNormal, ("mean",)

    def check_maps(self) -> None:
        """Allow any affine map with as many columns as the prior has coordinates."""
        size = self.prior.event_shape[0]
        if self._matrix.shape[-1] != size:
            raise ValueError(
                f"the matrix of the likelihood has {self._matrix.shape[-1]} columns, "
                f"but the prior describes {size} coordinates"
            )

    @property
    def _matrix(self) -> Array:
        unknown = self.conditional.unknown["mean"]
        if unknown.matrix is not None:
            return np.atleast_2d(unknown.matrix)
        factor = 1.0 if unknown.factor is None else unknown.factor
        identity: Array = factor * np.eye(self.prior.event_shape[0])
        return identity

    @property
    def _offset(self) -> Array | float:
        offset = self.conditional.unknown["mean"].offset
        return 0.0 if offset is None else offset

    @property
    def event_shape(self) -> tuple[int, ...]:
        """(P,), the rows of A."""
        return self._matrix.shape[-2:-1]

    def noise_cov(self) -> Array:
        """Return R."""
        raise TypeError("stated by subclasses")

    def summarize(self, block: Array, start: int = 0) -> Moments:
        """Return count, mean and scatter of y."""
        return Moments.of_vectors(block)

    def _innovation(self, belief: MvNormal, statistics: Moments) -> Array:
        """ȳ − b − A m."""
        return statistics.mean - self._offset - _apply(self._matrix, belief.mean)

    def log_likelihood(self, theta: Any, statistics: Moments) -> Array:
        """Return −½ tr(R⁻¹ Σ(y−b−Aθ)(y−b−Aθ)ᵀ) − (N/2) ln|2πR|."""
        about = statistics.scatter_about(_apply(self._matrix, theta) + self._offset)
        return _gaussian_log_likelihood(about, self.noise_cov(), statistics.count)

    def log_evidence(self, posterior: MvNormal, statistics: Moments) -> Array:
        """Return ln N(ȳ | A m + b, A P Aᵀ + R/N) plus the scatter about ȳ.

        For a single datum the second part is 0, so noise of singular covariance is no obstacle.
        """
        a, r, n = self._matrix, self.noise_cov(), statistics.count
        spread = symmetrize(a @ self.prior.cov @ np.swapaxes(a, -1, -2)) + r / n
        mean = _apply(a, self.prior.mean) + self._offset
        between = MvNormal._from(mean=mean, cov=spread).log_prob(statistics.mean)
        if n == 1:
            return between
        within = _gaussian_log_likelihood(statistics.scatter, r, n - 1.0)
        return between + within - 0.5 * r.shape[-1] * np.log(n)

    def predictive(self, belief: MvNormal) -> Distribution:
        """Return N(A m + b, A P Aᵀ + R)."""
        image = belief.affine(self._matrix, self._offset)
        return MvNormal._from(mean=image.mean, cov=image.cov + self.noise_cov())

    def _gain(self, belief: MvNormal, count: Array) -> Array:
        """Kalman gain K = P Aᵀ (A P Aᵀ + R/N)⁻¹."""
        a = self._matrix
        cross = belief.cov @ np.swapaxes(a, -1, -2)
        spread = a @ cross + self.noise_cov() / count
        return np.swapaxes(np.linalg.solve(spread, np.swapaxes(cross, -1, -2)), -1, -2)

    def correction(self, posterior: MvNormal, statistics: Moments) -> Correction:
        """Return the Kalman view: prior mean, innovation, gain matrix."""
        gain = self._gain(self.prior, statistics.count)
        error = self._innovation(self.prior, statistics)
        move = _apply(gain, error)
        before = self.prior.mean
        return Correction(before, statistics.mean - self._offset, gain, error, move, before + move)


@register
class LinearGaussianCovariance(_LinearGaussian):
    """Noise given by its covariance: the update is the Kalman correction."""

    needs = ("cov",)

    def noise_cov(self) -> Array:
        """Return the known covariance."""
        return self.known["cov"]

    def update(self, belief: MvNormal, statistics: Moments) -> MvNormal:
        """Return m + K(ȳ − b − A m) and (I − KA) P (I − KA)ᵀ + K R Kᵀ/N."""
        gain = self._gain(belief, statistics.count)
        keep = np.eye(belief.event_shape[0]) - gain @ self._matrix
        spread = keep @ belief.cov @ np.swapaxes(keep, -1, -2)  # Joseph's form stays definite
        noise = gain @ (self.noise_cov() / statistics.count) @ np.swapaxes(gain, -1, -2)
        mean = belief.mean + _apply(gain, self._innovation(belief, statistics))
        return MvNormal._from(mean=mean, cov=symmetrize(spread + noise))


@register
class LinearGaussianPrecision(_LinearGaussian):
    """Noise given by its precision: the update adds information."""

    needs = ("precision",)

    def noise_cov(self) -> Array:
        """Return the inverse of the known precision."""
        return inverse_from_factor(np.linalg.cholesky(self.known["precision"]))

    def update(self, belief: MvNormal, statistics: Moments) -> MvNormal:
        """Return precision W + N AᵀLA and mean m + (W + N AᵀLA)⁻¹ N AᵀL(ȳ − b − A m)."""
        pull = statistics.count * np.swapaxes(self._matrix, -1, -2) @ self.known["precision"]
        precision = symmetrize(belief.precision + pull @ self._matrix)
        if not belief._all_proper:
            weighted = belief.weighted_mean + _apply(pull, statistics.mean - self._offset)
            return belief._from_natural(weighted, precision)
        push = _apply(pull, self._innovation(belief, statistics))
        shift = np.linalg.solve(precision, push[..., None])[..., 0]
        return MvNormal._from(mean=belief.mean + shift, precision=precision)


class _KnownMean(NaturalPair):
    """Covariance or precision unknown, mean known: outer products of deviations add."""

    likelihood_family, needs = MvNormal, ("mean",)
    #: +1 where |Λ| is a statistic of the prior, −1 where |Σ| is.
    sign = 1.0

    @property
    def event_shape(self) -> tuple[int, ...]:
        """(D,)."""
        return self.prior.scale.shape[-1:]

    def summarize(self, block: Array, start: int = 0) -> Sums:
        """Return (±N/2, −½ Σ (x − m)(x − m)ᵀ)."""
        deviation = block - self.rows(self.known["mean"], start, block)
        scatter = np.einsum("n...i,n...j->...ij", deviation, deviation)
        half = np.full(block.shape[1:-1], 0.5 * self.sign * len(block))[()]
        carrier = number(-0.5 * block.shape[-1] * LOG_2PI * len(block))
        return Sums(number(len(block)), (half, -0.5 * scatter), carrier)

    def rows(self, value: Any, start: int, block: Array) -> Array:
        """The known mean is one vector for all rows."""
        return value

    def strengths(self, statistics: Sums) -> tuple[Array, Array, Array]:
        """Weigh ν − D − 1 against N; the data say their scatter / N."""
        size = statistics.sums[1].shape[-1]
        data = -2.0 * statistics.sums[1] / statistics.count
        return self.prior.dof - size - 1.0, statistics.count, data

    def correction(self, posterior: Any, statistics: Sums) -> Correction:
        """Return the view of the expected covariance."""
        before = self.prediction(self.prior)
        own, weight, data = self.strengths(statistics)
        gain = np.asarray(weight / (own + weight))[..., None, None]
        error = data - before
        return Correction(before, data, gain[..., 0, 0], error, gain * error, before + gain * error)


@register
class WishartPrecision(_KnownMean):
    """Unknown precision matrix with a Wishart prior."""

    prior_family, unknown = Wishart, ("precision",)

    def predictive(self, belief: Wishart) -> Distribution:
        """Return a multivariate t with ν − D + 1 degrees of freedom and scale V⁻¹/(ν − D + 1)."""
        return _student(belief.dof, self.known["mean"], _inverse(belief.scale))

    def prediction(self, belief: Wishart) -> Array:
        """Return E[Λ⁻¹] = V⁻¹/(ν − D − 1)."""
        return _expected_cov(belief.dof, _inverse(belief.scale))


@register
class InverseWishartCovariance(_KnownMean):
    """Unknown covariance matrix with an inverse-Wishart prior."""

    prior_family, unknown = InverseWishart, ("cov",)
    sign = -1.0

    def predictive(self, belief: InverseWishart) -> Distribution:
        """Return a multivariate t with ν − D + 1 degrees of freedom and scale Ψ/(ν − D + 1)."""
        return _student(belief.dof, self.known["mean"], belief.scale)

    def prediction(self, belief: InverseWishart) -> Array:
        """Return E[Σ] = Ψ/(ν − D − 1)."""
        return _expected_cov(belief.dof, belief.scale)


class _MeanAndCovariance(Pair):
    """Mean and covariance both unknown."""

    likelihood_family = MvNormal

    @property
    def event_shape(self) -> tuple[int, ...]:
        """(D,)."""
        return self.prior.location.shape[-1:]

    def summarize(self, block: Array, start: int = 0) -> Moments:
        """Return count, mean and centred scatter."""
        return Moments.of_vectors(block)

    def updated(
        self, belief: Any, amount: Array, statistics: Moments
    ) -> tuple[Array, Array, Array, Array]:
        """Return (m, κ, ν, Ψ) of the posterior; ``amount`` is the prior's Ψ."""
        n, centre, scatter = statistics.count, statistics.mean, statistics.scatter
        strength = belief.mean_strength + n
        error = centre - belief.location
        share = np.asarray(belief.mean_strength * n / strength)[..., None, None]
        mean = belief.location + np.asarray(n / strength)[..., None] * error
        spread = amount + scatter + share * outer(error, error)
        return mean, strength, belief.dof + n, symmetrize(spread)

    def log_likelihood(self, theta: Any, statistics: Moments) -> Array:
        """Return (N/2) ln|Λ/2π| − ½ tr(Λ Σ(x − μ)(x − μ)ᵀ)."""
        mu, spread = theta
        return _gaussian_log_likelihood(
            statistics.scatter_about(mu), self.cov_of(spread), statistics.count
        )

    def cov_of(self, spread: Array) -> Array:
        """Return the covariance from the second unknown."""
        raise TypeError("stated by subclasses")

    def correction(self, posterior: Any, statistics: Moments) -> Correction:
        """Return the view of the mean: gain N/(κ + N)."""
        gain = statistics.count / posterior.mean_strength
        before = self.prior.location
        error = statistics.mean - before
        move = np.asarray(gain)[..., None] * error
        return Correction(before, statistics.mean, gain, error, move, before + move)


@register
class NormalWishartPair(_MeanAndCovariance):
    """Unknown mean and precision."""

    prior_family, unknown = NormalWishart, ("mean", "precision")

    def update(self, belief: NormalWishart, statistics: Moments) -> NormalWishart:
        """Correct all four parameters; the inverse scale grows."""
        mean, strength, dof, spread = self.updated(belief, _inverse(belief.scale), statistics)
        return NormalWishart(mean, strength, dof, _inverse(spread))

    def cov_of(self, spread: Array) -> Array:
        """Return Λ⁻¹."""
        return _inverse(spread)

    def predictive(self, belief: NormalWishart) -> Distribution:
        """Return a multivariate t with ν − D + 1 degrees of freedom."""
        return _student(belief.dof, belief.location, _widened(belief, _inverse(belief.scale)))


@register
class NormalInverseWishartPair(_MeanAndCovariance):
    """Unknown mean and covariance."""

    prior_family, unknown = NormalInverseWishart, ("mean", "cov")

    def update(self, belief: NormalInverseWishart, statistics: Moments) -> NormalInverseWishart:
        """Correct all four parameters."""
        return NormalInverseWishart(*self.updated(belief, belief.scale, statistics))

    def cov_of(self, spread: Array) -> Array:
        """Return it as it is."""
        return spread

    def predictive(self, belief: NormalInverseWishart) -> Distribution:
        """Return a multivariate t with ν − D + 1 degrees of freedom."""
        return _student(belief.dof, belief.location, _widened(belief, belief.scale))


def _student(dof: Array, mean: Array, spread: Array) -> MvStudentT:
    nu = dof - spread.shape[-1] + 1.0
    return MvStudentT(nu, mean, scale=spread / np.asarray(nu)[..., None, None])


def _widened(belief: Any, spread: Array) -> Array:
    """Add the uncertainty of the mean: Ψ (κ + 1)/κ."""
    factor = (belief.mean_strength + 1.0) / belief.mean_strength
    return np.asarray(factor)[..., None, None] * spread


def _expected_cov(dof: Array, spread: Array) -> Array:
    spare = dof - spread.shape[-1] - 1.0
    if np.any(spare <= 0):
        raise ValueError("the expected covariance needs a prior with dof > D + 1")
    return spread / np.asarray(spare)[..., None, None]


def _gaussian_log_likelihood(scatter: Array, cov: Array, count: Array) -> Array:
    """Return −½ tr(Σ⁻¹ scatter) − (count/2) ln|2πΣ|."""
    try:
        factor = factor_definite(cov)
    except np.linalg.LinAlgError:
        raise ValueError(
            "the noise covariance is singular: several data have no joint density under it"
        ) from None
    trace = np.trace(np.linalg.solve(cov, scatter), axis1=-2, axis2=-1)
    log_det = log_det_from_factor(factor) + cov.shape[-1] * LOG_2PI
    return -0.5 * trace - 0.5 * count * log_det


def _inverse(a: Array) -> Array:
    return inverse_from_factor(np.linalg.cholesky(a))


def _apply(matrix: Array, vector: Array) -> Array:
    return np.matmul(matrix, vector[..., None])[..., 0]
