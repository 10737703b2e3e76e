"""From statistics and a prior to a belief: one function per way of treating the hyper-parameters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.sparsity.relevance import (
    RelevanceProblem,
    find_relevance,
    prices_of_columns,
)
from posteriori.numerics.evidence import Fingerprint, Kind, LogEvidence
from posteriori.numerics.least_squares.regression_statistics import (
    RegressionStatistics,
    column_norms,
)
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.logspace import log_softmax, log_sum_exp
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning
from posteriori.regression.bayesian.belief import LinearBelief, join_beliefs
from posteriori.regression.bayesian.conjugate_weights import (
    WeightPosterior,
    less_prior_mean,
    make_belief,
    weighed_noise,
    weight_posterior,
)
from posteriori.regression.bayesian.few_columns import average_sets
from posteriori.regression.bayesian.open_directions import OpenDirections
from posteriori.regression.bayesian.priors import LinearPrior, SettledPrior
from posteriori.regression.bayesian.scales.hyper_grid import (
    HyperGrid,
    HyperPriors,
    RelativeScale,
    integrate_hyperparameters,
    join_grids,
)
from posteriori.regression.bayesian.scales.spectrum import Spectrum, decompose
from posteriori.regression.bayesian.scales.type_two import climb_by_fixed_point, maximise_evidence

__all__ = ["Learned", "Solution", "solve"]

#: Share of the targets' squares that is noise at least, where it is chosen by evidence.
_NOISE_FLOOR = 1e-14

#: A prior of this share of the size of each column determines all weights, whatever the data say.
_PLENTY = 1e-6

#: Shares of columns apart that are less probable are left out.
_RARE_SHARE = 1e-4


class Solution(NamedTuple):
    """What was learned.

    Attributes
    ----------
    belief : LinearBelief
    log_evidence : float
        −∞ where an improper prior leaves none.
    kind : Kind
    prior_precision : (D,) or float or None
        Precisions of the (standardised) weights, where they were learned.
    noise_precision : float or None
        β, where it was learned as a number.
    grid : HyperGrid or None
    n_iter : int
    """

    belief: LinearBelief
    log_evidence: float
    kind: Kind = "exact"
    prior_precision: Any = None
    noise_precision: float | None = None
    grid: HyperGrid | None = None
    n_iter: int = 1


@dataclass(frozen=True)
class Learned:
    """Statistics of the data with a prior; solved when first asked for."""

    prior: LinearPrior
    statistics: RegressionStatistics
    fingerprint: Fingerprint

    def merge(self, other: Learned) -> Learned:
        """Return what is learned from both sets of data."""
        both = self.statistics.merge(other.statistics)
        return Learned(self.prior, both, self.fingerprint.merge(other.fingerprint))

    @cached_property
    def solution(self) -> Solution:
        """Posterior, evidence and hyper-parameters."""
        return solve(self.statistics, self.prior)

    @property
    def log_evidence(self) -> LogEvidence:
        """Evidence; that of a flat intercept is of y up to a constant, and compares with its like."""
        solution = self.solution
        if np.isneginf(solution.log_evidence):
            raise AttributeError(
                "log_evidence_ does not exist under an improper prior (a prior_precision of 0 in "
                "some direction), which defines it only up to a factor; give every weight a positive prior "
                "precision, or compare by leave_one_out_log_density"
            )
        flat = self.prior.fit_intercept and self.prior.intercept_precision == 0.0
        return LogEvidence(
            solution.log_evidence,
            kind=solution.kind,
            of="y up to a constant|X" if flat else "y|X",
            fingerprint=self.fingerprint,
        )

    @property
    def effective_parameters(self) -> float:
        """γ = Σ (1 − prior share) over directions: weights that the data determine."""
        belief, d = self.solution.belief, self.statistics.n_inputs
        seen = (self.statistics.reduced[:d, :d] @ belief.directions) ** 2
        return float(belief.probabilities @ (seen.sum(axis=0) / belief.precisions).sum(axis=1))


def solve(statistics: RegressionStatistics, prior: LinearPrior) -> Solution:
    """Return posterior, evidence and hyper-parameters."""
    settled = prior.for_rows(statistics.rows)
    return _SOLVERS[settled.hyperparameters](statistics, settled.settled(statistics))


# -- ways of treating the hyper-parameters ---------------------------------------------------


def _solve_fixed(statistics: RegressionStatistics, prior: SettledPrior) -> Solution:
    """Use the prior as it is given; the noise is known or integrated out."""
    given, d = prior.given, statistics.n_inputs
    root = prior.scales if given.root is None else given.root / np.sqrt(given.unit)
    free = np.flatnonzero(given.free)
    shifted = statistics
    if len(free) < d or given.mean.any():
        shifted = less_prior_mean(statistics, given.mean, free)
    wide = len(shifted.reduced) < len(free) and root.ndim == 1 and bool(root.all())
    learn = _weights_through_rows if wide else _weights_of_columns
    weights = learn(shifted, root)
    directions = np.zeros((d, weights.directions.shape[1]))
    directions[free] = weights.directions
    mean = given.mean.copy()
    mean[free] += weights.mean
    log_evidence, shape, scale = weighed_noise(shifted, weights, prior)
    if shape is not None and (given.is_flat or not shape[0] > 0):
        _require_noise(statistics, given, float(shape[0]), float(scale[0]))
    of_weights = mean, directions, weights.precisions[None]
    belief = make_belief(statistics, prior.intercept, *of_weights, shape, scale)
    if wide:
        scales = np.full(d, np.inf)
        scales[free] = root
        belief = replace(belief, unseen=OpenDirections(scales, np.ones(1)))
    return Solution(belief, log_evidence, noise_precision=given.noise_precision)


def _weights_of_columns(statistics: RegressionStatistics, root: Array) -> WeightPosterior:
    """Return the posterior of weights around 0 under a prior of this root, or diagonal root."""
    matrix = np.diag(root)[root > 0] if root.ndim == 1 else root
    told = np.concatenate([statistics.reduced[:, :-1], matrix])
    sizes = np.abs(told).max(axis=0, initial=0.0)
    if (
        root.ndim > 1 or not (root > _PLENTY * sizes).all()
    ):  # a prior of some strength determines all
        _require_determined(told)
    return weight_posterior(statistics, matrix, np.zeros(statistics.n_inputs))


def _weights_through_rows(statistics: RegressionStatistics, scales: Array) -> WeightPosterior:
    """Return the same from fewer rows than columns, for a diagonal root: λ = 1 on scaled columns."""
    spectrum = decompose(statistics, np.zeros(statistics.n_inputs), scales, None)
    return WeightPosterior(
        spectrum.weights(1.0),
        spectrum.directions,
        spectrum.squares + 1.0,
        float(spectrum.misfit(1.0)),
        float(spectrum.log_ratio(1.0)),
        0,
    )


def _solve_type_two(statistics: RegressionStatistics, prior: SettledPrior) -> Solution:
    """Choose α and β of highest evidence, given each share of columns that are apart."""
    choices = prior.scales_by_share
    return _sum_over_shares(
        [_solve_at_best(statistics, prior, scales) for scales in choices],
        [(scales / prior.scales) ** 2 for scales in choices],
    )


def _solve_at_best(
    statistics: RegressionStatistics, prior: SettledPrior, scales: Array
) -> Solution:
    """Choose α and β of highest evidence, for columns in these units."""
    spectrum, _ = _noisy_spectrum(statistics, prior, scales)
    climb = maximise_evidence if prior.given.solver == "newton" else climb_by_fixed_point
    best = climb(spectrum)
    mean, precisions = prior.given.mean, np.ones((1, 0))
    directions = np.zeros((len(mean), 0))
    if np.isfinite(best.ratio):
        mean = mean + spectrum.weights(best.ratio)
        precisions, directions = (spectrum.squares + best.ratio)[None], spectrum.directions
    noise = None, np.array([1.0 / best.noise_precision])
    belief = make_belief(statistics, prior.intercept, mean, directions, precisions, *noise)
    if np.isfinite(best.ratio):
        belief = _with_unseen(belief, scales, np.array([best.ratio]))
    alpha = best.ratio * best.noise_precision
    return Solution(
        belief, best.log_evidence, "type-II", alpha, best.noise_precision, n_iter=best.n_iter
    )


def _solve_relevance(statistics: RegressionStatistics, prior: SettledPrior) -> Solution:
    """Choose β and a precision for every weight of highest evidence."""
    d, scales = statistics.n_inputs, prior.scales
    spectrum, floored = _noisy_spectrum(statistics, prior, scales)
    factor = statistics.reduced[:d, :d] / scales
    target = statistics.reduced[:d, d] - statistics.reduced[:d, :d] @ prior.given.mean
    start = np.inf if floored else maximise_evidence(spectrum).ratio
    prices = prices_of_columns(d) if floored else np.zeros(d)
    if floored:  # no more rows of the factor say something than the data have
        length = column_norms(factor.T)
        seen = exceeds_rounding(length, length.max(initial=0.0))
        factor, target = factor[seen], target[seen]
    problem = RelevanceProblem(
        factor, target, spectrum.rest, spectrum.rows, spectrum.log_constant, prices
    )
    best = find_relevance(problem, np.full(d, 0.0 if np.isinf(start) else 1.0 / start))
    kept = np.flatnonzero(best.variances > 0)
    stacked = np.concatenate([np.diag(best.variances[kept] ** -0.5), factor[:, kept]])
    q, r = np.linalg.qr(stacked)
    mean, directions = prior.given.mean.copy(), np.zeros((d, len(kept)))
    mean[kept] += np.linalg.solve(r, q[len(kept) :].T @ target) / scales[kept]
    directions[kept] = triangular_inverse(r.T).T / scales[kept, None]
    noise = None, np.array([1.0 / best.noise_precision])
    belief = make_belief(
        statistics, prior.intercept, mean, directions, np.ones((1, len(kept))), *noise
    )
    alpha = np.full(d, np.inf)
    with np.errstate(over="ignore"):  # next to a point, as those that are left out
        alpha[kept] = best.noise_precision / best.variances[kept]
    return Solution(
        belief, best.log_evidence, "type-II", alpha, best.noise_precision, n_iter=best.n_iter
    )


def _solve_few_columns(statistics: RegressionStatistics, prior: SettledPrior) -> Solution:
    """Average over sets of columns that join one by one; given a set, over its scale and the noise."""
    averaged = average_sets(statistics, prior)
    return Solution(averaged.belief, averaged.log_evidence, "type-II", n_iter=averaged.n_sets)


def _solve_grid(statistics: RegressionStatistics, prior: SettledPrior) -> Solution:
    """Integrate α and β under gamma hyper-priors."""
    given, scale = prior.given, prior.noise_scale
    rate = scale if given.precision_rate is None else given.precision_rate
    priors = HyperPriors(given.precision_shape, rate, prior.noise_shape, scale)
    return _integrate(statistics, prior, priors)


def _solve_integrated(statistics: RegressionStatistics, prior: SettledPrior) -> Solution:
    """Integrate the scale of the weights in units of the noise, and the noise."""
    scale = RelativeScale(statistics.n_inputs, prior.noise_shape, prior.noise_scale)
    return _integrate(statistics, prior, scale)


def _integrate(
    statistics: RegressionStatistics, prior: SettledPrior, priors: HyperPriors | RelativeScale
) -> Solution:
    """Integrate α and β, given each share of columns that are apart."""
    choices = prior.scales_by_share
    return _sum_over_shares(
        [_integrate_in_units(statistics, prior, priors, scales) for scales in choices]
    )


def _integrate_in_units(
    statistics: RegressionStatistics,
    prior: SettledPrior,
    priors: HyperPriors | RelativeScale,
    scales: Array,
) -> Solution:
    spectrum = _spectrum(statistics, prior, scales)
    grid = integrate_hyperparameters(spectrum, priors)
    belief = make_belief(
        statistics,
        prior.intercept,
        prior.given.mean + spectrum.weights(grid.ratios),
        spectrum.directions,
        spectrum.squares + grid.ratios[:, None],
        grid.shape,
        grid.scale,
        grid.probabilities,
    )
    return Solution(_with_unseen(belief, scales, grid.ratios), grid.log_evidence, grid=grid)


_SOLVERS = {
    "fixed": _solve_fixed,
    "type-II": _solve_type_two,
    "ard": _solve_relevance,
    "grid": _solve_grid,
    "integrated": _solve_integrated,
    "few columns": _solve_few_columns,
}

# -- parts -----------------------------------------------------------------------------------


def _sum_over_shares(solved: list[Solution], units: Sequence[Array] = ()) -> Solution:
    """Return what all shares of columns apart say together, all equally likely before.

    What is chosen is told of the most probable one, with precisions times ``units`` (D,), column by column.
    """
    if len(solved) == 1:
        return solved[0]
    logs = np.array([one.log_evidence for one in solved])
    shares, best = np.exp(log_softmax(logs)), int(np.argmax(logs))
    kept = np.flatnonzero(shares > _RARE_SHARE)
    weights = shares[kept] / shares[kept].sum()
    log_evidence = float(log_sum_exp(logs) - np.log(len(solved)))
    grids = [grid for k in kept if (grid := solved[k].grid) is not None]
    alpha = solved[best].prior_precision
    return solved[best]._replace(
        belief=join_beliefs([solved[k].belief for k in kept], weights),
        log_evidence=log_evidence,
        prior_precision=alpha * units[best] if units else alpha,
        grid=join_grids(grids, weights, log_evidence) if grids else None,
    )


def _spectrum(statistics: RegressionStatistics, prior: SettledPrior, scales: Array) -> Spectrum:
    return decompose(statistics, prior.given.mean, scales, prior.intercept)


def _noisy_spectrum(
    statistics: RegressionStatistics, prior: SettledPrior, scales: Array
) -> tuple[Spectrum, bool]:
    """Return the spectrum, with a floor under the noise where the columns fit the targets perfectly.

    Without it the evidence may have no maximum there. Where columns are so many that they would fit
    any targets, the floor is the prior's: the evidence is multiplied by exp(−b₀/σ²), with the scale
    b₀ of the noise. The last value tells whether a floor was needed.
    """
    spectrum = _spectrum(statistics, prior, scales)
    total = spectrum.rest + float(spectrum.projections @ spectrum.projections)
    if not total > 0:
        raise ValueError(
            f"the targets have no spread for noise to explain (n_samples={statistics.rows:g}); "
            "give noise_precision=, or integrate with hyperparameters='grid'"
        )
    length = np.sqrt(spectrum.squares)
    seen = exceeds_rounding(length, length.max(initial=0.0))
    if spectrum.rest + float((spectrum.projections[~seen] ** 2).sum()) > _NOISE_FLOOR * total:
        return spectrum, False
    if seen.sum() + (prior.intercept is not None) >= spectrum.rows:  # any targets are fitted
        return spectrum._replace(rest=2.0 * prior.noise_scale), True
    warnings.warn(
        "the columns fit the targets perfectly, and the evidence grows as the noise vanishes: it is "
        f"kept above {np.sqrt(_NOISE_FLOOR):.0e} of the targets' size. Give noise_precision=, or "
        "integrate with hyperparameters='grid'.",
        ConvergenceWarning,
        stacklevel=6,
    )
    return spectrum._replace(rest=_NOISE_FLOOR * total), True


def _with_unseen(belief: LinearBelief, scales: Array, ratios: Array) -> LinearBelief:
    """Return a belief that keeps the prior of λ in directions that fewer rows than columns leave open."""
    if belief.directions.shape[1] == len(scales):
        return belief
    return replace(belief, unseen=OpenDirections(scales, ratios))


def _require_determined(told: Array) -> None:
    """Refuse a posterior that is flat in some direction: of what data and prior tell, (K, D)."""
    lengths, d = column_norms(told), told.shape[1]
    values = np.linalg.svd(told / np.where(lengths > 0, lengths, 1.0), compute_uv=False)
    rank = int(exceeds_rounding(values, values.max(initial=0.0)).sum())
    if rank < d:
        raise ValueError(
            f"prior_precision is flat where the data say nothing: they determine {rank} of "
            f"{d} weights; give every weight a positive prior precision"
        )


def _require_noise(
    statistics: RegressionStatistics, prior: LinearPrior, shape: float, scale: float
) -> None:
    """Refuse a posterior of the noise that a flat prior leaves improper: no residuals tell of it."""
    remedy = "give noise_shape= and noise_scale=, noise_precision=, or a positive prior_precision"
    if not shape > 0:
        weights = statistics.n_inputs + prior.fit_intercept
        raise ValueError(
            f"prior_precision is flat, and {statistics.rows:g} rows leave nothing to tell the noise "
            f"from beside {weights} weights; give more rows, or {remedy}"
        )
    size = statistics.scales[-1] * np.sqrt(statistics.weight)
    if prior.is_flat and prior.noise_scale is None and not exceeds_rounding(np.sqrt(scale), size):
        raise ValueError(
            "prior_precision is flat, and the columns fit the targets perfectly: nothing is left to "
            f"tell the noise from; {remedy}"
        )
