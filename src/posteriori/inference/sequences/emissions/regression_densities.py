r"""Densities and draws of rows given what they regress on.

.. math:: x_t\mid z_t = k \sim \mathcal N(W_k^\top φ_t, Λ_k^{-1}), \qquad φ_t = (1, x_{t-1}, …, x_{t-p}, u_t),

or the Student's t that matrix-normal-Wishart beliefs about :math:`(W_k, Λ_k)` predict.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from posteriori.inference.mixtures.normal_units import Units
from posteriori.numerics.linalg import inverse_from_factor
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["RegressionDensities", "inverse_definite"]


class RegressionDensities(NamedTuple):
    """Densities of rows given what they regress on; rows are (x, regressors but the intercept).

    Attributes
    ----------
    units : Units
        Of regressors, then x.
    width : int
        D, columns of x.
    beliefs : MatrixNormalWishart or None
        In units: densities are then Student's t.
    known : regressions or None
        In units: densities are then normal.
    """

    units: Units
    width: int
    beliefs: Any
    known: Any

    @property
    def coef(self) -> Array:
        """Weights (K, P − 1, D) of the regressors, in the units of the rows."""
        weights = self._weights[:, 1:]
        scales = np.diag(self.units.root)
        return weights * scales[-self.width :] / scales[: -self.width][:, None]

    @property
    def intercept(self) -> Array:
        """What is expected of rows where all regressors are 0, (K, D)."""
        scales, centre = np.diag(self.units.root)[-self.width :], self.units.centre
        at_centre = centre[-self.width :] + self._weights[:, 0] * scales
        return at_centre - np.einsum("kpd,p->kd", self.coef, centre[: -self.width])

    @property
    def covariance(self) -> Array:
        """Covariances (K, D, D) of the noise; under beliefs the inverse of the expected precision."""
        precisions = self.known.precisions if self.beliefs is None else self.beliefs.mean.precision
        covs, scales = inverse_definite(precisions), np.diag(self.units.root)[-self.width :]
        covs = np.eye(self.width) * covs[:, :, 0, :] if covs.shape[-1] < self.width else covs[:, 0]
        return covs * np.outer(scales, scales)

    @property
    def _weights(self) -> Array:
        """Weights (K, P, D) in units."""
        weights = self.known.weights if self.beliefs is None else self.beliefs.location
        k, groups, p, q = weights.shape
        return np.moveaxis(weights, 1, 2).reshape(k, p, groups * q)

    def log_prob(self, x: Array) -> Array:
        """Return ln p(x | regressors, state), (T, K); 0 where something is missing."""
        z = np.concatenate([x[:, self.width :], x[:, : self.width]], axis=1)
        seen = ~np.isnan(z).any(axis=1)
        scores = np.zeros((len(x), len(self._weights)))
        v = self.units.of(z[seen]).T
        inputs = np.concatenate([np.ones((len(v), 1)), v[:, : -self.width]], axis=1)
        errors = v[:, None, -self.width :] - np.einsum("tp,kpd->tkd", inputs, self._weights)
        scale = np.log(np.diag(self.units.root)[-self.width :]).sum()
        scores[seen] = self._log_densities(errors, inputs) - scale
        return scores

    @property
    def n_regressors(self) -> int:
        """Numbers that rows regress on."""
        return len(self.units.centre) - self.width

    def sample(self, codes: Any, rng: np.random.Generator) -> Array:
        """Refuse: rows depend on rows before them or on inputs."""
        raise TypeError(
            "rows that regress on others cannot be drawn one by one; the sample of a HiddenMarkovModel draws them "
            "one after another"
        )

    def sample_rows(
        self, codes: Any, before: Array, inputs: Array, rng: np.random.Generator
    ) -> Array:
        """Draw rows (T, D), one after another, for the states of a path.

        Parameters
        ----------
        codes : (T,)
        before : (lags, D)
            Rows before the first, the oldest first.
        inputs : (T, P)
        rng : Generator
        """
        drawn = np.concatenate([before, np.empty((len(codes), self.width))])
        lags, centre, scale = len(before), self.units.centre, np.diag(self.units.root)
        noise, widening = self._noise(codes, rng), self._widening
        for t, k in enumerate(codes):
            regressors = np.concatenate([drawn[t : t + lags][::-1].ravel(), inputs[t]])
            z = np.append(1.0, (regressors - centre[: -self.width]) / scale[: -self.width])
            spread = np.sqrt(1.0 + np.einsum("p,dpr,r->d", z, widening[k], z))
            row = z @ self._weights[k] + spread * noise[t]
            drawn[lags + t] = centre[-self.width :] + row * scale[-self.width :]
        return drawn[lags:]

    @property
    def _widening(self) -> Array:
        """By how much uncertain weights widen rows, as forms (K, D, P, P) of what they regress on."""
        p = self.n_regressors + 1
        if self.beliefs is None:
            return np.zeros((len(self._weights), self.width, p, p))
        inverse = inverse_definite(self.beliefs.mean_precision)
        return np.repeat(inverse, self.width // inverse.shape[1], axis=1)

    def _noise(self, codes: Any, rng: np.random.Generator) -> Array:
        """Draw deviations (T, D) in units: normal, or of Student's t under beliefs."""
        normal = rng.standard_normal((len(codes), self.width))
        if self.beliefs is None:
            roots = np.linalg.cholesky(inverse_definite(self.known.precisions))  # (K, G, Q, Q)
            heavy = np.ones((len(codes), roots.shape[1]))
        else:
            q, size = self.beliefs, self.beliefs.scale.shape[-1]
            roots = np.linalg.cholesky(inverse_definite(q.scale))
            dof = (np.broadcast_to(q.dof, q.batch_shape) - size + 1.0)[codes]
            heavy = np.sqrt(rng.chisquare(dof))
        groups = normal.reshape(len(codes), *roots.shape[1:3])
        return (np.einsum("tgij,tgj->tgi", roots[codes], groups) / heavy[..., None]).reshape(
            normal.shape
        )

    def _log_densities(self, errors: Array, inputs: Array) -> Array:
        t, k, _ = errors.shape
        if self.beliefs is None:
            precisions, log_det = self.known.precisions, self.known.log_det
            parts = errors.reshape(t, k, *precisions.shape[1:3])
            squares = np.einsum("tkgi,kgij,tkgj->tk", parts, precisions, parts, optimize=True)
            return 0.5 * (log_det.sum(axis=1) - self.width * LOG_2PI - squares)
        q = self.beliefs
        parts = errors.reshape(t, k, *q.scale.shape[1:3])
        d = parts.shape[-1]
        dof = np.broadcast_to(q.dof, q.batch_shape) - d + 1.0  # (K, G)
        inverse = inverse_definite(q.mean_precision)
        wider = 1.0 + np.einsum("tp,kgpr,tr->tkg", inputs, inverse, inputs, optimize=True)
        squares = np.einsum("tkgi,kgij,tkgj->tkg", parts, q.scale, parts, optimize=True) / wider
        height = gammaln(0.5 * (dof + d)) - gammaln(0.5 * dof) - 0.5 * d * np.log(np.pi)
        height = height + 0.5 * np.linalg.slogdet(q.scale)[1]
        each = height - 0.5 * d * np.log(wider) - 0.5 * (dof + d) * np.log1p(squares)
        return each.sum(axis=2)


def inverse_definite(definite: Array) -> Array:
    """Return the inverses of positive definite matrices (..., D, D)."""
    return inverse_from_factor(np.linalg.cholesky(definite))
