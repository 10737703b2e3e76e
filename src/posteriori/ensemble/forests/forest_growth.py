"""Many trees from bootstrap samples, side by side, and what each says of rows that it has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from posteriori.ensemble.bootstrap import draw_rows
from posteriori.inference.trees.flat_trees import Trees, join_trees, leaf_of
from posteriori.inference.trees.grower.many_trees import TreeGrower
from posteriori.inference.trees.grower.nodes import Rules
from posteriori.inference.trees.grower.profiles import Sums
from posteriori.inference.trees.growing import BinnedRows, grower_of
from posteriori.numerics.compilation import as_kernel_input, kernel
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.threads import run_beside, thread_count
from posteriori.numerics.types import Array, IntArray

__all__ = ["Forest", "ForestRows", "LeafValues", "draw_counts", "grow_forest", "predict_forest"]

#: Trees of one compiled call, at most, and rows that they may look at.
_MOST_AT_ONCE, _ENTRIES = 50, 250_000

#: Rows from which on predictions are divided among threads.
_MANY_ROWS = 4096


class ForestRows(NamedTuple):
    """Rows that a forest grows from.

    Attributes
    ----------
    x : (N, D)
    binned : BinnedRows
    sums : Sums
        Its weights are those of rows; samples multiply them.
    n_sums : int
    """

    x: Array
    binned: BinnedRows
    sums: Sums
    n_sums: int


class LeafValues(NamedTuple):
    """What leaves say.

    Attributes
    ----------
    values : (U, V)
    places : (L,)
        Which of these each leaf has.
    """

    values: Array
    places: Any

    @classmethod
    def each(cls, values: Array) -> LeafValues:
        """Return the values (L, V) of leaves that hardly ever say the same."""
        return cls(values, np.arange(len(values), dtype=np.int32))

    @classmethod
    def shared(cls, values: Array) -> LeafValues:
        """Return the values (L, V) of leaves, each once: most leaves of classes have one class only."""
        once, places = np.unique(values, axis=0, return_inverse=True)
        return cls(once, places.ravel().astype(np.int32))  # a table of one column in NumPy 2.0


class Forest(NamedTuple):
    """Trees, what their leaves say, and what they say of rows that they have not seen.

    Attributes
    ----------
    trees : Trees
    places : (M,)
        Which of the values a leaf has.
    values : (U, V)
        Of leaves, divided by the number of trees; leaves of classes that say the same share them.
    gain : (D,)
        What splits of each column gained.
    unseen : (N, V)
        Sum of the values of trees that a row was not drawn for.
    n_unseen : (N,)
        Number of these trees.
    """

    trees: Trees
    places: IntArray
    values: Array
    gain: Array
    unseen: Array
    n_unseen: IntArray


def draw_counts(frequency: Array, seed: int) -> IntArray:
    """Return how often each row is in the bootstrap sample of a seed, (N,)."""
    size = max(round(float(frequency.sum())), 1)
    return draw_rows(frequency, size, True, np.random.default_rng(seed))


def grow_forest(
    rows: ForestRows,
    rules: Rules,
    seeds: IntArray,
    leaf_values: Callable[[Array], LeafValues],
    progress: Progress,
) -> Forest:
    """Grow a tree for each seed; Ctrl-C keeps those that are grown.

    Parameters
    ----------
    rows : ForestRows
    rules : Rules
    seeds : (T,)
        From 1 to 2³¹ − 2.
    leaf_values : callable
        From the sums of leaves (L, S).
    progress : Progress
    """
    width = leaf_values(np.ones((1, rows.n_sums))).values.shape[1]
    unseen, n_unseen = np.zeros((len(rows.x), width)), np.zeros(len(rows.x), dtype=np.int64)
    grown: list[_Part] = []
    count, threads = 0, thread_count()
    try:
        with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
            for part in _parts_of(rows, rules, seeds, leaf_values, pool):
                _tell_unseen(part, rows.x, unseen, pool)
                n_unseen += (part.counts == 0.0).sum(axis=0)
                grown.append(part._replace(counts=part.counts[:0].copy()))
                count += len(part.trees.roots)
                progress.say(f"tree {count} of {len(seeds)}")
    except KeyboardInterrupt:
        if not grown:
            raise
        warnings.warn(f"stopped with {count} of {len(seeds)} trees", stacklevel=4)
    finally:
        progress.close()
    trees, said = join_trees([part.trees for part in grown]), _joined([p.said for p in grown])
    gain = np.sum([part.gain for part in grown], axis=0)
    return Forest(trees, said.places, said.values / count, gain, unseen, n_unseen)


class _Part(NamedTuple):
    """Some of the trees, what their leaves say, what columns gained, and how often each has seen a row."""

    trees: Trees
    said: LeafValues
    gain: Array
    counts: Array


def _joined(parts: list[LeafValues]) -> LeafValues:
    first = np.cumsum([0, *(len(part.values) for part in parts)])
    places = [part.places + np.int32(at) for part, at in zip(parts, first, strict=False)]
    return LeafValues(np.concatenate([part.values for part in parts]), np.concatenate(places))


def _parts_of(
    rows: ForestRows,
    rules: Rules,
    seeds: IntArray,
    leaf_values: Callable[[Array], LeafValues],
    pool: ThreadPoolExecutor | None,
) -> Iterator[_Part]:
    """Yield trees in the order of their seeds, a few at a time: a compiled call lasts a moment."""
    few, ahead = min(max(_ENTRIES // len(rows.x), 1), _MOST_AT_ONCE), 2 * thread_count()
    parts = [(seeds[first : first + few],) for first in range(0, len(seeds), few)]
    spare: list[TreeGrower] = []

    def grow(some: IntArray) -> _Part:
        grower = spare.pop() if spare else _grower_of(rows, rules)
        part = _grow_part(rows, grower, some, leaf_values)
        spare.append(grower)
        return part

    for first in range(0, len(parts), ahead):
        yield from run_beside(grow, parts[first : first + ahead], pool)


def _grower_of(rows: ForestRows, rules: Rules) -> TreeGrower:
    weight = max(round(float(rows.sums.weight.sum())), 1)
    return grower_of(rows.binned, rows.sums, rules, n_sums=rows.n_sums, weight=weight)


def _grow_part(
    rows: ForestRows,
    grower: TreeGrower,
    seeds: IntArray,
    leaf_values: Callable[[Array], LeafValues],
) -> _Part:
    counts = np.empty((len(seeds), len(rows.x)))
    for seed, to in zip(seeds, counts, strict=True):
        to[:] = draw_counts(rows.sums.weight, int(seed))
    trees, sums, gain = grower.grow(counts, seeds)
    said, leaf = leaf_values(sums[trees.is_leaf]), trees.is_leaf
    places = np.zeros(len(leaf), dtype=np.int32)
    places[leaf] = said.places
    return _Part(trees, LeafValues(said.values, places), gain, counts)


def _tell_unseen(part: _Part, x: Array, unseen: Array, pool: ThreadPoolExecutor | None) -> None:
    """Add to ``unseen`` (N, V) what trees say of the rows that they were not grown from."""
    said = part.said.places, as_kernel_input(part.said.values)
    given = part.trees.arrays, *said, as_kernel_input(x), part.counts, unseen
    ends = np.linspace(0, len(x), (1 if pool is None else thread_count()) + 1).astype(int).tolist()
    run_beside(_add_unseen, [(*given, *pair) for pair in pairwise(ends)], pool)


@kernel(allocates=False)
def _add_unseen(
    trees: Any,
    places: Any,
    values: Any,
    x: Any,
    counts: Any,
    unseen: Any,
    first: int,
    end: int,
) -> None:
    for t in range(len(counts)):
        for n in range(first, end):
            if counts[t, n] == 0.0:
                place = places[leaf_of(trees, t, x, n)]
                for v in range(unseen.shape[1]):
                    unseen[n, v] += values[place, v]


def predict_forest(trees: Trees, places: IntArray, values: Array, x: Array) -> Array:
    """Return the sum of the values of each row's leaves, (N, V)."""
    total, threads = np.zeros((len(x), values.shape[1])), thread_count()
    if threads == 1 or len(x) < _MANY_ROWS:
        trees.add_shared_values(places, values, x, total)
        return total
    parts = np.array_split(np.arange(len(x)), threads)
    jobs = [(places, values, x[p[0] : p[-1] + 1], total[p[0] : p[-1] + 1]) for p in parts]
    with ThreadPoolExecutor(threads) as pool:
        run_beside(trees.add_shared_values, jobs, pool)
    return total
