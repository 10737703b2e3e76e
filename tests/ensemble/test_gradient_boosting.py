"""Boosting against slopes by finite differences, rounds by hand, and a plain ensemble in NumPy."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from posteriori.distributions import NegativeBinomial, Normal, Poisson, StudentT
from posteriori.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from posteriori.ensemble.gradient_boosting import boosting_members, loss_slopes
from posteriori.ensemble.gradient_boosting.left_out_noise import fit_spread, fit_tail, fit_width
from posteriori.ensemble.gradient_boosting.losses import (
    CountLoss,
    LogisticLoss,
    SoftmaxLoss,
    StudentLoss,
)
from posteriori.numerics.warnings import ConvergenceWarning
from tests.scikit_learn_checks import every_check

PLAIN = {"n_members": 1, "subsample": 1.0, "max_features": 1.0, "max_bins": None}


def declared(estimator):
    if estimator.n_members == 1:
        return {}
    reason = (
        "folds are made of rows: a repeated row may be left out by another member than its copy"
    )
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@every_check(
    [
        GradientBoostingClassifier(8, 0.3, n_members=2, random_state=0),
        GradientBoostingRegressor("student", 8, 0.3, n_members=2, random_state=0),
        GradientBoostingClassifier(20, **PLAIN),
        GradientBoostingRegressor("normal", 20, **PLAIN),
        GradientBoostingRegressor("log student", 8, 0.3, n_members=2, random_state=0),
    ],
    declared,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def rows(seed=0, n=200):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_t(5, size=n)


def test_threads_change_nothing(monkeypatch):
    """With many rows they divide slopes, sums and the steps of leaves."""
    X, y = rows(n=21_000)
    answers = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        model = GradientBoostingRegressor("student", 5, 0.3, n_members=1, random_state=0)
        answers.append(model.fit(X, y).predict(X))
    np.testing.assert_allclose(answers[1], answers[0], rtol=1e-12)
    assert np.std(y - answers[0]) < 0.9 * np.std(y)


# -- slopes and information ----------------------------------------------------------------------

ALL = np.arange(6, dtype=np.int32)
F_NUMBERS = np.array([[0.3, -1.0, 2.0, 0.0, 0.5, 1.0], [0.1, -0.4, 0.9, 0.0, -1.0, 0.3]])
F_COUNTS = np.array([[0.3, -1.0, 2.0, 0.0, 0.5, 1.0]])
F_CLASSES = np.random.default_rng(1).normal(size=(4, 6))
NUMBERS = np.array([0.5, -3.0, 2.1, 9.0, 0.4, -7.0])
COUNTS = np.array([0.0, 1.0, 12.0, 3.0, 2.0, 0.0])

CASES = {
    "normal": (StudentLoss(True), F_NUMBERS, NUMBERS, 0.0),
    "student": (StudentLoss(False), F_NUMBERS, NUMBERS, 0.2),
    "poisson": (CountLoss(True), F_COUNTS, COUNTS, 0.0),
    "negative binomial": (CountLoss(False), F_COUNTS, COUNTS, 0.7),
    "two classes": (LogisticLoss(), F_COUNTS, np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0]), 0.0),
    "classes": (SoftmaxLoss(3), F_CLASSES, np.array([0.0, 1.0, 2.0, 0.0, 2.0, 1.0]), 0.0),
}


def slopes(case, k, weight, y=None):
    loss, f, target, shape = CASES[case]
    f = f.copy()
    loss.begin_round(f)
    g, h = np.zeros(len(ALL)), np.zeros(len(ALL))
    loss.slopes[k](ALL, target if y is None else y, weight, f, k, shape, g, h)
    return g, h


@pytest.mark.topic("002/L17")
@pytest.mark.parametrize("case", CASES)
def test_slopes_are_those_of_the_log_density(case):
    loss, f, y, shape = CASES[case]
    weight, step = np.array([1.0, 2.0, 1.0, 0.5, 3.0, 1.0]), 1e-6
    for k in range(len(loss.slopes)):
        ends = []
        for sign in (1.0, -1.0):
            moved = f.copy()
            moved[k] += sign * step
            ends.append(loss.log_density(y, moved, shape))
        expected = weight * (ends[0] - ends[1]) / (2.0 * step)
        np.testing.assert_allclose(slopes(case, k, weight)[0], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("case", ["normal", "student", "poisson", "negative binomial"])
def test_information_is_the_mean_square_of_slopes(case):
    """By Monte Carlo, with five standard errors."""
    loss, f, _, shape = CASES[case]
    rng, draws = np.random.default_rng(2), 40_000
    if isinstance(loss, StudentLoss):
        scale = np.exp(f[1])
        noise = rng.standard_t(1 / shape, (draws, 6)) if shape else rng.normal(size=(draws, 6))
        y = f[0] + scale * noise
    else:
        rate = np.exp(f[0]) * (rng.gamma(1 / shape, shape, (draws, 6)) if shape else 1.0)
        y = rng.poisson(rate, (draws, 6)).astype(float)
    for k in range(len(loss.slopes)):
        squares = np.array([slopes(case, k, np.ones(6), one)[0] ** 2 for one in y])
        error = squares.std(axis=0) / np.sqrt(draws)
        expected = slopes(case, k, np.ones(6))[1]
        assert (np.abs(squares.mean(axis=0) - expected) < 5 * error).all()


def test_information_of_classes_is_that_of_their_probabilities():
    p = 1.0 / (1.0 + np.exp(-F_COUNTS[0]))
    np.testing.assert_allclose(slopes("two classes", 0, np.ones(6))[1], p * (1.0 - p))
    q = np.exp(F_CLASSES[:3]) / np.exp(F_CLASSES[:3]).sum(axis=0)
    for k in range(3):
        np.testing.assert_allclose(slopes("classes", k, np.ones(6))[1], 1.5 * q[k] * (1.0 - q[k]))


def test_no_weights_are_ones():
    g, h = np.zeros(6), np.zeros(6)
    loss_slopes.count_slopes(ALL, COUNTS, np.zeros(0), F_COUNTS, 0, 0.0, g, h)
    np.testing.assert_array_equal(g, slopes("poisson", 0, np.ones(6))[0])


# -- rounds --------------------------------------------------------------------------------------


@pytest.mark.topic("002/L17")
def test_one_round_is_a_tree_of_residuals():
    """Two groups of x: the tree parts them, and moves each by the shrunken mean of y − F."""
    X = np.array([[0.0]] * 4 + [[1.0]] * 6)
    y = np.array([1.0, 2.0, 3.0, 2.0, 8.0, 9.0, 10.0, 9.0, 8.5, 9.5])
    model = GradientBoostingRegressor("normal", 1, 0.5, **PLAIN).fit(X, y)
    residual = y - y.mean()
    sums = np.array([residual[:4].sum(), residual[4:].sum()])
    steps = 0.5 * sums / (np.array([4, 6]) + 1.0)  # λ = 1
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), y.mean() + steps, rtol=1e-12)
    # the scale is fitted to the residuals that are left, and moved by the second tree
    z = y - model.predict(X)
    scale = model.predict_dist(X).variance ** 0.5
    assert np.mean((z / scale) ** 2) == pytest.approx(1.0)


def boost_in_numpy(x, y, rounds, rate, leaves):
    """Return the log odds of one column's rows: every cut is tried, best leaf first."""
    f = np.full(len(y), np.log((y.sum() + 0.5) / (len(y) - y.sum() + 0.5)))
    for _ in range(rounds):
        p = 1.0 / (1.0 + np.exp(-f))
        g, h = y - p, p * (1.0 - p)
        parts = [np.ones(len(y), dtype=bool)]
        while len(parts) < leaves:
            gains = [best_cut_in_numpy(x, g, h, part) for part in parts]
            best = int(np.argmax([gain for gain, _ in gains]))
            if gains[best][0] <= 0:
                break
            left = gains[best][1]
            parts[best : best + 1] = [parts[best] & left, parts[best] & ~left]
        for part in parts:
            f[part] += rate * np.clip(g[part].sum() / (h[part].sum() + 1.0), -1.0, 1.0)
    return f


def best_cut_in_numpy(x, g, h, part):
    def score(rows):
        return g[rows].sum() ** 2 / (h[rows].sum() + 1.0)

    best, chosen = 0.0, None
    for j in range(x.shape[1]):
        for cut in np.unique(x[part, j])[:-1]:
            left = x[:, j] <= cut
            a, b = part & left, part & ~left
            if min(h[a].sum(), h[b].sum()) < 1.0:
                continue
            gain = score(a) + score(b) - score(part)
            if gain > best:
                best, chosen = gain, left
    return best, chosen


@pytest.mark.topic("002/L17")
def test_boosting_is_that_of_a_plain_loop():
    """Steps are those of unrounded slopes, so that only a tie could part the two."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * rng.normal(size=60) > 0.3).astype(int)
    model = GradientBoostingClassifier(8, 0.3, max_leaves=4, **PLAIN).fit(X, y)
    expected = boost_in_numpy(X, y, 8, 0.3, 4)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.topic("002/L17")
@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize(
    "family", ["student", "normal", "log student", "poisson", "negative binomial", "classes"]
)
def test_the_loss_of_the_rows_learned_from_never_rises(family, rate):
    X, y = rows()
    losses = []
    for rounds in (1, 2, 3, 5, 8, 13, 21, 34):
        if family == "classes":
            labels = np.digitize(y, [-0.7, 0.5])
            model = GradientBoostingClassifier(rounds, rate, max_leaves=6, **PLAIN).fit(X, labels)
        else:
            counts = np.random.default_rng(1).poisson(np.exp(y)).astype(float)
            target = {"student": y, "normal": y, "log student": np.exp(y)}.get(family, counts)
            model = GradientBoostingRegressor(family, rounds, rate, max_leaves=6, **PLAIN)
            model.fit(X, target)
        losses.append(-model.left_out_log_density_)  # of the rows seen: none are left out
    assert (np.diff(losses) < 0).all()


def test_predictions_are_start_and_leaves():
    X, y = rows()
    model = GradientBoostingRegressor(n_estimators=15, random_state=0).fit(X, y)
    leaves = model.trees_.find_leaves(X)
    f = model.start_ + model.values_[leaves].sum(axis=1)
    dist = model.predict_dist(X)
    np.testing.assert_allclose(model.predict(X), model._unit.centre + f[:, 0] * model._unit.size)
    centre = dist.location if isinstance(dist, StudentT) else dist.mean
    np.testing.assert_allclose(centre, model.predict(X))
    assert len(model.n_rounds_) == 5


# -- members, and rows left out ------------------------------------------------------------------


def test_folds_share_small_and_large_targets():
    y = np.random.default_rng(0).normal(size=103)
    folds = boosting_members._deal_folds(y, 5, np.random.default_rng(1))
    assert set(np.bincount(folds)) <= {20, 21}
    ordered = folds[np.argsort(y)][:100].reshape(20, 5)
    assert (np.sort(ordered, axis=1) == np.arange(5)).all()


def test_a_fold_ends_the_rounds_of_its_member():
    rng = np.random.default_rng(0)
    model = GradientBoostingRegressor(learning_rate=0.2, random_state=0)
    noise = clone(model).fit(rng.normal(size=(150, 3)), rng.normal(size=150))
    signal = clone(model).fit(*rows(n=400))
    assert noise.n_rounds_.max() < signal.n_rounds_.min() < 1000


def test_widths_tails_and_dispersions_are_most_likely():
    rng = np.random.default_rng(3)
    z, weight = 2.0 * rng.standard_t(5, size=3000), np.ones(3000)
    tail, width = fit_tail(z, weight)
    near = [
        StudentT(1 / tail, scale=width * factor).log_prob(z).sum() for factor in (0.99, 1.0, 1.01)
    ]
    assert np.argmax(near) == 1
    assert tail in (1 / 3, 1 / 5, 1 / 8)
    assert fit_width(z, weight, 0.0) == pytest.approx(np.sqrt(np.mean(z**2)))
    mean = np.exp(rng.normal(size=3000))
    y = rng.poisson(mean * rng.gamma(1.25, 0.8, size=3000)).astype(float)
    spread = fit_spread(y, mean, weight)
    near = [
        NegativeBinomial(1 / (spread * factor), mean=mean).log_prob(y).sum()
        for factor in (0.98, 1.0, 1.02)
    ]
    assert np.argmax(near) == 1


@pytest.mark.parametrize("family", ["student", "normal", "poisson", "negative binomial"])
def test_families_predict_their_distributions(family):
    X, y = rows()
    counts = np.random.default_rng(1).poisson(np.exp(y)).astype(float)
    model = GradientBoostingRegressor(family, 40, random_state=0)
    model.fit(X, y if family in ("student", "normal") else counts)
    kinds = {"student": (StudentT, Normal), "normal": Normal, "poisson": Poisson}
    dist = model.predict_dist(X)
    assert isinstance(dist, kinds.get(family, NegativeBinomial))
    np.testing.assert_allclose(dist.mean, model.predict(X))
    assert not hasattr(model, "log_evidence_")


@pytest.mark.slow
def test_intervals_cover_what_they_claim():
    def draw(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2.0, 2.0, size=(n, 4))
        scale = np.exp(0.7 * X[:, 1])
        return X, np.sin(2.0 * X[:, 0]) + scale * rng.normal(size=n)

    model = GradientBoostingRegressor(random_state=0).fit(*draw(3000, 1))
    X, y = draw(10_000, 2)
    low, high = model.predict_dist(X).interval(0.9)
    assert 0.88 < np.mean((low <= y) & (y <= high)) < 0.92


# -- laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [-40, 7, 100])
def test_powers_of_two_scale_predictions_to_the_bit(power):
    X, y = rows()
    factor = 2.0**power
    one, two = (
        GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, part)
        for part in (y, factor * y)
    )
    a, b = one.predict_dist(X), two.predict_dist(X)
    np.testing.assert_array_equal(factor * a.mean, b.mean)
    np.testing.assert_array_equal(factor**2 * a.variance, b.variance)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("factor", [3.0, 0.1])
def test_other_factors_scale_predictions_to_rounding(factor, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3))
    y = X[:, 0] + np.sin(X[:, 1]) + 0.3 * rng.normal(size=150)
    one, other = (
        GradientBoostingRegressor(n_estimators=100, random_state=0).fit(X, part).predict_dist(X)
        for part in (y, factor * y)
    )
    np.testing.assert_allclose(other.mean, factor * one.mean, atol=1e-12 * factor)
    np.testing.assert_allclose(other.variance, factor**2 * one.variance, rtol=1e-12)


@pytest.mark.parametrize("family", ["normal", "negative binomial", "classes"])
def test_weights_are_repeated_rows_where_nothing_is_random(family):
    X, y = rows(n=80)
    X = X.round(1)
    weight = np.random.default_rng(5).integers(1, 4, size=80)
    times = np.repeat(np.arange(80), weight)
    if family == "classes":
        target, model = (y > 0).astype(int), GradientBoostingClassifier(10, **PLAIN)
    else:
        target = y if family == "normal" else np.floor(np.exp(y))
        model = GradientBoostingRegressor(family, 10, **PLAIN)
    one = clone(model).fit(X, target, sample_weight=weight).predict_dist(X)
    two = clone(model).fit(X[times], target[times]).predict_dist(X)
    np.testing.assert_allclose(one.log_prob(target), two.log_prob(target), rtol=1e-7, atol=1e-9)


def test_the_same_seed_gives_the_same_answer_and_copies_agree():
    X, y = rows()
    one, two = (GradientBoostingRegressor(n_estimators=20, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.fit(X, y).predict(X), two.fit(X, y).predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict(X), one.predict(X))
    assert clone(one).get_params() == one.get_params()


def test_classes_are_found_and_probabilities_add_up():
    X, y = rows(n=400)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-0.7, 0.5])]
    model = GradientBoostingClassifier(learning_rate=0.3, random_state=0).fit(X, labels)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert model.score(X, labels) > 0.85
    assert model.decision_function(X).shape == (400, 3)
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X), atol=1e-9)


def test_gaps_and_new_levels_are_predicted():
    X, y = rows(n=300)
    X[:, 2] = np.random.default_rng(0).integers(0, 4, size=300)
    X[::7, 0] = np.nan
    y = y + 2.0 * (X[:, 2] == 2)
    kinds = ["number", "number", "categorical"]
    model = GradientBoostingRegressor(learning_rate=0.3, columns=kinds, random_state=0).fit(X, y)
    new = np.array([[np.nan, 0.0, 9.0], [np.nan, 0.0, np.nan]])
    predicted = model.predict(new)
    assert np.isfinite(predicted).all()
    assert predicted[0] == predicted[1]  # a level that is new is missing


# -- hard rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("members", [1, 5])
def test_columns_without_anything_to_cut_leave_a_constant_model(members):
    X = np.column_stack([np.full(30, 2.0), np.full(30, np.nan)])
    y = np.random.default_rng(0).normal(size=30)
    model = GradientBoostingRegressor(n_estimators=5, n_members=members, random_state=0).fit(X, y)
    assert np.ptp(model.predict(X)) == 0.0
    assert model.predict(X)[0] == pytest.approx(y.mean(), abs=0.1)


def test_equal_targets_have_a_positive_scale():
    X, _ = rows(n=30)
    dist = GradientBoostingRegressor(n_estimators=50, random_state=0).fit(X, np.full(30, 7.0))
    assert (dist.predict_dist(X).variance > 0).all()
    np.testing.assert_allclose(dist.predict(X), 7.0)


def test_counts_that_are_all_zero_have_a_small_mean():
    X, _ = rows(n=60)
    for family in ("poisson", "negative binomial"):
        model = GradientBoostingRegressor(family, 30, random_state=0).fit(X, np.zeros(60))
        assert (model.predict(X) > 0).all()
        assert (model.predict(X) < 0.05).all()


def test_few_rows_of_large_and_small_targets():
    X, y = rows(n=12)
    for factor in (1e140, 1e-140):
        dist = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, factor * y)
        assert np.isfinite(dist.predict(X)).all()


@pytest.mark.parametrize(
    ("model", "X", "y", "says"),
    [
        (GradientBoostingRegressor("poisson"), np.eye(3), [1, -1, 2], "got -1 in row 1"),
        (GradientBoostingRegressor("poisson"), np.eye(3), [1, 0.5, 2], "counts 0, 1, 2"),
        (GradientBoostingRegressor(), np.eye(3), [1e300, 0.0, -1e300], "y"),
        (GradientBoostingRegressor(), np.eye(3), [1e-300, 0.0, -1e-300], "y"),
        (GradientBoostingRegressor(), np.eye(1), [1.0], "at least 2 rows"),
        (GradientBoostingRegressor(), [[np.inf], [1.0]], [1.0, 2.0], "infinity"),
        (GradientBoostingRegressor(), np.eye(2), [np.inf, 2.0], "infinity"),
        (GradientBoostingClassifier(), np.eye(3), [1, 1, 1], "at least two classes"),
        (GradientBoostingRegressor("gamma"), np.eye(3), [1, 2, 3], "family must be one of"),
        (GradientBoostingRegressor(learning_rate=0), np.eye(3), [1, 2, 3], "learning_rate"),
        (GradientBoostingClassifier(n_members=0), np.eye(3), [1, 0, 1], "n_members"),
        (GradientBoostingClassifier(max_leaves=1), np.eye(3), [1, 0, 1], "max_leaves"),
    ],
)
def test_what_cannot_be_learned_is_refused_in_words(model, X, y, says):
    with pytest.raises(ValueError, match=says):
        model.fit(X, y)


def test_bad_weights_are_refused():
    X, y = rows(n=20)
    for weight in (-np.ones(20), np.zeros(20), np.full(20, np.nan)):
        with pytest.raises(ValueError, match="weight"):
            GradientBoostingRegressor().fit(X, y, sample_weight=weight)


def test_a_class_of_one_row_keeps_a_probability():
    X, y = rows(n=60)
    labels = np.where(np.arange(60) == 7, "rare", np.where(y > 0, "high", "low"))
    p = GradientBoostingClassifier(20, random_state=0).fit(X, labels).predict_proba(X)
    assert (p > 0).all()


# -- Ctrl-C --------------------------------------------------------------------------------------


@pytest.mark.parametrize("members", [1, 3])
def test_ctrl_c_keeps_what_is_learned(monkeypatch, members):
    X, y = rows()
    calls = []

    def interrupted_wait(futures, **options):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return set(), futures

    def enough(self, text):
        rounds = int(text.split()[0])
        while rounds < 5:  # as long as it takes until every member that runs has begun
            rounds = model_rounds[0]

    model_rounds = [0]
    boost = boosting_members.boost

    def counted(*arguments, goes_on, **options):
        def asked():
            model_rounds[0] += 1
            return goes_on()

        return boost(*arguments, goes_on=asked, **options)

    monkeypatch.setattr(boosting_members, "boost", counted)
    monkeypatch.setattr(boosting_members, "wait", interrupted_wait)
    monkeypatch.setattr(boosting_members.Progress, "say", enough)
    model = GradientBoostingRegressor(
        n_estimators=1_000_000, learning_rate=1e-6, n_members=members, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.n_rounds_.min() >= 1


def test_nothing_is_warned_of_otherwise():
    X, y = load_diabetes(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X, y)
    assert model.left_out_log_density_ < 0
