"""Long hidden Markov chains in compiled loops; imported on first use, as Numba is heavy.

Scaled probabilities where they are exact, else log space. Each function fills the arrays it is
given; where a step is impossible its number is returned, else −1.
"""

from __future__ import annotations

import math

import numpy as np

from posteriori.numerics.compilation import compiled
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "UNDERFLOW",
    "best_path",
    "draw_paths",
    "log_backward",
    "log_forward",
    "scaled_backward",
    "scaled_forward",
    "take_out_maxima",
]

#: Returned where a possible state came near the end of the range of float64.
UNDERFLOW = -2
#: Times the smallest weight of a transition, 1e-100, this is still a number.
_TINY = 1e-190
_SMALL = 1e-200
_NEVER = -math.inf


@compiled
def take_out_maxima(likelihood: Array, weights: Array, tops: Array) -> None:
    """Fill ln ℓ_t(k) − max_k ln ℓ_t(k) and the maxima (B, T); a row of −inf stays as it is."""
    n_series, n_steps, n_states = likelihood.shape
    for b in range(n_series):
        for t in range(n_steps):
            top = likelihood[b, t, 0]
            for k in range(1, n_states):
                top = max(top, likelihood[b, t, k])
            if top == _NEVER:
                top = 0.0
            tops[b, t] = top
            for k in range(n_states):
                weights[b, t, k] = likelihood[b, t, k] - top


@compiled
def scaled_forward(
    initial: Array,
    transition: Array,
    transition_tops: Array,
    likelihood: Array,
    forbidden: bool,
    tops: Array,
    filtered: Array,
    predictions: Array,
    log_evidence: Array,
) -> int:
    """Turn exp(ln ℓ − max) into P(z_t | y_1, …, y_t), in place; keep Σⱼ αⱼAⱼₖ of each step."""
    n_series, n_steps, n_states = filtered.shape
    for b in range(n_series):
        start = _first_step(initial, likelihood[b, 0], filtered[b, 0])
        if start == _NEVER:
            return 0
        for k in range(n_states):
            possible = initial[k] > _NEVER and likelihood[b, 0, k] > _NEVER
            if forbidden and possible and filtered[b, 0, k] < _TINY:
                return UNDERFLOW
        total_log = start
        for t in range(1, n_steps):
            step = t - 1 if len(transition) > 1 else 0
            predicted, before, matrix = predictions[b, t], filtered[b, t - 1], transition[step]
            for k in range(n_states):
                predicted[k] = before[0] * matrix[0, k]
            for j in range(1, n_states):
                for k in range(n_states):  # pₖ = Σⱼ αⱼAⱼₖ
                    predicted[k] += before[j] * matrix[j, k]
            total = 0.0
            for k in range(n_states):
                filtered[b, t, k] *= predicted[k]  # α = ℓ Σⱼ αⱼAⱼₖ
                total += filtered[b, t, k]
            top = tops[b, t]
            if total < _SMALL:  # the likeliest states are impossible: measure by the others
                top = _NEVER
                for k in range(n_states):
                    if predicted[k] > 0.0:
                        top = max(top, likelihood[b, t, k])
                if top == _NEVER:
                    return t
                total = 0.0
                for k in range(n_states):
                    value = 0.0
                    if predicted[k] > 0.0:
                        value = predicted[k] * math.exp(likelihood[b, t, k] - top)
                    filtered[b, t, k] = value
                    total += value
                if total < _TINY:
                    return UNDERFLOW
            for k in range(n_states):
                filtered[b, t, k] /= total
            if forbidden:
                for k in range(n_states):
                    lost = filtered[b, t, k] < _TINY and likelihood[b, t, k] > _NEVER
                    if lost and predicted[k] > 0.0:
                        return UNDERFLOW
            total_log += math.log(total) + (top + transition_tops[step])
        log_evidence[b] = total_log
    return -1


@compiled
def scaled_backward(
    transition: Array,
    filtered: Array,
    predictions: Array,
    pair_sums: Array,
    pair_probabilities: Array,
) -> None:
    """Turn P(z_t | y_1, …, y_t) into P(z_t | y), in place; add up pairs."""
    n_series, n_steps, n_states = filtered.shape
    varying = len(transition) > 1
    keep = pair_probabilities.shape[1] > 0
    reach, turned = np.empty(n_states), transition[0].T.copy()
    sums = np.empty((n_states, n_states))
    for b in range(n_series):
        sums[:] = 0.0
        for t in range(n_steps - 2, -1, -1):
            step = t if varying else 0
            if varying:
                turned[:] = transition[step].T
            reach[:] = 0.0
            for k in range(n_states):
                after = filtered[b, t + 1, k]
                if after == 0.0:
                    continue
                ratio = after / predictions[b, t + 1, k]  # γₖ/pₖ
                if varying or keep:
                    for j in range(n_states):
                        pair = filtered[b, t, j] * turned[k, j] * ratio
                        pair_sums[b, j, k] += pair
                        if keep:
                            pair_probabilities[b, t, j, k] = pair
                for j in range(n_states):
                    reach[j] += ratio * turned[k, j]
                    sums[k, j] += ratio * filtered[b, t, j]
            for j in range(n_states):
                filtered[b, t, j] *= reach[j]  # γⱼ = αⱼ Σₖ Aⱼₖ γₖ/pₖ
        if not (varying or keep):
            for j in range(n_states):
                for k in range(n_states):
                    pair_sums[b, j, k] = sums[k, j] * transition[0, j, k]


@compiled
def log_forward(
    initial: Array, transition: Array, likelihood: Array, filtered: Array, log_evidence: Array
) -> int:
    """Fill ln P(z_t | y_1, …, y_t) (B, T, K) and the log evidence (B,)."""
    n_series, n_steps, n_states = likelihood.shape
    predicted = np.empty(n_states)
    for b in range(n_series):
        for t in range(n_steps):
            if t == 0:
                predicted[:] = initial
            else:
                step = t - 1 if len(transition) > 1 else 0
                _log_advance(filtered[b, t - 1], transition[step], predicted)
            top = _add_likelihood(predicted, likelihood[b, t], filtered[b, t])
            total = _log_sum(filtered[b, t])
            if total == _NEVER:
                return t
            for k in range(n_states):
                filtered[b, t, k] -= total
            log_evidence[b] += total + top
    return -1


@compiled
def log_backward(
    transition: Array, filtered: Array, pair_sums: Array, pair_probabilities: Array
) -> None:
    """Turn ln P(z_t | y_1, …, y_t) into P(z_t | y), in place; add up pairs."""
    n_series, n_steps, n_states = filtered.shape
    keep = pair_probabilities.shape[1] > 0
    predicted, ratio, after = np.empty(n_states), np.empty(n_states), np.empty(n_states)
    joint = np.empty(n_states)
    for b in range(n_series):
        for k in range(n_states):
            after[k] = filtered[b, n_steps - 1, k]
            filtered[b, n_steps - 1, k] = math.exp(after[k])
        for t in range(n_steps - 2, -1, -1):
            step = t if len(transition) > 1 else 0
            _log_advance(filtered[b, t], transition[step], predicted)
            for k in range(n_states):
                ratio[k] = after[k] - predicted[k] if after[k] > _NEVER else _NEVER
            for j in range(n_states):
                for k in range(n_states):
                    joint[k] = filtered[b, t, j] + transition[step, j, k] + ratio[k]
                    pair = math.exp(joint[k])
                    pair_sums[b, j, k] += pair
                    if keep:
                        pair_probabilities[b, t, j, k] = pair
                after[j] = _log_sum(joint)
            for j in range(n_states):
                filtered[b, t, j] = math.exp(after[j])


@compiled
def best_path(
    initial: Array,
    transition: Array,
    likelihood: Array,
    states: IntArray,
    log_joint: Array,
    scores: Array,
) -> int:
    """Fill the paths (B, T) and their log joint probabilities (B,)."""
    n_series, n_steps, n_states = likelihood.shape
    for b in range(n_series):
        for t in range(n_steps):
            score = scores[t]
            if t == 0:
                score[:] = initial
            else:
                before, weights = scores[t - 1], transition[t - 1 if len(transition) > 1 else 0]
                for k in range(n_states):
                    score[k] = before[0] + weights[0, k]
                for j in range(1, n_states):
                    for k in range(n_states):  # maxⱼ (δⱼ + ln Aⱼₖ)
                        value = before[j] + weights[j, k]
                        score[k] = value if value > score[k] else score[k]
            top = _NEVER
            for k in range(n_states):
                score[k] += likelihood[b, t, k]
                top = score[k] if score[k] > top else top
            if top == _NEVER:
                return t
            for k in range(n_states):
                score[k] -= top
            log_joint[b] += top
        for t in range(n_steps - 1, -1, -1):
            step = t if len(transition) > 1 else 0
            best, top = 0, _NEVER
            for j in range(n_states):
                value = scores[t, j]
                if t < n_steps - 1:
                    value += transition[step, j, states[b, t + 1]]
                if value > top:
                    best, top = j, value
            states[b, t] = best
    return -1


@compiled
def draw_paths(transition: Array, filtered: Array, uniforms: Array, states: IntArray) -> None:
    """Fill paths (S, B, T) from uniform numbers of the same shape, last step first."""
    n_draws, n_series, n_steps = states.shape
    n_states = filtered.shape[2]
    weights = np.empty(n_states)
    for s in range(n_draws):
        for b in range(n_series):
            for t in range(n_steps - 1, -1, -1):
                step = t if len(transition) > 1 else 0
                top = _NEVER
                for k in range(n_states):
                    weights[k] = filtered[b, t, k]
                    if t < n_steps - 1:
                        weights[k] += transition[step, k, states[s, b, t + 1]]
                    top = max(top, weights[k])
                total = 0.0
                for k in range(n_states):
                    total += math.exp(weights[k] - top)
                    weights[k] = total
                target = uniforms[s, b, t] * total
                drawn = 0
                while weights[drawn] <= target:
                    drawn += 1
                states[s, b, t] = drawn


@compiled
def _first_step(initial: Array, likelihood: Array, filtered: Array) -> float:
    """Fill P(z_1 | y_1); return ln p(y_1)."""
    top = _add_likelihood(initial, likelihood, filtered)
    total = _log_sum(filtered)
    if total > _NEVER:
        for k in range(len(initial)):
            filtered[k] = math.exp(filtered[k] - total)
    return total + top


@compiled
def _add_likelihood(predicted: Array, likelihood: Array, joint: Array) -> float:
    """Fill ln p_k + ln ℓ_k − max ln ℓ; return the maximum, which would swallow digits of p."""
    top = _NEVER
    for k in range(len(predicted)):
        top = max(top, likelihood[k])
    if top == _NEVER:
        top = 0.0
    for k in range(len(predicted)):
        joint[k] = predicted[k] + (likelihood[k] - top)
    return top


@compiled
def _log_advance(weights: Array, matrix: Array, result: Array) -> None:
    """Fill ln Σⱼ exp(wⱼ + Mⱼₖ)."""
    n_states = len(weights)
    for k in range(n_states):
        top = _NEVER
        for j in range(n_states):
            top = max(top, weights[j] + matrix[j, k])
        total = 0.0
        if top > _NEVER:
            for j in range(n_states):
                total += math.exp(weights[j] + matrix[j, k] - top)
            result[k] = top + math.log(total)
        else:
            result[k] = _NEVER


@compiled
def _log_sum(x: Array) -> float:
    top = _NEVER
    for k in range(len(x)):
        top = max(top, x[k])
    if top == _NEVER:
        return top
    total = 0.0
    for k in range(len(x)):
        total += math.exp(x[k] - top)
    return top + math.log(total)
