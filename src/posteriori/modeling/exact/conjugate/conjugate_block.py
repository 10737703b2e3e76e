r"""Blocks of one unknown variable whose observed children are conjugate to it.

Every row of a child adds its increments :math:`t(x)` to the natural parameters of the place of the
unknown that it sees,

.. math:: \eta_j' = \eta_j + \sum_{r:\,j(r)=j} t(x_r),

so a plate, a known index or a shared unknown differ only in the index :math:`j(r)`. The increments
are those of :mod:`posteriori.distributions.conjugate.pair`; children of several families add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.distributions.conjugate.pair import NaturalPair, Pair
from posteriori.distributions.unknown import Conditional
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.construction import member
from posteriori.modeling.binding.labelled import count_of
from posteriori.modeling.contract.costs import Cost, counted
from posteriori.modeling.contract.engine import Block, Fit, Group
from posteriori.modeling.exact.conjugate.conjugate_result import ConjugateResult
from posteriori.modeling.exact.conjugate.statistics_by_place import merge_by_place
from posteriori.modeling.forms.conjugate_rows import (
    Child,
    observed_child,
    pair_class_of,
    plain_parameters,
    reshaped,
    see,
)
from posteriori.numerics.blocks.block_sizes import WITH_COPY
from posteriori.numerics.types import Array

__all__ = ["ConjugateBlock", "fits_conjugate"]


def fits_conjugate(group: Group) -> Fit:
    """Tell whether a group is one variable with conjugate children."""
    reason = _why_not(group.bound, group.names, group.factors)
    return Fit(reason is None, reason=reason or "")


def _why_not(bound: Bound, names: Sequence[str], factors: Sequence[BoundFactor]) -> str | None:
    """Say why a group of factors is no conjugate block; None when it is one."""
    if len(names) != 1:
        return "several unknown variables share factors"
    (name,) = names
    priors = [f for f in factors if f.name == name]
    if len(priors) != 1 or not all(p.is_known for p in priors[0].parameters.values()):
        return f"the members of {name} depend on one another"
    for factor in factors:
        if factor is priors[0]:
            continue
        sight = see(factor, name, bound.layouts[name])
        if isinstance(sight, str):
            return sight
        if pair_class_of(priors[0].family, factor, sight) is None:
            prior, family = priors[0].family.__name__, factor.family.__name__
            return (
                f"{prior} is not conjugate to the {sight.parameter} of {family} ({factor.name}), "
                "which takes numerical integration"
            )
    return None


class ConjugateBlock(Block):
    """One unknown variable with a known prior and observed children conjugate to it.

    Parameters
    ----------
    bound : Bound
    names : sequence of str
        The unknown variable, alone.
    factors : sequence of BoundFactor
        Its prior and its children; :func:`fits_conjugate` must hold.
    """

    method = "conjugate update"
    why = "all children are conjugate to the prior: their statistics add to its parameters"

    def __init__(self, bound: Bound, names: Sequence[str], factors: Sequence[BoundFactor]) -> None:
        (self.name,) = self.names = tuple(names)
        self.bound = bound
        self.factors = tuple(factors)
        self.layout = bound.layouts[self.name]
        self.prior_factor = next(f for f in factors if f.name == self.name)
        self.child_factors = [f for f in factors if f is not self.prior_factor]
        self.families = [(f.name, f.family.__name__) for f in self.child_factors]
        self.children = [observed_child(f, self.name, bound) for f in self.child_factors]

    @property
    def count(self) -> int:
        """Number of places: of independent members of the unknown."""
        return count_of(self.layout.lead)

    @property
    def order(self) -> tuple[str, ...]:
        """The one variable."""
        return self.names

    @property
    def cost(self) -> Cost:
        """What adding up costs: some operations for each number of the data and the prior."""
        prior = member(self.prior_factor)
        parameters = sum(np.size(part) for part in prior._given_parameters().values())
        width = max(parameters / self.count, 1.0)
        rows = sum(len(child.values) for child in self.children)
        held = sum(child.values.nbytes for child in self.children)
        largest = max((min(len(c.values), WITH_COPY) for c in self.children), default=0)
        return Cost(2.0 * rows * width + 4.0 * parameters, held + 8.0 * width * largest)

    def describe(self) -> str:
        """Say what is added up."""
        rows = [
            f"{counted(len(child.values), 'row')} of {name} ({family})"
            for (name, family), child in zip(self.families, self.children, strict=True)
        ]
        prior = self.prior_factor.family.__name__
        return f"{prior} prior in {counted(self.count, 'place')}; {'; '.join(rows)}"

    def solve(self) -> ConjugateResult:
        """Return the exact posterior."""
        prior = member(self.prior_factor)
        belief, log_evidence = self.learn(reshaped(prior, (self.count,)), self.children)
        return ConjugateResult(reshaped(belief, prior.batch_shape), log_evidence, self)

    def learn(self, belief: Any, children: Sequence[Child]) -> tuple[Any, float]:
        """Update a belief, one member for each place, by some of the children."""
        belief, log_evidences = self.learn_places(belief, children)
        return belief, float(log_evidences.sum()) + sum(child.log_known for child in children)

    def learn_places(self, belief: Any, children: Sequence[Child]) -> tuple[Any, Array]:
        """Update a belief by rows that see it, and return the log evidence of each place, (P,)."""
        natural: list[Child] = []
        others: list[Child] = []
        for child in children:
            if len(child.values):
                adds = issubclass(child.pair_class(type(belief)), NaturalPair)
                (natural if adds else others).append(child)
        belief, log_evidences = _add_increments(belief, natural)
        for child in others:
            belief, more = _merge_rows(belief, child)
            log_evidences = log_evidences + more
        return belief, log_evidences


# -- updates ---------------------------------------------------------------------------------


def _add_increments(belief: Any, children: Sequence[Child]) -> tuple[Any, Array]:
    """Add what all rows say to the natural parameters, place by place at once."""
    if not children:
        return belief, np.zeros(belief.batch_shape)
    one = take_members(belief, 0)
    (count,) = belief.batch_shape
    shapes = [np.shape(part)[1:] for part in belief.natural]
    total: Any = None
    for child in children:
        pair = child.pair(one)
        _check(pair, child)
        for part in _chunks(child, count):
            sums = _sums_by_place(part.pair(one), part, count, shapes)
            total = sums if total is None else total.merge(sums)
    rule = type(pair)(belief, Conditional(child.family, plain_parameters(child)))
    posterior = rule.update(belief, total)
    return posterior, np.where(total.count > 0, rule.log_evidence(posterior, total), 0.0)


def _chunks(child: Child, count: int) -> Iterator[Child]:
    """Yield the rows in parts that stay in the cache, none smaller than the number of places."""
    rows, step = len(child.values), max(WITH_COPY, count)
    if rows <= step:
        yield child
        return
    for start in range(0, rows, step):
        yield child.at(slice(start, start + step))


def _sums_by_place(pair: Pair, child: Child, count: int, shapes: list[tuple[int, ...]]) -> Any:
    """Return the increments of the natural parameters, and their constants, in each place."""
    rows = len(child.values)
    if count == 1:
        return pair.summarize(child.values).broadcast(np.full(1, float(rows)), shapes)
    each = pair.summarize(child.values[None]).broadcast(np.ones(rows), shapes)
    if child.index is None:
        return each
    return each.add_up(lambda part: _add_up(part, child.index, count), child.index)


def _add_up(values: Array, index: Any, count: int) -> Array:
    """Add rows (R, ...) into places (P, ...)."""
    flat = values.reshape(len(values), -1)
    columns = [np.bincount(index, weights=column, minlength=count) for column in flat.T]
    return np.stack(columns, axis=-1).reshape(count, *values.shape[1:])


def _merge_rows(belief: Any, child: Child) -> tuple[Any, Array]:
    """Apply Bayes' rule to pairs whose statistics merge, but are not plain sums."""
    (count,) = belief.batch_shape
    pair = child.pair(take_members(belief, 0))
    _check(pair, child)
    if count == 1:
        index = np.zeros(1, dtype=np.intp)
        statistics, places = merge_by_place(pair.summarize(child.values), index)
    else:
        index = np.arange(count) if child.index is None else child.index
        statistics, places = merge_by_place(pair.summarize(child.values[None]), index)
    rule = type(pair)(take_members(belief, places), child.conditional)
    posterior = rule.update(rule.prior, statistics)
    log_evidences = np.zeros(count)
    log_evidences[places] = rule.log_evidence(posterior, statistics)
    parameters = {}
    for name in (name.rstrip("=") for name in type(belief)._shown):
        parameters[name] = np.array(getattr(belief, name))
        parameters[name][places] = getattr(posterior, name)
    return type(belief)(**parameters), log_evidences


def _check(pair: Pair, child: Child) -> None:
    """Refuse data that the likelihood cannot produce."""
    try:
        pair.check(child.values, 0)
    except ValueError as error:
        note = " (counting rows that are not missing)" if child.has_gaps else ""
        raise ValueError(f"{child.name}: {error}{note}") from None
