r"""What counting all namings of the components adds to a bound on the evidence.

A mixture of K components with one prior is the same under all K! namings, and its posterior has as
many copies. A belief q sits at one of them; the even mixture of all copies is better by at least

.. math:: \ln K! - \ln \mathrm{perm}\,B, \qquad B_{jk} = \int \sqrt{q(θ_j = θ)\,q(θ_k = θ)}\,dθ,

with Bhattacharyya's coefficients B, of an exponential family
:math:`\exp\{A(\tfrac12η_j+\tfrac12η_k) - \tfrac12A(η_j) - \tfrac12A(η_k)\}`. Components without rows
are alike (B = 1) and gain nothing by exchange. States of a chain can be exchanged where the laws of
their paths have one prior, too, and no row is labelled with them.

Reference: A. Kolchinsky & B. Tracey, "Estimating mixture entropy with pairwise distances", 2017.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
from scipy.special import gammaln

from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = [
    "MOST_ORDERED",
    "gain_of_orders",
    "is_exchangeable",
    "log_affinities",
    "naming_gain",
    "orders_of_states",
    "symmetry_gain",
]

#: Up to so many states all their orders are counted one by one.
MOST_ORDERED = 6

#: A permanent is summed over all 2^K sets of columns up to here; beyond, row sums bound it.
_MOST_EXACT = 12


def log_affinities(log_normalizer: Array, halfway: Array) -> Array:
    """Return ln B (K, K) of an exponential family.

    Parameters
    ----------
    log_normalizer : (K,)
        A(η_k).
    halfway : (K, K)
        A(½η_j + ½η_k).
    """
    log_b = halfway - 0.5 * (log_normalizer[:, None] + log_normalizer)
    np.fill_diagonal(log_b, 0.0)
    return np.minimum(log_b, 0.0)


def symmetry_gain(log_b: Array) -> float:
    """Return ln K! − ln perm B, never below 0; of more than 12 components a lower bound of it.

    Parameters
    ----------
    log_b : (K, K)
        Logarithms of Bhattacharyya's coefficients. Where components have exchangeable parts of their own, those
        of the even mixtures of their copies, of which that of one with itself is below 0.

    Examples
    --------
    >>> round(symmetry_gain(np.log(np.eye(3) + 1e-300)), 6)  # nothing in common: ln 3!
    1.791759
    >>> symmetry_gain(np.zeros((3, 3)))  # all alike
    0.0
    """
    b = np.exp(log_b)
    log_permanent = _log_permanent(b) if len(b) <= _MOST_EXACT else np.log(b.sum(axis=1)).sum()
    return float(max(gammaln(len(b) + 1.0) - log_permanent, 0.0))


def gain_of_orders(log_b: Array, orders: Array) -> float:
    """Return ln |G| − ln Σ_σ Π_j B_{jσ(j)}, never below 0, where only the orders σ (G, K) are alike a priori."""
    each = log_b[np.arange(len(log_b)), orders].sum(axis=1)
    return float(max(np.log(len(orders)) - log_sum_exp(each), 0.0))


def is_exchangeable(paths: Any) -> bool:
    """Tell whether the prior of paths is the same under all orders of the states."""
    first, moves = paths.initial.concentration, paths.transition.concentration
    apart = moves[~np.eye(len(first), dtype=bool)]
    same = np.ptp(first) == 0.0 and np.ptp(np.diag(moves)) == 0.0
    return bool(same and (not apart.size or np.ptp(apart) == 0.0))


def orders_of_states(paths: Any, alike: bool) -> Iterator[Array]:
    """Yield the orders of states that leave the prior as it is; of more than six the given one alone."""
    k = paths.n_states
    if not alike or k > MOST_ORDERED:
        yield np.arange(k)
        return
    before = [law.concentration for law in paths.tables]
    for order in map(np.array, permutations(range(k))):
        after = paths.reorder(tuple(before), order)
        if all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)):
            yield order


def naming_gain(paths: Any, alike: bool, log_b: Array) -> float:
    """Return what counting all namings of the states adds to a bound of one.

    States that rows are labelled with have their names.

    Parameters
    ----------
    paths : ChainPaths or RunPaths
    alike : bool
        Whether states have one prior of their emissions.
    log_b : (K, K)
        Logarithms of Bhattacharyya's coefficients of the beliefs about emissions.
    """
    named, labels = np.zeros(len(log_b), dtype=bool), paths.rows.labels
    if labels is not None:
        named[labels[labels >= 0]] = True
    if alike and is_exchangeable(paths):
        free = log_b[np.ix_(~named, ~named)]
        return symmetry_gain(free) - float(np.diag(log_b)[named].sum())
    states = np.arange(len(log_b))
    orders = [o for o in orders_of_states(paths, alike) if np.array_equal(o[named], states[named])]
    return gain_of_orders(log_b, np.array(orders))


def _log_permanent(b: Array) -> float:
    """Return ln Σ_σ Π_j B_{jσ(j)} of a matrix with entries >= 0.

    Rows are placed one after another: f(S) sums the products of the first |S| rows over their
    assignments to the columns in S. All terms are positive, so that no digits are lost.
    """
    k = len(b)
    sets = np.zeros(1 << k)
    sets[0] = 1.0
    sizes = np.bitwise_count(np.arange(1 << k, dtype=np.uint32))
    for row in range(k):
        here = np.flatnonzero(sizes == row)
        for column in range(k):
            free = here[(here >> column) & 1 == 0]
            sets[free | (1 << column)] += b[row, column] * sets[free]
    return float(np.log(sets[-1]))
