"""Many trees from bootstrap samples, side by side, and what each says of rows that it has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from posteriori.ensemble.bootstrap import draw_rows
from posteriori.inference.trees.flat_trees import Trees, join_trees
from posteriori.inference.trees.grower.nodes import Rules
from posteriori.inference.trees.grower.profiles import Sums
from posteriori.inference.trees.growing import (
    BinnedRows,
    GrownTree,
    grow_tree,
    two_class_sums,
)
from posteriori.inference.trees.scores import GINI_OF_TWO
from posteriori.numerics.progress import Progress
from posteriori.numerics.threads import run_beside, thread_count
from posteriori.numerics.types import Array, IntArray

__all__ = ["Forest", "ForestRows", "draw_counts", "grow_forest", "predict_forest"]

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


class Forest(NamedTuple):
    """Trees, what their leaves say, and what they say of rows that they have not seen.

    Attributes
    ----------
    trees : Trees
    places : (M,)
        Which of the values a leaf has.
    values : (U, V)
        Of leaves, divided by the number of trees; leaves of one tree that say the same share them.
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
    leaf_values: Callable[[Array], Array],
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
        From sums (M, S) to values (M, V).
    progress : Progress
    """
    width = leaf_values(np.ones((1, rows.n_sums))).shape[1]
    unseen, n_unseen = np.zeros((len(rows.x), width)), np.zeros(len(rows.x), dtype=np.int64)
    gain = np.zeros(rows.x.shape[1])
    grown: list[Trees] = []
    shared: list[_Shared] = []
    try:
        for tree, absent, leaves in _trees_of(rows, rules, seeds):
            said = _share_values(tree, leaf_values)
            unseen[absent] += said.of_leaves(leaves)
            n_unseen[absent] += 1
            inner = ~tree.trees.is_leaf
            gain += np.bincount(tree.trees.column[inner], tree.gain[inner], minlength=len(gain))
            grown.append(tree.trees)
            shared.append(said)
            progress.say(f"tree {len(grown)} of {len(seeds)}")
    except KeyboardInterrupt:
        if not grown:
            raise
        warnings.warn(f"stopped with {len(grown)} of {len(seeds)} trees", stacklevel=4)
    finally:
        progress.close()
    trees, together = join_trees(grown), _joined(shared)
    values = together.values / len(grown)
    return Forest(trees, together.places, values, gain, unseen, n_unseen)


class _Shared(NamedTuple):
    """What leaves say: which of the values (U, V) each node (M,) has, 0 if it is no leaf."""

    places: Any
    values: Array

    def of_leaves(self, leaves: IntArray) -> Array:
        return self.values[self.places[leaves]]


def _share_values(tree: GrownTree, leaf_values: Callable[[Array], Array]) -> _Shared:
    """Return the values of a tree's leaves, each once: most leaves of classes have one class only."""
    leaf = tree.trees.is_leaf
    places = np.zeros(len(leaf), dtype=np.int32)
    values, found = np.unique(leaf_values(tree.sums[leaf]), axis=0, return_inverse=True)
    places[leaf] = found.ravel()  # a table of one column in NumPy 2.0
    return _Shared(places, values)


def _joined(parts: list[_Shared]) -> _Shared:
    first = np.cumsum([0, *(len(part.values) for part in parts)])
    places = [part.places + np.int32(at) for part, at in zip(parts, first, strict=False)]
    return _Shared(np.concatenate(places), np.concatenate([part.values for part in parts]))


def _trees_of(
    rows: ForestRows, rules: Rules, seeds: IntArray
) -> Iterator[tuple[GrownTree, IntArray, IntArray]]:
    """Yield trees in the order of their seeds, the rows that each was not grown from, and their leaves."""
    weight = rows.sums.weight
    threads = thread_count()

    def one(seed: int) -> tuple[GrownTree, IntArray, IntArray]:
        counts = draw_counts(weight, seed)
        drawn = (
            two_class_sums(rows.sums.codes, counts)
            if rules.criterion == GINI_OF_TWO
            else rows.sums._replace(weight=counts.astype(np.float64))
        )
        some = np.flatnonzero(counts).astype(np.int32)
        tree = grow_tree(rows.binned, drawn, rules, some, n_sums=rows.n_sums, seed=seed)
        absent = np.flatnonzero(counts == 0)
        return tree._replace(rows=some[:0]), absent, tree.trees.find_leaves(rows.x[absent])[:, 0]

    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        for first in range(0, len(seeds), 2 * threads):
            jobs = [(int(seed),) for seed in seeds[first : first + 2 * threads]]
            yield from run_beside(one, jobs, pool)


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
