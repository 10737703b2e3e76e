"""What the ascent of a hidden chain and what its states emit answer to one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from posteriori.numerics.types import Array

__all__ = ["EmissionDraws", "EmissionModel", "EmissionView", "LearnedEmission", "Sums", "reordered"]

#: What parameters or beliefs are learned from, in parts: arrays, or members where rows are fitted.
Sums = tuple[Any, ...]


class EmissionView(NamedTuple):
    """Rows as the states that some sums lead to see them.

    Attributes
    ----------
    scores : (T, K)
        ln p(x_t | θ_k) or E[ln p(x_t | θ_k)] less what all states have in common; 0 of a missing
        row. It may be overwritten.
    constant : float
        Σ w of what all states have in common.
    bonus : float
        What the objective has beside the rows: ln p(θ), or −Σ KL.
    summarize : callable
        From shares (T, K), each times the weight of its row, the next sums.
    """

    scores: Array
    constant: float
    bonus: float
    summarize: Callable[[Array], Sums]


class EmissionDraws(NamedTuple):
    """Parameters drawn from beliefs.

    Attributes
    ----------
    scores : callable
        From the number of a draw, ln p(x_t | θ_k), (T, K).
    log_beliefs : callable
        From sums, ln q_j(θ_k) (S, K, K): what the belief about state j says of what was drawn for k.
    log_priors : callable
        To ln p(θ_k), (S, K).
    complete : callable or None
        From the number of a draw, states (T,) and how often rows count, the sums of a draw of what else is
        hidden in the rows; None where nothing is, or where beliefs would not be exact given it.
    parameters : callable or None
        To draws (S, K, ...) by name, in the units of the data; None where they have no names.
    """

    scores: Callable[[int], Array]
    log_beliefs: Callable[[Sums], Array]
    log_priors: Callable[[], Array]
    complete: Callable[[int, Array, Array | None], Sums] | None = None
    parameters: Callable[[], dict[str, Array]] | None = None


class LearnedEmission(NamedTuple):
    """What states emit.

    Attributes
    ----------
    emission : distribution or densities
        A batch (K,) of rows or (K, D) of columns, or an object with ``log_prob`` and ``sample``.
    beliefs : object or None
        About the parameters.
    n_parameters : int
        Free parameters of one state; 0 where they cannot be counted.
    n_shared : int
        Free parameters that all states have in common.
    """

    emission: Any
    beliefs: Any = None
    n_parameters: int = 0
    n_shared: int = 0


class EmissionModel(Protocol):
    """Rows, and how what states emit is learned from them.

    Those with beliefs have ``log_affinities(sums)`` as well, ln ∫√(q_j q_k) (K, K) or a bound from above, and where
    these can be drawn from ``draw(sums, size, rng)``.
    """

    @property
    def numeric(self) -> bool:
        """Whether sums are numbers, which jumps may move."""
        ...

    @property
    def exact(self) -> bool:
        """Whether beliefs are exact where the states are known."""
        ...

    @property
    def n_sums(self) -> int:
        """Number of parts of the sums."""
        ...

    def expected_sums(self, shares: Array) -> Sums:
        """Return the sums expected under responsibilities (T, K), the shares by which rows belong to states."""

    def look(self, sums: Sums) -> EmissionView:
        """Return the rows as states of these sums see them."""

    def learn(self, sums: Sums) -> LearnedEmission:
        """Return what states of these sums emit."""

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the sums of states in another order."""


def reordered(sums: Sums, order: Array) -> Sums:
    """Return sums whose first axis counts the states, in another order."""
    return tuple(part[order] for part in sums)
