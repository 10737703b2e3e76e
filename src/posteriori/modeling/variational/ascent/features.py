"""Data that depend on each member of a variable, as columns that count alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.counts.categorical import Categorical
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.labelled import Axis, Switch, spread
from posteriori.modeling.forms.normal_rows import child_term
from posteriori.modeling.forms.state_tables import number_of_states
from posteriori.numerics.types import Array, IntArray

__all__ = ["Features", "find_features", "indicators"]

#: Codes of more states than this become random vectors, nearly as far from each other as indicators.
_MOST_STATES = 32


class Features(NamedTuple):
    """Data that depend on each member of a variable.

    Attributes
    ----------
    columns : array, (members, F)
    is_one_code : bool
        Whether they are the indicators of a single code: then no two states are more alike than
        others.
    """

    columns: Array
    is_one_code: bool


def find_features(
    name: str,
    bound: Bound,
    factors: Sequence[BoundFactor],
    kind: Any,
    rng: np.random.Generator,
    rows: IntArray | None = None,
) -> Features | None:
    """Return standardised data that depend on each member of a variable.

    Parameters
    ----------
    name : str
    bound : Bound
    factors : sequence of BoundFactor
    kind : type
        Switch for a discrete variable, Access for a normal one, whose last axis is left out.
    rng : Generator
    rows : integers, optional
        Which members of the first axis; by default all.
    """
    layout = bound.layouts[name]
    axes = layout.axes if kind is Switch else (*layout.plates, *layout.ints)
    if kind is not Switch and not layout.events:
        axes = layout.axes[:-1]
    if not math.prod(layout.shape):
        return None
    parts: list[Array] = []
    codes = 0
    for factor in factors:
        places = _places(name, factor, kind)
        if factor.name not in bound.observed or places is None:
            continue
        seen = places[: len(axes)]
        if not all(isinstance(p, Axis) and p in factor.rows for p in seen):
            continue
        data = _data_of_members(factor, bound, seen, rows)
        if factor.family is Categorical:
            parts.append(indicators(data, number_of_states(factor), rng))
            codes += data.shape[1]
        else:
            parts.append(_standardised(data))
    if not parts:
        return None
    columns = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    return Features(columns, len(parts) == codes == 1) if columns.shape[1] else None


def _data_of_members(
    factor: BoundFactor, bound: Bound, seen: Sequence[Axis], rows: IntArray | None
) -> Array:
    """Return what a factor has observed, with a row for each member."""
    rest = [a for a in (*factor.rows, *factor.events) if a not in seen]
    labels = (*seen, *rest)
    values = spread(child_term(factor, bound).table, labels)
    full = np.broadcast_to(values, tuple(a.size for a in labels))
    if rows is not None:
        full = full[rows]
    flat = full.reshape(math.prod(full.shape[: len(seen)]), -1)
    return flat.astype(np.float64, copy=rows is None)


def _standardised(data: Array) -> Array:
    """Make columns of mean 0 and variance 1, with 0 for gaps, in place; drop those that never vary."""
    gaps = np.isnan(data)
    there = np.maximum((~gaps).sum(axis=0), 1)
    data[gaps] = 0.0
    data -= data.sum(axis=0) / there
    data[gaps] = 0.0
    spreads = np.sqrt(np.einsum("nd,nd->d", data, data) / there)
    kept = spreads > 0
    data /= np.where(kept, spreads, 1.0)
    return data if kept.all() else data[:, kept]


def indicators(codes: Array, states: int, rng: np.random.Generator) -> Array:
    """Return a column for each state of each column of codes, (N, F) to (N, F × states).

    All states are equally far from each other; those of one column of codes have together mean 0
    and variance 1, with 0 for gaps.
    """
    vectors = np.eye(states)
    if states > _MOST_STATES:
        vectors = rng.standard_normal((states, _MOST_STATES)) / math.sqrt(_MOST_STATES)
    gaps = np.isnan(codes)
    there = np.maximum((~gaps).sum(axis=0), 1)[:, None]
    found = np.where(gaps[..., None], 0.0, vectors[np.where(gaps, 0, codes).astype(np.intp)])
    found = np.where(gaps[..., None], 0.0, found - found.sum(axis=0) / there)
    spreads = np.sqrt((found**2).sum(axis=(0, 2)) / there[:, 0])
    kept = spreads > 0
    return (found[:, kept] / spreads[kept, None]).reshape(len(codes), -1)


def _places(name: str, factor: BoundFactor, kind: Any) -> tuple[Any, ...] | None:
    seen = (a for a in factor.accesses if a.name == name and isinstance(a, kind))
    return next((tuple(access.places) for access in seen), None)
