"""Short linear-Gaussian chains, a step at a time in NumPy.

The compiled loops of ``chain_kernels`` do the same for long chains; this file spares a short one
the import of a compiler. Both walk over the covariances once for all series that miss the same
entries, and stop updating them once they no longer change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.chains.chain_arguments import ChainArrays
from posteriori.inference.chains.square_root import (
    Reversal,
    condition_scalar,
    decorrelate,
    propagate,
    reverse_step,
)
from posteriori.inference.chains.two_word import TwoWord, affine, renormalize
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["Filtered", "draw_backward", "filter_forward", "simulate_forward", "smooth_backward"]

#: Covariances are steady once they differ by less than this part of the variances from those of
#: half as many steps ago.
STEADY_TOLERANCE = 1e-14
#: Innovations this many times smaller than their terms are computed again in two words.
CANCELLATION = 1e4
#: A noise-free value whose variance is this part of what it was made of was known already.
KNOWN_TOLERANCE = 1e-29


class Filtered(NamedTuple):
    """Means (B, T, D), square roots (T, D, D), whether each repeats the one before, ln p(y_t|…).

    ``low`` (B, T, D) holds second words of the means; it has no steps where one was enough.
    """

    mean: Array
    factor: Array
    repeated: Array
    log_predictive: Array
    low: Array


class _Update(NamedTuple):
    """What the observed entries of one step do to a mean; the entries decorrelated by ``lower``."""

    observed: Array
    lower: Array
    rows: Array
    gains: Array
    variances: Array


class _Steady:
    """Notices when a covariance stops changing: compared at 1, 2, 4, 8, … steps."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.count, self.due, self.kept, self.reached = 0, 1, np.zeros((0, 0)), False

    def look(self, cov: Array) -> None:
        self.count += 1
        if self.count < self.due or self.reached:
            return
        spread = np.sqrt(np.diagonal(cov))
        if self.kept.size:
            close = np.abs(cov - self.kept) <= STEADY_TOLERANCE * np.outer(spread, spread)
            self.reached = bool(np.all(close))
        self.kept, self.due = cov, 2 * self.count


def filter_forward(chain: ChainArrays, y: Array) -> Filtered:
    """Pass over series (B, T, P) that miss the same entries."""
    factors, updates, repeated = _filter_covariances(chain, np.isnan(y[0]))
    mean, log_predictive, cancellation = _filter_means(chain, y, updates)
    low = mean[:, :0]
    if cancellation > CANCELLATION:
        mean, low, log_predictive = _filter_means_in_two_words(chain, y, updates)
    return Filtered(mean, factors, repeated, log_predictive, low)


def smooth_backward(
    chain: ChainArrays, filtered: Filtered, pairs: bool
) -> tuple[Array, Array, Array | None]:
    """Turn filtered into smoothed moments: mean (B, T, D), cov (T, D, D), pairs (T − 1, D, D)."""
    mean, low, n_steps = filtered.mean.copy(), filtered.low.copy(), len(filtered.factor)
    cov = np.empty_like(filtered.factor)
    cross = np.empty_like(cov[1:]) if pairs else None
    cov[-1] = filtered.factor[-1] @ filtered.factor[-1].T
    reversal = None
    for t in range(n_steps - 2, -1, -1):
        reversal = _reversal_at(chain, filtered, t, reversal)
        gain = reversal.gain
        _smooth_mean(chain, t, gain, mean, low)
        reach = gain @ cov[t + 1]
        cov[t] = reversal.factor @ reversal.factor.T + reach @ gain.T  # V = Σ + G V_{t+1} Gᵀ
        cov[t] = 0.5 * (cov[t] + cov[t].T)
        if cross is not None:
            cross[t] = reach.T  # Cov(s_{t+1}, s_t) = V_{t+1} Gᵀ
    return mean, cov, cross


def _smooth_mean(chain: ChainArrays, t: int, gain: Array, mean: Array, low: Array) -> None:
    """Turn the filtered mean of step t into the smoothed one, m_{t|T} = m_t + G(m_{t+1|T} − m⁻)."""
    if not low.size:
        mean[:, t] += (mean[:, t + 1] - _step_mean(chain, t, mean[:, t])) @ gain.T
        return
    here = TwoWord(mean[:, t], low[:, t])
    moved = affine(_at(chain.transition, t), here, _at(chain.transition_offset, t))
    ahead = (mean[:, t + 1] - moved.hi) + (low[:, t + 1] - moved.lo)
    mean[:, t], low[:, t] = renormalize(TwoWord(here.hi, here.lo + ahead @ gain.T))


def draw_backward(chain: ChainArrays, filtered: Filtered, noise: Array) -> Array:
    """Turn standard normals (S, B, T, D) into draws of the states, in place."""
    noise[:, :, -1] = filtered.mean[:, -1] + noise[:, :, -1] @ filtered.factor[-1].T
    reversal = None
    for t in range(len(filtered.factor) - 2, -1, -1):
        reversal = _reversal_at(chain, filtered, t, reversal)
        ahead = noise[:, :, t + 1] - _step_mean(chain, t, filtered.mean[:, t])
        spread = noise[:, :, t] @ reversal.factor.T
        noise[:, :, t] = filtered.mean[:, t] + ahead @ reversal.gain.T + spread
    return noise


def simulate_forward(chain: ChainArrays, states: Array) -> Array:
    """Turn standard normals (S, T, D) into trajectories of the prior, in place."""
    states[:, 0] = chain.initial_mean + states[:, 0] @ chain.initial_factor.T
    for t in range(1, states.shape[1]):
        spread = states[:, t] @ _at(chain.transition_factor, t - 1).T
        states[:, t] = _step_mean(chain, t - 1, states[:, t - 1]) + spread
    return states


def _filter_covariances(chain: ChainArrays, missing: Array) -> tuple[Array, list[_Update], Array]:
    n_steps, size = len(missing), len(chain.initial_mean)
    factors = np.empty((n_steps, size, size))
    repeated = np.zeros(n_steps, dtype=np.bool_)
    updates: list[_Update] = []
    steady, constant = _Steady(), chain.is_constant
    factor = chain.initial_factor
    for t in range(n_steps):
        if t and not np.array_equal(missing[t], missing[t - 1]):
            steady.restart()
        if steady.reached:
            repeated[t] = True
            updates.append(updates[-1])
        else:
            if t:
                noise = _at(chain.transition_factor, t - 1)
                factor = propagate(factor, _at(chain.transition, t - 1), noise)
            factor, update = _condition(chain, t, factor, np.flatnonzero(~missing[t]))
            updates.append(update)
            if constant:
                steady.look(factor @ factor.T)
        factors[t] = factor
    return factors, updates, repeated


def _condition(chain: ChainArrays, t: int, factor: Array, observed: Array) -> tuple[Array, _Update]:
    """Condition on the observed entries one at a time, after making their noise independent."""
    size, count = len(factor), len(observed)
    lower, noise = decorrelate(_at(chain.emission_cov, t)[np.ix_(observed, observed)])
    rows = (
        np.linalg.solve(lower, _at(chain.emission, t)[observed]) if count else np.empty((0, size))
    )
    gains, variances = np.empty((count, size)), np.empty(count)
    made_of = np.abs(rows) @ np.abs(factor)
    for i in range(count):
        factor, gains[i], variances[i] = condition_scalar(factor, rows[i], float(noise[i]))
        known = variances[i] <= KNOWN_TOLERANCE * float(made_of[i] @ made_of[i])
        if noise[i] == 0.0 and known:
            raise_known_already(t)
    return factor, _Update(observed, lower, rows, gains, variances)


def raise_known_already(t: int) -> None:
    """Refuse a noise-free observation of something that has no variance left."""
    raise ValueError(
        f"the observation at time step {t} has no variance given those before it, so there is no "
        "density; give emission_cov a positive variance, or leave the redundant entry out"
    )


def _filter_means(
    chain: ChainArrays, y: Array, updates: list[_Update]
) -> tuple[Array, Array, float]:
    n_series, n_steps = y.shape[:2]
    means = np.empty((n_series, n_steps, len(chain.initial_mean)))
    log_predictive = np.zeros((n_series, n_steps))
    mean = np.broadcast_to(chain.initial_mean, means[:, 0].shape)
    cancellation = 0.0
    for t, update in enumerate(updates):
        if t:
            mean = _step_mean(chain, t - 1, mean)
        if len(update.observed):
            seen, rows = update.observed, _at(chain.emission, t)[update.observed]
            innovation = (y[:, t, seen] - _at(chain.emission_offset, t)[seen]) - mean @ rows.T
            terms = np.abs(y[:, t, seen]) + np.abs(mean) @ np.abs(rows).T
            cancellation = max(cancellation, float((terms / np.sqrt(update.variances)).max()))
            shift, log_predictive[:, t] = _absorb(update, innovation)
            mean = mean + shift
        means[:, t] = mean
    return means, log_predictive, cancellation


def _filter_means_in_two_words(
    chain: ChainArrays, y: Array, updates: list[_Update]
) -> tuple[Array, Array, Array]:
    n_series, n_steps = y.shape[:2]
    means = np.empty((n_series, n_steps, len(chain.initial_mean)))
    lows = np.empty_like(means)
    log_predictive = np.zeros((n_series, n_steps))
    start = np.broadcast_to(chain.initial_mean, means[:, 0].shape)
    mean = TwoWord(start, np.zeros_like(start))
    for t, update in enumerate(updates):
        if t:
            offset = _at(chain.transition_offset, t - 1)
            mean = renormalize(affine(_at(chain.transition, t - 1), mean, offset))
        if len(update.observed):
            seen = update.observed
            rows, offset = _at(chain.emission, t)[seen], _at(chain.emission_offset, t)[seen]
            image = affine(rows, mean, offset)
            shift, log_predictive[:, t] = _absorb(update, (y[:, t, seen] - image.hi) - image.lo)
            mean = renormalize(TwoWord(mean.hi, mean.lo + shift))
        means[:, t], lows[:, t] = mean
    return means, lows, log_predictive


def _absorb(update: _Update, innovation: Array) -> tuple[Array, Array]:
    """Return what the innovations (B, P) add to the means, and their log densities."""
    innovation = np.linalg.solve(update.lower, innovation.T).T
    shift = np.zeros((len(innovation), update.rows.shape[1]))
    log_density = np.full(len(innovation), -0.5 * len(update.rows) * LOG_2PI)
    for i, variance in enumerate(update.variances):
        surprise = innovation[:, i] - shift @ update.rows[i]
        shift += surprise[:, None] * update.gains[i]  # m ← m + k e
        log_density -= 0.5 * (np.log(variance) + surprise * surprise / variance)  # ln N(e; 0, v)
    return shift, log_density


def _reversal_at(
    chain: ChainArrays, filtered: Filtered, t: int, following: Reversal | None
) -> Reversal:
    if following is not None and filtered.repeated[t + 1]:
        return following
    noise = _at(chain.transition_factor, t)
    return reverse_step(filtered.factor[t], _at(chain.transition, t), noise)


def _step_mean(chain: ChainArrays, t: int, mean: Array) -> Array:
    return mean @ _at(chain.transition, t).T + _at(chain.transition_offset, t)


def _at(a: Array, t: int) -> Array:
    return a[t] if len(a) > 1 else a[0]
