"""Long linear-Gaussian chains in compiled loops; imported on first use, as Numba is heavy.

The steps are those of ``chain_steps``, written entry by entry. Square roots wait in the array that
the smoother turns into covariances, so that nothing is held beside the answer.
"""

from __future__ import annotations

import math

import numpy as np

from posteriori.inference.chains.square_root_kernels import (
    condition_all,
    decorrelate,
    is_close,
    propagate,
    reverse_step,
    smooth_cov,
    spread_noise,
    square,
    take_root,
)
from posteriori.inference.chains.two_word_kernels import find_innovation, step_mean, two_sum
from posteriori.numerics.compilation import compiled
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "draw_backward",
    "filter_forward",
    "simulate_forward",
    "smooth_backward",
    "square_factors",
]


@compiled
def filter_forward(
    y: Array,
    initial_mean: Array,
    initial_factor: Array,
    transition: Array,
    transition_offset: Array,
    transition_factor: Array,
    emission: Array,
    emission_offset: Array,
    emission_cov: Array,
    in_two_words: bool,
    means: Array,
    factors: Array,
    repeated: Array,
    log_predictive: Array,
    low: Array,
) -> tuple[int, float]:
    """Fill the last five arrays; return the step that has no density (or −1) and cancellation."""
    n_series, n_steps, n_outputs = y.shape
    size = initial_mean.shape[0]
    constant = (
        len(transition) == 1
        and len(transition_factor) == 1
        and len(emission) == 1
        and len(emission_cov) == 1
    )
    hi, lo = np.empty((n_series, size)), np.zeros((n_series, size))
    new_hi, new_lo = np.empty(size), np.empty(size)
    for b in range(n_series):
        hi[b] = initial_mean
    factor = initial_factor.copy()
    sources, sizes = np.empty((2 * size, size)), np.empty(2 * size)
    cov, kept = np.empty((size, size)), np.zeros((size, size))
    observed = np.zeros(n_outputs, dtype=np.int64)
    lower, noise = np.zeros((n_outputs, n_outputs)), np.empty(n_outputs)
    rows, gains = np.empty((n_outputs, size)), np.empty((n_outputs, size))
    variances, halves = np.empty(n_outputs), np.empty(n_outputs)
    innovation, shift, reach = np.empty(n_outputs), np.empty(size), np.empty(size)
    count, seen, due, steady = -1, 0, 1, False
    cancellation = 0.0
    for t in range(n_steps):
        here = t if len(emission) > 1 else 0
        offset_here = t if len(emission_offset) > 1 else 0
        changed = _find_observed(y, t, observed, count)
        if changed >= 0:
            count, seen, due, steady = changed, 0, 1, False
        repeated[t] = steady
        if not steady:
            if t > 0:
                step = t - 1 if len(transition) > 1 else 0
                step_noise = t - 1 if len(transition_factor) > 1 else 0
                propagate(factor, transition[step], transition_factor[step_noise], sources, sizes)
            if changed >= 0 or len(emission) > 1 or len(emission_cov) > 1:
                cov_here = t if len(emission_cov) > 1 else 0
                decorrelate(
                    emission[here], emission_cov[cov_here], observed, count, lower, noise, rows
                )
            known = condition_all(factor, rows, noise, count, gains, variances, reach)
            if known:
                return t, cancellation
            for i in range(count):
                halves[i] = -0.5 * (LOG_2PI + math.log(variances[i]))
            seen += 1
            if constant and seen == due:
                square(factor, cov)
                steady = seen > 1 and is_close(cov, kept)
                kept[:] = cov
                due = 2 * seen
        factors[t] = factor
        for b in range(n_series):
            if t > 0:
                step = t - 1 if len(transition) > 1 else 0
                offset = t - 1 if len(transition_offset) > 1 else 0
                step_mean(
                    transition[step],
                    transition_offset[offset],
                    hi[b],
                    lo[b],
                    in_two_words,
                    new_hi,
                    new_lo,
                )
            log_density = 0.0
            for k in range(size):
                shift[k] = 0.0
            for i in range(count):
                p = observed[i]
                innovation[i] = find_innovation(
                    y[b, t, p],
                    emission_offset[offset_here, p],
                    emission[here, p],
                    hi[b],
                    lo[b],
                    in_two_words,
                )
                size_of_terms = abs(y[b, t, p])
                for k in range(size):
                    size_of_terms += abs(emission[here, p, k] * hi[b, k])
                if size_of_terms * size_of_terms > cancellation * variances[i]:
                    cancellation = size_of_terms * size_of_terms / variances[i]
                for j in range(i):
                    innovation[i] -= lower[i, j] * innovation[j]
            for i in range(count):
                surprise = innovation[i]
                for k in range(size):
                    surprise -= rows[i, k] * shift[k]
                for k in range(size):
                    shift[k] += gains[i, k] * surprise
                log_density += halves[i] - 0.5 * surprise * surprise / variances[i]
            log_predictive[b, t] = log_density
            for k in range(size):
                total = lo[b, k] + shift[k]
                if in_two_words:
                    hi[b, k], lo[b, k] = two_sum(hi[b, k], total)
                    low[b, t, k] = lo[b, k]
                else:
                    hi[b, k] += total
                means[b, t, k] = hi[b, k]
    return -1, math.sqrt(cancellation)


@compiled
def smooth_backward(
    transition: Array,
    transition_offset: Array,
    transition_factor: Array,
    means: Array,
    low: Array,
    factors: Array,
    repeated: Array,
    cross: Array,
) -> None:
    """Turn filtered means and square roots into smoothed means and covariances, in place."""
    n_series, n_steps, size = means.shape
    pairs = len(cross) > 0
    sources, sizes = np.empty((2 * size, 2 * size)), np.empty(2 * size)
    gain, rest = np.empty((size, size)), np.empty((size, size))
    pivots = np.empty(size, dtype=np.int64)
    cov, kept, reach = np.empty((size, size)), np.empty((size, size)), np.empty((size, size))
    in_two_words = low.shape[1] > 0
    hi, lo, ahead = np.empty(size), np.zeros(size), np.empty(size)
    new_hi, new_lo = np.empty(size), np.empty(size)
    square(factors[n_steps - 1], cov)
    seen, due, steady, same_next = 0, 1, False, False
    for t in range(n_steps - 2, -1, -1):
        step = t if len(transition) > 1 else 0
        if not same_next:
            step_noise = t if len(transition_factor) > 1 else 0
            reverse_step(
                factors[t],
                transition[step],
                transition_factor[step_noise],
                sources,
                sizes,
                pivots,
                gain,
                rest,
            )
            seen, due, steady = 0, 1, False
        same_next = repeated[t]  # the square root of t − 1 is that of t
        factors[t + 1] = cov
        if not steady:
            smooth_cov(gain, rest, cov, reach)
            seen += 1
            if seen == due:
                steady = seen > 1 and is_close(cov, kept)
                kept[:] = cov
                due = 2 * seen
        if pairs:
            for i in range(size):
                for j in range(size):
                    cross[t, i, j] = reach[j, i]
        offset = t if len(transition_offset) > 1 else 0
        for b in range(n_series):
            hi[:] = means[b, t]
            if in_two_words:
                lo[:] = low[b, t]
            step_mean(
                transition[step], transition_offset[offset], hi, lo, in_two_words, new_hi, new_lo
            )
            for i in range(size):
                ahead[i] = means[b, t + 1, i] - hi[i]
                if in_two_words:
                    ahead[i] += low[b, t + 1, i] - lo[i]
            for i in range(size):
                shift = 0.0
                for k in range(size):
                    shift += gain[i, k] * ahead[k]
                if in_two_words:
                    means[b, t, i], low[b, t, i] = two_sum(means[b, t, i], low[b, t, i] + shift)
                else:
                    means[b, t, i] += shift
    factors[0] = cov


@compiled
def draw_backward(
    transition: Array,
    transition_offset: Array,
    transition_factor: Array,
    means: Array,
    factors: Array,
    repeated: Array,
    states: Array,
) -> None:
    """Turn standard normals (S, B, T, D) into draws of the states, in place."""
    n_draws, n_series, n_steps, size = states.shape
    sources, sizes = np.empty((2 * size, 2 * size)), np.empty(2 * size)
    gain, rest = np.empty((size, size)), np.empty((size, size))
    pivots = np.empty(size, dtype=np.int64)
    ahead, drawn = np.empty(size), np.empty(size)
    for s in range(n_draws):
        for b in range(n_series):
            spread_noise(factors[n_steps - 1], states[s, b, n_steps - 1], drawn)
            for i in range(size):
                states[s, b, n_steps - 1, i] = means[b, n_steps - 1, i] + drawn[i]
    same_next = False
    for t in range(n_steps - 2, -1, -1):
        step = t if len(transition) > 1 else 0
        if not same_next:
            step_noise = t if len(transition_factor) > 1 else 0
            reverse_step(
                factors[t],
                transition[step],
                transition_factor[step_noise],
                sources,
                sizes,
                pivots,
                gain,
                rest,
            )
            take_root(rest, sources)
        same_next = repeated[t]
        offset = t if len(transition_offset) > 1 else 0
        for b in range(n_series):
            for s in range(n_draws):
                for i in range(size):
                    predicted = transition_offset[offset, i]
                    for k in range(size):
                        predicted += transition[step, i, k] * means[b, t, k]
                    ahead[i] = states[s, b, t + 1, i] - predicted
                spread_noise(rest, states[s, b, t], drawn)
                for i in range(size):
                    value = means[b, t, i] + drawn[i]
                    for k in range(size):
                        value += gain[i, k] * ahead[k]
                    states[s, b, t, i] = value


@compiled
def simulate_forward(
    initial_mean: Array,
    initial_factor: Array,
    transition: Array,
    transition_offset: Array,
    transition_factor: Array,
    states: Array,
) -> None:
    """Turn standard normals (S, T, D) into trajectories of the prior, in place."""
    n_draws, n_steps, size = states.shape
    drawn = np.empty(size)
    for s in range(n_draws):
        spread_noise(initial_factor, states[s, 0], drawn)
        for i in range(size):
            states[s, 0, i] = initial_mean[i] + drawn[i]
        for t in range(1, n_steps):
            step = t - 1 if len(transition) > 1 else 0
            offset = t - 1 if len(transition_offset) > 1 else 0
            step_noise = t - 1 if len(transition_factor) > 1 else 0
            spread_noise(transition_factor[step_noise], states[s, t], drawn)
            for i in range(size):
                value = transition_offset[offset, i] + drawn[i]
                for k in range(size):
                    value += transition[step, i, k] * states[s, t - 1, k]
                states[s, t, i] = value


@compiled
def square_factors(factors: Array) -> None:
    """Replace each square root S by the covariance SSᵀ."""
    cov = np.empty(factors.shape[1:])
    for t in range(len(factors)):
        square(factors[t], cov)
        factors[t] = cov


@compiled
def _find_observed(y: Array, t: int, observed: IntArray, count: int) -> int:
    """List the entries seen at step t; return their number, or −1 if they are those of before."""
    found, same = 0, True
    for p in range(y.shape[2]):
        if not math.isnan(y[0, t, p]):
            if found >= count or observed[found] != p:
                same = False
                observed[found] = p
            found += 1
    return -1 if same and found == count else found
