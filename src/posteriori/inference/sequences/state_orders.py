"""Which orders of the states leave the prior of a hidden chain as it is, and what counting all of them adds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np

from posteriori.inference.latent.namings import gain_of_orders, symmetry_gain
from posteriori.numerics.types import Array

__all__ = ["MOST_ORDERED", "is_exchangeable", "naming_gain", "orders_of_states"]

#: Up to so many states all their orders are counted one by one.
MOST_ORDERED = 6


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
