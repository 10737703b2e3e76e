r"""The normal-gamma distribution of an unknown mean and precision,
:math:`\tau \sim \mathrm{Gamma}(a, b)`, :math:`\mu\mid\tau \sim N(m, (\kappa\tau)^{-1})`.

Natural parameters :math:`(a-\tfrac12, -b-\tfrac12\kappa m^2, \kappa m, -\tfrac12\kappa)` with
statistics :math:`(\ln\tau, \tau, \tau\mu, \tau\mu^2)`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from posteriori.distributions.joint.joint_family import ETAS
from posteriori.distributions.joint.joint_parts import GammaSpread, NumberStrength
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.numerics.validation import positive, real

__all__ = ["NormalGamma"]


class NormalGamma(GammaSpread, NumberStrength):
    """Normal-gamma distribution of pairs (mean, precision).

    Parameters
    ----------
    mean : float or array
        Location m of the mean.
    mean_strength : float or array
        Number κ > 0 of observations that the knowledge of the mean is worth.
    shape, rate : float or array
        Shape a > 0 and rate b > 0 of the precision, whose mean is a/b.

    Examples
    --------
    >>> d = NormalGamma(1.0, 2.0, 3.0, 4.0)
    >>> d
    NormalGamma(1, mean_strength=2, shape=3, rate=4)
    >>> d.mean
    MeanPrecision(mean=np.float64(1.0), precision=np.float64(0.75))
    >>> round(float(d.log_prob((1.5, 0.8))), 6)
    -1.064488
    """

    _parameters = {
        "location": 0,
        "mean_strength": 0,
        "shape": 0,
        "rate": 0,
        **dict.fromkeys(ETAS, 0),
    }
    _shown = ("location", "mean_strength=", "shape=", "rate=")

    def __new__(cls, mean: Any, mean_strength: Any, shape: Any, rate: Any) -> Self:
        return cls._from(
            location=real("mean", mean),
            mean_strength=positive("mean_strength", mean_strength),
            shape=positive("shape", shape),
            rate=positive("rate", rate),
        )

    def marginal_mean(self) -> StudentT:
        """Return the distribution of μ: Student t, 2a degrees of freedom, scale² = b/(aκ)."""
        scale = np.sqrt(self.rate / (self.shape * self.mean_strength))
        return StudentT(2.0 * self.shape, self.location, scale=scale)
