r"""Passes over chains with explicit run lengths, entry by entry, to run plain or compiled.

With :math:`e_t(j, d)` the log weight of all ways in which row t is the d-th of a run of state j,

.. math:: e_t(j, 1) = s_t(j) + \ln\ell_t(j),\qquad e_t(j, d) = e_{t-1}(j, d-1) + \ln\ell_t(j),

runs that end after row t weigh :math:`E_t(j) = \ln\sum_d e^{e_t(j, d)} p_j(d)`, and those that start
with the next one :math:`s_{t+1}(k) = \ln\sum_j e^{E_t(j)} A_{jk}`. Maxima in place of the sums give
the best path. All in log space; what would grow with t is taken out of the rows.
"""

from __future__ import annotations

import math

from posteriori.inference.state_chains.hidden_markov_recursions import (
    largest_of,
    log_advance,
    log_sum,
    subtract_top,
)
from posteriori.inference.state_chains.path_recursions import best_advance, draw_code
from posteriori.numerics.compilation import kernel, numbers
from posteriori.numerics.types import Array, IntArray

__all__ = ["runs_backward", "runs_forward", "runs_trace"]

_NEVER = -math.inf
#: exp of less is lost beside 1.
_LOST = -50.0


@kernel(plain=True)
def runs_forward(
    starts: IntArray,
    initial: Array,
    transition: Array,
    durations: Array,
    survivals: Array,
    maximum: bool,
    rows: Array,
    elapsed: Array,
    begun: Array,
    ended: Array,
    filtered: Array,
    taken_out: Array,
    totals: Array,
) -> int:
    """Fill s_t and E_t (N, K), and ln p(y) as what was taken out of the rows and the rest, (S,).

    Where ``filtered`` has rows, also ln P(z_t | y_1, …, y_t). ``elapsed`` (K, longest) is e of the
    row before the first, and then of the last. Returns a row at which no run is possible, or −1.
    """
    n_states, keep, alive = len(initial), len(filtered) > 0, numbers(len(initial))
    for s in range(len(starts) - 1):
        shift = 0.0
        for t in range(starts[s], starts[s + 1]):
            row, new, over = rows[t], begun[t], ended[t]
            if t == starts[s]:
                for k in range(n_states):
                    new[k] = initial[k]
            elif maximum:
                best_advance(ended[t - 1], transition[t - 1 if len(transition) > 1 else 0], new)
            else:
                log_advance(ended[t - 1], transition[t - 1 if len(transition) > 1 else 0], new)
            taken_out[s] += subtract_top(row, row) + shift
            for j in range(n_states):
                row[j] -= shift
                _age(elapsed[j], new[j], row[j], s > 0 and t == starts[s])
                over[j] = _add_up(elapsed[j], durations[j], maximum)
            shift = log_sum(over)
            shift = shift if shift > _NEVER else 0.0
            if keep or t == starts[s + 1] - 1:
                for j in range(n_states):
                    alive[j] = _add_up(elapsed[j], survivals[j], maximum)
                totals[s] = largest_of(alive) if maximum else log_sum(alive)
                if totals[s] == _NEVER:
                    return t
            if keep:
                for j in range(n_states):
                    filtered[t][j] = alive[j] - totals[s]
    return -1


@kernel(plain=True)
def runs_backward(
    starts: IntArray,
    transition: Array,
    durations: Array,
    survivals: Array,
    counts: Array,
    totals: Array,
    rows: Array,
    begun: Array,
    ended: Array,
    probabilities: Array,
    pair_sums: Array,
    run_sums: Array,
    cut_sums: Array,
) -> None:
    """Add up P(z_t | y), and the expected transitions, whole runs and cut ones, by length.

    In ``ended``, E_t is replaced by ln p(rows after t | a run of j ends with row t).
    """
    n_states, terms = len(durations), numbers(len(durations[0]))
    later, joint = numbers(n_states), numbers(n_states)
    for s in range(len(starts) - 1):
        last = starts[s + 1] - 1
        for t in range(last, starts[s] - 1, -1):
            for k in range(n_states):  # ln p(rows from t on | a run of k starts with row t)
                later[k] = _go_on(rows, ended, durations[k], survivals[k], k, t, last, terms)
                mass = math.exp(begun[t][k] + later[k] - totals[s]) if later[k] > _NEVER else 0.0
                covered = 0.0  # P(a run of k that starts here reaches row t + d | y)
                for d in range(min(len(terms), last - t + 1) - 1, -1, -1):
                    share = terms[d] * mass
                    covered += share
                    probabilities[t + d][k] += covered
                    if t + d < last:
                        run_sums[k][d] += counts[s] * share
                    else:
                        cut_sums[k][d] += counts[s] * share
            if t > starts[s]:
                moves, before = transition[t - 1 if len(transition) > 1 else 0], ended[t - 1]
                for j in range(n_states):
                    for k in range(n_states):
                        joint[k] = moves[j][k] + later[k]
                        pair_sums[j][k] += counts[s] * math.exp(before[j] + joint[k] - totals[s])
                    before[j] = log_sum(joint)


@kernel(plain=True)
def runs_trace(
    starts: IntArray,
    transition: Array,
    durations: Array,
    survivals: Array,
    maximum: bool,
    rows: Array,
    begun: Array,
    ended: Array,
    uniforms: Array,
    states: IntArray,
) -> None:
    """Fill paths (S, N), run by run from the end: drawn by uniforms (S, 2, N), or the best."""
    n_states, terms = len(durations), numbers(len(durations[0]))
    weights = numbers(n_states)
    for draw in range(len(states)):
        for s in range(len(starts) - 1):
            first, end, after = starts[s], starts[s + 1] - 1, -1
            while end >= first:
                for j in range(n_states):
                    if after < 0:  # the last run is cut
                        _come_from(rows, begun, survivals[j], j, first, end, terms)
                        weights[j] = largest_of(terms) if maximum else log_sum(terms)
                    else:
                        moves = transition[end if len(transition) > 1 else 0]
                        weights[j] = ended[end][j] + moves[j][after]
                state = _choose(weights, uniforms[draw][0][end], maximum)
                lengths = survivals[state] if after < 0 else durations[state]
                _come_from(rows, begun, lengths, state, first, end, terms)
                length = _choose(terms, uniforms[draw][1][end], maximum) + 1
                for t in range(end - length + 1, end + 1):
                    states[draw][t] = state
                end, after = end - length, state


@kernel(plain=True)
def _age(line: Array, new: float, weight: float, forget: bool) -> None:
    """Let every run be one row older, and new ones start."""
    if forget:
        for d in range(len(line)):
            line[d] = _NEVER
    for d in range(len(line) - 1, 0, -1):
        line[d] = line[d - 1] + weight
    line[0] = new + weight


@kernel(plain=True)
def _add_up(line: Array, lengths: Array, maximum: bool) -> float:
    """Return ln Σ_d exp(line_d + lengths_d), or the largest."""
    top, total = _NEVER, 0.0
    for d in range(len(line)):
        value = line[d] + lengths[d]
        top = value if value > top else top
    if maximum or top == _NEVER:
        return top
    for d in range(len(line)):
        value = line[d] + lengths[d] - top
        if value > _LOST:
            total += math.exp(value)
    return top + math.log(total)


@kernel(plain=True)
def _go_on(
    rows: Array,
    after: Array,
    durations: Array,
    survivals: Array,
    state: int,
    first: int,
    last: int,
    terms: Array,
) -> float:
    """Return ln p(rows from ``first`` on | a run starts there); fill its shares by length."""
    reach, weight, top, total = min(len(terms), last - first + 1), 0.0, _NEVER, 0.0
    for d in range(reach):
        t = first + d
        weight += rows[t][state]
        terms[d] = weight + (durations[d] + after[t][state] if t < last else survivals[d])
        top = terms[d] if terms[d] > top else top
    for d in range(reach):
        value = terms[d] - top if top > _NEVER else _NEVER
        terms[d] = math.exp(value) if value > _LOST else 0.0
        total += terms[d]
    if top == _NEVER:
        return top
    for d in range(reach):
        terms[d] /= total
    return top + math.log(total)


@kernel(plain=True)
def _come_from(
    rows: Array, begun: Array, lengths: Array, state: int, first: int, end: int, terms: Array
) -> None:
    """Fill the log weights of runs of a state that end with row ``end``, by their lengths."""
    weight = 0.0
    for d in range(len(terms)):
        t = end - d
        if t < first:
            terms[d] = _NEVER
        else:
            weight += rows[t][state]
            terms[d] = begun[t][state] + weight + lengths[d]


@kernel(plain=True)
def _choose(weights: Array, uniform: float, maximum: bool) -> int:
    """Return the first of the largest weights, or one drawn by them."""
    if not maximum:
        return draw_code(weights, uniform)
    best = 0
    for k in range(len(weights)):
        best = k if weights[k] > weights[best] else best
    return best
