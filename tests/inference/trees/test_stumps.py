"""The best cut under weights, against every cut tried by hand and against the grower of trees."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from posteriori.inference.trees import stumps
from posteriori.inference.trees.growing import bin_rows, class_sums, grow_tree, make_rules
from posteriori.inference.trees.scores import ERROR, GINI
from posteriori.inference.trees.stumps import (
    count_columns,
    find_stump,
    find_stumps,
    sort_columns,
    stump_trees,
)

CASES = ["numbers", "ties", "gaps", "one value", "all missing", "many bins"]


FORMS = ["counted", "in order"]


def columns_of(x, form):
    if form == "in order":
        return sort_columns(x)
    return count_columns(x, bin_rows(x, np.zeros(x.shape[1], dtype=np.int64), 255))


def rows_of(case, seed):
    rng = np.random.default_rng(seed)
    n = 600 if case == "many bins" else 40
    x = rng.normal(size=(n, 3))
    if case == "ties":
        x = np.round(x)
    if case == "gaps":
        x[rng.random(x.shape) < 0.3] = np.nan
    if case == "one value":
        x[:, 0] = 2.0
    if case == "all missing":
        x[:, 1] = np.nan
    y = x[:, 2] + rng.normal(size=n) > 0.3
    y[np.isnan(x[:, 2])] = True  # gaps that tell something
    weight = rng.random(n)
    return x, y.astype(np.int64), weight / weight.sum()


def worth(criterion, y, weight, goes_left):
    """Return −Σ N Q of the two sides, from the definitions of error and Gini impurity."""
    total = 0.0
    for side in (goes_left, ~goes_left):
        n = weight[side].sum()
        if n == 0:
            continue
        p = weight[side & (y == 1)].sum() / n
        total -= n * (min(p, 1 - p) if criterion == ERROR else 2 * p * (1 - p))
    return total


def best_of_all(criterion, x, y, weight):
    """Try every cut of every column, with gaps on either side, and no cut."""
    found = [worth(criterion, y, weight, np.zeros(len(y), bool))]
    for column in x.T:
        for cut in np.unique(column[~np.isnan(column)]):
            for missing in (False, True):
                goes_left = np.where(np.isnan(column), missing, column <= cut).astype(bool)
                found.append(worth(criterion, y, weight, goes_left))
    return max(found)


@pytest.mark.topic("002/L4")
@pytest.mark.parametrize("criterion", [ERROR, GINI])
@pytest.mark.parametrize(
    ("case", "form"),
    [(case, form) for case in CASES for form in FORMS if (case, form) != ("many bins", "counted")],
)
def test_the_cut_is_the_best_of_all(case, form, criterion):
    for seed in range(5):
        x, y, weight = rows_of(case, seed)
        stump, predicted = find_stump(columns_of(x, form), np.where(y, weight, -weight), criterion)
        trees, classes = stump_trees([stump], 3)
        leaf = trees.find_leaves(x)[:, 0]
        np.testing.assert_array_equal(classes[leaf], predicted)
        assert worth(criterion, y, weight, leaf == leaf.min()) == pytest.approx(
            best_of_all(criterion, x, y, weight), abs=1e-12
        )
        for side in np.unique(leaf):  # each side votes for its heavier class
            share = weight[(leaf == side) & (y == 1)].sum() / weight[leaf == side].sum()
            assert stump.classes[side] == (share > 0.5)


@pytest.mark.parametrize("max_bins", [8, 255, None])
@pytest.mark.parametrize("criterion", [ERROR, GINI])
def test_stumps_are_those_of_the_grower(criterion, max_bins):
    x, y, weight = rows_of("many bins", 3)
    x[:50, 2] = np.nan
    binned = bin_rows(x, np.zeros(3, dtype=np.int64), max_bins)
    columns = sort_columns(x) if max_bins is None else count_columns(x, binned)
    stump, _ = find_stump(columns, np.where(y, weight, -weight), criterion)
    trees, classes = stump_trees([stump], 3)
    grown = grow_tree(
        binned,
        class_sums(y, weight),
        make_rules(criterion, max_depth=1, min_weight=0.0),
        n_sums=2,
    )
    for name in ("column", "threshold", "left", "right", "missing_left"):
        np.testing.assert_array_equal(getattr(trees, name), getattr(grown.trees, name))
    np.testing.assert_array_equal(classes, grown.sums.argmax(axis=1))


@pytest.mark.parametrize("form", FORMS)
def test_threads_change_nothing(form, monkeypatch):
    monkeypatch.setattr(stumps, "_MANY_ENTRIES", 1)
    x, y, weight = rows_of("many bins", 1)
    columns = columns_of(x, form)
    signed = np.where(y, weight, -weight)
    alone = find_stumps(columns, signed, GINI)
    with ThreadPoolExecutor(2) as pool:
        beside = find_stumps(columns, signed, GINI, pool)
    for a, b in zip(alone, beside, strict=True):
        assert a[0] == b[0]
        np.testing.assert_array_equal(a[1], b[1])


def test_each_column_has_its_best_cut_and_the_best_of_all_comes_first():
    x, y, weight = rows_of("gaps", 2)
    signed = np.where(y, weight, -weight)
    columns = sort_columns(x)
    found = find_stumps(columns, signed, ERROR)
    assert sorted(stump.column for stump, _ in found) == [0, 1, 2]
    for stump, predicted in found:
        error = weight[predicted != y].sum()
        best = best_of_all(ERROR, x[:, [stump.column]], y, weight)
        assert -error == pytest.approx(best, abs=1e-12)
    assert found[0][0] == find_stump(columns, signed, ERROR)[0]


@pytest.mark.parametrize("form", FORMS)
def test_gaps_that_training_did_not_have_go_to_the_heavier_side(form):
    x, y = np.arange(10.0)[:, None], np.array([0, 0, 0, 1, 1, 1, 1, 1, 1, 1])
    columns = columns_of(x, form)
    for weight, left in ((np.full(10, 0.1), False), (np.array([4.0] * 3 + [1.0] * 7), True)):
        stump, _ = find_stump(columns, np.where(y, weight, -weight), ERROR)
        assert stump.threshold == 2.5
        assert stump.missing_left is left


def test_stumps_one_after_another_are_trees_of_their_own():
    stumps_ = [
        stumps.Stump(1, 0.5, True, (0, 1, 0)),
        stumps.Stump(-1, np.nan, False, (1,)),
        stumps.Stump(0, -1.0, False, (1, 0, 1)),
    ]
    trees, classes = stump_trees(stumps_, 2)
    x = np.array([[-2.0, 0.0], [0.0, 1.0], [np.nan, np.nan]])
    given = classes[trees.find_leaves(x)]
    np.testing.assert_array_equal(given, [[1, 1, 0], [0, 1, 1], [1, 1, 1]])
