"""Questions to a table in the notation of probability, ``D, S | T=1, X=a``.

Names and labels are looked up in the table; nothing is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

from posteriori.factors.axes import Label, Names, as_names
from posteriori.numerics.validation import hint, listed

__all__ = ["Query", "parse_assignment", "parse_query", "refuse_variable"]

Labels = Mapping[str, tuple[Label, ...]]


class Query(NamedTuple):
    """What is asked for, and what is known.

    ``targets`` are names; ``values`` holds their labels when the question is about one event.
    """

    targets: tuple[str, ...]
    values: dict[str, Label]
    given: dict[str, Label]


def parse_query(
    question: Names, labels: Labels, given: str | Mapping[str, Label] | None = None
) -> Query:
    """Read ``"D | T=1"``, or target names together with what is given.

    Parameters
    ----------
    question : str or iterable of str
        Text ``targets | conditions``, or names.
    labels : mapping
        The labels of every axis of the table.
    given : str or mapping, optional
        More that is known.
    """
    known = {} if given is None else parse_assignment(given, labels)
    targets, values = _parse_targets(question, labels, known)
    for name in targets:
        if name in known:
            raise ValueError(f"{name!r} is both asked for and given")
    if values and len(values) < len(targets):
        free = next(name for name in targets if name not in values)
        raise ValueError(
            f"the question asks for a distribution over {free!r} and for an event "
            f"({next(iter(values))!r} has a value); ask for one of the two"
        )
    return Query(targets, values, known)


def parse_assignment(text: str | Mapping[str, Label], labels: Labels) -> dict[str, Label]:
    """Read ``"T=1, X=a"``, or check a mapping of names to labels."""
    if not isinstance(text, str):
        if not isinstance(text, Mapping):
            raise TypeError(
                f'what is given must be text such as "T=1" or a mapping {{"T": 1}}, got {text!r}'
            )
        for name, label in text.items():
            _check_label(name, label, labels)
        return dict(text)
    found: dict[str, Label] = {}
    for piece in filter(None, map(str.strip, text.split(","))):
        name, equals, label = piece.partition("=")
        name = _check_name(name.strip(), labels)
        if not equals or not label.strip():
            raise ValueError(
                f"{piece!r} gives no value for {name!r}; write {name}=label, with one of "
                f"{listed(labels[name])}"
            )
        if name in found:
            raise ValueError(f"{name!r} is given twice")
        found[name] = _find_label(name, label.strip(), labels[name])
    return found


def refuse_variable(name: object, labels: Labels) -> NoReturn:
    """Say that there is no such variable, and which one may have been meant."""
    names = tuple(labels)
    raise ValueError(
        f"there is no variable {name!r}; the variables are {listed(names)}{hint(name, names)}"
    )


def _parse_targets(
    question: Names, labels: Labels, known: dict[str, Label]
) -> tuple[tuple[str, ...], dict[str, Label]]:
    """Return the targets and their values; what the text says is known joins ``known``."""
    if not isinstance(question, str):
        chosen = as_names(question, "question")
        if not chosen:
            raise ValueError("question names no variable; ask for at least one")
        return tuple(_check_name(name, labels) for name in chosen), {}
    asked, bar, conditions = question.partition("|")
    if "|" in conditions:
        raise ValueError(f"{question!r} has two bars; write targets | conditions")
    stated = parse_assignment(conditions, labels)
    if bar and not stated:
        raise ValueError(f"{question!r} has nothing after the bar; write targets | name=label")
    for name, label in stated.items():
        if known.setdefault(name, label) != label:
            raise ValueError(f"{name!r} is given as {label!r} and as {known[name]!r}")
    pieces = [piece.strip() for piece in asked.split(",")]
    if not any(pieces):
        raise ValueError(f"{question!r} asks for nothing; write targets | conditions")
    values: dict[str, Label] = {}
    names: list[str] = []
    for piece in filter(None, pieces):
        if "=" in piece:
            values |= (stated := parse_assignment(piece, labels))
            names += stated
        else:
            names.append(_check_name(piece, labels))
    return as_names(names, "the question"), values


def _check_name(name: str, labels: Labels) -> str:
    if name not in labels:
        refuse_variable(name, labels)
    return name


def _check_label(name: str, label: Label, labels: Labels) -> None:
    _check_name(name, labels)
    if label not in labels[name]:
        _refuse_label(name, label, labels[name])


def _find_label(name: str, text: str, labels: Sequence[Label]) -> Label:
    """Find the label that is written ``text``; quotes say that it is a string."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        matches: list[Label] = [label for label in labels if label == text[1:-1]]
    else:
        matches = [label for label in labels if str(label) == text or _same_number(label, text)]
    if len(matches) > 1:
        matches = [label for label in matches if not isinstance(label, str)]
    if len(matches) != 1:
        _refuse_label(name, text, labels)
    return matches[0]


def _same_number(label: Label, text: str) -> bool:
    if isinstance(label, bool) or not isinstance(label, (int, float)):
        return False
    try:
        return float(text) == label
    except ValueError:
        return False


def _refuse_label(name: str, label: object, labels: Sequence[Label]) -> NoReturn:
    raise ValueError(
        f"{name!r} has no label {label!r}; its labels are {listed(labels)}{hint(label, labels)}"
    )
