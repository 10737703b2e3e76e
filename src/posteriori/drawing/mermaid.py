"""Drawings in the language of Mermaid, which Markdown renders."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from posteriori.drawing.nesting import full_label, nest_plates
from posteriori.drawing.shapes import Line, Shape, Sketch

__all__ = ["write_mermaid"]


def write_mermaid(sketch: Sketch) -> str:
    """Return a drawing as the text of a Mermaid chart."""
    names = {shape.key: f"n{i}" for i, shape in enumerate(sketch.shapes)}
    out = ["flowchart TD", *_charts(sketch, names)]
    out += [_arrow(line, names) for line in sketch.lines]
    shaded = [names[shape.key] for shape in sketch.shapes if shape.shaded]
    if shaded:
        out.append("  classDef observed fill:#d5dbe3")
        out.append(f"  class {','.join(shaded)} observed")
    return "\n".join(out) + "\n"


def _charts(sketch: Sketch, names: Mapping[str, str]) -> list[str]:
    """Return the shapes, those on plates inside the plates' own charts."""
    tree = nest_plates(sketch)
    out: list[str] = []
    numbers = count()

    def write(keys: tuple[str, ...], depth: int) -> None:
        pad = "  " * depth
        for shape in sketch.shapes:
            if tree[shape.key] == keys:
                label = full_label(shape, sketch, tree)
                out.append(f"{pad}{names[shape.key]}{_bracketed(shape, label)}")
        for box in sketch.boxes:
            path = (*keys, box.key)
            if any(where[: len(path)] == path for where in tree.values()):
                out.append(f'{pad}subgraph plate{next(numbers)}["{_entities(box.label)}"]')
                write(path, depth + 1)
                out.append(f"{pad}end")

    write((), 1)
    return out


def _bracketed(shape: Shape, label: str) -> str:
    left, right = ("((", "))") if shape.form == "circle" else ("[", "]")
    return f'{left}"{_entities(label) or " "}"{right}'


def _arrow(line: Line, names: Mapping[str, str]) -> str:
    arrow = "-->" if line.arrow else "---"
    text = f'|"{_entities(line.label)}"|' if line.label else ""
    return f"  {names[line.start]} {arrow}{text} {names[line.end]}"


def _entities(text: str) -> str:
    """Write whatever Mermaid could read as its own signs by number."""
    return "".join(c if c.isalnum() or c in " _=-.'" else f"#{ord(c)};" for c in text)
