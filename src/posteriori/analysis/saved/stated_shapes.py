"""Shapes that classes state of their arrays, required of arrays that come from files.

A docstring that says ``means : (K, D)`` and ``codes : (N,) of int < K`` is the declaration: one letter is one
size within an object, a text such as ``1 + p`` another one, ``·`` any, and codes lie in 0, …, K − 1. Compiled
loops believe what they are given, so an array from a file is compared with its fellows before they see it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

__all__ = ["annotations_of", "require_stated_shapes", "stated_shapes"]

_ENTRY = re.compile(r"^ {4}(\w+(?:, \w+)*) : (.*)$", re.MULTILINE)
_SHAPE = re.compile(r"\(([^()]*)\)")
_BETWEEN_SHAPES = re.compile(r", (?![^()]*\))")
_NO_ARRAY = re.compile(r"\b(None|float|optional)\b")
_CODES = re.compile(r"of int(?: < (\w+))?$")
#: Kinds of entries by annotation; truth values are told apart by the docstring alone.
_KINDS = {"Array": "fb", "Array | None": "fb", "IntArray": "i"}


class StatedShape(NamedTuple):
    """What is stated of one attribute.

    Attributes
    ----------
    axes : tuple of tuple of str
        Sizes along each axis; several where one of them will do.
    kinds : str
        Kinds of NumPy that its entries may have; empty for any.
    below : str
        The size that whole numbers are less than; empty for any.
    optional : bool
        Whether it may be something else than an array.
    """

    axes: tuple[tuple[str, ...], ...]
    kinds: str = ""
    below: str = ""
    optional: bool = False


def require_stated_shapes(cls: type, state: Mapping[str, Any]) -> None:
    """Refuse arrays that differ from what their class states of them, or from one another.

    Raises
    ------
    ValueError
        Which attribute does not fit.
    """
    sizes: dict[str, int] = {}
    stated = {k: s for k, s in stated_shapes(cls).items() if k in state}
    for name, shape in sorted(stated.items(), key=lambda pair: len(pair[1].axes)):
        array, alone = state[name], len(shape.axes) == 1
        if not isinstance(array, np.ndarray):
            if not shape.optional:
                raise ValueError(f"{cls.__name__}.{name} is no array")
        elif shape.kinds and array.dtype.kind not in shape.kinds:
            raise ValueError(f"{cls.__name__}.{name} holds {array.dtype}")
        elif not any(_fits(array.shape, axes, sizes, alone) for axes in shape.axes):
            raise ValueError(f"{cls.__name__}.{name} has shape {array.shape}, which does not fit")
    for name, shape in stated.items():
        if shape.below in sizes:
            _require_codes(f"{cls.__name__}.{name}", state[name], sizes[shape.below])


@cache
def stated_shapes(cls: type) -> dict[str, StatedShape]:
    """Return what the docstring of a class states of its arrays, by attribute."""
    if sys.flags.optimize > 1:
        raise ValueError("python -OO leaves out what arrays in files are checked against")
    hints = annotations_of(cls)
    found = {}
    for entry in _ENTRY.finditer(cls.__doc__ or ""):
        names = entry[1].split(", ")
        parts = _BETWEEN_SHAPES.split(entry[2])
        texts = parts if len(parts) == len(names) else [entry[2]] * len(names)
        for name, text in zip(names, texts, strict=True):
            if text.startswith("(") and "..." not in text:
                found[name] = _stated(text, hints.get(name, ""))
    return found


def annotations_of(cls: type) -> dict[str, str]:
    """Return the annotations of a class as they are written."""
    hints = getattr(cls, "__annotations__", {})
    return {name: str(getattr(hint, "__forward_arg__", hint)) for name, hint in hints.items()}


def _stated(text: str, hint: str) -> StatedShape:
    """Return what a text such as ``(N,) of int < K`` says of an array with an annotation."""
    codes = _CODES.search(text)
    axes = [[part.strip() for part in s.split(",") if part.strip()] for s in _SHAPE.findall(text)]
    return StatedShape(
        tuple(tuple(sizes) for sizes in axes),
        "i" if codes else _KINDS.get(hint, ""),
        (codes and codes[1]) or "",
        bool(_NO_ARRAY.search(text)),
    )


def _fits(
    shape: tuple[int, ...], axes: tuple[str, ...], sizes: dict[str, int], learn: bool
) -> bool:
    """Tell whether a shape agrees with sizes that are known; others are learned from it."""
    if len(shape) != len(axes):
        return False
    for size, axis in zip(shape, axes, strict=True):
        known = int(axis) if axis.isdigit() else sizes.get(axis, size)
        if axis != "·" and size != known:
            return False
        if learn:
            sizes[axis] = size
    return True


def _require_codes(name: str, array: Any, count: int) -> None:
    if array.size and not 0 <= array.min() <= array.max() < count:
        raise ValueError(f"{name} holds numbers that are not within 0 … {count - 1}")
