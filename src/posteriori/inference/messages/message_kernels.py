"""Messages along paths, one row after another, in compiled loops; imported on first use.

Row (l, b) gets the product of ``base[l, b]`` and of what row (l − 1, b) has sent.
"""

from __future__ import annotations

import math

import numpy as np

from posteriori.numerics import rank
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array

__all__ = ["normal_sweep", "table_sweep"]

#: The logarithm of the probability of what is impossible.
_NEVER = -math.inf

_exceeds_rounding = kernel(rank.exceeds_rounding)


@kernel
def normal_sweep(
    constant: Array,
    weight: Array,
    gain_in: Array,
    gain_out: Array,
    base_xi: Array,
    base_w: Array,
    xi: Array,
    w: Array,
) -> None:
    """Fill weighted means (L, B, S) and precisions (L, B, S, S) of what each row sends.

    The rule is that of :class:`~posteriori.inference.messages.row_messages.NormalRows`.
    """
    n_steps, n_paths, width = constant.shape
    for b in range(n_paths):
        for t in range(n_steps):
            pull, precision = base_xi[t, b].copy(), base_w[t, b].copy()
            if t > 0:
                pull += xi[t - 1, b]
                precision += w[t - 1, b]
            said = weight[t, b].copy()
            for e in range(width):
                if said[e] == 0:  # given, not computed
                    said[e] = 1.0
            k = gain_in[t, b]
            if _is_definite(precision):
                # S = (K W⁻¹ Kᵀ + N⁻¹)⁻¹,  b = S (c − K m),  N = diag(weight)
                solved = np.ascontiguousarray(np.linalg.solve(precision, k.T.copy()))
                cov = np.dot(k, solved)
                for e in range(width):
                    cov[e, e] += 1.0 / said[e]
                s = np.ascontiguousarray(np.linalg.solve(cov, np.eye(width)))
                image = np.dot(s, constant[t, b] - np.dot(pull, solved))
            else:
                image, s = _through_improper(constant[t, b], said, k, pull, precision)
            if width == 1 and weight[t, b, 0] == 0:
                s[:] = 0.0
                image[:] = 0.0
            out = gain_out[t, b]
            xi[t, b] = np.dot(image, out)
            w[t, b] = _turned(s, out)


@kernel
def _through_improper(
    c: Array, weight: Array, k: Array, pull: Array, precision: Array
) -> tuple[Array, Array]:
    # S = √N T √N,  b = √N (T √N c − G J⁺ ξ),  T = I − G J⁺ Gᵀ,  J = GᵀG + W,  G = √N K
    noise = np.sqrt(weight)
    g = _scaled_rows(k, noise)
    inner = np.dot(np.ascontiguousarray(g.T), g) + precision
    roots, heights, axes = _eigen(inner, np.diag(inner))
    inverse = np.zeros(len(heights))
    for i in range(len(heights)):
        if _exceeds_rounding(heights[i], max(heights[-1], 1.0)):
            inverse[i] = 1.0 / heights[i]
    seen = np.dot(g / roots, axes)
    rest = np.eye(len(weight)) - np.dot(seen * inverse, np.ascontiguousarray(seen.T))
    _, values, vectors = _eigen(rest, np.ones(len(weight)))
    told = np.dot(np.dot(seen, inverse * np.dot(pull / roots, axes)), vectors)
    for i in range(len(values)):
        if not _exceeds_rounding(values[i], 1.0):  # what the improper message leaves unknown
            values[i], told[i] = 0.0, 0.0
    across = _scaled_rows(vectors, noise)
    s = np.dot(across * values, np.ascontiguousarray(across.T))
    return np.dot(s, c) - np.dot(across, told), s


@kernel
def _turned(s: Array, out: Array) -> Array:
    """Return W = KᵀSK, with 0 for eigenvalues that are rounding errors of |K|ᵀ|S||K|."""
    made = np.dot(np.ascontiguousarray(out.T), np.dot(s, out))
    made = 0.5 * (made + made.T)
    if len(s) == 1:  # a single number has nothing to cancel
        return made
    sizes = np.zeros(len(made))
    for i in range(len(made)):
        for e in range(len(s)):
            for f in range(len(s)):
                sizes[i] += abs(out[e, i] * s[e, f] * out[f, i])
    if _has_clear_pivots(made, sizes):
        return made
    roots, values, vectors = _eigen(made, sizes)
    for i in range(len(values)):
        if not _exceeds_rounding(abs(values[i]), 1.0):
            values[i] = 0.0
    across = _scaled_rows(vectors, roots)
    return np.dot(across * values, np.ascontiguousarray(across.T))


@kernel
def _is_definite(a: Array) -> bool:
    """Tell what :func:`posteriori.numerics.rank.is_definite` tells, for one matrix."""
    sizes = np.diag(a)
    if _has_clear_pivots(a, sizes):
        return True
    _, values, _ = _eigen(a, sizes)
    return bool(_exceeds_rounding(values[0], max(values[-1], 1.0)))


@kernel
def _has_clear_pivots(a: Array, sizes: Array) -> bool:
    lower = a.copy()
    for j in range(len(a)):
        for k in range(j):
            for i in range(j, len(a)):
                lower[i, j] -= lower[i, k] * lower[j, k]
        if not lower[j, j] > rank.CLEAR * sizes[j]:
            return False
        root = math.sqrt(lower[j, j])
        for i in range(j, len(a)):
            lower[i, j] /= root
    return True


@kernel
def _scaled_rows(a: Array, by: Array) -> Array:
    scaled = np.empty(a.shape)
    for i in range(len(a)):
        for j in range(a.shape[1]):
            scaled[i, j] = by[i] * a[i, j]
    return scaled


@kernel
def _eigen(a: Array, sizes: Array) -> tuple[Array, Array, Array]:
    """Return roots of sizes, and eigenvalues and -vectors in units in which these are 1."""
    roots = np.ones(len(a))
    for i in range(len(a)):
        if sizes[i] > 0:
            roots[i] = math.sqrt(sizes[i])
    scaled = np.empty(a.shape)
    for i in range(len(a)):
        for j in range(len(a)):
            scaled[i, j] = a[i, j] / (roots[i] * roots[j])
    values, vectors = np.linalg.eigh(scaled)
    return roots, values, np.ascontiguousarray(vectors)


@kernel
def table_sweep(table: Array, base: Array, finite: Array, impossible: Array) -> None:
    """Fill the two parts (L, B, K) of what each row sends.

    Parameters
    ----------
    table : (L or 1, B or 1, J, K)
        Logarithms, from the state that is given to the one that is asked for.
    base : (L, B, J)
        Logarithms of the other messages.
    """
    n_steps, n_paths, n_given = base.shape
    n_asked = table.shape[-1]
    came = np.empty(n_given)
    for b in range(n_paths):
        for t in range(n_steps):
            logs = table[min(t, len(table) - 1), min(b, table.shape[1] - 1)]
            for j in range(n_given):
                came[j] = base[t, b, j]
                if t > 0:
                    came[j] += finite[t - 1, b, j]
                    if impossible[t - 1, b, j] > 0:
                        came[j] = _NEVER
            best = _NEVER
            for i in range(n_asked):
                top = _NEVER
                for j in range(n_given):
                    top = max(top, came[j] + logs[j, i])
                total = 0.0
                if top > _NEVER:
                    for j in range(n_given):
                        total += math.exp(came[j] + logs[j, i] - top)
                    top += math.log(total)
                finite[t, b, i] = top
                best = max(best, top)
            for i in range(n_asked):
                never = finite[t, b, i] == _NEVER
                impossible[t, b, i] = 1.0 if never else 0.0
                finite[t, b, i] = 0.0 if never else finite[t, b, i] - best
