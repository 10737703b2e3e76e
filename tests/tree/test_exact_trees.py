"""With a bin for each value, trees are CART's: the losses of scikit-learn; stopping rules."""

import numpy as np
import pytest
from sklearn import tree as peers

from posteriori.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    cost_complexity_path,
    impurity,
    prune,
)


def rows_without_ties(seed, size=80, d=4):
    """Return columns of distinct values and weights that make all gains differ."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.permutation(size) for _ in range(d)]).astype(float)
    signal = (x[:, 0] > size / 2) + (x[:, 1] / size) ** 2
    return x, signal + 0.5 * rng.normal(size=size), rng.uniform(1.0, 2.0, size)


LIMITS = [
    ({}, {}),
    ({"max_depth": 3}, {"max_depth": 3}),
    ({"max_leaves": 7}, {"max_leaf_nodes": 7}),
    ({"min_gain": 0.01}, {"min_impurity_decrease": 0.01}),
    ({"min_samples_leaf": 6.0}, {"min_weight_leaf": 6.0}),
]


def of_peer(limits, weight):
    limits = dict(limits)
    if "min_weight_leaf" in limits:
        limits["min_weight_fraction_leaf"] = limits.pop("min_weight_leaf") / weight.sum()
    return limits


@pytest.mark.topic("002/K1", "000/K9", "000/K10")
@pytest.mark.parametrize(("ours", "theirs"), LIMITS)
@pytest.mark.parametrize("seed", range(3))
def test_squared_errors_are_those_of_scikit_learn(ours, theirs, seed):
    x, y, weight = rows_without_ties(seed)
    mine = DecisionTreeRegressor(max_bins=None, **ours).fit(x, y, weight)
    peer = peers.DecisionTreeRegressor(random_state=0, **of_peer(theirs, weight))
    other = peer.fit(x, y, weight).predict(x)
    np.testing.assert_allclose(mine.predict(x), other, rtol=1e-9)


@pytest.mark.topic("002/K2", "000/K9", "000/K10")
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize(("ours", "theirs"), LIMITS)
@pytest.mark.parametrize("classes", [2, 3])
def test_impurities_are_those_of_scikit_learn(criterion, ours, theirs, classes):
    x, latent, weight = rows_without_ties(classes)
    y = np.digitize(latent, np.quantile(latent, [0.4, 0.7])[: classes - 1])
    mine = DecisionTreeClassifier(criterion, max_bins=None, **ours).fit(x, y, weight)
    limits = of_peer(theirs, weight)
    peer = peers.DecisionTreeClassifier(criterion=criterion, random_state=0, **limits)
    other = peer.fit(x, y, weight)

    def loss(leaves):
        parts = (leaves == leaf for leaf in np.unique(leaves))
        return sum(weight[p].sum() * impurity(y[p], criterion, weight[p]) for p in parts)

    found = mine.trees_.find_leaves(x)[:, 0]
    assert loss(found) == pytest.approx(loss(other.apply(x)), rel=1e-9, abs=1e-9)


def test_deviances_are_those_of_scikit_learn():
    x, latent, weight = rows_without_ties(1)
    y = np.random.default_rng(0).poisson(np.exp(latent)).astype(float)
    mine = DecisionTreeRegressor("poisson", max_bins=None, max_leaves=6).fit(x, y, weight)
    peer = peers.DecisionTreeRegressor(criterion="poisson", max_leaf_nodes=6, random_state=0)
    other = peer.fit(x, y, weight)
    leaves = mine.trees_.find_leaves(x)[:, 0]
    pairs = {(int(a), int(b)) for a, b in zip(leaves, other.apply(x), strict=True)}
    assert len(pairs) == len(np.unique(leaves)) == 6  # the same boxes under other numbers


@pytest.mark.topic("000/K10")
def test_stopping_rules_hold_in_every_node():
    x, y, weight = rows_without_ties(5, size=200)
    deep = DecisionTreeRegressor(max_depth=4).fit(x, y)
    assert deep.tree_.depth == 4
    few = DecisionTreeRegressor(max_leaves=9).fit(x, y)
    assert few.tree_.n_leaves == 9
    heavy = DecisionTreeRegressor(min_samples_leaf=20.5).fit(x, y, weight)
    assert heavy.tree_.weight[heavy.trees_.is_leaf].min() >= 20.5
    gaining = DecisionTreeRegressor(min_gain=0.02).fit(x, y)
    assert np.diff(cost_complexity_path(gaining).risks).min() > 0.02 * len(x)
    assert DecisionTreeRegressor(max_depth=0).fit(x, y).tree_.n_leaves == 1
    assert DecisionTreeRegressor(max_leaves=1).fit(x, y).tree_.n_leaves == 1


@pytest.mark.topic("002/K6", "002/K7", "000/K11")
@pytest.mark.parametrize("seed", range(3))
def test_the_path_is_that_of_scikit_learn_times_the_rows(seed):
    x, y, weight = rows_without_ties(seed, size=60)
    model = DecisionTreeRegressor(max_bins=None).fit(x, y, weight)
    path = cost_complexity_path(model)
    peer = peers.DecisionTreeRegressor(random_state=0)
    other = peer.cost_complexity_pruning_path(x, y, weight)
    total = weight.sum()
    np.testing.assert_allclose(path.alphas, other.ccp_alphas * total, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(path.risks, other.impurities * total, rtol=1e-6, atol=1e-9)
    middle = len(path.alphas) // 2
    price = np.sqrt(path.alphas[middle] * path.alphas[middle + 1])
    cut = peers.DecisionTreeRegressor(ccp_alpha=price / total, random_state=0).fit(x, y, weight)
    np.testing.assert_allclose(prune(model, price).predict(x), cut.predict(x), rtol=1e-9)
