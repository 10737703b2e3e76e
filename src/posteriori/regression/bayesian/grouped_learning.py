r"""Linear regression with effects of levels: exact given their spreads, which the evidence chooses.

With effects integrated out what is left is a regression without them on other statistics, so that
each way of treating the weights' hyper-parameters is used as it is. The slope of the log evidence in
the logarithm of a spread is, by Fisher's identity,

.. math:: \frac{d\ln p(y)}{d\ln\sigma_c} = E\Bigl[\frac{|u_c|^2}{\sigma^2\rho_c}\Bigr] - L_c .
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from posteriori.estimators.estimator_rows import Rows
from posteriori.estimators.group_columns import GroupColumns, GroupEffects, effects_of
from posteriori.inference.effects.normal_effects import (
    CellSums,
    EffectSolution,
    likely_ratios,
    solve_effects,
    sum_cells,
)
from posteriori.inference.effects.spread_search import Spreads, maximise_spreads
from posteriori.numerics.evidence import Fingerprint
from posteriori.numerics.least_squares.regression_statistics import RegressionStatistics
from posteriori.numerics.types import Array
from posteriori.regression.bayesian.belief import LinearBelief
from posteriori.regression.bayesian.grouped_belief import EffectBelief, GroupedBelief
from posteriori.regression.bayesian.learning import Learned, Solution, solve
from posteriori.regression.bayesian.priors import LinearPrior

__all__ = ["GroupedLearned", "learn_groups"]

#: Share of the targets' squares below which what is left within cells is rounding.
_PERFECT = 1e-14


@dataclass(frozen=True)
class GroupedLearned(Learned):
    """What was learned together with effects of levels.

    Attributes
    ----------
    solved : Solution
        Whose belief is a :class:`GroupedBelief`.
    spreads : Spreads
        In units of the noise.
    determined_weights : float
        How many weights of columns the data determine.
    """

    solved: Solution
    spreads: Spreads
    determined_weights: float

    def merge(self, other: Learned) -> Learned:
        """Refuse: spreads are chosen by all rows together."""
        raise ValueError("models with groups cannot be merged: fit one to all rows")

    @cached_property
    def solution(self) -> Solution:
        """Posterior, evidence and hyper-parameters."""
        return self.solved

    @property
    def effective_parameters(self) -> float:
        """γ: weights, and effects beside the intercept, that the data determine."""
        return self.determined_weights + float(sum(share.sum() for share in self._determined()))

    def effects(self, columns: GroupColumns) -> dict[str, GroupEffects]:
        """Return the effects of each category, by its name."""
        belief = self._grouped
        mean, variance = belief.level_moments()
        noise, shares = belief.noise_variances, belief.probabilities
        expected = mean @ shares
        between = (mean - expected[:, None]) ** 2 @ shares
        std = np.sqrt((variance * noise) @ shares + between)
        moments = [(expected[place], std[place]) for place in belief.effects.layout.places]
        unit = float(np.sqrt(belief.noise_variance))
        return effects_of(columns, moments, self.spreads, self._determined(), unit)

    def _determined(self) -> list[Array]:
        """Return the share of each effect that the data determine, by category."""
        belief = self._grouped
        variance = belief.level_moments()[1] @ belief.probabilities
        places, ratios = belief.effects.layout.places, belief.effects.ratios
        return [1.0 - variance[place] / rho for place, rho in zip(places, ratios, strict=True)]

    @property
    def _grouped(self) -> GroupedBelief:
        belief = self.solved.belief
        assert isinstance(belief, GroupedBelief)
        return belief


def learn_groups(rows: Rows, prior: LinearPrior, fingerprint: Fingerprint) -> GroupedLearned:
    """Learn weights, effects and spreads from checked rows."""
    if prior.is_flat or (prior.fit_intercept and prior.intercept_precision == 0.0):
        raise ValueError(
            "groups need proper priors beside them, since their spreads are chosen by the evidence: "
            "give prior_precision and intercept_precision > 0"
        )
    sizes = tuple(int(n) for n in rows.codes.max(axis=0) + 1)
    cells = sum_cells(
        rows.x,
        rows.y,
        rows.codes,
        sizes,
        frequency=rows.frequency,
        variance=rows.variance,
        intercept=prior.fit_intercept,
    )
    problem = _Problem.of(cells, prior)
    start = 0.5 * np.log(likely_ratios(problem.cells))
    with warnings.catch_warnings():  # of spreads on the way; those at the end are heard below
        warnings.simplefilter("ignore")
        spreads = maximise_spreads(problem.evidence, start, sizes)
    effects, solution = problem.solve(spreads.log_spreads)
    alone = Learned(problem.prior, effects.statistics, fingerprint)
    belief = problem.belief(effects, solution.belief, np.exp(2.0 * spreads.log_spreads))
    solved = solution._replace(belief=belief, kind="type-II", n_iter=spreads.n_evaluations)
    return GroupedLearned(
        prior, problem.plain, fingerprint, solved, spreads, alone.effective_parameters
    )


@dataclass(frozen=True)
class _Problem:
    """Sums of standardised columns, with the prior that speaks of them.

    Attributes
    ----------
    cells : CellSums
        Of (x − x̄)/s and y less the prior mean of the intercept.
    prior : LinearPrior
        Of the weights alone.
    intercept_precision : float
    plain : RegressionStatistics
        Of all rows in their own units.
    level : float
    scales : (D,)
    """

    cells: CellSums
    prior: LinearPrior
    intercept_precision: float
    plain: RegressionStatistics
    level: float
    scales: Array

    @classmethod
    def of(cls, cells: CellSums, prior: LinearPrior) -> _Problem:
        plain = cells.total
        intercept = prior.settled(plain).intercept  # normal with few rows too: it is an effect
        prior = prior.for_rows(plain.rows)
        _, scales, _, _, noise_scale = prior.settled(plain)
        level, precision = (0.0, 1.0) if intercept is None else intercept[:2]
        alone = prior._replace(
            fit_intercept=False,
            standardize=False,
            noise_scale=noise_scale,
            mean=prior.mean * scales,
            root=None if prior.root is None else prior.root / scales[prior.free],
        )
        measured = cells.measured(level, scales)
        if prior.hyperparameters in ("type-II", "ard") and _tell_targets(measured):
            # the evidence would grow without end as the noise vanishes: times exp(−b₀/σ²)
            measured.within[-1, -1] = np.sqrt(2.0 * noise_scale)
        return cls(measured, alone, precision, plain, level, scales)

    def solve(self, log_spreads: Array) -> tuple[EffectSolution, Solution]:
        """Return effects up to the weights, and the weights, given spreads in units of the noise."""
        effects = solve_effects(self.cells, np.exp(2.0 * log_spreads), self.intercept_precision)
        return effects, solve(effects.statistics, self.prior)

    def evidence(self, log_spreads: Array) -> tuple[float, Array]:
        """Return the log evidence and its slopes in the logarithms of the spreads."""
        effects, solution = self.solve(log_spreads)
        belief, own = solution.belief, effects.factor.variances
        precision = _noise_precisions(belief)
        along = np.column_stack([-belief.mean, np.ones(len(belief.mean))])  # û_y − Û_x m
        slopes = []
        for place, t in zip(self.cells.layout.places, log_spreads, strict=True):
            gram = effects.fitted[place].T @ effects.fitted[place]
            mean = np.einsum("gi,ij,gj->g", along, gram, along) * precision
            spread = belief.weights_spread(effects.fitted[place, :-1]).sum(axis=0)
            squares = own[place].sum() + (mean + spread) @ belief.probabilities
            slopes.append(float(squares) / np.exp(2.0 * t) - (place.stop - place.start))
        return solution.log_evidence, np.array(slopes)

    def belief(self, effects: EffectSolution, alone: LinearBelief, ratios: Array) -> GroupedBelief:
        """Return the belief in the units of the data."""
        d, plain = len(self.scales), self.cells.layout.plain
        fitted = effects.fitted * np.append(self.scales, 1.0)
        centre, level, precision = self.plain.mean[:d], self.level, None
        if plain:
            centre = centre + fitted[0, :-1]
            level, precision = level + float(fitted[0, -1]), 1.0 / effects.factor.variances[0]
        return GroupedBelief(
            alone.probabilities,
            alone.mean / self.scales,
            alone.directions / self.scales[:, None],
            alone.precisions,
            centre,
            level,
            precision,
            alone.shape,
            alone.scale,
            alone.unseen and alone.unseen.in_units(self.scales),
            EffectBelief(
                self.cells.layout,
                effects.factor,
                fitted,
                ratios,
                self.plain.mean[:d],
                self.level,
            ),
        )


def _noise_precisions(belief: LinearBelief) -> Array:
    """Return E[β] of each member."""
    return 1.0 / belief.scale if belief.shape is None else belief.shape / belief.scale


def _tell_targets(cells: CellSums) -> bool:
    """Tell whether levels and columns leave nothing of the targets."""
    squares = float((cells.total.factor[:, -1] ** 2).sum())
    return float(cells.within[-1, -1] ** 2) <= _PERFECT * squares
