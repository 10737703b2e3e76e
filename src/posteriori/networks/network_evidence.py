"""What is known: states, likelihoods of states, and new marginals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.factors.axes import Label
from posteriori.numerics.types import Array
from posteriori.numerics.validation import SUM_TOLERANCE, hint, nonnegative
from posteriori.tables.table_query import parse_assignment, refuse_variable

__all__ = ["Evidence", "Given", "read_known"]

#: What ``given=`` takes.
Given = str | Mapping[str, Label] | None


class Evidence(NamedTuple):
    """Findings.

    Attributes
    ----------
    states : dict of str to label
    virtual : dict of str to (K,)
        Likelihoods of the states, up to a factor.
    soft : dict of str to (K,)
        Marginals that hold afterwards.
    """

    states: dict[str, Label]
    virtual: dict[str, Array]
    soft: dict[str, Array]


def read_known(
    labels: Mapping[str, tuple[Label, ...]],
    given: Given,
    virtual: Mapping[str, Any] | None = None,
    soft: Mapping[str, Any] | None = None,
) -> Evidence:
    """Check what is known.

    Raises
    ------
    TypeError, ValueError
        For names, states, shapes and numbers that cannot be.
    """
    states = {} if given is None else parse_assignment(given, labels)
    likelihoods = _all_numbers("virtual", virtual, labels)
    margins = _all_numbers("soft", soft, labels)
    for name, p in margins.items():
        if abs(p.sum() - 1.0) > SUM_TOLERANCE:
            raise ValueError(
                f"soft evidence of {name!r} must sum to 1, got a sum of {p.sum():.10g}"
            )
        if name in states:
            raise ValueError(f"{name!r} is both given and has soft evidence")
    return Evidence(states, likelihoods, {name: p / p.sum() for name, p in margins.items()})


def _all_numbers(
    argument: str, found: Mapping[str, Any] | None, labels: Mapping[str, tuple[Label, ...]]
) -> dict[str, Array]:
    if found is not None and not isinstance(found, Mapping):
        raise TypeError(
            f'{argument} must be a mapping such as {{"wet": [0.2, 0.8]}}, got {type(found).__name__}'
        )
    return {name: _numbers(name, x, labels, argument) for name, x in (found or {}).items()}


def _numbers(
    name: str, values: Any, labels: Mapping[str, tuple[Label, ...]], argument: str
) -> Array:
    if name not in labels:
        refuse_variable(name, labels)
    states, what = labels[name], f"{argument} evidence of {name!r}"
    if isinstance(values, Mapping):
        unknown = next((label for label in values if label not in states), None)
        if unknown is not None:
            raise ValueError(f"{name!r} has no state {unknown!r}{hint(unknown, states)}")
        missing = next((label for label in states if label not in values), None)
        if missing is not None:
            raise ValueError(f"{what} has no number for {missing!r}; give one for each state")
        values = [values[label] for label in states]
    x = np.asarray(nonnegative(what, values))
    if x.shape != (len(states),):
        raise ValueError(
            f"{what} needs {len(states)} numbers, one for each state, got shape {x.shape}"
        )
    if not x.any():
        raise ValueError(f"{what} must have a number above 0, got {x.tolist()}")
    return x
