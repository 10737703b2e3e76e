"""A model as the nodes of a factor graph: its conditionals, and the sums and gains inside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.forney.forney_nodes import Expansion, Node
from posteriori.modeling.binding.binder import Binder
from posteriori.modeling.binding.bound import GAUSSIAN
from posteriori.modeling.binding.construction import member
from posteriori.modeling.forms.normal_rows import as_variance
from posteriori.modeling.forms.simulation import log_joint
from posteriori.modeling.language.chain import Previous
from posteriori.modeling.language.dependencies import arguments_of, named_plates
from posteriori.modeling.language.expressions import Expression, Input, Operation, Variable

__all__ = ["expand_model", "find_plates", "parents_of"]


def expand_model(model: Any, data: Mapping[str, Any]) -> Expansion:
    """Return the factors of a model, with observations as clamps."""
    variables, inputs = model._variables, model._inputs
    for name in data:
        if name not in model:
            raise ValueError(f"the model has no variable or input {name!r}")
    around, labels = find_plates(variables, inputs, data)
    expander = _Expander(variables, inputs, data, around)
    for name, variable in variables.items():
        expander.add_variable(name, variable)
    for name in variables:
        if name in data and not np.all(np.isnan(np.asarray(data[name], dtype=np.float64))):
            value = np.asarray(data[name], dtype=np.float64)
            expander.nodes.append(
                Node(f"clamp {name}", "clamp", (name,), ("out",), {"value": value}, around[name])
            )

    def log_value(values: Mapping[str, Any]) -> float:
        for name in variables:
            if name in values and name in data and _contradict(values[name], data[name]):
                return -np.inf  # a clamp is 0 there
        return log_joint(variables, inputs, {**data, **values})

    return Expansion(expander.nodes, log_value, expander.obstacle, labels, around)


def _contradict(value: Any, observed: Any) -> bool:
    """Tell whether a value differs from what was observed; NaN is missing and fits everything."""
    known = np.asarray(observed, dtype=np.float64)
    return bool(np.any((np.asarray(value) != known) & ~np.isnan(known)))


def parents_of(parameters: Mapping[str, Any]) -> list[Expression]:
    """Return the variables, inputs and previous members among parameters, each once."""
    found: dict[int, Expression] = {}
    stack = [v for v in reversed(list(parameters.values())) if isinstance(v, Expression)]
    seen: set[int] = set()
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        stack.extend(reversed(arguments_of(item)))
        if hasattr(item, "name"):
            found[id(item)] = item
    return list(found.values())


def find_plates(
    variables: Mapping[str, Variable], inputs: Mapping[str, Input], data: Mapping[str, Any]
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return the plates around each name, and what is written at each: its size where data tell."""
    named = named_plates(variables) | {name: item.plates for name, item in inputs.items()}
    labels: dict[str, str] = {}
    for plates in named.values():
        labels |= {plate: plate for plate in plates if plate not in labels}
    for name, value in data.items():
        for plate, size in zip(named[name], np.shape(value), strict=False):
            labels[plate] = f"{plate} = {size}"
    around = dict(named)
    for name, variable in variables.items():
        for k, size in enumerate(variable.plates):
            if isinstance(size, int):
                key = f"{name} axis {k}"
                labels[key] = f"{size}"
                around[name] = (*around[name], key)
        if isinstance(variable.length, int):
            labels[f"{name} length"] = f"{variable.length}"
            around[name] = (*around[name], f"{name} length")
    used = {plate for plates in around.values() for plate in plates}
    return around, {key: label for key, label in labels.items() if key in used}


class _Expander:
    """Turns one variable after another into nodes."""

    def __init__(
        self,
        variables: Mapping[str, Variable],
        inputs: Mapping[str, Any],
        data: Mapping[str, Any],
        around: Mapping[str, tuple[str, ...]],
    ) -> None:
        self.nodes: list[Node] = []
        self.around = around
        self.obstacle: str | None = None
        self.binder: Binder | None = None
        self.counts: dict[str, int] = {}
        self.known: dict[int, bool] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        try:
            self.binder = Binder(variables, inputs, data)
            self.binder.run()
        except (ValueError, TypeError) as error:
            self.obstacle = str(error)
            return
        for name, layout in self.binder.layouts.items():
            self.shapes[name] = layout.shape
            if layout.plates or layout.ints:
                self.refuse(f"{name} has several members {layout.describe()}, folded into one edge")
            elif name in data and np.isnan(self.binder.observed[name]).any() and layout.shape:
                self.refuse(f"{name} is observed in part")

    def refuse(self, why: str) -> None:
        self.obstacle = self.obstacle or why

    def add_variable(self, name: str, variable: Variable) -> None:
        """Add the nodes of a variable; those of its expressions stand on its plates too."""
        start, plates = len(self.nodes), self.around[name]
        if variable.step is not None:
            self.refuse(f"{name} is a chain, folded into one edge")
            self.add_factor(name, variable.family, variable.parameters, " first")
            once = tuple(p for p in plates if p not in (variable.length, f"{name} length"))
            self.nodes[start:] = [node._replace(plates=once) for node in self.nodes[start:]]
            start = len(self.nodes)
            self.add_factor(name, variable.step.family, variable.step.parameters, " step")
        else:
            self.add_factor(name, variable.family, variable.parameters, "")
        self.nodes[start:] = [node._replace(plates=plates) for node in self.nodes[start:]]

    def add_factor(self, name: str, family: Any, parameters: Mapping[str, Any], part: str) -> None:
        """Add p(name | parents): a terminal, a Gaussian node, or a node that has no rule."""
        parents = [p for p in parents_of(parameters) if isinstance(p, (Variable, Previous))]
        given = f"|{', '.join(map(repr, parents))}" if parents else ""
        title = f"p({name}{given}){part}"
        unknown = {k: v for k, v in parameters.items() if not self.is_known(v)}
        if family in GAUSSIAN and set(unknown) == {"mean"} and self.obstacle is None:
            wire = self.wire(unknown["mean"])
            spread = self.spread(family, parameters)
            self.nodes.append(Node(title, "gaussian", (name, wire), ("out", "mean"), spread))
            return
        edges = (name, *(self.wire(value) for value in unknown.values()))
        known: dict[str, Any] = {}
        if not unknown and self.obstacle is None:
            known = {"distribution": self.terminal(name)}
        kind = "gaussian" if family in GAUSSIAN else family.__name__
        self.nodes.append(Node(title, kind, edges, ("out", *unknown), known))

    def terminal(self, name: str) -> Any:
        assert self.binder is not None
        return member(next(f for f in self.binder.factors if f.name == name))

    def spread(self, family: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the variance of a Gaussian node, whatever it was called."""
        ((key, value),) = ((k, self.value(v)) for k, v in parameters.items() if k != "mean")
        name = "variance" if family is Normal else "cov"
        return {name: as_variance(key, value, matrix=name == "cov")}

    # -- expressions -----------------------------------------------------------------------

    def is_known(self, value: Any) -> bool:
        """Tell whether no unknown is inside; every part of an expression is looked at once."""
        if not isinstance(value, Expression):
            return True
        stack = [value]
        while stack:
            item = stack[-1]
            parts = arguments_of(item)
            waiting = [part for part in parts if id(part) not in self.known]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            leaf = isinstance(item, (Variable, Previous))
            self.known[id(item)] = not leaf and all(self.known[id(part)] for part in parts)
        return self.known[id(value)]

    def value(self, expression: Any) -> Any:
        assert self.binder is not None
        return np.asarray(self.binder.evaluate(expression).value())

    def wire(self, root: Expression) -> str:
        """Return the edge that carries an expression, after adding the nodes that make it."""
        done: dict[int, str] = {}
        stack: list[Expression] = [root]
        while stack:
            item = stack[-1]
            if isinstance(item, (Variable, Previous)):
                done[id(item)] = item.name
                stack.pop()
                continue
            assert isinstance(item, Operation)
            unknown = [a for a in arguments_of(item) if not self.is_known(a)]
            waiting = [a for a in unknown if id(a) not in done]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if id(item) not in done:
                done[id(item)] = self.add_operation(item, [done[id(a)] for a in unknown])
        return done[id(root)]

    def add_operation(self, item: Operation, wires: list[str]) -> str:
        """Add the node of one operation and return the edge of its result."""
        role, roles = "z", tuple(f"x{i}" for i in range(len(wires)))
        parameters: dict[str, Any] = {}
        shape: tuple[int, ...] = ()
        if item.kind == "add":
            kind, roles = "addition", ("x", "y")[: len(wires)]
            if self.obstacle is None:
                parameters, shape = self.addition(item, wires)
        elif len(wires) == 1 and not self.is_switch(item):
            kind, role, roles = "gain", "y", ("x",)
            if self.obstacle is None:
                matrix, shape = self.matrix(item, self.shapes[wires[0]])
                parameters = {"matrix": matrix}
                if self.shapes[wires[0]] and not shape:
                    kind, role, roles, parameters = "dot", "z", ("y",), {"x": matrix}
        else:
            kind = "take" if item.kind in ("index", "take") else "product"
            self.refuse(f"{item!r} is not linear")
        self.counts[kind] = self.counts.get(kind, 0) + 1
        out = f"{kind} {self.counts[kind]}"
        self.shapes[out] = shape
        self.nodes.append(Node(out, kind, (out, *wires), (role, *roles), parameters))
        return out

    def is_switch(self, item: Operation) -> bool:
        """Tell whether an unknown is an index."""
        if item.kind == "take":
            return not self.is_known(item.arguments[1])
        return any(not self.is_known(i) for i in item.index)

    def addition(self, item: Operation, wires: list[str]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Return what is known at a sum, and the shape of the sum."""
        shape = self.shapes[wires[0]]
        if len(wires) == 2:
            if shape != self.shapes[wires[1]]:
                self.refuse("a number and a vector are added")
            return {}, shape
        known = self.value(next(a for a in item.arguments if self.is_known(a)))
        if np.broadcast_shapes(known.shape, shape) != shape:
            self.refuse("a vector is added to a number")
            return {}, shape
        return {"y": np.broadcast_to(known, shape)}, shape

    def matrix(self, item: Operation, shape: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
        """Return A of y = A x, a number, vector or matrix, and the shape of y."""
        if item.kind in ("index", "take"):
            places = item.index if item.kind == "index" else (item.arguments[1],)
            if len(places) != 1 or not shape:
                self.refuse(f"{item!r} has several members")
                return 1.0, ()
            picked = np.eye(shape[0])[self.position(places[0])]
            return picked, picked.shape[:-1]
        first = self.is_known(item.arguments[0])
        known = self.value(item.arguments[0 if first else 1])
        if item.kind == "multiply":
            made = np.broadcast_shapes(known.shape, shape)
            return (np.diag(np.broadcast_to(known, made)) if shape else known), made
        if item.kind == "matmul" and known.ndim == 2:
            known = known if first else known.T
        return known, known.shape[:-1]

    def position(self, index: Any) -> Any:
        return self.value(index).astype(np.intp) if isinstance(index, Expression) else index
