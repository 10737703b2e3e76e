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
from posteriori.sequence.markov_counts import count_moves, log_row_evidence, log_row_likelihood
from posteriori.sequence.symbol_sequences import (
    code_sequences,
    list_sequences,
    refuse_gaps,
    symbols_of,
)

__all__ = ["HomogeneityTest", "homogeneity_test"]


class HomogeneityTest(NamedTuple):
    """What counts say about one table for all parts.

    Attributes
    ----------
    log_bayes_factor : float
        ln p(moves | one table) − ln p(moves | a table per part), exact: positive speaks for one.
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
    coded = code_sequences(listed, states)
    refuse_gaps(coded)
    counts = count_moves(coded, len(states), order, parts)
    whole = counts.sum(axis=0)
    if not whole.any():
        raise ValueError(f"sequences of at most {order} symbols hold no move of order {order}")
    each = sum(log_row_evidence(part, concentration) for part in counts)
    statistic = max(2.0 * (log_row_likelihood(counts) - log_row_likelihood(whole)), 0.0)
    freedom = _degrees_of_freedom(counts)
    p_value = float(special.chdtrc(freedom, statistic)) if freedom else 1.0
    return HomogeneityTest(
        log_row_evidence(whole, concentration) - each, statistic, freedom, p_value
    )


def _degrees_of_freedom(counts: Array) -> int:
    """Return Σ over contexts of (parts seen − 1)(symbols seen − 1)."""
    parts = (counts.sum(axis=2) > 0).sum(axis=0)
    symbols = (counts.sum(axis=0) > 0).sum(axis=1)
    return int((np.maximum(parts - 1, 0) * np.maximum(symbols - 1, 0)).sum())
