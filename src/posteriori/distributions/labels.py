"""Names of categories: labels to codes 0, …, K − 1 and back."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from posteriori.numerics.types import Array, number

__all__ = ["Labels", "LabelsLike", "check_labels", "decode_labels", "encode_labels"]

Labels: TypeAlias = tuple[Hashable, ...]
LabelsLike: TypeAlias = Sequence[Any] | np.ndarray[Any, Any]


def check_labels(labels: LabelsLike, size: int | None = None) -> Labels:
    """Check that labels are distinct and as many as there are categories."""
    if isinstance(labels, str):
        raise TypeError(f"labels must be a sequence of names, got the single text {labels!r}")
    values = labels.tolist() if isinstance(labels, np.ndarray) else labels
    names = tuple(values)
    try:
        distinct = len(set(names))
    except TypeError:
        raise TypeError("labels must be hashable, such as text or whole numbers") from None
    if distinct != len(names):
        twice = next(n for i, n in enumerate(names) if n in names[:i])
        raise ValueError(f"labels must be distinct, {twice!r} occurs twice")
    if size is not None and len(names) != size:
        raise ValueError(f"labels must name {size} categories, got {len(names)} names")
    return names


def encode_labels(data: Any, labels: LabelsLike) -> Array:
    """Turn labels into codes 0, …, K − 1 (as float64).

    Raises
    ------
    ValueError
        When a value is no label; the message names it and the label nearest to it.

    Examples
    --------
    >>> encode_labels(["b", "a", "b"], ("a", "b", "c"))
    array([1., 0., 1.])
    """
    table = _codes(tuple(labels))
    if _is_label(data, table):
        return number(table[data])
    nested = any(isinstance(label, tuple) for label in table)
    values = data if isinstance(data, np.ndarray) else _as_objects(data, nested)
    flat = values.ravel().tolist()
    try:
        codes = np.fromiter(map(table.__getitem__, flat), np.float64, len(flat))
    except KeyError as error:
        raise ValueError(_unknown(error.args[0], tuple(table))) from None
    return codes.reshape(values.shape)[()]


def decode_labels(codes: Any, labels: Labels) -> Any:
    """Turn codes into labels: the label itself for a single code."""
    if np.ndim(codes) == 0:
        return labels[int(codes)]
    return _as_array(labels)[np.asarray(codes, dtype=np.intp)]


@lru_cache(maxsize=256)
def _codes(labels: Labels) -> Mapping[Hashable, int]:
    return {label: code for code, label in enumerate(labels)}


@lru_cache(maxsize=256)
def _as_array(labels: Labels) -> np.ndarray[Any, Any]:
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        return np.array(labels)
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return objects


def _is_label(data: Any, table: Mapping[Hashable, int]) -> bool:
    try:
        return data in table
    except TypeError:  # not hashable: a list or an array of labels
        return False


def _as_objects(data: Any, nested: bool) -> np.ndarray[Any, Any]:
    single = isinstance(data, str) or not hasattr(data, "__len__")
    if not (single or nested):
        return np.asarray(data, dtype=object)
    objects = np.empty(() if single else len(data), dtype=object)
    objects[...] = data if single else list(data)
    return objects


def _unknown(value: Any, labels: Labels) -> str:
    near = difflib.get_close_matches(str(value), [str(label) for label in labels], n=1, cutoff=0.5)
    if near:
        return f"{value!r} is no label; did you mean {near[0]!r}?"
    shown = ", ".join(repr(label) for label in labels[:8]) + (", …" if len(labels) > 8 else "")
    return f"{value!r} is no label; the labels are {shown}"
