"""What the members of plates and other axes are called, as far as data and categories tell.

Names come with the data: the index of a Series or frame names the members of its plate, the columns of a frame
:math:`X` the weights in :math:`Xw`, levels of an input of texts or categories the members that it picks, and
categories what a categorical variable picks. What shares an axis with a named one is named alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from posteriori.distributions.labels import encode_labels
from posteriori.modeling.binding.bound import Bound
from posteriori.modeling.binding.labelled import Axis
from posteriori.modeling.binding.observations import read_input
from posteriori.modeling.language.dependencies import arguments_of
from posteriori.modeling.language.expressions import Expression, Input, Operation, Variable

__all__ = ["Levels", "names_of_places", "read_levels", "with_codes"]

#: Levels of inputs, by name.
Levels: TypeAlias = Mapping[str, tuple[Any, ...]]


def read_levels(inputs: Mapping[str, Input], data: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return the levels of inputs that hold texts or categories: those of the type, or all that occur, sorted."""
    found = {}
    for name in inputs:
        if name in data:
            levels = _levels_of(data[name])
            if levels is not None:
                found[name] = levels
    return found


def _levels_of(values: Any) -> tuple[Any, ...] | None:
    own = getattr(values, "cat", values) if _is_of_pandas(values) else values
    categories = getattr(own, "categories", None)
    if categories is not None:  # whole numbers are places already
        return None if categories.dtype.kind in "iu" else tuple(categories.tolist())
    if _is_of_pandas(values) and values.ndim != 1:
        return None
    if not (_is_of_pandas(values) or isinstance(values, np.ndarray | list | tuple)):
        return None
    if isinstance(values, np.ndarray) and values.dtype.kind not in "USO":
        return None
    flat = np.ravel(np.asarray(values, dtype=object)) if _begins_with_text(values) else ()
    return tuple(sorted(set(flat))) if all(isinstance(x, str) for x in flat) and len(flat) else None


def _begins_with_text(values: Any) -> bool:
    """Tell whether the first entry is a text, which spares to look at all numbers."""
    while not isinstance(values, str) and hasattr(values, "__len__") and len(values):
        values = values.iloc[0] if _is_of_pandas(values) else values[0]
    return isinstance(values, str)


def _is_of_pandas(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "pandas"


def with_codes(data: Mapping[str, Any], levels: Levels) -> Mapping[str, Any]:
    """Return data with the places of levels instead of these.

    Raises
    ------
    ValueError
        When an entry is no level; the message names the input and the entry.
    """
    if not levels.keys() & data.keys():
        return data
    return {
        name: _codes(name, value, levels[name]) if name in levels else value
        for name, value in data.items()
    }


def _codes(name: str, values: Any, levels: tuple[Any, ...]) -> Any:
    entries = np.asarray(values, dtype=object) if not isinstance(values, str) else values
    try:
        return encode_labels(entries, levels)
    except ValueError as error:
        raise ValueError(f"input {name}: {error}") from None


def names_of_places(
    bound: Bound, data: Mapping[str, Any], levels: Levels
) -> dict[str, tuple[tuple[Any, ...] | None, ...]]:
    """Return the names along each axis of the unknowns that have some, None for an axis that is counted.

    Raises
    ------
    TypeError
        When an input of names is anything but an index.
    ValueError
        When it has another number of levels than what it picks from has members.
    """
    columns = {name: cols for name, value in data.items() if (cols := _columns_of(value))}
    named = _named_plates(bound, data)
    _refuse_names(bound, data, levels)
    for axis, names in _named_by_expressions(bound, levels, columns):
        named.setdefault(axis, names)
    if not named:
        return {}
    _spread(bound, named)
    found = {
        name: tuple(named.get(axis) for axis in bound.layouts[name].axes) for name in bound.latent
    }
    return {name: names for name, names in found.items() if any(names)}


def _named_plates(bound: Bound, data: Mapping[str, Any]) -> dict[Axis, tuple[Any, ...]]:
    """Return the names of plates; none where data disagree about them."""
    found: dict[Axis, set[tuple[Any, ...]]] = {}
    axes = {axis.name: axis for layout in bound.layouts.values() for axis in layout.plates}
    for name, value in data.items():
        carried = bound.inputs[name].plates if name in bound.inputs else bound.plates_of(name)
        for plate, names in zip(carried, (_index_of(value), _columns_of(value)), strict=False):
            if names and plate in axes and len(names) == axes[plate].size:
                found.setdefault(axes[plate], set()).add(names)
    return {axis: names.pop() for axis, names in found.items() if len(names) == 1}


def _index_of(value: Any) -> tuple[Any, ...]:
    """Return the index of a Series or a frame, if it is more than a count and names each row once."""
    index = getattr(value, "index", None) if _is_of_pandas(value) else None
    if index is None or not hasattr(index, "is_unique") or not index.is_unique:
        return ()
    if index.nlevels > 1:
        return tuple(", ".join(map(str, each)) for each in index)
    if index.dtype.kind == "i" and np.array_equal(index, np.arange(len(index))):
        return ()
    return tuple(index.astype(str) if index.dtype.kind == "M" else index)


def _columns_of(value: Any) -> tuple[Any, ...]:
    columns = getattr(value, "columns", None) if _is_of_pandas(value) else None
    if columns is None or columns.dtype.kind in "iuf" or not columns.is_unique:
        return ()
    return tuple(map(str, columns))


# -- what is picked or weighed by what has names ---------------------------------------------


def _named_by_expressions(
    bound: Bound, levels: Levels, columns: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[Axis, tuple[Any, ...]]]:
    for variable in bound.variables.values():
        values = [*variable.parameters.values()]
        values += () if variable.step is None else variable.step.parameters.values()
        for item in _operations([value for value in values if isinstance(value, Expression)]):
            yield from _named_by(item, bound, levels, columns)
        if variable.labels is not None:
            for child in _variables_in(variable.parameters.get("probabilities")):
                yield from _name(child, -1, tuple(variable.labels), bound)


def _operations(roots: list[Expression]) -> Iterator[Operation]:
    stack, seen = [*roots], set[int]()
    while stack:
        item = stack.pop()
        if isinstance(item, Operation) and id(item) not in seen:
            seen.add(id(item))
            yield item
            stack += arguments_of(item)


def _named_by(
    item: Operation, bound: Bound, levels: Levels, columns: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[Axis, tuple[Any, ...]]]:
    first, *others = item.arguments
    if item.kind in ("index", "take"):
        index = others if item.kind == "take" else item.index
        for place, i in enumerate(index):
            if i is Ellipsis:
                break
            names = _names_of(i, bound, levels)
            for variable in _variables_in(first) if names else ():
                _require_all(i, variable, place, names, bound)
                yield from _name(variable, place, names, bound)
        return
    weighed = columns.get(first.name or "") if isinstance(first, Input) else None
    if item.kind in ("matmul", "dot") and weighed:
        for variable in _variables_in(others[0]):
            wide = item.kind == "matmul" and len(_array_axes(variable, bound)) > 1
            yield from _name(variable, -2 if wide else -1, weighed, bound)


def _names_of(index: Any, bound: Bound, levels: Levels) -> tuple[Any, ...]:
    """Return what an index picks by: levels of an input, or categories of a variable."""
    while isinstance(index, Operation) and index.kind == "index":
        index = index.arguments[0]
    if isinstance(index, Input) and index.name is not None:
        return tuple(levels.get(index.name, ()))
    return tuple(index.labels or ()) if isinstance(index, Variable) else ()


def _variables_in(expression: Any) -> Iterator[Variable]:
    """Yield the variables that are added and multiplied member by member."""
    if isinstance(expression, Variable):
        yield expression
    elif isinstance(expression, Operation) and expression.kind in ("add", "multiply"):
        for argument in expression.arguments:
            yield from _variables_in(argument)


def _array_axes(variable: Variable, bound: Bound) -> tuple[Axis, ...]:
    """Return the axes that indices read, from the first on."""
    layout = bound.layouts[variable.name]
    return layout.axes[len(layout.plates) - isinstance(variable.length, int) :]


def _name(
    variable: Variable, place: int, names: tuple[Any, ...], bound: Bound
) -> Iterator[tuple[Axis, tuple[Any, ...]]]:
    axes = _array_axes(variable, bound)
    if -len(axes) <= place < len(axes) and axes[place].size == len(names):
        yield axes[place], names


def _require_all(
    index: Any, variable: Variable, place: int, names: tuple[Any, ...], bound: Bound
) -> None:
    axes = _array_axes(variable, bound)
    if isinstance(index, Input) and place < len(axes) and axes[place].size != len(names):
        raise ValueError(
            f"{index!r} has {len(names)} levels, but {variable!r} has {axes[place].size} members to pick "
            f"from: write .iid({len(names)}), or give a pandas Categorical with all levels"
        )


def _refuse_names(bound: Bound, data: Mapping[str, Any], levels: Levels) -> None:
    """Refuse inputs of texts that do anything but pick."""
    if not levels:
        return
    for variable in bound.variables.values():
        values = [*variable.parameters.values()]
        values += () if variable.step is None else variable.step.parameters.values()
        roots = [value for value in values if isinstance(value, Expression)]
        counted = [
            argument
            for item in _operations(roots)
            for argument in item.arguments[: 1 if item.kind == "take" else None]
        ]
        for one in (*roots, *counted):
            if isinstance(one, Input) and (one.name or "") in levels:
                read_input(one.name or "", np.asarray(data[one.name or ""], dtype=object))


def _spread(bound: Bound, named: dict[Axis, tuple[Any, ...]]) -> None:
    """Name the axes that variables share with those that are named, until nothing new is found."""
    pairs = [
        (place, axis)
        for factor in bound.factors
        for access in factor.accesses
        for place, axis in zip(access.places, bound.layouts[access.name].axes, strict=True)
        if isinstance(place, Axis) and place is not axis
    ]
    count = -1
    while count != len(named):
        count = len(named)
        for one, other in pairs:
            for known, unknown in ((one, other), (other, one)):
                if known in named and known.size == unknown.size:
                    named.setdefault(unknown, named[known])
