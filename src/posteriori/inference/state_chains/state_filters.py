r"""Filters of hidden Markov chains: what is known of the state now, as rows arrive.

.. math:: P(z_t = k\mid y_1, \dots, y_t) \propto
          \ell_t(k) \sum_j P(z_{t-1} = j\mid y_1, \dots, y_{t-1})\,A_{jk}.

A belief about the last row is all that later rows need: it takes the place of :math:`\pi` after one
transition. It is kept as logarithms, so that no state is lost that later rows may need.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.inference.state_chains.chain_weights import chain_weights, log_weights
from posteriori.inference.state_chains.scaled_chains import log_filter, scaled_filter
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = ["FilteredStates", "filter_states", "step_states"]


class FilteredStates(NamedTuple):
    """What is known of states from the rows up to theirs.

    Attributes
    ----------
    probabilities : array (..., T, K)
        P(z_t = k | y_1, …, y_t) of the rows of this call; the last is the state now.
    log_evidence : array (...)
        ln p(y) of all rows so far; (S,) where lengths were given.
    belief : array
        Logarithms of what is known of the last row, which :func:`step_states` goes on from.
    """

    probabilities: Array
    log_evidence: Array
    belief: Array


def filter_states(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_likelihood: ArrayLike,
    *,
    lengths: ArrayLike | None = None,
) -> FilteredStates:
    """Return P(z_t | y_1, …, y_t) of every row, and the evidence.

    Parameters and errors are those of :func:`posteriori.inference.forward_backward`. The belief is
    (..., K), (S, K) where lengths were given. O(T K²).

    Examples
    --------
    >>> rain = filter_states(
    ...     np.log([0.5, 0.5]), np.log([[0.7, 0.3], [0.3, 0.7]]), np.log([[0.9, 0.2], [0.9, 0.2]])
    ... )
    >>> rain.probabilities.round(4)  # Russell and Norvig's umbrella on two days
    array([[0.8182, 0.1818],
           [0.8834, 0.1166]])
    """
    chain = chain_weights(log_initial, log_transition, log_likelihood, lengths)
    scaled, ends = scaled_filter(chain), chain.starts[1:] - 1
    if scaled is None:
        logs, log_evidence = log_filter(chain)
        belief, filtered = logs[:, ends], np.exp(logs, out=logs)
    else:
        filtered, log_evidence = scaled.filtered, scaled.log_evidence
        with np.errstate(divide="ignore"):
            belief = np.log(filtered[:, ends])
    return FilteredStates(
        chain.by_row(filtered), chain.by_sequence(log_evidence), chain.by_sequence(belief)
    )


def step_states(
    now: FilteredStates, log_transition: ArrayLike, log_likelihood: ArrayLike
) -> FilteredStates:
    """Go on with rows after the last one.

    Parameters
    ----------
    now : FilteredStates
        Of one sequence.
    log_transition : array (K, K)
        ln A.
    log_likelihood : array (T, K)
        Of the new rows.

    Examples
    --------
    >>> moves, umbrella = np.log([[0.7, 0.3], [0.3, 0.7]]), np.log([[0.9, 0.2]])
    >>> now = filter_states(np.log([0.5, 0.5]), moves, umbrella)
    >>> step_states(now, moves, umbrella).probabilities.round(4)
    array([[0.8834, 0.1166]])
    """
    transition = log_weights("log_transition", log_transition)
    predicted = log_sum_exp(now.belief[:, None] + transition, axis=0)
    later = filter_states(predicted, transition, log_likelihood)
    return later._replace(log_evidence=now.log_evidence + later.log_evidence)
