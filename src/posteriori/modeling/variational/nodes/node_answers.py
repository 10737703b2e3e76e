"""What a posterior asks of the belief about a group of variables, once it has been found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.modeling.beliefs.group_beliefs import GroupBelief
from posteriori.modeling.contract.linear_forms import Expectation, Root
from posteriori.numerics.types import Array

__all__ = ["NodeAnswers"]


class NodeAnswers:
    """The belief about some variables; of several starts it answers for the first.

    Attributes
    ----------
    kind : str
        What a user reads of it.
    names : tuple of str
    """

    kind: str
    names: tuple[str, ...]
    has_density = True  #: Whether :meth:`log_prob` answers.

    def marginal(self, name: str) -> Any:
        """Return the belief about a variable, a batch over its plates and integer axes."""
        raise self.cannot("tell a marginal")

    def point(self, name: str) -> Any:
        """Return the distribution of a variable that is at its highest point."""
        raise self.cannot("be a point")

    def covariance(self, a: Any, b: Any) -> Expectation:
        """Return Cov[a, b] of two accesses, an empty sum where the belief has no width."""
        raise self.cannot("tell covariances")

    def root(self, access: Any) -> Root | None:
        """Return a root of the covariance; None where there is none."""
        return None

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, Any]:
        """Return draws of all variables together, (size, *shape) each."""
        raise self.cannot("be drawn from")

    def log_prob(self, draws: Mapping[str, Any]) -> Array:
        """Return the log density of draws of all variables, as numbers (size, *shape) each."""
        return sum((b.log_prob(draws) for b in self.carried_over(self.names)), np.zeros(1))

    def highest(self) -> dict[str, Any]:
        """Return the most probable values of all variables together."""
        raise self.cannot("tell its highest point")

    def joint_moments(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Return mean and covariance of whole variables, flattened and put one after another."""
        raise TypeError(
            f"{' and '.join(names)} are a {self.kind} group, whose joint distribution has no form "
            f"here; draw from it by sample()"
        )

    def carried_over(self, names: tuple[str, ...]) -> list[GroupBelief]:
        """Return what is believed of some of the variables, to be the prior of further data."""
        raise TypeError(
            f"what is known of {', '.join(names)}, {self.noun}, cannot be carried over to new data: "
            "infer again with all data"
        )

    def describe(self) -> str:
        """Say how large the belief is."""
        return self.kind

    @property
    def noun(self) -> str:
        """What errors call it."""
        return f"a {self.kind} group"

    def cannot(self, what: str) -> TypeError:
        """Return the error of a belief that does not answer."""
        return TypeError(f"the belief about {', '.join(self.names)} cannot {what}")
