"""The passes over hidden Markov chains, entry by entry, to run plain or compiled.

Scaled probabilities where they are exact, else log space. Each function fills the arrays it is
given; where a step is impossible its number is returned, else −1.
"""

from __future__ import annotations

import math

from posteriori.numerics.compilation import kernel, largest, logarithm, matrix, numbers
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "largest_of",
    "log_advance",
    "log_backward",
    "log_forward",
    "log_sum",
    "scaled_backward",
    "scaled_forward",
    "subtract_top",
    "take_out_maxima",
]

#: Sums of weights below this come near the end of the range of float64.
_SMALL = 1e-200
#: Scaling may wait for the next step above this: times 1e-190 and a weight of 1e-100, it is a number.
_MODERATE = 1e-15
#: Makes 0/0 a 0, and is lost beside every weight of a state that is possible.
_GUARD = 1e-305
_NEVER = -math.inf


@kernel(plain=True)
def take_out_maxima(likelihood: Array, weights: Array, tops: Array) -> None:
    """Fill ln ℓ_t(k) − max_k ln ℓ_t(k) and the maxima (B, T); a row of −inf stays as it is."""
    for b in range(len(likelihood)):
        for t in range(len(likelihood[b])):
            tops[b][t] = subtract_top(likelihood[b][t], weights[b][t])


@kernel(plain=True)
def scaled_forward(
    starts: IntArray,
    transition: Array,
    transition_tops: Array,
    tops: Array,
    filtered: Array,
    predictions: Array,
    log_evidence: Array,
) -> int:
    """Turn exp(ln ℓ − max) of all but first steps into P(z_t | y_1, …, y_t), in place.

    Keeps Σⱼ αⱼAⱼₖ of each step; returns one after which the numbers may no longer be trusted.
    """
    n_states = len(transition[0])
    for b in range(len(filtered)):
        for s in range(len(starts) - 1):
            scale, product, logs = 1.0, 1.0, log_evidence[b][s]
            for t in range(starts[s] + 1, starts[s + 1]):
                step = t - 1 if len(transition) > 1 else 0
                before, predicted, alpha = filtered[b][t - 1], predictions[b][t], filtered[b][t]
                _weighted_sum(before, transition[step], predicted)
                total = 0.0
                for k in range(n_states):
                    predicted[k] = predicted[k] * scale  # pₖ = Σⱼ αⱼAⱼₖ
                    before[k] = before[k] * scale
                    alpha[k] = alpha[k] * predicted[k]  # α = ℓ Σⱼ αⱼAⱼₖ
                    total = total + alpha[k]
                if largest(-total) > -_SMALL:
                    return t
                scale = 1.0 / total  # with the next step, which need not wait for it
                if largest(-total) > -_MODERATE:
                    for k in range(n_states):
                        alpha[k] = alpha[k] * scale
                    scale = 1.0
                product = product * total
                logs = logs + (tops[b][t] + transition_tops[step])
                if largest(-product) > -_MODERATE or largest(product) > 1.0 / _MODERATE:
                    logs = logs + logarithm(product)
                    product = 1.0
            last = filtered[b][starts[s + 1] - 1]
            for k in range(n_states):
                last[k] = last[k] * scale
            log_evidence[b][s] = logs + logarithm(product)
    return -1


@kernel(plain=True)
def scaled_backward(
    starts: IntArray,
    transition: Array,
    counts: Array,
    filtered: Array,
    predictions: Array,
    pair_sums: Array,
    pair_probabilities: Array,
) -> None:
    """Turn P(z_t | y_1, …, y_t) into P(z_t | y), in place; add up pairs."""
    n_states, varying = len(transition[0]), len(transition) > 1
    keep = len(pair_probabilities[0]) > 0
    ratio, reach = numbers(n_states), numbers(n_states)
    turned, sums = matrix(n_states, n_states), matrix(n_states, n_states)
    _transpose(transition[0], turned)
    for b in range(len(filtered)):
        for s in range(len(starts) - 1):
            count = counts[s]
            for t in range(starts[s + 1] - 2, starts[s] - 1, -1):
                if varying:
                    _transpose(transition[t], turned)
                here, after, predicted = filtered[b][t], filtered[b][t + 1], predictions[b][t + 1]
                for k in range(n_states):
                    ratio[k] = after[k] / (predicted[k] + _GUARD)  # γₖ/pₖ
                _weighted_sum(ratio, turned, reach)
                if varying or keep:
                    for k in range(n_states):
                        for j in range(n_states):
                            pair = here[j] * turned[k][j] * ratio[k]
                            pair_sums[b][j][k] = pair_sums[b][j][k] + count * pair
                            if keep:
                                pair_probabilities[b][t][j][k] = pair
                else:
                    for k in range(n_states):
                        weight = ratio[k] * count
                        for j in range(n_states):
                            sums[k][j] = sums[k][j] + weight * here[j]
                for j in range(n_states):
                    here[j] = here[j] * reach[j]  # γⱼ = αⱼ Σₖ Aⱼₖ γₖ/pₖ
        for k in range(n_states):
            for j in range(n_states):
                if not (varying or keep):
                    pair_sums[b][j][k] = sums[k][j] * turned[k][j]
                sums[k][j] = 0.0


@kernel(plain=True)
def log_forward(
    starts: IntArray,
    initial: Array,
    transition: Array,
    likelihood: Array,
    filtered: Array,
    log_evidence: Array,
) -> int:
    """Fill ln P(z_t | y_1, …, y_t) (B, N, K) and the log evidence (B, S)."""
    predicted = numbers(len(initial))
    for b in range(len(likelihood)):
        for s in range(len(starts) - 1):
            for t in range(starts[s], starts[s + 1]):
                alpha, first = filtered[b][t], t == starts[s]
                if not first:
                    step = t - 1 if len(transition) > 1 else 0
                    log_advance(filtered[b][t - 1], transition[step], predicted)
                top = subtract_top(likelihood[b][t], alpha)
                for k in range(len(initial)):  # ln α = ln Σⱼ αⱼAⱼₖ + ln ℓ
                    alpha[k] += initial[k] if first else predicted[k]
                total = log_sum(alpha)
                if total == _NEVER:
                    return t
                for k in range(len(initial)):
                    alpha[k] -= total
                log_evidence[b][s] += total + top
    return -1


@kernel(plain=True)
def log_backward(
    starts: IntArray,
    transition: Array,
    counts: Array,
    filtered: Array,
    pair_sums: Array,
    pair_probabilities: Array,
) -> None:
    """Turn ln P(z_t | y_1, …, y_t) into P(z_t | y), in place; add up pairs."""
    n_states, keep = len(transition[0]), len(pair_probabilities[0]) > 0
    predicted, ratio, joint = numbers(n_states), numbers(n_states), numbers(n_states)
    after = numbers(n_states)
    for b in range(len(filtered)):
        for s in range(len(starts) - 1):
            last = filtered[b][starts[s + 1] - 1]
            for k in range(n_states):
                after[k] = last[k]
                last[k] = math.exp(after[k])
            for t in range(starts[s + 1] - 2, starts[s] - 1, -1):
                here, moves = filtered[b][t], transition[t if len(transition) > 1 else 0]
                log_advance(here, moves, predicted)
                for k in range(n_states):
                    ratio[k] = after[k] - predicted[k] if after[k] > _NEVER else _NEVER
                for j in range(n_states):
                    for k in range(n_states):
                        joint[k] = here[j] + moves[j][k] + ratio[k]  # ln αⱼAⱼₖγₖ/pₖ
                        pair = math.exp(joint[k])
                        pair_sums[b][j][k] += counts[s] * pair
                        if keep:
                            pair_probabilities[b][t][j][k] = pair
                    after[j] = log_sum(joint)
                    here[j] = math.exp(after[j])


@kernel(plain=True)
def subtract_top(likelihood: Array, result: Array) -> float:
    """Fill ln ℓ_k − max ln ℓ; return the maximum, which would swallow digits of probabilities."""
    top = largest_of(likelihood)
    if top == _NEVER:
        top = 0.0
    for k in range(len(likelihood)):
        result[k] = likelihood[k] - top
    return top


@kernel(plain=True)
def largest_of(x: Array) -> float:
    """Return the largest number, −inf of none."""
    top = _NEVER
    for k in range(len(x)):
        top = x[k] if x[k] > top else top
    return top


@kernel(plain=True)
def _weighted_sum(weights: Array, rows: Array, result: Array) -> None:
    """Fill Σⱼ wⱼ rowsⱼₖ, four rows at a time: a pass over the result costs more than its sums."""
    n_states = len(weights)
    alone = n_states % 4
    for k in range(n_states):
        result[k] = 0.0
    for j in range(alone):
        for k in range(n_states):
            result[k] = result[k] + weights[j] * rows[j][k]
    for j in range(alone, n_states, 4):
        w, x, y, z = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        a, b, c, d = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
        for k in range(n_states):
            result[k] = result[k] + ((w * a[k] + x * b[k]) + (y * c[k] + z * d[k]))


@kernel(plain=True)
def log_advance(weights: Array, moves: Array, result: Array) -> None:
    """Fill ln Σⱼ exp(wⱼ + Mⱼₖ)."""
    n_states = len(weights)
    for k in range(n_states):
        top, total = _NEVER, 0.0
        for j in range(n_states):
            value = weights[j] + moves[j][k]
            top = value if value > top else top
        if top > _NEVER:
            for j in range(n_states):
                total += math.exp(weights[j] + moves[j][k] - top)
        result[k] = top + math.log(total) if top > _NEVER else _NEVER


@kernel(plain=True)
def log_sum(x: Array) -> float:
    """Return ln Σ exp xₖ."""
    top, total = largest_of(x), 0.0
    if top == _NEVER:
        return top
    for k in range(len(x)):
        total += math.exp(x[k] - top)
    return top + math.log(total)


@kernel(plain=True)
def _transpose(a: Array, result: Array) -> None:
    for j in range(len(a)):
        for k in range(len(a)):
            result[k][j] = a[j][k]
