"""How the answer to a query follows from the table: steps labelled with the rule that they use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from posteriori.factors import Factor
from posteriori.tables.table_query import Query

__all__ = ["Derivation", "Step", "assume", "derive", "symbol"]


class Step(NamedTuple):
    """One step of a derivation.

    Attributes
    ----------
    rule : str
        "m" for a model assumption, "s" for the sum rule, "p" for the product rule (with Bayes'
        rule, which follows from it).
    text : str
        The equation.
    """

    rule: str
    text: str

    def __str__(self) -> str:
        return f"({self.rule}) {self.text}"


class Derivation(NamedTuple):
    """The answer to a query, and the steps that lead to it."""

    answer: Any
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))


def derive(asked: Query, known: Factor, posterior: Factor) -> Iterable[Step]:
    """Write down how a query is answered: sum out the rest, sum out the targets, divide."""
    targets = [
        f"{name}={asked.values[name]}" if name in asked.values else name for name in asked.targets
    ]
    given = [f"{name}={label}" for name, label in asked.given.items()]
    rest = [name for name in known.names if name not in asked.targets]
    joint = f"p({', '.join([*targets, *given])})"
    if rest:
        full = f"p({', '.join([*targets, *given, *rest])})"
        yield Step(
            "s", f"{joint} = {_sum_sign(rest)} {full}{'' if given else _result(asked, posterior)}"
        )
    if not given:
        return
    names = f"p({', '.join([*asked.targets, *given])})"
    evidence = float(np.exp(known.log_total))
    known_part = f"p({', '.join(given)})"
    yield Step("s", f"{known_part} = {_sum_sign(asked.targets)} {names} = {evidence:.6g}")
    answer = f"p({', '.join(targets)} | {', '.join(given)})"
    yield Step("p", f"{answer} = {joint} / {known_part}{_result(asked, posterior)}")


def _result(asked: Query, posterior: Factor) -> str:
    if asked.values:
        return f" = {float(np.exp(posterior.log_value(asked.values))):.6g}"
    if posterior.size > 8:
        return ""
    return f" = ({', '.join(f'{p:.6g}' for p in posterior.values.ravel())})"


def _sum_sign(names: Iterable[str]) -> str:
    return " ".join(f"Σ_{name}" for name in names)


def assume(
    target: tuple[str, ...], given: tuple[str, ...], before: tuple[str, ...]
) -> Iterable[Step]:
    """State that a table does not depend on variables before it that it leaves out."""
    left_out = [name for name in before if name not in given]
    if left_out:
        yield Step("m", f"{symbol(target, before)} = {symbol(target, given)}")


def symbol(target: tuple[str, ...], given: tuple[str, ...]) -> str:
    """Write p(target | given)."""
    return f"p({', '.join(target)}{' | ' + ', '.join(given) if given else ''})"
