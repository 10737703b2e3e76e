"""Paths through hidden Markov chains, entry by entry, to run plain or compiled: best ones, draws.

Each function fills the arrays it is given. Where no path is possible, the row at which that shows is
returned, else −1.
"""

from __future__ import annotations

import math

from posteriori.inference.state_chains.hidden_markov_recursions import largest_of, subtract_top
from posteriori.numerics.compilation import integers, kernel, matrix, numbers
from posteriori.numerics.types import Array, IntArray

__all__ = ["best_advance", "best_path", "best_paths", "draw_code", "draw_paths", "score_path"]

_NEVER = -math.inf
#: Scores lose their largest after so many steps: sums of so few lose no digits.
_RARELY = 32


@kernel(plain=True)
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
            first, last = starts[s], starts[s + 1] - 1
            top = score_path(initial, transition, likelihood[b], first, last, scores)
            if top == _NEVER:
                return last
            log_joint[b][s] = top
            _follow_back(transition, scores, first, last, states[b])
    return -1


@kernel(plain=True)
def score_path(
    initial: Array, transition: Array, likelihood: Array, first: int, last: int, scores: Array
) -> float:
    """Fill δ_t(k), the best of all paths to k, up to a number for each step; return the best."""
    log_joint = 0.0
    for begin in range(first, last + 1, _RARELY):
        end = min(begin + _RARELY, last + 1)
        for t in range(begin, end):
            score, weights = scores[t - first], likelihood[t]
            if t == first:
                for k in range(len(initial)):
                    score[k] = initial[k]
            else:
                step = t - 1 if len(transition) > 1 else 0
                best_advance(scores[t - first - 1], transition[step], score)
            for k in range(len(initial)):
                score[k] = score[k] + weights[k]  # δₖ = ln ℓₖ + maxⱼ (δⱼ + ln Aⱼₖ)
        score = scores[end - 1 - first]
        log_joint += subtract_top(score, score)
        if largest_of(score) == _NEVER:
            return _NEVER
    return log_joint


@kernel(plain=True)
def best_paths(
    initial: Array,
    transition: Array,
    likelihood: Array,
    pointers: IntArray,
    states: IntArray,
    log_joint: Array,
) -> int:
    """Fill paths (n, T), best first, and their log joint probabilities; return how many there are.

    The r-th best path to state k at step t has its state and rank at step t − 1 in
    ``pointers[t][k][r]``, as state · n + rank.
    """
    n_states, n_paths, taken_out = len(initial), len(states), 0.0
    before, score = matrix(n_states, n_paths), matrix(n_states, n_paths)
    arriving = numbers(n_states)
    for t in range(len(likelihood)):
        top = _NEVER
        for k in range(n_states):
            if t == 0:
                for r in range(n_paths):
                    score[k][r] = initial[k] if r == 0 else _NEVER
            else:
                moves = transition[t - 1 if len(transition) > 1 else 0]
                for j in range(n_states):
                    arriving[j] = moves[j][k]
                _merge(before, arriving, score[k], pointers[t][k])
            for r in range(n_paths):
                score[k][r] += likelihood[t][k]
            top = score[k][0] if score[k][0] > top else top
        if top == _NEVER:
            return 0
        taken_out += top
        for k in range(n_states):
            for r in range(n_paths):
                before[k][r] = score[k][r] - top
    for j in range(n_states):
        arriving[j] = 0.0
    ends = integers(n_paths)
    _merge(before, arriving, log_joint, ends)
    return _trace_back(pointers, ends, taken_out, states, log_joint)


@kernel(plain=True)
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


@kernel(plain=True)
def _draw_path(
    transition: Array, filtered: Array, uniforms: Array, first: int, last: int, path: IntArray
) -> None:
    n_states = len(transition[0])
    weights = numbers(n_states)
    for t in range(last, first - 1, -1):
        here, moves = filtered[t], transition[t if len(transition) > 1 and t < last else 0]
        for k in range(n_states):  # αⱼAⱼₖ for the k drawn before
            weights[k] = here[k] + moves[k][path[t + 1]] if t < last else here[k]
        path[t] = draw_code(weights, uniforms[t])


@kernel(plain=True)
def draw_code(weights: Array, uniform: float) -> int:
    """Return a number drawn with probabilities ∝ exp(weights), which are overwritten."""
    top, total = largest_of(weights), 0.0
    for k in range(len(weights)):
        total += math.exp(weights[k] - top)
        weights[k] = total
    target, drawn = uniform * total, 0
    while weights[drawn] <= target:
        drawn += 1
    return drawn


@kernel(plain=True)
def best_advance(before: Array, moves: Array, score: Array) -> None:
    """Fill maxⱼ (δⱼ + ln Aⱼₖ), many rows at a time: a pass over the scores costs more than maxima."""
    n_states = len(before)
    for j in range(0, n_states - 7, 8):
        p, q, r, s = before[j], before[j + 1], before[j + 2], before[j + 3]
        e, f, g, h = moves[j], moves[j + 1], moves[j + 2], moves[j + 3]
        w, x, y, z = before[j + 4], before[j + 5], before[j + 6], before[j + 7]
        a, b, c, d = moves[j + 4], moves[j + 5], moves[j + 6], moves[j + 7]
        for k in range(n_states):
            low = _larger(_larger(p + e[k], q + f[k]), _larger(r + g[k], s + h[k]))
            high = _larger(_larger(w + a[k], x + b[k]), _larger(y + c[k], z + d[k]))
            score[k] = _larger(low, high) if j == 0 else _larger(score[k], _larger(low, high))
    for j in range(n_states - n_states % 8, n_states - 3, 4):
        w, x, y, z = before[j], before[j + 1], before[j + 2], before[j + 3]
        a, b, c, d = moves[j], moves[j + 1], moves[j + 2], moves[j + 3]
        for k in range(n_states):
            best = _larger(_larger(w + a[k], x + b[k]), _larger(y + c[k], z + d[k]))
            score[k] = best if j == 0 else _larger(score[k], best)
    for j in range(n_states - n_states % 4, n_states):
        w, a = before[j], moves[j]
        for k in range(n_states):
            score[k] = w + a[k] if j == 0 else _larger(score[k], w + a[k])


@kernel(plain=True)
def _larger(a: float, b: float) -> float:
    return b if b > a else a


@kernel(plain=True)
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


@kernel(plain=True)
def _merge(before: Array, moves: Array, best: Array, pointers: IntArray) -> None:
    """Fill the n best of sorted lists (K, n), each list moved by one number; −1 beyond the last."""
    n_states, n_paths = len(before), len(best)
    heads = integers(n_states)
    for r in range(n_paths):
        best[r], pointers[r], chosen = _NEVER, -1, -1
        for j in range(n_states):
            if heads[j] < n_paths:
                value = before[j][heads[j]] + moves[j]
                if value > best[r]:
                    best[r], chosen = value, j
        if chosen >= 0:
            pointers[r] = chosen * n_paths + heads[chosen]
            heads[chosen] += 1


@kernel(plain=True)
def _trace_back(
    pointers: IntArray, ends: IntArray, taken_out: float, states: IntArray, log_joint: Array
) -> int:
    """Fill the paths that end at ``ends`` and add what was taken out of their scores."""
    n_paths, found = len(states), 0
    for r in range(n_paths):
        code = ends[r]
        if code < 0:
            continue
        found += 1
        log_joint[r] += taken_out
        for t in range(len(pointers) - 1, -1, -1):
            states[r][t] = code // n_paths
            code = pointers[t][code // n_paths][code % n_paths]
    return found
