"""Messages along paths, one row after another, in compiled loops; imported on first use.

Row (l, b) gets the product of ``base[l, b]`` and of what row (l − 1, b) has sent.
"""

from __future__ import annotations

import math

import numpy as np

from posteriori.numerics.compilation import compiled
from posteriori.numerics.types import Array

__all__ = ["normal_sweep", "table_sweep"]

_RANK = 1e-13
_NEVER = -math.inf


@compiled
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
            noise = np.zeros((width, width))
            for e in range(width):
                noise[e, e] = 1.0 / weight[t, b, e] if weight[t, b, e] > 0 else 1.0
            k = gain_in[t, b]
            values = np.linalg.eigvalsh(precision)
            if values[0] > 0 and values[0] > _RANK * values[-1]:
                # S = (K W⁻¹ Kᵀ + noise)⁻¹,  b = S (c − K m)
                solved = np.ascontiguousarray(np.linalg.solve(precision, k.T.copy()))
                s = np.ascontiguousarray(np.linalg.inv(noise + np.dot(k, solved)))
                image = np.dot(s, constant[t, b] - np.dot(pull, solved))
            else:
                image, s = _through_improper(constant[t, b], noise, k, pull, precision)
            if width == 1 and weight[t, b, 0] == 0:
                s[:] = 0.0
                image[:] = 0.0
            out = gain_out[t, b]
            made = np.dot(np.ascontiguousarray(out.T), np.dot(s, out))
            xi[t, b] = np.dot(image, out)
            w[t, b] = 0.5 * (made + made.T)


@compiled
def _through_improper(
    c: Array, noise: Array, k: Array, pull: Array, precision: Array
) -> tuple[Array, Array]:
    # S = N − N K J⁺ KᵀN,  b = N c − N K J⁺ (KᵀN c + ξ),  J = KᵀN K + W,  N = noise⁻¹
    n = np.ascontiguousarray(np.linalg.inv(noise))
    nk = np.dot(n, k)
    nc = np.dot(n, c)
    inner = np.dot(np.ascontiguousarray(k.T), nk) + precision
    values, vectors = np.linalg.eigh(inner)
    inverse = np.zeros(len(values))
    for i in range(len(values)):
        if values[i] > _RANK * values[-1]:
            inverse[i] = 1.0 / values[i]
    vectors = np.ascontiguousarray(vectors)
    across = np.dot(nk, vectors)
    s = n - np.dot(across * inverse, np.ascontiguousarray(across.T))
    b = nc - np.dot(across, inverse * np.dot(np.dot(nc, k) + pull, vectors))
    heights, axes = np.linalg.eigh(0.5 * (s + s.T))
    kept = np.where(heights > _RANK * n.max(), 1.0, 0.0)
    project = np.dot(np.ascontiguousarray(axes * kept), np.ascontiguousarray(axes.T))
    return np.dot(project, b), np.dot(project, np.dot(s, project))


@compiled
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
