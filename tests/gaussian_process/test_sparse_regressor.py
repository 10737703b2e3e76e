"""Sparse process regression: exact where all rows are points, a sum over rows, honest about input."""

import numpy as np
import pytest

from posteriori.estimators.contract import adds_up
from posteriori.gaussian_process import GaussianProcessRegressor, SparseGaussianProcessRegressor
from posteriori.inference.processes.dense_process import solve_dense
from posteriori.inference.processes.mean_effects import mean_effects
from posteriori.inference.processes.process_rows import merge_rows
from posteriori.kernels import RBF, Linear, Matern, White
from posteriori.numerics import ConvergenceWarning
from tests.scikit_learn_checks import every_check

KERNEL = 1.5 * Matern(2.5, [1.0, 2.0]) + White(0.05)


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2.0, 2.0, size=(120, 2))
    return X, 4.0 + np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.2 * rng.normal(size=len(X))


def given(points, **options):
    return SparseGaussianProcessRegressor(KERNEL, points, hyperparameters="fixed", **options)


@every_check(
    [
        SparseGaussianProcessRegressor(1.0 * RBF(5.0) + White(0.1), 50, hyperparameters="fixed"),
        # as many points as tell a function of ten columns with one scale
        SparseGaussianProcessRegressor(1.0 * RBF(2.0) + White(0.1), 20, method="fitc"),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


class TestExactness:
    @pytest.mark.parametrize("method", ["variational", "fitc"])
    @pytest.mark.parametrize("mean", ["zero", "constant", "linear"])
    def test_all_rows_as_points_are_the_dense_process(self, rows, method, mean):
        X, y = rows
        model = given(X, method=method, mean=mean).fit(X, y)
        dense = solve_dense(KERNEL, merge_rows(X, y[:, None]), mean_effects(mean, X, y[:, None]))
        assert np.isclose(float(model.log_evidence_), dense.log_evidence, rtol=1e-8)
        new = np.array([[0.3, -1.0], [5.0, 5.0]])
        expected = dense.predict(new)
        found = model.predict_dist(new, noise=False)
        assert np.allclose(found.mean, expected.mean[:, 0], rtol=1e-6)
        assert np.allclose(found.variance, expected.variance, rtol=1e-5)
        joint = model.predict_dist(new, joint=True, noise=False)
        assert np.allclose(joint.cov, dense.covariance(new), rtol=1e-5, atol=1e-8)
        noisy = model.predict_dist(new)
        assert np.allclose(noisy.variance, found.variance + 0.05)

    def test_kinds(self, rows):
        X, y = rows
        assert given(X[:9]).fit(X, y).log_evidence_.kind == "bound"
        assert given(X[:9], method="fitc").fit(X, y).log_evidence_.kind == "estimate"
        learned = SparseGaussianProcessRegressor(KERNEL, 9).fit(X, y)
        assert learned.log_evidence_.kind == "type-II"

    def test_weights_are_repeated_rows(self, rows):
        X, y = rows
        times = np.random.default_rng(0).integers(0, 4, len(y))
        weighted = given(X[:9]).fit(X, y, sample_weight=times)
        repeated = given(X[:9]).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        assert np.isclose(weighted.log_evidence_ - repeated.log_evidence_, 0.0, atol=1e-8)
        assert np.allclose(weighted.predict(X), repeated.predict(X))

    def test_noise_is_relative_to_that_of_the_kernel_or_absolute_without_it(self, rows):
        X, y = rows
        v = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
        relative = given(X[:9]).fit(X, y, noise_variance=v)
        bare = SparseGaussianProcessRegressor(
            1.5 * Matern(2.5, [1.0, 2.0]), X[:9], hyperparameters="fixed"
        ).fit(X, y, noise_variance=0.05 * v)
        assert np.isclose(relative.log_evidence_ - bare.log_evidence_, 0.0, atol=1e-8)
        some = relative.predict_dist(X[:2], noise_variance=[2.0, 3.0]).variance
        other = bare.predict_dist(X[:2], noise_variance=[0.1, 0.15]).variance
        assert np.allclose(some, other)

    def test_missing_targets_say_nothing(self, rows):
        X, y = rows
        gappy = y.copy()
        gappy[::3] = np.nan
        seen = np.isfinite(gappy)
        a, b = given(X[:9]).fit(X, gappy), given(X[:9]).fit(X[seen], y[seen])
        assert np.allclose(a.predict(X), b.predict(X))


class TestAddition:
    @pytest.mark.parametrize("method", ["variational", "fitc"])
    @pytest.mark.parametrize("mean", ["zero", "constant", "linear"])
    def test_a_stream_is_a_batch(self, rows, method, mean):
        X, y = rows
        batch = given(X[:9], method=method, mean=mean).fit(X, y)
        stream = given(X[:9], method=method, mean=mean)
        for part in np.split(np.arange(len(y)), [1, 30, 70]):
            stream.partial_fit(X[part], y[part])
        halves = [
            given(X[:9], method=method, mean=mean).fit(X[r], y[r])
            for r in (slice(40), slice(40, None))
        ]
        for other in (stream, halves[0].merge(halves[1])):
            assert np.isclose(batch.log_evidence_ - other.log_evidence_, 0.0, atol=1e-7)
            assert np.allclose(batch.predict(X, return_std=True), other.predict(X, return_std=True))

    def test_a_learned_model_takes_further_rows(self, rows):
        X, y = rows
        model = SparseGaussianProcessRegressor(KERNEL, 9).fit(X[:60], y[:60])
        kernel, points = model.kernel_, model.inducing_
        model.partial_fit(X[60:], y[60:])
        again = SparseGaussianProcessRegressor(kernel, points, hyperparameters="fixed").fit(X, y)
        assert np.allclose(model.predict(X), again.predict(X))

    def test_others_kernels_are_not_merged(self, rows):
        X, y = rows
        other = SparseGaussianProcessRegressor(RBF() + White(), X[:9], hyperparameters="fixed")
        with pytest.raises(ValueError, match="cannot be merged"):
            given(X[:9]).fit(X, y).merge(other.fit(X, y))

    def test_large_levels_keep_their_digits(self, rows):
        X, y = rows
        plain = given(X[:9]).fit(X, y)
        high = given(X[:9]).fit(X, y + 1e8)
        assert np.allclose(high.predict(X) - 1e8, plain.predict(X), atol=1e-5)


class TestLearning:
    def test_the_evidence_rises_and_moved_points_raise_it_further(self):
        x = np.linspace(0.0, 6.0, 80)[:, None]
        y = np.sin(2.0 * x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=80)
        start, kernel = {"hyperparameters": "fixed"}, 1.0 * RBF(1.0) + White(0.05)
        plain = SparseGaussianProcessRegressor(kernel, 7, **start).fit(x, y)
        learned = SparseGaussianProcessRegressor(kernel, 7).fit(x, y)
        moved = SparseGaussianProcessRegressor(kernel, 7, move_points=True).fit(x, y)
        assert plain.log_evidence_ < learned.log_evidence_ < moved.log_evidence_
        placed = SparseGaussianProcessRegressor(kernel, 7, move_points=True, **start).fit(x, y)
        assert placed.kernel_ == kernel
        assert plain.log_evidence_ < placed.log_evidence_

    def test_fixed_parameters_stay(self, rows):
        X, y = rows
        model = SparseGaussianProcessRegressor(KERNEL, 8, fixed=["White.variance"]).fit(X, y)
        assert np.isclose(model.kernel_.members[-1].variance, 0.05)
        assert not np.isclose(model.kernel_.log_parameters[0], KERNEL.log_parameters[0])

    def test_the_callback_ends_a_search(self, rows):
        X, y = rows
        model = SparseGaussianProcessRegressor(KERNEL, X[:8], callback=lambda n, _: n >= 3)
        with pytest.warns(ConvergenceWarning, match="in 3 evaluations"):
            model.fit(X, y)
        assert model.n_iter_ == 3


class TestBadInput:
    def test_kernels_without_noise(self, rows):
        X, y = rows
        with pytest.raises(ValueError, match=r"add White\(\)"):
            SparseGaussianProcessRegressor(RBF(), 5).fit(X, y)

    @pytest.mark.parametrize("inducing", [0, 2.5, -3])
    def test_numbers_of_points(self, rows, inducing):
        with pytest.raises(ValueError, match="inducing must be"):
            SparseGaussianProcessRegressor(KERNEL, inducing).fit(*rows)

    def test_points_with_other_columns(self, rows):
        with pytest.raises(ValueError, match="1 columns and X has 2"):
            SparseGaussianProcessRegressor(KERNEL, np.zeros((3, 1))).fit(*rows)

    def test_what_is_no_kernel(self, rows):
        with pytest.raises(TypeError, match="kernel must be one of"):
            SparseGaussianProcessRegressor("rbf").fit(*rows)

    def test_constant_targets_and_one_row(self):
        X = np.arange(6.0)[:, None]
        model = SparseGaussianProcessRegressor(inducing=3).fit(X, np.full(6, 2.0))
        assert np.allclose(model.predict(X), 2.0, atol=1e-3)
        lone = given(np.zeros((1, 2))).fit([[0.0, 0.0]], [3.0])
        assert np.isclose(lone.predict([[0.0, 0.0]])[0], 3.0)

    def test_streams_are_batches_where_kernel_and_points_are_given(self, rows):
        assert adds_up(given(rows[0][:5]))
        assert not adds_up(SparseGaussianProcessRegressor(KERNEL, 5, hyperparameters="fixed"))
        assert not adds_up(SparseGaussianProcessRegressor(KERNEL, rows[0][:5]))


def test_draws_have_the_joint_covariance(rows):
    model = given(rows[0][:9]).fit(*rows)
    new = np.array([[0.0, 0.0], [0.5, 0.5]])
    joint = model.predict_dist(new, joint=True, noise=False)
    drawn = model.sample_functions(new, 4000, rng=0)
    error = 5.0 * np.sqrt(2.0 / 4000) * np.max(joint.cov)
    assert np.allclose(np.cov(drawn.T), joint.cov, atol=error)


class TestWhatIsKnown:
    def test_effects_are_those_of_the_dense_process(self, rows):
        """With all rows as points; their means add up."""
        X, y = rows
        kernel = 1.5 * RBF([1.0, 2.0]) + 0.5 * Linear() + White(0.05)
        model = SparseGaussianProcessRegressor(kernel, X, hyperparameters="fixed").fit(X, y)
        dense = GaussianProcessRegressor(kernel, hyperparameters="fixed").fit(X, y)
        new = np.array([[0.3, -1.0], [1.0, 0.5]])
        for found, expected in zip(model.effects(new), dense.effects(new), strict=True):
            assert found.kernel == expected.kernel
            assert np.allclose(found.belief.mean, expected.belief.mean, atol=1e-3)
            assert np.allclose(found.belief.variance, expected.belief.variance, rtol=1e-2)
        total = sum(np.asarray(one.belief.mean) for one in model.effects(new))
        assert np.allclose(total, model.predict(new))

    @pytest.mark.parametrize("method", ["variational", "fitc"])
    def test_rows_left_out_are_those_of_a_fit_without_them(self, rows, method):
        X, y = rows[0][:20], rows[1][:20]
        model = given(X[:9], method=method, mean="zero").fit(X, y)
        found = model.leave_one_out_log_density(X, y)
        for n in (0, 7, 19):
            keep = np.arange(20) != n
            without = given(X[:9], method=method, mean="zero").fit(X[keep], y[keep])
            expected = without.predict_dist(X[n : n + 1]).log_prob(y[n : n + 1])
            assert np.isclose(found[n], expected[0], atol=1e-8)
        with pytest.raises(ValueError, match="those that the model was fitted to"):
            model.leave_one_out_log_density(X[1:], y[1:])
        assert not hasattr(SparseGaussianProcessRegressor(), "leave_one_out_log_density")

    def test_integrated_parameters_are_those_of_the_dense_process(self, rows):
        X, y = rows[0][:25], rows[1][:25]
        options = {"hyperparameters": "integrated", "fixed": ["Matern.scale"]}
        model = SparseGaussianProcessRegressor(KERNEL, X, **options).fit(X, y)
        dense = GaussianProcessRegressor(KERNEL, **options).fit(X, y)
        assert model.log_evidence_.kind == "laplace"
        assert "central composite design of 9 points" in model.account_[-1]
        assert np.isclose(float(model.log_evidence_), float(dense.log_evidence_), atol=1e-2)
        new = np.array([[0.3, -1.0], [5.0, 5.0]])
        assert np.allclose(model.predict(new), dense.predict(new), atol=1e-2)
        assert np.allclose(model.predict_dist(new).std, dense.predict_dist(new).std, rtol=1e-2)
        assert not hasattr(model, "partial_fit")
        assert not hasattr(model, "merge")

    def test_the_account_says_how(self, rows):
        model = given(rows[0][:9]).fit(*rows)
        assert model.account_ == ("collapsed bound of 120 rows through 9 points, O(N M²)",)
        learned = SparseGaussianProcessRegressor(KERNEL, 9, method="fitc").fit(*rows)
        assert learned.account_[0].startswith("FITC of 120 rows through 9 points")
        assert f"{learned.n_iter_} evaluations" in learned.account_[-1]


@pytest.mark.slow
def test_intervals_cover_what_they_promise():
    """Functions of the prior: targets lie inside 90 % intervals as often as that."""
    rng, inside = np.random.default_rng(5), []
    for _ in range(40):
        X = rng.uniform(-3.0, 3.0, size=(150, 1))
        kernel = 1.0 * RBF(1.0) + White(0.1)
        y = np.linalg.cholesky(kernel(X)) @ rng.standard_normal(150)
        model = SparseGaussianProcessRegressor(inducing=20).fit(X[:100], y[:100])
        low, high = model.predict_dist(X[100:]).interval(0.9)
        inside.append(np.mean((y[100:] > low) & (y[100:] < high)))
    error = np.std(inside) / np.sqrt(len(inside))
    assert abs(np.mean(inside) - 0.9) < 5.0 * error


def test_few_points_do_not_make_a_function_noise():
    """The bound of ten points has a top without any function, to which the usual start leads."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-2.0, 2.0, size=(300, 2))
    y = 4.0 + np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.2 * rng.normal(size=len(X))
    model = SparseGaussianProcessRegressor(inducing=10).fit(X, y)
    noise = (
        -0.5 * len(y) * (np.log(2.0 * np.pi * y.var()) + 1.0)
    )  # ln p of the best without a function
    assert float(model.log_evidence_) > noise + 200.0
    assert model.score(X, y) > 0.9


class TestSearchOnSomeRows:
    def test_what_is_believed_is_of_all_rows(self, rows):
        X, y = rows
        model = SparseGaussianProcessRegressor(inducing=15, search_rows=60).fit(X, y)
        again = SparseGaussianProcessRegressor(
            model.kernel_, model.inducing_, hyperparameters="fixed"
        ).fit(X, y)
        assert np.isclose(float(model.log_evidence_), float(again.log_evidence_), rtol=1e-9)
        whole = SparseGaussianProcessRegressor(inducing=15).fit(X, y)
        assert float(model.log_evidence_) > float(whole.log_evidence_) - 10.0

    def test_columns_that_matter_are_found_among_many(self):
        """With few points the bound alone takes all for noise here; the exact evidence of some rows does not."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 12))
        y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=600)
        model = SparseGaussianProcessRegressor(inducing=40, search_rows=400).fit(X[:500], y[:500])
        error = np.sqrt(np.mean((model.predict(X[500:]) - y[500:]) ** 2))
        assert error < 0.6 * y[500:].std()
