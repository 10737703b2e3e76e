"""Members that no data depend on: left out of the ascent, their belief follows from its result."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.modeling.variational.ascent.approximation import Approximation
from posteriori.modeling.variational.ascent.cut import Cut
from posteriori.modeling.variational.ascent.problem import Problem
from posteriori.modeling.variational.ascent.starts import start_from_priors
from posteriori.modeling.variational.nodes.node import Node
from posteriori.modeling.variational.stream.streaming import Stream

__all__ = ["extend", "restrict"]


def restrict(whole: Approximation, cut: Cut) -> Approximation:
    """Return the approximation of the members that data depend on."""
    factors, empty = cut.factors(whole.written, whole.bound), cut.empty(whole.bound)
    groups = [
        tuple(name for name in group if name not in empty) for group in whole.structure.groups
    ]
    return Approximation(
        cut.bound(whole.bound, factors),
        [name for name in whole.names if name not in empty],
        factors,
        replace(whole.options, init=cut.arrays(whole.options.init, whole.bound.layouts)),
        {name: cut.table(table) for name, table in whole.references.items()},
        [group for group in groups if group],
    )


def extend(whole: Approximation, informed: Problem, cut: Cut) -> tuple[Approximation, Problem]:
    """Return the beliefs about all members, given those about what they share.

    Where that would draw shared variables to members without data, these are grouped apart from
    what they share.
    """
    layouts = whole.bound.layouts
    touched = {n for n in whole.names if cut.touches(layouts[n])}
    if not _can_extend(whole, touched):
        apart = [tuple(n for n in group if n not in touched) for group in whole.structure.groups]
        alone = [tuple(n for n in group if n in touched) for group in whole.structure.groups]
        both = itertools.chain.from_iterable(zip(apart, alone, strict=True))
        whole = whole.regrouped([group for group in both if group])
    streamed = informed.streamed
    if streamed and [g for g in whole.structure.groups if touched & set(g)] == [streamed.names]:
        stream = Stream(whole, streamed.names)  # found when somebody asks for it
        return whole, stream.problem(informed.shared, informed.restart)
    known = {g[0]: informed.owner[g[0]] for g in whole.structure.groups if not touched & set(g)}
    problem = whole.problem(informed.restart, known)
    _find(whole, problem, [n for n in problem.nodes if n.names[0] not in known], informed, cut)
    return whole, problem


def _can_extend(whole: Approximation, touched: set[str]) -> bool:
    """Tell whether there are beliefs about members without data that leave what they share as it is.

    In one group the others are integrated over. Between groups they are not, so that shared
    variables of one of them would be drawn to members of the other.
    """
    groups = [group for group in whole.structure.groups if touched & set(group)]
    return len(groups) == 1 or (bool(groups) and all(touched >= set(group) for group in groups))


def _find(
    whole: Approximation, problem: Problem, nodes: list[Node], informed: Problem, cut: Cut
) -> None:
    """Ascend with the nodes of members without data alone."""
    start_from_priors(whole, problem, nodes)
    if len(nodes) > 1:
        for node in nodes:
            _take_over(node, whole, informed, cut)
        nodes = [node for node in nodes if not _is_taken_over(node, whole)]
    after = -np.inf
    for _ in range(whole.options.max_iter if nodes else 0):
        for node in nodes:
            problem.update(node)
        before, after = after, float(problem.bound(nodes[-1])[0])
        if len(nodes) == 1 or after - before < whole.options.tol:
            break


def _take_over(node: Node, whole: Approximation, informed: Problem, cut: Cut) -> None:
    """Let a node of all members begin with what is believed of the informed ones."""
    for name in node.names:
        values = node.centre(name)
        known = informed.owner[name].centre(name) if name in informed.owner else None
        if values is not None and known is not None:
            found = cut.put(values[0], known[0], whole.bound.layouts[name].axes)
            node.set_centre(name, found[None])


def _is_taken_over(node: Node, whole: Approximation) -> bool:
    """Tell whether a node has its belief: members without data are as what they share says."""
    name, *others = node.names
    alone = whole.bound.families[name] in DISCRETE and not others
    return alone and name not in whole.chained
