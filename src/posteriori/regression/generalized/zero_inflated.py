r"""Regression for counts of which some cannot be but 0: negative binomial, with more zeros than it has.

.. math:: p(y) = (1 - \pi)\,[y = 0] + \pi\,\mathrm{NegBin}(y\mid\mu, r),\qquad
          \ln\mu = c + x\cdot v,\quad \pi = \sigma(b + x\cdot w)

With the log odds ζ of π and the log probability ℓ of a count under the negative binomial distribution, a row has

.. math:: \ln p(y) = \begin{cases} \ln(1 + e^{\zeta+\ell}) - \ln(1 + e^\zeta) & y = 0\\
          \zeta + \ell - \ln(1 + e^\zeta) & y > 0.\end{cases}

Which of the zeros could have been more is not known, so that the two parts are learned together: Laplace's
method at the mode of (c, v, b, w, ln r).

Reference: D. Lambert, "Zero-inflated Poisson regression, with an application to defects in
manufacturing", 1992.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.composites.zero_or_counts import ZeroOrCounts
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimators.estimator_rows import Rows
from posteriori.estimators.group_columns import GroupEffects
from posteriori.estimators.linear_predictor import LearnedWeights
from posteriori.estimators.standardized import standardize
from posteriori.inference.effects.effect_layout import EffectLayout, GroupedRows
from posteriori.inference.predictors.grouped.grouped_fit import learn_spreads
from posteriori.inference.predictors.pairs.grouped_pair import GroupedPair
from posteriori.inference.predictors.pairs.paired_weights import PairedWeights, PairLayout
from posteriori.inference.predictors.pairs.two_predictors import (
    PairCurve,
    PairLikelihood,
    TwoPredictors,
)
from posteriori.inference.predictors.seen_directions import is_wide, seen_directions
from posteriori.inference.predictors.weight_belief import WeightBelief, laplace_belief
from posteriori.numerics.calculus.level_off import levelled_mean
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array
from posteriori.regression.generalized.count_regression import DispersedRegressor
from posteriori.regression.generalized.generalized_regression import START, RowNodes
from posteriori.regression.generalized.occurrence import log_odds, mean_occurrence

__all__ = ["ZeroInflatedRegressor"]

#: The least chance of counts that is told from 0.
_LEAST = 1e-300

#: Points of the Gauss–Hermite rule over log odds.
_ODDS_NODES = 32


class ZeroInflatedRegressor(DispersedRegressor):
    """Negative binomial counts, some of which cannot be but 0, by a logistic model of which.

    Beside :class:`HurdleRegressor`, zeros are of two kinds here: those of rows that have no counts,
    and those of rows that happen to have none. Weights of both parts, on standardised columns, have the
    prior N(0, 1/α), as ln r has; the intercepts are believed to be near the logarithm of the mean of the
    counts above 0, and near the log odds of their share.

    Parameters
    ----------
    prior_precision, fit_intercept, tol, max_iter, groups
        As of :class:`NegativeBinomialRegressor`, of both parts: a level has an effect on the log mean
        and one on the log odds, each with a spread of its own.

    Attributes
    ----------
    coef_, intercept_
        Of the log mean of counts where there are any.
    occurrence_coef_, occurrence_intercept_
        Of the log odds that there are.
    posterior_ : MvNormal
        Of the weights and the intercept of the log mean, then those of the log odds.
    count_ : float
        The count r at the mode.
    log_evidence_ : LogEvidence
        Of kind "laplace", or "type-II" with groups.
    effective_parameters_ : float
        How many weights the data determine, in both parts.
    group_effects_, occurrence_effects_ : dict of GroupEffects
        By column: effects of levels on the log mean, and on the log odds that there are counts.
    n_iter_ : int
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1))
    >>> y = (rng.random(500) < 0.6) * rng.poisson(np.exp(1.0 + 0.5 * X[:, 0]))
    >>> m = ZeroInflatedRegressor().fit(X, y)
    >>> m.coef_.round(1)  # of the log mean
    array([0.5])
    >>> m.predict_dist([[0.0]]).probability.round(1)  # that there can be any
    array([0.6])
    """

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        rows = super()._read_rows(X, y, sample_weight)
        if not np.any(rows.y > 0):
            raise ValueError("ZeroInflatedRegressor needs counts > 0 among y, got zeros only")
        return rows

    # -- learning ----------------------------------------------------------------------------

    def _centre(self, rows: Rows) -> tuple[float, float, float]:
        some = rows.y > 0
        f = None if rows.frequency is None else rows.frequency[some]
        return float(np.log(np.average(rows.y[some], weights=f))), 1.0, 0.0

    def _prior(self, size: int, rows: Rows) -> tuple[Array, Array]:
        """Return means and precisions of the weights of log means, of log odds, then of ln r."""
        mean, precision = super()._prior(size, rows)
        odds = np.zeros(size)
        if self.fit_intercept:
            odds[0] = log_odds((rows.y > 0) * 1.0, rows.frequency)
        return np.concatenate([mean[:-1], odds, mean[-1:]]), np.append(precision[:-1], precision)

    def _learn(self, rows: Rows) -> LearnedWeights:
        if rows.codes is not None:
            return self._learn_groups(rows)
        self._standardization, design = standardize(
            rows.x, rows.frequency, intercept=self.fit_intercept
        )
        seen = seen_directions(design) if is_wide(rows.x) else None
        x = design if seen is None else seen.rows
        mean, _ = self._prior(design.shape[1], rows)
        _, precision = self._prior(x.shape[1], rows)
        start = mean if seen is None else seen.of(mean)
        density = TwoPredictors(x, self._row_curves(rows.y), precision, start, rows.frequency)
        belief = laplace_belief(self._ascend(density), precision)
        if seen is not None:
            belief = seen.widened(belief, mean, precision[0])
        prior = (mean, precision) if seen is None else None
        return LearnedWeights(belief, precision[:-1], prior=prior)

    def _learn_groups(self, rows: Rows) -> LearnedWeights:
        self._standardization, design = standardize(
            rows.x, rows.frequency, intercept=self.fit_intercept
        )
        mean, precision = self._prior(design.shape[1], rows)
        sizes = tuple(int(n) for n in rows.codes.max(axis=0) + 1)
        layout, times = PairLayout(EffectLayout(design.shape[1], sizes)), rows.frequency
        prior = np.zeros(layout.size), np.full(layout.size, START**-2)
        for every, plain in zip(prior, (mean, precision), strict=True):
            every[layout.weight_places] = plain
        density = GroupedPair(
            GroupedRows(design, rows.codes),
            layout,
            self._row_curves(rows.y),
            prior[1],
            prior[0],
            np.ones(len(design)) if times is None else times,
        )
        return LearnedWeights.of_groups(
            learn_spreads(density, density.blocks, 1.0, self.tol, self._ascend)
        )

    def _row_curves(self, y: Array) -> PairLikelihood:
        counts, some = self._likelihood(y), y > 0

        def curve(eta: Array, zeta: Array, log_shape: float, rows: Any) -> PairCurve:
            known, of = some[rows], counts(eta, log_shape, rows)
            either, chance = zeta + of.value, special.expit(zeta)
            held = np.where(
                known, 1.0, special.expit(either)
            )  # that a row has counts, given its own
            value = np.where(known, either, np.logaddexp(0.0, either)) - np.logaddexp(0.0, zeta)
            along = np.array([of.slope, np.ones_like(eta), of.shape.slope])  # ∂(ζ + ℓ)
            slope = held * along
            slope[1] -= chance
            bend = -held * (1.0 - held) * along * along[:, None]
            bend[1, 1] += chance * (1.0 - chance)
            bend[0, 0] += held * of.curvature
            bend[2, 2] += held * of.shape.curvature
            bend[[0, 2], [2, 0]] += held * of.shape.cross
            return PairCurve(value, slope, bend)

        return curve

    def _state(self, belief: WeightBelief) -> MvNormal:
        turn = np.kron(np.eye(2), self._standardization.turn())
        return MvNormal(turn @ belief.mean[:-1], cov=turn @ belief.cov[:-1, :-1] @ turn.T)

    def _name_weights(self) -> None:
        super()._name_weights()
        _, odds = np.split(self._weights.mean[:-1], 2)
        raw = self._standardization.raw_weights(odds)
        d = len(self._standardization.scale)
        self.occurrence_coef_ = raw[:d]
        self.occurrence_intercept_ = float(raw[d]) if self.fit_intercept else 0.0

    def _named_weights(self, draws: Array) -> dict[str, Array]:
        d = len(self._standardization.scale)
        counts, odds = np.split(draws[:, :-1], 2, axis=1)
        raw = self._standardization.raw_weights(odds)
        found = super()._named_weights(np.column_stack([counts, draws[:, -1:]]))
        found["occurrence_coef"] = raw[:, :d]
        return found | ({"occurrence_intercept": raw[:, d]} if self.fit_intercept else {})

    @property
    def occurrence_effects_(self) -> dict[str, GroupEffects]:
        """Effects of levels on the log odds that there are counts."""
        return self._effects_on(1, 2)

    @property
    def group_effects_(self) -> dict[str, GroupEffects]:
        """Effects of levels on the log mean of counts where there are any."""
        return self._effects_on(0, 2)

    # -- predicting --------------------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """Return the expected counts (N,); beyond the largest count seen they level off.

        The mean is known in closed form given the log odds, and summed over these.
        """
        design = self._design(X)
        mean, cov = self._both_predictors(design)
        nodes, weights = np.polynomial.hermite_e.hermegauss(_ODDS_NODES)
        std = np.sqrt(cov[:, 1, 1])
        gain = cov[:, 0, 1] / cov[:, 1, 1]
        left = np.maximum(cov[:, 0, 0] - gain * cov[:, 0, 1], _LEAST)
        total = np.zeros(len(design))
        for node, weight in zip(nodes, weights / weights.sum(), strict=True):
            count = levelled_mean(mean[:, 0] + gain * std * node, left, self._log_top)
            total += weight * special.expit(mean[:, 1] + std * node) * count
        return total

    def predict_dist(self, X: Any) -> ZeroOrCounts:
        """Return the predictive distribution of each row's count."""
        design = self._design(X)
        nodes = self._nodes(design)
        chance = np.maximum(self._chances(design, nodes), _LEAST)
        overall = chance @ nodes.weights
        shares = nodes.weights * chance / overall[:, None]
        counts = self._member(nodes.at, nodes.log_shape, nodes.blur)
        return ZeroOrCounts(np.minimum(overall, 1.0), Mixture(shares, counts), 0)

    def _chances(self, design: Any, nodes: RowNodes) -> Array:
        """Return the probabilities that rows have counts, given the nodes' log means and log shapes.

        Log odds are regressed on the log shape, then on the log mean, of the normal posterior.
        """
        belief, own = self._weights, float(self._weights.cov[-1, -1])
        mean, cov = self._both_predictors(design)
        gains = self._shape_covariances(design) / own
        tie = cov[:, 0, 1] - gains[:, 0] * gains[:, 1] * own
        gain = tie / np.where(nodes.variance > 0, nodes.variance, np.inf)
        left = cov[:, 1, 1] - gains[:, 1] ** 2 * own - gain * tie
        at = mean[:, 1, None] + np.outer(gains[:, 1], nodes.log_shape - belief.mean[-1])
        blur = np.maximum(left, 0.0)[:, None] + gain[:, None] ** 2 * nodes.blur
        return mean_occurrence(at + gain[:, None] * nodes.offset, blur)

    def _shape_covariance(self, design: Any) -> Array:
        return self._shape_covariances(design)[:, 0]

    def _shape_covariances(self, design: Any) -> Array:
        """Return covariances of log means and log odds of rows with the log shape, (N, 2)."""
        if self._paired is not None:
            return self._paired.shape_covariances(design)
        return self._weights.along(design) @ self._weights.cov[:-1, -1].reshape(2, -1).T

    @property
    def _paired(self) -> PairedWeights | None:
        """The belief about weights and effects of both parts, where there are groups."""
        belief: Any = None if self._effects is None else self._effects.belief
        return belief

    def _both_predictors(self, design: Any) -> tuple[Array, Array]:
        """Return means (N, 2) and covariances (N, 2, 2) of log means and log odds."""
        if self._paired is not None:
            return self._paired.both_moments(design)
        belief = self._weights
        both = belief._replace(mean=belief.mean[:-1], cov=belief.cov[:-1, :-1])
        mean, cov = both.several_predictors(design, 2)
        return mean, cov + _LEAST * np.eye(2)  # nothing is left open about a row of zeros

    # -- how the rows fare -------------------------------------------------------------------

    def _log_likelihood(self, draws: Array, design: Array, targets: Array) -> Array:
        etas, shapes = self._predictors(draws, design)
        zetas, curve = self._log_odds(draws, design), self._row_curves(targets)
        each = zip(etas, zetas, shapes, strict=True)
        return np.array([curve(e, z, float(t), slice(None)).value for e, z, t in each])

    def _draw_targets(self, draws: Array, design: Array, rng: np.random.Generator) -> Array:
        counts = super()._draw_targets(draws, design, rng)
        chance = special.expit(self._log_odds(draws, design))
        return np.where(rng.random(counts.shape) < chance, counts, 0.0)

    def _predictors(self, draws: Array, design: Any) -> tuple[Array, Array]:
        if self._paired is None:
            return super()._predictors(draws, design)
        return self._paired.drawn_predictors(draws, design), self._paired.drawn_shapes(draws)

    def _log_odds(self, draws: Array, design: Any) -> Array:
        """Return the log odds that rows have counts under draws, (S, n)."""
        if self._paired is not None:
            return self._paired.drawn_predictors(draws, design, 1)
        d = design.shape[1]
        return draws[:, d : 2 * d] @ design.T
