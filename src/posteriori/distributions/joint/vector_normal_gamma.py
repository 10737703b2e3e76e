r"""The normal-gamma distribution of regression weights and noise precision,
:math:`\tau \sim \mathrm{Gamma}(a, b)`, :math:`w\mid\tau \sim N(m, (\tau K)^{-1})`.

Natural parameters :math:`(a-1+\tfrac D2, -b-\tfrac12m^\top Km, Km, -\tfrac12K)` with statistics
:math:`(\ln\tau, \tau, \tau w, \tau ww^\top)`.
"""

from __future__ import annotations

from typing import Any, Self

from posteriori.distributions.joint.joint_family import ETAS
from posteriori.distributions.joint.joint_parts import GammaSpread
from posteriori.distributions.joint.vector_joint import VectorJoint
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.numerics.validation import positive

__all__ = ["VectorNormalGamma"]


class VectorNormalGamma(GammaSpread, VectorJoint):
    """Normal-gamma distribution of pairs (vector of weights, precision).

    Parameters
    ----------
    mean : array (..., D)
        Location m of the weights.
    mean_precision : array (..., D, D)
        Positive definite K: given τ, the weights have precision τK.
    shape, rate : float or array
        Shape a > 0 and rate b > 0 of the precision, whose mean is a/b.

    Examples
    --------
    >>> import numpy as np
    >>> d = VectorNormalGamma([1.0, 0.0], mean_precision=np.eye(2), shape=3.0, rate=4.0)
    >>> d.mode
    MeanPrecision(mean=array([1., 0.]), precision=np.float64(0.75))
    """

    _parameters = {
        "location": 1,
        "mean_precision": 2,
        "shape": 0,
        "rate": 0,
        **dict(zip(ETAS, (0, 0, 1, 2), strict=True)),
    }
    _shown = ("location", "mean_precision=", "shape=", "rate=")

    def __new__(cls, mean: Any, *, mean_precision: Any, shape: Any, rate: Any) -> Self:
        return cls._from(
            **cls._check_weights(mean, mean_precision),
            shape=positive("shape", shape),
            rate=positive("rate", rate),
        )

    def marginal_mean(self) -> MvStudentT:
        """Return the distribution of w: Student t, 2a degrees of freedom, scale (b/a)K⁻¹."""
        scale = (self.rate / self.shape)[..., None, None] * self._inverse_strength
        return MvStudentT(2.0 * self.shape, self.location, scale=scale)
