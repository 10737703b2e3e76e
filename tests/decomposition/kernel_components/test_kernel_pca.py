"""Kernel PCA against PCA, dense eigenvectors, finite features, and pre-images that are known."""

import numpy as np
import pytest

from posteriori.decomposition import PCA, KernelPCA
from posteriori.decomposition.kernel_components.leading_pairs import leading_pairs
from posteriori.kernels import RBF, InverseQuadratic, Linear, Matern, Polynomial, center_gram
from tests.scikit_learn_checks import every_check


@every_check([KernelPCA(), KernelPCA(1, Linear())])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def rows(n=40, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3.0


@pytest.mark.topic("000/I17")
def test_a_linear_kernel_gives_pca():
    x, new = rows(), rows(7, seed=1)
    kernel, plain = KernelPCA(3, Linear()).fit(x), PCA(3).fit(x)
    assert np.allclose(kernel.eigenvalues_, plain.eigenvalues_[:3])
    assert np.allclose(kernel.explained_variance_ratio_, plain.explained_variance_ratio_)
    z, expected = kernel.transform(new), plain.transform(new)
    sign = np.sign(z[0]) * np.sign(expected[0])
    assert np.allclose(z * sign, expected)
    assert np.allclose(kernel.inverse_transform(z), plain.inverse_transform(expected), atol=1e-4)


@pytest.mark.topic("000/I17")
def test_finite_features_give_pca_of_them():
    x, new, kernel = rows(), rows(7, seed=1), Polynomial(2, 1.0)
    z = KernelPCA(5, kernel).fit(x).transform(new)
    expected = PCA(5).fit(kernel.features(x)).transform(kernel.features(new))
    assert np.allclose(np.abs(z), np.abs(expected), rtol=1e-6, atol=1e-6)


@pytest.mark.topic("000/I17")
@pytest.mark.parametrize("kernel", [None, RBF(2.0), Matern(1.5, 3.0)], ids=str)
def test_new_rows_and_old_ones(kernel):
    x = rows()
    model = KernelPCA(4, kernel)
    z = model.fit_transform(x)
    assert np.allclose(model.transform(x), z)
    assert np.allclose(z.mean(axis=0), 0.0, atol=1e-12)
    assert np.allclose(z.T @ z / len(x), np.diag(model.eigenvalues_), atol=1e-12)
    # λ aᵀa N = 1: directions have length 1 in feature space
    gram = center_gram(model.kernel_(x))
    a = model.dual_components_
    assert np.allclose(a @ gram @ a.T, np.eye(4), atol=1e-9)


@pytest.mark.topic("000/I17")
def test_a_gaussian_kernel_separates_rings():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 120)
    radius = np.where(np.arange(120) < 60, 0.3, 1.5) + 0.03 * rng.normal(size=120)
    x = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    z = KernelPCA(1, RBF(0.6)).fit_transform(x)[:, 0]
    inner, outer = z[:60], z[60:]
    assert inner.min() > outer.max() or inner.max() < outer.min()
    flat = PCA(2).fit_transform(x)
    assert all(f[:60].min() < f[60:].max() and f[60:].min() < f[:60].max() for f in flat.T)


@pytest.mark.blas
def test_few_of_many_are_the_largest_of_all(monkeypatch):
    x = rows(300)
    few = KernelPCA(5, RBF(3.0)).fit(x)
    monkeypatch.setattr("posteriori.decomposition.kernel_components.kernel_pca._LARGE", 1000)
    whole = KernelPCA(5, RBF(3.0)).fit(x)
    assert np.allclose(few.eigenvalues_, whole.eigenvalues_, rtol=1e-12)
    assert np.allclose(few.transform(x), whole.transform(x), atol=1e-7)


@pytest.mark.parametrize("spectrum", ["falls", "steep", "ties", "low rank"])
def test_leading_pairs(spectrum):
    rng = np.random.default_rng(0)
    values = {
        "falls": 1.0 / np.arange(1.0, 121.0),
        "steep": 0.01 ** np.arange(120.0),
        "ties": np.repeat([3.0, 2.0, 1.0], 40),
        "low rank": np.concatenate([[5.0, 4.0, 3.0], np.zeros(117)]),
    }[spectrum]
    q = np.linalg.qr(rng.normal(size=(120, 120)))[0]
    matrix = (q * values) @ q.T
    found, vectors = leading_pairs(lambda b: b @ matrix, 120, 4)
    assert np.allclose(found, values[:4], atol=1e-12)
    residuals = np.linalg.norm(vectors @ matrix - found[:, None] * vectors, axis=1)
    assert np.all(residuals <= np.maximum(2e-9 * found, 1e-12 * found[0]))  # of small ones too
    assert np.allclose(vectors @ vectors.T, np.eye(4), atol=1e-10)


@pytest.mark.parametrize("kernel", [RBF(0.5), RBF([0.5, 0.8]), InverseQuadratic(2.0)], ids=str)
def test_features_that_are_spanned_have_their_rows_for_pre_images(kernel):
    x = rows(30, 2)
    model = KernelPCA(None, kernel).fit(x)
    assert np.allclose(model.inverse_transform(model.transform(x)), x, atol=1e-6)


def test_pre_images_take_noise_off():
    rng = np.random.default_rng(0)
    angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    noisy = circle + 0.15 * rng.normal(size=circle.shape)
    model = KernelPCA(4, RBF(1.0)).fit(noisy)
    cleaned = model.inverse_transform(model.transform(noisy))
    off = np.abs(np.linalg.norm(noisy, axis=1) - 1.0).mean()
    assert np.abs(np.linalg.norm(cleaned, axis=1) - 1.0).mean() < 0.6 * off


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: KernelPCA(3, Linear()).fit(rows(10, 2)), "vary in 2 directions only"),
        (lambda: KernelPCA(0).fit(rows()), r"n_components must be a whole number >= 1, got 0"),
        (lambda: KernelPCA().fit(np.ones((5, 2))), "every row of X has the same features"),
        (lambda: KernelPCA().fit(np.ones((1, 2))), "1 sample"),
        (
            lambda: KernelPCA(2).fit(rows()).inverse_transform(np.ones((1, 3))),
            "Z must have 2 columns",
        ),
    ],
)
def test_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()
