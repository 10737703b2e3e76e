r"""States whose rows regress on earlier rows and on inputs.

.. math:: x_t\mid z_t = k \sim \mathcal N(W_k^\top φ_t, Λ_k^{-1}), \qquad φ_t = (1, x_{t-1}, …, x_{t-p}, u_t),

with the sums :math:`\sum_t r_{tk} (φ_t, x_t)(φ_t, x_t)^\top`. Beliefs about :math:`(W_k, Λ_k)` are
matrix-normal-Wishart; columns that are independent given the state have one each. Rows that miss an entry,
or follow such a row, say nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.joint.matrix_normal_wishart import MatrixNormalWishart
from posteriori.inference.latent.contract import Learned, Scored, Sums, reordered
from posteriori.inference.latent.units import column_scale, table_spread
from posteriori.inference.mixtures.columns.family_models import belief_affinities
from posteriori.inference.mixtures.columns.latent_ascent import sums_of_shares
from posteriori.inference.mixtures.normal_maximum import FLOOR
from posteriori.inference.mixtures.normal_scores import (
    NormalFeatures,
    unpack_sums,
    upper_triangle,
)
from posteriori.inference.mixtures.normal_units import Units
from posteriori.inference.sequences.dirichlet_rows import Estimate
from posteriori.inference.sequences.draws.chain_turns import EmissionDraws
from posteriori.inference.sequences.emissions.feature_emissions import (
    belief_densities,
    feature_scores,
)
from posteriori.inference.sequences.emissions.regression_densities import (
    RegressionDensities,
    inverse_definite,
)
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["RegressionEmission", "regression_emission"]

#: Rows that the prior of each weight is worth, as that of means.
_STRENGTH = 0.1

#: What is added to the squares of regressors, relative to the rows of a state, so that none is without a fit.
_RIDGE = 1e-9


class _Regressions(NamedTuple):
    """Weights (K, G, P, Q) and precisions (K, G, Q, Q) of G groups of Q columns, in units.

    ``spread`` (K, G, P, P) is what uncertain weights add to E[W Λ Wᵀ], ``log_det`` (K, G) is E ln|Λ|.
    """

    weights: Array
    precisions: Array
    log_det: Array
    spread: Array


class RegressionEmission(NamedTuple):
    """Rows and what they regress on.

    Attributes
    ----------
    z : (N, P − 1 + D)
        Regressors but the intercept, then the columns that regress, of the rows that are whole.
    seen : (T,)
        Which rows these are.
    units : Units
        Of z.
    width : int
        D.
    together : bool
        Whether columns have one precision, or each its own.
    estimate : {"likelihood", "mode", "belief"}
    log_scale : float
        Σ w of what densities in units exceed those of rows by.
    """

    z: Array
    seen: Array
    units: Units
    width: int
    together: bool
    estimate: Estimate
    log_scale: float

    @property
    def numeric(self) -> bool:
        """Sums are numbers."""
        return True

    @property
    def exact(self) -> bool:
        """Whether beliefs are exact where the states are known."""
        return self.estimate == "belief"

    @property
    def n_sums(self) -> int:
        """Number of parts of the sums."""
        return 1

    @property
    def _features(self) -> NormalFeatures:
        return NormalFeatures("full", self.units)

    @property
    def _regressors(self) -> int:
        """P, the intercept among them."""
        return self.z.shape[1] - self.width + 1

    def expected_sums(self, shares: Array) -> Sums:
        """Return Σ r (1, z, z zᵀ), (K, F)."""
        return (sums_of_shares(self._features, self.z, None, shares[self.seen].T),)

    def look(self, sums: Sums) -> Scored:
        """Return the log densities of rows given what they regress on."""
        found, bonus = self._learn(sums[0])
        scores = np.zeros((len(self.seen), len(sums[0])))
        scores[self.seen] = feature_scores(self._features, self.z, self._theta(found))
        return Scored(scores, -self.log_scale, bonus, self.expected_sums)

    def learn(self, sums: Sums) -> Learned:
        """Return densities of rows with their regressors."""
        free = self._regressors * self.width + (
            self.width * (self.width + 1) // 2 if self.together else self.width
        )
        parts = self.units, self.width
        if self.estimate == "belief":
            belief = self._beliefs(sums[0])
            return Learned(RegressionDensities(*parts, belief, None), belief)
        found, _ = self._learn(sums[0])
        return Learned(RegressionDensities(*parts, None, found), None, free)

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the sums of states in another order."""
        return reordered(sums, order)

    def log_affinities(self, sums: Sums) -> Array:
        """Return ln ∫√(q_j q_k) of the beliefs, (K, K)."""
        return belief_affinities(self._beliefs(sums[0]))

    def draw(self, sums: Sums, size: int, rng: np.random.Generator) -> EmissionDraws:
        """Draw weights and precisions from the beliefs about them."""
        drawn: Any = self._beliefs(sums[0]).sample(size, rng=rng)
        nothing = np.zeros((*drawn.weights.shape[1:3], self._regressors, self._regressors))

        def scores(s: int) -> Array:
            log_det = np.linalg.slogdet(drawn.precision[s])[1]
            one = _Regressions(drawn.weights[s], drawn.precision[s], log_det, nothing)
            values = np.zeros((len(self.seen), len(sums[0])))
            values[self.seen] = feature_scores(self._features, self.z, self._theta(one))
            return values

        def log_beliefs(other: Sums) -> Array:
            return belief_densities(self._beliefs(other[0]), drawn).sum(axis=-1)

        return EmissionDraws(scores, log_beliefs, lambda: self._prior.log_prob(drawn).sum(axis=-1))

    # -- learning ----------------------------------------------------------------------------

    @property
    def _prior(self) -> MatrixNormalWishart:
        """No weights but noise as the columns have, as of plain normal columns."""
        p, q = self._regressors, self.width if self.together else 1
        return MatrixNormalWishart(np.zeros((p, q)), _STRENGTH * np.eye(p), q + 2.0, np.eye(q))

    def _grams(self, sums: Array) -> tuple[Array, Array, Array, Array]:
        """Return N (K, 1), and Σ φφᵀ (K, 1, P, P), Σ φxᵀ (K, G, P, Q), Σ xxᵀ (K, G, Q, Q)."""
        if sums[:, 0].min() < 0.0:  # a jump went too far
            raise ValueError("a state has less than no rows")
        k, m, p = len(sums), self.z.shape[1] + 1, self._regressors
        found = unpack_sums(sums, "full", np.empty((m - 1, m - 1)))
        gram = np.empty((k, m, m))
        gram[:, 0, 0], gram[:, 0, 1:], gram[:, 1:, 0] = found.counts, found.sums, found.sums
        gram[:, 1:, 1:] = found.squares
        cross, own = gram[:, :p, p:], gram[:, p:, p:]
        counts, inputs = found.counts[:, None], gram[:, None, :p, :p]
        if self.together:
            return counts, inputs, cross[:, None], own[:, None]
        columns = np.diagonal(own, axis1=1, axis2=2)[:, :, None, None]
        return counts, inputs, np.swapaxes(cross, 1, 2)[..., None], columns

    def _beliefs(self, sums: Array) -> MatrixNormalWishart:
        """Return the beliefs (K, G), the prior's natural parameters and what the rows add."""
        counts, inputs, cross, own = self._grams(sums)
        first, second, third, fourth = self._prior.natural
        lead = cross.shape[:2]
        flat = cross.reshape(*lead, -1)
        return MatrixNormalWishart._from_natural(
            np.broadcast_to(first + 0.5 * counts, lead),
            second - 0.5 * own,
            third + flat,
            np.broadcast_to(fourth - 0.5 * inputs, (*lead, *fourth.shape)),
        )

    def _learn(self, sums: Array) -> tuple[_Regressions, float]:
        """Return the regressions, and what else the objective has."""
        if self.estimate == "likelihood":
            return self._most_likely(sums), 0.0
        belief = self._beliefs(sums)
        if not belief._all_proper:
            raise ValueError("a belief is improper")
        if self.estimate == "mode":
            found = belief.mode
            none = np.zeros((*belief.batch_shape, self._regressors, self._regressors))
            log_det = np.linalg.slogdet(found.precision)[1]
            parts = _Regressions(found.weights, found.precision, log_det, none)
            return parts, float(np.sum(self._prior.log_prob(found)))
        log_det, precisions, _, _ = belief.mean_params
        q = precisions.shape[-1]
        spread = q * inverse_definite(belief.mean_precision)
        parts = _Regressions(belief.location, precisions, log_det, spread)
        return parts, -float(np.sum(belief.kl(self._prior)))

    def _most_likely(self, sums: Array) -> _Regressions:
        """Return W = (Σφφᵀ)⁻¹ Σφxᵀ and the covariance that is left, no direction below its floor."""
        counts, inputs, cross, own = self._grams(sums)
        p = self._regressors
        some = np.maximum(counts, np.finfo(np.float64).tiny)[..., None, None]
        held = inputs / some + _RIDGE * np.eye(p)
        weights = np.linalg.solve(np.broadcast_to(held, (*cross.shape[:2], p, p)), cross / some)
        pulled = np.swapaxes(weights, -1, -2) @ cross / some
        squares = np.swapaxes(weights, -1, -2) @ (inputs / some) @ weights
        covs = own / some - pulled - np.swapaxes(pulled, -1, -2) + squares
        values, vectors = np.linalg.eigh(0.5 * (covs + np.swapaxes(covs, -1, -2)))
        values = np.maximum(values, FLOOR)
        precisions = (vectors / values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        nothing = np.zeros((*cross.shape[:2], p, p))
        return _Regressions(weights, precisions, -np.log(values).sum(axis=-1), nothing)

    def _theta(self, found: _Regressions) -> Array:
        """Return log densities as linear functions of 1, z, z zᵀ: (K, F)."""
        k, groups, p, q = found.weights.shape
        m = self.z.shape[1] + 1
        form = np.zeros((k, m, m))  # vᵀ Q v is the distance of v = (φ, x)
        for g in range(groups):
            w, precision = found.weights[:, g], found.precisions[:, g]
            at = slice(p + g * q, p + (g + 1) * q)
            pull = w @ precision
            form[:, :p, :p] += pull @ np.swapaxes(w, 1, 2) + found.spread[:, g]
            form[:, :p, at] -= pull
            form[:, at, :p] -= np.swapaxes(pull, 1, 2)
            form[:, at, at] += precision
        height = 0.5 * (found.log_det.sum(axis=1) - self.width * LOG_2PI)
        rows, columns = upper_triangle(m - 1)
        squares = -np.where(rows == columns, 0.5, 1.0) * form[:, 1:, 1:][:, rows, columns]
        offset = (height - 0.5 * form[:, 0, 0])[:, None]
        return np.concatenate([offset, -form[:, 0, 1:], squares], axis=1)


def regression_emission(
    x: Array, regressors: Array, frequency: Array | None, *, together: bool, estimate: Estimate
) -> RegressionEmission:
    """Return the model of rows that regress.

    Parameters
    ----------
    x : (T, D)
        NaN is missing.
    regressors : (T, P − 1)
        But for the intercept; NaN where there are none.
    frequency : (T,) or None
    together : bool
        Whether columns have one precision, or each its own.
    estimate : {"likelihood", "mode", "belief"}
    """
    z = np.concatenate([regressors, x], axis=1)
    seen = ~np.isnan(z).any(axis=1)
    if not seen.any():
        raise ValueError("no row of X is whole and follows whole rows; lower lags, or fill in X")
    counted = None if frequency is None else frequency[seen]
    _, mean, variance = table_spread(z[seen], counted)
    scale = np.sqrt(column_scale(mean, variance))
    units = Units(mean, np.diag(scale), np.diag(1.0 / scale))
    width, total = x.shape[1], float(seen.sum() if counted is None else counted.sum())
    log_scale = total * float(np.log(scale[-width:]).sum())
    return RegressionEmission(z[seen], seen, units, width, together, estimate, log_scale)
