"""Drawings in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from posteriori.drawing.nesting import full_label, nest_plates
from posteriori.drawing.shapes import Line, Shape, Sketch

__all__ = ["write_dot"]

_LOOKS = {
    "circle": "shape=ellipse",
    "square": "shape=box",
    "factor": 'shape=box, width=0.2, height=0.2, style=filled, fillcolor="#333333", label=""',
    "constant": 'shape=box, width=0.12, height=0.12, label=""',
    "point": 'shape=box, width=0.1, height=0.1, style=filled, fillcolor="#333333", label=""',
    "card": "shape=box",
    "end": 'shape=point, width=0.01, label=""',
}


def write_dot(sketch: Sketch) -> str:
    """Return a drawing as the text of a DOT file."""
    names = {shape.key: f"n{i}" for i, shape in enumerate(sketch.shapes)}
    tree = nest_plates(sketch)
    out = ["digraph {", "  rankdir=TB;"]
    for shape in sketch.shapes:
        out.append(f"  {names[shape.key]} [{_look(shape, full_label(shape, sketch, tree))}];")
    out += _clusters(sketch, tree, names)
    out += [_arrow(line, names) for line in sketch.lines]
    return "\n".join([*out, "}"]) + "\n"


def _look(shape: Shape, label: str) -> str:
    look = _LOOKS[shape.form]
    if shape.form in ("circle", "square", "card"):
        label = "\n".join([label, *(f"{name}: {p:.3g}" for name, p in shape.bars)])
        shade = ', style=filled, fillcolor="#d5dbe3"' if shape.shaded else ""
        return f"{look}, label={_quote(label)}{shade}"
    return f"{look}, xlabel={_quote(label)}" if label else look


def _clusters(
    sketch: Sketch, tree: Mapping[str, tuple[str, ...]], names: Mapping[str, str]
) -> list[str]:
    """Return the plates, each around its members and the plates inside it."""
    out: list[str] = []
    numbers = count()

    def write(keys: tuple[str, ...], depth: int) -> None:
        pad = "  " * depth
        for box in sketch.boxes:
            path = (*keys, box.key)
            members = [key for key, where in tree.items() if where[: len(path)] == path]
            if members:
                out.append(f"{pad}subgraph cluster_{next(numbers)} {{")
                out.append(f"{pad}  label={_quote(box.label)}; labeljust=r; labelloc=b;")
                out.extend(f"{pad}  {names[key]};" for key in members if tree[key] == path)
                write(path, depth + 1)
                out.append(f"{pad}}}")

    write((), 1)
    return out


def _arrow(line: Line, names: Mapping[str, str]) -> str:
    looks = [] if line.arrow else ["dir=none"]
    looks += [f"label={_quote(line.label)}"] if line.label else []
    tail = f" [{', '.join(looks)}]" if looks else ""
    return f"  {names[line.start]} -> {names[line.end]}{tail};"


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
