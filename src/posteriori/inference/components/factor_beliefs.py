r"""Beliefs about normal factors by variational Bayes, with a precision for each factor.

.. math:: x_{nd} \sim N(w_d^\top z_n + \mu_d, \tau_d^{-1}), \quad z_n\sim N(0, I), \quad
          w_{dk}\sim N(0, \alpha_k^{-1}), \quad \mu_d\sim N(0, v_0), \quad \alpha_k, \tau_d\sim\mathrm{Gamma},

.. math:: q = \prod_n q(z_n)\prod_d q(w_d, \mu_d)\,q(\tau_d)\prod_k q(\alpha_k).

Factors that are not needed get a large precision, and vanish. Given the other beliefs, that about z is the
posterior of a factor model with noise :math:`1/E[\tau]` and uncertain loadings and means, whose log density is all that
the rows add to the bound but for

.. math:: \tfrac12\sum_d N_d\bigl(E[\ln\tau_d] - \ln E[\tau_d] - E[\tau_d]\,\mathrm{Var}[\mu_d]\bigr).

Turns of z and W (:mod:`~posteriori.inference.components.factor_turns`) are kept where the bound gains, and
so is what an ascent without the weakest factor ends at.

References: C. Bishop, "Variational principal components", 1999; J. Luttinen & A. Ilin, "Transformations in
variational Bayesian factor analysis to speed up learning", 2010.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from posteriori.inference.ascent.expectation_maximization import EMResult, maximize_by_em
from posteriori.inference.components.factor_learning import (
    FactorSums,
    expected_sums,
    first_factors,
)
from posteriori.inference.components.factor_posteriors import GappyBlock, gappy_blocks
from posteriori.inference.components.factor_turns import balancing_turns
from posteriori.inference.components.weak_factors import NEGLIGIBLE, weakest_factor
from posteriori.numerics.linalg import inverse_from_factor, log_det_from_factor
from posteriori.numerics.types import Array, number

__all__ = ["FactorBeliefs", "FactorPrior", "GammaBelief", "learn_factor_beliefs"]


class GammaBelief(NamedTuple):
    """Shape and rate of precisions, (...)."""

    shape: Array
    rate: Array

    @property
    def mean(self) -> Array:
        """E[τ]."""
        return self.shape / self.rate

    @property
    def log_mean(self) -> Array:
        """E[ln τ]."""
        return digamma(self.shape) - np.log(self.rate)

    def divergence(self, prior: tuple[float, float]) -> float:
        """Return KL(q‖p), summed."""
        a, b = self
        a0, b0 = prior
        terms = (a - a0) * digamma(a) - gammaln(a) + gammaln(a0)
        return float(np.sum(terms + a0 * (np.log(b) - np.log(b0)) + a * (b0 - b) / b))


class FactorPrior(NamedTuple):
    """Shape and rate of the precisions of factors and of noise, variance of means."""

    relevance: tuple[float, float]
    noise: tuple[float, float]
    mean_variance: float


class FactorBeliefs(NamedTuple):
    """What is known of a factor model.

    Attributes
    ----------
    loadings : (D, K)
        E[W].
    mean : (D,)
        E[μ].
    spreads : (D, K + 1, K + 1)
        Covariances of loadings and mean of each column.
    noise_shape, noise_rate : (D,) or (1,)
        Of τ.
    relevance_rate : (K,)
        Rate of α; its shape is that of the prior and D/2.
    """

    loadings: Array
    mean: Array
    spreads: Array
    noise_shape: Array
    noise_rate: Array
    relevance_rate: Array

    @property
    def precision(self) -> GammaBelief:
        """Of the noise, τ."""
        return GammaBelief(self.noise_shape, self.noise_rate)

    @property
    def noise(self) -> Array:
        """1/E[τ] of each column, (D,)."""
        return np.broadcast_to(1.0 / self.precision.mean, self.mean.shape)

    def relevance(self, prior: FactorPrior) -> GammaBelief:
        """Of the columns of W, α."""
        return GammaBelief(number(prior.relevance[0] + 0.5 * len(self.mean)), self.relevance_rate)

    @property
    def second(self) -> Array:
        """Σ_d E[w_d w_dᵀ], (K, K)."""
        return self.loadings.T @ self.loadings + self.spreads[:, :-1, :-1].sum(axis=0)


def learn_factor_beliefs(
    x: Array, k: int, prior: FactorPrior, *, shared: bool, tol: float, max_iter: int
) -> EMResult:
    """Return :class:`FactorBeliefs` of the highest bound that is found; the trace is that of the bound.

    Parameters
    ----------
    x : (N, D)
        NaN is a gap.
    k : int
        Factors, more than are needed.
    prior : FactorPrior
    shared : bool
        Whether all columns have noise of one precision.
    tol, max_iter
        As for :func:`maximize_by_em`.
    """
    blocks = gappy_blocks(x, (k + 1) ** 2)
    squares = np.nansum(x * x, axis=0)

    def ascend(start: FactorBeliefs) -> EMResult:
        return maximize_by_em(
            lambda here: _expect(blocks, here, prior),
            lambda found: _update(found[0], found[1], squares, prior, shared),
            start,
            tol=tol,
            max_iter=max_iter,
        )

    found = ascend(_first_beliefs(blocks, squares, k, prior, shared))
    while True:
        start = _without_weakest(found.parameters, prior)
        other = None if start is None else ascend(start)
        if other is None or not other.trace[-1] > found.trace[-1] + tol:
            return found
        trace = (*found.trace, other.trace[-1])
        found = other._replace(trace=trace, n_iter=found.n_iter + other.n_iter)


def _without_weakest(here: FactorBeliefs, prior: FactorPrior) -> FactorBeliefs | None:
    """Return beliefs in which the weakest factor is off; None where all are."""
    squares = np.sum(here.loadings**2, axis=0)
    weakest = weakest_factor(squares, np.diag(here.second), np.ones(len(squares)))  # E[zzᵀ] = I
    if weakest is None:
        return None
    scale = np.ones(len(squares) + 1)
    scale[weakest] = NEGLIGIBLE
    off = here._replace(
        loadings=here.loadings * scale[:-1], spreads=here.spreads * scale[:, None] * scale
    )
    return _with_relevance(off, prior)


def _expect(
    blocks: list[GappyBlock], here: FactorBeliefs, prior: FactorPrior
) -> tuple[tuple[FactorSums, FactorBeliefs], float]:
    """Return sums over the rows, the beliefs that made them, and the bound."""
    if min(here.noise_rate.min(), here.relevance_rate.min(), here.noise_shape.min()) <= 0.0:
        raise ValueError("a jump led to beliefs that are none")
    sums, value = expected_sums(blocks, here.loadings, here.mean, here.noise, here.spreads)
    counts, tau = sums.second[:, -1, -1], here.precision
    missing = tau.log_mean - np.log(tau.mean) - tau.mean * here.spreads[:, -1, -1]
    value += 0.5 * float(np.sum(counts * missing))
    return (sums, here), value - _divergence(here, prior)


def _divergence(here: FactorBeliefs, prior: FactorPrior) -> float:
    """Return KL(q‖p) of all but the factors."""
    alpha, (d, k) = here.relevance(prior), here.loadings.shape
    log_dets = log_det_from_factor(np.linalg.cholesky(here.spreads)).sum()
    gain = 0.5 * (log_dets + d * (k + 1) + d * np.sum(alpha.log_mean))
    gain -= 0.5 * np.sum(alpha.mean * np.diag(here.second))
    v0 = prior.mean_variance
    gain -= 0.5 * np.sum(np.log(v0) + (here.spreads[:, -1, -1] + here.mean**2) / v0)
    others = here.precision.divergence(prior.noise) + alpha.divergence(prior.relevance)
    return float(others - gain)


def _update(
    sums: FactorSums, here: FactorBeliefs, squares: Array, prior: FactorPrior, shared: bool
) -> FactorBeliefs:
    """Update every belief but those about the factors, then turn both where the bound gains."""
    counts = sums.second[:, -1, -1]
    tau = np.broadcast_to(here.precision.mean, counts.shape)
    known = np.diag(np.append(here.relevance(prior).mean, 1.0 / prior.mean_variance))
    inner = tau[:, None, None] * sums.second + known
    spreads = inverse_from_factor(np.linalg.cholesky(inner))
    found = np.einsum("dij,dj->di", spreads, tau[:, None] * sums.cross)
    products = found[:, :, None] * found[:, None, :] + spreads
    left = squares - 2.0 * np.einsum("dk,dk->d", found, sums.cross)
    left += np.einsum("dij,dij->d", products, sums.second)
    if shared:
        counts, left = counts.sum(keepdims=True), left.sum(keepdims=True)
    shape, rate = prior.noise[0] + 0.5 * counts, prior.noise[1] + 0.5 * left
    there = FactorBeliefs(found[:, :-1], found[:, -1], spreads, shape, rate, here.relevance_rate)
    return _turned(_with_relevance(there, prior), sums.whole, prior)


def _with_relevance(here: FactorBeliefs, prior: FactorPrior) -> FactorBeliefs:
    return here._replace(relevance_rate=prior.relevance[1] + 0.5 * np.diag(here.second))


def _turned(here: FactorBeliefs, whole: Array, prior: FactorPrior) -> FactorBeliefs:
    """Return beliefs after the first turn that raises the bound; those about z follow by themselves."""
    n, inner = float(whole[-1, -1]), whole[:-1, :-1]
    for turn, back in balancing_turns(inner[None], here.second[None], int(n)):
        r, b = turn[0], back[0]
        both = np.eye(len(b) + 1)  # the mean is not turned
        both[:-1, :-1] = b
        spreads = both.T @ here.spreads @ both
        there = here._replace(loadings=here.loadings @ b, spreads=spreads)
        there = _with_relevance(there, prior)
        rates = np.log(there.relevance_rate / here.relevance_rate).sum()
        size = float(np.linalg.slogdet(r)[1])
        gain = (n - len(here.mean)) * size - 0.5 * (np.trace(r @ inner @ r.T) - np.trace(inner))
        if gain - (prior.relevance[0] + 0.5 * len(here.mean)) * rates >= 0.0:
            return there
    return here


def _first_beliefs(
    blocks: list[GappyBlock], squares: Array, k: int, prior: FactorPrior, shared: bool
) -> FactorBeliefs:
    start = first_factors(blocks, squares, k, shared)
    seen = sum(np.bincount(block.pattern) @ block.seen for block in blocks)
    spreads = np.eye(k + 1) * (1.0 / np.maximum(seen, 1.0))[:, None, None]
    shape = np.full(len(start.log_noise), prior.noise[0] + 0.5 * np.mean(seen))
    first = FactorBeliefs(
        start.loadings,
        np.zeros(len(squares)),
        spreads,
        shape,
        shape * np.exp(start.log_noise),
        np.ones(k),
    )
    return _with_relevance(first, prior)
