"""Answers one step at a time: enumeration, elimination whose tables can be looked at, messages on trees."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from posteriori.factors import Factor
from posteriori.factors.axes import Label
from posteriori.networks.factor_graph import FactorGraph

__all__ = [
    "METHODS",
    "EliminationStep",
    "cut",
    "eliminate_in_order",
    "enumerate_all",
    "pass_on_tree",
]

#: What ``method=`` takes.
METHODS = ("enumeration", "variable elimination", "sum-product", "junction tree")

#: More cells than this in the table of all variables are refused.
_MOST_CELLS = 1 << 26


class EliminationStep(NamedTuple):
    """One variable summed out: the factors that held it, their product, and what is left."""

    variable: str
    factors: tuple[Factor, ...]
    product: Factor
    message: Factor


def enumerate_all(factors: Sequence[Factor], targets: Sequence[str]) -> Factor:
    """Return the sum over all other variables of the table of all variables."""
    sizes = {v: len(labels) for f in factors for v, labels in f.labels.items()}
    cells = math.prod(map(float, sizes.values()))
    if cells > _MOST_CELLS:
        raise MemoryError(
            f"enumeration needs a table of {cells:.3g} cells over {len(sizes)} variables; "
            'method="junction tree" needs less'
        )
    product = Factor.scalar(1.0)
    for factor in factors:
        product = product * factor
    return product.marginal(targets)


def eliminate_in_order(
    factors: Iterable[Factor], order: Sequence[str]
) -> tuple[list[EliminationStep], Factor]:
    """Sum variables out one after another; return the steps and the product of what is left."""
    live, steps = list(factors), []
    for variable in order:
        parts = [f for f in live if variable in f.names]
        live = [f for f in live if variable not in f.names]
        product = Factor.scalar(1.0)
        for part in parts:
            product = product * part
        message = product.marginal([name for name in product.names if name != variable])
        steps.append(EliminationStep(variable, tuple(parts), product, message))
        live.append(message)
    rest = Factor.scalar(1.0)
    for factor in live:
        rest = rest * factor
    return steps, rest


def pass_on_tree(factors: Mapping[str, Factor], targets: Sequence[str]) -> Factor:
    """Return the joint table of one variable, or of variables of one factor, from messages on a tree."""
    graph = FactorGraph(factors)
    messages = graph.messages()
    holder = next((name for name, f in factors.items() if set(targets) <= set(f.names)), None)
    if holder is None:
        raise ValueError(
            f"messages give marginals of variables that share a factor; {', '.join(targets)} do not: ask "
            'for method="junction tree"'
        )
    belief = factors[holder]
    for v in belief.names:
        belief = belief * messages.to_factor[holder, v]
    return belief.marginal(targets)


def cut(factors: Mapping[str, Factor], given: Mapping[str, Label]) -> dict[str, Factor]:
    """Return factors with observed axes cut off."""
    return {
        name: f.reduce({v: given[v] for v in f.names if v in given}) for name, f in factors.items()
    }
