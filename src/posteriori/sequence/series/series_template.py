"""Chains of one form for many values of what is unknown of its parts: only what changes is made anew."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.series.scalar_chain import Entries, ScalarChain
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_form import SeriesForm, join_parts
from posteriori.sequence.series.series_parts import SeriesPart

__all__ = ["ChainTemplate"]

#: Added to what is expected of shapes, so that no entry of the chain is 0 by chance.
_ODD = 0.1234


class _Place(NamedTuple):
    """Where the entries of a part lie among those of all parts."""

    start: int
    size: int
    transition: slice
    noises: dict[str, slice]
    begun: slice


class ChainTemplate:
    """The chain of a form with places for what its shapes change.

    Parameters
    ----------
    form : SeriesForm
    steps : (T,) or None
    inputs : (T, K)
    diffuse : bool
    """

    def __init__(self, form: SeriesForm, steps: Array | None, inputs: Array, diffuse: bool) -> None:
        usual = np.array([shape.mean + _ODD for shape in form.shapes])
        parts = form.parts(usual, steps, inputs)
        names = [name for name in form.scale_names if name != "noise"]
        self._chain = join_parts(parts, names, diffuse)
        self._moving = form._replace(seasons=(), n_inputs=0)
        self._steps, self._nothing = steps, inputs[:, :0]
        places = _places_of(parts)
        count = len(self._moving.parts(usual, steps, self._nothing))
        after = 1 + len(form.seasons)
        self._places = [places[0], *places[after : after + count - 1]]
        self._first = 0 if form.trend == "damped" else 1  # other trends have no shape

    def at(self, shape: Array) -> ScalarChain:
        """Return the chain for real numbers ``shape``."""
        chain = self._chain
        transition, noise, start = (
            np.array(entries.weights) for entries in (chain.transition, chain.noise, chain.start)
        )
        parts = self._moving.parts(shape, self._steps, self._nothing)
        for part, place in list(zip(parts, self._places, strict=True))[self._first :]:
            _put(chain.transition, transition, place.transition, place.start, part.transition)
            for name, here in place.noises.items():
                _put(chain.noise, noise, here, place.start, part.noises[name])
            if part.proper:
                _put(chain.start, start, place.begun, place.start, part.initial_cov[None])
        return chain._replace(
            transition=chain.transition._replace(weights=transition),
            noise=chain.noise._replace(weights=noise),
            start=chain.start._replace(weights=start),
        )


def _places_of(parts: list[SeriesPart]) -> list[_Place]:
    """Return where each part lies in the chain that joins them."""
    places, first, transitions, noises, begun = [], 0, 0, 0, 0
    for part in parts:
        size = len(part.initial_cov)
        transition = slice(transitions, transitions + _count(part.transition))
        found = {}
        for name, cov in part.noises.items():
            found[name] = slice(noises, noises + _count(cov))
            noises = found[name].stop
        added = _count(part.initial_cov[None]) if part.proper else 0
        places.append(_Place(first, size, transition, found, slice(begun, begun + added)))
        first, transitions, begun = first + size, transition.stop, begun + added
    return places


def _count(matrices: Array) -> int:
    return int((matrices != 0.0).any(axis=0).sum())


def _put(entries: Entries, weights: Array, here: slice, start: int, matrices: Array) -> None:
    """Write the entries of a part into the weights of all."""
    rows, columns = entries.rows[here] - start, entries.columns[here] - start
    weights[:, here] = matrices[:, rows, columns]
