"""Columns of a table as inputs of a model: gaps filled, levels coded, numbers scaled.

What is filled in, which levels are kept and how numbers are scaled is learned by ``fit``, so that
within a pipeline it comes from the training rows alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from posteriori.analysis.fitting.date_seasons import (
    season_names,
    season_numbers,
    season_waves,
    wave_names,
)
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.contract import PreparesBlocks, TellsBends, offers
from posteriori.numerics.blocks.row_blocks import RowBlocks
from posteriori.numerics.types import Array

__all__ = ["CURVED", "OTHER", "CodeColumns", "NoColumns", "NumberColumns", "learn_scale", "scaled"]

#: Levels for those that are not kept apart, and for missing entries.
OTHER, _MISSING = "(other)", "(missing)"

#: Kinds of columns that a basis stands in for.
CURVED = ("number", "date")

#: M³K²L for L levels of the largest category, K of all others, and M predictors that are solved for
#: together.
_MOST_CROSSED = 2e8

#: M²L, numbers in the blocks of the largest category.
_MOST_BLOCKS = 2e6

#: Standard deviations from the mean, at most: what lies farther has no squares of products.
_FARTHEST = 1e30

#: Rows that are prepared at a time, so that no second copy of all inputs is made.
_PART = 4096


class Scale(NamedTuple):
    """How a column of numbers is centred, scaled and filled."""

    name: str
    mean: float
    std: float
    flag: bool  # whether a column says where entries were missing


class Levels(NamedTuple):
    """Levels of a category: the first is the reference, all others have a column."""

    name: str
    levels: tuple[str, ...]


class NumberColumns(TransformerMixin, BaseEstimator):
    """Every column as standardised numbers; of a category's levels all but the most frequent.

    Missing numbers become the mean, and a further column tells where they were; missing categories
    are a level of their own. Levels beyond the most frequent ones share one, which also stands for
    levels that are new. With ``grouped`` categories come last, a column of codes each, with all
    levels that were seen; levels that are new have the code −1. Columns that never change where they
    are learned are left out, or are 0 where a basis tells its bends by number; if none is left there is one
    input that is always 0.

    Parameters
    ----------
    kinds : mapping from column to {"number", "boolean", "date", "category"}
    basis : transformer, optional
        Functions of the columns of numbers and dates, in their place.
    max_levels : int
        Levels that are kept apart where they are indicators.
    grouped : bool
        Whether categories are codes of groups instead.
    outputs : int
        How many predictors the effects of groups are on, K − 1 for K classes: with many, rare levels
        share one.
    seasons : mapping from column to tuple of {"day of year", "day of week", "hour"}, optional
        Cycles of dates, which are told by waves beside the time.
    most_waves : int
        Pairs of waves of a cycle, at most; models that bend every input need one.
    """

    seasons: Any = None  # files of earlier versions have none
    most_waves = 1

    def __init__(
        self,
        kinds: Mapping[str, str],
        *,
        basis: Any = None,
        max_levels: int = 20,
        grouped: bool = False,
        outputs: int = 1,
        seasons: Mapping[str, tuple[str, ...]] | None = None,
        most_waves: int = 3,
    ) -> None:
        self.kinds = kinds
        self.basis = basis
        self.max_levels = max_levels
        self.grouped = grouped
        self.outputs = outputs
        self.seasons = seasons
        self.most_waves = most_waves

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Learn means, scales and levels of a table."""
        del y
        numbers = [name for name, kind in self.kinds.items() if kind != "category"]
        scales = [learn_scale(name, X[name].to_numpy(np.float64)) for name in numbers]
        self.scales_ = [s for s in scales if s.std > 0.0 or self._keeps_place(s.name)]
        categories = [name for name, kind in self.kinds.items() if kind == "category"]
        if self.grouped:
            self.levels_ = _all_levels(X, categories, self.outputs)
        else:
            levels = [
                Levels(name, frequent_levels(X[name], self.max_levels)) for name in categories
            ]
            self.levels_ = [level for level in levels if len(level.levels) > 1]
        self.basis_ = None
        if self.basis is not None and self._curved():
            self.basis_ = clone(self.basis).fit(_stack(self._curved(), X))
        return self

    def transform(self, X: pd.DataFrame) -> Array:
        """Return the inputs (N, D)."""
        check_is_fitted(self)
        first = self._transform_part(X.iloc[:_PART])
        if len(X) <= _PART:
            return first
        inputs = np.empty((len(X), first.shape[1]))
        inputs[:_PART] = first
        for start in range(_PART, len(X), _PART):
            inputs[start : start + _PART] = self._transform_part(X.iloc[start : start + _PART])
        return inputs

    def transform_blocks(self, X: pd.DataFrame) -> RowBlocks:
        """Return the inputs (N, D), whose functions of columns are made when they are read."""
        check_is_fitted(self)
        rest = self._beside_curves(X)
        if self.basis_ is None:
            return RowBlocks(lambda rows: rest[rows], rest.shape)
        basis, curved = self.basis_, _stack(self._curved(), X)
        if offers(basis, PreparesBlocks):
            return basis.transform_blocks(curved).beside(rest)
        width = len(basis.get_feature_names_out())
        functions = RowBlocks(lambda rows: basis.transform(curved[rows]), (len(X), width))
        return functions.beside(rest)

    def _transform_part(self, X: pd.DataFrame) -> Array:
        rest = self._beside_curves(X)
        if self.basis_ is None:
            return rest
        return np.column_stack([self.basis_.transform(_stack(self._curved(), X)), rest])

    def _beside_curves(self, X: pd.DataFrame) -> Array:
        """Return all inputs that are no functions of columns."""
        curved = [] if self.basis_ is None else self._curved()
        straight = [s for s in self.scales_ if s not in curved]
        parts = [scaled(scale, X)[:, None] for scale in straight]
        parts += [_is_missing(s, X)[:, None] for s in self.scales_ if s.flag]
        if self.seasons:
            parts += [wave[:, None] for wave in season_waves(self.seasons, X, self.most_waves)]
        coded = _group_codes if self.grouped else _indicators
        parts += [coded(levels, X) for levels in self.levels_]
        # columns that never change have no effect, and models want one: as NoColumns has it
        return np.column_stack(parts) if parts else np.zeros((len(X), 1))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return what each input is: the column, or ``column = level``; of groups their columns."""
        del input_features
        check_is_fitted(self)
        return np.array(self.number_names() + self.group_names(), dtype=object)

    def group_names(self) -> list[str]:
        """Return the columns that come as codes of groups, which are the last inputs."""
        return [part.name for part in self.levels_] if self.grouped else []

    def number_names(self) -> list[str]:
        """Return what the inputs before them are."""
        curved, names = self._curved(), []
        if self.basis_ is not None:
            names += list(self.basis_.get_feature_names_out([s.name for s in curved]))
        names += [s.name for s in self.scales_ if self.basis_ is None or s not in curved]
        names += [f"{s.name} missing" for s in self.scales_ if s.flag]
        names += wave_names(self.seasons, self.most_waves) if self.seasons else []
        if not self.grouped:
            names += [
                f"{part.name} = {level}" for part in self.levels_ for level in part.levels[1:]
            ]
        return names

    def level_for_new(self, name: str) -> str:
        """Return the level that stands for levels that are new; empty if the column has no effect."""
        levels = dict(self.levels_).get(name, ("",))
        return OTHER if OTHER in levels else levels[0]

    def _curved(self) -> list[Scale]:
        return [s for s in self.scales_ if self.kinds[s.name] in CURVED]

    def _keeps_place(self, name: str) -> bool:
        """Tell whether a column stays, as zeros, where it never changes: models know bends by number."""
        return self.kinds[name] in CURVED and offers(self.basis, TellsBends)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "levels_")


class CodeColumns(TransformerMixin, BaseEstimator):
    """Numbers as they are, categories as codes 0, 1, …, missing entries as NaN.

    Code 0 stands for levels beyond the most frequent ones, and for new ones.

    Parameters
    ----------
    kinds : mapping from column to {"number", "boolean", "date", "category"}
    max_levels : int
    seasons : mapping from column to tuple of {"day of year", "day of week", "hour"}, optional
        Cycles of dates, in which each has a place: numbers that come after all columns.
    """

    seasons: Any = None  # files of earlier versions have none

    def __init__(
        self,
        kinds: Mapping[str, str],
        *,
        max_levels: int = 20,
        seasons: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.kinds = kinds
        self.max_levels = max_levels
        self.seasons = seasons

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Learn the levels of a table."""
        del y
        self.levels_ = {
            name: tuple(
                level
                for level in frequent_levels(X[name], self.max_levels)
                if level not in (OTHER, _MISSING)
            )
            for name, kind in self.kinds.items()
            if kind == "category"
        }
        return self

    def transform(self, X: pd.DataFrame) -> Array:
        """Return the inputs (N, D)."""
        check_is_fitted(self)
        parts = []
        for name, kind in self.kinds.items():
            if kind == "category":
                place = {level: k for k, level in enumerate(self.levels_[name], start=1)}
                parts.append(_recoded(X[name], place, unknown=0.0, missing=np.nan))
            else:
                parts.append(X[name].to_numpy(np.float64))
        parts += season_numbers(self.seasons, X) if self.seasons else []
        return np.column_stack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns."""
        del input_features
        return np.array([*self.kinds, *self._season_names()], dtype=object)

    def group_names(self) -> list[str]:
        """Return no names: categories are no groups here."""
        return []

    def level_for_new(self, name: str) -> str:
        """Return the level that stands for levels that are new."""
        del name
        return OTHER

    @property
    def columns(self) -> list[str]:
        """The kinds as :class:`NaiveBayes` names them."""
        known = {"boolean": "bernoulli", "category": "categorical"}
        kinds = [*self.kinds.values(), *self._season_names()]
        return [known.get(kind, "normal") for kind in kinds]

    @property
    def asked_columns(self) -> list[str]:
        """The kinds as trees name them, which ask for one column at a time."""
        kinds = [*self.kinds.values(), *self._season_names()]
        return ["categorical" if kind == "category" else "number" for kind in kinds]

    def _season_names(self) -> list[str]:
        return season_names(self.seasons) if self.seasons else []

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "levels_")


class NoColumns(TransformerMixin, BaseEstimator):
    """One input that is always 0: the model of a target that depends on nothing."""

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Learn nothing."""
        del X, y
        return self

    def transform(self, X: pd.DataFrame) -> Array:
        """Return zeros (N, 1)."""
        return np.zeros((len(X), 1))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return no names: there is nothing to name."""
        del input_features
        return np.array([], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def frequent_levels(series: pd.Series, limit: int, least: int = 2) -> tuple[str, ...]:
    """Return the most frequent levels first, then one for the rest and one for missing entries.

    Levels seen less often than ``least`` are not kept apart: of an indicator that is 1 once nothing
    can be learned.
    """
    codes = series.cat.codes.to_numpy()
    counts = np.bincount(codes[codes >= 0], minlength=len(series.cat.categories))
    seen = dict(zip(series.cat.categories, counts.tolist(), strict=True))
    order = sorted((level for level in seen if seen[level] >= least), key=lambda x: (-seen[x], x))
    kept = tuple(order[:limit])
    rest = (OTHER,) if len(kept) < int((counts > 0).sum()) else ()
    return kept + rest + ((_MISSING,) if (codes < 0).any() else ())


def _all_levels(X: pd.DataFrame, names: list[str], outputs: int) -> list[Levels]:
    """Return all levels of categories, most frequent first.

    Where several categories have many, all but the largest keep their most frequent ones apart, so
    that what is solved for together stays small; so does the largest where there are many outputs.
    """
    counts = {name: int(X[name].nunique()) for name in names}
    largest = max(counts, key=lambda name: counts[name], default="")
    most = min(max(counts.get(largest, 0), 1), int(_MOST_BLOCKS / outputs**2))
    others = sum(counts.values()) - counts.get(largest, 0)
    room = int(np.sqrt(_MOST_CROSSED / (most * outputs**3)))
    limit = max(room // max(len(names) - 1, 1), 1) if others > room else others
    return [
        Levels(name, frequent_levels(X[name], most if name == largest else limit, least=1))
        for name in names
    ]


def _group_codes(part: Levels, X: pd.DataFrame) -> Array:
    """Return the places of levels (N, 1), −1 for those that are new."""
    place = _places(part.levels)
    new = place.get(OTHER, -1)
    codes = _recoded(X[part.name], place, unknown=new, missing=place.get(_MISSING, -1))
    return codes[:, None]


def learn_scale(name: str, values: Array) -> Scale:
    """Return mean and standard deviation of what is seen of a column, 0 if it never changes."""
    seen = values[~np.isnan(values)]
    if not len(seen):
        return Scale(name, 0.0, 0.0, False)
    unit = float(np.abs(seen).max()) or 1.0  # keeps squares of extreme numbers in range
    std = unit * float(np.std(seen / unit))
    mean = unit * float(np.mean(seen / unit))
    if std <= 1e-14 * abs(mean):
        std = 0.0
    return Scale(name, mean, std, len(seen) < len(values))


def scaled(scale: Scale, X: pd.DataFrame) -> Array:
    """Return a column with mean 0 and variance 1, (N,); missing entries are 0, as is one that never changed.

    One that was far narrower where it was learned may have entries beyond all bounds.
    """
    if scale.std == 0.0:
        return np.zeros(len(X))
    with np.errstate(over="ignore"):
        values = (X[scale.name].to_numpy(np.float64) - scale.mean) / scale.std
    return np.where(np.isnan(values), 0.0, values.clip(-_FARTHEST, _FARTHEST))


def _stack(scales: list[Scale], X: pd.DataFrame) -> Array:
    """Return scaled columns side by side (N, D); of none a second copy is held."""
    block = np.empty((len(X), len(scales)))
    for j, scale in enumerate(scales):
        block[:, j] = scaled(scale, X)
    return block


def _is_missing(scale: Scale, X: pd.DataFrame) -> Array:
    return X[scale.name].isna().to_numpy(np.float64)


def _indicators(part: Levels, X: pd.DataFrame) -> Array:
    """Return a column for every level but the first; new levels belong to the rest if there is one."""
    place = _places(part.levels)
    rest = place.get(OTHER, 0)
    codes = _recoded(X[part.name], place, unknown=rest, missing=place.get(_MISSING, rest))
    return (codes[:, None] == np.arange(1, len(part.levels))).astype(np.float64)


@lru_cache(maxsize=16)
def _places(levels: tuple[str, ...]) -> dict[str, int]:
    """Return the place of each level; kept, as rows come in many parts."""
    return {level: k for k, level in enumerate(levels)}


def _recoded(series: pd.Series, place: dict[str, int], unknown: float, missing: float) -> Array:
    """Return the places of a category's levels, (N,): looked up by level in use, not by row."""
    codes, rows = np.unique(series.cat.codes.to_numpy(), return_inverse=True)
    used = series.cat.categories.take(codes[codes >= 0]).to_numpy(dtype=object)
    table = [float(place.get(level, unknown)) for level in used]
    return np.array([missing] * (len(codes) - len(used)) + table)[rows]
