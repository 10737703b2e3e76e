import numpy as np
import pytest

from posteriori.inference.processes.dense_process import noise_variances, score_dense, solve_dense
from posteriori.inference.processes.mean_effects import NO_MEAN, mean_effects
from posteriori.inference.processes.process_rows import merge_rows
from posteriori.kernels import RBF, Linear, Matern, Periodic, White
from tests.inference.processes.dense_oracle import (
    plain_effect,
    plain_evidence,
    plain_posterior,
    slopes,
)

KERNELS = {
    "rbf": 2.0 * RBF([0.8, 2.0]) + White(0.3),
    "sum": 1.5 * RBF() + 0.4 * Linear() + White(0.2),
    "product": Matern(nu=1.5).on([0]) * Periodic(1.7).on([1]) + White(0.1),
    "noise that grows": RBF() + 0.2 * Linear().on([0]) * White(1.0) + White(0.05),
    "noise in a power": (RBF() + White(0.4)) ** 2,
}


def _rows(seed=0, n=12, outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) + 1.0
    X = np.vstack([X, X[:3], X[:2]])  # some inputs two or three times
    y = np.sin(2.0 * X) @ rng.standard_normal((2, outputs)) + 3.0
    return X, y + 0.3 * rng.standard_normal(y.shape), rng.uniform(0.5, 2.0, len(X))


@pytest.mark.parametrize("kind", ["zero", "constant", "linear"])
@pytest.mark.parametrize("name", KERNELS)
def test_evidence_and_gradient_are_those_of_all_rows(name, kind):
    kernel, (X, y, variance) = KERNELS[name], _rows(outputs=2)
    mean = mean_effects(kind, X, y)
    rows = merge_rows(X, y, None, variance)
    assert len(rows.X) == 12
    value, gradient = score_dense(kernel, rows, mean)
    assert value == pytest.approx(plain_evidence(kernel, X, y, mean, variance), rel=1e-10)
    expected = slopes(lambda k: plain_evidence(k, X, y, mean, variance), kernel)
    assert gradient == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kind", ["zero", "constant", "linear"])
@pytest.mark.parametrize("name", KERNELS)
def test_predictions_are_those_of_all_rows(name, kind):
    kernel, (X, y, variance) = KERNELS[name], _rows(outputs=2)
    mean = mean_effects(kind, X, y)
    solved = solve_dense(kernel, merge_rows(X, y, None, variance), mean)
    new = np.vstack([X[:2], np.random.default_rng(1).standard_normal((4, 2))])
    expected, cov = plain_posterior(kernel, X, y, new, mean, variance)
    found = solved.predict(new)
    assert found.mean == pytest.approx(expected, rel=1e-9)
    assert found.variance == pytest.approx(cov.diagonal(), rel=1e-8)
    assert solved.covariance(new) == pytest.approx(cov, rel=1e-8, abs=1e-12)


def test_noise_of_their_own_where_the_kernel_has_none():
    kernel, (X, y, variance) = 2.0 * RBF(1.5), _rows()
    rows = merge_rows(X, y, None, variance)
    value, gradient = score_dense(kernel, rows, NO_MEAN, absolute=True)
    assert value == pytest.approx(plain_evidence(kernel, X, y, NO_MEAN, variance, True), rel=1e-10)
    expected = slopes(lambda k: plain_evidence(k, X, y, NO_MEAN, variance, True), kernel)
    assert gradient == pytest.approx(expected, rel=1e-6)
    assert np.array_equal(noise_variances(kernel, X, True), np.ones(len(X)))


def test_frequencies_are_repeated_rows():
    kernel, (X, y, variance) = KERNELS["sum"], _rows()
    frequency = np.random.default_rng(2).integers(1, 4, len(X))
    times = np.repeat(np.arange(len(X)), frequency)
    one = score_dense(kernel, merge_rows(X, y, frequency, variance), NO_MEAN)
    all_rows = score_dense(kernel, merge_rows(X[times], y[times], None, variance[times]), NO_MEAN)
    assert one[0] == pytest.approx(all_rows[0], rel=1e-12)
    assert one[1] == pytest.approx(all_rows[1], rel=1e-10)
    mean = mean_effects("linear", X, y, frequency.astype(float))
    again = mean_effects("linear", X[times], y[times])
    assert mean.columns(X) == pytest.approx(again.columns(X), rel=1e-12)


def test_effects_are_those_of_the_summands_and_add_up():
    kernel, (X, y, _) = KERNELS["sum"], _rows(outputs=2)
    mean = mean_effects("constant", X, y)
    solved = solve_dense(kernel, merge_rows(X, y), mean)
    new = np.random.default_rng(1).standard_normal((5, 2))
    found = solved.effects(new)
    assert len(found) == 3
    for part, one in zip(kernel.members[:2], found[1:], strict=True):
        expected, variance = plain_effect(kernel, part, X, y, new, mean)
        assert one.mean == pytest.approx(expected, rel=1e-9)
        assert one.variance == pytest.approx(variance, rel=1e-8)
    assert sum(one.mean for one in found) == pytest.approx(solved.predict(new).mean, rel=1e-10)


def test_left_out_inputs_are_predicted_by_all_others():
    kernel, (X, y, _) = KERNELS["rbf"], _rows()
    X, y = X[:12], y[:12]
    mean = mean_effects("constant", X, y)
    rows = merge_rows(X, y)
    found = solve_dense(kernel, rows, mean).left_out()
    for n in range(len(X)):
        others = np.arange(len(X)) != n
        expected, cov = plain_posterior(kernel, X[others], y[others], X[n : n + 1], mean)
        at = rows.place[n]
        assert found.mean[at] == pytest.approx(expected[0], rel=1e-9)
        assert found.variance[at] == pytest.approx(cov[0, 0] + 0.3, rel=1e-9)


def test_further_rows_extend_the_factor():
    kernel, (X, y, _) = KERNELS["rbf"], _rows()
    mean = mean_effects("constant", X, y)
    first = solve_dense(kernel, merge_rows(X[:8], y[:8]), mean)
    for upto in (12, len(X)):  # the last ones repeat earlier inputs
        rows = merge_rows(X[:upto], y[:upto], earlier=first.rows)
        assert np.array_equal(rows.X[:8], first.rows.X)
        assert np.array_equal(rows.X[rows.place], X[:upto])
        later, batch = first.extended(rows, mean, False), solve_dense(kernel, rows, mean)
        assert later.log_evidence == pytest.approx(batch.log_evidence, rel=1e-12)
        assert later.alpha == pytest.approx(batch.alpha, rel=1e-9)


def test_points_without_noise_get_the_least_jitter():
    X = np.linspace(0.0, 1.0, 40)[:, None]
    solved = solve_dense(RBF(1.0), merge_rows(X, np.sin(X)), NO_MEAN)
    assert 0.0 < solved.factor.jitter <= 1e-10
    assert solved.predict(X).mean == pytest.approx(np.sin(X), abs=1e-5)


def test_memory_is_one_matrix():
    """The weights of the gradient are never a matrix of their own."""
    import tracemalloc

    X, n = np.random.default_rng(0).standard_normal((1000, 3)), 1000
    rows = merge_rows(X, np.sin(X[:, :1]))
    kernel = RBF([1.0, 2.0, 3.0]) + White(0.1)
    score_dense(kernel, rows, NO_MEAN)
    tracemalloc.start()
    score_dense(kernel, rows, NO_MEAN)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * 8 * n * n
