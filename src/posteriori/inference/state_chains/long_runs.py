r"""Hidden states given that none of their runs is shorter than so many rows.

.. math:: p(z_t \mid y, \text{every run lasts at least } m \text{ rows}),

the chain's own posterior of paths, of which those with a shorter run are left out. It is that of a chain whose
states stand in lines of m places: the first m − 1 lead to the next place, the last one stays or leaves. What the
series does not show is not asked for: its first run may have begun before, its last one may go on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.state_chains.hidden_markov import forward_backward
from posteriori.numerics.types import Array, IntArray

__all__ = ["LongRuns", "smooth_long_runs"]


class LongRuns(NamedTuple):
    """What is known of states whose runs last.

    Attributes
    ----------
    probabilities : (ΣT, K)
        p(state | series, no run is shorter) of every step.
    log_joint : (S,)
        ln p(series, no run is shorter) of each series.
    """

    probabilities: Array
    log_joint: Array


def smooth_long_runs(
    initial: Array, transition: Array, scores: Array, least: int, lengths: IntArray
) -> LongRuns:
    """Return what is known of the states given that no run is shorter than ``least`` rows.

    Parameters
    ----------
    initial : (K,)
    transition : (K, K)
        From row to column.
    scores : (ΣT, K)
        ln p(x_t | z_t); 0 where x_t is missing.
    least : int
        Rows; with 1 these are the usual probabilities.
    lengths : (S,)
        Steps of each series.

    Notes
    -----
    O(T K² m²).

    Examples
    --------
    >>> scores = np.log([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.9, 0.1], [0.9, 0.1]])
    >>> stay = np.array([[0.7, 0.3], [0.3, 0.7]])
    >>> for least in (1, 2):  # the middle row alone is no run of two
    ...     p = smooth_long_runs(np.full(2, 0.5), stay, scores, least, np.array([5]))
    ...     print(p.probabilities[2].round(2))
    [0.53 0.47]
    [0.83 0.17]
    """
    with np.errstate(divide="ignore"):
        starts, moves = np.log(initial), np.log(transition)
    count = len(starts)
    first, last = least * np.arange(count), least * np.arange(count) + least - 1
    begun = np.full(count * least, -np.inf)
    begun[last] = starts
    lines = np.full((count * least, count * least), -np.inf)
    lines[np.ix_(last, first)] = moves
    for k in range(count):
        lines[last[k], first[k]] = -np.inf  # back to its own first place, unless it is the last
        places = np.arange(first[k], last[k])
        lines[places, places + 1] = moves[k, k]
        lines[last[k], last[k]] = moves[k, k]
    found = forward_backward(begun, lines, np.repeat(scores, least, axis=1), lengths=lengths)
    shares = np.add.reduceat(found.probabilities, first, axis=1)
    return LongRuns(shares, np.asarray(found.log_evidence))
