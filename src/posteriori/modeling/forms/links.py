"""How rows see a variable: coefficients of one of its vectors, and an index that says which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.gaussian.equations import Equation, Link
from posteriori.modeling.binding.bound import Layout
from posteriori.modeling.binding.labelled import Access, Axis, Term, count_of, shape_of
from posteriori.modeling.binding.places import flat_index, member_index
from posteriori.numerics.types import Array

__all__ = [
    "Split",
    "add_link",
    "flat_weight",
    "make_link",
    "negated_link",
    "observed_rows",
    "size_of",
]


class Split(NamedTuple):
    """Which axes of a variable are handled one by one, and which together."""

    batch: tuple[int, ...]
    dense: tuple[int, ...]


def make_link(
    term: Term,
    access: Access,
    labels: tuple[Axis, ...],
    split: Split,
    layouts: Mapping[str, Layout],
) -> Link:
    """Return how rows with the given labels see a variable: coefficients and an index."""
    count = count_of(labels)
    axes = layouts[access.name].axes
    summed = tuple(access.places[i] for i in split.dense if _is_summed(access.places[i], labels))
    values = term.table.over(labels + summed).reshape(count, *shape_of(summed))
    if len(summed) < len(split.dense):
        values = _one_hot_columns(values, access, split, axes, labels, count)
    places, members = ([of[i] for i in split.batch] for of in (access.places, axes))
    index = flat_index(places, members, labels)
    return Link(access.name, values.reshape(count, size_of(axes, split.dense)), index)


def add_link(links: dict[tuple[str, bytes], Link], link: Link) -> None:
    """Add a link, or its coefficients to one that sees the same vectors."""
    index = link.index
    if index is not None and index.strides == (0,):
        index = index[:1]  # all rows see the one vector
    key = (link.name, b"" if index is None else index.tobytes())
    known = links.get(key)
    if known is not None:
        link = known._replace(coefficients=known.coefficients + link.coefficients)
    links[key] = link


def negated_link(link: Link) -> Link:
    """Return the link with −K; a common row stays a single one in memory."""
    k = link.coefficients
    if k.strides[0] == 0:
        return link._replace(coefficients=np.broadcast_to(-k[:1], k.shape))
    return link._replace(coefficients=-k)


def observed_rows(equation: Equation) -> Equation:
    """Leave out rows whose datum is missing."""
    missing = np.isnan(equation.constant)
    if not missing.any():
        return equation
    kept = np.flatnonzero(~missing)
    links = tuple(
        Link(
            link.name,
            _take_rows(link.coefficients, kept),
            kept if link.index is None else _take_rows(link.index, kept),
        )
        for link in equation.links
    )
    return Equation(
        equation.constant[kept], _take_rows(equation.weight, kept), links, equation.log_scale
    )


def _take_rows(values: Array, kept: Any) -> Array:
    """Return some rows; one that stands for all stays a single one in memory."""
    if values.strides[0] == 0:
        return np.broadcast_to(values[:1], (len(kept), *values.shape[1:]))
    return values.take(kept, axis=0)


def flat_weight(weight: Array, shape: tuple[int, ...], count: int) -> Array:
    """Return weights (R,); a common one stays a single number in memory."""
    if weight.size == 1:
        return np.broadcast_to(weight.reshape(()), (count,))
    return np.broadcast_to(weight, shape).reshape(count)


def size_of(axes: tuple[Axis, ...], chosen: tuple[int, ...]) -> int:
    """Return how many numbers the chosen axes span."""
    return count_of([axes[i] for i in chosen])


def _is_summed(place: Any, labels: tuple[Axis, ...]) -> bool:
    return isinstance(place, Axis) and place not in labels


def _one_hot_columns(
    values: Array,
    access: Access,
    split: Split,
    axes: tuple[Axis, ...],
    labels: tuple[Axis, ...],
    count: int,
) -> Array:
    """Give dense axes that are read at one position a column for each position."""
    out = values
    for position, i in enumerate(split.dense):
        place = access.places[i]
        if _is_summed(place, labels):
            continue
        hot = np.zeros((count, axes[i].size))
        hot[np.arange(count), member_index([place], [axes[i]], labels)] = 1.0
        shape = [count] + [1] * (out.ndim)
        shape[position + 1] = axes[i].size
        out = np.expand_dims(out, position + 1) * hot.reshape(shape)
    return out
