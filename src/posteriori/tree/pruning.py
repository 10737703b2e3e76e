r"""Smaller trees from large ones: cost-complexity pruning, and the removal of random questions."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.parameters import NOT_NEGATIVE, Constraint
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

#: Of the cross-validation that chooses a price.
_FOLDS = 5

_COUNT = Constraint("be a whole number >= 0", 0.0, np.inf, whole=True)


class CostComplexityPath(NamedTuple):
    """The best subtrees for all prices of a leaf.

    Attributes
    ----------
    alphas : (A,)
        Prices, rising from 0, at which the best subtree changes.
    n_leaves : (A,)
        Leaves of the smallest best subtree from each price on.
    risks : (A,)
        Its Σ N_m Q_m; of counts less the constant 2 Σ y ln y.
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
    _require_tree(model)
    trees, links, unit = model.trees_, weakest_links(model), model._target_size
    risks = node_risks(model._criterion, (0.0,), model.sums_)
    inner = np.flatnonzero(links >= 0.0)
    inner = inner[np.argsort(links[inner])]  # in the order in which they become leaves
    gain = risks[inner] - risks[trees.left[inner]] - risks[trees.right[inner]]
    alphas = np.unique(np.append(links[inner], 0.0))
    cut = np.searchsorted(links[inner], alphas, side="right")  # how many are leaves
    lost = np.append(0.0, np.cumsum(gain))[cut]
    least = risks[trees.is_leaf].sum()
    return CostComplexityPath(
        alphas * unit * unit, 1 + len(inner) - cut, (least + lost) * unit * unit
    )


def prune(model: Any, alpha: float) -> Any:
    """Return a copy of a fitted tree, cut down to the smallest best subtree for the price of a leaf.

    Parameters
    ----------
    model : fitted DecisionTreeClassifier or DecisionTreeRegressor
    alpha : float
        α ≥ 0, in units of Σ N_m Q_m.

    Examples
    --------
    >>> from posteriori.tree import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 5.0, 6.0])
    >>> print(prune(model, 1.0).rules())
    if x0 <= 1.5:
        0.5 ± 2.6 (2 rows)
    else:
        5.5 ± 2.6 (2 rows)
    """
    _require_tree(model)
    if not NOT_NEGATIVE.allows(alpha):
        raise ValueError(f"alpha must {NOT_NEGATIVE.words}, got {alpha!r}")
    smaller, unit = copy(model), model._target_size
    cut_tree(smaller, weakest_links(model) <= alpha / unit / unit)
    return smaller


def choose_alpha(model: Any, rows: Any, rng: np.random.Generator) -> float:
    """Return the price of a leaf that cross-validation chooses, in the model's unit.

    Prices that are tried lie between those at which the whole tree changes, at their geometric mean; a
    tree of a share of the rows is cut at the same share of the price. Of those that are at most a
    standard error behind the highest log density of rows left out, the largest is chosen.
    """
    links = weakest_links(model)
    links = np.unique(np.append(links[links >= 0.0], 0.0))
    tried = np.append(np.sqrt(links[:-1] * links[1:]), links[-1])
    size = len(rows.x)
    if size < 2 * _FOLDS or len(tried) < 2:
        return float(tried[-1])
    found, weight = np.empty((_FOLDS, len(tried))), rows.sums.weight
    folds = KFold(_FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    for fold, (train, left_out) in enumerate(folds.split(rows.x)):
        part = copy(model)
        part._learn_tree(rows.some(train), rng)
        share = weight[train].sum() / weight.sum()
        found[fold] = _held_out(part, rows.some(left_out), tried * share)
    behind = found[:, [np.argmax(found.sum(axis=0))]] - found
    error = np.sqrt(_FOLDS) * behind.std(axis=0, ddof=1)
    return float(tried[behind.sum(axis=0) <= error][-1])


def _held_out(part: Any, rows: Any, prices: Array) -> Array:
    """Return the log density of rows under a tree cut at each price, (A,).

    A node is a leaf from its own α on to that of its parent, for all rows that pass through it.
    """
    trees, links = part.trees_, weakest_links(part)
    parent = np.full(len(links), -1)
    inner = np.flatnonzero(~trees.is_leaf)
    parent[trees.left[inner]] = parent[trees.right[inner]] = inner
    from_price = np.searchsorted(prices, links)
    to_price = np.append(from_price, len(prices))[parent]  # the root is one to the end
    change = np.zeros(len(prices) + 1)
    node = trees.find_leaves(rows.x)[:, 0]
    while len(node):
        density = part._log_densities(rows, node) * rows.sums.weight
        np.add.at(change, from_price[node], density)
        np.subtract.at(change, to_price[node], density)
        above = node > 0
        node, rows = parent[node[above]], rows.some(above)
    return np.cumsum(change)[:-1]


def remove_random_nodes(model: Any, size: int = 1, rng: Seed = None) -> Any:
    """Return a copy of a fitted tree in which random questions are always answered with yes.

    What such a node led to with no is gone, and with it the rows of training that were there; new
    rows are judged as those of yes.

    Parameters
    ----------
    model : fitted DecisionTreeClassifier or DecisionTreeRegressor
    size : int
        How many; fewer where the tree has fewer left.
    rng : int, Generator or None

    Examples
    --------
    >>> from posteriori.tree import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [2.0, 6.0])
    >>> remove_random_nodes(model).predict([[0.0], [1.0]])
    array([2., 2.])
    """
    _require_tree(model)
    if not _COUNT.allows(size):
        raise ValueError(f"size must {_COUNT.words}, got {size!r}")
    smaller, generator = copy(model), as_generator(rng)
    for _ in range(min(int(size), len(model.trees_.column) // 2)):
        inner = np.flatnonzero(~smaller.trees_.is_leaf)
        if not len(inner):
            break
        trees, kept = _always_yes(smaller.trees_, int(generator.choice(inner)))
        sums = smaller.sums_[kept]
        for node in np.flatnonzero(~trees.is_leaf)[::-1]:  # children come after their parents
            sums[node] = sums[trees.left[node]] + sums[trees.right[node]]
        smaller.trees_, smaller.sums_ = trees, sums
    return smaller


def _require_tree(model: Any) -> None:
    check_is_fitted(model)
    if not hasattr(model, "_criterion"):
        raise TypeError(
            "model must be a DecisionTreeClassifier, DecisionTreeRegressor or DecisionStump, got "
            f"{type(model).__name__}"
        )


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
