"""Which class is to be found, and what mistakes cost: as asked, or as rows of a rare class ask for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.table.wording import short_number
from posteriori.decision.rules import decide
from posteriori.numerics.types import Array

__all__ = [
    "ALIKE",
    "Costs",
    "Stakes",
    "class_name",
    "cost_matrix",
    "costs_in_words",
    "read_stakes",
    "rule_in_words",
    "say_classes",
    "stakes_again",
    "threshold_of",
]

#: What mistakes cost, by the true class and the one that is said: ``{("yes", "no"): 10}``, or ``{"yes:no": 10}``.
Costs = Mapping[Any, float]

#: A class is rare that has a smaller share of the rows than this, and of an equal share.
_RARE, _OF_EQUAL = 0.2, 0.5


class Stakes(NamedTuple):
    """What is at stake where classes are predicted.

    Attributes
    ----------
    positive : int or None
        Code of the class that is to be found; None where all classes matter alike.
    costs : (K, K) or None
        What it costs to say a class (second index) where another is true (first index), if that was told.
    """

    positive: int | None = None
    costs: Array | None = None


#: All classes matter alike.
ALIKE = Stakes()


def read_stakes(
    name: str, values: Any, classes: Any, costs: Costs | None = None, positive: Any = None
) -> Stakes:
    """Return what is at stake: as told, else where exactly one class is rare.

    Parameters
    ----------
    name : str
        Of the target.
    values : (N,)
    classes : (K,) or None
        Sorted labels; None for numbers.
    costs : mapping, optional
    positive : label, optional
        The class that is to be found. By default the one that is dearest to miss where costs are told, of
        equal ones the rarest; without costs the one class of less than 20 % of the rows and less than half
        of an equal share, if there is one.

    Raises
    ------
    ValueError
        When there are no classes, not these, or costs leave nothing to decide.

    Examples
    --------
    >>> stakes = read_stakes("spam", ["no"] * 9 + ["yes"], ["no", "yes"], {"yes:no": 10})
    >>> stakes.positive, stakes.costs.tolist()
    (1, [[0.0, 1.0], [10.0, 0.0]])
    """
    if classes is None:
        if costs or positive is not None:
            asked = "costs are told" if costs else "a positive class is named"
            raise ValueError(
                f"{asked} for {name!r}, which is predicted as a number: they are for classes "
                "(--task classification, task='classification')"
            )
        return ALIKE
    matrix = cost_matrix(costs, classes) if costs else None
    counts = np.array([np.sum(np.asarray(values) == label) for label in classes])
    if positive is not None:
        return Stakes(_positive_code(positive, classes), matrix)
    if matrix is not None:
        dearest = matrix.max(axis=1)
        return Stakes(int(np.lexsort((counts, -dearest))[0]), matrix)
    limit = min(_RARE, _OF_EQUAL / len(classes)) * counts.sum()
    rare = np.flatnonzero(counts < limit)
    return Stakes(int(rare[0]) if len(rare) == 1 else None)


def cost_matrix(costs: Costs, classes: Any) -> Array:
    """Return what each answer costs (second index) where each class is true, (K, K).

    Other mistakes cost 1, and what is right nothing.

    Examples
    --------
    >>> cost_matrix({("ill", "well"): 5.0}, ["ill", "well"]).tolist()
    [[0.0, 5.0], [1.0, 0.0]]
    """
    if not isinstance(costs, Mapping):
        raise TypeError(
            f"costs must be a mapping such as {{'yes:no': 10}}, got {type(costs).__name__}"
        )
    matrix = 1.0 - np.eye(len(classes))
    for pair, cost in costs.items():
        true, said = _codes_of(pair, classes)
        matrix[true, said] = _amount(pair, cost)
    never = np.flatnonzero((matrix <= matrix.min(axis=1, keepdims=True)).all(axis=0))
    if len(never):
        raise ValueError(
            f"with these costs saying {str(classes[never[0]])!r} is never dearer than anything else, so there "
            "is nothing to decide: let what is wrong cost more than what is right"
        )
    return matrix


def stakes_again(goal: Any) -> dict[str, Any]:
    """Return the options that lead to the same stakes of a target, those that would not be guessed."""
    stakes, told = goal.stakes, {}
    if stakes.costs is not None:
        places = np.argwhere(stakes.costs != 1.0 - np.eye(len(goal.classes)))
        told = {
            f"{goal.classes[k]}:{goal.classes[j]}": float(stakes.costs[k, j]) for k, j in places
        }
    guessed = read_stakes(goal.column.name, goal.values, goal.classes, told).positive
    named = None if stakes.positive == guessed else str(goal.classes[stakes.positive])
    return {"costs": told, "positive": named}


def say_classes(p: Array, rule: Array | None) -> Any:
    """Return codes of the classes that cost least on average, (N,), or of the most probable ones without costs."""
    return p.argmax(axis=1) if rule is None else decide(p, rule).code


def threshold_of(rule: Array, positive: int) -> float:
    """Return from which probability on one of two classes is said, where it costs less on average.

    Examples
    --------
    >>> threshold_of(np.array([[0.0, 1.0], [9.0, 0.0]]), 1)
    0.1
    """
    other = 1 - positive
    alarm = rule[other, positive] - rule[other, other]
    miss = rule[positive, other] - rule[positive, positive]
    return float(alarm / (alarm + miss))


def class_name(label: Any) -> str:
    """Return a class as it is written in sentences."""
    return f"“{label}”"


def rule_in_words(rule: Array, positive: int, classes: Any) -> list[str]:
    """Say in lines by which costs a saved model decides, and from which probability on.

    Examples
    --------
    >>> for line in rule_in_words(np.array([[0.0, 1.0], [9.0, 0.0]]), 1, ["no", "yes"]):
    ...     print(line)
    costs: “yes” taken for “no” 9, other mistakes 1
    threshold: says “yes” from a probability of 0.1 on
    """
    lines = [f"costs: {costs_in_words(rule, classes)}"]
    if len(classes) == 2:
        threshold = short_number(threshold_of(rule, positive), 3)
        label = class_name(classes[positive])
        lines.append(f"threshold: says {label} from a probability of {threshold} on")
    return lines


def costs_in_words(rule: Array, classes: Any) -> str:
    """Name the costs that differ from those of mistakes that are all alike."""
    places = np.argwhere(rule != 1.0 - np.eye(len(classes)))
    told = [
        f"{class_name(classes[k])} {'said rightly' if k == j else f'taken for {class_name(classes[j])}'} "
        f"{short_number(float(rule[k, j]), 3)}"
        for k, j in places
    ]
    others = int((rule == 1.0).sum()) - int((np.diag(rule) == 1.0).sum())
    return ", ".join([*told, *(["other mistakes 1"] if others else [])])


def _amount(pair: Any, cost: Any) -> float:
    try:
        amount = float(cost)
    except (TypeError, ValueError):
        amount = math.nan
    if not (math.isfinite(amount) and amount >= 0.0):
        raise ValueError(f"the cost of {_text(pair)} must be a number from 0 on, got {cost!r}")
    return amount


def _codes_of(pair: Any, classes: Any) -> tuple[int, int]:
    """Return the codes of the true class and of the one that is said; names may hold colons."""
    if isinstance(pair, tuple) and len(pair) == 2:
        return _code_of(pair[0], classes, "costs"), _code_of(pair[1], classes, "costs")
    parts = str(pair).split(":")
    if isinstance(pair, tuple) or len(parts) < 2:
        raise ValueError(
            f"costs are told of the true class and the one that is said, such as 'yes:no', got {_text(pair)}"
        )
    halves = [(":".join(parts[:k]), ":".join(parts[k:])) for k in range(1, len(parts))]
    known = {str(label) for label in classes}
    true, said = next((both for both in halves if known.issuperset(both)), halves[0])
    return _code_of(true.strip(), classes, "costs"), _code_of(said.strip(), classes, "costs")


def _positive_code(positive: Any, classes: Any) -> int:
    names = [str(label) for label in classes]
    several = positive.split(",") if isinstance(positive, str) else positive
    if str(positive) not in names and isinstance(several, list | tuple | set | np.ndarray):
        parts = [str(part).strip() for part in several]
        if len(parts) > 1 and set(parts) <= set(names):
            raise ValueError(
                f"positive names one class, got {len(parts)}: {', '.join(parts)}; what mistakes about several "
                "classes cost is told by --cost (costs=)"
            )
    return _code_of(positive, classes, "positive")


def _code_of(label: Any, classes: Any, asked: str) -> int:
    names = [str(name) for name in classes]
    if str(label) in names:
        return names.index(str(label))
    lower = {name.lower(): name for name in names}
    near = [lower[n] for n in get_close_matches(str(label).lower(), list(lower), n=1)]
    hint = f"did you mean {near[0]!r}? There are" if near else "there are"
    listed = ", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")
    raise ValueError(f"{asked}: there is no class {str(label)!r}; {hint} {listed}")


def _text(pair: Any) -> str:
    return repr(":".join(map(str, pair)) if isinstance(pair, tuple) else str(pair))
