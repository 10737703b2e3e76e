r"""Processes behind targets that are not normal: posterior, evidence and its slope in the kernel.

The values of the function at rows are :math:`f = Lv` with :math:`LL^\top = K`. Laplace's method, expectation
propagation and the best normal bound all give a belief with :math:`\Sigma^{-1} = K^{-1} + W`, W of rows one by
one, and an evidence with

.. math:: \frac{\partial\ln Z}{\partial K} = \tfrac12(aa^\top - R) + \tfrac12(ua^\top + au^\top),\qquad
   a = K^{-1}\mathrm{E}f,\quad R = W - W\Sigma W .

u is 0 but for Laplace's method, whose W moves with the mode: there :math:`u = (I - W\Sigma)s` with
:math:`s_n = -\tfrac12\Sigma_{nn}\,\partial W_n/\partial f_n`.

References: C. Rasmussen & C. Williams, "Gaussian processes for machine learning", 2006, alg. 5.1 and 5.2;
M. Opper & C. Archambeau, "The variational Gaussian approximation revisited", 2009.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.predictors.expectation_propagation import fit_sites
from posteriori.inference.predictors.mode_finding import Mode, find_mode
from posteriori.inference.predictors.normal_bound import fit_normal_bound
from posteriori.inference.predictors.site_predictors import Sites
from posteriori.inference.predictors.weight_belief import WeightBelief, evidence_at
from posteriori.inference.processes.latent.latent_likelihoods import (
    Bends,
    LatentLikelihood,
    SingleLatent,
)
from posteriori.numerics.evidence import Kind
from posteriori.numerics.lazy import scipy_linalg
from posteriori.numerics.linalg import cholesky_jittered, triangular_inverse
from posteriori.numerics.types import Array

__all__ = ["KINDS", "LatentFit", "fit_latent"]

#: Kinds of evidence by approximation.
KINDS: dict[str, Kind] = {"laplace": "laplace", "ep": "ep", "variational": "bound"}

#: Predictors move by this to both sides for the slope of a curvature: it keeps nine digits.
_STEP = 1e-4

#: A cavity is at most so many times as wide as its belief is narrow.
_KNOWN = 1e-9

#: Rounds of the bound that expectation propagation of several classes begins with.
_FEW = 3


class LatentFit(NamedTuple):
    """A normal belief about a function at N rows, of M predictors each.

    Attributes
    ----------
    lower : (N, N)
        L.
    mean : (M N,)
        Of v, predictor by predictor.
    half : (M N, M N)
        A root of the covariance of v.
    bends : Bends
        a and W.
    turned : (N, M)
        s of Laplace's method; 0 else.
    log_evidence : float
    n_iter : int
    converged : bool
    step : float
        How far the last step went, in standard deviations.
    jitter : float
        What was added to the diagonal of K; 0 where it was definite as it stood.
    """

    lower: Array
    mean: Array
    half: Array
    bends: Bends
    turned: Array
    log_evidence: float
    n_iter: int
    converged: bool
    step: float
    jitter: float = 0.0

    @property
    def function(self) -> Array:
        """Means of the function at rows, (N, M)."""
        return self.lower @ self.mean.reshape(-1, len(self.lower)).T

    def moments(self, cross: Array, own: Array) -> tuple[Array, Array]:
        """Return means (S, M) and covariances (S, M, M) of the function at new points.

        Parameters
        ----------
        cross : (N, S)
            Covariances of rows and points.
        own : (S,)
            Variances of points.
        """
        x = scipy_linalg.solve_triangular(self.lower, cross, lower=True).T
        belief = WeightBelief(self.mean, self.half @ self.half.T, 0.0, 0, True, 0.0)
        size = len(self.mean) // len(self.lower)
        mean, spread = belief.several_predictors(x, size)
        rest = np.maximum(own - np.einsum("sn,sn->s", x, x), 0.0)
        return mean, spread + rest[:, None, None] * np.eye(size)

    def covariance(self, cross: Array, own: Array) -> Array:
        """Return the covariance of the function's values at new points, (M S, M S), predictor by predictor.

        Parameters
        ----------
        cross : (N, S)
            Covariances of rows and points.
        own : (S, S)
            Prior covariance of points.
        """
        x = scipy_linalg.solve_triangular(self.lower, cross, lower=True).T
        n, size = len(self.lower), len(self.mean) // len(self.lower)
        spread = np.vstack([x @ part for part in self.half.reshape(size, n, -1)])
        return np.asarray(np.kron(np.eye(size), own - x @ x.T) + spread @ spread.T)

    def cavities(self, frequency: Array | None = None) -> tuple[Array, Array]:
        """Return means and variances (N,) of one predictor at each row, as all other rows have it.

        With the share W and a of one of the row's copies its cavity is N(c − va, v), v = s/(1 − sW).
        """
        T = self._root()[0]
        s, f = np.einsum("np,np->n", T, T), 1.0 if frequency is None else frequency
        once = np.minimum(f, 1.0) / f  # a row that counts less than once is taken away as a whole
        v = s / np.maximum(1.0 - s * once * self.bends.curvature[:, 0, 0], _KNOWN)
        return self.function[:, 0] - v * once * self.bends.slope[:, 0], v

    def sites(self, frequency: Array | None = None) -> Sites:
        """Return the sites of expectation propagation: T and ν = a + T E f of one of a row's copies."""
        n, f = len(self.lower), np.ones(len(self.lower)) if frequency is None else frequency
        precision = self.bends.curvature / f[:, None, None]
        shift = self.bends.slope / f[:, None] + np.einsum("ncd,nd->nc", precision, self.function)
        alone = shift.shape[1] == 1
        return Sites(precision.reshape(n), shift.reshape(n)) if alone else Sites(precision, shift)

    def stationary_evidence(self, likelihood: SingleLatent, approximation: str) -> float:
        r"""Return what, with this belief, has the slope of the evidence in the shape of a likelihood.

        Expectation propagation and the bound are stationary in their beliefs: :math:`\sum\ln Z` of given
        cavities, and :math:`\sum\langle\ln p\rangle`. Laplace's mode follows the likelihood, so that

        .. math:: \sum\ln p(y\mid f) - \tfrac12\sum\Sigma_{nn}W_n + s^\top\Sigma\,\nabla\ln p(y\mid f) .
        """
        eta, T = self.function[:, 0], self._root()[0]
        variance = np.einsum("np,np->n", T, T)
        if approximation == "variational":
            return likelihood.log_mass(eta, variance)
        if approximation == "ep":
            return likelihood.cavity_mass(*self.cavities(likelihood.frequency))
        slope, curvature = likelihood.bends(eta[:, None])
        follows = T @ (T.T @ self.turned[:, 0]) @ slope[:, 0]
        return likelihood.log_mass(eta) - 0.5 * float(variance @ curvature[:, 0, 0]) + follows

    def kernel_pull(self) -> Array:
        """Return ∂ ln Z/∂K, (N, N), with which ``kernel.gradient`` gives the slope in ln θ."""
        (n, size), W = self.bends.slope.shape, self.bends.curvature
        T = self._root()
        WT = np.einsum("ncd,dnp->cnp", W, T)
        pull = np.zeros((n, n))
        for c in range(size):
            a = self.bends.slope[:, c]
            u = self.turned[:, c] - WT[c] @ np.einsum("dnp,nd->p", T, self.turned)
            pull += np.outer(0.5 * a + u, a) + 0.5 * (WT[c] @ WT[c].T)
            pull[np.diag_indices(n)] -= 0.5 * W[:, c, c]
        return 0.5 * (pull + pull.T)

    def _root(self) -> Array:
        """Return T (M, N, M N) with TTᵀ the covariance of the function at rows."""
        n = len(self.lower)
        return np.stack(
            [self.lower @ part for part in self.half.reshape(-1, n, self.half.shape[1])]
        )


def fit_latent(
    gram: Array,
    likelihood: LatentLikelihood,
    approximation: str = "laplace",
    *,
    start: Array | None = None,
    sites: Sites | None = None,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> LatentFit:
    """Return a normal belief about a function behind targets, and their evidence.

    Parameters
    ----------
    gram : (N, N)
        Prior covariance of the function at rows.
    likelihood : LatentLikelihood
    approximation : {"laplace", "ep", "variational"}
    start : (N, M), optional
        Where the function may be, such as with a kernel that is near.
    sites : Sites, optional
        Where expectation propagation begins, such as those of a kernel that is near.
    tol : float
        Steps below so many standard deviations end it.
    max_iter : int

    Notes
    -----
    Costs O(N³ M³) a Newton step, of which a few are needed.
    """
    lower, jitter = cholesky_jittered(gram)
    first = np.zeros(likelihood.size * len(gram))
    if start is not None:
        first = scipy_linalg.solve_triangular(lower, start, lower=True).T.ravel()
    limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter}
    if approximation == "ep" and sites is not None:
        near = _sites_from(lower, likelihood, sites, limits)
        if near is not None:
            return near._replace(jitter=jitter)
    mode = find_mode(likelihood.density(lower), first, **limits)
    if approximation == "laplace":
        fit = _laplace(lower, likelihood, mode)
    elif approximation == "variational":
        fit = _bound(lower, likelihood, mode, limits)
    else:
        fit = _sites(lower, likelihood, mode, limits)
    return fit._replace(jitter=jitter)


def _laplace(lower: Array, likelihood: LatentLikelihood, mode: Mode) -> LatentFit:
    half = triangular_inverse(mode.factor).T
    value = evidence_at(mode, np.ones(len(mode.point)))
    ends = value, mode.n_iter, mode.converged, mode.gradient_norm
    eta = lower @ mode.point.reshape(-1, len(lower)).T
    nothing = np.zeros_like(eta)
    fit = LatentFit(lower, mode.point, half, likelihood.bends(eta), nothing, *ends)
    return fit._replace(turned=_mode_slopes(fit, likelihood, eta))


def _mode_slopes(fit: LatentFit, likelihood: LatentLikelihood, eta: Array) -> Array:
    """Return ∂(−½ ln |A|)/∂f = −½ tr(Σₙ ∂Wₙ/∂fₙ), (N, M)."""
    T = fit._root()
    spread = np.einsum("cnp,dnp->ncd", T, T, optimize=True)
    slopes = np.empty_like(eta)
    for c, shift in enumerate(_STEP * np.eye(eta.shape[1])):
        change = likelihood.bends(eta + shift).curvature - likelihood.bends(eta - shift).curvature
        slopes[:, c] = -0.5 * np.einsum("ncd,ncd->n", spread, change) / (2.0 * _STEP)
    return slopes


def _bound(
    lower: Array, likelihood: LatentLikelihood, mode: Mode, limits: dict[str, Any]
) -> LatentFit:
    belief = fit_normal_bound(
        lambda cov: likelihood.density(lower, cov), mode, np.ones(len(mode.point)), **limits
    )
    eta, spread = belief.several_predictors(lower, likelihood.size)
    return _of_belief(lower, belief, likelihood.bends(eta, spread))


def _sites(
    lower: Array, likelihood: LatentLikelihood, mode: Mode, limits: dict[str, Any]
) -> LatentFit:
    one = np.ones(len(mode.point))
    near = _laplace_weights(mode)
    if likelihood.size > 1:  # cavities of flat sites at a far mode would be too wide
        few = {**limits, "max_iter": _FEW}
        near = fit_normal_bound(lambda cov: likelihood.density(lower, cov), mode, one, **few)
    start = likelihood.first_sites(lower, near.mean, near.cov)
    return _propagate(lower, likelihood, start, limits)


def _sites_from(
    lower: Array, likelihood: LatentLikelihood, sites: Sites, limits: dict[str, Any]
) -> LatentFit | None:
    """Return where given sites lead, None where that is nowhere."""
    try:
        fit = _propagate(lower, likelihood, sites, limits)
    except (ValueError, np.linalg.LinAlgError):
        return None
    return fit if fit.converged else None


def _propagate(
    lower: Array, likelihood: LatentLikelihood, start: Sites, limits: dict[str, Any]
) -> LatentFit:
    predictors, tilt = likelihood.tilted_rows(lower)
    one = np.ones(len(lower) * likelihood.size)
    belief, sites = fit_sites(predictors, tilt, one, 0.0 * one, start=start, **limits)
    eta, _ = belief.several_predictors(lower, likelihood.size)
    f = predictors.frequency  # type: ignore[attr-defined]
    precision = sites.precision.reshape(len(lower), likelihood.size, -1) * f[:, None, None]
    shift = sites.shift.reshape(len(lower), -1) * f[:, None]
    slope = shift - np.einsum("ncd,nd->nc", precision, eta)  # a = ν − T E f
    return _of_belief(lower, belief, Bends(slope, precision))


def _laplace_weights(mode: Mode) -> WeightBelief:
    root = triangular_inverse(mode.factor)
    return WeightBelief(mode.point, root.T @ root, 0.0, 0, True, 0.0)


def _of_belief(lower: Array, belief: WeightBelief, bends: Bends) -> LatentFit:
    return LatentFit(
        lower,
        belief.mean,
        np.linalg.cholesky(belief.cov),
        bends,
        np.zeros_like(bends.slope),
        belief.log_evidence,
        belief.n_iter,
        belief.converged,
        belief.step,
    )
