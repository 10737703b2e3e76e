"""The planner: which variables are solved together, by which method, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.labelled import Switch
from posteriori.modeling.exact.chain.chain_block import GaussianChainBlock, find_chain
from posteriori.modeling.exact.conjugate.conjugate_block import ConjugateBlock, why_not_conjugate
from posteriori.modeling.exact.discrete.discrete_block import DiscreteBlock, is_discrete
from posteriori.modeling.exact.gaussian.gaussian_block import GaussianBlock
from posteriori.modeling.exact.scaled.scaled_block import CommonPrecisionBlock
from posteriori.modeling.exact.scaled.scaled_factors import find_common_precision
from posteriori.modeling.forms.simulation import log_prob_of_known
from posteriori.modeling.language.expressions import Input, Variable
from posteriori.modeling.posterior.posterior import Posterior
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.contract.options import Options

__all__ = ["Plan", "barren_variables", "make_plan", "unknowns_of"]

_GAUSSIAN = (Normal, MvNormal)


@dataclass(frozen=True, repr=False)
class Plan:
    """What inference will do; printed, it also says why, in which order and at what cost.

    Attributes
    ----------
    bound : Bound
        The model with its data.
    blocks : tuple
        Groups of variables that are solved together, each with its method.
    barren : tuple of str
        Variables without observed descendants: they are predicted afterwards.
    known : tuple of BoundFactor
        Factors without unknown variables: each adds its log density to the evidence.
    """

    bound: Bound
    blocks: tuple[Any, ...]
    barren: tuple[str, ...]
    known: tuple[BoundFactor, ...]
    variables: Mapping[str, Variable]
    inputs: Mapping[str, Input]
    given: Mapping[str, Any]

    def run(self) -> Posterior:
        """Solve every block, after the density of what is known has been found positive."""
        log_known = sum(log_prob_of_known(factor, self.bound) for factor in self.known)
        return Posterior(self, [block.solve() for block in self.blocks], log_known)

    def __repr__(self) -> str:
        return self._text(lambda block: [])

    def __str__(self) -> str:
        return self._text(
            lambda block: [
                f"  why: {block.why}",
                f"  order: {_shortened(block.order)}",
                f"  cost: {block.cost}",
            ]
        )

    def _text(self, more: Callable[[Any], list[str]]) -> str:
        lines = []
        for i, block in enumerate(self.blocks, 1):
            lines.append(f"block {i}: {', '.join(block.names)}: {block.method}")
            lines.append(f"  {block.describe()}")
            lines += more(block)
        if self.barren:
            lines.append(
                f"predicted afterwards (nothing below is observed): {', '.join(self.barren)}"
            )
        if self.known:
            names = dict.fromkeys(factor.name for factor in self.known)
            lines.append(f"known: {', '.join(names)}")
        return "\n".join(lines) or "nothing to infer"


def _shortened(names: tuple[str, ...]) -> str:
    shown = names if len(names) <= 12 else (*names[:6], "...", *names[-5:])
    return ", ".join(shown)


def make_plan(
    bound: Bound,
    variables: Mapping[str, Variable],
    inputs: Mapping[str, Input],
    given: Mapping[str, Any],
    options: Options | None = None,
    kept: Collection[str] = (),
) -> Plan:
    """Group the unknown variables into blocks; those without exact method are approximated.

    Variables that are kept have a block although no observation depends on them.
    """
    if options is not None:
        options.require_unknown([name for name in variables if name not in bound.observed])
    barren = barren_variables(bound, kept)
    active = [f for f in bound.factors if f.name not in barren]
    known = tuple(f for f in active if not unknowns_of(f, bound))
    groups = _components([f for f in active if unknowns_of(f, bound)], bound)
    blocks = tuple(_block(bound, names, factors, options) for names, factors in groups)
    predicted = tuple(name for name in barren if name not in bound.observed)
    return Plan(bound, blocks, predicted, known, variables, inputs, given)


def unknowns_of(factor: BoundFactor, bound: Bound) -> set[str]:
    """Return the unknown variables that a factor touches."""
    found = set() if factor.name in bound.observed else {factor.name}
    return found | {access.name for access in factor.accesses}


def barren_variables(bound: Bound, kept: Collection[str] = ()) -> list[str]:
    """Return variables that no observation, and no variable that is kept, depends on.

    Among them are variables all of whose data are missing.
    """
    parents: dict[str, set[str]] = {name: set() for name in bound.layouts}
    for factor in bound.factors:
        parents[factor.name] |= unknowns_of(factor, bound) - {factor.name}
    seen = {name for name, values in bound.observed.items() if not _is_missing(values)}
    useful = {*seen, *bound.evidence, *kept}
    stack = list(useful)
    while stack:
        for parent in parents[stack.pop()] - useful:
            useful.add(parent)
            stack.append(parent)
    return [name for name in bound.layouts if name not in useful]


def _is_missing(values: Array) -> bool:
    """Tell whether there is no number; mostly the first one tells."""
    some = values[(slice(0, 1),) * values.ndim]
    return bool(np.isnan(some).all() and np.isnan(values).all())


def _components(
    factors: Iterable[BoundFactor], bound: Bound
) -> list[tuple[list[str], list[BoundFactor]]]:
    """Return groups of unknowns that share factors, in the order of the model."""
    group_of: dict[str, int] = {}
    members: dict[int, list[str]] = {}
    kept = [(factor, unknowns_of(factor, bound)) for factor in factors]
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


def _block(
    bound: Bound, names: list[str], factors: list[BoundFactor], options: Options | None
) -> Any:
    if options is not None and options.asks_for_approximation:
        return _variational(bound, names, factors, options, "")
    if all(f.family in _GAUSSIAN and _is_affine(f) for f in factors):
        chain = find_chain(bound, names, factors)
        if chain is not None:
            return GaussianChainBlock(bound, names, factors, chain)
        return GaussianBlock(bound, names, factors)
    if is_discrete(bound, names, factors):
        return DiscreteBlock(bound, names, factors)
    reason = why_not_conjugate(bound, names, factors)
    if reason is None:
        return ConjugateBlock(bound, names, factors)
    common = find_common_precision(bound, names, factors)
    if common is not None:
        return CommonPrecisionBlock(bound, names, factors, common)
    return _variational(bound, names, factors, options, reason)


def _variational(
    bound: Bound,
    names: list[str],
    factors: list[BoundFactor],
    options: Options | None,
    reason: str,
) -> Any:
    from posteriori.modeling.variational.variational_block import VariationalBlock

    try:
        return VariationalBlock(bound, names, factors, options)
    except TypeError as error:
        if len(names) == 1 and reason:
            raise TypeError(f"no method for {names[0]}: {reason}") from error
        raise TypeError(f"no method for {', '.join(names)} together: {error}") from error


def _is_affine(factor: BoundFactor) -> bool:
    """Tell whether the mean is affine in the unknowns and the spread is known."""
    for key, poly in factor.parameters.items():
        for term in poly.terms:
            if any(isinstance(access, Switch) for access in term.accesses):
                return False
            if len(term.accesses) > (1 if key == "mean" else 0):
                return False
    return True
