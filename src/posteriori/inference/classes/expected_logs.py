r"""What beliefs about classes expect of the logarithms in their densities.

Densities of exponential families are linear in these, so that :math:`E[\ln p(x\mid\theta)]` of a row is
linear in its features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import digamma

from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.numbers.beta import Beta
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["binary_logs", "category_logs", "count_logs", "normal_logs"]


def normal_logs(belief: NormalInverseGamma) -> tuple[Array, Array]:
    """Return ½{ψ(a) − ln b − 1/κ − ln 2π} and E[1/σ²] = a/b: the log density at m, and its fall."""
    a, b = belief.shape, belief.scale
    return 0.5 * (digamma(a) - np.log(b) - 1.0 / belief.mean_strength - LOG_2PI), a / b


def binary_logs(belief: Beta) -> tuple[Array, Array]:
    """Return E[ln θ] and E[ln(1 − θ)]."""
    whole = digamma(belief.a + belief.b)
    return digamma(belief.a) - whole, digamma(belief.b) - whole


def count_logs(belief: Gamma) -> tuple[Array, Array]:
    """Return E[ln λ] and E[λ]."""
    return digamma(belief.shape) - np.log(belief.rate), np.asarray(belief.mean)


def category_logs(belief: Dirichlet) -> Any:
    """Return E[ln θ_c], (K, C)."""
    alpha = belief.concentration
    return digamma(alpha) - digamma(alpha.sum(axis=-1, keepdims=True))
