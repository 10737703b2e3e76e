r"""One variable, solved with its conjugate children.

What a datum added to the natural parameters can be taken back: so its density given all others is
the evidence of that row alone under the belief without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.batches import take_members
from posteriori.distributions.conjugate.pair import NaturalPair
from posteriori.distributions.unknown import Conditional
from posteriori.modeling.beliefs.group_beliefs import Belief, ConjugateBelief
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.construction import member
from posteriori.modeling.contract.engine import Result, Terms
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.exact.conjugate.conjugate_graph import conjugate_graph
from posteriori.modeling.forms.conjugate_rows import plain_parameters, reshaped
from posteriori.modeling.forms.data_points import Data, LeftOut
from posteriori.modeling.forms.message_graph import PassedMessages, pass_inside
from posteriori.modeling.forms.simulation import expected_log_prior
from posteriori.numerics.types import Array, Seed

if TYPE_CHECKING:
    from posteriori.modeling.exact.conjugate.conjugate_block import ConjugateBlock

__all__ = ["ConjugateResult"]


class ConjugateResult(Result):
    """The posterior of a variable, of the prior's family."""

    def __init__(self, posterior: Any, log_evidence: float, block: ConjugateBlock) -> None:
        self.names = block.names
        self.posterior = posterior
        self.log_evidence = log_evidence
        self.block = block

    def independent(self) -> Distribution:
        """Return the posterior: each member has its own data."""
        return self.posterior

    def marginal(self, name: str) -> Distribution:
        """Return the posterior, a batch over the variable's plates and integer axes."""
        return self.posterior

    def sample(self, size: int, *, rng: Seed = None) -> dict[str, Array]:
        """Draw the variable, (size, *shape)."""
        return {self.names[0]: self.posterior.sample(size, rng=rng)}

    def most_likely(self) -> dict[str, Any]:
        """Return the mode."""
        mode = self.posterior.mode
        return {self.names[0]: float(mode) if np.ndim(mode) == 0 else mode}

    def account(self) -> Terms:
        """Take the likelihood of a child as posterior / prior · evidence, were it the only child."""
        block = self.block
        prior = reshaped(member(block.prior_factor), (block.count,))
        belief = reshaped(self.posterior, (block.count,))
        gained = float(np.sum(belief.kl(prior)))
        energies = [(block.name, expected_log_prior(belief, prior))]
        for child in block.children:
            alone, log_evidence = block.learn(prior, [child])
            energies.append((child.name, gained - float(np.sum(belief.kl(alone))) + log_evidence))
        return Terms(energies, {block.name: float(np.sum(belief.entropy()))})

    def messages(self) -> Iterator[PassedMessages]:
        """Pass increments of natural parameters."""
        yield pass_inside(conjugate_graph(self.block))

    def carried_over(self, solved: Solved, names: Sequence[str]) -> list[Belief]:
        """Return the posterior."""
        return [ConjugateBelief(self.names[0], self.posterior)]

    def left_out(
        self, bound: Bound, data: Data, factor: BoundFactor, predict: Callable[[], Distribution]
    ) -> LeftOut | None:
        """Take the increments of each row back, and ask for the evidence of that row alone."""
        block = self.block
        child = next(c for c in block.children if c.name == factor.name)
        belief = reshaped(self.posterior, (block.count,))
        if child.has_known_rows or not issubclass(child.pair_class(type(belief)), NaturalPair):
            return None
        count = len(child.values)
        pair = child.pair(take_members(belief, 0))
        shapes = [np.shape(part)[1:] for part in belief.natural]
        added = pair.summarize(child.values[None]).broadcast(np.ones(count), shapes)
        index = np.arange(block.count) if child.index is None else child.index
        seen = take_members(belief, np.broadcast_to(index, (count,)))
        before = seen._from_natural(*(n - s for n, s in zip(seen.natural, added.sums, strict=True)))
        rule: Any = type(pair)(before, Conditional(child.family, plain_parameters(child)))
        return LeftOut(np.asarray(rule.log_evidence(seen, added)))
