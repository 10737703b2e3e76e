"""A node: a group of variables with a belief of its own, whatever its form.

It gives expectations; what else it can do, its class states: nobody asks a node which class it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.modeling.binding.labelled import Axis, Table
from posteriori.modeling.contract.linear_forms import Expectation
from posteriori.modeling.variational.nodes.node_answers import NodeAnswers
from posteriori.numerics.types import Array

__all__ = ["Message", "Node"]

#: Accesses to variables of a node, and their coefficient in the expected log joint density.
Message = tuple[tuple[Any, ...], Table]


class Node(NodeAnswers, ABC):
    """The belief about some variables, for several starts at once.

    Attributes
    ----------
    form : str
        What its messages are coefficients of: "statistics", "numbers" (functions of
        them), "vectors" or "states".
    restart : Axis
        The label of the starts.
    moves_freely : bool
        Whether any proper parameters can be set, so that an ascent may jump or take small steps; beliefs
        about its variables have variances.
    can_turn : bool
        Whether all its vectors along an axis can be multiplied by a matrix.
    follows_means, comes_last : bool
        Whether it is updated after those that are measured, or after all on the data's plate.
    can_be_drawn : bool
        Whether it can move to a draw of its belief, another one in each start.
    """

    form: str
    restart: Axis
    moves_freely = can_turn = follows_means = comes_last = can_be_drawn = False

    @abstractmethod
    def expect(self, accesses: Sequence[Any]) -> Expectation:
        """Return the expectation of a product of accesses."""

    def summable(self, accesses: Sequence[Any], free: frozenset[Axis]) -> frozenset[Axis]:
        """Return those of some labels that :meth:`expect_sum` can sum over."""
        return frozenset()

    def expect_sum(self, accesses: Sequence[Any], summed: frozenset[Axis]) -> Expectation:
        """Return an expectation summed over labels."""
        raise self.cannot("be summed over members")

    def update(self, messages: Iterable[Message]) -> None:
        """Take the belief that messages add up to."""
        raise self.cannot("be updated")

    def begin(self) -> None:
        """Be of use to others from what a prior alone says, which it has been updated with."""

    def log_total(self) -> Array:
        """Log normaliser of the last update, for each start."""
        raise self.cannot("be updated")

    def entropy(self) -> Array:
        """Entropy for each start."""
        raise self.cannot("tell its entropy")

    def whole(self) -> Node:
        """Return the node that takes the messages to all members."""
        return self

    # -- starts --------------------------------------------------------------------------------

    def centre(self, name: str) -> Array | None:
        """Return means (starts, *axes) or probabilities (starts, *axes, K); None of others."""
        return None

    def set_centre(self, name: str, values: Array) -> None:
        """Start a variable at means or probabilities."""
        raise self.cannot("be started at numbers")

    def read_start(self, name: str, numbers: Array, shape: tuple[int, ...]) -> Array:
        """Return the centre, of one start, that a user gave for a variable of some shape."""
        raise self.cannot("be started at what a user gives")

    def start_from(self, name: str, value: Any, shape: tuple[int, ...]) -> None:
        """Start a variable at what a user gave for it."""
        try:
            numbers = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"init of {name} must hold numbers, got {value!r}") from None
        if not np.isfinite(numbers).all():
            raise ValueError(f"init of {name} must be finite; leave it out to start anywhere")
        centre = self.read_start(name, numbers, shape)
        self.set_centre(name, np.broadcast_to(centre, (self.restart.size, *centre.shape)).copy())

    def select(self, start: int) -> None:
        """Keep one start."""
        raise self.cannot("have several starts")

    def state(self) -> dict[str, Any]:
        """Return the belief, to come back to: updates replace arrays and never write into them."""
        return _copied(self.__dict__)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go back to an earlier belief."""
        self.__dict__.clear()
        self.__dict__.update(_copied(state))

    # -- draws ---------------------------------------------------------------------------------

    def resume(self, node: Any) -> None:
        """Take, in every start, the belief that another node of this class has in its first one."""
        raise self.cannot("begin where another one ended")

    def conditional(self, name: str) -> Any:
        """Return the belief about a variable in every start, a batch over starts and its own axes."""
        raise self.cannot("be told for every start")

    def draw_given_others(self, rng: np.random.Generator) -> dict[str, Array]:
        """Move to a draw of the belief, and return it: numbers or codes (starts, *shape) by name."""
        raise self.cannot("draw_given_others")

    # -- steps ---------------------------------------------------------------------------------

    def settle(self) -> Array:
        """Move to the highest point; return the log joint density there, for each start."""
        raise self.cannot("be a point")

    def natural(self) -> list[Array]:
        """Return natural parameters."""
        raise self.cannot("be moved in small steps")

    def set_natural(self, natural: Sequence[Array]) -> bool:
        """Take natural parameters; False where they are improper."""
        raise self.cannot("be moved in small steps")

    def coordinates(self) -> list[Array]:
        """Return parameters in which sweeps are nearly linear."""
        raise self.cannot("jump")

    def set_coordinates(self, coordinates: Sequence[Array]) -> bool:
        """Take parameters as of :meth:`coordinates`; False where they are improper."""
        raise self.cannot("jump")

    def second_moment(self, name: str, axis: int) -> Array:
        """Return the sum of E[v vᵀ] over all vectors along an axis, (starts, K, K)."""
        raise self.cannot("be turned")

    def transform(self, name: str, axis: int, matrix: Array) -> None:
        """Multiply all vectors along an axis by a matrix (starts, K, K)."""
        raise self.cannot("be turned")

    def overlaps(self, name: str) -> Array:
        """Return Σ q(a) q(b) over all members of a variable, (K, K), in the first start."""
        raise self.cannot("tell how far states overlap")

    def map_states(self, name: str, matrix: Array) -> None:
        """Let the probabilities p of a variable's states be M p: merged, or with other names."""
        raise self.cannot("map states")


def _copied(state: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a state with its tables by name, whose entries updates do replace."""
    return {key: dict(v) if type(v) is dict else v for key, v in state.items()}
