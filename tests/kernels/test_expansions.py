"""Mercer's expansion against closed forms, and random frequencies against the kernels they stand for."""

import numpy as np
import pytest

from posteriori.kernels import (
    RBF,
    Constant,
    Cosine,
    Function,
    InverseMultiquadric,
    InverseQuadratic,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Radial,
    RationalQuadratic,
    White,
    mercer_expansion,
)
from posteriori.kernels.random_frequencies import draw_frequencies
from tests.kernels.kernel_cases import CASES, points


@pytest.mark.topic("002/G2")
@pytest.mark.parametrize("name", ["rbf", "matern 3/2", "polynomial", "overlap", "sum", "function"])
def test_all_features_have_the_kernel_for_products(name):
    x = points(15)
    kernel = CASES[name]
    features = mercer_expansion(kernel, x).features(x)
    gram = kernel(x, x)
    assert np.allclose(features @ features.T, gram, atol=1e-9 * np.abs(gram).max())


@pytest.mark.topic("002/G2")
def test_brownian_motion():
    # min(x, z) on [0, 1] has λ = 1/((i − ½)π)² and ψ = √2 sin((i − ½)πx)
    kernel = Function(lambda X, Z: np.minimum.outer(X[:, 0], Z[:, 0]))
    even = (np.arange(800)[:, None] + 0.5) / 800
    found = mercer_expansion(kernel, even, 3)
    waves = (np.arange(1, 4) - 0.5) * np.pi
    assert np.allclose(found.eigenvalues, waves**-2, rtol=1e-4)
    new = np.array([[0.123], [0.5], [0.877]])
    psi = found.functions(new)
    expected = np.sqrt(2.0) * np.sin(new * waves)
    assert np.allclose(psi * np.sign(psi[0]) * np.sign(expected[0]), expected, atol=2e-3)


def test_functions_have_unit_mean_squares():
    x = points(40)
    psi = mercer_expansion(RBF(1.5), x, 5).functions(x)
    assert np.allclose(psi.T @ psi / 40, np.eye(5), atol=1e-9)


@pytest.mark.blas
def test_rank_of_an_expansion():
    x = points(30, columns=2)
    assert len(mercer_expansion(Polynomial(2, 1.0), x).eigenvalues) == 6
    with pytest.raises(ValueError, match="n must be between 1 and 2, the rank"):
        mercer_expansion(Linear(), x, 3)
    with pytest.raises(
        ValueError, match=r"is no kernel: its Gram matrix of X has the eigenvalue -"
    ):
        mercer_expansion(Radial(lambda s: -s), x)


SPECTRA = {
    "rbf": RBF([0.7, 1.5]),
    "matern 1/2": Matern(0.5, 2.0),
    "matern 3/2": Matern(1.5, [1.0, 0.6]),
    "matern 5/2": Matern(2.5, 0.8),
    "rational quadratic": RationalQuadratic(0.7, 1.3),
    "inverse multiquadric": InverseMultiquadric(0.8),
    "inverse quadratic": InverseQuadratic(0.8),
    "cosine": Cosine(2.3),
    "sum": 2.0 * RBF(0.7) + 0.5,
    "product": Cosine(3.0) * Cosine(2.0) * Constant(1.5) * Matern(2.5, 1.0),
    "power": (RBF(1.0) + 0.3) ** 2,
    "some columns": RBF(0.5).on([1]) + Matern(1.5, 0.7).on([0]),
}


@pytest.mark.parametrize("name", SPECTRA)
def test_mean_cosine_is_the_kernel(name):
    kernel = SPECTRA[name]
    x, z = points(6, columns=2), points(5, seed=1, columns=2)
    height, omega = draw_frequencies(kernel, 2, 20_000, np.random.default_rng(0))
    waves = height * np.cos((x[:, None] - z[None]) @ omega.T)  # (6, 5, S)
    error = waves.std(axis=2) / np.sqrt(20_000)
    assert np.all(np.abs(waves.mean(axis=2) - kernel(x, z)) < 5 * error + 1e-12)


@pytest.mark.parametrize("kernel", [Linear(), White(), Periodic(), RBF() + Linear()])
def test_no_known_spectrum(kernel):
    with pytest.raises(TypeError, match=r"the spectrum of .* is not known"):
        draw_frequencies(kernel, 2, 10, np.random.default_rng(0))
