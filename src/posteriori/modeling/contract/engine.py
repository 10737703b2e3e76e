"""What the parts of the engine answer to one another.

The planner groups unknown variables and finds, for each group, the first kind of block that fits.
A block solves its group; all that is asked of a posterior afterwards is asked of the results of its
blocks, whatever their kind. A new kind is a block, a result and a row of the planner's table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from posteriori import distributions
from posteriori.distributions.base import Distribution
from posteriori.modeling.beliefs.group_beliefs import Belief
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout
from posteriori.modeling.binding.labelled import Table
from posteriori.modeling.contract.costs import Cost
from posteriori.modeling.contract.linear_forms import SeenMoments
from posteriori.modeling.contract.options import Options
from posteriori.modeling.contract.requests import Request
from posteriori.modeling.forms.data_points import Data, LeftOut
from posteriori.modeling.forms.message_graph import PassedMessages
from posteriori.numerics.evidence import Kind as EvidenceKind, Namings
from posteriori.numerics.types import Array, IntArray, Seed

if TYPE_CHECKING:
    from posteriori.modeling.contract.solved import Solved
    from posteriori.modeling.contract.weighable import Weighable
    from posteriori.tables import JointTable

__all__ = ["Block", "Fit", "GivesUpError", "Group", "Kind", "Planned", "Result", "Terms"]


class GivesUpError(ValueError):
    """A block fitted its group but cannot solve it; another kind may."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason = reason


class Group(NamedTuple):
    """Unknown variables that share factors, and all factors that touch them."""

    bound: Bound
    names: tuple[str, ...]
    factors: tuple[BoundFactor, ...]
    options: Options | None = None


class Fit(NamedTuple):
    """Whether a kind of block fits a group; what it found there, or why it does not fit."""

    holds: bool
    found: Any = None
    reason: str = ""
    instead: str = ""  #: What fits, but costs too much.


class Block(ABC):
    """Variables that are solved together, before they are."""

    names: tuple[str, ...]  #: The variables, and ``factors``: all factors that touch them.
    factors: Sequence[BoundFactor]
    instead: str = ""  #: What would have been better, and why it was not done.
    gave_up: str = ""  #: What was begun before, and why it was given up.
    exchangeable: Mapping[str, str] = {}  #: Variables whose parts could change places, and how.
    tells_progress: bool = False  #: Whether it says itself how far it is.

    if TYPE_CHECKING:  # attributes or properties

        @property
        def method(self) -> str:
            """How the variables are solved."""

        @property
        def why(self) -> str:
            """Why that can be done."""

        @property
        def order(self) -> tuple[str, ...]:
            """What is done one after another."""

        @property
        def cost(self) -> Cost:
            """What that costs."""

    @property
    def trusted_for(self) -> str:
        """Why its intervals are as long as they should be; "" where they are not."""
        return self.method

    @abstractmethod
    def describe(self) -> str:
        """Say what is solved, in a line."""

    @abstractmethod
    def solve(self) -> Result:
        """Return what is known of the variables given their data."""


class Kind(NamedTuple):
    """A row of the planner's table: for which groups, and the block that solves them."""

    name: str
    fits: Callable[[Group], Fit]
    make: Callable[[Group, Any], Block]
    is_exact: bool = True


class Planned(NamedTuple):
    """A group with the kind of block that fits it, and what that kind found there."""

    kind: Kind
    group: Group
    found: Any

    def block(self, bound: Bound | None = None, factors: Sequence[BoundFactor] = ()) -> Block:
        """Return the block, of these factors or of others that differ in known numbers only."""
        if bound is None:
            return self.kind.make(self.group, self.found)
        return self.kind.make(self.group._replace(bound=bound, factors=tuple(factors)), self.found)


class Terms(NamedTuple):
    """What the evidence of a block is made of: E[ln f] of its factors, and entropies of beliefs."""

    energies: Sequence[tuple[str, float]]
    entropies: Mapping[str, float]


class Result(ABC):
    """A solved block. What a kind does not answer is refused, or left to general rules by None."""

    names: tuple[str, ...]
    log_evidence: float
    kind: EvidenceKind = "exact"
    error: float = 0.0  #: How far two rules for the log evidence are apart, of a quadrature.
    namings: Namings = (
        "all"  #: Whether it counts all namings of classes, or the one that was found.
    )
    looks_again: bool = False  #: Whether more data are looked at together with the earlier ones.
    trace: Sequence[float] = ()  #: The bound after every sweep of an iterative method.
    n_draws: int = 0  #: Draws that :meth:`corrected` unknowns are told by.

    @abstractmethod
    def marginal(self, name: str) -> Distribution:
        """Return the marginal of a variable, a batch over its plates and integer axes."""

    @abstractmethod
    def sample(self, size: int, *, rng: Seed = None) -> dict[str, Array]:
        """Draw all variables together, (size, *shape) each."""

    def believed(self, name: str) -> Distribution:
        """Return the belief of an ascent, where it is not the marginal."""
        return self.marginal(name)

    def expect(self, name: str, function: Callable[[Array], Any]) -> Array:
        """Return E[f(x)] of every member of a variable; the members are numbers."""
        return distributions.expect(self.marginal(name), function)

    def most_likely(self) -> dict[str, Any]:
        """Return the most probable configuration of all variables together."""
        raise TypeError(f"{', '.join(self.names)} cannot be asked for most_likely yet")

    def predict(self, solved: Solved, request: Request) -> Distribution | None:
        """Return a predictive distribution by a rule of this kind; None where it has none."""
        return None

    def joint(self, solved: Solved, names: Sequence[str]) -> Distribution | JointTable:
        """Return the joint distribution of some variables."""
        raise TypeError(f"the joint distribution of {' and '.join(names)} has no closed form")

    def account(self) -> Terms:
        """Return what the log evidence is made of."""
        raise TypeError(f"{', '.join(self.names)} cannot be asked for terms of their evidence")

    def messages(self) -> Iterator[PassedMessages]:
        """Pass messages inside the block, or inside each of its independent parts."""
        raise TypeError(f"no exact messages between {', '.join(self.names)}")

    def left_out(
        self, bound: Bound, data: Data, factor: BoundFactor, predict: Callable[[], Distribution]
    ) -> LeftOut | None:
        """Return the log density of each datum given all others; None without closed form."""
        return None

    def carried_over(self, solved: Solved, names: Sequence[str]) -> list[Belief]:
        """Return what is known of some variables, as beliefs that can stand in for their priors."""
        raise TypeError(f"what is known of {', '.join(names)} has no form that can be carried over")

    def weighable(self) -> Weighable | None:
        """Return draws that can be weighed by the model; None where there is nothing to check."""
        return None

    def too_narrow(self) -> tuple[str, ...]:
        """Return unknowns whose intervals are known to be too narrow, by what was cut apart."""
        return ()

    def cautions(self) -> list[str]:
        """Return what else is not to be trusted, in words."""
        return []

    def corrected(self) -> tuple[str, ...]:
        """Return unknowns that draws of the exact posterior answer for."""
        return ()

    def chains(self, name: str) -> Array | None:
        """Return the draws that tell a corrected unknown, (chains, draws, *shape)."""
        return None

    def used_classes(self) -> dict[str, tuple[int, int]]:
        """Return how many states of each index of unknown parameters are used, of how many."""
        return {}

    # What rules for several blocks put their answers together from.

    #: The unknown precision or variance that scales all noise, and whose members own which others.
    spread: str = ""
    owners: Mapping[str, IntArray] = {}

    def answers(self, names: Iterable[str]) -> Mapping[str, SeenMoments]:
        """Return what tells moments of variables as factors see them, at unit precision if unknown.

        Those that nothing here tells of are left out.
        """
        return {}

    def references(self, name: str, layouts: Mapping[str, Layout]) -> dict[str, Table]:
        """Return what the means of a variable are measured from, where that is not 0."""
        return {}

    def independent(self) -> Distribution | None:
        """Return the belief about the one variable, where its members share no data."""
        return None

    def states(self) -> Block | None:
        """Return the block where all its variables are discrete: it can be solved with more."""
        return None
