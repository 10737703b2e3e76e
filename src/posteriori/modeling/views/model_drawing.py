"""Models drawn as directed graphs with plates, or as factor graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, NamedTuple

import numpy as np

from posteriori.drawing import Box, Drawing, Line, Shape
from posteriori.modeling.language.chain import Previous
from posteriori.modeling.language.expressions import Expression, Input, Variable
from posteriori.modeling.views.model_expansion import find_plates, parents_of

__all__ = ["draw_model", "html_of_model"]


#: Numbers of a row that are written out.
_WRITTEN = 6


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
    add = _add_arrows if kind == "directed" else _add_factor
    for name, variable in variables.items():
        for law in _laws(name, variable, plates[name]):
            target = name if kind == "directed" else law.key
            if constants:
                _add_constants(law, target, shapes, lines, arrow=kind == "directed")
            add(law, shapes, lines)
    boxes = tuple(Box(key, label) for key, label in labels.items())
    return Drawing(tuple(shapes), tuple(dict.fromkeys(lines)), boxes)


def html_of_model(model: Any) -> str:
    """Return what a notebook shows: the graph, and below it what stands for each name."""
    drawing = draw_model(model, "directed", {})
    lines = "\n".join(escape(shape.hint) for shape in drawing.shapes)
    return f"{drawing.svg()}<pre>{lines}</pre>"


class _Law(NamedTuple):
    """A conditional of the model: that of a variable, of a chain's first member or of its step."""

    variable: str
    part: str
    family: Any
    parameters: Mapping[str, Any]
    plates: tuple[str, ...]
    hint: str

    @property
    def key(self) -> str:
        return f"p({self.variable}){self.part}"

    @property
    def parents(self) -> list[str]:
        return list(dict.fromkeys(_name(parent) for parent in parents_of(self.parameters)))


def _laws(name: str, variable: Variable, plates: tuple[str, ...]) -> Iterator[_Law]:
    hint, step = _sentence(name, variable), variable.step
    around = plates if step is None else ()
    yield _Law(name, "", variable.family, variable.parameters, around, hint)
    if step is not None:
        yield _Law(name, " step", step.family, step.parameters, plates, hint)


def _add_constants(
    law: _Law, target: str, shapes: list[Shape], lines: list[Line], *, arrow: bool
) -> None:
    for parameter, value in law.parameters.items():
        if not isinstance(value, Expression):
            key = f"{law.variable}{law.part} {parameter}"
            shapes.append(Shape(key, f"{parameter} {_short(value)}", "constant"))
            lines.append(Line(key, target, arrow=arrow))


def _add_arrows(law: _Law, shapes: list[Shape], lines: list[Line]) -> None:
    lines += [Line(parent, law.variable) for parent in law.parents]


def _add_factor(law: _Law, shapes: list[Shape], lines: list[Line]) -> None:
    shapes.append(Shape(law.key, law.family.__name__, "factor", False, law.hint, law.plates))
    lines += [Line(parent, law.key, arrow=False) for parent in law.parents]
    lines.append(Line(law.key, law.variable))


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
    """Return a parameter as one would write it: short rows of numbers whole, other arrays by their shape."""
    if isinstance(value, (Variable, Previous, Input)) or not hasattr(value, "shape"):
        text = repr(value)
    elif np.ndim(value) == 0:
        text = f"{float(value):g}"
    elif np.ndim(value) == 1 and 0 < np.size(value) <= _WRITTEN:
        text = f"[{', '.join(f'{x:g}' for x in value)}]"
    else:
        text = f"array{np.shape(value)}"
    return text if len(text) <= 60 else text[:57] + "..."
