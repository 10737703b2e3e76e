r"""The passes over several hidden chains at once, as compiled loops over their joint states.

A joint state is a number in mixed radix, the last chain running fastest, and a vector over joint
states is an array (outer, K, inner) for each chain. The transition :math:`A^1 \otimes \dots \otimes A^M`
is never made: it is applied chain by chain, :math:`\sum K` multiplications for each joint state.

Pairs need no more than that. With f_m = filtered probabilities after the moves of the chains before m,
and b_m = the ratio γ/p after those of the chains behind m were taken back,

.. math:: \xi^m(j, k) = A^m_{jk} \sum_{u, i} f_m(u, j, i)\, b_m(u, k, i).
"""

from __future__ import annotations

import math

import numpy as np

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "best_scores",
    "follow_back",
    "smooth_joint_logs",
    "filter_joint_logs",
    "smooth_joint",
    "filter_joint",
]

#: Sums of weights below this come near the end of the range of float64.
_SMALL = 1e-200
#: Probabilities below this may be lost to later steps where a transition is small, too.
_TINY = 1e-190
#: Makes 0/0 a 0, and is lost beside every weight of a state that is possible.
_GUARD = 1e-305


@kernel(sums="free")
def filter_joint(
    initial: Array,
    transitions: Array,
    sizes: IntArray,
    first: Array,
    before: Array,
    weights: Array,
    log_totals: Array,
) -> int:
    """Turn exp(ln ℓ_t − max) into P(s_t | x_1, …, x_t), in place; fill the logs of what they add up to.

    Parameters are π (J,), transitions (M, K, K) padded, sizes (M,), which rows begin a sequence (n,),
    the filtered probabilities before the first row, weights (n, J). Returns 1 where states were lost that
    small transitions could need, 2 where nothing is left, else 0.
    """
    n_states, lost = len(initial), 0
    here, there = np.empty(n_states), np.empty(n_states)
    for t in range(len(weights)):
        alpha = weights[t]
        if first[t]:
            _copy(initial, here)
        else:
            _copy(before if t == 0 else weights[t - 1], here)
            inner = n_states
            for m in range(len(sizes)):
                inner = inner // sizes[m]
                _push(here, transitions[m], sizes[m], inner, there)
                here, there = there, here
        total = 0.0
        for s in range(n_states):
            alpha[s] *= here[s]  # α(s) = ℓ(s) Σ_r α(r) A(r, s)
            total += alpha[s]
        if not total > _SMALL:
            return 2
        few = 0
        for s in range(n_states):
            alpha[s] /= total
            few += alpha[s] < _TINY
        lost |= few > 0
        log_totals[t] = math.log(total)
    return lost


@kernel(sums="free")
def smooth_joint(
    transitions: Array,
    sizes: IntArray,
    first: Array,
    row_weights: Array,
    after: Array,
    filtered: Array,
    pair_sums: Array,
) -> None:
    """Turn P(s_t | x_1, …, x_t) into P(s_t | x), in place; add what pairs (M, K, K) are over A.

    ``first`` (n + 1,) and ``after`` (J,), the smoothed probabilities, tell of the row behind the last;
    ``first[n]`` is True where there is none.
    """
    n, n_states = filtered.shape
    moved = np.empty((len(sizes) + 1, n_states))  # f_1, …, f_M and the prediction
    ratio, pulled = np.empty(n_states), np.empty(n_states)
    for t in range(n - 1, -1, -1):
        if first[t + 1]:
            continue
        here = filtered[t]
        moved[0] = here
        inner = n_states
        for m in range(len(sizes)):
            inner = inner // sizes[m]
            _push(moved[m], transitions[m], sizes[m], inner, moved[m + 1])
        smoothed = after if t == n - 1 else filtered[t + 1]
        for s in range(n_states):
            ratio[s] = smoothed[s] / (moved[len(sizes)][s] + _GUARD)  # γ/p
        inner = 1
        for m in range(len(sizes) - 1, -1, -1):
            _add_pairs(moved[m], ratio, sizes[m], inner, row_weights[t], pair_sums[m])
            _pull(ratio, transitions[m], sizes[m], inner, pulled)
            ratio, pulled = pulled, ratio
            inner = inner * sizes[m]
        for s in range(n_states):
            here[s] *= ratio[s]  # γ(r) = α(r) Σ_s A(r, s) γ(s)/p(s)


@kernel(sums="free")
def filter_joint_logs(
    initial: Array,
    transitions: Array,
    sizes: IntArray,
    first: Array,
    before: Array,
    filtered: Array,
    log_totals: Array,
) -> int:
    """Do as :func:`filter_joint`, with logs for all numbers; returns 2 where nothing is left."""
    n_states = len(initial)
    here, there = np.empty(n_states), np.empty(n_states)
    for t in range(len(filtered)):
        alpha = filtered[t]
        if first[t]:
            _copy(initial, here)
        else:
            _copy(before if t == 0 else filtered[t - 1], here)
            inner = n_states
            for m in range(len(sizes)):
                inner = inner // sizes[m]
                _log_push(here, transitions[m], sizes[m], inner, there)
                here, there = there, here
        alpha += here
        top = alpha.max()
        if top == -math.inf:
            return 2
        total = top + math.log(np.exp(alpha - top).sum())
        alpha -= total
        log_totals[t] = total
    return 0


@kernel(sums="free")
def smooth_joint_logs(
    transitions: Array,
    sizes: IntArray,
    first: Array,
    row_weights: Array,
    after: Array,
    filtered: Array,
    pair_sums: Array,
) -> None:
    """Do as :func:`smooth_joint`, with logs for all numbers but the pairs, which are not over A here."""
    n, n_states = filtered.shape
    moved = np.empty((len(sizes) + 1, n_states))
    ratio, pulled = np.empty(n_states), np.empty(n_states)
    for t in range(n - 1, -1, -1):
        if first[t + 1]:
            continue
        moved[0] = filtered[t]
        inner = n_states
        for m in range(len(sizes)):
            inner = inner // sizes[m]
            _log_push(moved[m], transitions[m], sizes[m], inner, moved[m + 1])
        smoothed = after if t == n - 1 else filtered[t + 1]
        for s in range(n_states):
            known = smoothed[s] > -math.inf
            ratio[s] = smoothed[s] - moved[len(sizes)][s] if known else -math.inf
        inner = 1
        for m in range(len(sizes) - 1, -1, -1):
            _add_log_pairs(
                moved[m], ratio, transitions[m], sizes[m], inner, row_weights[t], pair_sums[m]
            )
            _log_push(ratio, transitions[m].T, sizes[m], inner, pulled)
            ratio, pulled = pulled, ratio
            inner = inner * sizes[m]
        filtered[t] += ratio


@kernel(sums="free")
def best_scores(
    initial: Array, transitions: Array, sizes: IntArray, first: Array, scores: Array
) -> int:
    """Turn ln ℓ (T, J) into the best ln p of a path that ends in each joint state, relative to the best.

    Returns the first row at which no state is possible, else −1.
    """
    n_states = len(initial)
    here, there = np.empty(n_states), np.empty(n_states)
    for t in range(len(scores)):
        _copy(initial if first[t] else scores[t - 1], here)
        if not first[t]:
            inner = n_states
            for m in range(len(sizes)):
                inner = inner // sizes[m]
                _best_push(here, transitions[m], sizes[m], inner, there)
                here, there = there, here
        scores[t] += here
        top = scores[t].max()
        if top == -math.inf:
            return t
        scores[t] -= top
    return -1


@kernel(sums="free")
def follow_back(
    transitions: Array, sizes: IntArray, first: Array, scores: Array, states: IntArray
) -> None:
    """Fill the joint states (T,) of the best path; of equals, the lower state."""
    n, n_states = scores.shape
    here = np.empty(n_states)
    for t in range(n - 1, -1, -1):
        _copy(scores[t], here)
        if t < n - 1 and not first[t + 1]:
            inner, left = 1, states[t + 1]
            for m in range(len(sizes) - 1, -1, -1):
                blocks = here.reshape(-1, sizes[m], inner)
                for u in range(len(blocks)):
                    for j in range(sizes[m]):  # δ(r) + Σ_m ln A^m(r_m, s_m)
                        blocks[u, j] += transitions[m][j, left % sizes[m]]
                left = left // sizes[m]
                inner = inner * sizes[m]
        states[t] = here.argmax()


@kernel(sums="free")
def _copy(x: Array, out: Array) -> None:
    """Copy by a loop: what ``out[:] = x`` would say of other lengths takes seconds to compile."""
    for s in range(len(x)):
        out[s] = x[s]


@kernel(sums="free")
def _push(x: Array, moves: Array, size: int, inner: int, out: Array) -> None:
    """Fill out(u, k, i) = Σ_j x(u, j, i) A_jk."""
    if inner == 1:
        rows, made = x.reshape(-1, size), out.reshape(-1, size)
        for u in range(len(rows)):
            _row_times(rows[u], moves, size, made[u])
        return
    blocks, blocks_made = x.reshape(-1, size, inner), out.reshape(-1, size, inner)
    for u in range(len(blocks)):
        for k in range(size):
            result = blocks_made[u, k]
            result[:] = 0.0
            for j in range(size):
                share, part = moves[j, k], blocks[u, j]
                for i in range(inner):
                    result[i] += share * part[i]


@kernel(sums="free")
def _row_times(row: Array, moves: Array, size: int, result: Array) -> None:
    for k in range(size):
        result[k] = 0.0
    for j in range(size):
        share, move = row[j], moves[j]
        for k in range(size):
            result[k] += share * move[k]


@kernel(sums="free")
def _pull(x: Array, moves: Array, size: int, inner: int, out: Array) -> None:
    """Fill out(u, j, i) = Σ_k A_jk x(u, k, i)."""
    _push(x, np.ascontiguousarray(moves.T), size, inner, out)


@kernel(sums="free")
def _add_pairs(
    f: Array, ratio: Array, size: int, inner: int, weight: float, pair_sums: Array
) -> None:
    """Add w Σ_{u,i} f(u, j, i) b(u, k, i)."""
    if inner == 1:
        rows, ratios = f.reshape(-1, size), ratio.reshape(-1, size)
        for u in range(len(rows)):
            b = ratios[u]
            for j in range(size):
                share, sums = weight * rows[u, j], pair_sums[j]
                for k in range(size):
                    sums[k] += share * b[k]
        return
    blocks, block_ratios = f.reshape(-1, size, inner), ratio.reshape(-1, size, inner)
    for u in range(len(blocks)):
        for j in range(size):
            a = blocks[u, j]
            for k in range(size):
                c, total = block_ratios[u, k], 0.0
                for i in range(inner):
                    total += a[i] * c[i]
                pair_sums[j, k] += weight * total


@kernel(sums="free")
def _log_push(x: Array, moves: Array, size: int, inner: int, out: Array) -> None:
    """Fill out(u, k, i) = ln Σ_j exp(x(u, j, i) + ln A_jk)."""
    blocks, made = x.reshape(-1, size, inner), out.reshape(-1, size, inner)
    for u in range(len(blocks)):
        for k in range(size):
            for i in range(inner):
                top, total = -math.inf, 0.0
                for j in range(size):
                    top = max(top, blocks[u, j, i] + moves[j, k])
                if top > -math.inf:
                    for j in range(size):
                        total += math.exp(blocks[u, j, i] + moves[j, k] - top)
                    top += math.log(total)
                made[u, k, i] = top


@kernel(sums="free")
def _add_log_pairs(
    f: Array,
    ratio: Array,
    moves: Array,
    size: int,
    inner: int,
    weight: float,
    pair_sums: Array,
) -> None:
    """Add w Σ_{u,i} exp(ln f(u, j, i) + ln A_jk + ln b(u, k, i))."""
    blocks, ratios = f.reshape(-1, size, inner), ratio.reshape(-1, size, inner)
    for u in range(len(blocks)):
        for j in range(size):
            for k in range(size):
                total = 0.0
                for i in range(inner):
                    total += math.exp(blocks[u, j, i] + moves[j, k] + ratios[u, k, i])
                pair_sums[j, k] += weight * total


@kernel(sums="free")
def _best_push(x: Array, moves: Array, size: int, inner: int, out: Array) -> None:
    """Fill out(u, k, i) = max_j x(u, j, i) + ln A_jk."""
    blocks, made = x.reshape(-1, size, inner), out.reshape(-1, size, inner)
    for u in range(len(blocks)):
        for k in range(size):
            result = made[u, k]
            result[:] = -math.inf
            for j in range(size):
                gain, part = moves[j, k], blocks[u, j]
                for i in range(inner):
                    result[i] = max(result[i], part[i] + gain)
