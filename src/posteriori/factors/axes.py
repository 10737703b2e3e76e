"""Named, labelled axes, and how the axes of two tables line up.

Equal axes are one object: a plan that was worked out for a pair of tables is found again at the
cost of one look-up, which is what keeps operations on tables of a few cells cheap.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn, TypeAlias
from weakref import WeakValueDictionary

from posteriori.numerics.validation import hint, listed

__all__ = [
    "Axes",
    "Label",
    "Names",
    "Pairing",
    "Reduction",
    "as_labels",
    "as_names",
    "ordering",
    "pair",
    "reduction",
    "refuse_axis",
    "without",
]

Label: TypeAlias = Hashable
Names: TypeAlias = str | Iterable[str]

#: Layouts that are remembered, the latest.
_PLANS = 1 << 13


class Axes:
    """The axes of a table: names, and a tuple of labels for each.

    Made by :meth:`of` only, which returns the same object for the same names and labels.
    """

    __slots__ = ("__weakref__", "_index", "labels", "names", "position", "shape", "size")

    names: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    shape: tuple[int, ...]
    size: int
    position: Mapping[str, int]
    _index: dict[str, dict[Label, int]]

    _known: WeakValueDictionary[tuple[Any, ...], Axes] = WeakValueDictionary()

    @classmethod
    def of(cls, names: tuple[str, ...], labels: tuple[tuple[Label, ...], ...]) -> Axes:
        """Return the axes with these checked names and labels."""
        # 1, 1.0 and True are equal but print differently: their types tell them apart.
        key = (names, labels, tuple(tuple(map(type, axis)) for axis in labels))
        known = cls._known.get(key)
        if known is None:
            known = cls()
            known.names, known.labels = names, labels
            known.shape = tuple(map(len, labels))
            known.size = math.prod(known.shape)
            known.position = {name: i for i, name in enumerate(names)}
            known._index = {}
            cls._known[key] = known
        return known

    def select(self, positions: Iterable[int]) -> Axes:
        """Return the axes at some positions, in that order."""
        chosen = tuple(positions)
        names = tuple(self.names[i] for i in chosen)
        return (
            self if names == self.names else Axes.of(names, tuple(self.labels[i] for i in chosen))
        )

    def names_of(self, names: Names, argument: str = "names") -> tuple[str, ...]:
        """Check that each of ``names`` is an axis and that none is repeated."""
        chosen = as_names(names, argument)
        for name in chosen:
            if name not in self.position:
                refuse_axis(name, self.names)
        return chosen

    def locate(self, name: str, label: Label) -> tuple[int, int]:
        """Return the position of the axis ``name`` and of ``label`` on it."""
        axis = self.position.get(name)
        if axis is None:
            refuse_axis(name, self.names)
        index = self._index.get(name)
        if index is None:
            index = self._index[name] = {label: i for i, label in enumerate(self.labels[axis])}
        try:
            return axis, index[label]
        except (KeyError, TypeError):
            raise ValueError(
                f"axis {name!r} has no label {label!r}; its labels are "
                f"{listed(self.labels[axis])}{hint(label, self.labels[axis])}"
            ) from None


class Pairing(NamedTuple):
    """How two tables combine over the union of their axes.

    Attributes
    ----------
    axes : Axes
        The union: the axes of the left table, then what the right one adds.
    left, right : tuple
        The index that lines each table up with the union by broadcasting.
    order : tuple of int or None
        The transposition of the right table that comes before its index.
    """

    axes: Axes
    left: tuple[slice | None, ...] | None
    right: tuple[slice | None, ...] | None
    order: tuple[int, ...] | None


class Reduction(NamedTuple):
    """Which axes go and which stay when a table is summed or maximised.

    ``log2_terms`` is the logarithm of how many cells end up in one.
    """

    axes: Axes
    gone: tuple[int, ...]
    log2_terms: float


@lru_cache(_PLANS)
def pair(left: Axes, right: Axes) -> Pairing:
    """Line up two sets of axes; shared ones must have the same labels."""
    for name, labels in zip(right.names, right.labels, strict=True):
        at = left.position.get(name)
        if at is not None and left.labels[at] != labels:
            raise ValueError(
                f"the labels of axis {name!r} differ between the tables: "
                f"{listed(left.labels[at])} and {listed(labels)}"
            )
    new = [i for i, name in enumerate(right.names) if name not in left.position]
    union = Axes.of(
        left.names + tuple(right.names[i] for i in new),
        left.labels + tuple(right.labels[i] for i in new),
    )
    order = tuple(sorted(range(len(right.names)), key=lambda i: union.position[right.names[i]]))
    full = slice(None)
    return Pairing(
        axes=union,
        left=(full,) * len(left.names) + (None,) * len(new) if new else None,
        right=(
            tuple(full if name in right.position else None for name in union.names)
            if union.names != right.names
            else None
        ),
        order=None if order == tuple(range(len(order))) else order,
    )


@lru_cache(_PLANS)
def reduction(axes: Axes, keep: tuple[str, ...]) -> Reduction:
    """Plan to keep some axes, in their present order, and to remove the others."""
    kept = set(axes.names_of(keep, "keep"))
    gone = tuple(i for i, name in enumerate(axes.names) if name not in kept)
    rest = axes.select(i for i, name in enumerate(axes.names) if name in kept)
    return Reduction(rest, gone, math.log2(axes.size // rest.size))


def refuse_axis(name: object, names: Sequence[str]) -> NoReturn:
    """Say that there is no such axis, and which one may have been meant."""
    raise ValueError(f"there is no axis {name!r}; the axes are {listed(names)}{hint(name, names)}")


@lru_cache(_PLANS)
def without(axes: Axes, names: tuple[str, ...]) -> Axes:
    """Return the axes that are not among ``names``."""
    return axes.select(i for i, name in enumerate(axes.names) if name not in names)


@lru_cache(_PLANS)
def ordering(axes: Axes, names: tuple[str, ...]) -> tuple[Axes, tuple[int, ...]]:
    """Return the axes in the order of ``names``, and the transposition that brings them there."""
    axes.names_of(names)
    if len(names) != len(axes.names):
        missing = next(name for name in axes.names if name not in names)
        raise ValueError(f"transpose needs all axes, {missing!r} is missing")
    order = tuple(axes.position[name] for name in names)
    return axes.select(order), order


def as_names(names: Names, argument: str = "names") -> tuple[str, ...]:
    """Return names as a tuple; a single string is one name."""
    if not isinstance(names, Iterable):
        raise TypeError(f"{argument} must be a name or several names, got {names!r}")
    chosen = (names,) if isinstance(names, str) else tuple(names)
    for name in chosen:
        if not isinstance(name, str) or not name:
            raise TypeError(f"{argument} must hold non-empty strings, got {name!r}")
    if len(chosen) > 1 and len(set(chosen)) < len(chosen):
        twice = next(name for i, name in enumerate(chosen) if name in chosen[:i])
        raise ValueError(f"{argument} holds {twice!r} twice; each axis has a name of its own")
    return chosen


def as_labels(
    names: tuple[str, ...],
    shape: tuple[int, ...],
    labels: Mapping[str, Iterable[Label]] | Sequence[Iterable[Label] | None] | None,
) -> tuple[tuple[Label, ...], ...]:
    """Return the labels of each axis: those given, else 0, …, K−1."""
    given: Mapping[str, Iterable[Label] | None]
    if labels is None:
        given = {}
    elif isinstance(labels, Mapping):
        given = labels
        for name in given:
            if name not in names:
                raise ValueError(
                    f"labels are given for {name!r}, which is no axis; "
                    f"the axes are {listed(names)}{hint(name, names)}"
                )
    else:
        if len(labels) != len(names):
            raise ValueError(
                f"labels must have one entry per axis: {len(names)} axes, {len(labels)} entries"
            )
        given = dict(zip(names, labels, strict=True))
    return tuple(
        _axis_labels(name, size, given.get(name)) for name, size in zip(names, shape, strict=True)
    )


def _axis_labels(name: str, size: int, labels: Iterable[Label] | None) -> tuple[Label, ...]:
    if labels is None:
        return tuple(range(size))
    chosen = tuple(_plain(label) for label in labels)
    if len(chosen) != size:
        raise ValueError(
            f"axis {name!r} has {size} cells but {len(chosen)} labels {listed(chosen)}"
        )
    try:
        distinct = set(chosen)
    except TypeError:
        raise TypeError(f"labels of axis {name!r} must be hashable, got {listed(chosen)}") from None
    if len(distinct) < size:
        twice = next(label for i, label in enumerate(chosen) if label in chosen[:i])
        raise ValueError(f"axis {name!r} has the label {twice!r} twice")
    return chosen


def _plain(label: Any) -> Label:
    """Turn a NumPy scalar into the Python value that it stands for."""
    plain: Label = label.item() if hasattr(label, "item") and hasattr(label, "dtype") else label
    return plain
