"""Discrete variables that meet in a factor: which of their members do, under which labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling.binding.labelled import Axis, Lookup, Switch, Table

__all__ = ["Scope", "in_scope", "matching_labels"]


class Scope(NamedTuple):
    """Switches that meet in a monomial, with labels of their own for rows and states."""

    switches: tuple[Switch, ...]
    rows: tuple[Axis, ...]


def in_scope(
    joint: list[tuple[Scope, list[Table]]], switches: tuple[Switch, ...], table: Table
) -> tuple[list[Table], Table]:
    """Find the scope of some switches, and the table under its labels."""
    for scope, tables in joint:
        new = matching_labels(switches, scope.switches)
        if new is not None:
            return tables, table.relabelled(new)
    ordered = tuple(sorted(switches, key=lambda s: (s.name, _first_position(s))))
    rows = tuple(dict.fromkeys(a for s in ordered for place in s.places for a in place.labels))
    joint.append((Scope(ordered, rows), []))
    return joint[-1][1], table


def _first_position(switch: Switch) -> int:
    for place in switch.places:
        if isinstance(place, Lookup) and place.positions.values.size:
            return int(place.positions.values.ravel()[0])
    return 0


def matching_labels(mine: Sequence[Switch], theirs: Sequence[Switch]) -> dict[Axis, Axis] | None:
    """Return the labels of the second for those of the first, when they see the same members."""
    if len(mine) != len(theirs):
        return None
    new: dict[Axis, Axis] = {}
    for a in mine:
        b = next((t for t in theirs if _same_members(a, t) and t.state not in new.values()), None)
        if b is None:
            return None
        new[a.state] = b.state
        for p, q in zip(a.places, b.places, strict=True):
            new.update(zip(p.labels, q.labels, strict=True))
    return new


def _same_members(a: Switch, b: Switch) -> bool:
    return a.name == b.name and all(_alike(p, q) for p, q in zip(a.places, b.places, strict=True))


def _alike(p: Any, q: Any) -> bool:
    """Tell whether two places read the same members, whatever their labels are."""
    if type(p) is not type(q) or isinstance(p, Axis):
        return type(p) is type(q) and p.size == q.size
    mine, theirs = p.positions.values, q.positions.values
    return mine is theirs or np.array_equal(mine, theirs)
