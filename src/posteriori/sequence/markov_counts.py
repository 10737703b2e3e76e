r"""Counts of symbols and what they say of the tables of a Markov chain, exactly.

The first M symbols and every row of a transition table have independent Dirichlet laws with α per
cell. Counts n of the cells of a row have the probability

.. math:: \frac{\Gamma(K\alpha)}{\Gamma(K\alpha + n)} \prod_k \frac{\Gamma(\alpha + n_k)}{\Gamma(\alpha)},

as the order of the symbols is known. A Dirichlet law over the :math:`K^M` first tuples is one for the
first symbol, one for the second given the first, and so on, each with α times the number of tuples
that it stands for: so sequences shorter than M count, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array, IntArray
from posteriori.sequence.symbol_sequences import CodedSequences, context_numbers, touched_steps

__all__ = [
    "MarkovCounts",
    "count_symbols",
    "log_row_evidence",
    "log_row_evidences",
    "log_row_likelihood",
    "table_numbers",
]


class MarkovCounts(NamedTuple):
    """What sequences say of a chain of order M.

    Attributes
    ----------
    first : tuple of M arrays (K^m, K)
        How often each symbol m + 1 followed the m first ones.
    moves : (1, K^M, K), or (P, K^M, K) where parts of the sequences, or all steps, have their own tables
        How often each symbol followed the M before it.
    """

    first: tuple[Array, ...]
    moves: Array

    def add(self, other: MarkovCounts) -> MarkovCounts:
        """Return the counts of both."""
        steps = max(len(self.moves), len(other.moves))
        moves = np.zeros((steps, *self.moves.shape[1:]))
        moves[: len(self.moves)] += self.moves
        moves[: len(other.moves)] += other.moves
        first = tuple(a + b for a, b in zip(self.first, other.first, strict=True))
        return MarkovCounts(first, moves)

    def log_evidence(self, concentration: float) -> float:
        """Return ln p(all symbols), the tables integrated out."""
        tables = zip(self.first, self.first_concentrations(concentration), strict=True)
        starts = sum(log_row_evidence(counts, alpha) for counts, alpha in tables)
        return starts + log_row_evidence(self.moves, concentration)

    def log_likelihood(self) -> float:
        """Return the largest ln p(all symbols)."""
        return sum(map(log_row_likelihood, self.first)) + log_row_likelihood(self.moves)

    def beliefs(self, concentration: float) -> tuple[list[Array], Array]:
        """Return the Dirichlet parameters of the first symbols' tables and of the moves."""
        tables = zip(self.first, self.first_concentrations(concentration), strict=True)
        return [counts + alpha for counts, alpha in tables], self.moves + concentration

    def first_concentrations(self, concentration: float) -> list[float]:
        """Return the concentrations of a cell of the first symbols' tables."""
        size, order = self.moves.shape[-1], len(self.first)
        return [concentration * size ** (order - 1 - m) for m in range(order)]


def count_symbols(
    coded: CodedSequences, size: int, order: int, *, parts: int | None = 1
) -> MarkovCounts:
    """Count the first symbols and the moves of all sequences, by their weights.

    What a missing symbol touches is left out. Moves are counted apart in equal parts of each sequence, or in all
    steps (None).
    """
    first = [np.zeros((size**m, size)) for m in range(order)]
    longest = max((len(codes) for codes in coded.sequences), default=0)
    tables = max(longest - order, 1) if parts is None else parts
    moves = np.zeros((tables, size**order, size))
    for codes, weight in zip(coded.sequences, coded.weights, strict=True):
        seen = ~touched_steps(codes, order)
        for m in range(min(order, len(codes)) if seen[:1].all() else 0):
            first[m][context_numbers(codes[: m + 1], size, m)[0], codes[m]] += weight
        at = np.flatnonzero(seen[order:])
        contexts, after = context_numbers(codes, size, order)[at], codes[order:][at]
        table = table_numbers(len(codes) - order, parts)[at]
        np.add.at(moves, (table, contexts, after), weight)
    return MarkovCounts(tuple(first), moves)


def table_numbers(moves: int, parts: int | None) -> IntArray:
    """Return which table each move of a sequence goes by: of equal parts, or one for each step (None).

    Examples
    --------
    >>> table_numbers(5, 2), table_numbers(3, None)
    (array([0, 0, 0, 1, 1]), array([0, 1, 2]))
    """
    steps = np.arange(moves)
    return steps if parts is None else steps * parts // max(moves, 1)


def log_row_evidence(counts: Array, concentration: float) -> float:
    """Return ln p(symbols) of all rows (..., K) together, each with its own Dirichlet law.

    Examples
    --------
    >>> np.exp(log_row_evidence(np.array([[2.0, 1.0]]), 1.0)).round(6)  # 1/2 · 2/3 · 1/4
    np.float64(0.083333)
    """
    return float(log_row_evidences(counts[None], concentration)[0])


def log_row_evidences(counts: Array, concentration: float) -> Array:
    """Return ln p(symbols) of the rows (C, ..., K) of each of C tables together, (C,)."""
    log_gamma, size, several = special.gammaln, counts.shape[-1], len(counts)
    rows = log_gamma(size * concentration) - log_gamma(size * concentration + counts.sum(axis=-1))
    cells = log_gamma(counts + concentration) - log_gamma(concentration)
    return np.asarray(
        rows.reshape(several, -1).sum(axis=1) + cells.reshape(several, -1).sum(axis=1)
    )


def log_row_likelihood(counts: Array) -> float:
    """Return Σ n ln(n / Σ n) of all rows (..., K) together."""
    totals = counts.sum(axis=-1)
    return float(special.xlogy(counts, counts).sum() - special.xlogy(totals, totals).sum())
