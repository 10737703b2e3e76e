r"""Normal rows whose means are sums of effects, one of each chain, with gaps (NaN).

.. math:: x_t \sim \mathcal N\Bigl(\sum_m w^m_{s^m_t}, C\Bigr) = \mathcal N(W^\top s_t, C),

with s the stacked indicators (ΣK,) of all chains. Rows that miss the same entries share their factors.
What learning needs of the chains are E[s] of each row and E[ssᵀ] of each pattern of gaps: given s the
missing entries are linear in s and in what is seen, so their moments follow.

Reference: Z. Ghahramani & M. Jordan, "Factorial hidden Markov models", 1997, appendix A.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.factorial_chains.kronecker_passes import Sequences
from posteriori.inference.gaps.gap_patterns import gap_patterns
from posteriori.numerics.linalg import symmetrize, triangular_inverse
from posteriori.numerics.rank import factor_definite
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "EffectSums",
    "FactorialRows",
    "effect_sums",
    "joint_log_densities",
    "learn_effects",
    "make_factorial_rows",
    "seen_factors",
]

#: Eigenvalues of E[ssᵀ] below this part of the largest are 0: the indicators of every chain add up to 1.
_RANK = 1e-12


class FactorialRows(NamedTuple):
    """Rows of sequences, with what does not change while learning.

    Attributes
    ----------
    z : (ΣT, D)
        0 where an entry is missing.
    seen : (P, D) bool
        Patterns of gaps.
    pattern : (ΣT,)
        That of each row.
    members : tuple of P slices or (n,)
        The rows of each pattern.
    sequences : Sequences
    seconds : (P, D, D)
        Σ w z zᵀ of each pattern.
    totals : (P,)
        Σ w of each pattern.
    """

    z: Array
    seen: Array
    pattern: IntArray
    members: tuple[Any, ...]
    sequences: Sequences
    seconds: Array
    totals: Array


class SeenFactors(NamedTuple):
    """The normal of what is seen in each pattern.

    Attributes
    ----------
    whitenings : tuple of P (D_o, D_o)
        B with BᵀB = C_oo⁻¹.
    log_norms : (P,)
        Of the density at its mean.
    """

    whitenings: tuple[Array, ...]
    log_norms: Array


class EffectSums(NamedTuple):
    """What learning needs to know of the states.

    Attributes
    ----------
    first : (P, D, ΣK)
        Σ w z E[s]ᵀ of each pattern.
    second : (P, ΣK, ΣK)
        Σ w E[ssᵀ] of each pattern.
    """

    first: Array
    second: Array


def make_factorial_rows(x: Array, sequences: Sequences) -> FactorialRows:
    """Return rows (ΣT, D), NaN where an entry is missing."""
    patterns = gap_patterns(x)
    pattern = np.empty(len(x), dtype=np.int64)
    sizes = np.diff(patterns.offsets)
    pattern[patterns.order] = np.repeat(np.arange(len(sizes)), sizes)
    z, weights = np.nan_to_num(x), sequences.row_weights
    seconds = np.zeros((len(sizes), x.shape[1], x.shape[1]))
    members: tuple[Any, ...] = (slice(None),)  # no copies where all rows are alike
    if len(sizes) > 1:
        members = tuple(np.split(patterns.order, patterns.offsets[1:-1]))
    for p, rows in enumerate(members):
        seconds[p] = (weights[rows, None] * z[rows]).T @ z[rows]
    totals = np.bincount(pattern, weights=weights, minlength=len(sizes))
    return FactorialRows(z, patterns.seen, pattern, members, sequences, seconds, totals)


def seen_factors(seen: Array, cov: Array) -> SeenFactors:
    """Return the normals of what patterns (P, D) see of a covariance."""
    whitenings, log_norms = [], np.empty(len(seen))
    for p, o in enumerate(seen):
        whitenings.append(triangular_inverse(factor_definite(cov[np.ix_(o, o)])))
        log_norms[p] = np.log(np.diag(whitenings[p])).sum() - 0.5 * LOG_2PI * o.sum()
    return SeenFactors(tuple(whitenings), log_norms)


def joint_log_densities(rows: FactorialRows, means: Array, cov: Array) -> Callable[[slice], Array]:
    """Return a function from a slice of rows to ln N(x_t | mean of each joint state, C), (n, J).

    Parameters
    ----------
    rows : FactorialRows
    means : (J, D)
        W ᵀs of joint states.
    cov : (D, D)
    """
    factors = seen_factors(rows.seen, cov)

    def densities(part: slice) -> Array:
        z, pattern = rows.z[part], rows.pattern[part]
        made = np.empty((len(z), len(means)))
        for p in np.unique(pattern):
            o, chosen = rows.seen[p], pattern == p
            u = z[chosen][:, o] @ factors.whitenings[p].T
            v = means[:, o] @ factors.whitenings[p].T
            score = u @ v.T  # −½|u − v|² = u·v − ½|v|² − ½|u|²
            score -= 0.5 * (v**2).sum(axis=1) - factors.log_norms[p]
            score -= 0.5 * (u**2).sum(axis=1)[:, None]
            if chosen.all():
                return score
            made[chosen] = score
        return made

    return densities


def effect_sums(rows: FactorialRows, states: Array, second: Array) -> EffectSums:
    """Return the sums of rows with E[s] (ΣT, ΣK), given those of E[ssᵀ] (P, ΣK, ΣK)."""
    weighted = rows.sequences.row_weights[:, None] * states
    return EffectSums(np.stack([rows.z[n].T @ weighted[n] for n in rows.members]), second)


def learn_effects(
    rows: FactorialRows, sums: EffectSums, effects: Array, cov: Array, floor: float
) -> tuple[Array, Array]:
    """Return the effects (ΣK, D) and the covariance that raise the expected log density most.

    Parameters
    ----------
    rows : FactorialRows
    sums : EffectSums
    effects, cov : (ΣK, D), (D, D)
        What missing entries are expected by.
    floor : float
        Added to each variance: with −½ N floor tr C⁻¹ as part of the objective no noise shrinks to 0.
    """
    d = rows.z.shape[1]
    first, second, square = np.zeros((d, len(effects))), np.zeros((len(effects),) * 2), 0.0
    for p, o in enumerate(rows.seen):
        h, g, rest = _given_seen(o, effects, cov)  # E[x | seen, s] = H x_o + G s
        seen, states = sums.first[p][o], sums.second[p]
        cross = h @ seen @ g.T
        square = square + h @ rows.seconds[p][np.ix_(o, o)] @ h.T + cross + cross.T
        square = square + g @ states @ g.T + rows.totals[p] * rest
        first += h @ seen + g @ states
        second += states
    learned = np.linalg.pinv(second, rcond=_RANK, hermitian=True) @ first.T
    # E[(x − Wᵀs)(x − Wᵀs)ᵀ], whatever was left out of the pseudo-inverse
    cross = first @ learned
    scatter = square - cross - cross.T + learned.T @ second @ learned
    return learned, symmetrize(scatter) / rows.totals.sum() + floor * np.eye(d)


def _given_seen(o: Array, effects: Array, cov: Array) -> tuple[Array, Array, Array]:
    """Return H (D, D_o), G (D, ΣK) and the covariance (D, D) of a row given s and what is seen."""
    d, m = len(o), ~o
    h, g, rest = np.zeros((d, int(o.sum()))), np.zeros((d, len(effects))), np.zeros((d, d))
    h[o] = np.eye(h.shape[1])
    if m.any():
        h[m] = np.linalg.solve(cov[np.ix_(o, o)], cov[np.ix_(o, m)]).T
        g[m] = effects[:, m].T - h[m] @ effects[:, o].T
        rest[np.ix_(m, m)] = cov[np.ix_(m, m)] - h[m] @ cov[np.ix_(o, m)]
    return h, g, rest
