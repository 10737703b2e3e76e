r"""The evidence of a hidden chain, by draws of its parameters from the beliefs about them.

.. math:: p(X) = E_q\!\left[\frac{p(X\mid θ)\,p(θ)}{\bar q(θ)}\right], \qquad
   \bar q(θ) = \frac1{|G|}\sum_{σ\in G} q(σθ),

with paths summed out by a forward pass for each draw. q is a mixture: the beliefs, wider ones, and the
beliefs given paths that are drawn by turns with parameters. G are the orders of the states that the prior does
not tell apart: the posterior has a copy for each of them, of which q knows one. Where beliefs given a path
are exact and all orders are counted, half of the draws come from the posterior itself, and a bridge joins both halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.latent.contract import Sums
from posteriori.inference.latent.namings import (
    MOST_ORDERED,
    is_exchangeable,
    orders_of_states,
    symmetry_gain,
)
from posteriori.inference.sequences.draws.bridging import bridge
from posteriori.inference.sequences.draws.chain_turns import (
    DrawnChain,
    draw_chain,
    log_prior_of_chain,
    sums_of_path,
)
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array, IntArray

__all__ = ["DrawnEvidence", "count_orders", "draw_evidence"]

#: Shares of what was learned by which beliefs are drawn from, in equal parts: beliefs about parameters that
#: know nothing of one another or of the path are too narrow, and wider ones keep the weights bounded.
_SHARES = (1.0, 0.6, 0.35)


#: Beliefs given drawn paths that q has as well, where states have no more than so many orders: the cost grows
#: with both.
_GIVEN_PATHS, _FEW_ORDERS = 12, 24

#: Paths given which parameters are drawn from the posterior, and turns that lead to each from a place of its own:
#: one chain of many turns may stay where it began.
_GROUPS, _TURNS = 24, 20


class DrawnEvidence(NamedTuple):
    """An estimate of ln p(X).

    Attributes
    ----------
    value, error : float
        And its standard error.
    effective : float
        Draws that as many independent ones from the posterior would be worth.
    added : float
        Logarithm of the orders of more than six states that can be told apart, which were added at once.
    """

    value: float
    error: float
    effective: float
    added: float


def draw_evidence(
    paths: Any,
    emission: Any,
    sums: Sums,
    size: int,
    rng: np.random.Generator,
    *,
    alike: bool,
    progress: Callable[[], Any] | None = None,
) -> DrawnEvidence:
    """Return an estimate of the evidence by draws.

    Parameters
    ----------
    paths : ChainPaths or RunPaths
    emission : Components
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
    orders = _all_orders(paths, alike)
    n_wide = len(wide)

    def given_paths(most: int) -> list[Sums]:
        places = (wide[i % n_wide] for i in range(most))
        return [_given_path(paths, emission, place, rng) for place in places]

    whole = alike and is_exchangeable(paths) and paths.n_states > MOST_ORDERED
    if not whole and orders.n_orders <= _FEW_ORDERS:
        wide += given_paths(min(_GIVEN_PATHS, size // 100))
    # draws of the posterior come in all orders: those of one order that q knows cannot be joined with them
    joins = _is_exact(paths, emission) and not whole
    groups = given_paths(min(_GROUPS, size // 20)) if joins else []

    def ratios(own: Sums, some: int) -> Array:
        drawn = draw_chain(paths, emission, own, some, rng)
        each = np.stack([_log_beliefs(paths, other, drawn, orders) for other in wide])
        proposal = log_sum_exp(each, axis=0) - np.log(len(wide) * orders.n_orders)
        return _log_joint(paths, drawn, progress) - proposal

    ahead = size // 2 if groups else size
    proposed = [
        ratios(own, some) for own, some in zip(wide, _shares_of(ahead, len(wide)), strict=True)
    ]
    held = [
        ratios(own, some)
        for own, some in zip(groups, _shares_of(size - ahead, len(groups)), strict=True)
    ]
    found = bridge(np.concatenate(proposed), held)
    added = _log_orders(emission, sums[paths.n_sums :]) if whole else 0.0
    constant = emission.look(sums[paths.n_sums :]).constant
    return DrawnEvidence(found.value + constant + added, found.error, found.effective, added)


def count_orders(paths: Any, alike: bool) -> int:
    """Return how many orders of the states leave the prior as it is, as far as they are looked for."""
    return _all_orders(paths, alike).n_orders


def _log_orders(emission: Any, emitted: Sums) -> float:
    """Return ln K! less the orders that beliefs do not tell apart: those of states that are all but empty.

    Beliefs about states count the orders of components that these emit already.
    """
    log_b = emission.log_affinities(emitted)
    own = np.diag(log_b)
    return symmetry_gain(np.minimum(log_b - 0.5 * (own[:, None] + own), 0.0))


def _is_exact(paths: Any, emission: Any) -> bool:
    """Tell whether beliefs given paths are those of the posterior: not where a path counts more than once."""
    known = emission.exact or getattr(emission, "completes", False)
    return bool(paths.exact and known and paths.rows.weights is None)


def _shares_of(size: int, parts: int) -> Iterator[int]:
    """Yield so many draws for each of some parts."""
    return (size // parts + (i < size % parts) for i in range(parts))


def _given_path(paths: Any, emission: Any, sums: Sums, rng: np.random.Generator) -> Sums:
    """Return sums given a path: paths and parameters are drawn by turns, given one another (Gibbs).

    The posterior is the mixture of the beliefs given all paths, so some of them cover it well.
    """
    for _ in range(_TURNS):
        one = draw_chain(paths, emission, sums, 1, rng)
        logs = tuple(table[0] for table in one.tables)
        states = paths.draw(logs, one.emissions.scores(0), rng)
        sums = sums_of_path(paths, emission, one.emissions, states)
    return sums


def _log_joint(paths: Any, drawn: DrawnChain, progress: Callable[[], Any] | None) -> Array:
    """Return ln p(X | θ) p(θ) of all draws, (S,)."""
    logs = np.empty(len(drawn.tables[0]))
    for s in range(len(logs)):
        tables = tuple(table[s] for table in drawn.tables)
        logs[s] = paths.log_evidence(tables, drawn.emissions.scores(s))
        if progress is not None:
            progress()
    return logs + log_prior_of_chain(paths, drawn)


class _Orders(NamedTuple):
    """Orders of states that leave the prior as it is.

    Attributes
    ----------
    states : (G, K)
        What stands in the place of each state.
    entries : tuple of (G, M)
        By law of paths, where each of the M entries of its table goes.
    """

    states: IntArray
    entries: tuple[IntArray, ...]

    @property
    def n_orders(self) -> int:
        """|G|."""
        return len(self.states)


def _all_orders(paths: Any, alike: bool) -> _Orders:
    states = np.array(list(orders_of_states(paths, alike)))
    numbered = tuple(
        np.arange(law.concentration.size).reshape(law.concentration.shape) for law in paths.tables
    )
    back = [paths.reorder(numbered, order) for order in states.argsort(axis=1)]
    entries = tuple(np.array([t.ravel() for t in tables]) for tables in zip(*back, strict=True))
    return _Orders(states, entries)


def _log_beliefs(paths: Any, sums: Sums, drawn: DrawnChain, orders: _Orders) -> Array:
    r"""Return ln Σ_σ q(σθ) of all draws, (S,).

    The density of a law is linear in the logarithms ln p of its table, so that all orders of all draws are a
    product of matrices: Σ (α_{σ⁻¹(e)} − 1) ln p_e + const over its entries e, and no order changes the constant.
    """
    states = np.arange(paths.n_states)
    total = drawn.emissions.log_beliefs(sums[paths.n_sums :])[:, states, orders.states].sum(axis=2)
    laws = zip(paths.tables, sums, drawn.tables, orders.entries, strict=False)
    for law, counts, logs, entries in laws:
        powers, constant = law.density_terms(law.concentration + counts)
        seen = np.where(law.possible, logs, 0.0).reshape(len(logs), -1)
        total = total + seen @ powers.ravel()[entries].T + constant
    return log_sum_exp(total, axis=1)
