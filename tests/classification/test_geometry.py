"""Boundaries as objects: distances, projections, conics, and where Gaussian classes are equal."""

import numpy as np
import pytest

from posteriori.classification import (
    GaussianDiscriminant,
    GenerativeClassifier,
    Hyperplane,
    LevelSet,
    NaiveBayes,
    Quadric,
)
from posteriori.distributions import MvNormal
from tests.classification.generative.test_gaussian import APPLE, COV, PEACH, exact_rows, some_rows


@pytest.mark.topic("000/G13")
def test_distance_projection_and_offset_of_a_hyperplane():
    rng = np.random.default_rng(0)
    plane = Hyperplane(rng.normal(size=4), 0.7)
    x = rng.normal(size=(30, 4))
    foot = plane.project(x)
    np.testing.assert_allclose(plane.value(foot), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.abs(plane.signed_distance(x)), np.linalg.norm(x - foot, axis=1))
    np.testing.assert_array_equal(np.sign(plane.signed_distance(x)), np.sign(plane.value(x)))
    for other in plane.project(rng.normal(size=(20, 4))):  # no point of the plane is nearer
        assert (np.linalg.norm(x - other, axis=1) >= np.abs(plane.signed_distance(x)) - 1e-12).all()
    along = foot[1:] - foot[0]
    np.testing.assert_allclose(along @ plane.weights, 0.0, atol=1e-12)  # w is the normal
    assert abs(plane.offset) == pytest.approx(abs(float(plane.signed_distance(np.zeros(4)))))


@pytest.mark.topic("004/7.5")
def test_the_boundary_of_apples_and_peaches():
    X, y = exact_rows([APPLE, PEACH], COV, [140, 60])
    line = GaussianDiscriminant(method="ml").fit(X, y).boundary(1, 0)
    np.testing.assert_allclose(line.weights, [-1.2, -4.6], rtol=1e-10)
    assert line.bias == pytest.approx(10.51729786, abs=5e-8)
    x1 = np.linspace(0, 3, 5)
    x2 = line.solve_for(1, x1[:, None])
    np.testing.assert_allclose(line.value(np.stack([x1, x2], axis=1)), 0.0, atol=1e-12)


@pytest.mark.topic("002/A6")
@pytest.mark.parametrize("covariance", ["shared", "full", "diagonal"])
def test_the_value_of_a_boundary_is_the_log_odds(covariance):
    X, y = some_rows(90)
    names = np.array(["a", "b", "c"])[y]
    model = GaussianDiscriminant(covariance, method="ml").fit(X, names)
    p = model.predict_log_proba(X)
    np.testing.assert_allclose(
        model.boundary("a", "c").value(X), p[:, 2] - p[:, 0], rtol=1e-9, atol=1e-9
    )


@pytest.mark.topic("002/A6")
@pytest.mark.parametrize(
    ("matrix", "weights", "bias", "kind"),
    [
        (np.eye(2), [2.0, 0.0], -3.0, "circle"),
        (-np.eye(2), [2.0, 0.0], 3.0, "circle"),
        ([[2.0, 0.5], [0.5, 1.0]], [0.0, 1.0], -3.0, "ellipse"),
        (np.eye(2), [2.0, 0.0], 3.0, "empty"),
        ([[1.0, 0.0], [0.0, -1.0]], [0.0, 0.0], -1.0, "hyperbola"),
        ([[1.0, 0.0], [0.0, -1.0]], [0.0, 0.0], 0.0, "degenerate"),
        (np.eye(2), [2.0, 0.0], 1.0, "degenerate"),
        ([[1.0, 0.0], [0.0, 0.0]], [0.0, 1.0], 4.0, "parabola"),
        ([[1.0, 1.0], [1.0, 1.0]], [1.0, -1.0], 4.0, "parabola"),
        ([[1.0, 0.0], [0.0, 0.0]], [1.0, 0.0], -4.0, "degenerate"),
        (np.zeros((2, 2)), [1.0, 0.0], -4.0, "degenerate"),
    ],
)
def test_kinds_of_conics(matrix, weights, bias, kind):
    assert Quadric(matrix, weights, bias).kind == kind


@pytest.mark.topic("002/A6")
@pytest.mark.parametrize(
    ("spread", "kind"), [([1.0, 1.0], "circle"), ([1.0, 0.5], "ellipse"), ([1.0, 4.0], "hyperbola")]
)
def test_the_conic_between_two_gaussians(spread, kind):
    first, _ = exact_rows([[0.0, 0.0]], np.diag(np.square(spread)), [20])
    second, _ = exact_rows([[0.5, 0.0]], 4.0 * np.eye(2), [20])
    model = GaussianDiscriminant("full", method="ml")
    model.fit(np.concatenate([first, second]), np.repeat([0, 1], 20))
    assert model.boundary(0, 1).kind == kind


@pytest.mark.topic("002/A6")
@pytest.mark.parametrize(
    ("covariance", "equal", "kind"),
    [
        ("shared", False, Quadric),
        ("shared", True, Hyperplane),
        ("full", True, Quadric),
        ("full", False, LevelSet),
        ("diagonal", True, LevelSet),
    ],
)
def test_boundaries_of_integrated_classes_have_the_sign_of_the_log_odds(covariance, equal, kind):
    X, y = some_rows(90, 2, 2)
    ones, twos = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
    keep = np.concatenate([ones[:30], twos[: 30 if equal else 20]])
    X, y = X[keep], np.array(["a", "b"])[y[keep]]
    model = GaussianDiscriminant(covariance).fit(X, y)
    boundary = model.boundary("a", "b")
    assert type(boundary) is kind
    points = np.random.default_rng(1).normal(5, 8, (2000, 2))
    odds = model.decision_function(points)
    assert 90 < (odds > 0).sum() < 1910
    np.testing.assert_array_equal(boundary.value(points) > 0, odds > 0)
    np.testing.assert_array_equal(model.boundary("b", "a").value(points) < 0, odds > 0)
    if kind is LevelSet:
        np.testing.assert_allclose(boundary.value(points), odds, rtol=1e-9, atol=1e-9)
        assert boundary.value(points.reshape(20, 100, 2)).shape == (20, 100)
    for line in boundary.contour(((-5, 15), (-5, 15))):
        np.testing.assert_allclose(model.decision_function(line), 0.0, atol=1e-9)


def test_every_generative_classifier_has_a_boundary():
    X, y = some_rows(90, 2, 3)
    for model in (NaiveBayes(), GenerativeClassifier(MvNormal)):
        boundary = model.fit(X, y).boundary(0, 2)
        log_p = model.predict_log_proba(X)
        np.testing.assert_allclose(boundary.value(X), log_p[:, 2] - log_p[:, 0], atol=1e-9)


def test_contours_lie_on_the_boundary_and_close():
    circle = Quadric(np.eye(2), [0.0, 0.0], -4.0)
    (line,) = circle.contour(((-3, 3), (-3, 3)), size=50)
    np.testing.assert_allclose(np.hypot(*line.T), 2.0, rtol=1e-13)
    np.testing.assert_array_equal(line[0], line[-1])
    angles = np.sort(np.arctan2(line[:, 1], line[:, 0]))
    assert np.diff(angles).max() < 0.1
    (straight,) = Hyperplane([1.0, 1.0], -1.0).contour(((0, 1), (0, 1)), size=5)
    np.testing.assert_allclose(straight.sum(axis=1), 1.0, rtol=1e-13)
    assert circle.contour(((3, 4), (3, 4))) == []


def test_wrong_questions_are_refused():
    X, y = some_rows()
    with pytest.raises(ValueError, match="7 is none of the classes"):
        GaussianDiscriminant(method="ml").fit(X, y).boundary(0, 7)
    with pytest.raises(ValueError, match="points of 3 numbers, got"):
        GaussianDiscriminant("diagonal").fit(X, y).boundary(0, 1).value([[0.0, 1.0]])
    with pytest.raises(ValueError, match="weights must not all be 0"):
        Hyperplane([0.0, 0.0], 1.0)
    with pytest.raises(ValueError, match="parallel to column 1"):
        Hyperplane([1.0, 0.0], 1.0).solve_for(1, [[1.0]])
