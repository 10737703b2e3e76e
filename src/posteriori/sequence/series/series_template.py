"""Chains of one form for many values of what is unknown of its parts: only what changes is made anew."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.series.scalar_chain import Entries, ScalarChain
from posteriori.inference.series.scalar_draws import ChainDraws, plan_moves
from posteriori.numerics.types import Array, IntArray
from posteriori.sequence.series.series_form import SeriesForm, join_parts
from posteriori.sequence.series.series_parts import SeriesPart

__all__ = ["ChainTemplate"]

#: Added to what is expected of shapes, so that no entry of the chain is 0 by chance.
_ODD = 0.1234


class _Block(NamedTuple):
    """Entries of a matrix of a part: where they lie among those of all parts, and in the matrix."""

    here: slice
    rows: IntArray
    columns: IntArray

    def put(self, weights: Array, matrices: Array) -> None:
        """Write them into the weights of all."""
        weights[..., self.here] = matrices[..., self.rows, self.columns]


class _Place(NamedTuple):
    """Where the entries of a part lie that its shapes change."""

    transition: _Block
    noises: dict[str, _Block]
    begun: _Block


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
        self._form, self._steps, self._shapes = form, steps, form.shapes
        usual = np.array([shape.mean + _ODD for shape in self._shapes])
        parts, others = form.parts(usual, steps, inputs), form.parts(usual + _ODD, steps, inputs)
        names = [name for name in form.scale_names if name != "noise"]
        self._chain = join_parts(parts, names, diffuse)
        places = _places_of(parts, others, self._chain)
        begun = 1 + len(form.seasons)
        shaped = slice(begun, len(parts) - bool(form.n_inputs))
        first = places[:1] if form.trend == "damped" else []  # other trends have no shape
        self._places = [*first, *places[shaped]]
        weights = self._weights_at(np.stack([usual, usual + _ODD]))
        self._moves = plan_moves(self._chain, weights[0])

    def at(self, shape: Array) -> ScalarChain:
        """Return the chain for real numbers ``shape``."""
        chain, draws = self._chain, self.at_all(shape[None])
        return chain._replace(
            transition=chain.transition._replace(weights=draws.transitions[0]),
            noise=chain.noise._replace(weights=draws.noises[0]),
            start=chain.start._replace(weights=draws.starts[0]),
        )

    def at_all(self, shapes: Array) -> ChainDraws:
        """Return the chains for S rows of real numbers."""
        return ChainDraws(self._chain, self._moves, *self._weights_at(shapes))

    def _weights_at(self, shapes: Array) -> tuple[Array, Array, Array]:
        """Return weights of transitions, noises and starts, each with an axis of S in front."""
        chain = self._chain
        transition, noise, start = (
            np.tile(entries.weights, (len(shapes), 1, 1))
            for entries in (chain.transition, chain.noise, chain.start)
        )
        parts = self._form.shaped_parts(self._shapes, shapes, self._steps)
        for part, place in zip(parts, self._places, strict=True):
            place.transition.put(transition, part.transition)
            for name, block in place.noises.items():
                block.put(noise, part.noises[name])
            if part.proper:
                place.begun.put(start, part.initial_cov[..., None, :, :])
        return transition, noise, start


def _places_of(
    parts: list[SeriesPart], others: list[SeriesPart], chain: ScalarChain
) -> list[_Place]:
    """Return where each part lies in the chain that joins them; of noises, those that others have otherwise."""
    places, first, transitions, noises, begun = [], 0, 0, 0, 0
    for part, other in zip(parts, others, strict=True):
        transition = slice(transitions, transitions + _count(part.transition))
        found = {}
        for name, cov in part.noises.items():
            here = slice(noises, noises + _count(cov))
            if not np.array_equal(cov, other.noises[name]):
                found[name] = _block(chain.noise, here, first)
            noises = here.stop
        start = slice(begun, begun + (_count(part.initial_cov[None]) if part.proper else 0))
        places.append(
            _Place(
                _block(chain.transition, transition, first),
                found,
                _block(chain.start, start, first),
            )
        )
        first, transitions, begun = first + len(part.initial_cov), transition.stop, start.stop
    return places


def _block(entries: Entries, here: slice, first: int) -> _Block:
    return _Block(here, entries.rows[here] - first, entries.columns[here] - first)


def _count(matrices: Array) -> int:
    return int((matrices != 0.0).any(axis=0).sum())
