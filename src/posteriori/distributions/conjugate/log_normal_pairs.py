r"""Conjugate pairs of the log-normal likelihood: those of the normal one, on ln x.

.. math:: \ln p(x\mid\theta) = \ln N(\ln x\mid\theta) - \ln x.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.conjugate.gaussian_pairs import (
    GammaPrecision,
    InverseGammaVariance,
    NormalGammaPair,
    NormalInverseGammaPair,
    NormalMeanPrecision,
    NormalMeanScale,
    NormalMeanVariance,
    WeightedMoments,
)
from posteriori.distributions.conjugate.pair import Pair, register
from posteriori.distributions.conjugate.predictive import Predictive
from posteriori.distributions.numbers.log_normal import LogNormal
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.statistics import Moments, Sums
from posteriori.numerics.types import Array

__all__ = [
    "GammaLogPrecision",
    "InverseGammaLogVariance",
    "LogMeanPrecision",
    "LogMeanScale",
    "LogMeanVariance",
    "NormalGammaLog",
    "NormalInverseGammaLog",
]


class _OfLogarithm(Pair):
    """A pair of the normal likelihood, applied to ln x."""

    likelihood_family: ClassVar[type[Distribution]] = LogNormal

    def summarize(self, block: Array, start: int = 0) -> Any:
        """Summarise ln x, with −Σ ln x in the constant part."""
        logs = np.log(block)
        return _less_jacobian(super().summarize(logs, start), logs.sum(axis=0))  # type: ignore[safe-super]


class _NextIsLogNormal(_OfLogarithm):
    """Unknown mean of ln x: the next datum is log-normal."""

    def predictive(self, belief: Any) -> Distribution:
        """Return the exponential of the normal predictive of ln x."""
        logarithm = super().predictive(belief)  # type: ignore[safe-super]
        assert isinstance(logarithm, Normal)
        return LogNormal(logarithm.mean, variance=logarithm.variance)


class _NextIsLogStudent(_OfLogarithm):
    """Unknown spread of ln x: the next datum is the exponential of a Student t variable."""

    def predictive(self, belief: Any) -> Distribution:
        """Return the law of the exponential of a Student t variable."""
        return Predictive(belief, self)

    def predictive_moments(self, belief: Any) -> tuple[Array, Array]:
        """Infinite: the tails of a Student t variable outweigh every exponential."""
        infinite = np.full(belief.batch_shape, np.inf)[()]
        return infinite, infinite


@register
class LogMeanVariance(_NextIsLogNormal, NormalMeanVariance):
    """Unknown mean of ln x, known variance."""


@register
class LogMeanScale(_NextIsLogNormal, NormalMeanScale):
    """Unknown mean of ln x, known standard deviation."""


@register
class LogMeanPrecision(_NextIsLogNormal, NormalMeanPrecision):
    """Unknown mean of ln x, known precision."""


@register
class GammaLogPrecision(_NextIsLogStudent, GammaPrecision):
    """Unknown precision of ln x, known mean."""


@register
class InverseGammaLogVariance(_NextIsLogStudent, InverseGammaVariance):
    """Unknown variance of ln x, known mean."""


class _MeanAndSpreadOfLogarithm(_NextIsLogStudent):
    """Mean and spread of ln x both unknown."""

    def log_likelihood(self, theta: Any, statistics: Moments) -> Array:
        """Return the normal log likelihood of ln x, less Σ ln x."""
        normal: Array = super().log_likelihood(theta, statistics)  # type: ignore[safe-super]
        return normal - statistics.count * statistics.mean


@register
class NormalGammaLog(_MeanAndSpreadOfLogarithm, NormalGammaPair):
    """Unknown mean and precision of ln x."""


@register
class NormalInverseGammaLog(_MeanAndSpreadOfLogarithm, NormalInverseGammaPair):
    """Unknown mean and variance of ln x."""


def _less_jacobian(statistics: Any, total: Array) -> Any:
    if isinstance(statistics, WeightedMoments):
        return statistics._replace(log_carrier=statistics.log_carrier - total)
    if isinstance(statistics, Sums):
        return replace(statistics, log_carrier=statistics.log_carrier - total)
    return statistics  # count times mean of ln x is the total
