"""Every public estimator offers what its row says, and what it offers keeps its word."""

import ast
import inspect
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import posteriori
from posteriori.classification import (
    BayesianLogisticRegression,
    ClassFrequencies,
    FisherDiscriminant,
    GaussianDiscriminant,
    GenerativeClassifier,
    KernelCentroid,
    KernelPerceptron,
    KNeighborsClassifier,
    LargeMarginPerceptron,
    LeastSquaresClassifier,
    LogisticRegression,
    NaiveBayes,
    Perceptron,
    ProbitRegression,
    RelevanceVectorClassifier,
)
from posteriori.density import TargetHistogram, TargetKernelDensity
from posteriori.distributions import MvNormal, NormalInverseWishart
from posteriori.distributions.base import has_atoms
from posteriori.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    CommitteeClassifier,
    CommitteeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LPBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from posteriori.estimators import contract as c
from posteriori.gaussian_process import (
    AdditiveGaussianProcessRegressor,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    SparseGaussianProcessRegressor,
)
from posteriori.kernels import RBF, White
from posteriori.mixture import (
    BayesianGaussianMixture,
    FamilyMixture,
    GaussianMixture,
    KMeans,
    KMedians,
    KMedoids,
    LatentClasses,
    MixtureOfExperts,
)
from posteriori.numerics import LogEvidence
from posteriori.numerics.blocks.row_blocks import RowBlocks
from posteriori.regression import (
    BayesianLinearRegressor,
    HurdleRegressor,
    KernelRidge,
    LinearRegressor,
    LogLinearRegressor,
    NegativeBinomialRegressor,
    OrdinalRegression,
    PoissonRegressor,
    RelevanceVectorRegressor,
    RobustRegressor,
    ZeroInflatedRegressor,
)
from posteriori.selection import ClassifierAverage, ModelAverage
from posteriori.sequence import (
    FactorialHiddenMarkovModel,
    HiddenMarkovClassifier,
    HiddenMarkovModel,
)
from posteriori.svm import (
    LinearSupportVectorClassifier,
    OneClassSupportVector,
    SupportVectorClassifier,
    SupportVectorRegressor,
)
from posteriori.tree import (
    BayesianTreeClassifier,
    BayesianTreeRegressor,
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)

ROOT = Path(posteriori.__file__).parent
N, D = 40, 2
#: Powers of ten by which priors are made wider.
SCALES = (-50, -20, -8, 12, 20, 50)
#: Capabilities that say something of estimators as such, not of arguments or results.
ASKED = (
    c.AddsColumns,
    c.AddsUp,
    c.CountsParameters,
    c.DrawsLikelihoods,
    c.DrawsTargets,
    c.DrawsWeights,
    c.ExpectsLikelihoods,
    c.HasEvidence,
    c.LeavesOneOut,
    c.PredictsDistributions,
    c.ReadsBlocks,
    c.ScalesPrior,
    c.ScoresClasses,
    c.StatesNoise,
    c.StatesProbabilities,
)


class Row(NamedTuple):
    """An estimator, the kind of its targets, and what it offers once it is fitted."""

    model: BaseEstimator
    targets: str
    offered: set[type]


DRAWS = {c.DrawsLikelihoods, c.DrawsTargets}
BELIEVES = {c.HasEvidence, c.ScalesPrior}
LAPLACE = {c.PredictsDistributions, c.CountsParameters, *BELIEVES, *DRAWS}
#: Where a sparse process is told: rows add up where points are given.
POINTS = np.array([[-1.0, -1.0], [1.0, -1.0], [0.0, 0.0], [-1.0, 1.0], [1.0, 1.0]])

CLASSES = {c.PredictsDistributions, c.StatesProbabilities}
JOINT = {*CLASSES, *BELIEVES, c.LeavesOneOut, c.ScoresClasses}
LINEAR = {*LAPLACE, c.DrawsWeights}
LINEAR_CLASSES = {*LAPLACE, *CLASSES, c.ScoresClasses}

ROWS = [
    Row(
        BayesianLinearRegressor(),
        "numbers",
        {*LINEAR, c.AddsUp, c.ExpectsLikelihoods, c.LeavesOneOut, c.StatesNoise},
    ),
    Row(LogLinearRegressor(), "positive", LINEAR),
    Row(LinearRegressor(), "numbers", {c.StatesNoise}),
    Row(RobustRegressor(), "numbers", LAPLACE),
    Row(PoissonRegressor(), "counts", LAPLACE),
    Row(NegativeBinomialRegressor(), "counts", LAPLACE),
    Row(HurdleRegressor(), "counts", LAPLACE),
    Row(ZeroInflatedRegressor(), "counts", LAPLACE),
    Row(OrdinalRegression(), "labels", {*LAPLACE, c.StatesProbabilities}),
    Row(BayesianLogisticRegression(), "labels", {*LINEAR_CLASSES, c.ReadsBlocks}),
    Row(ProbitRegression(), "two labels", {*LINEAR_CLASSES, c.ReadsBlocks}),
    Row(LogisticRegression(ridge=0.1), "labels", {*CLASSES, c.ScoresClasses}),
    Row(ClassFrequencies(), "labels", {*CLASSES, *BELIEVES}),
    Row(KNeighborsClassifier(), "labels", CLASSES),
    Row(GaussianDiscriminant(), "labels", {*JOINT, c.ExpectsLikelihoods}),
    Row(NaiveBayes(), "labels", {*JOINT, c.ExpectsLikelihoods}),
    Row(
        GenerativeClassifier(MvNormal, NormalInverseWishart(np.zeros(D), 1.0, 4.0, np.eye(D))),
        "labels",
        JOINT,
    ),
    Row(BayesianTreeClassifier(max_bins=4), "labels", {*CLASSES, c.HasEvidence}),
    Row(BayesianTreeRegressor(max_bins=4), "numbers", {c.PredictsDistributions, c.HasEvidence}),
    Row(FisherDiscriminant(), "labels", {c.ScoresClasses}),
    Row(LeastSquaresClassifier(), "labels", {c.ScoresClasses}),
    Row(Perceptron(max_iter=3, random_state=0), "apart", {c.ScoresClasses}),
    Row(KernelRidge(), "numbers", set()),
    Row(
        RelevanceVectorRegressor(),
        "numbers",
        {c.PredictsDistributions, c.HasEvidence, c.StatesNoise},
    ),
    Row(KernelCentroid(), "labels", {c.ScoresClasses}),
    Row(KernelPerceptron(), "apart", {c.ScoresClasses}),
    Row(LargeMarginPerceptron(random_state=0), "two labels", {c.ScoresClasses}),
    Row(
        RelevanceVectorClassifier(tol=1e-8),
        "two labels",
        {*CLASSES, c.ScoresClasses, c.HasEvidence},
    ),
    Row(AdaBoostClassifier(20), "labels", {c.ScoresClasses}),
    Row(LPBoostClassifier(0.2), "two labels", {c.ScoresClasses}),
    Row(RandomForestRegressor(9, random_state=0), "numbers", {c.PredictsDistributions}),
    Row(RandomForestClassifier(9, random_state=0), "labels", CLASSES),
    Row(GradientBoostingRegressor(random_state=0), "numbers", {c.PredictsDistributions}),
    Row(
        GradientBoostingRegressor("log student", random_state=0),
        "positive",
        {c.PredictsDistributions},
    ),
    Row(GradientBoostingClassifier(random_state=0), "labels", {*CLASSES, c.ScoresClasses}),
    Row(BayesianGaussianMixture(2, random_state=0), "numbers", {c.HasEvidence}),
    Row(GaussianMixture(2, random_state=0), "numbers", set()),
    Row(LatentClasses(2, random_state=0), "numbers", {c.HasEvidence}),
    Row(FamilyMixture(MvNormal, 2, random_state=0), "numbers", set()),
    Row(MixtureOfExperts(random_state=0), "numbers", {c.PredictsDistributions}),
    Row(DecisionTreeClassifier(max_leaves=6), "labels", CLASSES),
    Row(DecisionStump(), "two labels", CLASSES),
    Row(DecisionTreeRegressor(max_leaves=6), "numbers", {c.PredictsDistributions}),
    Row(
        ModelAverage([("line", BayesianLinearRegressor()), ("robust", RobustRegressor())]),
        "numbers",
        {c.PredictsDistributions},
    ),
    Row(
        ClassifierAverage([("a", BayesianLogisticRegression()), ("b", ClassFrequencies())]),
        "labels",
        CLASSES,
    ),
    Row(
        BaggingRegressor(BayesianLinearRegressor(), 5, random_state=0),
        "numbers",
        {c.PredictsDistributions},
    ),
    Row(BaggingClassifier(GaussianDiscriminant(), 5, random_state=0), "labels", CLASSES),
    Row(
        CommitteeRegressor([("line", BayesianLinearRegressor()), ("robust", RobustRegressor())]),
        "numbers",
        {c.PredictsDistributions},
    ),
    Row(
        CommitteeClassifier([("a", BayesianLogisticRegression()), ("b", ClassFrequencies())]),
        "labels",
        CLASSES,
    ),
    Row(TargetKernelDensity(), "numbers", {c.PredictsDistributions}),
    Row(TargetHistogram(30), "numbers", {c.PredictsDistributions, c.HasEvidence}),
    Row(
        GaussianProcessRegressor(),
        "numbers",
        {c.PredictsDistributions, c.HasEvidence, c.DrawsTargets},
    ),
    Row(
        AdditiveGaussianProcessRegressor(),
        "numbers",
        {c.PredictsDistributions, c.HasEvidence, c.CountsParameters, c.AddsColumns},
    ),
    Row(
        SparseGaussianProcessRegressor(RBF() + White(0.1), POINTS, hyperparameters="fixed"),
        "numbers",
        {c.PredictsDistributions, c.HasEvidence, c.AddsUp, c.DrawsTargets, c.LeavesOneOut},
    ),
    Row(GaussianProcessClassifier(), "labels", {*CLASSES, c.HasEvidence, c.ScoresClasses}),
    Row(HiddenMarkovModel(2, random_state=0), "numbers", {c.HasEvidence}),
    Row(FactorialHiddenMarkovModel((2, 2), random_state=0), "numbers", set()),
    Row(SupportVectorClassifier(), "labels", {c.ScoresClasses}),
    Row(SupportVectorRegressor(), "numbers", set()),
    Row(OneClassSupportVector(), "numbers", {c.ScoresClasses}),
    Row(LinearSupportVectorClassifier(random_state=0), "labels", {c.ScoresClasses}),
    Row(KMeans(3, random_state=0), "numbers", set()),
    Row(KMedians(3, random_state=0), "numbers", set()),
    Row(KMedoids(3), "numbers", set()),
]
IDS = [type(row.model).__name__ for row in ROWS]


def rows_of(kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, D))
    latent = x @ [1.0, -0.5] + 0.5 * rng.normal(size=N)
    made = {
        "numbers": latent,
        "positive": np.exp(latent),
        "counts": rng.poisson(np.exp(0.5 + 0.5 * x[:, 0])).astype(float),
        "labels": np.array(["high", "low", "mid"])[np.digitize(latent, [-0.5, 0.5])],
        "two labels": np.where(latent > 0, "yes", "no"),
        "apart": np.where(x[:, 0] > 0, "yes", "no"),
    }
    return x + (4.0 * np.sign(x[:, :1]) if kind == "apart" else 0.0), made[kind]


@pytest.fixture(scope="module")
def fitted():
    """Return a function that fits the model of a row, once."""
    done = {}

    def fit(row):
        key = type(row.model).__name__
        if key not in done:
            done[key] = clone(row.model).fit(*rows_of(row.targets))
        return done[key]

    return fit


def offering(capability):
    chosen = [row for row in ROWS if capability in row.offered]
    names = [type(row.model).__name__ for row in chosen]
    return pytest.mark.parametrize("row", chosen, ids=names)


# -- the table is complete -----------------------------------------------------------------------


def public_estimators():
    """Return every class of the rooms' ``__all__`` that learns to predict."""
    return {one for one in public_classes() if hasattr(one, "predict")}


def public_classes():
    """Return every class of the rooms' ``__all__`` that can be fitted."""
    rooms = sorted(
        path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "cli"
    )
    named = [getattr(room, n) for room in map(room_of, rooms) for n in room.__all__]
    return {
        one
        for one in named
        if inspect.isclass(one) and issubclass(one, BaseEstimator) and hasattr(one, "fit")
    }


def room_of(name):
    return import_module(f"posteriori.{name}")


#: Learns from whole sequences, a label each: rows say nothing to it.
OF_SEQUENCES = {HiddenMarkovClassifier}


def test_every_public_estimator_has_a_row():
    assert {type(row.model) for row in ROWS} == public_estimators() - OF_SEQUENCES


def test_every_capability_is_asked_about():
    protocols = {
        getattr(c, name) for name in c.__all__ if getattr(getattr(c, name), "_is_protocol", False)
    }
    arguments = {c.Accounts, c.Classifies, c.Estimator, c.HasBestTree, c.HasComponents}
    arguments |= {c.FillsGaps, c.HasPosterior, c.HasSteps}  # gaps: tests/analysis/densities
    arguments |= {c.NamesColumns, c.PreparesBlocks, c.ComparableResult, c.StatesLogProbabilities}
    arguments |= {c.ChecksItself}  # of approximations: tests/estimators/test_reliability.py
    arguments |= {c.WeighsNumbers}  # of partitions: tests/mixture/test_component_choice.py
    arguments |= {c.KeepsRows}  # of a process that is plotted: tests/plotting
    arguments |= {c.TellsBends}  # of a basis: tests/regression/bayesian/test_columns_apart.py
    assert protocols == {*ASKED, *arguments}


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_an_estimator_offers_what_its_row_says(row, fitted):
    model = fitted(row)
    assert {one for one in ASKED if c.offers(model, one)} == row.offered


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_names_can_be_completed_before_and_after_the_fit(row, fitted):
    assert "fit" in dir(clone(row.model))  # asks for each attribute, as a notebook does
    assert "fit" in dir(fitted(row))


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_evidence_is_not_offered_before_the_fit(row):
    assert not c.offers(clone(row.model), c.HasEvidence)


def test_what_the_parameters_rule_out_is_not_offered():
    x, y = rows_of("numbers")
    chosen = BayesianLinearRegressor(hyperparameters="type-II").fit(x, y)
    assert not c.offers(chosen, c.LeavesOneOut)
    flat = BayesianLinearRegressor(0.0).fit(x, y)
    assert not c.offers(flat, c.HasEvidence)
    x, y = rows_of("labels")
    plugged = GaussianDiscriminant(method="ml").fit(x, y)
    assert not c.offers(plugged, c.HasEvidence)
    assert not c.offers(plugged, c.ScalesPrior)


# -- what is offered keeps its word --------------------------------------------------------------


@offering(c.PredictsDistributions)
def test_predictive_distributions_are_a_batch_of_rows(row, fitted):
    model, (x, y) = fitted(row), rows_of(row.targets)
    predicted = model.predict_dist(x)
    assert predicted.batch_shape == (N,)
    if is_classifier(model):
        np.testing.assert_allclose(predicted.probabilities, model.predict_proba(x), rtol=1e-12)
        return
    assert np.isfinite(predicted.log_prob(y)).all()
    low, high = predicted.interval(0.99)
    assert ((low <= model.predict(x)) & (model.predict(x) <= high)).all()


@offering(c.StatesProbabilities)
def test_probabilities_sum_to_one_and_the_largest_is_chosen(row, fitted):
    model, (x, _) = fitted(row), rows_of(row.targets)
    p = model.predict_proba(x)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-10)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(x))


@offering(c.ScoresClasses)
def test_the_largest_score_is_chosen(row, fitted):
    model, (x, _) = fitted(row), rows_of(row.targets)
    scores = model.decision_function(x)
    best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    classes = getattr(model, "classes_", np.array([-1, 1]))  # of one class: outside and inside
    np.testing.assert_array_equal(classes[best], model.predict(x))


@offering(c.StatesNoise)
def test_noise_is_positive(row, fitted):
    assert fitted(row).noise_variance_ > 0


@offering(c.HasEvidence)
def test_evidence_knows_its_data(row, fitted):
    model, (x, y) = fitted(row), rows_of(row.targets)
    evidence = model.log_evidence_
    assert isinstance(evidence, LogEvidence)
    assert np.isfinite(float(evidence))
    assert evidence.of in ("y|X", "X,y", "X")
    if not isinstance(model, HiddenMarkovModel):  # the order of rows is no matter
        same = clone(row.model).fit(x[::-1], y[::-1]).log_evidence_
        assert evidence.comparable(same)
        assert float(same) == pytest.approx(float(evidence), rel=1e-6)
    fewer = clone(row.model).fit(x[:-1], y[:-1]).log_evidence_
    assert not evidence.comparable(fewer)


@offering(c.CountsParameters)
def test_no_more_parameters_are_determined_than_there_are(row, fitted):
    most = (D + 1) * 2  # three classes have two sets of weights
    assert 0 < fitted(row).effective_parameters_ <= most


@offering(c.LeavesOneOut)
def test_rows_are_less_probable_when_they_are_left_out(row, fitted):
    model, (x, y) = fitted(row), rows_of(row.targets)
    left_out = model.leave_one_out_log_density(x, y)
    assert left_out.shape == (N,)
    if is_classifier(model):
        inside = np.log(model.predict_proba(x)[np.arange(N), np.searchsorted(model.classes_, y)])
    else:
        inside = model.predict_dist(x).log_prob(y)
    assert left_out.sum() < inside.sum()


@offering(c.ExpectsLikelihoods)
def test_expected_log_likelihoods_stay_below_the_evidence_of_seen_rows(row, fitted):
    """Jensen: E[ln p] <= ln E[p], the density of the row under the posterior that has seen it."""
    model, (x, y) = fitted(row), rows_of(row.targets)
    expected = model.expected_log_likelihood(x, y)
    if is_classifier(model):
        mean = model.joint_log_prob(x)[np.arange(N), np.searchsorted(model.classes_, y)]
    else:
        mean = model.predict_dist(x).log_prob(y)
    assert expected.shape == (N,)
    assert (expected <= mean + 1e-9).all()


@offering(c.DrawsLikelihoods)
def test_likelihoods_of_draws_belong_to_the_same_draws_for_all_rows(row, fitted):
    model, (x, y) = fitted(row), rows_of(row.targets)
    draws = model.log_likelihood_draws(x, y, 200, rng=1)
    assert draws.shape == (200, N)
    np.testing.assert_allclose(
        model.log_likelihood_draws(x[5:9], y[5:9], 200, rng=1), draws[:, 5:9]
    )
    p = np.exp(draws)
    predicted = (
        model.predict_proba(x)[np.arange(N), np.searchsorted(model.classes_, y)]
        if is_classifier(model)
        else np.exp(model.predict_dist(x).log_prob(y))
    )
    error = p.std(axis=0) / np.sqrt(200)
    assert (np.abs(p.mean(axis=0) - predicted) < 6 * error + 0.02 * predicted).all()


@offering(c.DrawsTargets)
def test_new_targets_are_ones_that_the_model_expects(row, fitted):
    model, (x, _) = fitted(row), rows_of(row.targets)
    drawn = model.sample_targets(x, 100, rng=1)
    assert drawn.shape == (100, N)
    np.testing.assert_array_equal(model.sample_targets(x, 100, rng=1), drawn)
    if is_classifier(model):
        share = (drawn == model.classes_[0]).mean(axis=0)
        p = model.predict_proba(x)[:, 0]
        assert (np.abs(share - p) < 6 * np.sqrt(p * (1 - p) / 100) + 0.02).all()
        return
    predicted = model.predict_dist(x)
    level = np.asarray(predicted.cdf(drawn))
    if has_atoms(predicted):
        level = level - 0.5 * np.exp(predicted.log_prob(drawn))
    assert abs(level.mean() - 0.5) < 0.03


@offering(c.DrawsWeights)
def test_weights_are_drawn_around_their_means(row, fitted):
    model = fitted(row)
    draws = model.sample_weights(2000, rng=1)
    assert draws.shape == (2000, D + 1)
    np.testing.assert_array_equal(model.sample_weights(2000, rng=1), draws)
    error = draws[:, :D].std(axis=0) / np.sqrt(2000)
    assert (np.abs(draws[:, :D].mean(axis=0) - model.coef_) < 5 * error).all()


@offering(c.ScalesPrior)
def test_a_scaled_prior_is_that_of_an_unfitted_copy(row, fitted):
    model, (x, y) = fitted(row), rows_of(row.targets)
    same, wider = model.with_prior_scaled(1.0), model.with_prior_scaled(8.0)
    assert type(same) is type(model)
    with pytest.raises(NotFittedError):
        check_is_fitted(same)
    evidence = float(model.log_evidence_)
    assert float(same.fit(x, y).log_evidence_) == pytest.approx(evidence, rel=1e-6)
    assert float(wider.fit(x, y).log_evidence_) != pytest.approx(evidence, rel=1e-3)


@offering(c.ScalesPrior)
def test_extreme_priors_have_their_limits(row, fitted):
    """Narrow ones are a point, and wide ones cost for each power of ten."""
    model, (x, y) = fitted(row), rows_of(row.targets)
    logs = {s: float(model.with_prior_scaled(10.0**s).fit(x, y).log_evidence_) for s in SCALES}
    assert logs[-50] == pytest.approx(logs[-20], rel=1e-6) == pytest.approx(logs[-8], rel=1e-3)
    assert logs[12] > logs[20] + 8.0 > logs[50] + 38.0


@offering(c.ScalesPrior)
@pytest.mark.parametrize("factor", [1e300, 1e-300, 2e50, 0.0, -1.0, np.nan, np.inf])
def test_impossible_priors_are_refused_in_words(row, fitted, factor):
    with pytest.raises(ValueError, match=r"factor must .*, got"):
        fitted(row).with_prior_scaled(factor)


@offering(c.ScalesPrior)
@pytest.mark.parametrize("factor", [0.0, -1.0, np.nan, np.inf, None, "much"])
def test_priors_are_scaled_by_positive_numbers_only(row, fitted, factor):
    with pytest.raises((ValueError, TypeError), match=r"factor must (be|hold)"):
        fitted(row).with_prior_scaled(factor)


@offering(c.AddsUp)
def test_parts_add_up_to_the_whole(row, fitted):
    model, (x, y) = fitted(row), rows_of(row.targets)
    stream = clone(row.model)
    for part in np.array_split(np.arange(N), 3):
        stream.partial_fit(x[part], y[part])
    half = slice(None, N // 2), slice(N // 2, None)
    merged = clone(row.model).fit(x[half[0]], y[half[0]])
    merged = merged.merge(clone(row.model).fit(x[half[1]], y[half[1]]))
    for other in (stream, merged):
        np.testing.assert_allclose(other.predict(x), model.predict(x), rtol=1e-9, atol=1e-9)
        assert float(other.log_evidence_) == pytest.approx(float(model.log_evidence_), rel=1e-9)


@offering(c.ReadsBlocks)
def test_rows_that_are_made_when_they_are_read_are_the_same_rows(row, fitted):
    model, (x, y) = fitted(row), rows_of(row.targets)
    read = clone(row.model).fit_blocks(RowBlocks(lambda rows: x[rows], x.shape), y)
    np.testing.assert_allclose(read.coef_, model.coef_, rtol=1e-7, atol=1e-9)
    assert float(read.log_evidence_) == pytest.approx(float(model.log_evidence_), rel=1e-9)
    with pytest.raises(ValueError, match="NaN in column 1, row 3"):
        clone(row.model).fit_blocks(
            RowBlocks(
                lambda rows: np.where(np.arange(2 * N).reshape(N, D) == 7, np.nan, x)[rows], x.shape
            ),
            y,
        )


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_parameters_off_their_table_are_refused_by_name(row):
    x, y = rows_of(row.targets)
    for name in getattr(row.model, "_constraints", {}):
        with pytest.raises(ValueError, match=f"^{name} must .*, got <object object"):
            clone(row.model).set_params(**{name: object()}).fit(x, y)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_parameter_that_is_a_strange_text_is_refused_by_name(row):
    x, y = rows_of(row.targets)
    for name in row.model.get_params(deep=False):
        with pytest.raises((ValueError, TypeError), match=name):
            clone(row.model).set_params(**{name: "strange"}).fit(x, y)


# -- house rules ---------------------------------------------------------------------------------


def functions_that_take(name, path):
    """Yield the functions of a file with such a parameter; most files do not have the word."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if name in text else ():
        match node:
            case ast.FunctionDef(args=ast.arguments(args=given, kwonlyargs=named)):
                if name in [one.arg for one in (*given, *named)]:
                    yield node


SOURCES = sorted(ROOT.rglob("*.py"))


def test_random_state_is_a_parameter_of_constructors_and_rng_of_all_else():
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in SOURCES
        for node in functions_that_take("random_state", path)
        if node.name != "__init__"
    ]
    wrong += [
        f"{one.__name__} takes rng"
        for one in public_estimators()
        if "rng" in inspect.signature(one).parameters
    ]
    assert not wrong


#: What is asked by ``hasattr`` or ``getattr`` with a default, and is no estimator.
OTHER_THINGS = {
    "analysis/saved/object_tree.py": "slots of records",
    "analysis/saved/stated_shapes.py": "annotations of classes",
    "analysis/fitting/preparation.py": "whether a transformer is fitted itself",
    "analysis/table/reading.py": "tables of other libraries",
    "cli/output.py": "streams of texts",
    "plotting/parts/frame.py": "patches of matplotlib",
    "plotting/pictures/chain_pictures.py": "chains without names of states, and data frames",
    "plotting/pictures/contours.py": "draws of pairs",
    "plotting/pictures/distribution_pictures.py": "distributions",
    "plotting/pictures/prediction_pictures.py": "whether a regression is fitted, to one column",
    "selection/held_out.py": "tables of other libraries",
    "selection/prequential.py": "tables of other libraries",
}


def asks_by_name(node):
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return node.func.id == "hasattr" or (node.func.id == "getattr" and len(node.args) == 3)


def test_estimators_are_asked_by_the_contract():
    rooms = ("selection", "analysis", "plotting", "cli")
    asking = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        if path.relative_to(ROOT).parts[0] in rooms
        and any(map(asks_by_name, ast.walk(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert asking == set(OTHER_THINGS)
