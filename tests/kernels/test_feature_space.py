"""Distances and means in feature space, against features that one can write down."""

import numpy as np
import pytest

from posteriori.kernels import (
    RBF,
    Linear,
    Polynomial,
    White,
    center_gram,
    distance_to_mean,
    kernel_distance,
)
from tests.kernels.kernel_cases import CASES, WITH_FEATURES, points

EXPLICIT = pytest.mark.parametrize("kernel", WITH_FEATURES.values(), ids=WITH_FEATURES.keys())


@EXPLICIT
@pytest.mark.topic("002/G9")
def test_distances_are_those_of_features(kernel):
    x, z = points(7), points(4, seed=1)
    phi, psi = kernel.features(x), kernel.features(z)
    expected = np.linalg.norm(phi[:, None] - psi[None], axis=2)
    assert np.allclose(kernel_distance(kernel, x, z), expected, rtol=1e-7, atol=1e-7)
    assert np.all(np.diagonal(kernel_distance(kernel, x)) == 0.0)


@EXPLICIT
@pytest.mark.topic("002/G8")
def test_distance_to_the_mean_of_features(kernel):
    x, z = points(7), points(4, seed=1)
    phi, psi = kernel.features(x), kernel.features(z)
    expected = np.linalg.norm(psi - phi.mean(axis=0), axis=1)
    assert np.allclose(distance_to_mean(kernel, x, z), expected, rtol=1e-7, atol=1e-7)
    expected = np.linalg.norm(phi - phi.mean(axis=0), axis=1)
    assert np.allclose(distance_to_mean(kernel, x), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.topic("002/G8")
def test_with_a_linear_kernel_it_is_the_usual_mean():
    x, z = points(7), points(4, seed=1)
    f = distance_to_mean(Linear(), x, z) ** 2
    assert np.allclose(f, ((z - x.mean(axis=0)) ** 2).sum(axis=1))


def test_novelty_grows_and_levels_off():
    x = points(60, columns=1)
    d = distance_to_mean(RBF(), x, [[0.0], [2.0], [5.0], [50.0]])
    assert np.all(np.diff(d) > 0)
    assert np.isclose(d[-1] ** 2, 1.0 + RBF()(x).mean(), rtol=1e-9)


@EXPLICIT
def test_centred_gram_is_that_of_centred_features(kernel):
    x, z = points(7), points(4, seed=1)
    phi, psi = kernel.features(x), kernel.features(z)
    mean = phi.mean(axis=0)
    gram = kernel(x)
    size = np.abs(gram).max()
    assert np.allclose(center_gram(gram), (phi - mean) @ (phi - mean).T, atol=1e-12 * size)
    across = center_gram(gram, kernel(z, x))
    assert np.allclose(across, (psi - mean) @ (phi - mean).T, atol=1e-12 * size)


def test_long_questions_are_answered_in_parts(monkeypatch):
    x, z = points(9), points(40, seed=1)
    whole = distance_to_mean(CASES["rbf"], x, z)
    monkeypatch.setattr("posteriori.kernels.feature_space.IN_MEMORY", 18)  # two rows at a time
    assert np.array_equal(distance_to_mean(CASES["rbf"], x, z), whole)


def test_noise_lies_apart_from_all_else():
    x = np.array([[1.0], [1.0]])
    assert np.allclose(kernel_distance(White(2.0), x), [[0.0, 2.0], [2.0, 0.0]])


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: center_gram(np.ones((2, 3))), "gram must be a square matrix"),
        (lambda: center_gram(np.eye(2), np.ones((2, 3))), r"cross must have shape \(M, 2\)"),
        (lambda: kernel_distance(Polynomial(), [[1.0]], [[1.0, 2.0]]), "Z has 2 columns"),
    ],
)
def test_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()
