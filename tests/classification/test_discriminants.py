"""Fisher's discriminant, least squares, perceptron, neighbours, and the test of separability."""

from itertools import product

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier as PlainNeighbors

from posteriori.classification import (
    FisherDiscriminant,
    KNeighborsClassifier,
    LeastSquaresClassifier,
    LogisticRegression,
    Perceptron,
    generalized_rayleigh_quotient,
    linear_separability,
    mean_separation,
)
from posteriori.numerics import ConvergenceWarning
from tests.classification.generative.test_gaussian import some_rows
from tests.scikit_learn_checks import every_check

CORNERS = np.array(list(product([0.0, 1.0], repeat=2)))
AND, OR, XOR = [0, 0, 0, 1], [0, 1, 1, 1], [0, 1, 1, 0]
ESTIMATORS = [
    FisherDiscriminant(),
    LeastSquaresClassifier(),
    Perceptron(),
    KNeighborsClassifier(),
]


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@every_check(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
def test_text_labels(estimator):
    X, y = some_rows(90)
    names = np.array(["a", "b", "c"])[y]
    model, numbers = clone(estimator).fit(X, names), clone(estimator).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), np.array(["a", "b", "c"])[numbers.predict(X)])


# -- Fisher ------------------------------------------------------------------------------------


def scatters(X, y):
    groups = [X[y == k] for k in np.unique(y)]
    means = [group.sum(axis=0) / len(group) for group in groups]
    spread = [(g - m).T @ (g - m) for g, m in zip(groups, means, strict=True)]
    return groups, means, spread


@pytest.mark.topic("002/C2", "002/C5")
@pytest.mark.parametrize("scatter", ["sum", "average"])
def test_two_classes_have_the_closed_form(scatter):
    X, y = some_rows(50, 3, 2)
    groups, (m1, m2), spread = scatters(X, y)
    size = [1.0, 1.0] if scatter == "sum" else [len(g) for g in groups]
    within = sum(s / n for s, n in zip(spread, size, strict=True))
    model = FisherDiscriminant(scatter=scatter, ridge=1e-15).fit(X, y)
    w = model.directions_[:, 0]
    closed = np.linalg.solve(within, m2 - m1)
    cosine = w @ closed / np.linalg.norm(w) / np.linalg.norm(closed)
    assert abs(cosine) == pytest.approx(1.0, abs=1e-12)
    assert w @ within @ w == pytest.approx(1.0, rel=1e-10)
    between = np.outer(m2 - m1, m2 - m1)
    assert model.criterion_[0] == pytest.approx(
        generalized_rayleigh_quotient(w, between, within), rel=1e-9
    )
    assert model.criterion_[0] == pytest.approx((m2 - m1) @ closed, rel=1e-9)
    rng = np.random.default_rng(0)
    for other in rng.normal(size=(50, 3)):
        assert generalized_rayleigh_quotient(other, between, within) <= model.criterion_[0] * (
            1 + 1e-12
        )
        assert generalized_rayleigh_quotient(-7 * other, between, within) == pytest.approx(
            generalized_rayleigh_quotient(other, between, within)
        )


@pytest.mark.topic("002/C2")
def test_the_two_scatters_differ_for_classes_of_different_size():
    X, y = some_rows(80, 2, 2)
    keep = (y == 0) | (np.arange(80) % 4 == 0)
    one, two = (FisherDiscriminant(scatter=s).fit(X[keep], y[keep]) for s in ("sum", "average"))
    a, b = one.directions_[:, 0], two.directions_[:, 0]
    assert abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b) < 1 - 1e-6


@pytest.mark.topic("002/C3")
def test_the_criterion_vanishes_across_the_difference_of_means():
    X, y = some_rows(50, 2, 2)
    model = FisherDiscriminant().fit(X, y)
    shift = model.means_[1] - model.means_[0]
    across = np.array([-shift[1], shift[0]])
    assert generalized_rayleigh_quotient(across, model.between_, model.within_) == pytest.approx(
        0, abs=1e-15
    )


@pytest.mark.topic("002/C4")
def test_several_classes_have_the_generalised_eigenvectors():
    X, y = some_rows(120, 4, 3)
    groups, means, spread = scatters(X, y)
    within, centre = sum(spread), X.mean(axis=0)
    between = sum(
        len(g) * np.outer(m - centre, m - centre) for g, m in zip(groups, means, strict=True)
    )
    values = eigh(between, within, eigvals_only=True)[::-1]
    model = FisherDiscriminant(ridge=1e-15).fit(X, y)
    np.testing.assert_allclose(model.criterion_, values[:2], rtol=1e-9)
    np.testing.assert_allclose(values[2:], 0.0, atol=1e-12)
    W = model.directions_
    np.testing.assert_allclose(W.T @ within @ W, np.eye(2), atol=1e-10)
    peer = LinearDiscriminantAnalysis(priors=np.ones(3) / 3).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    assert FisherDiscriminant(1).fit(X, y).transform(X).shape == (120, 1)


@pytest.mark.topic("002/C1")
def test_mean_separation_ignores_the_spread_that_fisher_sees():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 2)) @ np.array([[4.0, 3.9], [0.0, 0.3]]) + y[:, None] * [2.0, 0.0]
    plane = mean_separation(X, y)
    shift = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    np.testing.assert_allclose(plane.weights, shift / np.linalg.norm(shift))
    nearest = np.argmin([((X - X[y == k].mean(axis=0)) ** 2).sum(axis=1) for k in (0, 1)], axis=0)
    np.testing.assert_array_equal(plane.value(X) > 0, nearest == 1)
    fisher = FisherDiscriminant().fit(X, y)
    assert fisher.score(X, y) > ((plane.value(X) > 0) == y).mean() + 0.2
    np.testing.assert_array_equal(fisher.boundary().value(X) > 0, fisher.predict(X) == 1)


def test_wrong_choices_of_fisher_are_refused():
    X, y = some_rows()
    for options, message in [
        ({"n_components": 3}, "between 1 and 2"),
        ({"scatter": "mean"}, "scatter must be"),
        ({"ridge": 0.0}, "ridge must be positive"),
    ]:
        with pytest.raises(ValueError, match=message):
            FisherDiscriminant(**options).fit(X, y)
    with pytest.raises(ValueError, match=r"name two of \[0, 1, 2\]"):
        FisherDiscriminant().fit(X, y).boundary()
    with pytest.raises(ValueError, match="got 1 twice"):
        FisherDiscriminant().fit(X, y).boundary(1, 1)
    with pytest.raises(ValueError, match="y must hold two classes"):
        mean_separation(X, y)
    with pytest.raises(ValueError, match="same mean"):
        mean_separation([[1.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="must be positive"):
        generalized_rayleigh_quotient([1.0], [[1.0]], [[-1.0]])


@pytest.mark.topic("000/G14")
@pytest.mark.parametrize("estimator", [FisherDiscriminant(), LeastSquaresClassifier()])
def test_boundaries_of_pairs_part_the_chosen_classes(estimator):
    X, y = some_rows(90)
    model = clone(estimator).fit(X, y)
    score = model.decision_function(X)
    for a, b in [(0, 1), (0, 2), (2, 1)]:
        lead = score[:, b] - score[:, a]
        np.testing.assert_allclose(model.boundary(a, b).value(X), lead, atol=1e-9)


def test_weights_of_fisher_are_frequencies():
    X, y = some_rows(90)
    weight = np.arange(90) % 3 + (np.arange(90) < 3)
    for scatter in ("sum", "average"):
        one = FisherDiscriminant(scatter=scatter).fit(X, y, sample_weight=weight)
        two = FisherDiscriminant(scatter=scatter)
        two.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        np.testing.assert_allclose(one.criterion_, two.criterion_, rtol=1e-9)
        np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), rtol=1e-7)


# -- least squares -----------------------------------------------------------------------------


@pytest.mark.topic("000/G15")
def test_the_class_in_the_middle_is_masked_but_not_by_logistic_regression():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = rng.normal(2.0 * y - 2.0, 0.2)[:, None]
    assert (LeastSquaresClassifier().fit(X, y).predict(X) == 1).sum() == 0
    assert (LogisticRegression(ridge=0.1).fit(X, y).predict(X) == y).all()


@pytest.mark.topic("000/G15")
def test_rows_far_on_the_right_side_move_the_boundary():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 50)
    X = rng.normal(2.0 * y - 1.0, 1.0)[:, None]
    far, labels = np.concatenate([X, np.full((20, 1), 30.0)]), np.concatenate([y, np.ones(20, int)])

    def edge(model):
        grid = np.linspace(-3, 20, 100_001)[:, None]
        return grid[np.argmax(model.predict(grid) == 1), 0]

    least = [edge(LeastSquaresClassifier().fit(*data)) for data in ((X, y), (far, labels))]
    logistic = [edge(LogisticRegression(ridge=1e-6).fit(*data)) for data in ((X, y), (far, labels))]
    assert least[1] - least[0] > 100 * abs(logistic[1] - logistic[0])
    moved = LeastSquaresClassifier().fit(far, labels)
    assert moved.score(X, y) < LeastSquaresClassifier().fit(X, y).score(X, y) - 0.05


@pytest.mark.topic("000/G15", "000/G1", "002/N7")
def test_least_squares_solves_the_normal_equations_and_thresholds_at_one_half():
    X, y = some_rows(60, 3, 2)
    model = LeastSquaresClassifier().fit(X, y)
    wide = np.column_stack([np.ones(60), X])
    solution = np.linalg.solve(wide.T @ wide, wide.T @ np.eye(2)[y])
    np.testing.assert_allclose(model.scores(X), wide @ solution, atol=1e-10)
    np.testing.assert_allclose(model.scores(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X) == 1, wide @ solution[:, 1] > 0.5)
    weight = np.arange(60) % 3
    one = LeastSquaresClassifier().fit(X, y, sample_weight=weight)
    two = LeastSquaresClassifier().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9)


# -- perceptron and separability ---------------------------------------------------------------


@pytest.mark.topic("000/G16", "002/C6")
@pytest.mark.parametrize("target", [AND, OR])
def test_the_perceptron_learns_and_and_or(target):
    model = Perceptron().fit(CORNERS, target)
    assert model.converged_
    assert model.predict(CORNERS).tolist() == target
    assert model.margin_ > 0
    np.testing.assert_allclose(
        np.abs(model.boundary().signed_distance(CORNERS)).min(), model.margin_
    )


@pytest.mark.topic("000/G16", "002/C6")
def test_the_perceptron_never_learns_exclusive_or_but_with_a_product():
    with pytest.warns(
        ConvergenceWarning, match=r"rows wrong after 500 passes: the classes are not"
    ):
        model = Perceptron(max_iter=500).fit(CORNERS, XOR)
    assert not model.converged_
    assert model.n_iter_ == 500
    assert model.margin_ <= 0
    wider = np.column_stack([CORNERS, CORNERS.prod(axis=1)])
    assert Perceptron().fit(wider, XOR).predict(wider).tolist() == XOR


@pytest.mark.topic("002/C6")
@pytest.mark.parametrize("seed", range(5))
def test_corrections_stay_below_the_bound_of_novikoff(seed):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=4) * [1.0, 1.0, 1.0, 0.1]
    X = rng.normal(size=(200, 3))
    value = X @ w[:3] + w[3]
    keep = np.abs(value) > 0.2
    X, sign = X[keep], np.sign(value[keep])
    wide = np.column_stack([X, np.ones(len(X))])
    margin = (sign * (wide @ w)).min() / np.linalg.norm(w)
    bound = ((wide**2).sum(axis=1).max()) / margin**2
    for shuffle in (False, True):
        model = Perceptron(shuffle=shuffle, random_state=seed).fit(X, sign)
        assert model.converged_
        assert model.n_updates_ <= bound
    assert linear_separability(X, sign).separable


def test_wrong_choices_of_the_perceptron_are_refused():
    for options, message in [
        ({"learning_rate": 0}, "learning_rate"),
        ({"max_iter": 0}, "max_iter"),
    ]:
        with pytest.raises(ValueError, match=message):
            Perceptron(**options).fit(CORNERS, AND)


@pytest.mark.topic("002/C6")
@pytest.mark.parametrize("seed", range(4))
def test_several_classes_are_learned_as_kesler_has_it(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 3
    X = rng.uniform(-1, 1, (60, 2)) + 3.0 * np.array([[0, 0], [1, 1], [2, 0]])[y]
    model = Perceptron().fit(X, np.array(["a", "b", "c"])[y])
    assert model.converged_
    assert linear_separability(X, y).separable
    np.testing.assert_array_equal(model.predict(X), np.array(["a", "b", "c"])[y])
    # the same corrections as those of two classes in 3 · 3 dimensions
    wide, points = np.column_stack([X, np.ones(60)]), []
    for n, k in product(range(60), range(3)):
        if k != y[n]:
            point = np.zeros((3, 3))
            point[y[n]], point[k] = wide[n], -wide[n]
            points.append(point.ravel())
    points = np.array(points)
    weights = np.column_stack([model.coef_, model.intercept_])
    assert (points @ weights.ravel() > 0).all()
    proof = linear_separability(X, y)
    best = np.column_stack([proof.weights, proof.biases]).ravel()
    gap = (points @ best).min() / np.linalg.norm(best)
    assert model.n_updates_ <= (points**2).sum(axis=1).max() / gap**2
    distances = [
        model.boundary("abc"[k], "abc"[c]).signed_distance(X[y == c])
        for c in range(3)
        for k in range(3)
        if k != c
    ]
    assert min(map(np.min, distances)) == pytest.approx(model.margin_, rel=1e-12)


def test_three_classes_that_are_not_separable_are_said_to_be():
    with pytest.warns(ConvergenceWarning, match="rows wrong after 20 passes"):
        model = Perceptron(max_iter=20).fit([[0.0], [1.0], [0.5], [0.6]], [0, 1, 2, 0])
    assert not model.converged_
    assert model.margin_ <= 0


@pytest.mark.topic("000/G2", "002/C8")
@pytest.mark.parametrize(("seed", "classes"), [(s, k) for s in range(6) for k in (2, 3)])
def test_either_answer_comes_with_a_proof(seed, classes):
    rng = np.random.default_rng(seed)
    y = np.arange(30) % classes
    X = (
        rng.normal(size=(30, 2))
        + (6.0 if seed % 2 else 0.3) * np.array([[0, 0], [1, 1], [2, 0]])[y]
    )
    X = X * [1e4, 1e-3] + [5.0, 7.0]
    found = linear_separability(X, y)
    assert found.separable == bool(seed % 2)
    if found.separable:
        assert ((X @ found.weights.T + found.biases).argmax(axis=1) == y).all()
        return
    assert (found.multipliers >= 0).all()
    assert found.multipliers.sum() == pytest.approx(1.0)
    wide = np.column_stack([X / [1e4, 1e-3], np.ones(30)])
    total = np.zeros((classes, 3))
    for n, k in product(range(30), range(classes)):
        if k != y[n]:
            total[y[n]] += found.multipliers[n, k] * wide[n]
            total[k] -= found.multipliers[n, k] * wide[n]
    np.testing.assert_allclose(total, 0.0, atol=1e-8 * np.abs(wide).max())


@pytest.mark.topic("000/G2")
def test_classes_that_only_touch_are_not_separable():
    assert not linear_separability([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1]).separable
    assert linear_separability([[0.0], [1.0], [1.001], [2.0]], [0, 0, 1, 1]).separable
    with pytest.raises(ValueError, match="at least two classes"):
        linear_separability([[0.0], [1.0]], [0, 0])


# -- neighbours --------------------------------------------------------------------------------


def test_neighbours_are_counted_with_a_prior():
    X, y = some_rows(90)
    model = KNeighborsClassifier(7, concentration=0.5).fit(X, y)
    plain = PlainNeighbors(7).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), (7 * plain + 0.5) / (7 + 1.5))
    np.testing.assert_allclose(model.posterior(X).concentration, 7 * plain + 0.5)
    with pytest.raises(ValueError, match="concentration must be"):
        KNeighborsClassifier(concentration=-0.5).fit(X, y)
    with pytest.raises(ValueError, match="n_neighbors must be"):
        KNeighborsClassifier(0).fit(X, y)
