"""What expressions are made of: their parts, the variables that others depend on, named plates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from posteriori.modeling.language.chain import Previous
from posteriori.modeling.language.expressions import Expression, Input, Operation, Variable

__all__ = ["arguments_of", "is_random", "named_plates", "names_with_children"]


def arguments_of(item: Expression) -> list[Expression]:
    """Return the expressions that an expression is made of, in the order in which they stand."""
    if not isinstance(item, Operation):
        return []
    return [*item.arguments, *(i for i in item.index if isinstance(i, Expression))]


def is_random(item: Expression) -> bool:
    """Tell whether an index is a variable or members of one, observed or not."""
    while isinstance(item, Operation) and item.kind == "index":
        item = item.arguments[0]
    return isinstance(item, (Variable, Previous))


def names_with_children(variables: Mapping[str, Variable]) -> frozenset[str]:
    """Return the names of variables that others, or later members of a chain, depend on."""
    roots: list[Any] = []
    for variable in variables.values():
        roots += variable.parameters.values()
        roots += () if variable.step is None else variable.step.parameters.values()
    leaves = _leaves([root for root in roots if isinstance(root, Expression)])
    return frozenset(leaf.name for leaf in leaves if isinstance(leaf, (Variable, Previous)))


def named_plates(variables: Mapping[str, Variable]) -> dict[str, tuple[str, ...]]:
    """Return the named plates of each variable, its own first, before any size is known."""
    found: dict[str, tuple[str, ...]] = {}
    for name, variable in variables.items():
        plates = [p for p in (variable.length, *variable.plates) if isinstance(p, str)]
        roots = [v for v in variable.parameters.values() if isinstance(v, Expression)]
        for leaf in _leaves(roots):
            if isinstance(leaf, Variable):
                plates += found.get(leaf.name, ())
            elif isinstance(leaf, Input):
                plates += leaf.plates
        found[name] = tuple(dict.fromkeys(plates))
    return found


def _leaves(roots: list[Expression]) -> Iterator[Expression]:
    """Yield what expressions are made of in the end, from left to right, each once."""
    seen: set[int] = set()
    stack = roots[::-1]
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Operation):
            stack += reversed(arguments_of(item))
        else:
            yield item
