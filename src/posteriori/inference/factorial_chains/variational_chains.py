r"""Several chains beyond exact passes: one variational chain each (structured mean field).

.. math:: q(s) = \prod_m q^m(s^m_1, \dots, s^m_T), \qquad
          h^m_t = W^m C^{-1}\Bigl(x_t - \sum_{l\ne m} W^{l\top} E[s^l_t]\Bigr)
                  - \tfrac12 \operatorname{diag}(W^m C^{-1} W^{m\top}).

Given the others, each chain is a plain hidden chain with log-likelihoods h, so forward–backward finds its
best belief; sweeps over the chains raise the bound
:math:`\mathcal L = E_q \ln p(x\mid s) + \sum_m (\ln Z^m - \sum_t E[h^m_t])` until it settles.
O(T ΣK²) a sweep, whatever ΠK.

Reference: Z. Ghahramani & M. Jordan, "Factorial hidden Markov models", 1997, section 3.4, appendix D.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.factorial_chains.additive_normal import FactorialRows, seen_factors
from posteriori.inference.factorial_chains.kronecker_passes import Chains, FactorialPosterior
from posteriori.inference.state_chains.hidden_markov import forward_backward, most_likely_path
from posteriori.numerics.types import Array, IntArray

__all__ = ["MeanField", "approximate_chains", "approximate_path", "mean_field"]

#: Sweeps of one call at most.
_SWEEPS = 200


class MeanField(NamedTuple):
    """What each row says of effects, with those of other chains taken away by :func:`approximate_chains`.

    Attributes
    ----------
    linear : (ΣT, ΣK)
        W C⁻¹x.
    couplings : (P, ΣK, ΣK)
        W C⁻¹Wᵀ of each pattern of gaps.
    constant : (ΣT,)
        ln N(x | 0, C).
    """

    linear: Array
    couplings: Array
    constant: Array


def mean_field(rows: FactorialRows, effects: Array, cov: Array) -> MeanField:
    """Return what rows say of the effects (ΣK, D) with noise of the given covariance."""
    factors = seen_factors(rows.seen, cov)
    linear, constant = np.zeros((len(rows.z), len(effects))), np.zeros(len(rows.z))
    couplings = np.zeros((len(rows.seen), len(effects), len(effects)))
    for p, (o, chosen) in enumerate(zip(rows.seen, rows.members, strict=True)):
        u = rows.z[chosen][:, o] @ factors.whitenings[p].T
        v = effects[:, o] @ factors.whitenings[p].T
        linear[chosen], couplings[p] = u @ v.T, v @ v.T
        constant[chosen] = factors.log_norms[p] - 0.5 * (u**2).sum(axis=1)
    return MeanField(linear, couplings, constant)


def approximate_chains(
    rows: FactorialRows,
    chains: Chains,
    field: MeanField,
    start: tuple[Array, ...] | None = None,
    tol: float = 1e-8,
) -> FactorialPosterior:
    """Return beliefs about the chains, each for itself, and a lower bound of the log evidence.

    Parameters
    ----------
    rows : FactorialRows
    chains : Chains
    field : MeanField
    start : tuple of (ΣT, K_m), optional
        First beliefs; by default all states are equally probable.
    tol : float
        Nats that a sweep must gain to be followed by another.
    """
    sizes, (lengths, weights) = chains.sizes, rows.sequences
    if start is None:
        start = tuple(np.full((len(rows.z), k), 1.0 / k) for k in sizes)
    q = np.concatenate(start, axis=1)
    before = -np.inf
    for _ in range(_SWEEPS):
        pairs, gains = [], np.zeros(len(lengths))
        for place, log_chain in zip(_places(sizes), _logs(chains), strict=True):
            h = _effective(rows, field, q, place)
            found = forward_backward(*log_chain, h, lengths=lengths, weights=weights)
            q[:, place] = found.probabilities
            pairs.append(found.pair_sums)
            kept = np.add.reduceat((found.probabilities * h).sum(axis=1), rows.sequences.starts)
            gains += found.log_evidence - kept  # ln Z − Σ E[h]
        bound = gains + np.add.reduceat(
            _expected_density(rows, field, q, sizes), rows.sequences.starts
        )
        total = float(weights @ bound)
        if total - before < tol:
            break
        before = total
    return FactorialPosterior(tuple(q[:, place] for place in _places(sizes)), tuple(pairs), bound)


def approximate_path(
    rows: FactorialRows, chains: Chains, field: MeanField, beliefs: tuple[Array, ...]
) -> IntArray:
    """Return the most probable path (ΣT, M) of the variational chains: each chain's own."""
    q = np.concatenate(beliefs, axis=1)
    paths = [
        most_likely_path(
            *log_chain, _effective(rows, field, q, place), lengths=rows.sequences.lengths
        ).states
        for place, log_chain in zip(_places(chains.sizes), _logs(chains), strict=True)
    ]
    return np.stack(paths, axis=1)


def _effective(rows: FactorialRows, field: MeanField, q: Array, place: slice) -> Array:
    """Return h (ΣT, K) of one chain given the beliefs about the others."""
    others = q.copy()
    others[:, place] = 0.0
    h = field.linear[:, place].copy()
    for chosen, coupling in zip(rows.members, field.couplings, strict=True):
        h[chosen] -= others[chosen] @ coupling[:, place] + 0.5 * np.diag(coupling)[place]
    return h


def _expected_density(
    rows: FactorialRows, field: MeanField, q: Array, sizes: tuple[int, ...]
) -> Array:
    """Return E_q ln p(x_t | s_t) of each row."""
    value = field.constant + (field.linear * q).sum(axis=1)
    for chosen, coupling in zip(rows.members, field.couplings, strict=True):
        across = coupling.copy()  # E[sᵀGs] = Σ_{l≠m} q^l G q^m + Σ diag(G) q
        for place in _places(sizes):
            across[place, place] = 0.0
        part = q[chosen]
        value[chosen] -= 0.5 * ((part @ across * part).sum(axis=1) + part @ np.diag(coupling))
    return value


def _places(sizes: tuple[int, ...]) -> list[slice]:
    ends = np.cumsum(sizes).tolist()
    return [slice(end - k, end) for end, k in zip(ends, sizes, strict=True)]


def _logs(chains: Chains) -> list[tuple[Array, Array]]:
    with np.errstate(divide="ignore"):
        return [(np.log(a), np.log(b)) for a, b in zip(*chains, strict=True)]
