r"""Linear predictors of rows as the sites of expectation propagation see them: one, or several.

A row has the predictor or the contrasts :math:`\eta\sim N(c, S)` under the belief about the weights,
and the site :math:`e^{\nu\cdot\eta - \eta^TT\eta/2}`. Without it the cavity is N(m, V) with

.. math:: V = (I - gST)^{-1}S,\qquad m = c + gV(Tc - \nu),

where g = 1, but the frequency of rows that count less than once, of which no more can be taken away.

With α and β the slope and minus the second derivative in m of ln Z, Z the mass of cavity × likelihood,
the site that matches its moments has

.. math:: T = (I - \beta V)^{-1}\beta,\qquad \nu = (I - \beta V)^{-1}(\alpha + \beta m).

The row's share of the log evidence is :math:`\ln Z + \tfrac12\{m\cdot(Tt - \nu) - t\cdot\nu + \ln|I + VT|\}`,
with :math:`t = (I + VT)^{-1}(m + V\nu)` the mean of cavity × site.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from posteriori.inference.predictors.generalized_linear import weighted_gram
from posteriori.inference.predictors.softmax_predictor import block_gram
from posteriori.inference.predictors.weight_belief import contrast_moments, row_moments
from posteriori.numerics.types import Array

__all__ = ["Renewal", "SeveralPredictors", "SinglePredictor", "SitePredictors", "Sites", "Tilt"]


class Sites(NamedTuple):
    """Precisions T (N,) or (N, M, M) and shifts ν (N,) or (N, M) of the sites."""

    precision: Array
    shift: Array


class Renewal(NamedTuple):
    """What matching the moments changes.

    Attributes
    ----------
    change : Sites
    pull : (P,)
        By how much the sites then pull more at the mean of the weights.
    log_determinant : float
        How the log determinant of the belief's precision changes, to the first order.
    log_mass : float
        The rows' shares of the log evidence.
    """

    change: Sites
    pull: Array
    log_determinant: float
    log_mass: float


#: From means and covariances of cavities to (ln Z, α, β).
Tilt = Callable[[Array, Array], tuple[Array, Array, Array]]


class SitePredictors(Protocol):
    """The rows as sites see them."""

    def gram(self, precision: Array) -> Array:
        """Return the precision (P, P) of the weights that sites give."""

    def pull(self, shift: Array) -> Array:
        """Return the shift (P,) of the weights that sites give."""

    def renew(self, mean: Array, cov: Array, sites: Sites, tilt: Tilt) -> Renewal:
        """Match the moments of all rows under a belief about the weights."""


class SinglePredictor:
    """Rows with one predictor each.

    Parameters
    ----------
    x : (N, P)
    frequency : (N,), optional
        How often each row, and so its site, counts.
    """

    def __init__(self, x: Array, frequency: Array | None = None) -> None:
        self.x = x
        self.frequency = np.ones(len(x)) if frequency is None else frequency

    def gram(self, precision: Array) -> Array:
        """Return the precision (P, P) of the weights that sites give."""
        return weighted_gram(self.x, self.frequency * precision)

    def pull(self, shift: Array) -> Array:
        """Return the shift (P,) of the weights that sites give."""
        return (self.frequency * shift) @ self.x

    def renew(self, mean: Array, cov: Array, sites: Sites, tilt: Tilt) -> Renewal:
        """Match the moments of all rows under a belief about the weights."""
        c, s = row_moments(self.x, mean, cov)
        g = np.minimum(self.frequency, 1.0)
        v = s / (1.0 - g * s * sites.precision)
        m = c + g * v * (sites.precision * c - sites.shift)
        log_z, alpha, beta = tilt(m, v)
        rest = 1.0 - beta * v
        change = Sites(beta / rest - sites.precision, (alpha + beta * m) / rest - sites.shift)
        more = v * sites.precision
        t = (m + v * sites.shift) / (1.0 + more)
        gap = m * (sites.precision * t - sites.shift) - t * sites.shift + np.log1p(more)
        return Renewal(
            change,
            self.pull(change.shift - change.precision * c),
            float((self.frequency * change.precision) @ s),
            float(self.frequency @ (log_z + 0.5 * gap)),
        )


class SeveralPredictors:
    """Rows with M predictors each, of M weight vectors one after the other.

    Parameters
    ----------
    x : (N, P)
    size : int
        M.
    frequency : (N,), optional
        How often each row, and so its site, counts.
    """

    def __init__(self, x: Array, size: int, frequency: Array | None = None) -> None:
        self.x = x
        self.size = size
        self.frequency = np.ones(len(x)) if frequency is None else frequency

    def gram(self, precision: Array) -> Array:
        """Return the precision (M P, M P) of the weights that sites give."""
        return block_gram(self.x, self.frequency[:, None, None] * precision)

    def pull(self, shift: Array) -> Array:
        """Return the shift (M P,) of the weights that sites give."""
        return ((self.frequency[:, None] * shift).T @ self.x).ravel()

    def renew(self, mean: Array, cov: Array, sites: Sites, tilt: Tilt) -> Renewal:
        """Match the moments of all rows under a belief about the weights."""
        one = np.eye(self.size)
        c, s = contrast_moments(self.x, mean, cov, self.size)
        g = np.minimum(self.frequency, 1.0)[:, None]
        v = np.linalg.solve(one - g[..., None] * s @ sites.precision, s)
        v = 0.5 * (v + v.swapaxes(1, 2))
        m = c + g * _times(v, _times(sites.precision, c) - sites.shift)
        log_z, alpha, beta = tilt(m, v)
        rest = one - beta @ v
        precision = _semidefinite(np.linalg.solve(rest, beta))
        shift = np.linalg.solve(rest, (alpha + _times(beta, m))[..., None])[..., 0]
        change = Sites(precision - sites.precision, shift - sites.shift)
        more = one + v @ sites.precision
        t = np.linalg.solve(more, (m + _times(v, sites.shift))[..., None])[..., 0]
        pull = _times(sites.precision, t) - sites.shift
        gap = (m * pull - t * sites.shift).sum(axis=1) + np.linalg.slogdet(more)[1]
        return Renewal(
            change,
            self.pull(change.shift - _times(change.precision, c)),
            float(self.frequency @ (change.precision * s).sum(axis=(1, 2))),
            float(self.frequency @ (log_z + 0.5 * gap)),
        )


def _times(matrices: Any, vectors: Array) -> Array:
    """Return products of matrices (N, M, M) and vectors (N, M)."""
    return np.asarray((matrices @ vectors[..., None])[..., 0])


def _semidefinite(precision: Array) -> Array:
    """Return matrices without negative eigenvalues: log-concave likelihoods have none but rounding."""
    values, vectors = np.linalg.eigh(0.5 * (precision + precision.swapaxes(1, 2)))
    return np.asarray((vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.swapaxes(1, 2))
