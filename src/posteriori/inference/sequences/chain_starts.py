r"""Where the ascent of a hidden chain begins: at clusters of rows, at random symbols, at parts of sequences.

Each of several starts takes some steps, and the highest goes on. Clusters know nothing of time, but
their members' order does: transitions begin at how often one cluster follows another. Every other start
clusters what rows and their squares are on average around each row: states that last and differ in their
spread, or emit mixtures, are found there.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.ascent.expectation_maximization import EMResult
from posteriori.inference.clusters.rough_clusters import nearest_of, rough_centers
from posteriori.inference.sequences.chain_ascent import ascend_chain
from posteriori.inference.sequences.chain_paths import PathModel
from posteriori.inference.sequences.chain_rows import ChainRows
from posteriori.inference.sequences.emissions.emission_contract import EmissionModel, Sums
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["ChainSearch", "climb_chain", "start_from_shares"]

#: Steps by which a start shows where it leads.
_TRIAL = 20

#: The same of members that are fitted, each of them step by step.
_TRIAL_FITS = 4

#: Of more rows than this a sample serves to find clusters.
_SAMPLE = 20_000

#: Steps of k-means from the seeds.
_ROUNDS = 10

#: Rows before and after a row that are averaged around it.
_REACH = 4

#: What an unlabelled row counts for each state at the start, where others have labels.
_HINT = 0.1


class ChainSearch(NamedTuple):
    """How a chain is looked for.

    Attributes
    ----------
    n_states, n_init : int
    ordered : bool
        Whether states follow one another, so that sequences are cut into parts.
    numbers : (T, D) or None
        Columns in which rows are near or far; NaN is missing.
    symbols : (T,) or None
        What else tells rows apart.
    rng : Generator
    max_iter : int
    options : mapping
        Further ones of :func:`maximize_by_em`.
    """

    n_states: int
    n_init: int
    ordered: bool
    numbers: Array | None
    symbols: IntArray | None
    rng: np.random.Generator
    max_iter: int
    options: Mapping[str, Any]


def climb_chain(
    paths: PathModel, emission: EmissionModel, rows: ChainRows, search: ChainSearch
) -> EMResult:
    """Return the ascent from the best of several starts.

    Sequences all of whose states are known have one start, at which the ascent ends.
    """
    n_init = 1 if rows.all_labelled else search.n_init
    shares = _starts(rows, search)
    starts = (start_from_shares(paths, emission, rows, next(shares)) for _ in range(n_init))
    if n_init == 1:
        return _last(paths, emission, next(starts), search)
    best: EMResult | None = None
    steps = min(_TRIAL if emission.numeric else _TRIAL_FITS, search.max_iter)
    for start in starts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # some steps are enough
            found = ascend_chain(paths, emission, start, max_iter=steps)
        if best is None or found.trace[-1] > best.trace[-1]:
            best = found
        if found.message.startswith("interrupted"):
            return best
    assert best is not None  # there is at least one start
    if search.max_iter <= steps:
        return best
    rest = search._replace(max_iter=search.max_iter - best.n_iter)
    found = _last(paths, emission, best.parameters, rest)
    trace = (*best.trace[:-1], *found.trace)
    return found._replace(trace=trace, n_iter=best.n_iter + found.n_iter)


def start_from_shares(
    paths: PathModel, emission: EmissionModel, rows: ChainRows, shares: Array
) -> Sums:
    """Return the sums of states that rows belong to by shares (T, K), and of their likeliest paths."""
    states = shares.argmax(axis=1)
    frequency = rows.frequency
    counted = shares if frequency is None else shares * frequency[:, None]
    return (*paths.start(states), *emission.expected_sums(counted))


def _last(paths: PathModel, emission: EmissionModel, start: Sums, search: ChainSearch) -> EMResult:
    return ascend_chain(paths, emission, start, max_iter=search.max_iter, **search.options)


def _starts(rows: ChainRows, search: ChainSearch) -> Iterator[Array]:
    """Yield shares (T, K) of rows in states."""
    for i in count():
        if search.ordered:
            shares = _parts_of_sequences(rows, search)
        elif search.numbers is not None:
            z = _standardized(search.numbers)
            around = z if i % 2 == 0 else _around(np.concatenate([z, z**2], axis=1), rows)
            shares = _clusters(around, rows.frequency, search)
        else:
            shares = _random_symbols(rows.total, search)
        if rows.labels is not None:
            known = rows.labels >= 0
            shares = _HINT * shares
            shares[known] = np.eye(search.n_states)[rows.labels[known]]
        yield shares


def _standardized(x: Array) -> Array:
    """Return columns in units of their spread, gaps at the mean."""
    seen = x == x
    mean = np.where(seen, x, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    z = np.where(seen, x - mean, 0.0)
    spread = z.std(axis=0)
    return z / np.where(spread > 0.0, spread, 1.0)


def _around(z: Array, rows: ChainRows) -> Array:
    """Return averages over the rows around each row, within its sequence, in units of their spread."""
    sums = np.concatenate([np.zeros((1, z.shape[1])), z.cumsum(axis=0)])
    first = np.repeat(rows.first, rows.lengths)
    last = first + np.repeat(rows.lengths, rows.lengths)
    place = np.arange(len(z))
    begin, end = np.maximum(place - _REACH, first), np.minimum(place + _REACH + 1, last)
    return _standardized((sums[end] - sums[begin]) / (end - begin)[:, None])


def _clusters(z: Array, frequency: Array | None, search: ChainSearch) -> Array:
    """Return the clusters of k-means, of many rows by those of a sample."""
    some, times, rng = z, frequency, search.rng
    if len(z) > _SAMPLE:
        index = rng.choice(len(z), _SAMPLE, replace=False)
        some, times = z[index], None if frequency is None else frequency[index]
    centers = rough_centers(some, search.n_states, times, rng, steps=_ROUNDS)
    return np.eye(search.n_states)[nearest_of(z, centers)]


def _random_symbols(total: int, search: ChainSearch) -> Array:
    """Return shares that are equal for equal symbols, and random."""
    codes = np.zeros(total, dtype=np.intp) if search.symbols is None else search.symbols
    table = search.rng.dirichlet(np.ones(search.n_states), size=int(codes.max()) + 1)
    return table[codes]


def _parts_of_sequences(rows: ChainRows, search: ChainSearch) -> Array:
    """Return each sequence cut into K parts, of equal lengths at first and of random ones later."""
    k, place = search.n_states, np.arange(rows.total) - np.repeat(rows.first, rows.lengths)
    share = (place + 0.5) / np.repeat(rows.lengths, rows.lengths)
    cuts = np.cumsum(search.rng.dirichlet(np.full(k, 10.0 * k)))[:-1]
    return np.eye(k)[np.searchsorted(cuts, share)]
