"""Beliefs of all nodes at one moment, to come back to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from posteriori.modeling.variational.ascent.problem import Problem

__all__ = ["keep_beliefs", "restore", "snapshot"]


def snapshot(problem: Problem) -> list[tuple[Any, dict[str, Any]]]:
    """Return the beliefs of all nodes."""
    return keep_beliefs(problem.nodes)


def keep_beliefs(nodes: Iterable[Any]) -> list[tuple[Any, dict[str, Any]]]:
    """Return the beliefs of some nodes: updates replace arrays and never write into them."""
    parts = [part for node in nodes for part in (node, getattr(node, "node", None))]
    return [(part, _copied(part.__dict__)) for part in parts if part is not None]


def restore(kept: list[tuple[Any, dict[str, Any]]]) -> None:
    """Go back to earlier beliefs."""
    for part, state in kept:
        part.__dict__.clear()
        part.__dict__.update(_copied(state))


def _copied(state: dict[str, Any]) -> dict[str, Any]:
    """Copy a state with its tables by name, whose entries updates do replace."""
    return {key: dict(v) if type(v) is dict else v for key, v in state.items()}
