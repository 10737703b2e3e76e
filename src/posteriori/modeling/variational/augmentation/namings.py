r"""Names of classes: which could be exchanged, and which naming a draw has.

Classes whose parameters have one prior can exchange their names without a change of the density, so
that the posterior has as many copies as there are namings. An ascent finds one of them. Draws stay in
that copy if each naming of the states z agrees less with the fitted probabilities q than their own:

.. math:: \sum_n q(z_n) \ge \sum_n q(\pi(z_n)) \quad \text{for all permutations } \pi.

Every draw has one naming of which that is true. So the posterior under this constraint is that of
all draws, each named to agree best.

Reference: M. Stephens, "Dealing with label switching in mixture models", 2000.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from posteriori.modeling.binding.labelled import Axis, Switch, Table
from posteriori.modeling.variational.densities.monomials import Monomial
from posteriori.numerics.types import Array

__all__ = ["Namings", "count_namings", "find_alike"]


class Namings:
    """The namings that classes of a discrete variable could have had.

    Parameters
    ----------
    fitted : array (*shape, K)
        Fitted probabilities of the states.
    alike : sequence of tuples of int
        States that can exchange their names, group by group.
    """

    def __init__(self, fitted: Array, alike: Sequence[tuple[int, ...]]) -> None:
        size = fitted.shape[-1]
        self._fitted = fitted.reshape(-1, size)
        self._orders = np.array(list(_orders(size, alike)))

    def are_kept(self, states: Array) -> Array:
        """Tell of draws of all states, codes (S, *shape), whether no other naming agrees better."""
        size = self._fitted.shape[-1]
        codes = states.reshape(len(states), -1)
        drawn = np.equal.outer(np.arange(size), codes).astype(np.float64)  # (K, S, N)
        agreement = np.moveaxis(drawn @ self._fitted, 0, 1)  # Σ_n 1[z_n = j] q(k), (S, K, K)
        scores = agreement[:, np.arange(size), self._orders].sum(axis=-1)  # (S, orders)
        return np.asarray(scores[:, 0] >= scores.max(axis=1))


def count_namings(alike: Iterable[tuple[int, ...]]) -> int:
    """Return how many namings there are."""
    return math.prod(math.factorial(len(group)) for group in alike)


def _orders(size: int, alike: Sequence[tuple[int, ...]]) -> Iterable[Array]:
    """Yield all permutations within groups, that which changes nothing first."""
    for choice in itertools.product(*(itertools.permutations(group) for group in alike)):
        order = np.arange(size)
        for group, permuted in zip(alike, choice, strict=True):
            order[list(group)] = permuted
        yield order


def find_alike(monomials: Sequence[Monomial], name: str, size: int) -> list[tuple[int, ...]]:
    """Return groups of states of a variable that can exchange names without a change of the density.

    Parameters
    ----------
    monomials : sequence of Monomial
        The log density.
    name : str
        The discrete variable.
    size : int
        How many states it has.
    """
    labels = _labels_of_states(monomials, name)
    if labels is None or any(axis.size != size for axis in labels):
        return []
    tables = [table for m in monomials for table in m.tables if labels.intersection(table.axes)]
    groups: list[list[int]] = []
    for state in range(size):
        for group in groups:
            if all(_is_symmetric(table, labels, group[0], state) for table in tables):
                group.append(state)
                break
        else:
            groups.append([state])
    return [tuple(group) for group in groups if len(group) > 1]


def _labels_of_states(monomials: Sequence[Monomial], name: str) -> set[Axis] | None:
    """Return all labels that count the states, or what belongs to each; None where one is looked up."""
    labels: set[Axis] = set()
    axes: set[tuple[str, int]] = set()
    before = (-1, -1)
    while (len(labels), len(axes)) != before:
        before = len(labels), len(axes)
        for access in (access for m in monomials for access in m.accesses):
            if isinstance(access, Switch) and access.name == name:
                labels.add(access.state)
            for i, place in enumerate(access.places):
                if labels.intersection(place.labels):
                    axes.add((access.name, i))
                if (access.name, i) in axes and not isinstance(place, Axis):
                    return None
                if (access.name, i) in axes:
                    labels.add(place)
    return labels


def _is_symmetric(table: Table, labels: set[Axis], first: int, second: int) -> bool:
    """Tell whether two states can change places in a table."""
    values: Any = table.values
    for axis, label in enumerate(table.axes):
        if label in labels:
            order = np.arange(label.size)
            order[[first, second]] = second, first
            values = values.take(order, axis=axis)
    return bool(np.array_equal(values, table.values))
