"""The planner: which variables are solved together, by which method, and why."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from posteriori.distributions.composites.point_mass import PointMass
from posteriori.modeling import variational
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.constants import constants_of
from posteriori.modeling.contract.engine import (
    Block,
    Fit,
    GivesUpError,
    Group,
    Kind,
    Planned,
    Result,
)
from posteriori.modeling.contract.options import Options
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.exact.chain.chain_block import GaussianChainBlock, fits_chain
from posteriori.modeling.exact.conjugate.conjugate_block import ConjugateBlock, fits_conjugate
from posteriori.modeling.exact.discrete.discrete_block import DiscreteBlock
from posteriori.modeling.exact.gaussian.gaussian_block import GaussianBlock, fits_gaussian
from posteriori.modeling.exact.scaled.scaled_block import CommonPrecisionBlock
from posteriori.modeling.exact.scaled.scaled_factors import fits_common_precision
from posteriori.modeling.forms.rows_apart import rows_apart
from posteriori.modeling.forms.simulation import log_prob_of_known
from posteriori.modeling.forms.state_tables import is_discrete
from posteriori.modeling.nested.choice import fits_nested
from posteriori.modeling.nested.nested_block import NestedBlock
from posteriori.modeling.posterior.posterior import Posterior
from posteriori.numerics.telling.progress import Progress

__all__ = ["KINDS", "Plan", "make_plan"]

#: The kinds of blocks; of those that fit a group, the first is made. Insert one of your own.
KINDS: list[Kind] = [
    Kind(
        "chain",
        fits_chain,
        lambda group, chains: GaussianChainBlock(*group[:3], chains),
    ),
    Kind("gaussian", fits_gaussian, lambda group, _: GaussianBlock(*group[:3])),
    Kind(
        "discrete",
        lambda group: Fit(is_discrete(group.bound, group.names, group.factors)),
        lambda group, _: DiscreteBlock(*group[:3]),
    ),
    Kind("conjugate", fits_conjugate, lambda group, _: ConjugateBlock(*group[:3])),
    Kind(
        "common precision",
        fits_common_precision,
        lambda group, spread: CommonPrecisionBlock(*group[:3], spread),
    ),
    Kind(
        "nested",
        lambda group: fits_nested(group, exact_parts),
        lambda group, outside: NestedBlock(group, outside, exact_parts),
    ),
    Kind(
        "variational",
        lambda group: Fit(True),
        lambda group, _: variational.VariationalBlock(*group),
        is_exact=False,
    ),
]


@dataclass(frozen=True, repr=False)
class Plan:
    """What inference will do; printed, it also says why, in which order and at what cost.

    Attributes
    ----------
    bound : Bound
        The model with its data.
    blocks : tuple of Block
        Groups of variables that are solved together, each with its method.
    barren : tuple of str
        Variables without observed descendants: they are predicted afterwards.
    known : tuple of BoundFactor
        Factors without unknown variables: each adds its log density to the evidence.
    options : Options or None
        What was chosen about approximations.
    """

    bound: Bound
    blocks: tuple[Block, ...]
    barren: tuple[str, ...]
    known: tuple[BoundFactor, ...]
    options: Options | None = None

    def run(self, **facts: Any) -> Posterior:
        """Solve every block, after the density of what is known has been found positive."""
        log_known = sum(log_prob_of_known(factor, self.bound) for factor in self.known)
        solved = [self._solved(block) for block in self.blocks]
        blocks, results = tuple(block for block, _ in solved), tuple(found for _, found in solved)
        return Posterior(
            Solved(
                self.bound,
                blocks,
                results,
                self.barren,
                self.known,
                log_known,
                make_plan,
                Posterior,
                self.options,
                exact_parts=exact_parts,
                **facts,
            )
        )

    def _solved(self, block: Block) -> tuple[Block, Result]:
        """Return a block with its result; where it gives up, the approximate one that does not."""
        try:
            with self._told(block):
                return block, block.solve()
        except GivesUpError as error:
            if self.options is not None and self.options.method is not None:
                raise
            group = Group(self.bound, block.names, tuple(block.factors), self.options)
            try:
                other = _block(group, approximate=True)
                result = other.solve()
            except (TypeError, ValueError):
                raise error from None
            other.gave_up = error.reason
            return other, result

    def _told(self, block: Block) -> AbstractContextManager[None]:
        """Say what is solved, where that takes long and the block does not say itself how far it is."""
        wanted = None if self.options is None else self.options.progress
        if block.tells_progress or not (sys.stderr.isatty() if wanted is None else wanted):
            return nullcontext()

        def tell() -> str:
            place = next(i for i, one in enumerate(self.blocks, 1) if one is block)
            which = f"block {place} of {len(self.blocks)}, " if len(self.blocks) > 1 else ""
            return f"{which}{_shortened(block.names)}: {block.method}, {block.cost}"

        return Progress(wanted, kept="nothing").during(tell)

    def __repr__(self) -> str:
        return self._text(lambda block: [])

    def __str__(self) -> str:
        return self._text(
            lambda block: [
                f"  why: {block.why}",
                f"  order: {_shortened(block.order)}",
                f"  cost: {block.cost}",
                *([f"  instead of: {block.instead}"] if block.instead else []),
            ]
        )

    def _text(self, more: Callable[[Block], list[str]]) -> str:
        lines = []
        for i, block in enumerate(self.blocks, 1):
            lines.append(f"block {i}: {', '.join(block.names)}: {block.method}")
            lines.append(f"  {block.describe()}")
            lines += more(block)
        constants = constants_of(self.bound)
        predicted = [name for name in self.barren if name not in constants]
        if predicted:
            lines.append(
                f"predicted afterwards (nothing below is observed): {', '.join(predicted)}"
            )
        if self.known or constants:
            names = dict.fromkeys([*constants, *(factor.name for factor in self.known)])
            lines.append(f"known: {', '.join(names)}")
        return "\n".join(lines) or "nothing to infer"


def _shortened(names: tuple[str, ...]) -> str:
    shown = names if len(names) <= 12 else (*names[:6], "...", *names[-5:])
    return ", ".join(shown)


def make_plan(bound: Bound, options: Options | None = None, kept: Collection[str] = ()) -> Plan:
    """Group the unknown variables into blocks; those without exact method are approximated.

    Variables that are kept have a block although no observation depends on them.
    """
    if options is not None:
        options.require_unknown([name for name in bound.variables if name not in bound.observed])
    barren = bound.barren(kept)
    active = [f for f in bound.factors if f.name not in barren]
    known = tuple(f for f in active if not bound.unknowns_of(f))
    groups = _components([f for f in active if bound.unknowns_of(f)], bound)
    blocks = tuple(
        block
        for names, factors in groups
        for block in _blocks(Group(bound, tuple(names), tuple(factors), options))
    )
    predicted = tuple(name for name in barren if name not in bound.observed)
    return Plan(bound, blocks, predicted, known, options)


def _components(
    factors: Iterable[BoundFactor], bound: Bound
) -> list[tuple[list[str], list[BoundFactor]]]:
    """Return groups of unknowns that share factors, in the order of the model."""
    group_of: dict[str, int] = {}
    members: dict[int, list[str]] = {}
    kept = [(factor, bound.unknowns_of(factor)) for factor in factors]
    for i, (_, names) in enumerate(kept):
        joined = sorted({group_of[n] for n in names if n in group_of})
        target = joined[0] if joined else i
        members.setdefault(target, [])
        for other in joined[1:]:
            for name in members.pop(other):
                group_of[name] = target
                members[target].append(name)
        for name in names - group_of.keys():
            group_of[name] = target
            members[target].append(name)
    rank = {name: place for place, name in enumerate(bound.layouts)}
    groups = {
        key: (sorted(names, key=rank.__getitem__), list[BoundFactor]())
        for key, names in members.items()
    }
    for factor, names in kept:
        groups[group_of[next(iter(names))]][1].append(factor)
    return sorted(groups.values(), key=lambda group: rank[group[0][0]])


def exact_parts(group: Group) -> tuple[tuple[Planned, ...], tuple[BoundFactor, ...]] | None:
    """Return exact parts for what is unknown of a group, and its known factors, or None."""
    bound = group.bound
    known = tuple(f for f in group.factors if not bound.unknowns_of(f))
    parts = []
    for names, factors in _components((f for f in group.factors if bound.unknowns_of(f)), bound):
        part = Group(bound, tuple(names), tuple(factors))
        kinds = (kind for kind in KINDS if kind.is_exact and kind.name != "nested")
        fits = ((kind, kind.fits(part)) for kind in kinds)
        found = next(((kind, fit) for kind, fit in fits if fit.holds), None)
        if found is None:
            return None
        parts.append(Planned(found[0], part, found[1].found))
    return tuple(parts), known


def _blocks(group: Group) -> list[Block]:
    """Return blocks of rows that see different unknowns where all of these are exact, or one block."""
    approximate = group.options is not None and group.options.asks_for_approximation
    found = None
    if len(group.names) > 1 and not approximate:
        apart = tuple(part for f in group.factors for part in rows_apart(f, group.bound))
        if len(apart) > len(group.factors):
            found = exact_parts(group._replace(factors=apart))
    return [_block(group, approximate)] if found is None else [part.block() for part in found[0]]


def _block(group: Group, approximate: bool) -> Block:
    """Return the block of the first kind that fits."""
    reason = instead = ""
    for kind in KINDS:
        if approximate and kind.is_exact:
            continue
        fit = kind.fits(group)
        if fit.holds:
            block = _made(kind, group, fit, reason)
            block.instead = instead
            return block
        reason, instead = fit.reason or reason, fit.instead or instead
    raise TypeError(_no_method(group, reason))


def _made(kind: Kind, group: Group, fit: Fit, reason: str) -> Block:
    try:
        return kind.make(group, fit.found)
    except TypeError as error:
        if kind.is_exact:
            raise
        alone = len(group.names) == 1 and reason
        raise TypeError(_no_method(group, reason if alone else str(error))) from error


def _no_method(group: Group, reason: str) -> str:
    names = ", ".join(group.names) + (" together" if len(group.names) > 1 else "")
    points = [name for name in group.names if group.bound.families[name] is PointMass]
    started = [name for name in points if group.bound.variables[name].step is not None]
    if started:
        reason = (
            f"the chain {started[0]} starts at a PointMass; start it at its first unknown member, with "
            "the law of a step from that point"
        )
    return f"no method for {names}: {reason}"
