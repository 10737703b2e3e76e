"""Sums over trees against all trees of a few rows, one after another."""

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from posteriori import Categorical, Dirichlet, Gamma, Normal, NormalGamma, Poisson, bayes
from posteriori.inference.trees import box_levels
from posteriori.inference.trees.all_trees import BUDGET, steps_of_all_trees
from posteriori.inference.trees.asked_columns import ask_columns
from posteriori.inference.trees.box_kernels import Boxes
from posteriori.tree import BayesianTreeClassifier, BayesianTreeRegressor
from tests.scikit_learn_checks import every_check
from tests.tree.enumerated_trees import Leaf, all_trees, posterior_of, rank_bins

KINDS = ("normal", "poisson", "classes")


@pytest.mark.filterwarnings("ignore:.*is a model of counts:UserWarning")
@every_check(
    [
        BayesianTreeRegressor(max_depth=2, max_bins=4),
        BayesianTreeClassifier(max_depth=2, max_bins=4),
        BayesianTreeRegressor(search="greedy"),
        BayesianTreeClassifier(search="greedy", max_depth=6),
        BayesianTreeRegressor("poisson", max_depth=2, max_bins=4),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def few_rows(kind, seed=0, n=7):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n)])
    y = 3.0 * (x[:, 0] > 0) + rng.normal(size=n)
    targets = {
        "normal": y,
        "poisson": rng.poisson(np.exp(0.5 * y)).astype(float),
        "classes": rng.permutation(np.arange(n) % 3),
    }
    return x, targets[kind]


def model_of(kind, **options):
    if kind == "classes":
        return BayesianTreeClassifier(**options)
    return BayesianTreeRegressor(kind, **options)


def leaf_of(kind, y):
    if kind == "classes":
        return Leaf(kind, y, np.full(3, 0.5))
    mean = np.mean(y)
    prior = NormalGamma(mean, 0.5, 2.0, np.var(y)) if kind == "normal" else Gamma(1.0, 1.0 / mean)
    return Leaf(kind, y, prior)


def codes_of(x, size):
    return np.column_stack([rank_bins(column, size) for column in x.T])


# -- all trees, one after another --------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("max_depth", "p"), [(0, 0.5), (1, 0.5), (2, 0.8), (3, 0.3)])
def test_the_sum_is_that_over_all_trees(kind, max_depth, p):
    x, y = few_rows(kind)
    options = {"max_depth": max_depth, "max_bins": 3, "split_probability": p, "search": "exact"}
    model = model_of(kind, **options).fit(x, y)
    trees, leaf = all_trees(codes_of(x, 3), max_depth, p), leaf_of(kind, y)
    assert sum(t.prior for t in trees) == pytest.approx(1.0, rel=1e-12)
    log_evidence, posterior = posterior_of(trees, leaf)
    assert float(model.log_evidence_) == pytest.approx(log_evidence, rel=1e-12)
    assert model.log_evidence_.kind == "exact"
    used = [sum(posterior[i] for i, t in enumerate(trees) if j in t.columns) for j in range(2)]
    np.testing.assert_allclose(model.column_probability_, used, rtol=1e-10, atol=1e-13)
    best = trees[int(np.argmax(posterior))]
    assert model.best_tree_probability_ == pytest.approx(posterior.max(), rel=1e-10)
    assert partition_of(model.best_tree_, x) == best.leaves


def partition_of(tree, x):
    leaves = tree.trees.find_leaves(np.asarray(x, dtype=float))[:, 0]
    return frozenset(tuple(np.flatnonzero(leaves == leaf)) for leaf in np.unique(leaves))


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_mixtures_over_all_trees(kind):
    x, y = few_rows(kind, seed=1)
    model = model_of(kind, max_depth=3, max_bins=3).fit(x, y)
    trees, leaf = all_trees(codes_of(x, 3), 3, 0.5), leaf_of(kind, y)
    _, posterior = posterior_of(trees, leaf)
    for n in range(len(x)):
        share = {}
        for tree, weight in zip(trees, posterior, strict=True):
            rows = next(rows for rows in tree.leaves if n in rows)
            share[rows] = share.get(rows, 0.0) + weight
        predicted = [(w, leaf.learned(rows).predictive) for rows, w in share.items()]
        if kind == "classes":
            expected = sum(w * d.probabilities for w, d in predicted)
            np.testing.assert_allclose(model.predict_proba(x[n : n + 1])[0], expected, rtol=1e-8)
            continue
        found = model.predict_dist(x[n : n + 1])
        density = sum(w * np.exp(d.log_prob(y[n])) for w, d in predicted)
        mean = sum(w * d.mean for w, d in predicted)
        second = sum(w * (d.variance + d.mean**2) for w, d in predicted)
        assert np.exp(found.log_prob(y[n]))[0] == pytest.approx(density, rel=1e-8)
        assert found.mean[0] == pytest.approx(mean, rel=1e-8)
        assert found.variance[0] == pytest.approx(second - mean**2, rel=1e-8)
        assert found.cdf(y[n])[0] == pytest.approx(sum(w * d.cdf(y[n]) for w, d in predicted))


def test_trees_are_drawn_as_often_as_they_are_probable():
    x, y = few_rows("normal", n=6)
    model = BayesianTreeRegressor(max_depth=2, max_bins=3).fit(x, y)
    trees = all_trees(codes_of(x, 3), 2, 0.5)
    _, posterior = posterior_of(trees, leaf_of("normal", y))
    keys = [(t.leaves, t.columns) for t in trees]
    expected = dict.fromkeys(keys, 0.0)
    for key, weight in zip(keys, posterior, strict=True):
        expected[key] += weight
    draws, counts = model.sample_trees(4000, rng=3), dict.fromkeys(expected, 0)
    for tree in draws:
        columns = tree.trees.column[tree.trees.column >= 0]
        counts[partition_of(tree, x), frozenset(columns.tolist())] += 1
    often = [key for key in expected if expected[key] > 0.002]
    seen = [*(counts[k] for k in often), 4000 - sum(counts[k] for k in often)]
    sought = [*(expected[k] for k in often), 1.0 - sum(expected[k] for k in often)]
    assert chisquare(seen, 4000 * np.array(sought)).pvalue > 1e-6
    assert [str(t) for t in model.sample_trees(5, rng=3)] == [
        str(t) for t in model.sample_trees(5, rng=3)
    ]


@pytest.mark.parametrize("search", ["exact", "greedy"])
def test_new_rows_lie_where_drawn_trees_put_them(search):
    """Bins that a node has no row of are divided in the middle, in boxes as in trees."""
    x, y = few_rows("normal", seed=4, n=12)
    model = BayesianTreeRegressor(max_depth=3, max_bins=8, search=search).fit(x, y)
    new = np.random.default_rng(5).normal(scale=1.5, size=(40, 2))
    draws = model.sample_trees(3000, rng=0)
    drawn = np.array([tree.value[tree.trees.find_leaves(new)[:, 0]] for tree in draws])
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(drawn.mean(axis=0) - model.predict(new)) < 5 * error + 1e-9).all()


# -- gaps and categories -----------------------------------------------------------------------


def test_gaps_lie_in_the_bin_of_the_median_and_have_an_indicator():
    x, y = few_rows("normal", n=7)
    x[[1, 4], 0] = np.nan
    seen = ~np.isnan(x[:, 0])
    bins = np.zeros(7, dtype=int)
    bins[seen] = rank_bins(x[seen, 0], 3)
    bins[~seen] = bins[np.flatnonzero(x[:, 0] == np.nanmedian(x[:, 0]))[0]]
    codes = np.column_stack([bins, ~seen, rank_bins(x[:, 1], 3)])
    trees = all_trees(codes, 3, 0.5, group=[0, 0, 1])
    log_evidence, posterior = posterior_of(trees, leaf_of("normal", y))
    model = BayesianTreeRegressor(max_bins=3).fit(x, y)
    assert float(model.log_evidence_) == pytest.approx(log_evidence, rel=1e-12)
    used = [sum(posterior[i] for i, t in enumerate(trees) if j in t.columns) for j in range(2)]
    np.testing.assert_allclose(model.column_probability_, used, rtol=1e-10)
    for tree in (model.best_tree_, *model.sample_trees(200, rng=0)):
        assert partition_of(tree, x) in {t.leaves for t in trees}


def test_categories_have_an_indicator_for_each_level_and_new_ones_are_gaps():
    x, y = few_rows("classes", seed=2, n=8)
    x[3, 1] = np.nan
    level = x[:, [1]]
    codes = np.column_stack([rank_bins(x[:, 0], 3), level != [0, 1, 2], np.isnan(level)])
    trees = all_trees(codes, 2, 0.5, group=[0, 1, 1, 1, 1])
    log_evidence, _ = posterior_of(trees, leaf_of("classes", y))
    model = BayesianTreeClassifier(max_depth=2, max_bins=3, columns=["number", "categorical"])
    model.fit(x, y)
    assert float(model.log_evidence_) == pytest.approx(log_evidence, rel=1e-12)
    unknown = model.predict_proba([[0.3, 7.0], [0.3, np.nan]])
    np.testing.assert_array_equal(unknown[0], unknown[1])
    for tree in model.sample_trees(200, rng=1):
        assert partition_of(tree, x) in {t.leaves for t in trees}
        leaves = tree.trees.find_leaves(np.array([[0.3, 7.0], [0.3, np.nan]]))
        assert leaves[0] == leaves[1]


# -- prunings of one tree ----------------------------------------------------------------------


def prunings_of(trees, x, codes, p, max_depth):
    """Return the prior and the leaves of each pruning of a tree."""
    places = trees.find_leaves(x)[:, 0]

    def begin(node, rows, depth):
        occupied = [len(set(codes[list(rows), c])) for c in range(codes.shape[1])]
        n_open = sum(count > 1 for count in occupied)
        found = [(1.0 - p if n_open and depth < max_depth else 1.0, frozenset([rows]))]
        if trees.column[node] < 0:
            return found
        share = p / (n_open * (occupied[trees.column[node]] - 1))
        parts = []
        for child in (trees.left[node], trees.right[node]):
            below = leaves_below(trees, child)
            inside = tuple(n for n in rows if places[n] in below)
            parts.append(begin(child, inside, depth + 1))
        for prior, leaves in parts[0]:
            found += [(share * prior * other, leaves | more) for other, more in parts[1]]
        return found

    return begin(0, tuple(range(len(x))), 0)


def leaves_below(trees, node):
    if trees.column[node] < 0:
        return {node}
    return leaves_below(trees, trees.left[node]) | leaves_below(trees, trees.right[node])


@pytest.mark.parametrize("kind", KINDS)
def test_prunings_are_those_of_the_deep_tree(kind):
    x, y = few_rows(kind, seed=6, n=9)
    model = model_of(kind, max_depth=3, max_bins=5, search="greedy").fit(x, y)
    codes, deep, leaf = codes_of(x, 5), model.trees_.trees, leaf_of(kind, y)
    found = prunings_of(deep, x, codes, 0.5, 3)
    logs = [np.log(p) + sum(map(leaf.log_evidence, leaves)) for p, leaves in found]
    log_evidence = np.logaddexp.reduce(logs)
    assert float(model.log_evidence_) == pytest.approx(log_evidence, rel=1e-12)
    assert model.log_evidence_.kind == "bound"
    posterior = np.exp(logs - log_evidence)
    assert model.best_tree_probability_ == pytest.approx(posterior.max(), rel=1e-10)
    assert partition_of(model.best_tree_, x) == found[int(np.argmax(posterior))][1]
    as_leaf = np.zeros(len(x))
    for weight, (_, leaves) in zip(posterior, found, strict=True):
        as_leaf += [weight * (tuple(range(len(x))) in leaves)] * len(x)
    probability = model.trees_.leaves.probability
    assert probability[0] == pytest.approx(as_leaf[0], rel=1e-10)
    passed = model.trees_.members(model.trees_.places(x))
    np.testing.assert_allclose(np.add.reduceat(probability[passed[1]], passed[0][:-1]), 1.0)


def test_prunings_use_columns_as_often_as_they_ask_for_them():
    x, y = few_rows("normal", seed=7, n=10)
    model = BayesianTreeRegressor(max_bins=6, search="greedy").fit(x, y)
    draws = model.sample_trees(4000, rng=0)
    used = np.mean([[j in tree.trees.column for j in range(2)] for tree in draws], axis=0)
    error = np.sqrt(used * (1.0 - used) / 4000)
    assert (np.abs(used - model.column_probability_) < 5 * error + 1e-3).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_prunings_are_a_part_of_all_trees(kind, seed):
    x, y = few_rows(kind, seed, n=20)
    whole = model_of(kind, max_bins=6, search="exact").fit(x, y)
    part = model_of(kind, max_bins=6, search="greedy").fit(x, y)
    assert float(part.log_evidence_) < float(whole.log_evidence_)
    assert whole.log_evidence_.comparable(part.log_evidence_)
    single = model_of(kind, max_depth=1, max_bins=6, search="greedy").fit(x, y)
    best = model_of(kind, max_depth=1, max_bins=6, search="exact").fit(x, y)
    assert float(single.log_evidence_) < float(best.log_evidence_)


# -- laws --------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", ["exact", "greedy"])
@pytest.mark.parametrize("kind", KINDS)
def test_frequencies_equal_repeated_rows(kind, search):
    x, y = few_rows(kind, seed=8, n=15)
    x[2, 0] = np.nan
    times = np.random.default_rng(0).integers(0, 4, 15)
    model = model_of(kind, max_bins=4, search=search)
    weighted = clone(model).fit(x, y, sample_weight=times)
    repeated = clone(model).fit(np.repeat(x, times, axis=0), np.repeat(y, times))
    assert float(weighted.log_evidence_) == pytest.approx(float(repeated.log_evidence_), rel=1e-11)
    assert weighted.log_evidence_.comparable(repeated.log_evidence_)
    same = weighted.column_probability_, repeated.column_probability_
    np.testing.assert_allclose(*same, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(answers(weighted, x), answers(repeated, x), rtol=1e-8)
    assert str(weighted.best_tree_) == str(repeated.best_tree_)


def answers(model, x):
    return model.predict_proba(x) if hasattr(model, "predict_proba") else model.predict(x)


@pytest.mark.parametrize("search", ["exact", "greedy"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_rows_and_columns_does_not_matter(kind, search):
    x, y = few_rows(kind, seed=9, n=15)
    model = model_of(kind, max_bins=4, search=search).fit(x, y)
    order = np.random.default_rng(1).permutation(15)
    rows = clone(model).fit(x[order], y[order])
    columns = clone(model).fit(x[:, ::-1], y)
    for other, table in ((rows, x), (columns, x[:, ::-1])):
        assert float(other.log_evidence_) == pytest.approx(float(model.log_evidence_), rel=1e-11)
        np.testing.assert_allclose(answers(other, table), answers(model, x), rtol=1e-8)
    reverse = columns.column_probability_[::-1]
    np.testing.assert_allclose(reverse, model.column_probability_, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("size", [1e-120, 1e-3, 1e120])
def test_the_unit_of_numbers_is_a_matter_of_scale(size):
    x, y = few_rows("normal", n=12)
    plain = BayesianTreeRegressor(max_bins=4).fit(x, y)
    scaled = BayesianTreeRegressor(max_bins=4).fit(x, size * y)
    expected = float(plain.log_evidence_) - 12 * np.log(size)
    assert float(scaled.log_evidence_) == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(scaled.predict(x), size * plain.predict(x), rtol=1e-9)


def test_any_increasing_function_of_a_column_gives_the_same_trees():
    x, y = few_rows("normal", n=12)
    plain = BayesianTreeRegressor(max_bins=4).fit(x, y)
    curved = BayesianTreeRegressor(max_bins=4).fit(np.exp(3.0 * x), y)
    assert float(curved.log_evidence_) == pytest.approx(float(plain.log_evidence_), rel=1e-13)


# -- special cases -----------------------------------------------------------------------------


@pytest.mark.parametrize("search", ["exact", "greedy"])
def test_depth_0_is_one_conjugate_leaf(search):
    x, y = few_rows("normal")
    model = BayesianTreeRegressor(max_depth=0, search=search).fit(x, y)
    learned = bayes(NormalGamma(y.mean(), 0.5, 2.0, y.var()), Normal, y)
    assert float(model.log_evidence_) == pytest.approx(float(learned.log_evidence), rel=1e-12)
    at = model.predict_dist(x[:3]).log_prob(1.5)
    np.testing.assert_allclose(at, learned.predictive.log_prob(1.5), rtol=1e-10)
    assert model.best_tree_.n_leaves == 1
    assert model.best_tree_probability_ == 1.0
    x, y = few_rows("poisson")
    model = BayesianTreeRegressor("poisson", max_depth=0, search=search).fit(x, y)
    learned = bayes(Gamma(1.0, 1.0 / y.mean()), Poisson, y)
    assert float(model.log_evidence_) == pytest.approx(float(learned.log_evidence), rel=1e-12)
    x, y = few_rows("classes")
    model = BayesianTreeClassifier(max_depth=0, search=search).fit(x, y)
    learned = bayes(Dirichlet(np.full(3, 0.5)), Categorical, y)
    assert float(model.log_evidence_) == pytest.approx(float(learned.log_evidence), rel=1e-12)


@pytest.mark.parametrize("search", ["exact", "greedy"])
def test_columns_that_say_nothing_change_nothing(search):
    x, y = few_rows("normal", n=12)
    plain = BayesianTreeRegressor(max_bins=4, search=search).fit(x, y)
    idle = np.column_stack([np.full(12, 7.0), x, np.full(12, np.nan)])
    model = BayesianTreeRegressor(max_bins=4, search=search).fit(idle, y)
    assert float(model.log_evidence_) == pytest.approx(float(plain.log_evidence_), rel=1e-13)
    assert (model.column_probability_[[0, 3]] == 0.0).all()
    idle[:, 3] = 5.0  # was always missing
    np.testing.assert_allclose(model.predict(idle), plain.predict(x), rtol=1e-12)


@pytest.mark.parametrize("search", ["exact", "greedy"])
@pytest.mark.parametrize("family", ["normal", "poisson"])
def test_one_row_and_equal_targets(family, search):
    model = BayesianTreeRegressor(family, search=search)
    one = clone(model).fit([[1.0, 2.0]], [3.0])
    assert np.isfinite(float(one.log_evidence_))
    assert one.best_tree_.n_leaves == 1
    x, _ = few_rows("normal", n=12)
    for value in (0.0, 3.0):
        same = clone(model).fit(x, np.full(12, value))
        assert np.isfinite(float(same.log_evidence_))
        assert np.isfinite(same.predict_dist(x).log_prob(value)).all()
        assert same.column_probability_.max() < 0.5


def test_equal_terms_are_chosen_by_order():
    x, y = few_rows("normal", n=12)
    model = BayesianTreeRegressor(max_bins=4).fit(np.column_stack([x[:, 0], x[:, 0]]), y)
    assert "x1" not in str(model.best_tree_)
    assert model.column_probability_[0] == pytest.approx(model.column_probability_[1], rel=1e-10)


def test_boxes_of_one_name_are_told_apart(monkeypatch):
    low = np.array([[0, 0], [1, 0], [0, 0]], dtype=np.uint16)
    high = np.array([[1, 1], [1, 1], [1, 1]], dtype=np.uint16)
    monkeypatch.setattr(box_levels, "_name_boxes", lambda boxes: np.zeros(len(boxes.low)))
    first, which = box_levels.join_boxes(Boxes(low, high))
    assert sorted(first) == [0, 1]
    assert which[0] == which[2] != which[1]


# -- what is predicted is a distribution --------------------------------------------------------


@pytest.mark.parametrize("search", ["exact", "greedy"])
def test_the_mixture_is_one_distribution(search):
    x, y = few_rows("normal", seed=3, n=20)
    found = BayesianTreeRegressor(max_bins=4, search=search).fit(x, y).predict_dist(x[:3])
    step = 0.002
    grid = ((np.arange(60_000) + 0.5) * step - 60.0)[:, None] * np.ones(3)  # middles of steps
    density = np.exp(found.log_prob(grid))
    np.testing.assert_allclose(density.sum(axis=0) * step, 1.0, rtol=1e-4)
    np.testing.assert_allclose((density * grid).sum(axis=0) * step, found.mean, atol=2e-3)
    at = np.array([-0.5, 1.0, 2.5])
    below = (density * (grid <= at)).sum(axis=0) * step
    np.testing.assert_allclose(found.cdf(at), below, atol=2e-5)
    for q in (1e-6, 0.05, 0.5, 0.9, 1.0 - 1e-9):
        np.testing.assert_allclose(found.cdf(found.quantile(q)), q, rtol=1e-9)
    assert (found.quantile(np.array([0.0, 1.0, 0.0])) == [-np.inf, np.inf, -np.inf]).all()
    draws = found.sample(20_000, rng=0)
    error = 5 * found.std / np.sqrt(20_000)
    assert (np.abs(draws.mean(axis=0) - found.mean) < error).all()
    assert np.abs((draws <= found.median).mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(20_000)


def test_quantiles_of_counts_are_the_least_that_reach_the_level():
    x, y = few_rows("poisson", seed=3, n=20)
    found = BayesianTreeRegressor("poisson", max_bins=4).fit(x, y).predict_dist(x)
    for q in (0.01, 0.5, 0.99):
        at = found.quantile(q)
        assert (found.cdf(at) >= q).all()
        assert ((at == 0) | (found.cdf(np.maximum(at - 1.0, 0.0)) < q)).all()
    assert (found.quantile(1.0) == np.inf).all()
    counts = np.arange(400.0)[:, None] * np.ones(20)
    np.testing.assert_allclose(np.exp(found.log_prob(counts)).sum(axis=0), 1.0, rtol=1e-6)


# -- numbers of real data ----------------------------------------------------------------------


def test_diabetes():
    """The numbers were found by a program of its own, before this one was written."""
    x, y = load_diabetes(return_X_y=True, as_frame=True)
    model = BayesianTreeRegressor(max_depth=3, max_bins=8).fit(x, y)
    assert float(model.log_evidence_) == pytest.approx(-2436.762, abs=5e-4)
    used = dict(zip(x, model.column_probability_, strict=True))
    sought = {"bmi": 1.000, "bp": 0.997, "s3": 0.945, "s5": 1.000}
    for name, probability in used.items():
        if name in sought:
            assert probability == pytest.approx(sought[name], abs=5e-4)
        else:
            assert probability < 0.1


# -- what is refused ---------------------------------------------------------------------------


def test_what_is_beyond_the_budget_is_refused_with_the_remedy(monkeypatch):
    x, y = few_rows("normal", n=20)
    monkeypatch.setattr("posteriori.tree.bayesian_tree.BUDGET", 1e3)
    with pytest.raises(ValueError, match=r"fewer bins, a smaller depth, or search='greedy'"):
        BayesianTreeRegressor(search="exact").fit(x, y)
    assert BayesianTreeRegressor().fit(x, y).search_ == "greedy"


def test_the_work_is_estimated_before_it_is_done():
    x = np.random.default_rng(0).normal(size=(500, 40))
    columns = ask_columns(x, np.zeros(40, dtype=int), 16, None)
    assert steps_of_all_trees(columns, 500, 3) > BUDGET
    assert steps_of_all_trees(columns, 500, 1) < BUDGET
    few = ask_columns(x[:2, :2], np.zeros(2, dtype=int), 16, None)
    assert steps_of_all_trees(few, 2, 60) < 1e6  # there are not more boxes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_depth": -1}, "max_depth must be a whole number from 0 to 60"),
        ({"max_bins": 1}, "max_bins must be a whole number from 2"),
        ({"split_probability": 1.0}, "split_probability must be a number between 0 and 1"),
        ({"search": "best"}, "search must be one of"),
        ({"family": "gamma"}, "family must be 'normal' or 'poisson'"),
        ({"prior": Gamma(1.0, 1.0)}, "prior must be a NormalGamma"),
        ({"prior": NormalGamma([0.0, 1.0], 1.0, 1.0, 1.0)}, "one belief for all leaves"),
        ({"columns": "text"}, "columns must be 'number' or 'categorical'"),
    ],
)
def test_parameters_are_refused_in_words(options, words):
    x, y = few_rows("normal")
    with pytest.raises((ValueError, TypeError), match=words):
        BayesianTreeRegressor(**options).fit(x, y)


def test_targets_and_tables_are_refused_in_words():
    x, y = few_rows("normal")
    with pytest.raises(ValueError, match="needs counts >= 0 as y, got -1 in row 2"):
        BayesianTreeRegressor("poisson").fit(x, np.where(np.arange(7) == 2, -1.0, 1.0))
    with pytest.raises(ValueError, match="infinity"):
        BayesianTreeRegressor().fit(np.where(np.arange(14).reshape(7, 2) == 3, np.inf, x), y)
    with pytest.raises(ValueError, match="at least two classes"):
        BayesianTreeClassifier().fit(x, np.zeros(7, dtype=int))
    with pytest.raises(ValueError, match="n must be a whole number >= 0"):
        BayesianTreeRegressor().fit(x, y).sample_trees(-1)
