"""Long linear-Gaussian chains in compiled loops; imported on first use, as Numba is heavy.

The steps are those of ``chain_steps``, written entry by entry. Square roots wait in the array that
the smoother turns into covariances, so that nothing is held beside the answer.
"""

from __future__ import annotations

import math

import numpy as np

from posteriori.inference.chain_steps import KNOWN_TOLERANCE, STEADY_TOLERANCE
from posteriori.inference.square_root import PIVOT_TOLERANCE, RANK_TOLERANCE
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

_SPLITTER = 134217729.0


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
) -> tuple[int, float]:
    """Fill the last four arrays; return the step that has no density (or −1) and cancellation."""
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
                _propagate(factor, transition[step], transition_factor[step_noise], sources, sizes)
            if changed >= 0 or len(emission) > 1 or len(emission_cov) > 1:
                cov_here = t if len(emission_cov) > 1 else 0
                _decorrelate(
                    emission[here], emission_cov[cov_here], observed, count, lower, noise, rows
                )
            known = _condition_all(factor, rows, noise, count, gains, variances, reach)
            if known:
                return t, cancellation
            for i in range(count):
                halves[i] = -0.5 * (LOG_2PI + math.log(variances[i]))
            seen += 1
            if constant and seen == due:
                _square(factor, cov)
                steady = seen > 1 and _is_close(cov, kept)
                kept[:] = cov
                due = 2 * seen
        factors[t] = factor
        for b in range(n_series):
            if t > 0:
                step = t - 1 if len(transition) > 1 else 0
                offset = t - 1 if len(transition_offset) > 1 else 0
                _step_mean(
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
                innovation[i] = _innovation(
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
                    hi[b, k], lo[b, k] = _two_sum(hi[b, k], total)
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
    ahead = np.empty(size)
    _square(factors[n_steps - 1], cov)
    seen, due, steady, same_next = 0, 1, False, False
    for t in range(n_steps - 2, -1, -1):
        step = t if len(transition) > 1 else 0
        if not same_next:
            step_noise = t if len(transition_factor) > 1 else 0
            _reverse(
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
            _smooth_cov(gain, rest, cov, reach)
            seen += 1
            if seen == due:
                steady = seen > 1 and _is_close(cov, kept)
                kept[:] = cov
                due = 2 * seen
        if pairs:
            for i in range(size):
                for j in range(size):
                    cross[t, i, j] = reach[j, i]
        offset = t if len(transition_offset) > 1 else 0
        for b in range(n_series):
            for i in range(size):
                predicted = transition_offset[offset, i]
                for k in range(size):
                    predicted += transition[step, i, k] * means[b, t, k]
                ahead[i] = means[b, t + 1, i] - predicted
            for i in range(size):
                for k in range(size):
                    means[b, t, i] += gain[i, k] * ahead[k]
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
            _spread(factors[n_steps - 1], states[s, b, n_steps - 1], drawn)
            for i in range(size):
                states[s, b, n_steps - 1, i] = means[b, n_steps - 1, i] + drawn[i]
    same_next = False
    for t in range(n_steps - 2, -1, -1):
        step = t if len(transition) > 1 else 0
        if not same_next:
            step_noise = t if len(transition_factor) > 1 else 0
            _reverse(
                factors[t],
                transition[step],
                transition_factor[step_noise],
                sources,
                sizes,
                pivots,
                gain,
                rest,
            )
            _root_of(rest, sources)
        same_next = repeated[t]
        offset = t if len(transition_offset) > 1 else 0
        for b in range(n_series):
            for s in range(n_draws):
                for i in range(size):
                    predicted = transition_offset[offset, i]
                    for k in range(size):
                        predicted += transition[step, i, k] * means[b, t, k]
                    ahead[i] = states[s, b, t + 1, i] - predicted
                _spread(rest, states[s, b, t], drawn)
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
        _spread(initial_factor, states[s, 0], drawn)
        for i in range(size):
            states[s, 0, i] = initial_mean[i] + drawn[i]
        for t in range(1, n_steps):
            step = t - 1 if len(transition) > 1 else 0
            offset = t - 1 if len(transition_offset) > 1 else 0
            step_noise = t - 1 if len(transition_factor) > 1 else 0
            _spread(transition_factor[step_noise], states[s, t], drawn)
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
        _square(factors[t], cov)
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


@compiled
def _decorrelate(
    emission: Array,
    emission_cov: Array,
    observed: IntArray,
    count: int,
    lower: Array,
    noise: Array,
    rows: Array,
) -> None:
    """Factor the noise of the observed entries as L diag(r) Lᵀ; rows = L⁻¹C."""
    for i in range(count):
        for j in range(i + 1):
            value = emission_cov[observed[i], observed[j]]
            for k in range(j):
                value -= lower[i, k] * lower[j, k] * noise[k]
            if i == j:
                rounding = PIVOT_TOLERANCE * count * emission_cov[observed[i], observed[i]]
                noise[i] = value if value > rounding else 0.0
            else:
                lower[i, j] = value / noise[j] if noise[j] > 0.0 else 0.0
    for i in range(count):
        for k in range(rows.shape[1]):
            value = emission[observed[i], k]
            for j in range(i):
                value -= lower[i, j] * rows[j, k]
            rows[i, k] = value


@compiled
def _condition_all(
    factor: Array,
    rows: Array,
    noise: Array,
    count: int,
    gains: Array,
    variances: Array,
    reach: Array,
) -> bool:
    """Condition on each observed entry in turn; say whether one of them was known already."""
    size = len(factor)
    for i in range(count):
        made_of = 0.0
        if noise[i] == 0.0:
            made_of = _size_of_terms(factor, rows[i])
        alpha = noise[i]
        for k in range(size):
            reach[k] = 0.0
        for j in range(size):
            f = 0.0
            for k in range(size):
                f += rows[i, k] * factor[k, j]
            before = alpha
            alpha = before + f * f
            if f == 0.0:
                continue
            shrink = math.sqrt(before / alpha)
            pull = f / (math.sqrt(before) * math.sqrt(alpha)) if before > 0.0 else 0.0
            for k in range(size):
                old = factor[k, j]
                factor[k, j] = old * shrink - reach[k] * pull
                reach[k] += old * f
        if noise[i] == 0.0 and alpha <= KNOWN_TOLERANCE * made_of:
            return True
        variances[i] = alpha
        for k in range(size):
            gains[i, k] = reach[k] / alpha
    return False


@compiled
def _size_of_terms(factor: Array, row: Array) -> float:
    total = 0.0
    for j in range(factor.shape[1]):
        term = 0.0
        for k in range(len(row)):
            term += abs(row[k] * factor[k, j])
        total += term * term
    return total


@compiled
def _propagate(
    factor: Array, transition: Array, noise_factor: Array, sources: Array, sizes: Array
) -> None:
    """Replace S by the square root of A SSᵀ Aᵀ + Q."""
    size = len(factor)
    for j in range(size):
        for i in range(size):
            value = 0.0
            for k in range(size):
                value += transition[i, k] * factor[k, j]
            sources[j, i] = value
            sources[size + j, i] = noise_factor[i, j]
    _sort_rows(sources, sizes)
    for column in range(size):
        _reflect_column(sources, column, column)
    for i in range(size):
        for j in range(size):
            factor[i, j] = sources[j, i] if j <= i else 0.0


@compiled
def _reverse(
    factor: Array,
    transition: Array,
    noise_factor: Array,
    sources: Array,
    sizes: Array,
    pivots: IntArray,
    gain: Array,
    rest: Array,
) -> None:
    """Reverse a step: its gain G, and Σ in ``rest``; what is left of the sources stays there."""
    size = len(factor)
    for j in range(size):
        for i in range(size):
            value = 0.0
            for k in range(size):
                value += transition[i, k] * factor[k, j]
            sources[j, i] = value
            sources[j, size + i] = factor[i, j]
            sources[size + j, i] = noise_factor[i, j]
            sources[size + j, size + i] = 0.0
    _sort_rows(sources, sizes)
    for column in range(size):
        sizes[column] = math.sqrt(_sum_of_squares(sources, 0, column))
    rank = 0
    for column in range(size):
        left = math.sqrt(_sum_of_squares(sources, rank, column))
        if left > RANK_TOLERANCE * sizes[column]:
            _reflect_column(sources, rank, column)
            pivots[rank] = column
            rank += 1
    gain[:] = 0.0
    for i in range(size):
        for r in range(rank - 1, -1, -1):  # back substitution of G S⁻ = X
            value = sources[r, size + i]
            for q in range(r + 1, rank):
                value -= sources[r, pivots[q]] * gain[i, pivots[q]]
            gain[i, pivots[r]] = value / sources[r, pivots[r]]
    for i in range(size):
        for j in range(i + 1):
            value = 0.0
            for r in range(rank, 2 * size):
                value += sources[r, size + i] * sources[r, size + j]
            rest[i, j] = value
            rest[j, i] = value
    for r in range(rank):
        for j in range(size):
            sources[r, size + j] = 0.0


@compiled
def _root_of(rest: Array, sources: Array) -> None:
    """Replace Σ by its square root, from the sources that a reversal left."""
    size = len(rest)
    tail = sources[:, size:].copy()
    _sort_rows(tail, np.empty(len(tail)))
    for column in range(size):
        _reflect_column(tail, column, column)
    for i in range(size):
        for j in range(size):
            rest[i, j] = tail[j, i] if j <= i else 0.0


@compiled
def _sort_rows(sources: Array, sizes: Array) -> None:
    """Put rows with large entries first: small ones then survive the reflections."""
    n_rows, n_columns = sources.shape
    for r in range(n_rows):
        largest = 0.0
        for j in range(n_columns):
            largest = max(largest, abs(sources[r, j]))
        sizes[r] = largest
    for i in range(n_rows - 1):
        best = i
        for r in range(i + 1, n_rows):
            if sizes[r] > sizes[best]:
                best = r
        if best != i:
            sizes[best] = sizes[i]
            for j in range(n_columns):
                sources[i, j], sources[best, j] = sources[best, j], sources[i, j]


@compiled
def _sum_of_squares(sources: Array, row: int, column: int) -> float:
    total = 0.0
    for r in range(row, len(sources)):
        total += sources[r, column] * sources[r, column]
    return total


@compiled
def _reflect_column(sources: Array, row: int, column: int) -> None:
    """Reflect the rows from ``row`` on so that ``column`` keeps one entry there."""
    n_rows, n_columns = sources.shape
    length = math.sqrt(_sum_of_squares(sources, row, column))
    if length == 0.0:
        return
    signed = math.copysign(length, sources[row, column])
    first = sources[row, column] + signed
    sources[row, column] = first
    for j in range(column + 1, n_columns):
        dot = 0.0
        for r in range(row, n_rows):
            dot += sources[r, column] * sources[r, j]
        dot /= signed * first
        for r in range(row, n_rows):
            sources[r, j] -= sources[r, column] * dot
    sources[row, column] = -signed
    for r in range(row + 1, n_rows):
        sources[r, column] = 0.0


@compiled
def _smooth_cov(gain: Array, rest: Array, cov: Array, reach: Array) -> None:
    """V ← Σ + G V Gᵀ, and the pair covariance G V."""
    size = len(cov)
    for i in range(size):
        for j in range(size):
            value = 0.0
            for k in range(size):
                value += gain[i, k] * cov[k, j]
            reach[i, j] = value
    for i in range(size):
        for j in range(i + 1):
            value = rest[i, j]
            for k in range(size):
                value += reach[i, k] * gain[j, k]
            cov[i, j] = value
            cov[j, i] = value


@compiled
def _square(factor: Array, cov: Array) -> None:
    size = len(factor)
    for i in range(size):
        for j in range(i + 1):
            value = 0.0
            for k in range(size):
                value += factor[i, k] * factor[j, k]
            cov[i, j] = value
            cov[j, i] = value


@compiled
def _is_close(cov: Array, kept: Array) -> bool:
    for i in range(len(cov)):
        for j in range(i + 1):
            bound = STEADY_TOLERANCE * math.sqrt(cov[i, i]) * math.sqrt(cov[j, j])
            if abs(cov[i, j] - kept[i, j]) > bound:
                return False
    return True


@compiled
def _spread(factor: Array, noise: Array, drawn: Array) -> None:
    for i in range(len(drawn)):
        value = 0.0
        for k in range(len(drawn)):
            value += factor[i, k] * noise[k]
        drawn[i] = value


@compiled
def _step_mean(
    transition: Array,
    offset: Array,
    hi: Array,
    lo: Array,
    in_two_words: bool,
    new_hi: Array,
    new_lo: Array,
) -> None:
    """Move the mean: m ← A m + b."""
    size = len(hi)
    for i in range(size):
        value, slip = offset[i], 0.0
        if in_two_words:
            for k in range(size):
                value, slip = _add_product(value, slip, transition[i, k], hi[k])
                slip += transition[i, k] * lo[k]
            value, slip = _two_sum(value, slip)
        else:
            for k in range(size):
                value += transition[i, k] * hi[k]
        new_hi[i], new_lo[i] = value, slip
    for i in range(size):
        hi[i], lo[i] = new_hi[i], new_lo[i]


@compiled
def _innovation(
    y: float, offset: float, row: Array, hi: Array, lo: Array, in_two_words: bool
) -> float:
    """Return y − (C m + d)."""
    if not in_two_words:
        value = y - offset
        for k in range(len(hi)):
            value -= row[k] * hi[k]
        return value
    value, slip = offset, 0.0
    for k in range(len(hi)):
        value, slip = _add_product(value, slip, row[k], hi[k])
        slip += row[k] * lo[k]
    return (y - value) - slip


@compiled
def _add_product(value: float, slip: float, a: float, b: float) -> tuple[float, float]:
    """Return value + slip + a·b, with what rounding drops added to slip."""
    product = a * b
    wide_a, wide_b = _SPLITTER * a, _SPLITTER * b
    a_hi = wide_a - (wide_a - a)
    b_hi = wide_b - (wide_b - b)
    a_lo, b_lo = a - a_hi, b - b_hi
    error = ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo
    total, drop = _two_sum(value, product)
    return total, slip + (drop + error)


@compiled
def _two_sum(a: float, b: float) -> tuple[float, float]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)
