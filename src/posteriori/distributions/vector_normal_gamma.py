r"""The normal-gamma distribution of regression weights and noise precision,
:math:`\tau \sim \mathrm{Gamma}(a, b)`, :math:`w\mid\tau \sim N(m, (\tau K)^{-1})`.

Natural parameters :math:`(a-1+\tfrac D2, -b-\tfrac12m^\top Km, Km, -\tfrac12K)` with statistics
:math:`(\ln\tau, \tau, \tau w, \tau ww^\top)`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

from posteriori.distributions.gamma import Gamma
from posteriori.distributions.joint import ETAS
from posteriori.distributions.mean_and_spread import MeanPrecision
from posteriori.distributions.mv_student_t import MvStudentT
from posteriori.distributions.vector_joint import VectorJoint
from posteriori.numerics.types import Array
from posteriori.numerics.validation import (
    positive,
    positive_definite,
    real_vector,
    require_same_size,
)

__all__ = ["VectorNormalGamma"]


class VectorNormalGamma(VectorJoint):
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
    _record = MeanPrecision
    _spread_family = Gamma
    _sign = 1.0

    def __new__(cls, mean: Any, *, mean_precision: Any, shape: Any, rate: Any) -> Self:
        centre = real_vector("mean", mean)
        precision = positive_definite("mean_precision", mean_precision)
        require_same_size(centre, precision, "mean_precision")
        return cls._from(
            location=centre,
            mean_precision=precision,
            shape=positive("shape", shape),
            rate=positive("rate", rate),
        )

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

    def marginal_mean(self) -> MvStudentT:
        """Return the distribution of w: Student t, 2a degrees of freedom, scale (b/a)K⁻¹."""
        scale = (self.rate / self.shape)[..., None, None] * self._inverse_strength
        return MvStudentT(2.0 * self.shape, self.location, scale=scale)
