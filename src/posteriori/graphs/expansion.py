"""What a model says of itself to be drawn as a factor graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from posteriori.graphs.forney_nodes import Node

__all__ = ["Expandable", "Expansion"]


class Expansion(NamedTuple):
    """Factors over variables, what they multiply to, and why messages cannot be passed.

    ``plates`` has what is written at each plate, ``around`` those of each variable.
    """

    nodes: list[Node]
    log_value: Callable[[Mapping[str, Any]], float]
    obstacle: str | None
    plates: dict[str, str]
    around: dict[str, tuple[str, ...]]


class Expandable(Protocol):
    """A model that can write itself as nodes on variables."""

    def expand(self, data: Mapping[str, Any] | None = None, /) -> Expansion:
        """Return the factors of the model, with observations as clamps."""
        ...
