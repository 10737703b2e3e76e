r"""Classes that share their members are made one where that raises the bound.

Two classes that describe one cluster part with their members so slowly that an ascent ends before it
has emptied one of them. When sweeps gain little, one class is given the members of another,

.. math:: q'(z = b) = q(z = a) + q(z = b), \qquad q'(z = a) = 0,

and the beliefs are kept if a few sweeps from there end higher; so the bound never falls. Pairs are
tried in the order of :math:`\sum_n q(z_n = a)\, q(z_n = b)`, in parts of the largest possible value.

Reference: Ueda, Nakano, Ghahramani and Hinton (2000), SMEM algorithm for mixture models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from posteriori.modeling.variational.ascent.problem import Problem, restore
from posteriori.numerics.types import Array

__all__ = ["Merger", "rises_above"]

#: Sweeps that gain less than this, in nats, are slow; after so many of them merges are tried.
_SLOW, _PATIENCE = 1.0, 10

#: Pairs that are tried at a time, and the sweeps that each trial is given at most.
_PAIRS, _SWEEPS = 3, 10

#: Pairs that share less than this are not tried.
_LEAST = 0.01


class Pair(NamedTuple):
    """A class that gives its members to another one, of one variable."""

    name: str
    source: int
    target: int


class Merger:
    """Watches an ascent, and merges classes when it has become slow.

    Parameters
    ----------
    problem : Problem
    names : iterable of str
        Indices of unknown parameters.
    sweep : callable
        Updates all nodes of the problem, and returns the bound of each start.
    """

    def __init__(
        self, problem: Problem, names: Iterable[str], sweep: Callable[[Problem], Array]
    ) -> None:
        self.problem = problem
        self.names = list(names)
        self._sweep = sweep
        self._slow, self._patience = 0, _PATIENCE
        self._refused: set[Pair] = set()

    def is_due(self, rise: float) -> bool:
        """Tell whether sweeps have been slow for long, given what the last one gained."""
        self._slow += rise < _SLOW
        return bool(self.names) and self._slow >= self._patience

    def raised(self, bound: float) -> bool:
        """Merge the first of some pairs that ends above a bound; else change nothing."""
        for pair in self._pairs()[:_PAIRS]:
            if self._merge(pair, bound):
                self._refused.clear()
                return True
            self._refused.add(pair)
        self._slow, self._patience = 0, 2 * self._patience
        return False

    def _pairs(self) -> list[Pair]:
        """Return pairs that may be one class, those that share most first."""
        found: dict[Pair, float] = {}
        for name in self.names:
            shared = self.problem.owner[name].overlaps(name)
            own = np.sqrt(np.maximum(np.diag(shared), np.finfo(float).tiny))
            for a, b in zip(*np.triu_indices(len(own), 1), strict=True):
                source, target = (a, b) if own[a] < own[b] else (b, a)
                part = float(shared[a, b] / (own[a] * own[b]))
                if part >= _LEAST and own[source] > 0.5:
                    found[Pair(name, int(source), int(target))] = part
        return sorted(found.keys() - self._refused, key=lambda p: (-found[p], p))

    def _merge(self, pair: Pair, bound: float) -> bool:
        """Merge two classes and sweep; where that ends no higher, take it back."""
        kept = self.problem.snapshot()
        self.problem.owner[pair.name].merge(*pair)
        if rises_above(bound, self.problem, self._sweep):
            return True
        restore(kept)
        self.problem.reduce()  # sums of the local nodes as they were
        return False


def rises_above(bound: float, problem: Problem, sweep: Callable[[Problem], Array]) -> bool:
    """Tell whether a few sweeps end above a bound."""
    before = -np.inf
    for left in reversed(range(_SWEEPS)):
        now = float(sweep(problem)[0])
        if now > bound:
            return True
        if now + left * (now - before) <= bound:  # sweeps gain less and less
            return False
        before = now
    return False
