"""The passes over hidden Markov chains, entry by entry, to run plain or compiled.

Scaled probabilities where they are exact, else log space. Each function fills the arrays it is
given; where a step is impossible its number is returned, else −1.
"""

from __future__ import annotations

import math

from posteriori.numerics.compilation import compilable, largest, logarithm, matrix, numbers
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "best_path",
    "draw_paths",
    "log_backward",
    "log_forward",
    "log_sum",
    "scaled_backward",
    "scaled_forward",
    "take_out_maxima",
]

#: Sums of weights below this come near the end of the range of float64.
_SMALL = 1e-200
#: Makes 0/0 a 0, and is lost beside every weight of a state that is possible.
_GUARD = 1e-305
_NEVER = -math.inf


@compilable
def take_out_maxima(likelihood: Array, weights: Array, tops: Array) -> None:
    """Fill ln ℓ_t(k) − max_k ln ℓ_t(k) and the maxima (B, T); a row of −inf stays as it is."""
    for b in range(len(likelihood)):
        for t in range(len(likelihood[b])):
            tops[b][t] = _subtract_top(likelihood[b][t], weights[b][t])


@compilable
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
            for t in range(starts[s] + 1, starts[s + 1]):
                step = t - 1 if len(transition) > 1 else 0
                moves, before = transition[step], filtered[b][t - 1]
                predicted, alpha = predictions[b][t], filtered[b][t]
                for k in range(n_states):
                    predicted[k] = before[0] * moves[0][k]
                for j in range(1, n_states):
                    for k in range(n_states):
                        predicted[k] = predicted[k] + before[j] * moves[j][k]  # pₖ = Σⱼ αⱼAⱼₖ
                total = 0.0
                for k in range(n_states):
                    alpha[k] = alpha[k] * predicted[k]  # α = ℓ Σⱼ αⱼAⱼₖ
                    total = total + alpha[k]
                if largest(-total) > -_SMALL:
                    return t
                for k in range(n_states):
                    alpha[k] = alpha[k] / total
                log_evidence[b][s] = log_evidence[b][s] + (
                    logarithm(total) + (tops[b][t] + transition_tops[step])
                )
    return -1


@compilable
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
    reach, turned, sums = numbers(n_states), matrix(n_states, n_states), matrix(n_states, n_states)
    _transpose(transition[0], turned)
    for b in range(len(filtered)):
        for s in range(len(starts) - 1):
            count = counts[s]
            for t in range(starts[s + 1] - 2, starts[s] - 1, -1):
                if varying:
                    _transpose(transition[t], turned)
                here, after, predicted = filtered[b][t], filtered[b][t + 1], predictions[b][t + 1]
                for j in range(n_states):
                    reach[j] = 0.0
                for k in range(n_states):
                    if largest(after[k]) == 0.0:
                        continue
                    ratio = after[k] / (predicted[k] + _GUARD)  # γₖ/pₖ
                    for j in range(n_states):
                        reach[j] = reach[j] + ratio * turned[k][j]
                    if varying or keep:
                        for j in range(n_states):
                            pair = here[j] * turned[k][j] * ratio
                            pair_sums[b][j][k] = pair_sums[b][j][k] + count * pair
                            if keep:
                                pair_probabilities[b][t][j][k] = pair
                    else:
                        ratio = ratio * count
                        for j in range(n_states):
                            sums[k][j] = sums[k][j] + ratio * here[j]
                for j in range(n_states):
                    here[j] = here[j] * reach[j]  # γⱼ = αⱼ Σₖ Aⱼₖ γₖ/pₖ
        for k in range(n_states):
            for j in range(n_states):
                if not (varying or keep):
                    pair_sums[b][j][k] = sums[k][j] * turned[k][j]
                sums[k][j] = 0.0


@compilable
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
                    _log_advance(filtered[b][t - 1], transition[step], predicted)
                top = _subtract_top(likelihood[b][t], alpha)
                for k in range(len(initial)):  # ln α = ln Σⱼ αⱼAⱼₖ + ln ℓ
                    alpha[k] += initial[k] if first else predicted[k]
                total = log_sum(alpha)
                if total == _NEVER:
                    return t
                for k in range(len(initial)):
                    alpha[k] -= total
                log_evidence[b][s] += total + top
    return -1


@compilable
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
                _log_advance(here, moves, predicted)
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


@compilable
def best_path(
    starts: IntArray,
    initial: Array,
    transition: Array,
    likelihood: Array,
    states: IntArray,
    log_joint: Array,
    scores: Array,
) -> int:
    """Fill the paths (B, N) and their log joint probabilities (B, S)."""
    for b in range(len(likelihood)):
        for s in range(len(starts) - 1):
            for t in range(starts[s], starts[s + 1]):
                score = scores[t - starts[s]]
                if t == starts[s]:
                    for k in range(len(initial)):
                        score[k] = initial[k]
                else:
                    step = t - 1 if len(transition) > 1 else 0
                    _best_advance(scores[t - starts[s] - 1], transition[step], score)
                top = _add_and_subtract_top(likelihood[b][t], score)
                if top == _NEVER:
                    return t
                log_joint[b][s] += top
            _follow_back(transition, scores, starts[s], starts[s + 1] - 1, states[b])
    return -1


@compilable
def draw_paths(
    starts: IntArray, transition: Array, filtered: Array, uniforms: Array, states: IntArray
) -> None:
    """Fill paths (S, B, N) from uniform numbers of the same shape, last step first."""
    for draw in range(len(states)):
        for b in range(len(states[draw])):
            for s in range(len(starts) - 1):
                _draw_path(
                    transition,
                    filtered[b],
                    uniforms[draw][b],
                    starts[s],
                    starts[s + 1] - 1,
                    states[draw][b],
                )


@compilable
def _draw_path(
    transition: Array, filtered: Array, uniforms: Array, first: int, last: int, path: IntArray
) -> None:
    n_states = len(transition[0])
    weights = numbers(n_states)
    for t in range(last, first - 1, -1):
        here, moves = filtered[t], transition[t if len(transition) > 1 and t < last else 0]
        top = _NEVER
        for k in range(n_states):  # αⱼAⱼₖ for the k drawn before
            weights[k] = here[k] + moves[k][path[t + 1]] if t < last else here[k]
            top = weights[k] if weights[k] > top else top
        total = 0.0
        for k in range(n_states):
            total += math.exp(weights[k] - top)
            weights[k] = total
        target, drawn = uniforms[t] * total, 0
        while weights[drawn] <= target:
            drawn += 1
        path[t] = drawn


@compilable
def _subtract_top(likelihood: Array, result: Array) -> float:
    """Fill ln ℓ_k − max ln ℓ; return the maximum, which would swallow digits of probabilities."""
    top = _NEVER
    for k in range(len(likelihood)):
        top = likelihood[k] if likelihood[k] > top else top
    if top == _NEVER:
        top = 0.0
    for k in range(len(likelihood)):
        result[k] = likelihood[k] - top
    return top


@compilable
def _best_advance(before: Array, moves: Array, score: Array) -> None:
    """Fill maxⱼ (δⱼ + ln Aⱼₖ)."""
    n_states = len(before)
    for k in range(n_states):
        score[k] = before[0] + moves[0][k]
    for j in range(1, n_states):
        for k in range(n_states):
            value = before[j] + moves[j][k]
            score[k] = value if value > score[k] else score[k]


@compilable
def _add_and_subtract_top(likelihood: Array, score: Array) -> float:
    """Add ln ℓ and take out the largest score, which is returned."""
    top = _NEVER
    for k in range(len(score)):
        score[k] += likelihood[k]
        top = score[k] if score[k] > top else top
    if top > _NEVER:
        for k in range(len(score)):
            score[k] -= top
    return top


@compilable
def _follow_back(transition: Array, scores: Array, first: int, last: int, path: IntArray) -> None:
    """Fill the path that led to the best score; of equals, the lower state."""
    for t in range(last, first - 1, -1):
        score, moves = scores[t - first], transition[t if len(transition) > 1 and t < last else 0]
        best, top = 0, _NEVER
        for j in range(len(score)):
            value = score[j] + moves[j][path[t + 1]] if t < last else score[j]
            if value > top:
                best, top = j, value
        path[t] = best


@compilable
def _log_advance(weights: Array, moves: Array, result: Array) -> None:
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


@compilable
def log_sum(x: Array) -> float:
    """Return ln Σ exp xₖ."""
    top, total = _NEVER, 0.0
    for k in range(len(x)):
        top = x[k] if x[k] > top else top
    if top == _NEVER:
        return top
    for k in range(len(x)):
        total += math.exp(x[k] - top)
    return top + math.log(total)


@compilable
def _transpose(a: Array, result: Array) -> None:
    for j in range(len(a)):
        for k in range(len(a)):
            result[k][j] = a[j][k]
