"""Forests: out of bag by hand, intervals by brute force, scikit-learn's checks."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier as PeerForest

from posteriori.ensemble import RandomForestClassifier, RandomForestRegressor
from posteriori.ensemble.forests.forest_growth import draw_counts
from posteriori.ensemble.forests.forest_tails import VoteSharpness, learn_noise
from posteriori.ensemble.forests.jackknife import jackknife_interval
from tests.scikit_learn_checks import every_check


def declared(estimator):
    reason = "bootstrap samples of repeated rows are other draws"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@every_check(
    [
        RandomForestClassifier(10, random_state=0),
        RandomForestRegressor(10, random_state=0),
        RandomForestClassifier(10, criterion="entropy", max_features=None, random_state=0),
        RandomForestRegressor(10, max_bins=None, min_samples_leaf=1, random_state=0),
    ],
    declared,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def rows(seed=0, n=150):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] + 0.5 * rng.normal(size=n) * (1.0 + (X[:, 1] > 0))


@pytest.mark.topic("000/K12", "002/K15")
def test_rows_out_of_bag_are_predicted_by_the_trees_that_have_not_seen_them():
    X, y = rows()
    model = RandomForestRegressor(25, random_state=3).fit(X, y)
    leaves = model.trees_.find_leaves(X)
    own = 25 * model.values_[model._places[leaves], 0] * model._unit.size + model._unit.centre
    absent = np.stack([draw_counts(np.ones(len(y)), int(s)) == 0 for s in model._seeds], axis=1)
    expected = [own[n, absent[n]].mean() if absent[n].any() else np.nan for n in range(len(y))]
    np.testing.assert_allclose(model.oob_prediction_, expected)
    np.testing.assert_allclose(model.predict(X), own.mean(axis=1))
    assert 0.3 < absent.mean() < 0.43  # 1/e = 0.37


@pytest.mark.topic("002/K15")
def test_votes_are_averages_of_leaves():
    X, y = rows()
    labels = np.where(y > 0, "high", "low")
    model = RandomForestClassifier(15, random_state=1, min_samples_leaf=4).fit(X, labels)
    leaves = model.trees_.find_leaves(X)
    shares = model.values_[model._places[leaves]].sum(axis=1)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict_proba(X), model._sharpness.probabilities(shares))


@pytest.mark.topic("002/K15")
def test_full_trees_fit_the_rows_that_they_are_grown_from():
    X, y = rows()
    labels = (y > 0).astype(int)
    model = RandomForestClassifier(9, random_state=0).fit(X, labels)
    leaves = model.trees_.find_leaves(X)
    for t, seed in enumerate(model._seeds):
        drawn = draw_counts(np.ones(len(y)), int(seed)) > 0
        share = 9 * model.values_[model._places[leaves[drawn, t]]]
        assert (share.argmax(axis=1) == labels[drawn]).all()
        assert (share.max(axis=1) == 1.0).all()


def test_an_interval_is_made_of_all_rows_left_out_once():
    X, y = rows(n=40)
    model = RandomForestRegressor(12, random_state=5).fit(X, y)
    new = np.random.default_rng(1).normal(size=(7, 4))
    leaves = model.trees_.find_leaves(new)
    own = 12 * model.values_[model._places[leaves], 0] * model._unit.size + model._unit.centre
    ends = []
    for i in range(len(y)):
        trees = [t for t, s in enumerate(model._seeds) if draw_counts(np.ones(40), int(s))[i] == 0]
        if trees:
            mean, missed = own[:, trees].mean(axis=1), abs(y[i] - model.oob_prediction_[i])
            ends.append((mean - missed, mean + missed))
    low, high = np.sort(np.array(ends), axis=0)[:, 0], np.sort(np.array(ends), axis=0)[:, 1]
    n, alpha = len(ends), 0.2
    found = model.predict_interval(new, 1 - alpha)
    np.testing.assert_allclose(found[0], low[int(np.floor(alpha * (n + 1))) - 1])
    np.testing.assert_allclose(found[1], high[int(np.ceil((1 - alpha) * (n + 1))) - 1])


def test_frequencies_are_repeated_rows_in_an_interval():
    rng = np.random.default_rng(0)
    w = rng.integers(1, 4, 30)
    residuals, predictions, seeds = rng.random(30), rng.normal(size=(5, 1)), np.array([7])
    absent = draw_counts(w.astype(float), 7) == 0
    found = jackknife_interval(
        predictions, np.where(absent, residuals, np.nan), w.astype(float), seeds, 0.7
    )
    again = np.sort(np.repeat(residuals[absent], w[absent]))
    place = int(np.ceil(0.7 * (len(again) + 1))) - 1
    np.testing.assert_allclose(found[1], predictions[:, 0] + again[place])
    np.testing.assert_allclose(found[0], predictions[:, 0] - again[place])


def test_too_few_rows_for_a_mass_have_endless_intervals():
    low, high = (
        RandomForestRegressor(20, random_state=0)
        .fit(*rows(n=6))
        .predict_interval(np.zeros((2, 4)), 0.99)
    )
    assert np.isinf(low).all()
    assert np.isinf(high).all()


@pytest.mark.slow
def test_intervals_and_distributions_cover():
    covered, inside = [], []
    for seed in range(20):
        X, y = rows(seed, 1200)
        model = RandomForestRegressor(random_state=seed).fit(X[:400], y[:400])
        low, high = model.predict_interval(X[400:], 0.9)
        covered.append(((low <= y[400:]) & (y[400:] <= high)).mean())
        low, high = model.predict_dist(X[400:]).interval(0.9)
        inside.append(((low <= y[400:]) & (y[400:] <= high)).mean())
    assert np.mean(covered) >= 0.8  # the theorem
    assert 0.87 < np.mean(covered) < 0.95
    assert 0.86 < np.mean(inside) < 0.94


def test_noise_is_the_most_likely_of_those_tried():
    rng = np.random.default_rng(0)
    variance = rng.gamma(2.0, size=4000)
    residual = 1.5 * np.sqrt(variance) * rng.standard_t(5, 4000)
    noise = learn_noise(residual, variance, np.ones(4000))
    assert noise.share == 0.0
    assert noise.tail in (0.2, 1 / 3, 0.125)
    assert noise.width == pytest.approx(1.5, rel=0.1)
    flat = learn_noise(rng.normal(size=4000), variance, np.ones(4000))
    assert flat.share == 1.0
    assert flat.tail <= 1 / 15


def test_sharpness_keeps_the_order_of_classes_and_adds_up_to_one():
    shares = np.array([[1.0, 0.0, 0.0], [0.5, 0.3, 0.2]])
    p = VoteSharpness(0.01, 2.0).probabilities(shares)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p > 0).all()
    np.testing.assert_allclose(p[1, 0] / p[1, 1], (0.51 / 0.31) ** 2)


def test_a_seed_decides_and_threads_do_not(monkeypatch):
    X, y = rows()
    answers = []
    for threads in ("1", "2", "1"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        answers.append(RandomForestRegressor(9, random_state=4).fit(X, y).predict(X))
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])
    other = RandomForestRegressor(9, random_state=5).fit(X, y).predict(X)
    assert (other != answers[0]).any()


def test_ctrl_c_keeps_the_trees_so_far(monkeypatch):
    X, y = rows()
    count = iter(range(100))

    def stop(self, text):
        if next(count) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("posteriori.ensemble.forests.forest_growth._MOST_AT_ONCE", 3)
    monkeypatch.setattr("posteriori.ensemble.forests.forest_growth.Progress.say", stop)
    with pytest.warns(UserWarning, match="9 of 50 trees"):
        model = RandomForestRegressor(50, random_state=0).fit(X, y)
    assert len(model.trees_.roots) == 9
    assert np.isfinite(model.predict(X)).all()


def test_how_many_trees_grow_in_one_call_does_not_matter(monkeypatch):
    X, y = rows()
    labels = (y > 0) + (y > 1.0)
    whole, parts = [], []
    for models, at_once in ((whole, 50), (parts, 4)):
        monkeypatch.setattr("posteriori.ensemble.forests.forest_growth._MOST_AT_ONCE", at_once)
        models.append(RandomForestRegressor(10, random_state=0).fit(X, y))
        models.append(RandomForestClassifier(10, random_state=0).fit(X, labels))
        models.append(RandomForestClassifier(10, random_state=0).fit(X, labels > 0))
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one.trees_.roots, other.trees_.roots)
        np.testing.assert_array_equal(one.trees_.threshold, other.trees_.threshold)
        np.testing.assert_allclose(one.oob_log_densities_, other.oob_log_densities_, rtol=1e-9)
        np.testing.assert_allclose(one.feature_importances_, other.feature_importances_)
        np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-12)


@pytest.mark.topic("002/K9")
def test_gaps_and_new_levels_are_predicted():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 6, 200).astype(float)])
    y = X[:, 0] + 2.0 * np.isin(X[:, 1], [1, 4])
    X[rng.random(X.shape) < 0.1] = np.nan
    model = RandomForestRegressor(20, columns=["number", "categorical"], random_state=0).fit(X, y)
    p = model.predict([[0.0, 1.0], [0.0, 2.0], [0.0, 9.0], [np.nan, np.nan]])
    assert np.isfinite(p).all()
    assert p[0] > p[1] + 1.0


def test_targets_that_are_all_equal():
    X, _ = rows()
    model = RandomForestRegressor(5, random_state=0).fit(X, np.full(150, 3.5))
    np.testing.assert_array_equal(model.predict(X), 3.5)
    assert np.isfinite(model.predict_dist(X[:4]).log_prob(np.full(4, 3.5))).all()


@pytest.mark.parametrize("power", [-60, 0, 90])
def test_scaling_by_powers_of_two_scales_predictions(power):
    X, y = rows()
    one = RandomForestRegressor(7, random_state=0).fit(X, y)
    many = RandomForestRegressor(7, random_state=0).fit(X, y * 2.0**power)
    np.testing.assert_array_equal(many.predict(X), one.predict(X) * 2.0**power)
    np.testing.assert_allclose(
        many.predict_dist(X).std, one.predict_dist(X).std * 2.0**power, rtol=1e-12
    )


@pytest.mark.parametrize("wrong", [0, -1.0, "half", 0.0])
def test_columns_that_cannot_be_tried_are_refused(wrong):
    with pytest.raises(ValueError, match="max_features must be a share"):
        RandomForestRegressor(max_features=wrong).fit(*rows())


def test_importances_name_the_columns_that_matter():
    X, y = rows(n=400)
    importance = (
        RandomForestRegressor(30, max_features=None, random_state=0).fit(X, y).feature_importances_
    )
    assert importance.sum() == pytest.approx(1.0)
    assert importance.argmax() == 0
    assert importance[0] > 0.5


@pytest.mark.slow
def test_accuracy_is_that_of_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:400], order[400:]
    ours = (
        RandomForestClassifier(300, random_state=0).fit(X[train], y[train]).score(X[test], y[test])
    )
    theirs = PeerForest(300, random_state=0).fit(X[train], y[train]).score(X[test], y[test])
    assert abs(ours - theirs) < 0.02


def test_unseen_density_of_the_forest_is_near_that_of_new_rows():
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(random_state=0).fit(X[:300], y[:300])
    new = model.predict_dist(X[300:]).log_prob(y[300:])
    assert model.oob_log_density_ == pytest.approx(new.mean(), abs=4 * new.std() / np.sqrt(142))


@pytest.mark.parametrize(("noise", "leaf"), [(0.0, 1.0), (0.6, 11.0)])
def test_learned_leaves_are_large_where_labels_are_noisy(noise, leaf):
    """Without noise a chessboard is to be told, with it one half from the other."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3200, 8))
    black = np.floor(6 * X[:, :2]).sum(axis=1) % 2
    label = X[:, 0] + X[:, 1] + noise * rng.normal(size=3200) > 1.0 if noise else black
    model = RandomForestClassifier(30, min_samples_leaf="learned", random_state=0).fit(X, label)
    assert model.min_samples_leaf_ == leaf  # √3200/5 = 11.3
    plain = RandomForestClassifier(30, min_samples_leaf=leaf, random_state=0).fit(X, label)
    np.testing.assert_array_equal(model.predict_proba(X[:50]), plain.predict_proba(X[:50]))


def test_few_rows_keep_small_leaves():
    X, y = rows()
    assert RandomForestRegressor(3, min_samples_leaf="learned").fit(X, y).min_samples_leaf_ == 5.0


def test_a_forest_takes_few_bytes_a_node_however_many_classes():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(500, 3)), rng.integers(40, size=500)
    model = RandomForestClassifier(20, random_state=0).fit(X, labels)
    nodes = [array for array in model.trees_.arrays if len(array) == len(model.trees_.column)]
    size = sum(array.nbytes for array in [*nodes, model._places, model.values_])
    assert size / len(model.trees_.column) < 60  # beside 320 for a share of each class


def test_without_rows_that_a_tree_has_left_out_intervals_are_infinite():
    unknown = np.full(2, np.nan)
    found = jackknife_interval(np.ones((3, 1)), unknown, np.ones(2), np.zeros(1, dtype=int), 0.9)
    np.testing.assert_array_equal(found, [[-np.inf] * 3, [np.inf] * 3])
