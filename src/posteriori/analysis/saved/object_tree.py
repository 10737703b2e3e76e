"""Fitted models as trees of plain values and arrays, and back, without pickle.

Only the classes of a closed table come back, made without running their constructors. Attributes
take the place of data, never of methods; no array, text or axis is larger than the file
pays for, and sizes are bounded, so that a hostile file costs little more than reading it. Arrays have the
shapes that their class states. What the values mean is not known here: whoever reads a tree has to try out what
came back.
"""

from __future__ import annotations

import math
from collections.abc import KeysView
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from scipy.interpolate import BSpline
from sklearn.pipeline import Pipeline

from posteriori.analysis.saved.saved_classes import (
    CLASSES,
    COMPUTED,
    EARLIER_ATTRIBUTES,
    EARLIER_NAMES,
    ROWS_OF_COMPUTED,
    SHARED_PARTS,
    Earlier,
)
from posteriori.analysis.saved.stated_shapes import require_stated_shapes
from posteriori.distributions.base import Distribution

__all__ = ["from_tree", "to_tree"]

#: Where each class stands; files name it without its module, so that it may move.
_MODULES = {name: module for module, names in CLASSES.items() for name in names}

_DTYPES = {"<f8": 8, "<i8": 8, "<i4": 4, "|b1": 1}

#: How deep objects may lie inside objects; what holds itself would have no end.
_DEEPEST = 40

#: Axes that the shape of an array in a file may have.
_MOST_AXES = 8
#: Integers of scikit-learn's transformers become sizes of arrays, and empty arrays may still have
#: long axes.
_LARGEST_SIZE = 100_000
#: Texts in an array are padded to the longest.
_MOST_CHARACTERS = 10_000_000
#: Numbers that records of a file may be computed to have, beyond those that stand in it.
_MOST_MADE = 2_000_000
#: Arrays of fewer bytes are written as often as they are there.
_WORTH_ONCE = 64


def to_tree(value: Any) -> tuple[Any, list[bytes]]:
    """Return a value as JSON, and the bytes of its arrays, each padded to eight.

    Raises
    ------
    TypeError
        When the value holds something that has no form in a file.
    """
    written = _Written()
    return _encode(value, written, 0), written.blocks


def from_tree(tree: Any, numbers: bytes) -> Any:
    """Return the value; its arrays are read-only views of ``numbers``.

    Raises
    ------
    ValueError
        When the tree does not describe a value, or its arrays do not fill ``numbers`` exactly.
    """
    reader = _Reader(numbers)
    try:
        value = reader.decode(tree, 0)
    except (TypeError, KeyError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"its content does not add up: {error}") from None
    if reader.place != len(numbers):
        raise ValueError(f"its arrays need {reader.place} bytes, but it has {len(numbers)}")
    return value


# -- writing -----------------------------------------------------------------------------------


class _Written:
    """Arrays so far, each in its place, and how many numbers are left out since they can be computed."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.places: dict[Any, int] = {}
        self.made: list[Any] = []
        self.owners: dict[int, int] = {}
        self.n_made = 0


def _encode(value: Any, written: _Written, depth: int) -> Any:
    if depth > _DEEPEST:
        raise TypeError("it is nested too deeply, or holds itself")
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if isinstance(value, (float, np.floating)) and not isinstance(value, np.generic):
        return value if math.isfinite(value) else {"number": str(value)}
    if isinstance(value, np.generic):
        return {"scalar": _encode(np.asarray(value), written, depth + 1)}
    if isinstance(value, np.ndarray):
        return _encode_array(value, written)
    if isinstance(value, list):
        return [_encode(item, written, depth + 1) for item in value]
    if isinstance(value, dict):
        pairs = [
            [_encode(k, written, depth + 1), _encode(v, written, depth + 1)]
            for k, v in value.items()
        ]
        return {"dict": pairs}
    if type(value) is tuple or isinstance(value, KeysView):
        return {"tuple": [_encode(item, written, depth + 1) for item in value]}
    if isinstance(value, Pipeline):
        return {
            "pipeline": [[name, _encode(step, written, depth + 1)] for name, step in value.steps]
        }
    if isinstance(value, BSpline):
        parts = (value.t, value.c, int(value.k), value.extrapolate)
        return {"spline": [_encode(part, written, depth + 1) for part in parts]}
    return _encode_object(value, written, depth)


def _encode_array(array: Any, written: _Written) -> Any:
    shape = list(array.shape)
    if array.dtype.kind == "U" or (
        array.dtype == object and all(x is None or isinstance(x, str) for x in array.ravel())
    ):
        return {"texts": array.ravel().tolist(), "shape": shape, "dtype": array.dtype.kind}
    kinds = {"f": "<f8", "i": "<i8", "u": "<i8", "b": "|b1"}
    if array.dtype.kind not in kinds:
        raise TypeError(f"an array of {array.dtype} has no form in a file")
    dtype = "<i4" if array.dtype == np.int32 else kinds[array.dtype.kind]
    content = np.ascontiguousarray(array, dtype=dtype).tobytes()
    known = written.places.setdefault((dtype, array.shape, content), len(written.blocks))
    if known < len(written.blocks) and len(content) >= _WORTH_ONCE:
        return {"again": known}
    written.blocks.append(content + b"\0" * (-len(content) % 8))
    return {"array": dtype, "shape": shape}


def _encode_object(value: Any, written: _Written, depth: int) -> Any:
    name = type(value).__name__
    if _MODULES.get(name) != _public_module(type(value)):
        raise TypeError(f"{name} has no form in a file")
    if name == COMPUTED and written.n_made + value.n_made <= _MOST_MADE:
        parts = value.parts()
        if parts is not None:
            written.n_made += value.n_made
            return {"made": name, "of": _encode_parts(value, parts, written, depth)}
    if isinstance(value, tuple):
        return {"record": name, "fields": [_encode(item, written, depth + 1) for item in value]}
    state = {key: _encode(item, written, depth + 1) for key, item in _state(value).items()}
    return {"object": name, "state": state}


def _encode_parts(record: Any, parts: Any, written: _Written, depth: int) -> list[Any]:
    """Return parts of a record; of those that an earlier one has the number of that one."""
    number, coded = len(written.made), []
    written.made.append(record)  # so that nothing else gets its identity
    for place, part in enumerate(parts):
        owner = written.owners.setdefault(id(part), number) if place in SHARED_PARTS else number
        coded.append(owner if owner < number else _encode(part, written, depth + 1))
    return coded


def _public_module(cls: type) -> str:
    """Return where a class stands; scikit-learn's modules begin with an underscore below its rooms."""
    return cls.__module__.partition("._")[0]


def _state(value: Any) -> dict[str, Any]:
    """Return attributes, without those that are computed from others when first read.

    A distribution keeps them all: its parameters may be given in any of several forms.
    """
    cls = type(value)
    slots = [s for base in cls.__mro__ for s in getattr(base, "__slots__", ())]
    state = {s: getattr(value, s) for s in slots if s not in ("__dict__", "__weakref__")}
    state.update(getattr(value, "__dict__", {}))
    if isinstance(value, Distribution):
        return state
    return {k: v for k, v in state.items() if not isinstance(_class_entry(cls, k), cached_property)}


def _class_entry(cls: type, name: str) -> Any:
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


# -- reading -----------------------------------------------------------------------------------


class _Reader:
    """Where the next array begins."""

    def __init__(self, numbers: bytes) -> None:
        self.numbers = numbers
        self.place = 0
        self.arrays: list[Any] = []
        self.made: list[Any] = []
        self.n_made = 0

    def decode(self, tree: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        if tree is None or isinstance(tree, (bool, str, int, float)):
            return tree
        if isinstance(tree, list):
            return [self.decode(item, depth + 1) for item in tree]
        return self._decode_marked(tree, depth + 1)

    def _decode_marked(self, tree: dict[str, Any], depth: int) -> Any:
        mark = next(iter(tree))
        if mark == "number":
            return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[tree[mark]]
        if mark == "scalar":
            return self.decode(tree[mark], depth)[()]
        if mark == "array":
            self.arrays.append(self._array(tree[mark], _checked_shape(tree["shape"])))
            return self.arrays[-1]
        if mark == "again":
            return self.arrays[tree[mark]]
        if mark == "texts":
            return _texts(tree)
        if mark == "dict":
            return {self.decode(k, depth): self.decode(v, depth) for k, v in tree[mark]}
        if mark == "tuple":
            return tuple(self.decode(item, depth) for item in tree[mark])
        if mark == "pipeline":
            return Pipeline([(str(name), self.decode(step, depth)) for name, step in tree[mark]])
        if mark == "spline":
            t, c, k, extrapolate = (self.decode(part, depth) for part in tree[mark])
            return BSpline(t, c, k, extrapolate=extrapolate)
        if mark == "record":
            cls = _class_named(tree[mark], record=True)
            record = cls(*[self.decode(item, depth) for item in tree["fields"]])
            require_stated_shapes(cls, record._asdict())
            return record
        if mark == "made":
            return self._made(tree[mark], [self.decode(item, depth) for item in tree["of"]])
        if mark == "object":
            return self._object(_class_named(tree[mark], record=False), tree["state"], depth)
        raise ValueError(f"unknown mark {mark[:40]!r}")

    def _array(self, dtype: str, shape: tuple[int, ...]) -> Any:
        size = _DTYPES[dtype] * math.prod(shape)
        start, end = self.place, self.place + size
        if end > len(self.numbers):
            raise ValueError("it ends before its arrays do")
        self.place = end + -size % 8
        return np.frombuffer(self.numbers[start:end], dtype=dtype).reshape(shape)

    def _made(self, name: str, parts: list[Any]) -> Any:
        """Return a record that is computed from its parts."""
        if _current_name(name) != COMPUTED or len(parts) != 4:
            raise ValueError("it has parts of what is not computed")
        for place, shared in SHARED_PARTS.items():
            if type(parts[place]) is int:
                parts[place] = getattr(self.made[parts[place]], shared)
        cls, (_, rows, _, absolute) = _class_named(name, record=True), parts
        if type(rows).__name__ != ROWS_OF_COMPUTED or type(absolute) is not bool:
            raise ValueError(f"the parts of {name!r} do not fit")
        self.n_made += len(rows.X) ** 2
        if self.n_made > _MOST_MADE:
            raise ValueError("its processes are too large")
        try:
            with np.errstate(all="ignore"):
                made = cls.from_parts(*parts)
        except (ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
            raise ValueError(f"a process cannot be computed: {error}") from None
        if not np.isfinite(made.log_evidence):
            raise ValueError("a process has no evidence")
        require_stated_shapes(cls, made._asdict())
        self.made.append(made)
        return made

    def _object(self, cls: type, state: dict[str, Any], depth: int) -> Any:
        value: Any = object.__new__(cls)
        guest = cls.__module__.startswith("sklearn.")
        parameters = cls._parameters if issubclass(cls, Distribution) else {}
        decoded: dict[str, Any] = {}
        earlier = EARLIER_ATTRIBUTES.get(cls.__name__, {})
        for written, item in state.items():
            current: Earlier = earlier.get(written, Earlier(written))
            key = current.name
            if key in parameters:  # some are read through a property that checks them
                value.__dict__[key] = self.decode(item, depth)
                continue
            entry = _class_entry(cls, key)
            if key.startswith("__") or callable(entry) or isinstance(entry, property):
                raise ValueError(f"{key[:40]!r} is no attribute that files may set")
            decoded[key] = attribute = current.now(self.decode(item, depth))
            if guest and type(attribute) is int and attribute > _LARGEST_SIZE:
                raise ValueError(f"{key!r} is too large")
            object.__setattr__(value, key, attribute)
        require_stated_shapes(cls, decoded)
        return value


def _texts(tree: dict[str, Any]) -> Any:
    texts = tree["texts"]
    if not all(x is None or isinstance(x, str) for x in texts):
        raise ValueError("texts must be texts")
    dtype = {"U": np.str_, "O": object}[tree["dtype"]]
    if len(texts) * max((len(x or "") for x in texts), default=0) > _MOST_CHARACTERS:
        raise ValueError("its texts are too long")
    return np.array(texts, dtype=dtype).reshape(_checked_shape(tree["shape"]))


def _checked_shape(shape: Any) -> tuple[int, ...]:
    if len(shape) > _MOST_AXES or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError("a shape must be a short list of sizes")
    if 0 in shape and max(shape) > _LARGEST_SIZE:
        raise ValueError("an empty array has too long an axis")
    return tuple(shape)


def _current_name(name: Any) -> str:
    """Return the name of a class; earlier files name its module too, and some classes otherwise."""
    last = str(name).rpartition(":")[2]
    return EARLIER_NAMES.get(last, last)


def _class_named(name: str, *, record: bool) -> Any:
    module = _MODULES.get(_current_name(name))
    if module is None:
        raise ValueError(f"{name[:80]!r} is not a class that files may hold")
    cls = getattr(import_module(module), _current_name(name))
    if issubclass(cls, tuple) is not record:
        raise ValueError(f"{name!r} is {'no' if record else 'a'} record")
    return cls
