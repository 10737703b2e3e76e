"""AdaBoost against the algorithm as it is printed, its identities, and scikit-learn."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier as Peer
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier as PeerTree

from posteriori.ensemble import AdaBoostClassifier, margins, training_error_bound
from posteriori.ensemble.votes.rounds import step_of
from posteriori.numerics.warnings import ConvergenceWarning
from tests.ensemble.vote_cases import LINE, noisy_rows, plain_adaboost
from tests.scikit_learn_checks import every_check


def expected_failures(estimator):
    if estimator.weighting == "resample":
        return {"check_sample_weight_equivalence_on_dense_data": "rows are drawn at random"}
    return {}


@every_check(
    [
        AdaBoostClassifier(10),
        AdaBoostClassifier(5, max_depth=2, criterion="gini", max_bins=None),
        AdaBoostClassifier(5, weighting="resample"),
        AdaBoostClassifier(5, soft_margin=10.0),
        AdaBoostClassifier(5, step="arc-gv"),
        AdaBoostClassifier(5, estimator=LogisticRegression()),
    ],
    expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# -- one round ---------------------------------------------------------------------------------


def rows_of_error(error):
    """Return rows of which the best stump has this weighted error: x tells no more."""
    wrong = round(20 * error)
    side = np.array([1] * (20 - wrong) + [-1] * wrong)
    y = np.concatenate([side, -side])
    return np.repeat([1.0, 0.0], 20)[:, None], y


@pytest.mark.topic("000/K7", "002/L2")
@pytest.mark.parametrize(
    ("error", "step"), [(0.1, 1.0986), (0.25, 0.5493), (0.3, 0.4236), (0.4, 0.2027)]
)
def test_a_round_has_the_numbers_of_the_notes(error, step):
    assert step_of(error) == pytest.approx(step, abs=5e-5)
    x, y = rows_of_error(error)
    model = AdaBoostClassifier(1).fit(x, y)
    assert model.estimator_errors_[0] == pytest.approx(error, rel=1e-12)
    assert model.estimator_weights_[0] == pytest.approx(step, abs=5e-5)
    multiplier = model.row_weights_ * len(y)
    wrong = model.predict(x) != y
    np.testing.assert_allclose(multiplier[wrong], 1 / (2 * error), rtol=1e-12)
    np.testing.assert_allclose(multiplier[~wrong], 1 / (2 * (1 - error)), rtol=1e-12)
    assert model.row_weights_[wrong].sum() == pytest.approx(0.5, rel=1e-12)
    assert model.loss_trace_[0] == pytest.approx(2 * np.sqrt(error * (1 - error)), rel=1e-12)


@pytest.mark.topic("000/K7", "000/K8")
def test_steps_and_factors_at_three_tenths():
    assert 2 * step_of(0.3) == pytest.approx(0.8472979, abs=5e-8)  # 000 has twice ours
    model = AdaBoostClassifier(1).fit(*LINE)
    assert model.estimator_errors_[0] == pytest.approx(0.3, rel=1e-12)
    assert model.loss_trace_[0] == pytest.approx(0.916515, abs=5e-7)


# -- many rounds -------------------------------------------------------------------------------


@pytest.mark.topic("000/K7", "002/L2")
@pytest.mark.parametrize("max_bins", [None, 255])
def test_rounds_are_those_of_the_algorithm_as_printed(max_bins):
    x, y = noisy_rows(80, 3)
    steps, errors, said, weights = plain_adaboost(x, y, 15)
    model = AdaBoostClassifier(15, max_bins=max_bins).fit(x, y)
    np.testing.assert_allclose(model.estimator_errors_, errors, rtol=1e-10)
    np.testing.assert_allclose(model.estimator_weights_, steps, rtol=1e-9)
    np.testing.assert_allclose(model.row_weights_, weights[-1], rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(x), steps @ said, atol=1e-10)


@pytest.mark.topic("002/L2")
@pytest.mark.parametrize("rounds", [1, 2, 5, 11])
def test_a_hypothesis_is_no_better_than_chance_under_the_weights_after_it(rounds):
    x, y = noisy_rows()
    model = AdaBoostClassifier(rounds).fit(x, y)
    *_, last = model.members_.name_classes(x)
    wrong = model.classes_[last] != y
    assert model.row_weights_[wrong].sum() == pytest.approx(0.5, abs=1e-12)


@pytest.mark.topic("000/K8", "002/L3")
def test_the_exponential_loss_falls_by_the_normalisers():
    x, y = noisy_rows()
    model = AdaBoostClassifier(60).fit(x, y)
    e = model.estimator_errors_
    np.testing.assert_allclose(model.loss_trace_, np.cumprod(2 * np.sqrt(e * (1 - e))), rtol=1e-10)
    direct = [np.exp(-y * f).mean() for f in model.staged_decision_function(x)]
    np.testing.assert_allclose(model.loss_trace_, direct, rtol=1e-10)
    assert (np.diff(model.loss_trace_) < 0).all()
    assert model.loss_trace_[-1] == pytest.approx(training_error_bound(e), rel=1e-10)


@pytest.mark.topic("000/K8", "002/L3")
def test_each_step_is_where_a_line_search_ends():
    x, y = noisy_rows(100)
    model = AdaBoostClassifier(6).fit(x, y)
    f = np.zeros(len(y))
    for step, named in zip(model.estimator_weights_, model.members_.name_classes(x), strict=True):
        h = model.classes_[named]
        found = minimize_scalar(
            lambda a, f=f, h=h: np.exp(-y * (f + a * h)).sum(), (0, 1), options={"xtol": 1e-12}
        )
        assert step == pytest.approx(found.x, abs=1e-6)  # flat there: half of the digits
        f = f + step * h
        gradient = y * np.exp(-y * f)  # −∂G/∂f ∝ y d
    np.testing.assert_allclose(np.abs(gradient) / np.abs(gradient).sum(), model.row_weights_)


@pytest.mark.topic("002/L1")
def test_the_vote_is_a_weighted_majority():
    x, y = noisy_rows(60)
    labels = np.where(y > 0, "yes", "no")
    model = AdaBoostClassifier(7).fit(x, labels)
    said = [2.0 * named - 1.0 for named in model.members_.name_classes(x)]
    f = model.estimator_weights_ @ np.array(said)
    assert (model.estimator_weights_ > 0).all()
    np.testing.assert_allclose(model.decision_function(x), f, atol=1e-12)
    np.testing.assert_array_equal(model.predict(x), np.where(f > 0, "yes", "no"))
    *_, last = model.staged_predict(x)
    np.testing.assert_array_equal(last, model.predict(x))


@pytest.mark.topic("002/L11")
def test_weights_gather_on_the_rows_of_least_margin():
    x, y = noisy_rows(noise=0.0)
    model = AdaBoostClassifier(1500).fit(x, y)
    rho, norm = margins(model, x, y).values, model.norm_trace_
    softmax = np.exp(-norm[-1] * (rho - rho.min()))  # the norm stands inside the exponential
    np.testing.assert_allclose(model.row_weights_, softmax / softmax.sum(), rtol=1e-7, atol=1e-15)
    assert norm[-1] / norm[749] == pytest.approx(2.0, abs=0.1)  # it grows linearly
    assert model.support_trace_[-1] < 0.5 * model.support_trace_[0]
    assert model.margin_trace_[-1] == pytest.approx(rho.min(), abs=1e-12)
    heaviest = np.argsort(model.row_weights_)[::-1]
    np.testing.assert_array_equal(np.sort(heaviest[: len(model.support_)]), model.support_)
    assert rho[model.support_].max() < np.median(rho)


# -- more classes, trees, other estimators ------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_errors_are_those_of_scikit_learn(classes):
    x, _ = noisy_rows(400, seed=1)
    rng = np.random.default_rng(1)
    y = np.digitize(x[:, 0] + x[:, 1] + 0.5 * rng.normal(size=400), [[0.0], [-1, 1]][classes - 2])
    peer = Peer(n_estimators=40, random_state=0).fit(x, y)
    model = AdaBoostClassifier(40, criterion="gini", max_bins=None).fit(x, y)
    np.testing.assert_allclose(model.estimator_errors_, peer.estimator_errors_, atol=1e-9)
    np.testing.assert_allclose(2 * model.estimator_weights_, peer.estimator_weights_, atol=1e-9)
    np.testing.assert_array_equal(model.predict(x), peer.predict(x))


def test_three_classes_fall_down_their_exponential_loss():
    x, _ = noisy_rows(300)
    y = np.digitize(x[:, 0] + x[:, 1], [-1, 1])
    model = AdaBoostClassifier(30).fit(x, y)
    coded = np.where(np.eye(3)[y] > 0, 1.0, -0.5)
    loss = []
    votes = np.zeros((300, 3))
    for step, named in zip(model.estimator_weights_, model.members_.name_classes(x), strict=True):
        votes += 2 * step * (4 / 3) * np.where(np.eye(3)[named] > 0, 1.0, -0.5)  # (K − 1)²/K
        loss.append(np.exp(-(coded * votes).sum(axis=1) / 3).mean())
    np.testing.assert_allclose(model.loss_trace_, loss, rtol=1e-10)
    assert (np.diff(loss) < 0).all()
    f = model.decision_function(x)
    own = f[np.arange(300), y]
    f[np.arange(300), y] = -np.inf
    least = ((own - f.max(axis=1)) / model.norm_trace_[-1]).min()
    assert model.margin_trace_[-1] == pytest.approx(least, abs=1e-12)


@pytest.mark.topic("000/K13")
def test_boosted_trees_see_what_boosted_stumps_cannot():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(600, 3))
    y = x[:, 0] * x[:, 1] > 0  # exclusive or: columns together
    kept, left_out = slice(0, 400), slice(400, 600)
    deep = AdaBoostClassifier(60, max_depth=3, criterion="gini").fit(x[kept], y[kept])
    flat = AdaBoostClassifier(60).fit(x[kept], y[kept])
    assert deep.score(x[left_out], y[left_out]) > 0.95
    assert flat.score(x[left_out], y[left_out]) < 0.7
    peer = Peer(PeerTree(max_depth=3), n_estimators=60, random_state=0).fit(x[kept], y[kept])
    assert deep.score(x[left_out], y[left_out]) > peer.score(x[left_out], y[left_out]) - 0.03


def test_any_classifier_may_vote():
    x, y = noisy_rows()
    stump = PeerTree(max_depth=1)
    theirs = AdaBoostClassifier(12, estimator=stump, random_state=0).fit(x, y)
    ours = AdaBoostClassifier(12, criterion="gini", max_bins=None).fit(x, y)
    np.testing.assert_allclose(theirs.estimator_errors_, ours.estimator_errors_, atol=1e-9)
    np.testing.assert_array_equal(theirs.predict(x), ours.predict(x))
    drawn = AdaBoostClassifier(
        3, estimator=LinearDiscriminantAnalysis(), weighting="resample", random_state=0
    ).fit(x, y)
    assert drawn.score(x, y) > 0.85
    with pytest.raises(ValueError, match="LinearDiscriminantAnalysis takes no sample_weight"):
        AdaBoostClassifier(3, estimator=LinearDiscriminantAnalysis()).fit(x, y)


# -- weights, draws, gaps ----------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"soft_margin": 500.0}, {"criterion": "gini"}])
def test_weights_are_repeated_rows(options):
    x, y = noisy_rows(120)
    times = np.random.default_rng(0).integers(0, 4, size=120)
    model = AdaBoostClassifier(25, max_bins=16, **options).fit(x, y, sample_weight=times)
    repeated = AdaBoostClassifier(25, max_bins=16, **options).fit(
        np.repeat(x, times, axis=0), np.repeat(y, times)
    )
    np.testing.assert_allclose(model.estimator_errors_, repeated.estimator_errors_, rtol=1e-8)
    np.testing.assert_allclose(model.loss_trace_, repeated.loss_trace_, rtol=1e-8)
    np.testing.assert_allclose(model.support_trace_, repeated.support_trace_, rtol=1e-8)
    np.testing.assert_array_equal(model.predict(x), repeated.predict(x))
    assert model.row_weights_.shape == (120,)
    assert (model.row_weights_[times == 0] == 0).all()
    assert (times[model.support_] > 0).all()


@pytest.mark.topic("002/L2")
def test_rows_that_are_drawn_follow_the_seed():
    x, y = noisy_rows()
    fits = [
        AdaBoostClassifier(20, weighting="resample", random_state=seed).fit(x, y)
        for seed in (3, 3, 4)
    ]
    np.testing.assert_array_equal(fits[0].estimator_weights_, fits[1].estimator_weights_)
    assert not np.array_equal(fits[0].estimator_weights_, fits[2].estimator_weights_)
    assert (fits[0].estimator_errors_ < 0.5).all()  # under the weights of all rows
    exact = AdaBoostClassifier(1).fit(x, y).estimator_errors_[0]
    assert fits[0].estimator_errors_[0] >= exact - 1e-12
    assert fits[0].score(x, y) > 0.85


def test_gaps_go_where_they_help():
    x, y = noisy_rows(300)
    x[y > 0, 2] = np.nan  # this column is missing for one class only
    model = AdaBoostClassifier(5).fit(x, y)
    assert model.score(x, y) == 1.0
    assert model.n_iter_ == 1  # ε = 0 ends
    assert model.estimator_errors_[0] == 0.0
    assert np.isfinite(model.estimator_weights_).all()
    assert margins(model, x, y).minimum == 1.0


def test_categories_are_divided_by_subsets():
    rng = np.random.default_rng(0)
    x = rng.integers(6, size=(200, 2)).astype(float)
    y = np.isin(x[:, 0], [0, 3, 5])
    model = AdaBoostClassifier(3, columns="categorical").fit(x, y)
    assert model.score(x, y) == 1.0
    assert model.n_iter_ == 1
    with pytest.raises(ValueError, match="codes"):
        model.predict(x + 0.5)


# -- what goes wrong ---------------------------------------------------------------------------


def test_chance_is_told_and_predicted():
    x = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    y = np.array([0, 1, 1, 0])
    with pytest.warns(ConvergenceWarning, match=r"no weak classifier .* better than chance.*0\.5"):
        model = AdaBoostClassifier(5).fit(x, y)
    assert model.estimator_weights_.tolist() == [0.0]
    assert model.predict(x).tolist() == [0, 0, 0, 0]
    assert margins(model, x, y).values.tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_estimators": 0}, "n_estimators must be at least 1, got 0"),
        ({"criterion": "variance"}, "criterion must be one of"),
        ({"max_bins": 1}, "max_bins must be None or at least 2, got 1"),
        ({"step": "newton"}, "step must be 'adaboost' or 'arc-gv', got 'newton'"),
        ({"soft_margin": -1.0}, "soft_margin must be a finite number >= 0, got -1.0"),
        ({"step": "arc-gv", "soft_margin": 1.0}, "soft_margin must be 0 with step='arc-gv'"),
    ],
)
def test_parameters_are_refused_in_words(options, words):
    with pytest.raises(ValueError, match=words):
        AdaBoostClassifier(**options).fit(*LINE)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x, y: (x, np.ones(10)), "at least two classes, got one class"),
        (lambda x, y: (np.where(x == 3, np.inf, x), y), "infinity"),
        (lambda x, y: (x, y, np.full(10, -1.0)), "[Nn]egative"),
        (lambda x, y: (x, y, np.zeros(10)), "non-zero|0 everywhere"),
    ],
)
def test_rows_are_refused_in_words(change, words):
    with pytest.raises(ValueError, match=words):
        AdaBoostClassifier().fit(*change(*LINE))


@pytest.mark.parametrize("scale", [1e-300, 1e140])
def test_the_scale_of_columns_does_not_matter(scale):
    x, y = noisy_rows(60)
    plain, scaled = AdaBoostClassifier(8).fit(x, y), AdaBoostClassifier(8).fit(scale * x, y)
    np.testing.assert_array_equal(plain.estimator_errors_, scaled.estimator_errors_)
    np.testing.assert_array_equal(plain.predict(x), scaled.predict(scale * x))


class Stops(PeerTree):
    """Is interrupted when it has been fitted three times."""

    fits = 0

    def fit(self, x, y, sample_weight=None):
        type(self).fits += 1
        if type(self).fits > 3:
            raise KeyboardInterrupt
        return super().fit(x, y, sample_weight)


def test_the_rounds_so_far_are_kept_when_it_is_stopped():
    x, y = noisy_rows()
    Stops.fits = 0
    with pytest.warns(ConvergenceWarning, match="stopped after 3 of 50 rounds"):
        stopped = AdaBoostClassifier(50, estimator=Stops(max_depth=1)).fit(x, y)
    whole = AdaBoostClassifier(3, estimator=PeerTree(max_depth=1)).fit(x, y)
    np.testing.assert_array_equal(stopped.estimator_weights_, whole.estimator_weights_)
    np.testing.assert_array_equal(stopped.predict(x), whole.predict(x))
    Stops.fits = 3
    with pytest.raises(KeyboardInterrupt):  # nothing is learned yet
        AdaBoostClassifier(50, estimator=Stops(max_depth=1)).fit(x, y)
