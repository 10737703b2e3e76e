"""A tree in words: its rules, its graph, its drawing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from posteriori.drawing import Drawing, Line, Shape
from posteriori.inference.trees.flat_trees import Trees
from posteriori.numerics.lazy import networkx
from posteriori.numerics.types import Array

__all__ = ["LabelledTree"]

#: Leaves that are printed and drawn; a tree of more says nothing to a reader.
_MOST_LEAVES = 64


@dataclass(frozen=True, eq=False, repr=False)
class LabelledTree:
    """One tree with the names of its columns and what its nodes say.

    Attributes
    ----------
    trees : Trees
        The tree.
    names : tuple of str
        Of the columns.
    weight : (M,)
        How many rows each node has.
    value : (M,)
        What each node predicts: a number, or the place of a class.
    spread : (M,)
        Standard deviation of a number, or probability of the class.
    classes : (K,) or None
        Labels; None for numbers.
    gaps : (D,) of bool or None
        Columns of which something was missing: their questions say where that goes.
    """

    trees: Trees
    names: tuple[str, ...]
    weight: Array
    value: Array
    spread: Array
    classes: Any = None
    gaps: Any = None

    @property
    def n_leaves(self) -> int:
        """How many leaves it has."""
        return int(self.trees.is_leaf.sum())

    @property
    def depth(self) -> int:
        """How many questions lead to the deepest leaf."""
        return int(self.trees.depth.max())

    def question(self, node: int) -> str:
        """Return what an inner node asks; yes leads left."""
        trees, column = self.trees, self.trees.column[node]
        name, start = self.names[column], trees.subset[node]
        or_missing = self.gaps is not None and self.gaps[column] and trees.missing_left[node]
        ending = " or missing" if or_missing else ""
        if start >= 0:
            levels = np.flatnonzero(trees.levels[start : start + trees.n_levels[column]])
            return f"{name} in {{{', '.join(map(str, levels))}}}{ending}"
        if np.isinf(trees.threshold[node]):
            return f"{name} is known"
        return f"{name} <= {trees.threshold[node]:.6g}{ending}"

    def answer(self, node: int) -> str:
        """Return what a node says of its rows."""
        rows = f"{self.weight[node]:.6g} row{'' if self.weight[node] == 1.0 else 's'}"
        if self.classes is None:
            return f"{self.value[node]:.5g} ± {self.spread[node]:.3g} ({rows})"
        label = self.classes.tolist()[int(self.value[node])]
        return f"{label} ({self.spread[node]:.0%}, {rows})"

    def rules(self) -> str:
        """Return the tree as nested rules.

        Raises
        ------
        ValueError
            When it has too many leaves to be read.
        """
        self._require_readable()
        return "\n".join(self._lines(0, ""))

    def _lines(self, node: int, indent: str) -> Iterator[str]:
        trees = self.trees
        if trees.is_leaf[node]:
            yield indent + self.answer(node)
            return
        yield f"{indent}if {self.question(node)}:"
        yield from self._lines(int(trees.left[node]), indent + "    ")
        yield f"{indent}else:"
        yield from self._lines(int(trees.right[node]), indent + "    ")

    def networkx(self) -> Any:
        """Return the tree as a ``networkx.DiGraph`` of its nodes' numbers.

        Nodes have ``label``; inner ones ``column`` and ``threshold``; lines ``label``, "yes" or "no".
        """
        trees, graph = self.trees, networkx.DiGraph()
        for node in range(len(trees.column)):
            if trees.is_leaf[node]:
                graph.add_node(node, label=self.answer(node))
                continue
            asked = {"column": self.names[trees.column[node]], "threshold": trees.threshold[node]}
            graph.add_node(node, label=self.question(node), **asked)
            graph.add_edge(node, int(trees.left[node]), label="yes")
            graph.add_edge(node, int(trees.right[node]), label="no")
        return graph

    def draw(self) -> Drawing:
        """Return a drawing of the tree, for SVG, DOT or Mermaid; yes leads left."""
        self._require_readable()
        trees, shapes, lines, waiting = self.trees, [], [], [0]
        while waiting:  # from left to right, so that the drawing keeps the order
            node = waiting.pop()
            leaf = bool(trees.is_leaf[node])
            label = self.answer(node) if leaf else self.question(node)
            shapes.append(Shape(str(node), label, "square", leaf, self.answer(node)))
            if not leaf:
                waiting += [int(trees.right[node]), int(trees.left[node])]
                lines.append(Line(str(node), str(trees.left[node]), "yes"))
                lines.append(Line(str(node), str(trees.right[node]), "no"))
        return Drawing(tuple(shapes), tuple(lines))

    def _require_readable(self) -> None:
        if self.n_leaves > _MOST_LEAVES:
            raise ValueError(
                f"a tree of {self.n_leaves} leaves cannot be read (at most {_MOST_LEAVES}): limit "
                "max_leaves or max_depth, or prune it; networkx() has it whole"
            )

    def __str__(self) -> str:
        return self.rules() if self.n_leaves <= _MOST_LEAVES else repr(self)

    def __repr__(self) -> str:
        return f"LabelledTree({self.n_leaves} leaves, depth {self.depth})"
