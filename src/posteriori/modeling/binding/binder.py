"""Binding a model to data: plates get their sizes, and expressions become polynomials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from posteriori.distributions.composites.point_mass import PointMass
from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.modeling.binding.bound import GAUSSIAN, Bound, BoundFactor, Layout, gap_name
from posteriori.modeling.binding.constants import require_known
from posteriori.modeling.binding.gaps import gap_term, needs_gaps, negated, parts_missing
from posteriori.modeling.binding.indexing import index_places, index_table
from posteriori.modeling.binding.labelled import (
    Access,
    Axis,
    Lookup,
    Polynomial,
    Table,
    Term,
    constant,
    look_up,
    relabel,
    shape_of,
)
from posteriori.modeling.binding.observations import read_input, read_observation, require_values
from posteriori.modeling.binding.polynomial_arithmetic import (
    add,
    align,
    contract,
    multiply,
    sum_last,
)
from posteriori.modeling.language.chain import Previous
from posteriori.modeling.language.dependencies import (
    arguments_of,
    is_random,
    named_plates,
    names_with_children,
)
from posteriori.modeling.language.expressions import (
    Applied,
    Constant,
    Expression,
    Input,
    Operation,
    Variable,
)
from posteriori.numerics.types import Array

__all__ = ["Binder", "bind"]


def bind(
    variables: Mapping[str, Variable], inputs: Mapping[str, Input], data: Mapping[str, Any]
) -> Bound:
    """Resolve sizes and turn every parameter into a polynomial."""
    return Binder(variables, inputs, data).run()


class Binder:
    """Binds one variable after another."""

    def __init__(
        self,
        variables: Mapping[str, Variable],
        inputs: Mapping[str, Input],
        data: Mapping[str, Any],
        plates: Mapping[str, int] | None = None,
    ) -> None:
        require_values(data)
        self.variables = variables
        self.declared = inputs
        self.data = data
        self.names_of_plates = named_plates(variables)
        self.plates = self._sizes(inputs, plates or {})
        self.inputs = {
            name: constant(
                read_input(name, data[name]), tuple(self.plates[p] for p in item.plates), name
            )
            for name, item in inputs.items()
            if name in data
        }
        self.layouts: dict[str, Layout] = {}
        self.times: set[Axis] = set()
        self.previous: dict[tuple[str, int], Lookup] = {}
        self.observed: dict[str, Array] = {}
        self.evidence: dict[str, Array] = {}
        self.gaps: dict[str, Term] = {}
        self.constants: dict[str, Polynomial] = {}
        self.factors: list[BoundFactor] = []

    @cached_property
    def with_children(self) -> frozenset[str]:
        """Names of variables that others, or later members of a chain, depend on."""
        return names_with_children(self.variables)

    def run(self) -> Bound:
        for name, variable in self.variables.items():
            self.bind_variable(name, variable)
        families = {name: variable.family for name, variable in self.variables.items()}
        families |= {gap_name(name): Normal for name in self.gaps}
        labels = {name: variable.labels for name, variable in self.variables.items()}
        return Bound(
            self.layouts,
            tuple(self.factors),
            self.observed,
            families,
            labels,
            self.evidence,
            self.variables,
            self.declared,
            self.data,
            names={},
            levels={},
        )

    # -- plates ----------------------------------------------------------------------------

    def _sizes(self, inputs: Mapping[str, Input], told: Mapping[str, int]) -> dict[str, Axis]:
        found = {plate: (size, "plates") for plate, size in told.items()}
        carriers = {n: self.names_of_plates[n] for n in self.variables}
        carriers |= {n: item.plates for n, item in inputs.items()}
        for name, plates in carriers.items():
            if name not in self.data:
                continue
            shape = np.shape(self.data[name])
            if len(shape) < len(plates):
                raise ValueError(
                    f"{name} has plates {', '.join(plates)} but its data have shape {shape}: give an "
                    "array with an axis for each plate"
                )
            for plate, size in zip(plates, shape, strict=False):
                known = found.setdefault(plate, (size, name))
                if known[0] != size:
                    raise ValueError(
                        f"plate {plate!r} has size {known[0]} in {known[1]} "
                        f"but size {size} in {name}"
                    )
        for variable in self.variables.values():
            for repeat in (*variable.plates, variable.length):
                if isinstance(repeat, str) and repeat not in found:
                    raise ValueError(
                        f"plate {repeat!r} has no size: give data for a variable that carries it"
                    )
        return {plate: Axis(plate, size) for plate, (size, _) in found.items()}

    # -- variables -------------------------------------------------------------------------

    def bind_variable(self, name: str, variable: Variable) -> None:
        """Add the layout, the data and the factors of a variable."""
        parameters: Mapping[str, Polynomial] = {
            key: self.evaluate(value)
            for key, value in variable.parameters.items()
            if key in variable.family._parameters  # names of categories are no parameter
        }
        layout = self._layout(name, variable.family, variable.plates, parameters)
        if variable.step is None:
            self.layouts[name] = layout
            self._observe(name, layout)
            parameters = self._with_gaps(name, parameters)
            factor = _factor(name, variable.family, parameters, layout, layout.axes)
            self.factors.append(factor)
            if variable.family is PointMass:
                self.constants[name] = factor.parameters["location"]
            return
        self._bind_chain(name, variable, parameters, layout)

    def _bind_chain(
        self, name: str, variable: Variable, parameters: Mapping[str, Polynomial], first: Layout
    ) -> None:
        """Bind a chain as two factors: of its first members, and of each next one."""
        assert variable.step is not None
        time, order = self._time_axis(variable), variable.order
        counted = isinstance(variable.length, int)  # its time is an array axis, after the plates
        plates = (*first.plates, time) if counted else (time, *first.plates)
        layout = Layout(plates, first.ints, first.events)
        self.layouts[name] = layout
        self._observe(name, layout)
        if not time.size:  # no first member either: an empty plate
            self.factors.append(_factor(name, variable.family, parameters, layout, layout.axes))
            return
        start = Lookup(Table(np.zeros((), dtype=np.intp), ()))
        early = first
        if order > 1:
            count = Axis(time.name, min(order, time.size))
            start = Lookup(Table(np.arange(count.size), (count,)))
            early = Layout((count, *first.plates), first.ints, first.events)
        parameters = self._with_gaps(name, parameters, start.positions)
        self.factors.append(
            _factor(name, variable.family, parameters, early, _places_at(layout, time, start))
        )
        if time.size <= order:
            return
        arrival = Axis(time.name, time.size - order)
        for lag in range(1, order + 1):
            before = np.arange(order - lag, time.size - lag)
            self.previous[name, lag] = Lookup(Table(before, (arrival,)))
        here = Table(np.arange(order, time.size), (arrival,))
        steps: Mapping[str, Polynomial] = {
            key: _at_arrival(self.evaluate(value), time, here)
            for key, value in variable.step.parameters.items()
            if key in variable.step.family._parameters
        }
        made = self._layout(name, variable.step.family, (), steps)
        if shape_of(made.ints) != shape_of(first.ints) or tuple(
            a.size for a in made.events
        ) != shape_of(first.events):
            raise ValueError(
                f"the step of {name} makes shape {made.describe()}, "
                f"but its first member has {first.describe()}"
            )
        others = tuple(p for p in made.plates if p is not arrival)
        rows = Layout((arrival, *others), first.ints, first.events)
        steps = self._with_gaps(name, steps, here)
        places = _places_at(layout, time, Lookup(here))
        self.factors.append(_factor(name, variable.step.family, steps, rows, places))

    def _time_of(self, name: str) -> Axis:
        """Return the time of a chain: the last of its plates where its length is a number."""
        return self.layouts[name].plates[-isinstance(self.variables[name].length, int)]

    def _time_axis(self, variable: Variable) -> Axis:
        if isinstance(variable.length, int):
            time = Axis(variable.name, variable.length)
            self.times.add(time)
            return time
        assert variable.length is not None
        return self.plates[variable.length]

    def _layout(
        self,
        name: str,
        family: Any,
        repeats: tuple[int | str, ...],
        parameters: Mapping[str, Polynomial],
    ) -> Layout:
        ndims, width = family._parameters, family._event_ndim
        plates = tuple(self.plates[p] for p in repeats if isinstance(p, str))
        batch: tuple[int, ...] = ()
        event: tuple[int, ...] = ()
        for key, poly in parameters.items():
            plates += tuple(p for p in poly.plates if p not in plates)
            cut = len(poly.axes) - ndims[key]
            if cut < 0:
                raise ValueError(f"{key} of {name} needs {ndims[key]} axes, got {len(poly.axes)}")
            sizes = shape_of(poly.axes)
            try:
                batch = np.broadcast_shapes(batch, sizes[:cut])
            except ValueError:
                raise ValueError(
                    f"parameters of {name} do not broadcast: {batch} and {sizes[:cut]} ({key})"
                ) from None
            if width and ndims[key] >= width:
                event = sizes[len(sizes) - width :]
        ints = [Axis(name, p) for p in repeats if isinstance(p, int)]
        ints += [Axis(name, size) for size in batch]
        for key, poly in parameters.items():  # along a chain of known length: the chain's own axis
            for k, axis in enumerate(reversed(poly.axes[: len(poly.axes) - ndims[key]]), 1):
                if axis in self.times and axis.size == ints[-k].size and axis not in ints:
                    ints[-k] = axis
        return Layout(plates, tuple(ints), tuple(Axis(name, size) for size in event))

    def _observe(self, name: str, layout: Layout) -> None:
        if name not in self.data:
            return
        values = read_observation(name, self.data[name], self.variables[name].labels)
        if values.shape != layout.shape:
            raise ValueError(
                f"{name} has shape {layout.describe()} in the model "
                f"but its data have shape {values.shape}{_shape_hint(layout, values.shape)}"
            )
        discrete = self.variables[name].family in (Bernoulli, Categorical)
        if discrete and np.isnan(values).any() and name in self.with_children:
            self.evidence[name] = values
        else:
            self.observed[name] = values

    def _with_gaps(
        self, name: str, parameters: Mapping[str, Polynomial], times: Table | None = None
    ) -> Mapping[str, Polynomial]:
        """Let missing numbers be unknown where they matter: x − m = data − (m − unknown)."""
        values, family = self.observed.get(name), self.variables[name].family
        if values is None or family not in GAUSSIAN:
            return parameters
        layout = self.layouts[name]
        if name not in self.gaps:
            if name in self.with_children:
                missing = np.isnan(values)
            elif family is MvNormal and needs_gaps(values, parameters):
                missing = parts_missing(values)
            else:
                return parameters
            if not missing.any():
                return parameters
            self.gaps[name], own = gap_term(name, missing, layout.axes)
            self.layouts[gap_name(name)] = Layout((), (own,), ())
            self.observed[name] = np.where(missing, 0.0, values)
        unknown = Polynomial(
            (negated(self.gaps[name]),), layout.plates, layout.ints + layout.events
        )
        if times is not None:
            unknown = _at_times(unknown, self._time_of(name), times)
        return {**parameters, "mean": add(parameters["mean"], unknown)}

    # -- expressions -----------------------------------------------------------------------

    def evaluate(self, value: Any) -> Polynomial:
        """Turn an expression into a polynomial; no recursion, so sums may be long."""
        if isinstance(value, (np.ndarray, np.floating)):
            return constant(value)
        root = value if isinstance(value, Expression) else Constant(value)
        done: dict[int, Polynomial] = {}
        stack: list[Expression] = [root]
        while stack:
            item = stack[-1]
            waiting = [a for a in arguments_of(item) if id(a) not in done]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if id(item) not in done:
                done[id(item)] = self._apply(item, done)
        return done[id(root)]

    def _apply(self, item: Expression, done: Mapping[int, Polynomial]) -> Polynomial:
        if isinstance(item, Constant):
            return constant(item.dense())
        if isinstance(item, Input):
            return self._input(item)
        if isinstance(item, Variable):
            if self.variables.get(item.name) is not item:
                raise ValueError(f"{item.name} is a variable of another model")
            return self._variable(item.name)
        if isinstance(item, Previous):
            return self._previous(item.name, item.lag)
        assert isinstance(item, Operation)
        try:
            return self._operate(item, done)
        except (IndexError, TypeError, ValueError) as error:
            raise type(error)(f"in {item!r}: {error}") from error

    def _operate(self, item: Operation, done: Mapping[int, Polynomial]) -> Polynomial:
        arguments = [done[id(a)] for a in item.arguments]
        if item.kind == "index":
            index = [done[id(i)] if isinstance(i, Expression) else i for i in item.index]
            switches = any(isinstance(i, Expression) and is_random(i) for i in item.index)
            read = index_table if switches else index_places
            return read(arguments[0], index)
        if item.kind == "take":
            return index_table(arguments[0], arguments[1:])
        if isinstance(item, Applied):
            return _apply_known(item, arguments[0])
        return _OPERATIONS[item.kind](*arguments)

    def _input(self, item: Input) -> Polynomial:
        if item.name is None or item.name not in self.inputs:
            raise ValueError(f"input {item!r} is not given: pass {item!r}=... with the data")
        return self.inputs[item.name]

    def _variable(self, name: str) -> Polynomial:
        if name not in self.layouts:
            raise ValueError(f"{name} is used before it is defined")
        layout = self.layouts[name]
        if name in self.constants and name not in self.observed:
            return require_known(name, self.constants[name])
        if name not in self.observed:
            term = Term(Table(np.asarray(1.0), ()), (Access(name, layout.axes),))
        else:
            if np.isnan(self.observed[name]).any():
                raise ValueError(
                    f"{name} has missing values and other variables depend on it; "
                    "leave it out of the data, or fill the gaps"
                )
            term = Term(Table(self.observed[name], layout.axes))
        cut = len(layout.plates) - isinstance(self.variables[name].length, int)
        plates, time = layout.plates[:cut], layout.plates[cut:]
        terms = (term, self.gaps[name]) if name in self.gaps else (term,)
        return Polynomial(terms, plates, time + layout.ints + layout.events)

    def _previous(self, name: str, lag: int) -> Polynomial:
        layout, positions = self.layouts[name], self.previous[name, lag].positions
        (arrival,) = positions.axes
        whole, time = self._variable(name).terms, self._time_of(name)
        terms = look_up(whole, time, positions)
        plates = (arrival, *(p for p in layout.plates if p is not time))
        return Polynomial(terms, plates, layout.ints + layout.events)


def _factor(
    name: str,
    family: Any,
    parameters: Mapping[str, Polynomial],
    layout: Layout,
    places: tuple[Any, ...],
) -> BoundFactor:
    aligned = {
        key: _aligned(poly, layout, family._parameters[key]) for key, poly in parameters.items()
    }
    return BoundFactor(name, family, aligned, layout.lead, layout.events, places)


def _shape_hint(layout: Layout, shape: tuple[int, ...]) -> str:
    """Say what data of another shape may want."""
    count = len(layout.shape)
    if shape[:count] == layout.shape and math.prod(shape[count:]) == 1:
        return "; take the only column, as in x[:, 0]"
    if len(shape) > count:
        return "; repeat the variable with .iid(...)"
    fixed = layout.shape[len(layout.plates) :]
    if layout.plates and len(shape) == count and shape[::-1][len(layout.plates) :] == fixed:
        return f"; rows are members of {layout.plates[0].name}: give its transpose"
    return ""


def _at_arrival(poly: Polynomial, time: Axis, here: Table) -> Polynomial:
    """Read what lies on the chain's plate at the time of arrival."""
    return _at_times(poly, time, here) if time in poly.plates else poly


def _at_times(poly: Polynomial, time: Axis, times: Table) -> Polynomial:
    """Read what lies on the chain's time at some of it."""
    plates = [times.axes if p is time else (p,) for p in poly.plates]
    kept = tuple(dict.fromkeys(axis for axes in plates for axis in axes))
    return Polynomial(look_up(poly.terms, time, times), kept, poly.axes)


def _places_at(layout: Layout, time: Axis, place: Lookup) -> tuple[Any, ...]:
    """Return how rows see a chain at some of its times."""
    return tuple(place if axis is time else axis for axis in layout.axes)


def _apply_known(item: Applied, argument: Polynomial) -> Polynomial:
    if not argument.is_known:
        raise TypeError("what it is a function of must be known: an Input, or an array")
    return constant(item.function(argument.value()))


def _dot(a: Polynomial, b: Polynomial) -> Polynomial:
    if not a.axes or not b.axes:
        raise ValueError("both sides of dot must be vectors")
    return sum_last(multiply(a, b))


_OPERATIONS = {"add": add, "multiply": multiply, "matmul": contract, "dot": _dot}


def _aligned(poly: Polynomial, layout: Layout, ndim: int) -> Polynomial:
    """Give a parameter the labels of the rows it belongs to."""
    cut = len(poly.axes) - ndim
    batch, event = poly.axes[:cut], poly.axes[cut:]
    rows = Polynomial((), layout.plates, layout.ints)
    lead = Polynomial(poly.terms, poly.plates, batch)
    _, fitted = align(rows, lead)
    new = {}
    if ndim == len(layout.events):
        new = dict(zip(event, layout.events, strict=True))
    terms = relabel(fitted.terms, new)
    return Polynomial(terms, layout.plates, layout.ints + tuple(new.get(a, a) for a in event))
