"""The grower against every split tried one by one."""

import itertools

import numpy as np
import pytest

from posteriori.inference.trees import scores
from posteriori.inference.trees.growing import (
    bin_rows,
    class_sums,
    grow_tree,
    loss_sums,
    make_rules,
    moment_sums,
    two_class_sums,
)
from posteriori.inference.trees.weakest_links import node_risks

PRIORS = {
    scores.EVIDENCE_OF_CLASSES: (0.5,),
    scores.EVIDENCE_OF_NUMBERS: (0.3, 0.5, 2.0, 1.5),
    scores.EVIDENCE_OF_COUNTS: (1.0, 0.7),
    scores.NEWTON: (0.8,),
}
OF_CLASSES = (scores.ENTROPY, scores.GINI, scores.ERROR, scores.EVIDENCE_OF_CLASSES)
OF_NUMBERS = (
    scores.VARIANCE,
    scores.POISSON,
    scores.EVIDENCE_OF_NUMBERS,
    scores.EVIDENCE_OF_COUNTS,
)


def sums_of(criterion, y, weight, rows, k):
    if criterion in OF_CLASSES:
        return np.bincount(y[rows], weights=weight[rows], minlength=k).astype(float)
    if criterion == scores.NEWTON:
        return np.array([weight[rows].sum(), (y * weight)[rows].sum()])
    about = [weight, weight * y, weight * y * y]
    return np.array([part[rows].sum() for part in about])


def score(criterion, y, weight, rows, k):
    prior = PRIORS.get(criterion, (0.0,))
    return -node_risks(criterion, prior, sums_of(criterion, y, weight, rows, k)[None])[0]


def divisions(column, levels):
    """Return every way in which one column divides rows, gaps on either side."""
    gap = np.isnan(column)
    values = np.unique(column[~gap])
    if levels:
        kinds = [column == v for v in values] + ([gap] if gap.any() else [])
        for size in range(1, len(kinds)):
            for chosen in itertools.combinations(kinds, size):
                yield np.any(chosen, axis=0)
        return
    for low, high in itertools.pairwise(values):
        left = column <= (low + high) / 2
        yield left
        yield left | gap
    if gap.any():
        yield ~gap


def best_by_hand(criterion, x, y, weight, k, levels, least):
    every = np.arange(len(y))
    own, best = score(criterion, y, weight, every, k), -np.inf
    for j in range(x.shape[1]):
        for left in divisions(x[:, j], levels[j]):
            if min(weight[left].sum(), weight[~left].sum()) < least:
                continue
            parts = sum(score(criterion, y, weight, every[side], k) for side in (left, ~left))
            best = max(best, parts - own)
    return best


def grown(criterion, x, y, weight, k, levels, *, max_bins=None, **limits):
    binned = bin_rows(x, np.asarray(levels), max_bins)
    if criterion in OF_CLASSES:
        sums, size = class_sums(y, weight), k
    elif criterion == scores.NEWTON:
        sums, size = loss_sums(y * weight, weight), 2
    else:
        sums, size = moment_sums(y.astype(float), weight), 3
    rules = make_rules(criterion, PRIORS.get(criterion, (0.0,)), **limits)
    return grow_tree(binned, sums, rules, n_sums=size)


def table(seed, rows=14, gaps=True):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 5, size=(rows, 3)).astype(float)
    if gaps:
        x[rng.random(x.shape) < 0.15] = np.nan
    return x, rng.integers(0, 3, rows), rng.integers(1, 3, rows).astype(float)


@pytest.mark.topic("002/K1", "002/K2", "000/K9")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("criterion", [*OF_CLASSES, *OF_NUMBERS])
def test_the_best_of_all_splits_of_numbers_with_gaps_is_found(criterion, seed):
    x, y, weight = table(seed)
    best = best_by_hand(criterion, x, y, weight, 3, [0, 0, 0], 2.0)
    tree = grown(criterion, x, y, weight, 3, [0, 0, 0], max_depth=1, min_weight=2.0)
    assert max(tree.gain[0], 0.0) == pytest.approx(max(best, 0.0), abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_slopes_in_whole_numbers_find_the_best_split_up_to_their_rounding(seed):
    x, y, weight = table(seed, rows=40)
    slope = y - y.mean()
    best = best_by_hand(scores.NEWTON, x, slope, weight, 0, [0, 0, 0], 2.0)
    tree = grown(scores.NEWTON, x, slope, weight, 0, [0, 0, 0], max_depth=1, min_weight=1.9999)
    assert tree.gain[0] == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("criterion", [*OF_CLASSES, scores.VARIANCE, scores.POISSON])
def test_subsets_of_levels_are_the_best_of_all(criterion, seed):
    x, y, weight = table(seed)
    best = best_by_hand(criterion, x, y, weight, 3, [5, 5, 5], 1.0)
    tree = grown(criterion, x, y, weight, 3, [5, 5, 5], max_depth=1)
    assert tree.gain[0] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_subsets_for_a_loss_are_the_best_of_all_up_to_its_rounding(seed):
    x, y, weight = table(seed, rows=40)
    slope = y - y.mean()
    best = best_by_hand(scores.NEWTON, x, slope, weight, 0, [5, 5, 5], 1.0)
    tree = grown(scores.NEWTON, x, slope, weight, 0, [5, 5, 5], max_depth=1, min_weight=0.9999)
    assert tree.gain[0] == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("max_bins", [None, 16])
@pytest.mark.parametrize("levels", [[0, 0, 0], [0, 9, 0]])
def test_two_classes_in_whole_numbers_make_the_tree_of_gini_impurity(levels, max_bins):
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=(600, 3)), 2)
    x[:, 1] = rng.integers(0, 9, 600)
    x[rng.random(x.shape) < 0.1] = np.nan
    y, counts = (rng.random(600) < 0.5).astype(int), rng.integers(1, 4, 600)
    binned = bin_rows(x, np.array(levels), max_bins)
    limits = {"min_weight": 3.0, "max_features": 2}
    packed, plain = (
        grow_tree(binned, sums, make_rules(criterion, **limits), n_sums=2)
        for sums, criterion in (
            (two_class_sums(y, counts), scores.GINI_OF_TWO),
            (class_sums(y, counts.astype(float)), scores.GINI),
        )
    )
    for name in ("column", "threshold", "left", "right", "missing_left", "levels"):
        np.testing.assert_array_equal(getattr(packed.trees, name), getattr(plain.trees, name))
    np.testing.assert_array_equal(packed.sums[:, 0] - packed.sums[:, 1], plain.sums[:, 0])
    np.testing.assert_array_equal(packed.sums[:, 1], plain.sums[:, 1])
    np.testing.assert_allclose(2.0 * packed.gain, plain.gain, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_two_classes_sort_any_number_of_levels(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 10, size=(60, 1)).astype(float), rng.integers(0, 2, 60)
    best = best_by_hand(scores.GINI, x, y, np.ones(60), 2, [10], 1.0)
    tree = grown(scores.GINI, x, y, np.ones(60), 2, [10], max_depth=1)
    assert tree.gain[0] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_three_classes_of_many_levels_part_one_from_the_rest(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 12, size=(80, 1)).astype(float), rng.integers(0, 3, 80)
    every = np.arange(80)
    own = score(scores.GINI, y, np.ones(80), every, 3)
    alone = [
        sum(
            score(scores.GINI, y, np.ones(80), every[side], 3)
            for side in (x[:, 0] == v, x[:, 0] != v)
        )
        for v in range(12)
    ]
    tree = grown(scores.GINI, x, y, np.ones(80), 3, [12], max_depth=1)
    assert tree.gain[0] == pytest.approx(max(alone) - own, abs=1e-9)


@pytest.mark.parametrize("levels", [[0, 0, 0], [5, 5, 5], [0, 5, 0]])
@pytest.mark.parametrize("criterion", [scores.GINI, scores.VARIANCE, scores.NEWTON])
def test_rows_find_the_leaves_that_they_grew(criterion, levels):
    x, y, weight = table(3, rows=200)
    tree = grown(criterion, x, y, weight, 3, levels, max_bins=4, max_leaves=12)
    leaves = tree.trees.find_leaves(x)[:, 0]
    np.testing.assert_array_equal(leaves, tree.leaf_of_rows(200))
    assert tree.trees.is_leaf[leaves].all()
    assert tree.trees.is_leaf.sum() <= 12
    for node in np.unique(leaves):
        expected = sums_of(criterion, y, weight, np.flatnonzero(leaves == node), 3)
        np.testing.assert_allclose(tree.sums[node], expected, rtol=1e-4)


@pytest.mark.parametrize("criterion", [scores.GINI, scores.VARIANCE, scores.ENTROPY])
def test_weights_are_repeated_rows(criterion):
    x, y, weight = table(5, rows=120)
    again = np.repeat(np.arange(120), weight.astype(int))
    a = grown(criterion, x, y, weight, 3, [0, 5, 0], min_weight=3.0)
    b = grown(criterion, x[again], y[again], np.ones(len(again)), 3, [0, 5, 0], min_weight=3.0)
    np.testing.assert_array_equal(a.trees.column, b.trees.column)
    np.testing.assert_array_equal(a.trees.threshold, b.trees.threshold)
    np.testing.assert_allclose(a.sums, b.sums, atol=1e-9)


def test_many_rows_in_few_bins_and_few_rows_in_many_bins_have_the_same_profile():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    ranks = np.argsort(np.argsort(x, axis=0), axis=0).astype(float)
    sorted_, counted = (
        grown(scores.GINI, values, y, np.ones(300), 2, [0, 0], max_bins=bins, max_depth=4)
        for values, bins in ((x, None), (np.floor(ranks / 10), None))
    )
    assert sorted_.gain[0] >= counted.gain[0]
    best = best_by_hand(scores.GINI, np.floor(ranks / 10), y, np.ones(300), 2, [0, 0], 1.0)
    assert counted.gain[0] == pytest.approx(best)
    assert sorted_.gain[0] == pytest.approx(
        best_by_hand(scores.GINI, x, y, np.ones(300), 2, [0, 0], 1.0)
    )


@pytest.mark.parametrize("criterion", [scores.GINI, scores.VARIANCE])
def test_rows_of_weight_0_are_not_there(criterion):
    x, y, weight = table(3, rows=60)
    x[::3] = x[1::3]  # a value for each bin is left
    there = np.arange(60) % 3 != 0
    whole = grown(criterion, x, y, weight * there, 3, [0, 0, 0])
    rest = grown(criterion, x[there], y[there], weight[there], 3, [0, 0, 0])
    np.testing.assert_array_equal(np.sort(whole.rows), np.flatnonzero(there))
    np.testing.assert_array_equal(whole.leaf_of_rows(60)[~there], -1)
    np.testing.assert_array_equal(whole.leaf_of_rows(60)[there], rest.leaf_of_rows(there.sum()))
    np.testing.assert_array_equal(whole.trees.column, rest.trees.column)
    np.testing.assert_allclose(whole.sums, rest.sums)


def test_the_leaf_that_gains_most_is_split_first():
    x, y, weight = table(7, rows=200, gaps=False)
    large = grown(scores.VARIANCE, x, y, weight, 3, [0, 0, 0], max_leaves=9)
    small = grown(scores.VARIANCE, x, y, weight, 3, [0, 0, 0], max_leaves=6)
    open_gains = [g for g in large.gain if g > 0]
    assert sum(small.gain) == pytest.approx(sum(sorted(open_gains, reverse=True)[:5]), rel=0.35)
    assert small.trees.is_leaf.sum() == 6
    np.testing.assert_array_equal(small.trees.column[:3] >= 0, large.trees.column[:3] >= 0)


def test_columns_are_drawn_by_a_seed():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 6)), rng.integers(0, 2, 200)
    binned, rules = bin_rows(x, np.zeros(6, int)), make_rules(scores.GINI, max_features=2)
    trees = [
        grow_tree(
            binned,
            class_sums(y, np.ones(200)),
            rules,
            n_sums=2,
            seed=s,
        ).trees.column
        for s in (1, 1, 2)
    ]
    np.testing.assert_array_equal(trees[0], trees[1])
    assert len(trees[0]) != len(trees[2]) or (trees[0] != trees[2]).any()
    assert set(trees[0][trees[0] >= 0]) == set(range(6))


def test_constant_columns_do_not_count_as_drawn():
    x = np.zeros((50, 10))
    x[:, 7] = np.arange(50)
    y = (x[:, 7] > 20).astype(int)
    tree = grow_tree(
        bin_rows(x, np.zeros(10, int)),
        class_sums(y, np.ones(50)),
        make_rules(scores.GINI, max_features=1),
        n_sums=2,
        seed=5,
    )
    assert tree.trees.column[0] == 7


def test_threads_add_the_same_whole_numbers():
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(0)
    x = rng.normal(size=(30_000, 4))
    slope = x[:, 0] * x[:, 1] + rng.normal(size=30_000)
    binned, sums = bin_rows(x, np.zeros(4, int), 63), loss_sums(slope, np.ones(30_000))
    rules = make_rules(scores.NEWTON, (1.0,), max_leaves=15)
    with ThreadPoolExecutor(2) as pool:
        one, two = (grow_tree(binned, sums, rules, n_sums=2, pool=p) for p in (None, pool))
    np.testing.assert_array_equal(one.gain, two.gain)
    np.testing.assert_array_equal(one.rows, two.rows)
