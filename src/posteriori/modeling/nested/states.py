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
    """A discrete unknown: every member takes one of ``values``.

    Attributes
    ----------
    name : str
    shape : tuple of int
    values : array (K,)
    possible : array (C, *shape) or None
        The joint states of all members that the prior allows; None for all Kᴹ.
    """

    name: str
    shape: tuple[int, ...]
    values: Array
    possible: Array | None = None

    @property
    def combinations(self) -> float:
        """Number of joint states of all members; of thousands of members infinity."""
        if self.possible is not None:
            return float(len(self.possible))
        with np.errstate(over="ignore"):
            return float(np.float64(len(self.values)) ** np.prod(self.shape))

    def typical(self, at: int) -> Array:
        """Return one of the joint states."""
        if self.possible is not None:
            return np.asarray(self.possible[at])
        return np.full(self.shape, self.values[at])

    def joint(self) -> Iterator[Array]:
        """Yield all joint states of the members."""
        if self.possible is not None:
            yield from self.possible
            return
        for chosen in product(self.values, repeat=int(np.prod(self.shape))):
            yield np.array(chosen).reshape(self.shape)


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
    names = [item.name for item in items]
    for chosen in product(*(item.joint() for item in items)):
        yield dict(zip(names, chosen, strict=True))
