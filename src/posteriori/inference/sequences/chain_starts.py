r"""Where the ascent of a hidden chain begins: at clusters of rows, at random symbols, at parts of sequences.

Clusters know nothing of time, but their members' order does: transitions begin at how often one cluster follows another. Every other start
clusters what rows and their squares are on average around each row: states that last and differ in their
spread, or emit mixtures, are found there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.ascent.expectation_maximization import EMResult, maximize_by_em
from posteriori.inference.clusters.rough_clusters import nearest_of, rough_centers
from posteriori.inference.latent.ascent import look_at
from posteriori.inference.latent.contract import Assignments, Components, Sums
from posteriori.inference.latent.units import standardized
from posteriori.inference.sequences.chain_rows import ChainRows
from posteriori.numerics.types import Array, IntArray

__all__ = ["ChainStarts", "KnownChain", "ascend_from", "start_from_shares", "starts_of_chain"]

#: Of more rows than this a sample serves to find clusters.
_SAMPLE = 20_000

#: Steps of k-means from the seeds.
_ROUNDS = 10

#: Rows before and after a row that are averaged around it.
_REACH = 4

#: What an unlabelled row counts for each state at the start, where others have labels.
_HINT = 0.1


class ChainStarts(NamedTuple):
    """What tells rows apart before anything is learned of them.

    Attributes
    ----------
    n_states : int
    ordered : bool
        Whether states follow one another, so that sequences are cut into parts.
    numbers : (T, D) or None
        Columns in which rows are near or far; NaN is missing.
    symbols : (T,) or None
        What else tells rows apart.
    rng : Generator
    """

    n_states: int
    ordered: bool
    numbers: Array | None
    symbols: IntArray | None
    rng: np.random.Generator


class KnownChain(NamedTuple):
    """A chain to begin from.

    Attributes
    ----------
    laws : tuple of arrays
        ln π (K,), ln A (K, K), and where runs have laws of their own ln p(d) (K, L).
    scores : (T, K)
        ln p(x_t | z_t = k) of all rows.
    """

    laws: tuple[Array, ...]
    scores: Array


def ascend_from(
    paths: Any, emission: Components, known: KnownChain, *, likelihood: bool, **options: Any
) -> EMResult:
    """Climb from a known chain, the first step being what rows say under it.

    Parameters
    ----------
    paths : Assignments with ``expect_under``
    emission : Components
    known : KnownChain
    likelihood : bool
        Whether the objective is the likelihood, which the known chain has as well.
    **options
        Of :func:`maximize_by_em`.
    """

    def begin() -> tuple[Sums, float]:
        found = paths.expect_under(*known.laws, known.scores.copy())
        return (*found.sums, *emission.expected_sums(found.shares)), found.log_likelihood

    def expect(at: Any) -> tuple[Sums, float]:
        if isinstance(at, KnownChain):
            return begin()
        found = look_at(paths, emission, at)
        return found.sums, found.objective

    if not emission.numeric:
        options = {**options, "accelerated": False}
    start = known if likelihood else begin()[0]
    ascent = maximize_by_em(expect, lambda sums: sums, start, **options)
    at_start = isinstance(ascent.parameters, KnownChain)  # stopped before a step
    return ascent._replace(parameters=begin()[0]) if at_start else ascent


def starts_of_chain(
    paths: Assignments, emission: Components, rows: ChainRows, search: ChainStarts
) -> Iterator[Sums]:
    """Yield sums to begin from, as many as are asked for."""
    return (start_from_shares(paths, emission, rows, shares) for shares in _starts(rows, search))


def start_from_shares(
    paths: Assignments, emission: Components, rows: ChainRows, shares: Array
) -> Sums:
    """Return the sums of states that rows belong to by shares (T, K), and of their likeliest paths."""
    states = shares.argmax(axis=1)
    frequency = rows.frequency
    counted = shares if frequency is None else shares * frequency[:, None]
    return (*paths.start(states), *emission.expected_sums(counted))


def _starts(rows: ChainRows, search: ChainStarts) -> Iterator[Array]:
    """Yield shares (T, K) of rows in states."""
    for i in count():
        if search.ordered:
            shares = _parts_of_sequences(rows, search)
        elif search.numbers is not None:
            z = standardized(search.numbers)
            around = z if i % 2 == 0 else _around(np.concatenate([z, z**2], axis=1), rows)
            shares = _clusters(around, rows.frequency, search)
        else:
            shares = _random_symbols(rows.total, search)
        if rows.labels is not None:
            known = rows.labels >= 0
            shares = _HINT * shares
            shares[known] = np.eye(search.n_states)[rows.labels[known]]
        yield shares


def _around(z: Array, rows: ChainRows) -> Array:
    """Return averages over the rows around each row, within its sequence, in units of their spread."""
    sums = np.concatenate([np.zeros((1, z.shape[1])), z.cumsum(axis=0)])
    first = np.repeat(rows.first, rows.lengths)
    last = first + np.repeat(rows.lengths, rows.lengths)
    place = np.arange(len(z))
    begin, end = np.maximum(place - _REACH, first), np.minimum(place + _REACH + 1, last)
    return standardized((sums[end] - sums[begin]) / (end - begin)[:, None])


def _clusters(z: Array, frequency: Array | None, search: ChainStarts) -> Array:
    """Return the clusters of k-means, of many rows by those of a sample."""
    some, times, rng = z, frequency, search.rng
    if len(z) > _SAMPLE:
        index = rng.choice(len(z), _SAMPLE, replace=False)
        some, times = z[index], None if frequency is None else frequency[index]
    centers = rough_centers(some, search.n_states, times, rng, steps=_ROUNDS)
    return np.eye(search.n_states)[nearest_of(z, centers)]


def _random_symbols(total: int, search: ChainStarts) -> Array:
    """Return shares that are equal for equal symbols, and random."""
    codes = np.zeros(total, dtype=np.intp) if search.symbols is None else search.symbols
    table = search.rng.dirichlet(np.ones(search.n_states), size=int(codes.max()) + 1)
    return table[codes]


def _parts_of_sequences(rows: ChainRows, search: ChainStarts) -> Array:
    """Return each sequence cut into K parts, of equal lengths at first and of random ones later."""
    k, place = search.n_states, np.arange(rows.total) - np.repeat(rows.first, rows.lengths)
    share = (place + 0.5) / np.repeat(rows.lengths, rows.lengths)
    cuts = np.cumsum(search.rng.dirichlet(np.full(k, 10.0 * k)))[:-1]
    return np.eye(k)[np.searchsorted(cuts, share)]
