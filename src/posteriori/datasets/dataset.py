"""The record that every loader and every generator of the room returns: a named table of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from posteriori.numerics.lazy import pandas as pd
from posteriori.numerics.types import Array

__all__ = ["Dataset"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table of numbers with named columns.

    Parameters
    ----------
    data : array_like, shape (N, D)
        One row per data point; copied, and locked against writing.
    names : sequence of str, length D
        The names of the columns.
    description : str
        What was measured, in which unit, and the reference.
    index : array_like, shape (N,), optional
        What the rows are ordered by, such as the year; locked.
    index_name : str, optional
        The name of the index; given together with it.
    target : str, optional
        The column to predict. It is the last one: ``X`` is all the others and ``y`` is this one.
    classes : sequence of str, optional
        For a target that is a class: the name of the class 0, 1, …
    truth : mapping of str to value, optional
        For generated data: the parameters that the data were drawn with; read-only.

    Raises
    ------
    ValueError
        If the shapes do not fit, or a name occurs twice.

    Examples
    --------
    >>> from posteriori.datasets import Dataset
    >>> squares = Dataset([[1, 1], [2, 4], [3, 9]], ["side", "area"], "Squares.", target="area")
    >>> squares
    Dataset(3 rows; side -> area)
    >>> squares["side"], squares.y
    (array([1., 2., 3.]), array([1., 4., 9.]))
    """

    data: Array
    names: tuple[str, ...]
    description: str
    index: Array | None = None
    index_name: str | None = None
    target: str | None = None
    classes: tuple[str, ...] = ()
    truth: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("data", _locked(self.data, float))
        put("names", tuple(self.names))
        put("classes", tuple(self.classes))
        put("truth", MappingProxyType({k: _locked_value(v) for k, v in self.truth.items()}))
        if self.index is not None:
            put("index", _locked(self.index))
        _check_shapes(self)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The same table as a pandas DataFrame, made on first use."""
        index = None if self.index is None else pd.Index(self.index.copy(), name=self.index_name)
        frame = pd.DataFrame(self.data.copy(), columns=list(self.names), index=index)
        return frame.astype({self.target: int}) if self.classes else frame

    @cached_property
    def X(self) -> Array:
        """The columns to predict from, shape (N, D), or (N, D - 1) where there is a target."""
        return self.data if self.target is None else _locked(self.data[:, :-1])

    @cached_property
    def y(self) -> Array:
        """The column to predict, shape (N,); whole numbers 0, 1, … where it is a class."""
        if self.target is None:
            raise AttributeError(
                f"these data have no target; take a column by its name: {', '.join(self.names)}"
            )
        return _locked(self.data[:, -1], int if self.classes else float)

    def __getitem__(self, name: str) -> Array:
        """One column, or the index, by its name: shape (N,)."""
        if name in self.names:
            return self.data[:, self.names.index(name)]
        if self.index is not None and name == self.index_name:
            return self.index
        also = "" if self.index_name is None else f"; the index is {self.index_name}"
        raise KeyError(f"no column {name!r}; the columns are {', '.join(self.names)}{also}")

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        columns = self.names if self.target is None else self.names[:-1]
        by = "" if self.index_name is None else f" by {self.index_name}"
        to = "" if self.target is None else f" -> {self.target}"
        return f"Dataset({len(self)} rows; {', '.join(columns)}{to}{by})"

    def __reduce__(self) -> tuple[type[Dataset], tuple[object, ...]]:
        # Built anew from its fields, so that a copy is locked too (a mapping proxy has no pickle).
        values = (getattr(self, f.name) for f in fields(self))
        return Dataset, tuple(dict(v) if isinstance(v, Mapping) else v for v in values)


def _check_shapes(table: Dataset) -> None:
    if table.data.ndim != 2 or table.data.shape[1] != len(table.names):
        raise ValueError(
            f"data must have shape (N, {len(table.names)}), a column for each of the names "
            f"{', '.join(table.names)}; got shape {table.data.shape}"
        )
    known = [*table.names, *([] if table.index_name is None else [table.index_name])]
    twice = sorted({name for name in known if known.count(name) > 1})
    if twice:
        raise ValueError(f"names must differ, got {', '.join(twice)} twice")
    if (table.index is None) != (table.index_name is None):
        raise ValueError("index and index_name must be given together")
    if table.index is not None and table.index.shape != (len(table.data),):
        raise ValueError(f"index must have shape ({len(table.data)},), got {table.index.shape}")
    if table.target is not None and table.target != table.names[-1]:
        raise ValueError(
            f"target must be the last column, {table.names[-1]!r}; got {table.target!r}"
        )
    if table.classes and table.target is None:
        raise ValueError("classes name the values of a target; give target too")


def _locked(value: Any, dtype: type | None = None) -> Array:
    array = np.array(value, dtype=dtype)
    array.setflags(write=False)
    return array


def _locked_value(value: Any) -> Any:
    return _locked(value) if isinstance(value, (np.ndarray, list)) else value
