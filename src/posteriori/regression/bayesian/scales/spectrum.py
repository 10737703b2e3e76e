r"""Evidence of an isotropic prior as a function of one number, from one singular value decomposition.

With weights :math:`w\sim N(m_0, \sigma^2\lambda^{-1}I)` (on scaled columns) and the singular values
:math:`d_i` of the triangular factor, the misfit and Occam's factor are sums over directions,

.. math:: q(\lambda) = \rho^2 + \sum_i \frac{\lambda c_i^2}{d_i^2+\lambda},\qquad
          \ln\frac{|\lambda I|^{1/2}}{|\lambda I + X^TX|^{1/2}}
          = \tfrac12\sum_i\ln\frac{\lambda}{d_i^2+\lambda},

so that every further value of :math:`\lambda = \alpha/\beta` costs O(D).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.least_squares.regression_statistics import RegressionStatistics
from posteriori.numerics.types import Array
from posteriori.regression.bayesian.conjugate_weights import intercept_terms
from posteriori.regression.bayesian.priors import InterceptPrior

__all__ = ["Spectrum", "decompose"]


class Spectrum(NamedTuple):
    """Data seen along their principal directions.

    Attributes
    ----------
    squares : (K,)
        d², eigenvalues of the Gram matrix of scaled, centred columns: all D, or those K of
        directions that the data see, where they have fewer rows than columns.
    projections : (K,)
        c, the target along each direction (less the prior mean's share).
    directions : (D, K)
        In the units of the columns: weights are ``directions @ z``.
    rest : float
        Misfit that no weights can remove: residual squares, and the intercept's prior.
    rows : float
        n, one less than the rows when the intercept is flat.
    log_constant : float
        What the intercept and known noise levels add to the log evidence.
    """

    squares: Array
    projections: Array
    directions: Array
    rest: float
    rows: float
    log_constant: float

    def log_ratios(self, low: float, high: float) -> tuple[float, float]:
        """Return the ends of a range of ln λ as far as λ, and what it divides, are numbers."""
        largest = max(float(self.squares.max(initial=0.0)), 1.0)
        least = np.log(np.finfo(np.float64).tiny) + max(0.0, np.log(largest) - 1.0)
        return max(low, float(least)), min(high, float(np.log(np.finfo(np.float64).max) - 1.0))

    def misfit(self, ratio: Array | float) -> Array:
        """Return q(λ) for each λ of (...,)."""
        lam = np.asarray(ratio)[..., None]
        shrunk = self.projections**2 * (lam / (self.squares + lam))
        return self.rest + shrunk.sum(axis=-1)

    def log_ratio(self, ratio: Array | float) -> Array:
        """Return the logarithm of Occam's factor for each λ."""
        lam = np.asarray(ratio)[..., None]
        return -0.5 * np.log1p(self.squares / lam).sum(axis=-1)

    def effective(self, ratio: Array | float) -> Array:
        """Return γ = Σ d²/(d²+λ), the number of parameters that the data determine."""
        return (self.squares / (self.squares + np.asarray(ratio)[..., None])).sum(axis=-1)

    def weights(self, ratio: Array | float) -> Array:
        """Return the posterior means less the prior mean: (..., D)."""
        lam = np.asarray(ratio)[..., None]
        along = np.sqrt(self.squares) * self.projections / (self.squares + lam)
        return along @ self.directions.T


def decompose(
    statistics: RegressionStatistics,
    prior_mean: Array,
    scales: Array,
    intercept: InterceptPrior | None,
) -> Spectrum:
    """Return the spectrum of the columns divided by ``scales``."""
    d = statistics.n_inputs
    factor = statistics.reduced[:d, :d]
    target = statistics.reduced[:d, d] - factor @ prior_mean
    left, values, right = np.linalg.svd(factor / scales, full_matrices=False)
    rows, misfit, log_ratio = intercept_terms(statistics, intercept)
    rest = float((statistics.reduced[d:, d] ** 2).sum()) + misfit
    constant = log_ratio - 0.5 * statistics.log_variance
    directions = right.T / scales[:, None]
    return Spectrum(values**2, left.T @ target, directions, rest, rows, constant)
