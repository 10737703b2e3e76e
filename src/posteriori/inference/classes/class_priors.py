"""What is believed of normal classes before they are seen: they look like the whole table."""

from __future__ import annotations

import numpy as np

from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.joint.normal_inverse_wishart import NormalInverseWishart
from posteriori.numerics.types import Array

__all__ = ["default_columns_prior", "default_full_prior"]

#: Rows that the prior of the class means is worth.
MEAN_STRENGTH = 0.1


def default_full_prior(mean: Array, variance: Array) -> NormalInverseWishart:
    """Return the belief that E[Σ] = diag(v), with D + 2 degrees of freedom."""
    return NormalInverseWishart(mean, MEAN_STRENGTH, len(mean) + 2.0, np.diag(variance))


def default_columns_prior(mean: Array, variance: Array) -> NormalInverseGamma:
    """Return the same belief about each column on its own: E[σ²] = v."""
    return NormalInverseGamma(mean, MEAN_STRENGTH, np.full(len(mean), 1.5), 0.5 * variance)
