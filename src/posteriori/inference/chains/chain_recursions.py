"""The passes over a linear-Gaussian chain, entry by entry, to run plain or compiled.

The covariances are walked over once for all series that miss the same entries, and no longer
updated once they have stopped changing. Square roots wait in the array that the smoother turns into
covariances, so that nothing is held beside the answer. Numbers of series may be vectors of them
(see ``posteriori.numerics.compilation.run``): they are replaced, never changed in place.
"""

from __future__ import annotations

from posteriori.inference.chains.chain_arguments import ChainArrays
from posteriori.inference.chains.square_root import (
    Update,
    condition,
    copy_matrix,
    decorrelate,
    dot,
    has_settled,
    is_due,
    make_sources,
    make_update,
    propagate,
    reverse_step,
    smooth_cov,
    square,
    take_root,
)
from posteriori.inference.chains.two_word import affine, find_innovation, step_mean, two_sum
from posteriori.numerics.compilation import kernel, largest, matrix, numbers
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "draw_backward",
    "filter_forward",
    "simulate_forward",
    "smooth_backward",
    "square_factors",
]


@kernel(plain=True)
def filter_forward(
    chain: ChainArrays,
    missing: Array,
    changes: Array,
    in_two_words: bool,
    most_cancelled: float,
    factors: Array,
    repeated: Array,
    y: Array,
    means: Array,
    low: Array,
    log_predictive: Array,
) -> tuple[int, float]:
    """Fill the arrays of results; return the step that has no density (or −1) and cancellation.

    It ends where that exceeds ``most_cancelled``: the means need two words then, from the first on.
    """
    n_steps, n_outputs, size = len(missing), len(missing[0]), len(chain.initial_mean)
    fixed_noise = len(chain.emission) == 1 and len(chain.emission_cov) == 1
    fixed = fixed_noise and len(chain.transition) == 1 and len(chain.transition_factor) == 1
    update, sources, slip = make_update(n_outputs, size), make_sources(size), numbers(size)
    factor, cov, kept = matrix(size, size), matrix(size, size), matrix(size, size)
    copy_matrix(chain.initial_factor, factor)
    count, seen, steady, cancellation = 0, 0, False, 0.0
    for t in range(n_steps):
        emission, offset = _at(chain.emission, t), _at(chain.emission_offset, t)
        step, step_offset = _at(chain.transition, t - 1), _at(chain.transition_offset, t - 1)
        if changes[t]:
            count, seen, steady = _list_observed(missing[t], update.observed), 0, False
        repeated[t] = steady
        if not steady:
            if t > 0:
                propagate(factor, step, _at(chain.transition_factor, t - 1), sources)
            if changes[t] or not fixed_noise:
                decorrelate(emission, _at(chain.emission_cov, t), count, update)
            if condition(factor, count, update):
                return t, cancellation
            seen += 1
            if fixed and is_due(seen):
                square(factor, cov)
                steady = has_settled(cov, kept, seen)
        copy_matrix(factor, factors[t])
        for b in range(len(y)):
            mean, lo = means[b][t], low[b][t] if in_two_words else slip
            if t > 0:
                lo_before = low[b][t - 1] if in_two_words else slip
                step_mean(step, step_offset, means[b][t - 1], lo_before, in_two_words, mean, lo)
            else:
                for k in range(size):
                    mean[k], lo[k] = chain.initial_mean[k], 0.0
            log_predictive[b][t], lost = _absorb(
                emission, offset, y[b][t], update, count, in_two_words, mean, lo
            )
            cancellation = max(cancellation, lost)
        if cancellation > most_cancelled:
            break
    return -1, cancellation


@kernel(plain=True)
def smooth_backward(
    chain: ChainArrays, repeated: Array, factors: Array, cross: Array, means: Array, low: Array
) -> None:
    """Turn filtered means and square roots into smoothed means and covariances, in place."""
    n_steps, size, in_two_words = len(factors), len(chain.initial_mean), len(low[0]) > 0
    sources, gain, rest = make_sources(size), matrix(size, size), matrix(size, size)
    cov, kept, reach = matrix(size, size), matrix(size, size), matrix(size, size)
    zeros, moved, slip = numbers(size), numbers(size), numbers(size)
    square(factors[n_steps - 1], cov)
    seen, steady, same_next = 0, False, False
    for t in range(n_steps - 2, -1, -1):
        step, offset = _at(chain.transition, t), _at(chain.transition_offset, t)
        if not same_next:
            reverse_step(factors[t], step, _at(chain.transition_factor, t), sources, gain, rest)
            seen, steady = 0, False
        same_next = repeated[t]  # the square root of t − 1 is that of t
        copy_matrix(cov, factors[t + 1])
        if not steady:
            smooth_cov(gain, rest, cov, reach)
            seen += 1
            steady = is_due(seen) and has_settled(cov, kept, seen)
        if len(cross) > 0:
            for i in range(size):
                for j in range(size):
                    cross[t][i][j] = reach[j][i]  # Cov(s_{t+1}, s_t) = V_{t+1} Gᵀ
        for b in range(len(means)):
            here, ahead = means[b][t], means[b][t + 1]
            lo = low[b][t] if in_two_words else zeros
            lo_ahead = low[b][t + 1] if in_two_words else zeros
            step_mean(step, offset, here, lo, in_two_words, moved, slip)
            for k in range(size):
                moved[k] = (ahead[k] - moved[k]) + (lo_ahead[k] - slip[k])
            for i in range(size):  # m_{t|T} = m_t + G(m_{t+1|T} − m⁻_{t+1})
                _add(dot(gain[i], moved), i, here, lo, in_two_words)
    copy_matrix(cov, factors[0])


@kernel(plain=True)
def draw_backward(
    chain: ChainArrays, repeated: Array, factors: Array, means: Array, states: Array
) -> None:
    """Turn standard normals (N, T, D) into draws of the states, in place; means are repeated."""
    n_steps, size = len(factors), len(chain.initial_mean)
    sources, gain, rest = make_sources(size), matrix(size, size), matrix(size, size)
    ahead, drawn = numbers(size), numbers(size)
    copy_matrix(factors[n_steps - 1], rest)
    same_next = True  # nothing to reverse at the last step: G = 0
    for t in range(n_steps - 1, -1, -1):
        last = t == n_steps - 1
        step, offset = _at(chain.transition, t - last), _at(chain.transition_offset, t - last)
        if not same_next:
            noise = _at(chain.transition_factor, t)
            take_root(sources, reverse_step(factors[t], step, noise, sources, gain, rest), rest)
        same_next = repeated[t] and not last  # the square root of t − 1 is that of t
        for n in range(len(states)):
            mean, state = means[n % len(means)][t], states[n][t]
            for k in range(size):
                drawn[k] = mean[k] + dot(rest[k], state)
            if not last:
                for k in range(size):
                    predicted, _ = affine(step[k], offset[k], mean, mean, False)
                    ahead[k] = states[n][t + 1][k] - predicted
            for k in range(size):  # s_t = m_t + G(s_{t+1} − m⁻_{t+1}) + Σ½ e
                state[k] = drawn[k] + dot(gain[k], ahead)


@kernel(plain=True)
def simulate_forward(chain: ChainArrays, states: Array) -> None:
    """Turn standard normals (S, T, D) into trajectories of the prior, in place."""
    size = len(chain.initial_mean)
    drawn = numbers(size)
    for s in range(len(states)):
        for t in range(len(states[s])):
            state = states[s][t]
            factor = chain.initial_factor if t == 0 else _at(chain.transition_factor, t - 1)
            for k in range(size):
                drawn[k] = dot(factor[k], state)
            for k in range(size):
                if t == 0:
                    state[k] = chain.initial_mean[k] + drawn[k]
                else:
                    step, offset = _at(chain.transition, t - 1), _at(chain.transition_offset, t - 1)
                    before = states[s][t - 1]
                    state[k] = offset[k] + drawn[k] + dot(step[k], before)


@kernel(plain=True)
def square_factors(factors: Array) -> None:
    """Replace each square root S by the covariance SSᵀ."""
    cov = matrix(len(factors[0]), len(factors[0]))
    for t in range(len(factors)):
        square(factors[t], cov)
        copy_matrix(cov, factors[t])


@kernel(plain=True)
def _absorb(
    emission: Array,
    offset: Array,
    y: Array,
    update: Update,
    count: int,
    in_two_words: bool,
    hi: Array,
    lo: Array,
) -> tuple[float, float]:
    """Add to a mean what the observed entries say; return ln p(y_t | …) and the cancellation."""
    size, shift, innovation = len(hi), update.shift, update.innovation
    log_density, cancellation = 0.0, 0.0
    for k in range(size):
        shift[k] = 0.0
    for i in range(count):
        p, gain, weight = update.observed[i], update.gains[i], update.weights[i]
        row = emission[p]
        value = find_innovation(y[p], offset[p], row, hi, lo, in_two_words)
        terms = abs(y[p])
        for k in range(size):
            terms = terms + abs(row[k] * hi[k])
        cancellation = max(cancellation, largest(terms * weight))
        for j in range(i):
            value = value - update.lower[i][j] * innovation[j]  # of independent noise: L⁻¹e
        innovation[i] = value
        value = value - dot(update.rows[i], shift)
        for k in range(size):
            shift[k] = shift[k] + gain[k] * value  # m ← m + k e
        standard = value * weight
        log_density = log_density + (update.heights[i] - 0.5 * standard * standard)  # ln N(e; 0, v)
    for k in range(size):
        _add(shift[k], k, hi, lo, in_two_words)
    return log_density, cancellation


@kernel(plain=True)
def _add(shift: float, k: int, hi: Array, lo: Array, in_two_words: bool) -> None:
    """Add to an entry of a mean."""
    if in_two_words:
        hi[k], lo[k] = two_sum(hi[k], lo[k] + shift)
    else:
        hi[k] = hi[k] + shift


@kernel(plain=True)
def _list_observed(missing: Array, observed: IntArray) -> int:
    """List the entries that are there; return their number."""
    count = 0
    for p in range(len(missing)):
        if not missing[p]:
            observed[count] = p
            count += 1
    return count


@kernel(plain=True)
def _at(a: Array, t: int) -> Array:
    """Return what holds at step t."""
    return a[t] if len(a) > 1 else a[0]
