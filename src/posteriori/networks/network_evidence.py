"""What is known: states, likelihoods of states, and new marginals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.factors.axes import Label, refuse_axis
from posteriori.numerics.types import Array
from posteriori.numerics.validation import SUM_TOLERANCE, hint
from posteriori.tables.table_query import parse_assignment

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
    KeyError, ValueError
        For names, states, shapes and numbers that cannot be.
    """
    states = {} if given is None else parse_assignment(given, labels)
    likelihoods = {n: _numbers(n, x, labels, "virtual") for n, x in (virtual or {}).items()}
    margins = {n: _numbers(n, x, labels, "soft") for n, x in (soft or {}).items()}
    for name, p in margins.items():
        if abs(p.sum() - 1.0) > SUM_TOLERANCE:
            raise ValueError(
                f"soft evidence of {name!r} must sum to 1, got a sum of {p.sum():.10g}"
            )
        if name in states:
            raise ValueError(f"{name!r} is both given and has soft evidence")
    return Evidence(states, likelihoods, {name: p / p.sum() for name, p in margins.items()})


def _numbers(name: str, values: Any, labels: Mapping[str, Sequence[Label]], argument: str) -> Array:
    if name not in labels:
        refuse_axis(name, tuple(labels))
    states = labels[name]
    if isinstance(values, Mapping):
        unknown = next((label for label in values if label not in states), None)
        if unknown is not None:
            raise ValueError(f"{name!r} has no state {unknown!r}{hint(unknown, states)}")
        values = [values.get(label, 0.0) for label in states]
    x = np.asarray(values, dtype=float)
    if x.shape != (len(states),):
        raise ValueError(
            f"{argument} evidence of {name!r} needs {len(states)} numbers, one for each state, got shape "
            f"{x.shape}"
        )
    if not (np.isfinite(x).all() and (x >= 0.0).all() and x.any()):
        raise ValueError(
            f"{argument} evidence of {name!r} must be finite and not negative, with a number above 0; "
            f"got {x.tolist()}"
        )
    return x
