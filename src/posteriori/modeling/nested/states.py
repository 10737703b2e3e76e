"""Discrete unknowns that are summed over: their joint states, one after another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.batches import has_atoms
from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.construction import member
from posteriori.modeling.forms.state_tables import DISCRETE, number_of_states
from posteriori.numerics.types import Array

__all__ = ["States", "as_states", "joint_states"]

#: Counts are summed over but for this much of their prior, at either end.
_LEFT = 1e-14


class States(NamedTuple):
    """A discrete unknown: every member takes one of ``values``."""

    name: str
    shape: tuple[int, ...]
    values: Array

    @property
    def combinations(self) -> float:
        """Number of joint states of all members; of thousands of members infinity."""
        with np.errstate(over="ignore"):
            return float(np.float64(len(self.values)) ** np.prod(self.shape))


def as_states(factor: BoundFactor, shape: tuple[int, ...]) -> States | None:
    """Return a discrete unknown with its states; None of a continuous one."""
    if factor.family in DISCRETE:
        return States(factor.name, shape, np.arange(float(number_of_states(factor))))
    if not issubclass(factor.family, Univariate) or not _is_known(factor):
        return None
    prior = member(factor)
    if not has_atoms(prior):
        return None
    low = float(np.min(prior.quantile(_LEFT)))
    high = float(np.max(prior.quantile(1.0 - _LEFT)))
    return States(factor.name, shape, np.arange(low, high + 1.0))


def _is_known(factor: BoundFactor) -> bool:
    return all(poly.is_known for poly in factor.parameters.values())


def joint_states(items: tuple[States, ...]) -> Iterator[dict[str, Any]]:
    """Yield the values of all variables in each joint state."""
    members = [values for s in items for values in [s.values] * int(np.prod(s.shape))]
    for chosen in product(*members):
        found, start = {}, 0
        for item in items:
            stop = start + int(np.prod(item.shape))
            found[item.name] = np.array(chosen[start:stop]).reshape(item.shape)
            start = stop
        yield found
