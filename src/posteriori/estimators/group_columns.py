"""Columns that hold groups: which ones they are, the levels that were seen, and their effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _num_samples, check_array, validate_data

from posteriori.inference.effects.effect_layout import GroupedRows
from posteriori.inference.effects.spread_search import Spreads, spread_interval
from posteriori.numerics.blocks.row_blocks import RowBlocks
from posteriori.numerics.lazy import pandas
from posteriori.numerics.types import Array

__all__ = [
    "GroupColumns",
    "GroupEffects",
    "codes_last",
    "effects_of",
    "find_groups",
    "last_columns",
    "learn_levels",
    "split_columns",
]

#: Work that one factorisation may cost, M³K²L for L levels of the largest column, K coordinates beside
#: them and M predictors.
_MOST_WORK = 8e9


class GroupColumns(NamedTuple):
    """Which columns hold groups, and their levels.

    Attributes
    ----------
    names : tuple of str
        Names of the columns, or their numbers as texts.
    levels : tuple of (L,)
        Labels that were seen, sorted where they can be.
    """

    names: tuple[str, ...]
    levels: tuple[Any, ...]

    def codes(self, labels: Sequence[Any]) -> Array:
        """Return the places of labels among the levels, (N, C).

        Labels that were not seen have negative numbers, each its own.
        """
        return np.column_stack(
            [_codes_of(known, label) for known, label in zip(self.levels, labels, strict=True)]
        )

    def name_effects(self, found: Mapping[str, GroupEffects]) -> dict[str, GroupEffects]:
        """Return effects that an inner model has of the codes, under these names and levels."""
        known = zip(self.names, self.levels, found.values(), strict=True)
        return {name: effects._replace(levels=levels) for name, levels, effects in known}


class GroupEffects(NamedTuple):
    """Effects of the levels of one column.

    Attributes
    ----------
    levels : (L,)
        Labels.
    mean, std : (L,), or (L, K) for K > 2 classes
        Posterior of each level's effect, on the scale of the predictor; of several classes that on each,
        about the mean of all.
    spread : float
        σ, the standard deviation of effects, chosen by the evidence: what a new level has.
    spread_interval : tuple of float
        Where σ lies with a probability of about 90 %.
    """

    levels: Any
    mean: Array
    std: Array
    spread: float
    spread_interval: tuple[float, float]


def codes_last(inputs: Any) -> Array:
    """Return one array for an inner model, the codes of levels last."""
    return np.column_stack([inputs.x, inputs.codes]) if isinstance(inputs, GroupedRows) else inputs


def last_columns(codes: Any) -> list[int] | None:
    """Return where an inner model finds the codes that stand last; None without any."""
    return None if codes is None else list(range(-codes.shape[1], 0))


def effects_of(
    columns: GroupColumns,
    moments: Sequence[tuple[Array, Array]],
    spreads: Spreads,
    determined: Sequence[Array],
    unit: float = 1.0,
) -> dict[str, GroupEffects]:
    """Return the effects of each column by its name.

    Parameters
    ----------
    columns : GroupColumns
    moments : sequence of pairs of (L,) or (L, K)
        Means and standard deviations of effects.
    spreads : Spreads
    determined : sequence of (L,)
        The share of each effect that the data determine.
    unit : float
        What spreads are measured in.
    """
    found = {}
    for c, name in enumerate(columns.names):
        t, slope = float(spreads.log_spreads[c]), float(spreads.slopes[c])
        low, high = spread_interval(t, slope, determined[c])
        interval = (unit * low, unit * high)
        found[name] = GroupEffects(
            columns.levels[c], *moments[c], unit * float(np.exp(t)), interval
        )
    return found


def find_groups(groups: Any, X: Any) -> list[int]:
    """Return which columns of X hold groups, from their names or numbers.

    Raises
    ------
    ValueError
        When there is no such column, or one is named twice.
    """
    width = X.shape[1]
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else []
    if isinstance(groups, str) or not isinstance(groups, (Sequence, np.ndarray)):
        raise ValueError(
            f"groups must be a list of columns, by name or number, got {groups!r}; "
            f"write groups=[{groups!r}]"
        )
    places = []
    for group in groups:
        if isinstance(group, str):
            if group not in names:
                known = (
                    f"there are {', '.join(map(repr, names[:12]))}" if names else "X has no names"
                )
                raise ValueError(f"groups names {group!r}, which is no column of X: {known}")
            places.append(names.index(group))
        elif isinstance(group, (int, np.integer)) and -width <= group < width:
            places.append(int(group) % width)
        else:
            raise ValueError(f"groups holds {group!r}, but X has {width} columns, 0 to {width - 1}")
    if len(set(places)) < len(places):
        raise ValueError(f"groups names a column twice: {list(groups)!r}")
    return places


def split_columns(estimator: Any, X: Any, *, reset: bool) -> tuple[Any, list[Any], tuple[str, ...]]:
    """Return the columns of numbers (N, D), not yet looked at, and labels and names of the others."""
    X = validate_data(estimator, X, reset=reset, skip_check_array=True)
    if not hasattr(X, "iloc") and not isinstance(X, RowBlocks):
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {X.ndim}D array instead: X with groups is (N, D)"
            )
    if _num_samples(X) < 1:
        raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while 1 is required")
    places = find_groups(estimator.groups, X)
    rest = [j for j in range(X.shape[1]) if j not in places]
    frame = hasattr(X, "iloc")
    if isinstance(X, RowBlocks):
        labels = list(X[:, places].T)  # all in one pass
    else:
        labels = [X.iloc[:, j].to_numpy() if frame else X[:, j] for j in places]
    names = tuple(str(X.columns[j]) if frame else str(j) for j in places)
    if not rest:
        return np.zeros((len(X), 0)), labels, names
    columns: Any = rest
    if rest == list(range(rest[0], rest[0] + len(rest))):
        columns = slice(rest[0], rest[0] + len(rest))  # nothing is copied
    numbers = X.iloc[:, columns] if frame else X[:, columns]
    if isinstance(numbers, RowBlocks):
        return numbers, labels, names
    return (
        check_array(numbers, dtype=np.float64, ensure_all_finite=False, estimator=estimator),
        labels,
        names,
    )


def learn_levels(
    labels: Sequence[Any], names: tuple[str, ...], predictors: int = 1
) -> GroupColumns:
    """Return the columns with the levels that labels have; a missing label is one of them.

    Parameters
    ----------
    labels : sequence of (N,)
    names : tuple of str
        Of the columns.
    predictors : int
        How many each level has an effect on: K − 1 for K classes.

    Raises
    ------
    ValueError
        When levels are so many that no computer would solve for them.
    """
    levels = tuple(_levels_of(label) for label in labels)
    sizes = np.array([len(level) for level in levels], dtype=np.float64)
    work = (1.0 + sizes.sum() - sizes.max()) ** 2 * sizes.max() * predictors**3
    if work > _MOST_WORK:
        told = ", ".join(
            f"{name!r} {len(level):,}" for name, level in zip(names, levels, strict=True)
        )
        classes = f" for {predictors + 1} classes" if predictors > 1 else ""
        raise ValueError(
            f"groups have too many levels beside one another ({told}){classes}: one column may have "
            "100,000, the others together some hundreds then, fewer with many classes; merge rare levels"
        )
    return GroupColumns(names, levels)


def _levels_of(label: Any) -> Any:
    levels = np.asarray(pandas.unique(label))
    try:
        return np.sort(levels)
    except TypeError:  # texts and missing ones have no order
        return levels


def _codes_of(levels: Any, label: Any) -> Array:
    index = pandas.Index(levels)
    codes = np.asarray(index.get_indexer(pandas.Index(label)), dtype=np.int64)
    new = codes < 0
    if new.any():
        codes[new] = -1 - pandas.factorize(np.asarray(label)[new], use_na_sentinel=False)[0]
    return codes
