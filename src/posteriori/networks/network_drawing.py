"""A network on paper: a card for each variable, with the probabilities of its states as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posteriori.drawing.drawing import Drawing
from posteriori.drawing.shapes import Line, Shape
from posteriori.networks.evidence import Given

if TYPE_CHECKING:
    from posteriori.networks.bayesian_network import BayesianNetwork

__all__ = ["draw_network"]


def draw_network(bn: BayesianNetwork, given: Given) -> Drawing:
    """Return a drawing; observed variables are shaded."""
    found = bn.marginals(given)
    observed = bn._findings(given).states
    shapes = []
    for v, name in enumerate(bn.names):
        states = zip(bn.labels[name], found[name].probabilities.tolist(), strict=True)
        bars = tuple((str(label), p) for label, p in states)
        parents = bn.conditionals[name].given
        hint = f"p({name} | {', '.join(parents)})" if parents else f"p({name})"
        shapes.append(Shape(name, name, "card", v in observed, hint, bars=bars))
    lines = [Line(parent, name) for name, one in bn.conditionals.items() for parent in one.given]
    return Drawing(tuple(shapes), tuple(lines))
