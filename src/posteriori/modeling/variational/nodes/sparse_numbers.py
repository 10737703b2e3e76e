"""The numbers of normal variables one after another, and which of them meet in a log density."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.gaussian.sparse_precision import Meetings
from posteriori.modeling.binding.bound import Layout
from posteriori.modeling.binding.labelled import Axis, Lookup, Table, spread
from posteriori.modeling.variational.densities.monomials import Monomial
from posteriori.numerics.types import Array, IntArray

__all__ = ["Seen", "SparseNumbers"]

#: Entries of a factor that an ascent computes anew in every sweep: about a second.
_MOST_ENTRIES = 10_000_000

#: Pairs of numbers that are looked at to find those that meet.
_MOST_PAIRS = 20_000_000


class Seen(NamedTuple):
    """What one access or two of them see.

    Attributes
    ----------
    labels : tuple of Axis
        Of the rows.
    numbers : tuple of integers
        Which number of the vector each access sees in every row.
    at, entries : integers or None
        Of numbers that are known to meet: where they do in the precision and on its factor.
    """

    labels: tuple[Axis, ...]
    numbers: tuple[IntArray, ...]
    at: IntArray | None = None
    entries: IntArray | None = None

    def over_rows(self, table: Table, restart: Axis) -> Array:
        """Return the values of a table, (starts, rows)."""
        labels = (restart, *self.labels)
        shape = tuple(axis.size for axis in labels)
        values = np.broadcast_to(spread(table, labels), shape)
        return values.reshape(restart.size, math.prod(shape[1:]))

    def table(self, values: Array, restart: Axis) -> Table:
        """Return values (starts, rows) as a table."""
        shape = (len(values), *(axis.size for axis in self.labels))
        return Table(values.reshape(shape), (restart, *self.labels))


class SparseNumbers:
    """The numbers of some normal variables.

    Parameters
    ----------
    names : sequence of str
    layouts : mapping
    monomials : iterable of Monomial
        Those that touch the variables.

    Attributes
    ----------
    first : dict
        Where each variable begins.
    size : int
    meetings : Meetings or None
        None where too many numbers meet to look at them all.
    """

    def __init__(
        self, names: Sequence[str], layouts: Mapping[str, Layout], monomials: Iterable[Monomial]
    ) -> None:
        self.layouts = {name: layouts[name] for name in names}
        self.first: dict[str, int] = {}
        self.size = 0
        for name, layout in self.layouts.items():
            self.first[name] = self.size
            self.size += math.prod(layout.shape)
        self._known: dict[tuple[int, ...], tuple[tuple[Any, ...], Seen]] = {}
        self.meetings = self._meet(monomials)

    @property
    def fits(self) -> bool:
        """Whether the numbers can be solved for together."""
        return self.meetings is not None and self.meetings.fits

    def seen(self, accesses: tuple[Any, ...]) -> Seen:
        """Return which numbers accesses see; those of the monomials have been found before."""
        known = self._known.get(tuple(map(id, accesses)))
        return known[1] if known is not None else self._read(accesses)

    def _read(self, accesses: tuple[Any, ...]) -> Seen:
        labels = _labels(accesses)
        shape = tuple(axis.size for axis in labels)
        found = []
        for access in accesses:
            flat: Any = np.zeros((), dtype=np.int64)
            for place, axis in zip(access.places, self.layouts[access.name].axes, strict=True):
                flat = flat * axis.size + spread(_positions(place), labels)
            numbers = self.first[access.name] + np.broadcast_to(flat, shape).reshape(-1)
            found.append(numbers.astype(np.int64))
        return Seen(labels, tuple(found))

    def _meet(self, monomials: Iterable[Monomial]) -> Meetings | None:
        """Find the numbers that meet: those of a monomial, and those of a vector."""
        seen = [tuple(a for a in m.accesses if a.name in self.layouts) for m in monomials]
        total = sum(math.prod(axis.size for axis in _labels(mine)) for mine in seen)
        if total > _MOST_PAIRS:
            return None
        pairs = [
            self._pairs_of_vectors(layout, self.first[name])
            for name, layout in self.layouts.items()
        ]
        looked = [(accesses, self._read(accesses)) for accesses in seen]
        pairs += [(here.numbers[0], here.numbers[1]) for a, here in looked if len(a) == 2]
        meetings = Meetings(self._order(), pairs, _MOST_ENTRIES)
        if meetings.fits:
            for accesses, here in looked:
                self._known[tuple(map(id, accesses))] = accesses, _placed(here, meetings)
        return meetings

    @staticmethod
    def _pairs_of_vectors(layout: Layout, first: int) -> tuple[IntArray, IntArray]:
        """Return all pairs of numbers of each vector."""
        width = math.prod(axis.size for axis in layout.events)
        numbers = first + np.arange(math.prod(layout.shape)).reshape(-1, width)
        return np.repeat(numbers, width, axis=1).reshape(-1), np.tile(numbers, width).reshape(-1)

    def _order(self) -> IntArray:
        """Return the order of elimination: along the longest axis, then what does not lie on it.

        Axes of one length are gone along together, for chains that meet are read step by step.
        """
        rest, found = list(self.layouts), []
        while rest:
            longest = max((a.size for n in rest for a in self.layouts[n].axes), default=1)
            here = [n for n in rest if longest in self.layouts[n].shape] or rest
            places = [self._places(n, longest) for n in here]
            numbers = [self.first[n] + np.arange(len(p)) for n, p in zip(here, places, strict=True)]
            found.append(np.concatenate(numbers)[np.argsort(np.concatenate(places), kind="stable")])
            rest = [n for n in rest if n not in here]
        return np.concatenate(found)

    def _places(self, name: str, length: int) -> IntArray:
        """Return where each number stands along an axis of some length."""
        shape = self.layouts[name].shape
        if length not in shape:
            return np.zeros(math.prod(shape), dtype=np.int64)
        return np.indices(shape)[shape.index(length)].reshape(-1)


def _placed(here: Seen, meetings: Meetings) -> Seen:
    """Find once where numbers meet."""
    if len(here.numbers) < 2:
        return here
    i, j = here.numbers
    return here._replace(at=meetings.at(i, j), entries=meetings.on_factor(i, j))


def _labels(accesses: Iterable[Any]) -> tuple[Axis, ...]:
    """Return the labels of accesses in the order of their places."""
    places = [place for access in accesses for place in access.places]
    return tuple(dict.fromkeys(axis for place in places for axis in _positions_axes(place)))


def _positions_axes(place: Any) -> tuple[Axis, ...]:
    return place.positions.axes if isinstance(place, Lookup) else (place,)


def _positions(place: Any) -> Table:
    if isinstance(place, Lookup):
        return Table(place.positions.values.astype(np.int64), place.positions.axes)
    return Table(np.arange(place.size), (place,))
