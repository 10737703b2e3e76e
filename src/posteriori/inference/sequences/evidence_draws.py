r"""The evidence of a hidden chain, by draws of its parameters from the beliefs about them.

.. math:: p(X) = E_q\!\left[\frac{p(X\mid θ)\,p(θ)}{\bar q(θ)}\right], \qquad
   \bar q(θ) = \frac1{|G|}\sum_{σ\in G} q(σθ),

with paths summed out by a forward pass for each draw. G are the orders of the states that the prior does
not tell apart: the posterior has a copy for each of them, of which q knows one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from posteriori.inference.sequences.chain_paths import ChainPaths
from posteriori.inference.sequences.dirichlet_rows import draw_rows
from posteriori.inference.sequences.emissions.emission_contract import EmissionDraws, Sums
from posteriori.inference.state_chains.chain_weights import chain_weights
from posteriori.inference.state_chains.scaled_chains import log_filter, scaled_filter
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = ["MOST_ORDERED", "DrawnEvidence", "draw_evidence", "is_exchangeable"]

#: Up to so many states all their orders are counted, draw by draw.
MOST_ORDERED = 6


#: Shares of what was learned by which beliefs are drawn from, in equal parts: beliefs about parameters that
#: know nothing of one another or of the path are too narrow, and wider ones keep the weights bounded.
_SHARES = (1.0, 0.6, 0.35)


class DrawnEvidence(NamedTuple):
    """An estimate of ln p(X).

    Attributes
    ----------
    value, error : float
        And its standard error.
    effective : float
        Draws that as many independent ones from the posterior would be worth.
    added : float
        ln K! where orders of more than six states were added at once.
    """

    value: float
    error: float
    effective: float
    added: float


def draw_evidence(
    paths: ChainPaths,
    emission: Any,
    sums: Sums,
    size: int,
    rng: np.random.Generator,
    *,
    alike: bool,
    progress: Callable[[], Any] | None = None,
) -> DrawnEvidence:
    """Return an estimate of the evidence by importance draws.

    Parameters
    ----------
    paths : ChainPaths
    emission : EmissionModel
        That can be drawn from.
    sums : tuple
        Where the ascent has ended: they state the beliefs.
    size : int
        Draws.
    rng : Generator
    alike : bool
        Whether states have one prior of their emissions.
    progress : callable, optional
        Is called after each draw.
    """
    wide = [tuple(share * part for part in sums) for share in _SHARES]
    orders = list(_orders(paths, alike))
    logs: list[Array] = []
    for i, own in enumerate(wide):
        some = size // len(wide) + (i < size % len(wide))
        drawn = _draw(paths, emission, own, some, rng)
        proposal = log_sum_exp(
            np.stack([_log_beliefs(paths, other, drawn, orders) for other in wide]), axis=0
        )
        proposal -= np.log(len(wide) * len(orders))
        logs.append(_log_joint(paths, drawn, progress) - proposal)
    k, whole = paths.n_states, alike and is_exchangeable(paths)
    added = float(gammaln(k + 1.0)) if whole and k > MOST_ORDERED else 0.0
    constant = emission.look(sums[paths.n_sums :]).constant
    return _summary(np.concatenate(logs) + constant, added)


def is_exchangeable(paths: ChainPaths) -> bool:
    """Tell whether the prior of paths is the same under all orders of the states."""
    first, moves = paths.initial.concentration, paths.transition.concentration
    apart = moves[~np.eye(len(first), dtype=bool)]
    same = np.ptp(first) == 0.0 and np.ptp(np.diag(moves)) == 0.0
    return bool(same and (not apart.size or np.ptp(apart) == 0.0))


def _summary(logs: Array, added: float) -> DrawnEvidence:
    top = logs.max()
    weights = np.exp(logs - top)
    mean = weights.mean()
    error = weights.std(ddof=1) / (mean * np.sqrt(len(logs)))
    effective = weights.sum() ** 2 / (weights**2).sum()
    return DrawnEvidence(float(top + np.log(mean)) + added, float(error), float(effective), added)


class _Drawn(NamedTuple):
    """ln π (S, K), ln A (S, K, K), and the emissions."""

    initial: Array
    moves: Array
    emissions: EmissionDraws


def _draw(
    paths: ChainPaths, emission: Any, sums: Sums, size: int, rng: np.random.Generator
) -> _Drawn:
    initial = draw_rows(paths.initial, sums[0], size, rng)
    moves = draw_rows(paths.transition, sums[1], size, rng)
    return _Drawn(initial, moves, emission.draw(sums[2:], size, rng))


def _log_joint(paths: ChainPaths, drawn: _Drawn, progress: Callable[[], Any] | None) -> Array:
    """Return ln p(X | θ) p(θ) of all draws, (S,)."""
    initial, moves, emissions = drawn
    logs = np.empty(len(initial))
    for s in range(len(logs)):
        logs[s] = _log_likelihood(paths, initial[s], moves[s], emissions.scores(s))
        if progress is not None:
            progress()
    logs += paths.initial.log_density(initial, paths.initial.concentration)
    logs += paths.transition.log_density(moves, paths.transition.concentration)
    return logs + emissions.log_priors.sum(axis=1)


def _log_likelihood(paths: ChainPaths, initial: Array, moves: Array, scores: Array) -> float:
    """Return Σ_s w_s ln p(x_s | θ)."""
    rows = paths.rows
    chain = chain_weights(initial, moves, rows.clamp(scores), rows.lengths)
    scaled = scaled_filter(chain)
    log_evidence = log_filter(chain)[1] if scaled is None else scaled.log_evidence
    return rows.sum_sequences(chain.by_sequence(log_evidence))


def _orders(paths: ChainPaths, alike: bool) -> Iterator[Array]:
    """Yield the orders of states that leave the prior as it is."""
    k = paths.n_states
    if not alike or k > MOST_ORDERED:
        yield np.arange(k)
        return
    first, moves = paths.initial.concentration, paths.transition.concentration
    for order in map(np.array, permutations(range(k))):
        if np.array_equal(first[order], first) and np.array_equal(moves[order][:, order], moves):
            yield order


def _log_beliefs(paths: ChainPaths, sums: Sums, drawn: _Drawn, orders: list[Array]) -> Array:
    """Return ln Σ_σ q(σθ) of all draws, (S,)."""
    states = np.arange(paths.n_states)
    first, then = paths.initial, paths.transition
    of_emissions = drawn.emissions.log_beliefs(sums[2:])
    each = []
    for order in orders:
        of_first = first.log_density(drawn.initial[:, order], first.concentration + sums[0])
        moved = drawn.moves[:, order][:, :, order]
        of_moves = then.log_density(moved, then.concentration + sums[1])
        each.append(of_emissions[:, states, order].sum(axis=1) + of_first + of_moves)
    return log_sum_exp(np.stack(each), axis=0)
