"""Named parameters that joint families share: the strength of the mean, and those of the spread."""

from __future__ import annotations

from functools import cached_property

from posteriori.distributions.joint.joint_family import JointFamily
from posteriori.distributions.joint.mean_and_spread import MeanPrecision, MeanVariance
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.numerics.types import Array

__all__ = ["GammaSpread", "InverseGammaSpread", "NumberStrength"]


class NumberStrength(JointFamily):
    """Joint families in which K is one number κ."""

    @cached_property
    def mean_strength(self) -> Array:
        """Strength κ of the mean."""
        self._require_proper("mean_strength")
        return self._strength


class GammaSpread(JointFamily):
    """Joint families of a mean and a precision τ ~ Gamma(a, b)."""

    _record = MeanPrecision
    _spread_family = Gamma
    _sign = 1.0

    @cached_property
    def shape(self) -> Array:
        """Shape a of the precision."""
        self._require_proper("shape")
        return self.marginal_precision().shape

    @cached_property
    def rate(self) -> Array:
        """Rate b of the precision."""
        self._require_proper("rate")
        return self.marginal_precision().rate

    def marginal_precision(self) -> Gamma:
        """Return Gamma(a, b), the distribution of τ."""
        marginal: Gamma = self._spread
        return marginal


class InverseGammaSpread(JointFamily):
    """Joint families of a mean and a variance σ² ~ InverseGamma(a, b)."""

    _record = MeanVariance
    _spread_family = InverseGamma
    _sign = -1.0

    @cached_property
    def shape(self) -> Array:
        """Shape a of the variance."""
        self._require_proper("shape")
        return self.marginal_variance().shape

    @cached_property
    def scale(self) -> Array:
        """Scale b of the variance."""
        self._require_proper("scale")
        return self.marginal_variance().scale

    def marginal_variance(self) -> InverseGamma:
        """Return InverseGamma(a, b), the distribution of σ²."""
        marginal: InverseGamma = self._spread
        return marginal
