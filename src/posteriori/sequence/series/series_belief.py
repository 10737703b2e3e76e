"""What is believed of a structural series: weighted draws of its scales, each with a last state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.inference.series.mode_draws import (
    ModeDraws,
    climb_to_peak,
    draw_around_peaks,
    next_peak,
)
from posteriori.inference.series.scalar_chain import NO_ENTRIES, ScalarChain
from posteriori.inference.series.scalar_draws import FilteredDraws, filter_draws
from posteriori.numerics.lazy import optimize, special
from posteriori.numerics.logspace import log_softmax, log_sum_exp
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_problem import (
    KNOWN_SCALE,
    SeriesProblem,
    running_log_prob,
)

__all__ = [
    "Learned",
    "SeriesBelief",
    "believe",
    "continue_belief",
    "find_most_likely",
    "later_chain",
    "predict_values",
]

#: Logarithms of ratios of variances are looked for within this.
_WIDEST_RATIO = 30.0
#: Of the draws, those from the prior; a quarter of all once a series is so long that Laplace's method
#: alone would do.
_BEFORE, _LONG = 0.25, 20_000
#: An error of the evidence, times the root of the draws, above this asks for draws around a further place,
#: up to so many.
_ROUGH, _MOST_PEAKS = 3.0, 4
#: With fewer draws, speed is asked for: they stay around one place.
_MANY = 200
#: Numbers that draws are filtered to at a time.
_MOST_NUMBERS = 1_000_000
#: Draws with less than this share of the weight of the heaviest are left out.
_FAINT = 1e-6


class SeriesBelief(NamedTuple):
    """Weighted draws.

    Attributes
    ----------
    thetas : (K, ·)
        Log ratios of variances, and numbers that are no scales.
    variances : (K, 1 + P)
        Of noise and parts, in units of the common scale.
    log_weights : (K,)
        Normalised.
    means, covs : (K, D), (K, D, D)
        Of the last state, the covariance in units of the common scale.
    shape, rates : float, (K,)
        The common scale σ² is inverse-gamma; if the shape is infinite, it is the rate.
    """

    thetas: Array
    variances: Array
    log_weights: Array
    means: Array
    covs: Array
    shape: float
    rates: Array

    @property
    def known_scale(self) -> bool:
        """Whether the common scale is known."""
        return self.shape == KNOWN_SCALE

    @property
    def mean_scales(self) -> Array:
        """E[σ] of each draw, (K,)."""
        if self.known_scale:
            return np.sqrt(self.rates)
        gammas = special.gammaln(self.shape - 0.5) - special.gammaln(self.shape)
        return np.sqrt(self.rates) * np.exp(gammas)

    @property
    def mean_squares(self) -> Array:
        """E[σ²] of each draw, (K,)."""
        return self.rates if self.known_scale else self.rates / (self.shape - 1.0)

    def draw_scales(self, k: int, count: int, rng: np.random.Generator) -> Array:
        """Return values of σ for a draw, (count,)."""
        if self.known_scale:
            return np.full(count, np.sqrt(self.rates[k]))
        return np.sqrt(self.rates[k] / rng.gamma(self.shape, size=count))

    def resample(self, count: int) -> SeriesBelief:
        """Return at most ``count`` draws of equal weights, evenly spaced in the cumulated ones."""
        if len(self.log_weights) <= 1:
            return self
        edges = np.cumsum(np.exp(self.log_weights))
        places = np.searchsorted(edges / edges[-1], (np.arange(count) + 0.5) / count)
        return self.take(places)._replace(log_weights=np.full(count, -np.log(count)))

    def take(self, places: Array) -> SeriesBelief:
        """Return some of the draws."""
        return self._replace(
            thetas=self.thetas[places],
            variances=self.variances[places],
            log_weights=self.log_weights[places],
            means=self.means[places],
            covs=self.covs[places],
            rates=self.rates[places],
        )


class Learned(NamedTuple):
    """A belief, ln p(y_1 … y_t) of every step (T,), and the standard error of its last entry."""

    belief: SeriesBelief
    running: Array
    error: float


def believe(problem: SeriesProblem, draws: int, start: Array | None = None) -> Learned:
    """Return the belief after a series, unknown scales integrated out by so many draws.

    The mode is looked for from ``start`` on, or from what is expected if that is of another form.
    """
    begin = problem.prior.mean
    if len(begin) == 0:
        return _weigh(problem, ModeDraws(begin[None], np.zeros(1)))
    begin = begin if start is None or len(start) != len(begin) else start
    peak = climb_to_peak(problem.log_likelihoods, problem.prior, begin)
    total = draws // 4 if len(problem.y) > _LONG else draws
    counts = total - int(_BEFORE * total), int(_BEFORE * total)
    learned = _weigh(problem, draw_around_peaks([peak], problem.prior, *counts))
    peaks = [peak]
    most = _MOST_PEAKS if draws >= _MANY else 1
    while learned.error * np.sqrt(draws) > _ROUGH and len(peaks) < most:
        known = learned.belief.thetas, np.exp(learned.belief.log_weights)
        peaks.append(next_peak(problem.log_likelihoods, problem.prior, peaks, *known))
        learned = _weigh(problem, draw_around_peaks(peaks, problem.prior, *counts))
    return learned


def find_most_likely(problem: SeriesProblem) -> Learned:
    """Return the belief at the most likely scales, which are then known."""
    theta = problem.prior.mean
    if len(theta):

        def descent(point: Array) -> tuple[float, Array]:
            value, slope = problem.profile_likelihood(point)
            return -value, -slope

        theta = optimize.minimize(
            descent,
            theta,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-_WIDEST_RATIO, _WIDEST_RATIO)] * len(theta),
            options={"ftol": 1e-11, "gtol": 1e-4, "maxiter": 500},
        ).x
    return _believe_at(problem, theta)


def _believe_at(problem: SeriesProblem, theta: Array) -> Learned:
    """Return the belief given ratios and the most likely common scale, which is then known."""
    done = problem.filter(theta)
    scale = problem.best_scale(done)
    belief = SeriesBelief(
        theta[None],
        problem.variances(theta)[None],
        np.zeros(1),
        done.mean[None],
        done.cov[None],
        KNOWN_SCALE,
        np.array([scale]),
    )
    return Learned(belief, running_log_prob(done, problem.y, KNOWN_SCALE, scale), 0.0)


def continue_belief(problem: SeriesProblem, belief: SeriesBelief) -> tuple[SeriesBelief, Array]:
    """Return the belief after later values, and ln p of them by step.

    ``problem`` holds the later values, behind a gap that stands for the last step before them.
    """
    running, sums, parts = None, [], []
    for here, done in _filter_on(problem, belief):
        rates = belief.rates[here, None]
        terms = belief.log_weights[here, None] + running_log_prob(
            done, problem.y, belief.shape, rates
        )
        running = _add_logs(running, terms)
        sums.append(terms[:, -1])
        parts.append((done.means, done.covs, done.quadratics))
    assert running is not None
    means, covs, quadratics = (np.concatenate(one) for one in zip(*parts, strict=True))
    later = belief._replace(
        log_weights=log_softmax(np.concatenate(sums)),
        means=means,
        covs=covs,
        shape=belief.shape + 0.5 * int((~np.isnan(problem.y)).sum()),
        rates=belief.rates if belief.known_scale else belief.rates + 0.5 * quadratics,
    )
    return later, running


def predict_values(
    problem: SeriesProblem, belief: SeriesBelief, center: float, unit: float, wanted: Array
) -> Any:
    """Return the distributions of later values at the wanted rows, a batch; ``problem`` is as above."""
    made = [
        (d.innovations[:, wanted], d.spreads[:, wanted]) for _, d in _filter_on(problem, belief)
    ]
    ahead, wide = (np.concatenate(one).T for one in zip(*made, strict=True))  # (H, K)
    means, spreads = center - unit * ahead, wide
    single = means.shape[1] == 1
    if single:
        means, spreads = means[:, 0], spreads[:, 0]
    if belief.known_scale:
        members: Any = Normal(means, variance=unit**2 * spreads * belief.rates)
    else:
        scale = unit * np.sqrt(spreads * belief.rates / belief.shape)
        members = StudentT(2.0 * belief.shape, means, scale=scale)
    return members if single else Mixture(np.exp(belief.log_weights), members)


def later_chain(problem: SeriesProblem, belief: SeriesBelief, k: int) -> ScalarChain:
    """Return the chain that goes on from the last state of a draw."""
    return problem.chain(belief.thetas[k])._replace(
        initial_mean=belief.means[k],
        initial_cov=belief.covs[k],
        start=NO_ENTRIES,
        start_parts=np.zeros(0, dtype=np.int64),
        diffuse=np.zeros(len(belief.means[k]), dtype=bool),
    )


def _filter_on(
    problem: SeriesProblem, belief: SeriesBelief
) -> Iterator[tuple[slice, FilteredDraws]]:
    """Filter later values from the last states of all draws, block by block."""
    for here in _blocks(len(belief.log_weights), len(problem.y)):
        chains = problem.chains(belief.thetas[here])
        state = belief.means[here], belief.covs[here]
        yield here, filter_draws(chains, belief.variances[here], problem.y, *state)


def _weigh(problem: SeriesProblem, draws: ModeDraws) -> Learned:
    """Filter the series with each draw; add up ln p(y_1 … y_t) as they come."""
    if problem.diffuse:
        raise ValueError("start values without a prior have no evidence")
    count, running = len(draws.points), None
    variances = problem.variances(draws.points)
    seen, parts = np.empty(count), []
    for here in _blocks(count, len(problem.y)):
        chains = problem.chains(draws.points[here])
        starts = chains.first_states(variances[here])
        done = filter_draws(chains, variances[here], problem.y, *starts)
        terms = draws.log_weights[here, None] + running_log_prob(
            done, problem.y, problem.shape, problem.rate
        )
        running = _add_logs(running, terms)
        seen[here] = terms[:, -1]
        parts.append((done.means, done.covs, done.quadratics))
    assert running is not None
    means, covs, quadratics = (np.concatenate(one) for one in zip(*parts, strict=True))
    places = np.flatnonzero(seen > seen.max() + np.log(_FAINT))
    belief = SeriesBelief(
        draws.points[places],
        variances[places],
        log_softmax(seen[places]),
        means[places],
        covs[places],
        problem.shape + 0.5 * int((~np.isnan(problem.y)).sum()),
        problem.rate + 0.5 * quadratics[places],
    )
    if belief.known_scale:
        belief = belief._replace(rates=np.full(len(places), problem.rate))
    shares = np.exp(seen - running[-1])
    error = float(np.sqrt(((shares - 1.0 / len(shares)) ** 2).sum())) if len(shares) > 1 else 0.0
    return Learned(belief, running, error)


def _blocks(count: int, steps: int) -> Iterator[slice]:
    """Divide draws so that no block holds too many numbers."""
    size = max(1, _MOST_NUMBERS // max(steps, 1))
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def _add_logs(running: Array | None, terms: Array) -> Array:
    """Return ln Σ exp of what was before and of further rows, (T,)."""
    added = np.asarray(log_sum_exp(terms, axis=0))
    return added if running is None else np.logaddexp(running, added)
