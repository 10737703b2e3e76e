r"""Smaller trees from large ones: cost-complexity pruning, and the removal of random questions."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.weakest_links import cut_off, find_weakest_links, node_risks
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, IntArray, Seed

__all__ = [
    "CostComplexityPath",
    "choose_alpha",
    "cost_complexity_path",
    "cut_tree",
    "prune",
    "remove_random_nodes",
    "weakest_links",
]

_FOLDS = 5


class CostComplexityPath(NamedTuple):
    """The best subtrees for all prices of a leaf.

    Attributes
    ----------
    alphas : (A,)
        Prices, rising from 0, at which the best subtree changes.
    n_leaves : (A,)
        Leaves of the smallest best subtree from each price on.
    risks : (A,)
        Its Σ N_m Q_m.
    """

    alphas: Array
    n_leaves: IntArray
    risks: Array


def weakest_links(model: Any) -> Array:
    """Return the α at which each inner node of a tree becomes a leaf, (M,); −1 for leaves."""
    risks = node_risks(model._criterion, (0.0,), model.sums_)
    return np.where(model.trees_.is_leaf, -1.0, find_weakest_links(model.trees_, risks))


def cut_tree(model: Any, becomes_leaf: Array) -> None:
    """Make some inner nodes of a fitted tree leaves."""
    model.trees_, kept = cut_off(model.trees_, becomes_leaf)
    model.sums_ = model.sums_[kept]


def cost_complexity_path(model: Any) -> CostComplexityPath:
    r"""Return the sequence of subtrees that minimise :math:`\sum_m N_m Q_m + \alpha\,|T|`.

    Parameters
    ----------
    model : fitted DecisionTreeClassifier or DecisionTreeRegressor

    Examples
    --------
    >>> from posteriori.tree import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 5.0, 6.0])
    >>> path = cost_complexity_path(model)
    >>> path.alphas, path.n_leaves
    (array([ 0. ,  0.5, 25. ]), array([4, 2, 1]))
    """
    check_is_fitted(model)
    links = weakest_links(model)
    unit = getattr(model, "_unit", None)
    size = 1.0 if unit is None else unit.size**2
    alphas = np.unique(np.append(links[links >= 0.0], 0.0))
    risks = node_risks(model._criterion, (0.0,), model.sums_)
    trees = model.trees_
    gain = np.where(
        links >= 0.0, risks - risks[trees.left] - risks[trees.right], 0.0
    )  # of each split
    gone = links[None, :] <= alphas[:, None]
    split = ~gone & (links >= 0.0)
    leaves = 1 + split.sum(axis=1)
    return CostComplexityPath(alphas * size, leaves, (risks[0] - split @ gain) * size)


def prune(model: Any, alpha: float) -> Any:
    """Return a copy of a fitted tree, cut down to the smallest best subtree for the price of a leaf.

    Parameters
    ----------
    model : fitted DecisionTreeClassifier or DecisionTreeRegressor
    alpha : float
        α ≥ 0, in units of Σ N_m Q_m.
    """
    check_is_fitted(model)
    if not (np.isfinite(alpha) and alpha >= 0.0):
        raise ValueError(f"alpha must be a number >= 0, got {alpha!r}")
    smaller, unit = copy(model), getattr(model, "_unit", None)
    price = alpha if unit is None else alpha / unit.size**2
    cut_tree(smaller, weakest_links(model) <= price)
    return smaller


def choose_alpha(model: Any, rows: Any, rng: np.random.Generator) -> float:
    """Return the price of a leaf with the highest log density of rows left out, in the model's unit.

    Prices that are tried lie between those at which the whole tree changes, at their geometric mean; a
    tree of a share of the rows is cut at the same share of the price.
    """
    links = np.unique(np.append(weakest_links(model), 0.0))
    links = links[links >= 0.0]
    tried = np.append(np.sqrt(links[:-1] * links[1:]), links[-1])
    total, size = np.zeros(len(tried)), len(rows.x)
    if size < 2 * _FOLDS or len(tried) < 2:
        return float(tried[-1] if size < 2 * _FOLDS else 0.0)
    folds = KFold(_FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    for train, left_out in folds.split(rows.x):
        part = copy(model)
        part.pruning, part.honest = None, False
        part._learn_tree(rows.some(train))
        total += _held_out(part, rows.some(left_out), tried * len(train) / size)
    return float(tried[int(np.argmax(total))])


def _held_out(part: Any, rows: Any, prices: Array) -> Array:
    """Return the log density of rows under a tree cut at each price, (A,)."""
    links, trees = weakest_links(part), part.trees_
    node = np.zeros(len(rows.x), dtype=np.int64)
    leaves = trees.find_leaves(rows.x)[:, 0]
    found = np.empty(len(prices))
    for a in range(len(prices) - 1, -1, -1):  # from the smallest tree on
        node = _ancestor(trees, links > prices[a], leaves)
        found[a] = part._log_densities(rows, node).sum()
    return found


def _ancestor(trees: Trees, inner: Array, leaves: IntArray) -> IntArray:
    """Return the node at which rows of some leaves stop, where some nodes are leaves."""
    stop = np.arange(len(inner))
    for node in np.flatnonzero(~trees.is_leaf):  # parents first
        if not inner[node] or stop[node] != node:
            stop[[trees.left[node], trees.right[node]]] = stop[node]
    return stop[leaves]


def remove_random_nodes(model: Any, size: int = 1, rng: Seed = None) -> Any:
    """Return a copy of a fitted tree in which random questions are always answered with yes.

    What such a node led to with no is gone; its rows are judged as those of yes.

    Parameters
    ----------
    model : fitted DecisionTreeClassifier or DecisionTreeRegressor
    size : int
        How many; fewer where the tree has fewer left.
    rng : int, Generator or None
    """
    check_is_fitted(model)
    smaller, generator = copy(model), as_generator(rng)
    for _ in range(int(size)):
        inner = np.flatnonzero(~smaller.trees_.is_leaf)
        if not len(inner):
            break
        smaller.trees_, kept = _always_yes(smaller.trees_, int(generator.choice(inner)))
        smaller.sums_ = smaller.sums_[kept]
    return smaller


def _always_yes(trees: Trees, node: int) -> tuple[Trees, IntArray]:
    """Return one tree in which the left child stands in its parent's place, and the nodes left."""
    left = trees.left.copy()
    right = trees.right.copy()
    child = left[node]
    kept = np.zeros(len(left), dtype=np.bool_)
    root = child if node == 0 else 0
    for side in (left, right):
        side[side == node] = child
    kept[root] = True
    for i in range(root, len(left)):
        if kept[i] and not trees.is_leaf[i]:
            kept[[left[i], right[i]]] = True
    nodes = np.flatnonzero(kept)
    place = np.cumsum(kept) - 1
    inner = ~trees.is_leaf[nodes]
    return Trees(
        trees.column[nodes],
        trees.threshold[nodes],
        np.where(inner, place[left[nodes]], -1),
        np.where(inner, place[right[nodes]], -1),
        trees.missing_left[nodes],
        trees.subset[nodes],
        trees.levels,
        trees.n_levels,
        np.zeros(1, dtype=np.int64),
    ), nodes
