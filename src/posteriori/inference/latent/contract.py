"""What components, assignments and the ascent over both answer to one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from posteriori.numerics.types import Array, IntArray

__all__ = ["Assigned", "Assignments", "Components", "Learned", "Scored", "Sums", "reordered"]

#: What is learned from, in parts: arrays, or members where rows are fitted.
Sums = tuple[Any, ...]


class Scored(NamedTuple):
    """Rows as the groups that some sums lead to see them.

    Attributes
    ----------
    scores : (T, K)
        ln p(x_t | θ_k) or its expectation, 0 of a missing row, less what all have in common. It may be overwritten.
    constant, bonus : float
        Σ w of that, and what the objective has beside the rows: ln p(θ), or −Σ KL.
    summarize : callable
        From shares (T, K), each times the weight of its row, the next sums.
    """

    scores: Array
    constant: float
    bonus: float
    summarize: Callable[[Array], Sums]


class Assigned(NamedTuple):
    """What rows say of their groups.

    Attributes
    ----------
    log_likelihood, bonus : float
        Σ w ln p(x), of certain assignments Σ w max ln p(x, z); what the laws add to the objective.
    shares, sums
        p(z_t = k | x) times how often the row counts, (T, K); what the laws are learned from next.
    """

    log_likelihood: float
    bonus: float
    shares: Array
    sums: Sums


class Learned(NamedTuple):
    """What groups emit.

    Attributes
    ----------
    emission, beliefs : object
        A batch (K,) or (K, D) of distributions, or densities with ``log_prob`` and ``sample``; about the parameters.
    n_parameters, n_shared : int
        Free parameters of one group, 0 where they cannot be counted; those that all have in common.
    """

    emission: Any
    beliefs: Any = None
    n_parameters: int = 0
    n_shared: int = 0


class Components(Protocol):
    """Rows, and how what groups emit is learned from them.

    Those with beliefs have ``log_affinities(sums)``, ln ∫√(q_j q_k) (K, K) or more, and ``draw(sums, size, rng)``.
    """

    @property
    def numeric(self) -> bool:
        """Whether sums are numbers, which jumps may move."""

    @property
    def exact(self) -> bool:
        """Whether beliefs are exact where the groups are known."""

    @property
    def n_sums(self) -> int:
        """Number of parts of the sums."""

    def expected_sums(self, shares: Array) -> Sums:
        """Return the sums expected under responsibilities (T, K), the shares by which rows belong to groups."""

    def look(self, sums: Sums) -> Scored:
        """Return the rows as groups of these sums see them."""

    def learn(self, sums: Sums) -> Learned:
        """Return what groups of these sums emit."""

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the sums of groups in another order."""


class Assignments(Protocol):
    """Laws of who belongs to which, and rows that follow them."""

    @property
    def n_sums(self) -> int:
        """Number of parts of the sums."""

    def start(self, states: IntArray) -> Sums:
        """Return sums near those of known groups, under which everything possible stays so."""

    def expect(self, sums: Sums, scores: Array) -> Assigned:
        """Return what rows say of their groups; ``scores`` (T, K) may be overwritten."""

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the sums of groups in another order."""


def reordered(sums: Sums, order: Array) -> Sums:
    """Return sums whose first axis counts the groups, in another order."""
    return tuple(part[order] for part in sums)
