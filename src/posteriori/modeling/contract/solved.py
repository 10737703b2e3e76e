"""All blocks of a plan, solved: what questions to a posterior are answered from."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.contract.conditioning import ExactParts
from posteriori.modeling.contract.engine import Block, Result
from posteriori.modeling.contract.options import Options
from posteriori.modeling.forms.simulation import simulate_leaves
from posteriori.numerics.evidence import LogEvidence

__all__ = ["Solved"]


@dataclass(frozen=True, eq=False)
class Solved:
    """All blocks of a plan, solved.

    Attributes
    ----------
    bound : Bound
    blocks : tuple of Block
    results : tuple of Result
        One for each block.
    barren : tuple of str
        Variables without observed descendants.
    known : tuple of BoundFactor
        Factors without unknowns, whose log density is ``log_known``.
    plan : callable
        ``plan(bound, options=None, kept=())``: the planner's own, for questions about other data.
    posterior : callable
        Makes a posterior of what is solved.
    options : Options or None
        What was chosen about approximations.
    has_earlier, is_merged : bool
        Whether other data were looked at before, and whether it was put together from others.
    evidence : LogEvidence or None
        Where it is more than the sum over blocks and known factors.
    exact_parts : callable or None
        Exact blocks of what is left of a group when some of its unknowns have values.
    """

    bound: Bound
    blocks: tuple[Block, ...]
    results: tuple[Result, ...]
    barren: tuple[str, ...]
    known: tuple[BoundFactor, ...]
    log_known: float
    plan: Callable[..., Any]
    posterior: Callable[[Solved], Any]
    options: Options | None = None
    has_earlier: bool = False
    is_merged: bool = False
    evidence: LogEvidence | None = None
    exact_parts: ExactParts | None = None

    @cached_property
    def by_name(self) -> dict[str, Result]:
        """The result that answers for each variable."""
        return {name: result for result in self.results for name in result.names}

    @cached_property
    def answers(self) -> dict[str, Any]:
        """What one question found out that later ones ask for again."""
        return {}

    def marginal(self, name: str) -> Distribution:
        """Return the marginal of a solved variable."""
        return self.by_name[name].marginal(name)

    def believed(self, name: str) -> Distribution:
        """Return the belief about a solved variable, as an ascent found it."""
        return self.by_name[name].believed(name)

    def sample(self, size: int, rng: np.random.Generator) -> dict[str, Any]:
        """Draw all unknown variables together, those that nothing informs among them."""
        draws: dict[str, Any] = {}
        for result in self.results:
            draws |= result.sample(size, rng=rng)
        draws |= simulate_leaves(self.bound, self.barren, draws, size, rng)
        return {name: draws[name] for name in self.bound.layouts if name in draws}

    def infer(
        self, bound: Bound, options: Options | None = None, kept: Collection[str] = ()
    ) -> Any:
        """Return the posterior of other data of the same kind of model."""
        return self.plan(bound, options, kept).run()
