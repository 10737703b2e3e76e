"""Honest trees: leaves know nothing of how the cuts were chosen."""

import numpy as np
import pytest

from posteriori.tree import DecisionTreeClassifier, DecisionTreeRegressor


def spreads(honest):
    """Return n_m · mean_m² of the leaves of trees on noise of variance 1: a χ² of one degree each."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(160, 3)), rng.normal(size=160)
        tree = DecisionTreeRegressor(max_leaves=8, honest=honest, random_state=seed).fit(x, y).tree_
        leaf = tree.trees.is_leaf
        found.append(tree.weight[leaf] * tree.value[leaf] ** 2)
    return np.concatenate(found)


def test_means_of_honest_leaves_on_noise_spread_as_those_of_chance():
    honest, other = spreads(True), spreads(False)
    error = np.sqrt(2.0 / len(honest))
    assert abs(honest.mean() - 1.0) < 5 * error
    assert other.mean() > 2.0


def test_intervals_of_honest_leaves_cover_nearly_what_they_promise():
    """Not fully: beforehand the precision in a leaf has twice that of all rows as its mean."""
    covered = {True: [], False: []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, new = rng.normal(size=(300, 5)), rng.normal(size=(500, 5))
        y, truth = rng.normal(size=300), rng.normal(size=500)
        for honest, found in covered.items():
            model = DecisionTreeRegressor(min_samples_leaf=10, honest=honest, random_state=seed)
            low, high = model.fit(x, y).predict_dist(new).interval(0.9)
            found.append(np.mean((low <= truth) & (truth <= high)))
    away = {honest: abs(np.mean(found) - 0.9) for honest, found in covered.items()}
    assert away[True] < 0.03
    assert away[False] > 3 * away[True]


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_no_leaf_is_empty_and_leaves_share_one_half(kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(41, 2))
    y = rng.integers(0, 3, 41)
    model = kind(honest=True, random_state=1).fit(x, y)
    leaves = model.tree_.weight[model.trees_.is_leaf]
    assert leaves.min() >= 1
    assert leaves.sum() == model.tree_.weight[0] == 20
    assert np.isfinite(model.predict(x)).all()
    again = kind(honest=True, random_state=1).fit(x, y)
    assert str(again.tree_) == str(model.tree_)


def test_honest_trees_are_pruned_by_honest_folds():
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(300, 3))
    y = np.where(x[:, 0] > 0.5, 2.0, 0.0) + 0.3 * rng.normal(size=300)
    model = DecisionTreeRegressor(honest=True, pruning="cv", random_state=0).fit(x, y)
    assert model.tree_.n_leaves == 2
    assert model.tree_.weight[0] == 150


def test_one_row_has_no_halves():
    with pytest.raises(ValueError, match=r"honest=True needs at least two rows.*set honest=False"):
        DecisionTreeRegressor(honest=True).fit([[1.0]], [1.0])
