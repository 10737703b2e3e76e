r"""Whether one transition table serves the whole of sequences: a Bayes factor and a G² test.

The moves of each sequence are cut into equal parts. With one table the counts of all parts add up;
with a table each they do not:

.. math:: \ln B = \ln p\Bigl(\sum_p n_p\Bigr) - \sum_p \ln p(n_p), \qquad
          G^2 = 2 \sum_{pij} n_{pij} \ln\frac{n_{pij}/n_{pi\cdot}}{n_{\cdot ij}/n_{\cdot i\cdot}}.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array
from posteriori.sequence.markov_counts import MarkovCounts, count_symbols, log_row_likelihood
from posteriori.sequence.symbol_gaps import GappySequences, are_countable, sum_completions
from posteriori.sequence.symbol_sequences import (
    code_sequences,
    list_sequences,
    symbols_of,
    trim_gaps,
)

__all__ = ["HomogeneityTest", "homogeneity_test"]


class HomogeneityTest(NamedTuple):
    """What counts say about one table for all parts.

    Attributes
    ----------
    log_bayes_factor : float
        ln p(symbols | one table) − ln p(symbols | a table per part), exact: positive speaks for one.
    statistic : float
        G², for large counts of χ² where one table is right.
    degrees_of_freedom : int
        Over the rows and columns that were seen.
    p_value : float
        P(χ² ≥ G²).
    """

    log_bayes_factor: float
    statistic: float
    degrees_of_freedom: int
    p_value: float


def homogeneity_test(
    sequences: Any,
    parts: int = 2,
    *,
    order: int = 1,
    concentration: float = 1.0,
    lengths: ArrayLike | None = None,
) -> HomogeneityTest:
    """Compare one transition table with a table for each part of the sequences.

    Parameters
    ----------
    sequences : list of sequences of symbols, or one
    parts : int
        Into how many parts of equal length the moves of each sequence are cut.
    order : int
        How many predecessors a symbol depends on.
    concentration : float
        Dirichlet prior of each cell, for the Bayes factor.
    lengths : (S,), optional
        Of the sequences, where they are one column.

    Raises
    ------
    ValueError
        When there is no move, or more symbols are missing than can be summed over.

    Notes
    -----
    None and NaN are missing symbols. The Bayes factor sums over all that could stand there, up to 2¹⁶ ways; the
    statistic counts the moves that are seen whole. Missing symbols at the end of a sequence are left out.

    Examples
    --------
    >>> found = homogeneity_test("ab" * 20 + "abba" * 10)
    >>> found.log_bayes_factor < 0, found.degrees_of_freedom, found.p_value < 1e-3
    (True, 2, True)
    """
    if parts < 2:
        raise ValueError(f"parts must be at least 2, got {parts}")
    if order < 0:
        raise ValueError(f"order must not be negative, got {order}")
    if not concentration > 0.0:
        raise ValueError(f"concentration must be positive, got {concentration}")
    listed = list_sequences(sequences, lengths)
    states = symbols_of(listed)
    coded = trim_gaps(code_sequences(listed, states))
    if max(map(len, coded.sequences)) <= order:
        raise ValueError(f"sequences of at most {order} symbols hold no move of order {order}")
    each = count_symbols(coded, len(states), order, parts=parts)
    one = each._replace(moves=each.moves.sum(axis=0, keepdims=True))
    gappy = GappySequences.among(coded, len(states), order, parts)
    factor = _log_evidence(gappy._replace(parts=1), one, concentration)
    factor -= _log_evidence(gappy, each, concentration)
    statistic = max(2.0 * (log_row_likelihood(each.moves) - log_row_likelihood(one.moves)), 0.0)
    freedom = _degrees_of_freedom(each.moves)
    p_value = float(special.chdtrc(freedom, statistic)) if freedom else 1.0
    return HomogeneityTest(factor, statistic, freedom, p_value)


def _log_evidence(gappy: GappySequences, seen: MarkovCounts, concentration: float) -> float:
    """Return ln p of all symbols that are seen, with the first ones, whose law is one for all parts."""
    if not gappy.gaps:
        return seen.log_evidence(concentration)
    if not are_countable(gappy, seen):
        raise ValueError(
            f"sequences miss {len(gappy.gaps)} symbols, too many to sum over with the tables integrated out; "
            "cut the sequences there"
        )
    return sum_completions(gappy, seen, concentration).value


def _degrees_of_freedom(counts: Array) -> int:
    """Return Σ over contexts of (parts seen − 1)(symbols seen − 1)."""
    parts = (counts.sum(axis=2) > 0).sum(axis=0)
    symbols = (counts.sum(axis=0) > 0).sum(axis=1)
    return int((np.maximum(parts - 1, 0) * np.maximum(symbols - 1, 0)).sum())
