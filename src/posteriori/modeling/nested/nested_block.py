r"""Exact inference given a few unknowns, and an integral over these.

.. math:: p(y) = \int p(y\mid\theta)\,p(\theta)\,d\theta, \qquad
          p(x\mid y) = \int p(x\mid y,\theta)\,p(\theta\mid y)\,d\theta,

where p(y | θ) and p(x | y, θ) come from the exact blocks. θ are spreads, coefficients of
recursions, mixing weights: numbers, which are integrated over on a lattice, or a few states,
which are summed (H. Rue, S. Martino, N. Chopin, "Approximate Bayesian inference for latent Gaussian
models by using integrated nested Laplace approximations", 2009; here the inner part is exact).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from posteriori.inference.quadrature.lattices import Lattice, NoFallError, TooWideError, integrate
from posteriori.inference.quadrature.modes import climb
from posteriori.modeling.contract.conditioning import ExactParts, condition_group
from posteriori.modeling.contract.costs import Cost, counted
from posteriori.modeling.contract.engine import Block, GivesUpError, Group
from posteriori.modeling.nested.choice import PATIENCE, Outside, in_words
from posteriori.modeling.nested.conditional_model import ConditionalModel
from posteriori.modeling.nested.nested_result import Branch, NestedResult
from posteriori.modeling.nested.orders import check_apart, other_names
from posteriori.modeling.nested.states import joint_states
from posteriori.modeling.nested.unbounded import Coordinates
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.types import Array

__all__ = ["NestedBlock"]

#: Bytes of the results of all points that are kept; beyond, they are solved again when needed.
_KEPT_BYTES = 2.0e8


class NestedBlock(Block):
    """A few unknowns outside, exact blocks inside.

    Parameters
    ----------
    group : Group
    outside : Outside
    exact_parts : callable
        Makes the exact blocks of what is left.
    """

    tells_progress = True

    def __init__(self, group: Group, outside: Outside, exact_parts: ExactParts) -> None:
        self.group = group
        self.outside = outside
        self.exact_parts = exact_parts
        self.names = group.names
        self.factors = group.factors
        self.coordinates = Coordinates(outside.free)

    @property
    def method(self) -> str:
        """Sums, integrals, or both."""
        parts = []
        if self.outside.states:
            parts.append(f"sum over {', '.join(s.name for s in self.outside.states)}")
        if self.outside.free:
            parts.append(f"integral over {', '.join(f.name for f in self.outside.free)}")
        return " and ".join(parts)

    @property
    def trusted_for(self) -> str:
        """The method, and how long it takes where that is long."""
        seconds = self.outside.seconds
        return self.method + (f", about {in_words(seconds)}" if seconds > PATIENCE else "")

    @property
    def why(self) -> str:
        """What is exact."""
        return f"given {', '.join(self.outside.names)} all else is exact"

    @property
    def order(self) -> tuple[str, ...]:
        """Those outside first."""
        return (*self.outside.names, *(n for n in self.names if n not in self.outside.names))

    @property
    def cost(self) -> Cost:
        """What solving the rest at all points costs."""
        points = self.outside.points
        return Cost(points * self.outside.operations, self.outside.bytes)

    @property
    def keeps(self) -> bool:
        """Whether the results of all points fit into memory."""
        return self.outside.points * self.outside.bytes <= _KEPT_BYTES

    def describe(self) -> str:
        """Say how often the rest is solved."""
        return f"the rest is solved exactly at about {counted(round(self.outside.points), 'point')}"

    def solve(self) -> NestedResult:
        """Return the posterior as a mixture over points."""
        options = self.group.options
        progress = Progress(None if options is None else options.progress, kept="nothing")
        search = _Search(self, progress)
        try:
            branches = search.branches(list(joint_states(self.outside.states)))
        finally:
            progress.close()
        if not branches:
            raise ValueError(
                f"the data are impossible whatever {', '.join(self.outside.names)} are"
            ) from search.failure
        return NestedResult(self, branches)


class _Search:
    """Finds where the mass lies, for each joint state."""

    def __init__(self, block: NestedBlock, progress: Progress) -> None:
        self.block = block
        self.progress = progress
        self.count = 0
        self.failure: Exception | None = None

    def branches(self, states: Sequence[Mapping[str, Array]]) -> list[Branch]:
        """Return joint states with their lattices, but for those where the data are impossible."""
        if not self.block.coordinates.size:
            together = self._summed(states)
            if together is not None:
                return together
        found = (self._branch(one) for one in states)
        return [branch for branch in found if branch is not None]

    def _summed(self, states: Sequence[Mapping[str, Array]]) -> list[Branch] | None:
        """Read all joint states at once, if one plan holds for all of them."""
        block = self.block
        values = {name: np.array([one[name] for one in states]) for name in states[0]}
        rest = ConditionalModel(block.group, states[0], block.exact_parts, block.keeps)
        if not rest.holds_at(values):
            return None
        self._say(len(states))
        logs = rest.log_joints(values)
        self.failure = self.failure or rest.failure
        return [
            Branch(one, None, rest, float(log_joint))
            for one, log_joint in zip(states, logs, strict=True)
            if np.isfinite(log_joint)
        ]

    def _branch(self, states: Mapping[str, Array]) -> Branch | None:
        """Return one joint state with its lattice; None where the data are impossible."""
        block = self.block
        if not block.coordinates.size:
            rest = ConditionalModel(block.group, states, block.exact_parts, block.keeps)
            self._say(1)
            log_joint = float(rest.log_joints({n: v[None] for n, v in states.items()})[0])
            self.failure = self.failure or rest.failure
            return Branch(states, None, rest, log_joint) if np.isfinite(log_joint) else None
        starts, scales = block.coordinates.starts()
        group = condition_group(block.group, states).group if states else block.group
        rest = ConditionalModel(
            group, block.coordinates.read(starts[0])[0], block.exact_parts, block.keeps
        )
        lattice = self._lattice(rest, starts, scales)
        self.failure = self.failure or rest.failure
        if lattice is not None:
            check_apart(lattice, block.coordinates)
        return None if lattice is None else Branch(states, lattice, rest)

    def _lattice(self, rest: ConditionalModel, starts: Array, scales: Array) -> Lattice | None:
        def log_density(points: Array) -> Array:
            self._say(len(points))
            values, log_jacobian = self.block.coordinates.read(points)
            return rest.log_joints(values) + log_jacobian

        try:
            names = self._names(log_density, starts, scales)
            return integrate(log_density, np.concatenate([starts, names]), scales)
        except NoFallError as error:
            name = self.block.coordinates.names[error.coordinate]
            raise ValueError(
                f"the posterior of {name} is improper, or has no end within reach: its prior and "
                "the data do not rule out extreme values; give it a prior that does"
            ) from None
        except TooWideError as error:
            over = ", ".join(item.name for item in self.block.coordinates.free)
            raise GivesUpError(
                f"an integral over {over}, which did not end: {error}",
                'give priors that are nearer to the data, or ask for method="vmp"',
            ) from None
        except ValueError as error:
            self.failure = self.failure or error
            return None

    def _names(self, log_density: Callable[[Array], Array], starts: Array, scales: Array) -> Array:
        """Return the top with other names of its classes, where their priors overlap."""
        items, group = self.block.outside.items, self.block.group
        if not len(other_names(items, group, starts[0])):
            return starts[:0]
        values = log_density(starts)
        best = int(np.argmax(values))
        top = climb(log_density, starts[best], float(values[best]), scales)
        return np.array([top.at, *other_names(items, group, top.at)])

    def _say(self, count: int) -> None:
        self.count += count
        self.progress.say(f"{self.count} of about {self.block.outside.points:.0f} points")
