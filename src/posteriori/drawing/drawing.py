"""Drawings of models: directed graphs with plates, factor graphs and Forney graphs.

A drawing is a list of shapes and lines that can be written as SVG, DOT or Mermaid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.modeling.language.chain import Previous
from posteriori.modeling.language.expressions import Expression, Input, Variable
from posteriori.modeling.views.model_expansion import find_plates, parents_of

if TYPE_CHECKING:
    from posteriori.graphs.forney import ForneyGraph

__all__ = ["Box", "Drawing", "Line", "Shape", "draw_forney", "draw_model"]


@dataclass(frozen=True)
class Shape:
    """Something with a label.

    Attributes
    ----------
    key : str
    label : str
    form : {"circle", "square", "factor", "constant", "point", "end"}
        Random variable, input, factor, constant; observation and half-edge of a Forney graph.
    shaded : bool
        Whether it is observed.
    hint : str
        What a pointer that rests on it is told.
    plates : tuple of str
        Keys of the boxes around it.
    """

    key: str
    label: str
    form: str
    shaded: bool = False
    hint: str = ""
    plates: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """A line between two shapes, with an arrow if it is directed."""

    start: str
    end: str
    label: str = ""
    arrow: bool = True


@dataclass(frozen=True)
class Box:
    """A plate: what it holds is repeated."""

    key: str
    label: str


@dataclass(frozen=True, repr=False)
class Drawing:
    """A graph on paper; in a notebook it shows itself.

    Attributes
    ----------
    shapes : tuple of Shape
    lines : tuple of Line
    boxes : tuple of Box
    """

    shapes: tuple[Shape, ...]
    lines: tuple[Line, ...]
    boxes: tuple[Box, ...] = ()

    def svg(self) -> str:
        """Return the drawing as SVG."""
        from posteriori.drawing.svg import render_svg

        return render_svg(self)

    def _repr_svg_(self) -> str:
        return self.svg()

    def dot(self) -> str:
        """Return the drawing in the language of Graphviz.

        Of plates that cross, which Graphviz cannot draw, the larger one is drawn; what lies on
        the other says so behind its name.
        """
        return _write_dot(self)

    def mermaid(self) -> str:
        """Return the drawing in the language of Mermaid, which Markdown renders.

        Plates that cross are treated as in :meth:`dot`.
        """
        return _write_mermaid(self)

    def __repr__(self) -> str:
        return f"Drawing({len(self.shapes)} shapes, {len(self.lines)} lines)"


def draw_model(
    model: Any, kind: str, data: Mapping[str, Any], *, constants: bool = False
) -> Drawing:
    """Return the directed graph of a model, or its factor graph."""
    for name in data:
        if name not in model:
            raise ValueError(f"the model has no variable or input {name!r}")
    if kind not in ("directed", "factor"):
        raise ValueError(f"kind must be 'directed' or 'factor', got {kind!r}")
    variables, inputs = model._variables, model._inputs
    plates, labels = find_plates(variables, inputs, data)
    shapes = [
        Shape(name, name, "square", name in data, f"{name}: given with the data", plates[name])
        for name in inputs
    ]
    shapes += [
        Shape(name, name, "circle", name in data, _sentence(name, variable), plates[name])
        for name, variable in variables.items()
    ]
    lines: list[Line] = []
    for name, variable in variables.items():
        parts = [("", variable.parameters, variable.family)]
        if variable.step is not None:
            parts.append((" step", variable.step.parameters, variable.step.family))
        for part, parameters, family in parts:
            parents = list(dict.fromkeys(_name(parent) for parent in parents_of(parameters)))
            key = name if kind == "directed" else f"p({name}){part}"
            inside = () if variable.step is not None and not part else plates[name]
            if constants:
                known = {k: v for k, v in parameters.items() if not isinstance(v, Expression)}
                for parameter, value in known.items():
                    fixed = f"{name}{part} {parameter}"
                    label = f"{parameter} {_short(value)}"
                    shapes.append(Shape(fixed, label, "constant"))
                    lines.append(Line(fixed, key, arrow=kind == "directed"))
            if kind == "directed":
                lines += [Line(parent, name) for parent in parents]
            else:
                hint = _sentence(name, variable)
                shapes.append(Shape(key, family.__name__, "factor", False, hint, inside))
                lines += [Line(parent, key, arrow=False) for parent in parents]
                lines.append(Line(key, name))
    return Drawing(tuple(shapes), tuple(dict.fromkeys(lines)), _boxes(labels))


def draw_forney(graph: ForneyGraph) -> Drawing:
    """Return a Forney-style graph: boxes for factors, lines for variables."""
    symbols = {"equality": "=", "addition": "+", "gain": "A", "dot": "xᵀy", "gaussian": "N"}
    shapes = []
    for name, node in graph.nodes.items():
        label = name if node.kind == "tabular" else symbols.get(node.kind, node.kind)
        form = "point" if node.kind == "clamp" else "square"
        label = "" if form == "point" else label
        shapes.append(Shape(name, label, form, form == "point", name, node.plates))
    lines = []
    for name, edge in graph.edges.items():
        shown = "" if name in graph.nodes else name
        if edge.is_half:
            plates = graph.nodes[edge.nodes[0]].plates
            shapes.append(Shape(f"end of {name}", "", "end", plates=plates))
            lines.append(Line(edge.nodes[0], f"end of {name}", shown, arrow=False))
        else:
            lines.append(Line(*_toward_data(graph, name), shown, arrow=False))
    return Drawing(tuple(shapes), tuple(lines), _boxes(graph.plates))


def _boxes(labels: Mapping[str, str]) -> tuple[Box, ...]:
    return tuple(Box(key, label) for key, label in labels.items())


def _toward_data(graph: ForneyGraph, edge: str) -> tuple[str, str]:
    """Order the ends of an edge from the node that makes the variable to the one that reads it."""
    first, second = graph.edges[edge].nodes
    return (
        (second, first)
        if _makes(graph, second, edge) > _makes(graph, first, edge)
        else (first, second)
    )


def _makes(graph: ForneyGraph, name: str, edge: str) -> int:
    node = graph.nodes[name]
    if node.kind == "clamp":
        return 0
    if node.kind == "equality":
        return 2 * (edge != node.edges[0])
    return 1 if node.kind == "tabular" else 2 * (edge == node.edges[0])


# -- words -----------------------------------------------------------------------------------


def _name(item: Any) -> str:
    name: str = item.name
    return name


def _sentence(name: str, variable: Variable) -> str:
    """Return the statement of the model that made a variable."""
    if variable.step is None:
        return f"{name} ~ {_call(variable.family, variable.parameters)}"
    first = _call(variable.family, variable.parameters)
    step = _call(variable.step.family, variable.step.parameters)
    return f"{name} ~ Chain({first}, {step}, length={variable.length!r})"


def _call(family: Any, parameters: Mapping[str, Any]) -> str:
    return f"{family.__name__}({', '.join(f'{k}={_short(v)}' for k, v in parameters.items())})"


def _short(value: Any) -> str:
    if isinstance(value, (Variable, Previous, Input)) or not hasattr(value, "shape"):
        text = repr(value)
    else:
        text = f"{float(value):g}" if np.ndim(value) == 0 else f"array{np.shape(value)}"
    return text if len(text) <= 60 else text[:57] + "..."


# -- other languages -------------------------------------------------------------------------

_DOT = {
    "circle": "shape=ellipse",
    "square": "shape=box",
    "factor": 'shape=box, width=0.2, height=0.2, style=filled, fillcolor="#333333", label=""',
    "constant": 'shape=box, width=0.12, height=0.12, label=""',
    "point": 'shape=box, width=0.1, height=0.1, style=filled, fillcolor="#333333", label=""',
    "end": 'shape=point, width=0.01, label=""',
}


def _write_dot(drawing: Drawing) -> str:
    names = {shape.key: f"n{i}" for i, shape in enumerate(drawing.shapes)}
    tree = _nest(drawing)
    out = ["digraph {", "  rankdir=TB;"]
    for shape in drawing.shapes:
        look, label = _DOT[shape.form], _full_label(shape, drawing, tree)
        if shape.form in ("circle", "square"):
            look += f", label={_quote(label)}"
            look += ', style=filled, fillcolor="#d5dbe3"' if shape.shaded else ""
        elif label:
            look += f", xlabel={_quote(label)}"
        out.append(f"  {names[shape.key]} [{look}];")
    counter = iter(range(len(drawing.boxes) * 2 + 2))

    def write(keys: tuple[str, ...], depth: int) -> None:
        pad = "  " * depth
        for box in drawing.boxes:
            path = (*keys, box.key)
            members = [key for key, where in tree.items() if where[: len(path)] == path]
            if members:
                out.append(f"{pad}subgraph cluster_{next(counter)} {{")
                out.append(f"{pad}  label={_quote(box.label)}; labeljust=r; labelloc=b;")
                here = [names[key] for key in members if tree[key] == path]
                out.extend(f"{pad}  {name};" for name in here)
                write(path, depth + 1)
                out.append(f"{pad}}}")

    write((), 1)
    for line in drawing.lines:
        looks = [] if line.arrow else ["dir=none"]
        looks += [f"label={_quote(line.label)}"] if line.label else []
        tail = f" [{', '.join(looks)}]" if looks else ""
        out.append(f"  {names[line.start]} -> {names[line.end]}{tail};")
    return "\n".join([*out, "}"]) + "\n"


def _write_mermaid(drawing: Drawing) -> str:
    names = {shape.key: f"n{i}" for i, shape in enumerate(drawing.shapes)}
    tree = _nest(drawing)
    out = ["flowchart TD"]
    counter = iter(range(len(drawing.boxes) * 2 + 2))
    brackets = {"circle": ("((", "))"), "factor": ("[", "]")}

    def declare(shape: Shape, pad: str) -> None:
        left, right = brackets.get(shape.form, ("[", "]"))
        text = _entities(_full_label(shape, drawing, tree)) or " "
        out.append(f'{pad}{names[shape.key]}{left}"{text}"{right}')

    def write(keys: tuple[str, ...], depth: int) -> None:
        pad = "  " * depth
        for shape in drawing.shapes:
            if tree[shape.key] == keys:
                declare(shape, pad)
        for box in drawing.boxes:
            path = (*keys, box.key)
            if any(where[: len(path)] == path for where in tree.values()):
                out.append(f'{pad}subgraph plate{next(counter)}["{_entities(box.label)}"]')
                write(path, depth + 1)
                out.append(f"{pad}end")

    write((), 1)
    for line in drawing.lines:
        arrow = "-->" if line.arrow else "---"
        text = f'|"{_entities(line.label)}"|' if line.label else ""
        out.append(f"  {names[line.start]} {arrow}{text} {names[line.end]}")
    shaded = [names[shape.key] for shape in drawing.shapes if shape.shaded]
    if shaded:
        out.append("  classDef observed fill:#d5dbe3")
        out.append(f"  class {','.join(shaded)} observed")
    return "\n".join(out) + "\n"


def _nest(drawing: Drawing) -> dict[str, tuple[str, ...]]:
    """Return the plates around each shape, from the outside in; of crossing ones, the larger."""
    members = {
        box.key: {shape.key for shape in drawing.shapes if box.key in shape.plates}
        for box in drawing.boxes
    }
    kept: list[str] = []
    for key in sorted(members, key=lambda k: -len(members[k])):
        crossing = (
            members[key] & members[other]
            and not (members[key] <= members[other] or members[other] <= members[key])
            for other in kept
        )
        if not any(crossing):
            kept.append(key)
    return {
        shape.key: tuple(key for key in kept if shape.key in members[key])
        for shape in drawing.shapes
    }


def _full_label(shape: Shape, drawing: Drawing, tree: Mapping[str, tuple[str, ...]]) -> str:
    """Return the label of a shape with those of its plates that are not drawn around it."""
    left = [
        b.label for b in drawing.boxes if b.key in shape.plates and b.key not in tree[shape.key]
    ]
    if not left or shape.form == "end":
        return shape.label
    return f"{shape.label} [{', '.join(left)}]".strip()


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


def _entities(text: str) -> str:
    """Write whatever Mermaid could read as its own signs by number."""
    return "".join(c if c.isalnum() or c in " _=-.'" else f"#{ord(c)};" for c in text)
