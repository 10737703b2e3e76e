"""Laws of all trees: weights, order, leaves, gaps, tables of other libraries, copies."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.integrate import quad
from sklearn.base import clone, is_classifier

import posteriori.tree as room
from tests.scikit_learn_checks import every_check
from tests.tree.cases import CASES, answers, over, rows_of

each = over(CASES)
CLASSIFIERS = [case for case in CASES if is_classifier(case.model)]
REGRESSORS = [case for case in CASES if not is_classifier(case.model)]


def fitted(case):
    return clone(case.model).fit(*rows_of(case))


def test_every_greedy_tree_has_a_case():
    public = {name for name in room.__all__ if name.startswith("Decision")}
    assert {type(case.model).__name__ for case in CASES} == public


@pytest.mark.filterwarnings("ignore:.*is a model of counts:UserWarning")
@every_check(
    [
        room.DecisionTreeClassifier(),
        room.DecisionTreeRegressor(),
        room.DecisionStump(),
        room.DecisionTreeClassifier("entropy", max_bins=None),
        room.DecisionTreeRegressor("poisson"),
        room.DecisionTreeRegressor(max_leaves=8, max_bins=16),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@each
def test_weights_equal_repeated_rows(case):
    x, y = rows_of(case)
    times = np.random.default_rng(1).integers(0, 4, len(x))
    weighted = clone(case.model).fit(x, y, sample_weight=times)
    repeated = clone(case.model).fit(np.repeat(x, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(answers(weighted, x), answers(repeated, x), rtol=1e-9)
    assert str(weighted.tree_) == str(repeated.tree_)


@each
def test_the_order_of_rows_does_not_matter(case):
    x, y = rows_of(case)
    order = np.random.default_rng(2).permutation(len(x))
    other = clone(case.model).fit(x[order], y[order])
    np.testing.assert_allclose(answers(other, x), answers(fitted(case), x), rtol=1e-9)


def leaves_of(model, x):
    """Return the leaf of each row by asking the questions of its rules one by one."""
    trees, found = model.tree_.trees, []
    for row in x:
        node = 0
        while trees.column[node] >= 0:
            node = (trees.left if goes_left(trees, node, row) else trees.right)[node]
        found.append(node)
    return np.array(found)


def goes_left(trees, node, row):
    column = trees.column[node]
    value, start = row[column], trees.subset[node]
    if np.isnan(value):
        return trees.missing_left[node]
    return value <= trees.threshold[node] if start < 0 else trees.levels[start + int(value)]


@pytest.mark.topic("002/K2", "000/K9")
@over(CLASSIFIERS)
def test_leaves_know_how_many_rows_of_each_class_they_have(case):
    model, (x, y) = fitted(case), rows_of(case)
    leaves, c = leaves_of(model, x), model.concentration
    for leaf in np.unique(leaves):
        counts = np.array([(y[leaves == leaf] == label).sum() for label in model.classes_])
        share = (counts + c) / (counts.sum() + c * len(counts))
        said = model.predict_proba(x[leaves == leaf])
        np.testing.assert_allclose(said, np.tile(share, (len(said), 1)), rtol=1e-12)
        most = model.predict(x[leaves == leaf])[0]
        assert counts[model.classes_ == most] == counts.max()


@pytest.mark.topic("002/K1", "000/K9")
@over(REGRESSORS)
def test_leaves_know_their_rows(case):
    model, (x, y) = fitted(case), rows_of(case)
    leaves = leaves_of(model, x)
    for leaf in np.unique(leaves):
        inside = y[leaves == leaf]
        mean = inside.mean()
        if model.family == "poisson":  # Gamma(1, 1/ȳ) beforehand
            mean = (1.0 + inside.sum()) / (1.0 / y.mean() + len(inside))
        np.testing.assert_allclose(model.predict(x[leaves == leaf]), mean, rtol=1e-12)


@over([case for case in REGRESSORS if case.targets == "numbers"])
def test_numbers_of_a_leaf_are_students_t(case):
    """The prior of the precision is Gamma(2, s²), that of the mean is flat."""
    model, (x, y) = fitted(case), rows_of(case)
    leaves = leaves_of(model, x)
    for leaf in np.unique(leaves)[:4]:
        inside = y[leaves == leaf]
        n = len(inside)
        shape, rate = 2.0 + (n - 1) / 2, y.var() + 0.5 * n * inside.var()
        said = model.predict_dist(x[leaves == leaf][:1])
        scale = np.sqrt(rate / shape * (1 + 1 / n))
        np.testing.assert_allclose([said.dof[0], said.scale[0]], [2 * shape, scale], rtol=1e-9)


@over(REGRESSORS)
def test_the_mean_of_the_distribution_is_predicted_and_its_mass_is_one(case):
    model, (x, _) = fitted(case), rows_of(case)
    said = model.predict_dist(x)
    np.testing.assert_allclose(model.predict(x), said.mean, rtol=1e-12)
    one = model.predict_dist(x[:1])
    if model.family == "poisson":
        total = np.exp(one.log_prob(np.arange(3000.0)[:, None])).sum()
    else:
        total = quad(lambda t: float(np.exp(one.log_prob(np.array([t]))[0])), -np.inf, np.inf)[0]
    assert total == pytest.approx(1.0, abs=1e-6)


@over([case for case in CASES if not case.gaps])
def test_what_was_never_missing_goes_where_more_rows_went(case):
    model, (x, _) = fitted(case), rows_of(case)
    tree, node = model.tree_, 0
    while tree.trees.column[node] >= 0:
        left, right = tree.trees.left[node], tree.trees.right[node]
        node = left if tree.weight[left] >= tree.weight[right] else right
    leaf = x[leaves_of(model, x) == node][:1]
    gaps = np.full((1, x.shape[1]), np.nan)
    np.testing.assert_allclose(answers(model, gaps), answers(model, leaf), rtol=1e-12)


def test_new_levels_go_with_what_is_missing():
    case = next(case for case in CASES if case.gaps and "columns" in repr(case.model))
    model, (x, _) = fitted(case), rows_of(case)
    new, gap = x[:9].copy(), x[:9].copy()
    new[:, 2], gap[:, 2] = 77.0, np.nan
    np.testing.assert_array_equal(answers(model, new), answers(model, gap))


@each
def test_tables_of_other_libraries(case):
    model, (x, y) = fitted(case), rows_of(case)
    named = ["age", "column 7", "kind"]
    for table in (pd.DataFrame(x, columns=named), pl.DataFrame(x, schema=named)):
        other = clone(case.model).fit(table, y)
        np.testing.assert_array_equal(answers(other, table), answers(model, x))
        assert set(other.tree_.names) == set(named)
    assert "x0" in model.tree_.names


@each
def test_copies_answer_alike(case):
    model, (x, _) = fitted(case), rows_of(case)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answers(again, x), answers(model, x))
    assert str(again.tree_) == str(model.tree_)
    assert not hasattr(clone(model), "trees_")


@over([case for case in REGRESSORS if case.targets == "numbers"])
def test_the_unit_of_targets_does_not_matter(case):
    x, y = rows_of(case)
    model, large = clone(case.model), clone(case.model)
    large.min_gain = model.min_gain * 2.0**60
    scaled = large.fit(x, y * 2.0**30)
    np.testing.assert_array_equal(scaled.predict(x), model.fit(x, y).predict(x) * 2.0**30)


@each
def test_importances_are_shares_of_what_splits_gained(case):
    model, (x, y) = fitted(case), rows_of(case)
    trees, weight = model.trees_, np.zeros(x.shape[1])
    criterion = {"numbers": "variance", "counts": "poisson"}.get(case.targets)
    passed = np.zeros((len(trees.column), len(x)), dtype=bool)
    for n, row in enumerate(x):
        node = 0
        passed[node, n] = True
        while trees.column[node] >= 0:
            node = (trees.left if goes_left(trees, node, row) else trees.right)[node]
            passed[node, n] = True
    for node in np.flatnonzero(trees.column >= 0):
        left = passed[trees.left[node]][passed[node]]
        inside = y[passed[node]]
        gain = room.split_gain(inside, left, criterion or model.criterion)
        weight[trees.column[node]] += len(inside) * gain
    np.testing.assert_allclose(model.feature_importances_, weight / weight.sum(), atol=1e-9)


def test_texts_are_told_how_to_become_codes():
    with pytest.raises(ValueError, match=r"X must hold numbers.*OrdinalEncoder.*'red'"):
        room.DecisionTreeClassifier(columns=["categorical"]).fit([["red"], ["blue"]], [0, 1])
