r"""Beliefs about normal factors, weighed with factors and their relevances integrated out.

.. math:: p(X, W, \mu, \tau) = \prod_n N(x_n\mid\mu, WW^\top + \mathrm{diag}(\tau)^{-1})\,p(W)\,p(\mu)\,p(\tau), \qquad
   p(w_{\cdot k}) = \frac{Γ(a + \frac D2)\,b^a}{Γ(a)\,(2π)^{D/2}\,(b + \frac12|w_{\cdot k}|^2)^{a + D/2}}.

Loadings may be turned: what is told are the mean, the covariance and the noise of a row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from posteriori.inference.components.factor_beliefs import FactorBeliefs, FactorPrior
from posteriori.inference.weighing.approximate_beliefs import BeliefDraws
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["FactorDraws"]

#: Draws whose covariances are held at once.
_AT_ONCE = 64


class FactorDraws(NamedTuple):
    """What is believed of a factor model of complete rows.

    Attributes
    ----------
    beliefs : FactorBeliefs
    prior : FactorPrior
    x : (N, D)
        In units.
    centre, scale : (D,)
        Of these units.
    """

    beliefs: FactorBeliefs
    prior: FactorPrior
    x: Array
    centre: Array
    scale: Array

    def draw_belief(self, size: int, rng: np.random.Generator) -> BeliefDraws:
        """Draw loadings, means and precisions of the noise."""
        here = self.beliefs
        centre = np.column_stack([here.loadings, here.mean])
        roots = np.linalg.cholesky(here.spreads)
        steps = rng.standard_normal((size, *centre.shape))
        drawn = centre + np.einsum("dij,sdj->sdi", roots, steps)
        tau = rng.standard_gamma(here.noise_shape, (size, len(here.noise_rate))) / here.noise_rate
        heights = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum() + 0.5 * centre.size * LOG_2PI
        log_density = -0.5 * (steps**2).sum(axis=(1, 2)) - heights
        log_density += _log_gamma(tau, here.noise_shape, here.noise_rate)
        loadings, mean = drawn[..., :-1] * self.scale[:, None], drawn[..., -1]
        noise = np.broadcast_to(1.0 / tau, mean.shape) * self.scale**2
        covs = loadings @ np.swapaxes(loadings, 1, 2)
        covs[:, np.arange(len(self.scale)), np.arange(len(self.scale))] += noise
        values = {
            "mean": self.centre + self.scale * mean,
            "covariance": covs,
            "noise_variance": noise,
        }
        return BeliefDraws(values, log_density, (drawn[..., :-1], mean, tau))

    def log_joint(self, drawn: BeliefDraws) -> Array:
        """Return ln p(X, W, μ, τ)."""
        loadings, mean, tau = drawn.inner
        d = mean.shape[1]
        (a, b), (c, e), v = self.prior
        squares = 0.5 * (loadings**2).sum(axis=1)
        constant = gammaln(a + 0.5 * d) - gammaln(a) + a * np.log(b) - 0.5 * d * LOG_2PI
        of_loadings = (constant - (a + 0.5 * d) * np.log(b + squares)).sum(axis=1)
        of_mean = -0.5 * (mean**2 / v + np.log(v) + LOG_2PI).sum(axis=1)
        starts = range(0, len(mean), _AT_ONCE)
        slices = (slice(first, first + _AT_ONCE) for first in starts)
        likelihood = [self._log_likelihood(loadings[s], mean[s], tau[s]) for s in slices]
        return np.asarray(
            np.concatenate(likelihood) + of_loadings + of_mean + _log_gamma(tau, c, e)
        )

    def too_narrow(self) -> tuple[str, ...]:
        """Return all: loadings and means were cut apart from the factors that they are learned with."""
        return ("mean", "covariance", "noise_variance")

    def _log_likelihood(self, loadings: Array, mean: Array, tau: Array) -> Array:
        """Return ln Π N(x | μ, WWᵀ + τ⁻¹), by the scatter about μ."""
        n, d = self.x.shape
        covs = loadings @ np.swapaxes(loadings, 1, 2)
        covs[:, np.arange(d), np.arange(d)] += 1.0 / tau
        roots = np.linalg.cholesky(covs)
        about = self.x.mean(axis=0) - mean
        scatter = (self.x - self.x.mean(axis=0)).T @ (self.x - self.x.mean(axis=0))
        whole = scatter + n * about[:, :, None] * about[:, None, :]
        fit = np.trace(np.linalg.solve(covs, whole), axis1=1, axis2=2)
        log_det = 2.0 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
        return np.asarray(-0.5 * (n * d * LOG_2PI + n * log_det + fit))


def _log_gamma(tau: Array, shape: Array | float, rate: Array | float) -> Array:
    """Return ln Gamma(τ | shape, rate), summed over columns."""
    each = shape * np.log(rate) - gammaln(shape) + (shape - 1.0) * np.log(tau) - rate * tau
    return np.asarray(each.sum(axis=1))
