"""What an answer will cost, before anything runs."""

from __future__ import annotations

from typing import NamedTuple

from posteriori.inference.cliques.clique_plan import CliquePlan

__all__ = ["NetworkPlan", "describe_plan"]


class NetworkPlan(NamedTuple):
    """How all marginals are made, and what that takes.

    Attributes
    ----------
    method : str
    width : int
        Variables of the largest clique, less one.
    cells : int
        Of all cliques.
    bytes : int
        Memory that is taken, about: never more than three times that.
    order : tuple of str
        Variables, the first eliminated first.
    """

    method: str
    width: int
    cells: int
    bytes: int
    order: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.method}: width {self.width}, {self.cells:,} cells, {self.bytes / 2**20:.3g} MiB"
        )


def describe_plan(plan: CliquePlan, names: tuple[str, ...]) -> NetworkPlan:
    """Return a plan in the words of a network."""
    order = tuple(names[v] for v in plan.order)
    return NetworkPlan("junction tree", plan.width, int(plan.cells), int(plan.n_bytes), order)
