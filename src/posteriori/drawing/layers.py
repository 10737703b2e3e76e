"""Layers from parents to children: the longest path from a root, and long lines cut at each layer."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from posteriori.drawing.measures import Extent
from posteriori.drawing.shapes import Sketch

__all__ = ["find_layers", "split_long_lines"]


def find_layers(sketch: Sketch) -> dict[str, int]:
    """Return the longest path to each shape, lines that close a cycle left out."""
    children: dict[str, list[str]] = {shape.key: [] for shape in sketch.shapes}
    for line in sketch.lines:
        if line.start != line.end:
            children[line.start].append(line.end)
    order, forward = _sort(children)
    parents: dict[str, list[str]] = {key: [] for key in children}
    for key, others in forward.items():
        for other in others:
            parents[other].append(key)
    layer: dict[str, int] = {}
    for key in order:
        layer[key] = max((layer[parent] + 1 for parent in parents[key]), default=0)
    for key in order:  # roots come down to their children
        if not parents[key] and forward[key]:
            layer[key] = min(layer[child] for child in forward[key]) - 1
    return {key: layer[key] for key in children}


def _sort(children: Mapping[str, list[str]]) -> tuple[list[str], dict[str, list[str]]]:
    """Sort parents before children by depth-first search; drop lines back to an ancestor."""
    forward: dict[str, list[str]] = {key: [] for key in children}
    state: dict[str, int] = {}
    order: list[str] = []
    entered = {child for others in children.values() for child in others}
    for root in sorted(children, key=lambda key: key in entered):
        if root in state:
            continue
        state[root] = 1
        stack = [(root, iter(children[root]))]
        while stack:
            key, others = stack[-1]
            child = next(others, None)
            if child is None:
                state[key] = 2
                order.append(key)
                stack.pop()
            elif state.get(child) != 1:
                forward[key].append(child)
                if child not in state:
                    state[child] = 1
                    stack.append((child, iter(children[child])))
    return order[::-1], forward


def split_long_lines(
    sketch: Sketch, layer: dict[str, int], extents: dict[str, Extent]
) -> tuple[list[tuple[str, str]], dict[int, list[str]]]:
    """Return links between neighbouring layers; a long line bends at a place in each layer."""
    links: list[tuple[str, str]] = []
    bends: dict[int, list[str]] = {}
    for i, line in enumerate(sketch.lines):
        if line.start == line.end:
            continue
        a, b = layer[line.start], layer[line.end]
        step = 1 if b > a else -1
        bends[i] = [f"bend {i} {k}" for k in range(a + step, b, step)]
        for k, key in zip(range(a + step, b, step), bends[i], strict=True):
            layer[key] = k
            extents[key] = Extent(3.0, 3.0, 1.0)
        path = [line.start, *bends[i], line.end]
        links += pairwise(path)
    return links, bends
