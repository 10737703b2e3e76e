"""Prunings against all subtrees, one by one; removal of random questions; choice by folds."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from posteriori.inference.trees.growing import class_sums, moment_sums
from posteriori.inference.trees.weakest_links import node_risks
from posteriori.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    cost_complexity_path,
    prune,
    remove_random_nodes,
)
from posteriori.tree.greedy_tree import TreeRows
from posteriori.tree.pruning import _held_out
from tests.tree.cases import CASES, answers, over, rows_of

GROWN = [
    DecisionTreeRegressor(max_leaves=8),
    DecisionTreeRegressor("poisson", max_leaves=7),
    DecisionTreeClassifier(max_leaves=8),
    DecisionTreeClassifier("entropy", max_leaves=8),
    DecisionTreeClassifier("error", max_leaves=8),
]


def small_rows(model, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40, 2))
    latent = x[:, 0] + rng.normal(size=40)
    if isinstance(model, DecisionTreeClassifier):
        return x, np.digitize(latent, [-0.5, 0.5])
    return x, rng.poisson(np.exp(latent)).astype(float) if model.family == "poisson" else latent


def subtrees(trees, node=0):
    """Return the leaves of every subtree with the same root."""
    found = [frozenset([node])]
    if trees.column[node] >= 0:
        sides = (subtrees(trees, trees.left[node]), subtrees(trees, trees.right[node]))
        found += [a | b for a in sides[0] for b in sides[1]]
    return found


@pytest.mark.topic("002/K6", "002/K7", "000/K11")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("model", GROWN, ids=repr)
def test_prunings_are_the_smallest_of_the_best_of_all_subtrees(model, seed):
    model = clone(model).fit(*small_rows(model, seed))
    risks = node_risks(model._criterion, (0.0,), model.sums_) * model._target_size**2
    every = subtrees(model.trees_)
    path = cost_complexity_path(model)
    between = 0.5 * (path.alphas[:-1] + path.alphas[1:])
    for alpha in [*path.alphas, *between, 2 * path.alphas[-1]]:
        cost = np.array([risks[list(leaves)].sum() + alpha * len(leaves) for leaves in every])
        best = np.flatnonzero(cost <= cost.min() + 1e-9 * abs(risks[0]))
        smallest = every[min(best, key=lambda i: len(every[i]))]
        cut = prune(model, alpha)
        kept = cut.sums_[cut.trees_.is_leaf]
        expected = model.sums_[sorted(smallest)]
        np.testing.assert_allclose(sorted(kept.tolist()), sorted(expected.tolist()))


@pytest.mark.parametrize("model", GROWN, ids=repr)
def test_the_path_says_what_prunings_are(model):
    model = clone(model).fit(*small_rows(model, 0))
    path = cost_complexity_path(model)
    assert path.alphas[0] == 0.0
    assert (np.diff(path.alphas) > 0).all()
    assert path.n_leaves[-1] == 1
    for alpha, leaves, risk in zip(*path, strict=True):
        cut = prune(model, alpha)
        assert cut.tree_.n_leaves == leaves
        below = node_risks(cut._criterion, (0.0,), cut.sums_)[cut.trees_.is_leaf].sum()
        assert risk == pytest.approx(below * model._target_size**2)


@pytest.mark.topic("002/K7")
def test_ties_are_cut_together():
    x, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 1.1, 5.1, 6.1]
    path = cost_complexity_path(DecisionTreeRegressor().fit(x, y))
    np.testing.assert_allclose(path.alphas, [0.0, 0.5, 25.0], atol=1e-12)
    assert path.n_leaves.tolist() == [4, 2, 1]
    np.testing.assert_allclose(path.risks, [0.0, 1.0, 26.0], atol=1e-12)


@over(CASES)
def test_a_pruned_tree_is_a_copy(case):
    x, y = rows_of(case)
    model = clone(case.model).fit(x, y)
    before = answers(model, x)
    root = prune(model, 1e9)
    assert root.tree_.n_leaves == 1
    assert type(root) is type(model)
    np.testing.assert_array_equal(answers(model, x), before)
    np.testing.assert_array_equal(answers(prune(model, 0.0), x), before)
    remove_random_nodes(model, 3, rng=0)
    np.testing.assert_array_equal(answers(model, x), before)


def always_yes(model, chosen, x):
    """Return the leaf of each row where one question is always answered with yes."""
    trees, found = model.trees_, []
    for row in x:
        node = 0
        while trees.column[node] >= 0:
            yes = node == chosen or row[trees.column[node]] <= trees.threshold[node]
            node = (trees.left if yes else trees.right)[node]
        found.append(node)
    return model._predict_nodes(model.sums_[found]).mean


@pytest.mark.topic("002/K8")
def test_removed_questions_are_always_answered_with_yes():
    model = DecisionTreeRegressor(max_leaves=6)
    x, y = small_rows(model, 1)
    model.fit(x, y)
    inner = np.flatnonzero(~model.trees_.is_leaf)
    possible = np.array([always_yes(model, node, x) for node in inner])
    seen = set()
    for seed in range(60):
        smaller = remove_random_nodes(model, rng=seed)
        distance = np.abs(possible - smaller.predict(x)).max(axis=1)
        assert distance.min() < 1e-12
        seen.add(int(distance.argmin()))
        below = smaller.sums_[smaller.trees_.is_leaf].sum(axis=0)
        np.testing.assert_allclose(smaller.sums_[0], below)
    assert seen == set(range(len(inner)))


@pytest.mark.topic("002/K8")
def test_no_more_questions_are_removed_than_there_are():
    model = DecisionTreeClassifier(max_leaves=6)
    model.fit(*small_rows(model, 1))
    assert remove_random_nodes(model, 0).tree_.n_leaves == 6
    assert remove_random_nodes(model, 99, rng=1).tree_.n_leaves == 1
    same = [str(remove_random_nodes(model, 2, rng=3).tree_) for _ in range(2)]
    assert same[0] == same[1]


@pytest.mark.parametrize("model", GROWN, ids=repr)
def test_folds_score_the_tree_that_is_cut_at_each_price(model):
    x, y = small_rows(model, 3)
    model = clone(model).fit(x, y)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 40)
    if isinstance(model, DecisionTreeClassifier):
        sums = class_sums(y, weight)
    else:
        sums = moment_sums((y - model._unit.centre) / model._unit.size, weight)
    rows = TreeRows(x, sums, model.sums_.shape[1], weight, np.zeros(2, dtype=np.int64))
    path = cost_complexity_path(model)
    prices = np.append(0.0, 0.5 * (path.alphas[1:-1] + path.alphas[2:]))
    prices = np.append(prices, 2 * path.alphas[-1])
    found = _held_out(model, rows, prices / model._target_size**2)
    expected = [weight @ log_density(prune(model, price), x, y) for price in prices]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def log_density(model, x, y):
    return model.predict_dist(x).log_prob(y)


@pytest.mark.topic("002/K7", "000/K11")
def test_folds_find_the_four_boxes_and_leave_noise_alone():
    roots = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, noise = rng.uniform(size=(120, 3)), rng.normal(size=120)
        alone = DecisionTreeRegressor(pruning="cv", random_state=0).fit(x, noise)
        roots += alone.tree_.n_leaves == 1
        boxes = np.where(x[:, 0] > 0.5, np.where(x[:, 1] > 0.5, 4.0, 1.0), 0.0)
        model = DecisionTreeRegressor(pruning="cv", random_state=0).fit(x, boxes + 0.3 * noise)
        assert model.tree_.n_leaves == 3
        labels = DecisionTreeClassifier(pruning="cv", random_state=0).fit(x, boxes)
        assert labels.tree_.n_leaves == 3
    assert roots >= 9


def test_folds_need_ten_rows():
    x, y = np.arange(9.0)[:, None], np.arange(9.0)
    assert DecisionTreeRegressor(pruning="cv").fit(x, y).tree_.n_leaves == 1


@pytest.mark.parametrize("alpha", [-1, np.nan, np.inf, "much", None])
def test_prices_are_numbers(alpha):
    model = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match="alpha must be a finite number >= 0, got"):
        prune(model, alpha)


@pytest.mark.parametrize("size", [-1, 1.5, "many", None])
def test_sizes_are_whole(size):
    model = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match="size must be a whole number >= 0, got"):
        remove_random_nodes(model, size)


@pytest.mark.parametrize("ask", [cost_complexity_path, remove_random_nodes, lambda m: prune(m, 1)])
def test_only_fitted_trees_are_pruned(ask):
    with pytest.raises(NotFittedError):
        ask(DecisionTreeRegressor())
    with pytest.raises(TypeError, match=r"model must be a DecisionTree.*, got LinearRegression"):
        ask(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]))
