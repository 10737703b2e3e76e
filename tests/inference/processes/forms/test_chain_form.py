import numpy as np
import pytest

from posteriori.gaussian_process import GaussianProcessRegressor, log_evidence
from posteriori.inference.processes.forms.chain_form import ChainForm, is_chain
from posteriori.inference.processes.forms.choosing import choose_form
from posteriori.inference.processes.mean_effects import NO_MEAN, mean_effects
from posteriori.inference.processes.process_rows import merge_rows
from posteriori.kernels import RBF, Constant, Cosine, Linear, Matern, Polynomial, White
from tests.inference.processes.forms.form_laws import assert_same_as_dense, wavy_targets

CHAINS = {
    "ornstein": 1.3 * Matern(nu=0.5, scale=0.9) + White(0.1),
    "three halves": 2.0 * Matern(nu=1.5, scale=0.9) + White(0.1),
    "five halves": Matern(nu=2.5, scale=1.4) + White(0.2),
    "sum": 2.0 * Matern(nu=2.5, scale=3.0) + 0.3 * Matern(nu=0.5, scale=0.5) + White(0.1),
    "product": 1.5 * Matern(nu=1.5, scale=2.0) * Matern(nu=0.5, scale=4.0) + White(0.1),
    "power": (0.5 * Matern(nu=1.5, scale=2.0) + Constant(0.3)) ** 2 + White(0.1),
    "polynomials": Matern(nu=1.5, scale=0.8) + 0.2 * Polynomial(2, offset=0.7) + White(0.1),
    "growing": 0.5 * Linear() * Matern(nu=1.5, scale=2.0) + Matern(nu=0.5) + White(0.1),
    "growing alone": 0.5 * Linear() * Matern(nu=1.5, scale=2.0) + White(0.1),
    "wave that fades": Cosine(1.7) * Matern(nu=1.5, scale=3.0) + White(0.1),
    "noise that grows": Matern(nu=1.5) + 0.1 * Linear() * White(1.0) + White(0.05),
    "noise of a square": (Matern(nu=0.5) + White(0.2)) * (0.5 * Linear() + White(0.3)) + White(0.1),
    "warped features": Matern(nu=2.5) * (Cosine(2.1) + 0.4).warped(np.tanh) + White(0.1),
    "noise beside another kernel": Matern(nu=1.5) + RBF() * White(0.2),
    "on a column": (2.0 * Matern(nu=1.5)).on([0]) + White(0.1),
}


def _rows(seed=0, n=30, outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, (n, 1))
    X = np.vstack([X, X[:4]])
    return X, wavy_targets(X[:, 0], rng, outputs), rng.uniform(0.5, 2.0, len(X))


@pytest.mark.parametrize("kind", ["zero", "constant", "linear"])
@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_says_what_a_matrix_says(name, kind):
    X, y, variance = _rows(outputs=2)
    form = ChainForm(merge_rows(X, y, None, variance), mean_effects(kind, X, y), False)
    assert_same_as_dense(
        form, CHAINS[name], np.array([[-1.0], X[3], [2.2], [2.2], [9.0]]), slope=1e-7
    )


@pytest.mark.parametrize("name", ["three halves", "five halves", "growing", "wave that fades"])
def test_the_gradient_is_that_of_differences(name):
    """Through the public function: rows in any order, some without a target, inputs that repeat."""
    rng = np.random.default_rng(5)
    X = rng.permutation(np.append(rng.uniform(0.0, 30.0, 320), np.arange(30.0)))[:, None]
    X = np.vstack([X, X[:20]])
    y = wavy_targets(X[:, 0], rng)[:, 0]
    y[::17] = np.nan
    kernel, step = CHAINS[name], 1e-4
    _, gradient = log_evidence(kernel, X, y)

    def at(logs):
        return float(log_evidence(kernel.with_log_parameters(logs), X, y, gradient=False))

    logs = kernel.log_parameters
    expected = [(at(logs + e) - at(logs - e)) / (2.0 * step) for e in step * np.eye(len(logs))]
    assert gradient == pytest.approx(np.array(expected), rel=1e-5, abs=1e-4)


def test_rows_that_are_changed_later_change_nothing():
    X = np.linspace(0.0, 30.0, 300)[:, None]
    y = np.sin(X[:, 0])
    process = GaussianProcessRegressor(CHAINS["three halves"], hyperparameters="fixed").fit(X, y)
    before = process.predict([[3.3]])
    X += 1.0
    y *= 2.0
    assert process.predict([[3.3]]) == before


def test_targets_with_noise_of_their_own():
    X, y, variance = _rows()
    form = ChainForm(merge_rows(X, y, None, 0.1 * variance), NO_MEAN, True)
    assert_same_as_dense(form, 2.0 * Matern(nu=1.5), np.array([[0.5], [7.0]]))


def test_targets_without_noise():
    X, y, _ = _rows()
    form = ChainForm(merge_rows(X[:20], y[:20]), NO_MEAN, False)
    assert_same_as_dense(form, 2.0 * Matern(nu=0.5), np.array([[0.5], [7.0]]))


def test_a_mean_far_wider_than_the_process_keeps_its_digits():
    X, y, _ = _rows()
    form = ChainForm(merge_rows(X, 1e9 * y), mean_effects("constant", X, 1e9 * y), False)
    process, new = form.solve(Matern(nu=1.5)), np.array([[-1.0], X[3], [2.2], [9.0]])
    dense = process._dense().predict(new)
    found = process.predict(new)
    np.testing.assert_allclose(found.mean, dense.mean, rtol=1e-6)
    np.testing.assert_allclose(found.variance, dense.variance, rtol=1e-6, atol=1e-9)


def test_long_series_are_chains():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 50.0, (400, 1))
    rows = merge_rows(X, wavy_targets(X[:, 0], rng))
    kernel = CHAINS["sum"]
    assert isinstance(choose_form(kernel, rows, NO_MEAN, False), ChainForm)
    assert not is_chain(RBF() + White(), rows, NO_MEAN)
    assert not is_chain(kernel, merge_rows(X[:50], X[:50]), NO_MEAN)
    wide = merge_rows(np.hstack([X, X]), X)
    assert not is_chain(kernel, wide, NO_MEAN)
    assert not is_chain(Matern(nu=2.5) ** 3 + White(), rows, NO_MEAN)  # 27 states
    form = ChainForm(rows, mean_effects("constant", X, rows.y), False)
    assert_same_as_dense(form, kernel, X[:5] + 0.01)
