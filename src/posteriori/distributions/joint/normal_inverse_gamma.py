r"""The normal-inverse-gamma distribution of an unknown mean and variance,
:math:`\sigma^2 \sim \mathrm{InvGamma}(a, b)`, :math:`\mu\mid\sigma^2 \sim N(m, \sigma^2/\kappa)`.

Natural parameters :math:`(-a-\tfrac32, -b-\tfrac12\kappa m^2, \kappa m, -\tfrac12\kappa)` with
statistics :math:`(\ln\sigma^2, 1/\sigma^2, \mu/\sigma^2, \mu^2/\sigma^2)`. Its form for vectors
of regression weights is :class:`VectorNormalInverseGamma`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.joint.joint_family import ETAS
from posteriori.distributions.joint.joint_parts import InverseGammaSpread, NumberStrength
from posteriori.distributions.joint.vector_normal_inverse_gamma import VectorNormalInverseGamma
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.numerics.validation import exactly_one, positive, real

__all__ = ["NormalInverseGamma"]


class NormalInverseGamma(InverseGammaSpread, NumberStrength):
    """Normal-inverse-gamma distribution of pairs (mean, variance).

    Parameters
    ----------
    mean : float or array
        Location m of the mean; a vector (..., D) with ``mean_precision``.
    mean_strength : float or array
        Number κ > 0 of observations that the knowledge of the mean is worth.
    shape, scale : float or array
        Shape a > 0 and scale b > 0 of the variance, whose mean is b/(a − 1).
    mean_precision : array (..., D, D)
        Instead of ``mean_strength``: Λ of w | σ² ~ N(m, σ²Λ⁻¹), a vector of weights; the value
        is a :class:`VectorNormalInverseGamma`.

    Examples
    --------
    >>> d = NormalInverseGamma(1.0, 2.0, 3.0, 4.0)
    >>> d.mean
    MeanVariance(mean=np.float64(1.0), variance=np.float64(2.0))
    >>> d.marginal_variance()
    InverseGamma(3, scale=4)
    """

    _parameters = {
        "location": 0,
        "mean_strength": 0,
        "shape": 0,
        "scale": 0,
        **dict.fromkeys(ETAS, 0),
    }
    _shown = ("location", "mean_strength=", "shape=", "scale=")

    def __new__(
        cls,
        mean: Any,
        mean_strength: Any = None,
        shape: Any = None,
        scale: Any = None,
        *,
        mean_precision: Any = None,
    ) -> Any:
        given = exactly_one(
            "NormalInverseGamma", mean_strength=mean_strength, mean_precision=mean_precision
        )
        if shape is None or scale is None:
            raise TypeError("NormalInverseGamma needs shape and scale of the variance")
        if given == "mean_precision":
            return VectorNormalInverseGamma(
                mean, mean_precision=mean_precision, shape=shape, scale=scale
            )
        return cls._from(
            location=real("mean", mean),
            mean_strength=positive("mean_strength", mean_strength),
            shape=positive("shape", shape),
            scale=positive("scale", scale),
        )

    def marginal_mean(self) -> StudentT:
        """Return the distribution of μ: Student t, 2a degrees of freedom, scale² = b/(aκ)."""
        scale = np.sqrt(self.scale / (self.shape * self.mean_strength))
        return StudentT(2.0 * self.shape, self.location, scale=scale)
