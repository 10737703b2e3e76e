r"""Nonlinear systems by assumed density filters: extended, unscented and cubature.

After every step the belief is the normal of its moments,

.. math:: s_1 \sim N(m_0, P_0),\quad s_t = f(s_{t-1}) + N(0, Q),\quad y_t = g(s_t) + N(0, R).

Of a belief with covariance :math:`SS^\top` and a function h a rule gives the mean of :math:`h(s)` and
deviations :math:`E, D` with :math:`\mathrm{Cov}\,h(s) \approx EE^\top` and :math:`\mathrm{Cov}(s, h(s))
\approx DE^\top`. Then predictions, updates and reversed steps are one regression of
:math:`[D, 0]` on :math:`[E, N^{1/2}]`, whose residuals are the square root of what is left.

The linear filters take their matrices at once; here those of a step are known when its belief is, from functions
of the user. The regressions keep square roots, so that no covariance is a difference.

References: Särkkä and Svensson, Bayesian Filtering and Smoothing (2023), chapters 8, 9 and 14;
Julier and Uhlmann (1997) for the unscented rule, Arasaratnam and Haykin (2009) for cubature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from posteriori.inference.chains.chain_forecast import ChainForecast
from posteriori.inference.chains.linear_gaussian_chain import ChainPosterior, FilteredChain
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "StateBelief",
    "NonlinearChain",
    "Spread",
    "filter_nonlinear",
    "linearized",
    "predict_nonlinear",
    "sigma_points",
    "smooth_nonlinear",
]


class StateBelief(NamedTuple):
    """A normal by its mean (D,) and any S (D, D) with SSᵀ its covariance."""

    mean: Array
    factor: Array

    @property
    def cov(self) -> Array:
        """Its covariance."""
        return np.asarray(self.factor @ self.factor.T)

    @classmethod
    def from_moments(cls, mean: Array, cov: Array) -> StateBelief:
        """Return the belief with a covariance that may be singular."""
        return cls(mean, _semidefinite_root(cov))


class Spread(NamedTuple):
    """What a function makes of a normal: its mean, deviations E of its values and D of its arguments."""

    mean: Array
    values: Array
    arguments: Array


#: From a belief, what a function makes of it.
Rule = Callable[[StateBelief], Spread]


class NonlinearChain(NamedTuple):
    """A nonlinear system.

    Attributes
    ----------
    initial : StateBelief
        About the first state.
    transition, emission : callables
        What f and g make of a belief: :func:`linearized` or :func:`sigma_points`.
    transition_factor, emission_cov : (D, D) and (P, P)
        Square root of Q, and R.
    """

    initial: StateBelief
    transition: Rule
    transition_factor: Array
    emission: Rule
    emission_cov: Array


class _Reversal(NamedTuple):
    """The belief about s given s' or y, as a function of it: mean + G(s' − m'), rest."""

    predicted: StateBelief
    gain: Array
    rest: Array


def linearized(function: Callable[[Array], Array], slope: Callable[[Array], Array]) -> Rule:
    """Return the rule that puts the tangent at the mean in place of a function (extended filter)."""

    def spread(belief: StateBelief) -> Spread:
        return Spread(
            function(belief.mean), slope(belief.mean) @ belief.factor, belief.factor
        )  # E = J S

    return spread


def sigma_points(function: Callable[[Array], Array], centre: float) -> Rule:
    """Return the rule of points m and m ± √(D + κ) Sᵢ with weights κ/(D + κ) and 1/2(D + κ).

    With κ = 0 (cubature) means of cubic functions are exact; κ = 3 − D (unscented) also has the fourth
    moments of each direction, where D ≤ 3.
    """

    def spread(belief: StateBelief) -> Spread:
        mean, factor = belief
        reach = len(mean) + centre
        steps = np.sqrt(reach) * factor.T
        points, weights = np.concatenate([mean + steps, mean - steps]), np.full(2 * len(mean), 0.5)
        if centre > 0.0:
            points, weights = np.vstack([points, mean]), np.append(weights, centre)
        weights = weights / reach
        values = np.stack([function(point) for point in points])
        middle, roots = weights @ values, np.sqrt(weights)[:, None]
        return Spread(middle, (roots * (values - middle)).T, (roots * (points - mean)).T)

    return spread


def filter_nonlinear(
    chain: NonlinearChain, y: Array, start: StateBelief | None = None
) -> FilteredChain:
    """Return moments of each state given the observations (T, P) up to it; NaN is missing.

    ``start`` is the belief about the state before the first observation, where there is one.
    """
    beliefs, log_predictive = [], np.zeros(len(y))
    belief = start
    for t, row in enumerate(y):
        ahead = chain.initial if belief is None else _reverse_transition(chain, belief).predicted
        belief, log_predictive[t] = _absorb(chain, ahead, row, t)
        beliefs.append(belief)
    mean = np.stack([b.mean for b in beliefs])
    cov = np.stack([b.cov for b in beliefs])
    return FilteredChain(mean, cov, log_predictive, log_predictive.sum())


def smooth_nonlinear(chain: NonlinearChain, y: Array) -> ChainPosterior:
    """Return moments of each state, and of neighbours, given all observations (T, P)."""
    beliefs: list[StateBelief] = []
    steps: list[_Reversal] = []
    log_evidence = np.float64(0.0)
    for t, row in enumerate(y):
        if t:
            steps.append(_reverse_transition(chain, beliefs[-1]))
        found, log_density = _absorb(chain, steps[-1].predicted if t else chain.initial, row, t)
        beliefs.append(found)
        log_evidence += log_density
    size = len(chain.initial.mean)
    mean, cov = np.stack([b.mean for b in beliefs]), np.empty((len(y), size, size))
    cross = np.empty((len(y) - 1, size, size))
    cov[-1] = beliefs[-1].cov
    for t in range(len(y) - 2, -1, -1):
        step = steps[t]
        mean[t] += step.gain @ (mean[t + 1] - step.predicted.mean)  # m + G(m_{t+1|T} − m⁻)
        cross[t] = cov[t + 1] @ step.gain.T
        cov[t] = step.rest @ step.rest.T + step.gain @ cross[t]  # Σ + G V Gᵀ
    return ChainPosterior(mean, cov, cross, np.asarray(log_evidence))


def predict_nonlinear(chain: NonlinearChain, belief: StateBelief, horizon: int) -> ChainForecast:
    """Return moments of states and observations 1, …, ``horizon`` after a belief about the last state."""
    states, seen = [], []
    for _ in range(horizon):
        belief = _reverse_transition(chain, belief).predicted
        found = chain.emission(belief)
        states.append((belief.mean, belief.cov))
        seen.append((found.mean, found.values @ found.values.T + chain.emission_cov))
    moments = (np.stack(part) for pairs in (states, seen) for part in zip(*pairs, strict=True))
    return ChainForecast(*moments)


def _reverse_transition(chain: NonlinearChain, belief: StateBelief) -> _Reversal:
    return _reverse(chain.transition(belief), chain.transition_factor)


def _absorb(
    chain: NonlinearChain, ahead: StateBelief, row: Array, t: int
) -> tuple[StateBelief, float]:
    """Return the belief after an observation, and ln p(y_t | …)."""
    seen = ~np.isnan(row)
    if not seen.any():
        return ahead, 0.0
    found = chain.emission(ahead)
    noise = _semidefinite_root(chain.emission_cov[np.ix_(seen, seen)])
    step = _reverse(Spread(found.mean[seen], found.values[seen], found.arguments), noise)
    surprise = row[seen] - step.predicted.mean
    root = step.predicted.factor
    scale = np.abs(np.diagonal(root))
    if not scale.min() > 0.0:
        raise ValueError(
            f"the observation at time step {t} has no variance given those before it, so there is no "
            "density; give emission_cov a positive variance"
        )
    standard = np.linalg.solve(root, surprise)
    height = -0.5 * len(surprise) * LOG_2PI - np.log(scale).sum()
    after = StateBelief(ahead.mean + step.gain @ surprise, step.rest)
    return after, float(height - 0.5 * standard @ standard)


def _reverse(spread: Spread, noise: Array) -> _Reversal:
    """Regress the argument on the value: G = Cov(s, s') Cov(s')⁻¹, residuals are what is left."""
    values = np.concatenate([spread.values, noise], axis=1)
    arguments = np.concatenate(
        [spread.arguments, np.zeros((len(spread.arguments), noise.shape[1]))], axis=1
    )
    gain = np.linalg.lstsq(values.T, arguments.T, rcond=None)[0].T
    predicted = StateBelief(spread.mean, _triangular(values))
    return _Reversal(predicted, gain, _triangular(arguments - gain @ values))


def _triangular(factor: Array) -> Array:
    """Return lower-triangular L (D, D) with LLᵀ = SSᵀ."""
    return np.asarray(np.linalg.qr(factor.T, mode="r")).T


def _semidefinite_root(cov: Array) -> Array:
    values, vectors = np.linalg.eigh(cov)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
