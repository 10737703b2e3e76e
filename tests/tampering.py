"""Saved files as an enemy would change them: bytes at random, or the content with a right checksum.

The format is that of ``numerics/record_files.py``: a title, a checksum, one line of JSON, numbers.
The same generator makes the same changes.
"""

import copy
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["damaged", "forged"]

#: What is put in the place of any value.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 10**6, 10**9, 2**63, 10**30, 0.0, -1.5, 1e300, 1e-300),
    *("", "x", "nan", "inf", "os:system", "Normal", "__class__", "\ud800", "\x1b[2J", "x" * 300),
    *([], {}, [0], [[]], [1, 2], [10**12], {"a": 1}, {"number": "nan"}, {"number": "-inf"}),
    *({"array": "<f8", "shape": [0]}, {"array": "<f8", "shape": [10**9]}, {"tuple": []}),
    *({"texts": ["a"], "shape": [1], "dtype": "O"}, {"dict": []}, {"dict": [["a", 1]]}),
)

#: Bit patterns of numbers: NaN, infinities, the largest, the smallest, plain ones, integers.
NUMBERS = np.array([np.nan, np.inf, -np.inf, 1.7e308, 5e-324, 0.0, -1.0, 1e9, 1e-300]).tobytes()


def damaged(rng: np.random.Generator, content: bytes) -> bytes:
    """Return bytes with some flipped, cut off, put in, repeated or exchanged; never the same."""
    first, second = sorted(int(place) for place in rng.integers(len(content) + 1, size=2))
    kind = int(rng.integers(5))
    changed = bytearray(content)
    if kind == 0:
        for place in rng.integers(len(content), size=int(rng.integers(1, 4))):
            changed[place] ^= int(rng.integers(1, 256))
    elif kind == 1:
        del changed[first:second]
    elif kind == 2:
        changed[first:first] = rng.bytes(int(rng.integers(1, 30)))
    elif kind == 3:
        changed[second:second] = content[first:second]
    else:
        changed[first:] = content[second:] + content[first:second]
    return bytes(changed) if changed != content else content[:-1]


def forged(rng: np.random.Generator, content: bytes) -> bytes:
    """Return a file whose checksum is right, with a few entries of its content changed."""
    title, _, text, numbers = content.split(b"\n", 3)
    tree, changed = json.loads(text), bytearray(numbers)
    for _ in range(int(rng.integers(1, 4))):
        kind = int(rng.integers(6))
        if kind < 4:
            tree = _changed_entry(rng, tree)
        elif kind == 4 and len(changed) >= 8:
            place = 8 * int(rng.integers(len(changed) // 8))
            other = 8 * int(rng.integers(len(NUMBERS) // 8))
            changed[place : place + 8] = NUMBERS[other : other + 8]
        else:
            del changed[int(rng.integers(len(changed) + 1)) :]
    body = json.dumps(tree).encode() + b"\n" + bytes(changed)
    return b"\n".join([title, hashlib.sha256(body).hexdigest().encode(), body])


def _changed_entry(rng: np.random.Generator, tree: Any) -> Any:
    """Replace, delete, repeat, rename or exchange an entry somewhere in lists and mappings."""
    places = list(_entries(tree))
    if not places:
        return VALUES[int(rng.integers(len(VALUES)))]
    holder, key = places[int(rng.integers(len(places)))]
    other_holder, other_key = places[int(rng.integers(len(places)))]
    kind = int(rng.integers(6))
    if kind == 0:
        del holder[key]
    elif kind == 1:
        holder[key] = copy.deepcopy(other_holder[other_key])
    elif kind == 2:
        holder[key] = _nearby(rng, holder[key])
    elif kind == 3 and isinstance(holder, dict):
        known = [k for h, k in places if isinstance(h, dict)]
        holder[known[int(rng.integers(len(known)))]] = holder.pop(key)
    elif kind == 4 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    else:
        holder[key] = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])
    return tree


def _entries(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield all holders, lists or mappings, with their keys."""
    keys = range(len(tree)) if isinstance(tree, list) else list(tree)
    for key in keys:
        yield tree, key
        if isinstance(tree[key], (list, dict)):
            yield from _entries(tree[key])


def _nearby(rng: np.random.Generator, value: Any) -> Any:
    """Return a value of the same type."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, (int, float)):
        return value * int(rng.choice([-1, 0, 2, 1000])) + int(rng.integers(-1, 2))
    if isinstance(value, str):
        return value[: int(rng.integers(len(value) + 1))] + "x" * int(rng.integers(2))
    return list(value)[::-1] if isinstance(value, list) else {}


def reshaped(rng: np.random.Generator, content: bytes) -> bytes:
    """Return a file whose checksum is right, with arrays turned round, cut, grown, exchanged or recoded."""
    title, _, text, numbers = content.split(b"\n", 3)
    tree = json.loads(text)
    nodes = [node for node in _mappings(tree) if "array" in node]
    arrays = _arrays_of(nodes, numbers)
    for _ in range(int(rng.integers(1, 3))):
        first, second = (int(place) for place in rng.integers(len(arrays), size=2))
        kind = int(rng.integers(6))
        if kind == 0:
            arrays[first], arrays[second] = arrays[second], arrays[first]
        else:
            arrays[first] = _reshape(rng, kind, arrays[first])
    for node, array in zip(nodes, arrays, strict=True):
        node["array"], node["shape"] = array.dtype.str, list(array.shape)
    blocks = [array.tobytes() for array in arrays]
    padded = b"".join(block + b"\0" * (-len(block) % 8) for block in blocks)
    body = json.dumps(tree).encode() + b"\n" + padded
    return b"\n".join([title, hashlib.sha256(body).hexdigest().encode(), body])


def _reshape(rng: np.random.Generator, kind: int, array: Any) -> Any:
    """Turn an array round, cut it, make it longer, read its bytes otherwise, or change an entry."""
    axis = int(rng.integers(array.ndim)) if array.ndim else 0
    if kind == 1:
        return array.reshape(array.shape[::-1] if array.ndim > 1 else (1, -1))
    if kind == 2 and array.ndim:
        return np.delete(array, slice(int(rng.integers(array.shape[axis] + 1)), None), axis)
    if kind == 3 and array.ndim:
        return np.concatenate([array, array], axis)
    if kind == 4 and array.dtype.itemsize == 8:
        return array.view("<i8" if array.dtype.kind == "f" else "<f8")
    changed = array.copy().ravel()
    extremes = (-1, 2**31 - 1, 7) if array.dtype.kind == "i" else (-1.0, np.nan, 1e308)
    if changed.size:
        changed[int(rng.integers(changed.size))] = extremes[int(rng.integers(3))]
    return changed.reshape(array.shape)


def _mappings(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield all mappings of a tree in the order in which their arrays are read."""
    if isinstance(tree, dict):
        yield tree
    for item in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(item, (list, dict)):
            yield from _mappings(item)


def _arrays_of(nodes: list[dict[str, Any]], numbers: bytes) -> list[Any]:
    arrays, place = [], 0
    for node in nodes:
        count = int(np.prod(node["shape"], dtype=np.int64))
        array = np.frombuffer(numbers, node["array"], count, place).reshape(node["shape"])
        arrays.append(array)
        place += array.nbytes + -array.nbytes % 8
    return arrays
