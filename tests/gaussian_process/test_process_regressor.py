import mpmath
import numpy as np
import pytest
from sklearn.base import clone

from posteriori.gaussian_process import GaussianProcessRegressor, log_evidence
from posteriori.kernels import RBF, Constant, Features, Function, Linear, Matern, Polynomial, White
from posteriori.regression import BayesianLinearRegressor
from tests.inference.processes.dense_oracle import slopes
from tests.scikit_learn_checks import every_check

KERNEL = 1.5 * RBF(0.8) + White(0.2)


def _rows(seed=0, n=14, columns=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, columns))
    return X, np.sin(2.0 * X[:, 0]) + 2.0 + 0.3 * rng.standard_normal(n)


def _fixed(kernel=KERNEL, mean="constant", **more):
    return GaussianProcessRegressor(kernel, hyperparameters="fixed", mean=mean, **more)


def _chosen(kernel=None, **more):
    """Return a process whose parameters are those of highest evidence."""
    return GaussianProcessRegressor(kernel, hyperparameters="type-II", **more)


@pytest.mark.filterwarnings("ignore:.*is a model of counts:UserWarning")
@every_check(
    [
        GaussianProcessRegressor(),
        GaussianProcessRegressor(hyperparameters="fixed", mean="linear"),
        GaussianProcessRegressor(1.0 * Matern() + White(), mean="zero"),
        *(
            GaussianProcessRegressor(likelihood=one, hyperparameters="fixed")
            for one in ("poisson", "negative binomial", "student-t", "ordinal")
        ),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- numbers -------------------------------------------------------------------------------------


def test_evidence_by_many_digits():
    """ln N(y | 0, K) of four points, K by its definition, in fifty digits."""
    x, y = [0.0, 0.5, 1.25, 3.0], [0.3, -0.2, 1.0, 0.4]
    with mpmath.workdps(50):
        K = mpmath.matrix(4, 4)
        for i in range(4):
            for j in range(4):
                s = (mpmath.mpf(x[i]) - mpmath.mpf(x[j])) ** 2 / mpmath.mpf("0.49")
                K[i, j] = 2 * mpmath.exp(-s / 2) + (mpmath.mpf("0.125") if i == j else 0)
        v = mpmath.matrix(y)
        quadratic = (v.T * mpmath.lu_solve(K, v))[0]
        exact = -(4 * mpmath.log(2 * mpmath.pi) + mpmath.log(mpmath.det(K)) + quadratic) / 2
    kernel = 2.0 * RBF(0.7) + White(0.125)
    value, gradient = log_evidence(kernel, np.array(x)[:, None], y)
    assert float(value) == pytest.approx(float(exact), rel=1e-14)
    expected = slopes(lambda k: float(log_evidence(k, np.array(x)[:, None], y, False)), kernel)
    assert gradient == pytest.approx(expected, rel=1e-7)


@pytest.mark.topic("000/J2")
def test_the_dual_ridge_regression_is_the_mean_of_a_process():
    """k = xᵀz/α with noise 1/β at three points of −0.3 + 0.5x: the notes' −0.18947909."""
    x = np.array([-0.5, 0.5, 0.8])
    Phi = np.column_stack([np.ones(3), x])
    kernel = 0.5 * Linear() + White(1.0 / 25.0)
    gp = _fixed(kernel, "zero").fit(Phi, -0.3 + 0.5 * x)
    assert gp.predict([[1.0, 0.2]])[0] == pytest.approx(-0.18947909, abs=5e-9)
    dual = np.linalg.solve(Phi @ Phi.T + 2.0 / 25.0 * np.eye(3), -0.3 + 0.5 * x)
    assert np.array([1.0, 0.2]) @ Phi.T @ dual == pytest.approx(-0.18947909, abs=5e-9)


@pytest.mark.topic("000/J13", "002/N5")
def test_a_process_of_features_is_bayesian_linear_regression():
    """k = α⁻¹φᵀφ′ and noise β⁻¹: S_N and β give the same means, variances and evidence."""
    X, y = _rows()
    alpha, beta = 2.0, 25.0

    def phi(x):
        return np.column_stack([np.ones(len(x)), x, x**2])

    line = BayesianLinearRegressor(alpha, noise_precision=beta, fit_intercept=False)
    line.fit(phi(X), y)
    kernel = Features(phi, cov=np.eye(3) / alpha) + White(1.0 / beta)
    gp = _fixed(kernel, "zero").fit(X, y)
    new = np.linspace(-3.0, 3.0, 7)[:, None]
    expected, found = line.predict_dist(phi(new)), gp.predict_dist(new)
    assert found.mean == pytest.approx(expected.mean, rel=1e-9)
    assert found.variance == pytest.approx(expected.variance, rel=1e-9)
    assert float(gp.log_evidence_) == pytest.approx(float(line.log_evidence_), rel=1e-10)
    assert gp.log_evidence_.comparable(line.log_evidence_)
    S = np.linalg.inv(alpha * np.eye(3) + beta * phi(X).T @ phi(X))
    latent = gp.predict_dist(new, joint=True, noise=False)
    assert latent.cov == pytest.approx(phi(new) @ S @ phi(new).T, rel=1e-8, abs=1e-12)


@pytest.mark.topic("000/J14", "002/N5")
def test_the_conditional_of_the_joint_normal():
    X, y = _rows()
    new = np.array([[0.1], [0.4], [5.0]])
    gp = _fixed(mean="zero").fit(X, y)
    K, across = KERNEL(X), KERNEL(new, X)
    mean = across @ np.linalg.solve(K, y)
    cov = KERNEL(new) - across @ np.linalg.solve(K, across.T)
    joint = gp.predict_dist(new, joint=True)
    assert joint.mean == pytest.approx(mean, rel=1e-10)
    assert joint.cov == pytest.approx(cov, rel=1e-9, abs=1e-13)
    assert gp.predict_dist(new).variance == pytest.approx(cov.diagonal(), rel=1e-10)
    latent = gp.predict_dist(new, noise=False)
    assert latent.variance == pytest.approx(cov.diagonal() - 0.2, rel=1e-9)
    fewer = _fixed(mean="zero").fit(X[:7], y[:7]).predict_dist(new, noise=False)
    assert (latent.variance < fewer.variance).all()


@pytest.mark.topic("000/J15")
def test_parameters_of_highest_evidence():
    X, y = _rows(n=40)
    gp = _chosen(KERNEL, mean="zero").fit(X, y)
    value, gradient = log_evidence(gp.kernel_, X, y)
    assert np.abs(gradient).max() < 1e-2
    assert float(value) == pytest.approx(float(gp.log_evidence_), rel=1e-12)
    assert gp.log_evidence_.kind == "type-II"
    assert float(value) > float(log_evidence(KERNEL, X, y, gradient=False))
    kept = _chosen(KERNEL, mean="zero", fixed=["White.variance"]).fit(X, y)
    assert kept.kernel_.members[1].variance == pytest.approx(0.2, rel=1e-14)
    several = _chosen(KERNEL, mean="zero", n_init=4, random_state=0).fit(X, y)
    assert float(several.log_evidence_) >= float(gp.log_evidence_) - 1e-4


@pytest.mark.topic("000/J12")
def test_draws_of_the_four_parameter_kernel():
    """θ₀ exp(−|x − z|²/2θ₁) + θ₂ + θ₃xᵀz: θ₁ is a squared length."""
    theta = (1.0, 4.0, 0.5, 0.3)
    kernel = theta[0] * RBF(np.sqrt(theta[1])) + Constant(theta[2]) + theta[3] * Linear()
    grid = np.linspace(-2.0, 2.0, 5)[:, None]
    square = (grid - grid.T) ** 2
    expected = theta[0] * np.exp(-square / 2 / theta[1]) + theta[2] + theta[3] * grid @ grid.T
    far = _fixed(kernel + White(1e6), "zero").fit([[0.0]], [0.0])  # one row that says nothing
    draws = far.sample_functions(grid, 20_000, rng=0)
    found = draws.T @ draws / len(draws)
    error = np.sqrt((expected**2 + np.outer(expected.diagonal(), expected.diagonal())) / len(draws))
    assert (np.abs(found - expected) < 5 * error).all()
    level = _fixed(Constant(0.5) + White(1e6), "zero").fit([[0.0]], [0.0])
    assert np.ptp(level.sample_functions(grid, 4, rng=0), axis=1) == pytest.approx(0.0, abs=1e-5)
    line = _fixed(0.3 * Linear() + White(1e6), "zero").fit([[1.0]], [0.0])
    drawn = line.sample_functions(grid, 4, rng=0)
    assert drawn == pytest.approx(drawn[:, -1:] * grid.T / 2.0, abs=1e-5)
    assert np.abs(drawn[:, -1]).min() > 1e-3


# -- rows ----------------------------------------------------------------------------------------


def test_missing_targets_and_weights_of_rows():
    X, y = _rows()
    gaps = np.array([1, 5])
    holes = y.copy()
    holes[gaps] = np.nan
    gp, without = _fixed().fit(X, holes), _fixed().fit(np.delete(X, gaps, 0), np.delete(y, gaps))
    assert gp.log_evidence_ == without.log_evidence_
    weight = np.ones(len(X))
    weight[gaps] = 0.0
    assert float(_fixed().fit(X, y, weight).log_evidence_) == pytest.approx(
        float(without.log_evidence_), rel=1e-12
    )
    weight[2:4] = 3.0
    times = np.repeat(np.arange(len(X)), weight.astype(int))
    one, many = _fixed().fit(X, y, weight), _fixed().fit(X[times], y[times])
    assert float(one.log_evidence_) == pytest.approx(float(many.log_evidence_), rel=1e-12)
    assert one.log_evidence_.comparable(many.log_evidence_)
    assert one.predict(X) == pytest.approx(many.predict(X), rel=1e-10)


def test_noise_of_rows_is_relative_or_absolute():
    X, y = _rows()
    v = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    relative = _fixed(mean="zero").fit(X, y, noise_variance=v)
    absolute = _fixed(1.5 * RBF(0.8), "zero").fit(X, y, noise_variance=0.2 * v)
    assert float(relative.log_evidence_) == pytest.approx(float(absolute.log_evidence_), rel=1e-12)
    new = X[:3] + 0.1
    assert relative.predict_dist(new).variance == pytest.approx(
        absolute.predict_dist(new, noise_variance=np.full(3, 0.2)).variance, rel=1e-10
    )
    assert absolute.predict_dist(new).variance == pytest.approx(
        relative.predict_dist(new, noise=False).variance, rel=1e-10
    )


@pytest.mark.parametrize("mean", ["zero", "constant", "linear"])
def test_stream_is_batch(mean):
    X, y = _rows()
    X[10] = X[2]  # a later row at an earlier input
    batch, stream = _fixed(mean=mean).fit(X, y), _fixed(mean=mean)
    for part in (slice(0, 6), slice(6, 9), slice(9, 14)):
        stream.partial_fit(X[part], y[part])
    assert float(stream.log_evidence_) == pytest.approx(float(batch.log_evidence_), rel=1e-11)
    assert stream.log_evidence_.comparable(batch.log_evidence_)
    new = np.linspace(-3.0, 3.0, 5)[:, None]
    assert stream.predict(new) == pytest.approx(batch.predict(new), rel=1e-9)
    assert stream.predict_dist(new).std == pytest.approx(batch.predict_dist(new).std, rel=1e-9)


@pytest.mark.parametrize("mean", ["zero", "constant"])
def test_rows_left_out_are_predicted_by_all_others(mean):
    X, y = _rows()
    X[3] = X[4] = X[5]
    v = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    gp = _fixed(mean=mean).fit(X, y, noise_variance=v)
    found = gp.leave_one_out_log_density(X, y, noise_variance=v)
    level = clone(gp).set_params(mean="zero")
    for n in range(len(X)):
        rest = np.arange(len(X)) != n
        if mean == "constant":  # the prior of the level is that of all rows
            kernel, shift = KERNEL + Constant(y.var()), y.mean()
        else:
            kernel, shift = KERNEL, 0.0
        one = clone(level).set_params(kernel=kernel)
        one.fit(X[rest], y[rest] - shift, noise_variance=v[rest])
        expected = one.predict_dist(X[n : n + 1], noise_variance=v[n : n + 1])
        assert found[n] == pytest.approx(expected.log_prob(y[n] - shift)[0], rel=1e-8)
    with pytest.raises(ValueError, match="rows that the model was fitted to"):
        gp.leave_one_out_log_density(X[:5], y[:5])
    assert not hasattr(GaussianProcessRegressor(), "leave_one_out_log_density")


def test_effects_add_up():
    X, y = _rows(columns=2)
    kernel = RBF(0.7).on([0]) + 0.3 * Linear().on([1]) + White(0.1)
    gp = _fixed(kernel).fit(X, y)
    effects = gp.effects(X)
    assert [one.kernel for one in effects] == [None, *kernel.members[:2]]
    assert sum(one.belief.mean for one in effects) == pytest.approx(gp.predict(X), rel=1e-10)


def test_a_grid_with_missing_targets():
    """Missing targets are gaps, filled by further rows; rows between the points end the grid."""
    rng = np.random.default_rng(4)
    X = np.stack(np.meshgrid(np.arange(16.0), np.arange(18.0)), axis=-1).reshape(-1, 2)
    y = np.sin(0.4 * X[:, 0]) * X[:, 1] + 0.3 * rng.standard_normal(len(X))
    kernel = 30.0 * RBF([3.0, 9.0]) + White(0.1)
    y[:5] = np.nan
    gp = _fixed(kernel).fit(X, y)
    assert gp.account_ == (
        "Kronecker factors of a grid of 16 × 18 inputs, 5 of its cells are gaps, O(N Σ n)",
    )
    dense = _fixed(kernel + 1e-12 * Linear()).fit(X, y)
    assert dense.account_[0].startswith("Cholesky")
    assert float(gp.log_evidence_) == pytest.approx(float(dense.log_evidence_), rel=1e-8)
    new = np.array([[2.0, 0.0], [3.3, 4.4]])
    assert gp.predict(new) == pytest.approx(dense.predict(new), rel=1e-6)
    full = gp.partial_fit(X[:5], np.zeros(5))
    assert full.account_ == ("Kronecker factors of a grid of 16 × 18 inputs, O(N Σ n)",)
    odd = rng.uniform(0.0, 15.0, (10, 2))
    more = gp.partial_fit(odd, np.zeros(10))
    assert more.account_ == ("Cholesky factor of 298 distinct inputs, O(N³)",)
    both = np.vstack([X, odd]), np.concatenate([np.zeros(5), y[5:], np.zeros(10)])
    batch = _fixed(kernel + 1e-12 * Linear()).fit(*both)
    assert float(more.log_evidence_) == pytest.approx(float(batch.log_evidence_), rel=1e-7)


def test_several_outputs_are_one_at_a_time():
    X, y = _rows()
    Y = np.column_stack([y, -2.0 * y + X[:, 0]])
    gp = _fixed(mean="zero").fit(X, Y)
    parts = [_fixed(mean="zero").fit(X, column) for column in Y.T]
    assert float(gp.log_evidence_) == pytest.approx(sum(float(p.log_evidence_) for p in parts))
    new = np.array([[0.3], [1.0]])
    assert gp.predict(new) == pytest.approx(np.column_stack([p.predict(new) for p in parts]))
    assert gp.predict_dist(new).batch_shape == (2, 2)
    assert gp.sample_functions(new, 3, rng=0).shape == (3, 2, 2)


def test_draws_follow_the_posterior():
    X, y = _rows()
    gp, new = _fixed().fit(X, y), np.array([[0.0], [0.3], [4.0]])
    joint = gp.predict_dist(new, joint=True, noise=False)
    draws = gp.sample_functions(new, 4000, rng=0)
    assert draws.mean(axis=0) == pytest.approx(joint.mean, abs=5 * joint.std.max() / 63.0)
    assert np.cov(draws.T) == pytest.approx(joint.cov, abs=0.1)
    assert np.array_equal(draws, gp.sample_functions(new, 4000, rng=0))


# -- bad input -----------------------------------------------------------------------------------


def test_equal_inputs_with_other_targets_need_noise():
    with pytest.raises(
        ValueError, match=r"rows 0 and 2 have the same inputs and the targets 1 and 3"
    ):
        _fixed(RBF()).fit([[1.0], [2.0], [1.0]], [1.0, 2.0, 3.0])
    same = _fixed(RBF()).fit([[1.0], [2.0], [1.0]], [1.0, 2.0, 1.0])
    assert same.predict([[1.0]])[0] == pytest.approx(1.0)


@pytest.mark.parametrize("hyperparameters", ["fixed", "type-II"])
def test_one_row_and_constant_targets(hyperparameters):
    one = GaussianProcessRegressor(hyperparameters=hyperparameters).fit([[1.0, 2.0]], [3.0])
    assert one.predict([[1.0, 2.0]])[0] == pytest.approx(3.0, rel=1e-6)
    flat = GaussianProcessRegressor(hyperparameters=hyperparameters)
    flat.fit(np.arange(8.0)[:, None], np.full(8, 5.0))
    predicted = flat.predict_dist([[3.5], [100.0]])
    assert predicted.mean == pytest.approx(5.0)
    assert np.isfinite(predicted.std).all()


def test_columns_far_from_zero_keep_their_digits():
    X, y = _rows()
    near, far = _fixed().fit(X, y), _fixed().fit(X + 1e8, y)
    shifted = X + 1e8 - 1e8  # as the large numbers hold it
    same = _fixed().fit(shifted, y)
    assert float(far.log_evidence_) == pytest.approx(float(same.log_evidence_), rel=1e-9)
    assert float(far.log_evidence_) == pytest.approx(float(near.log_evidence_), rel=1e-5)


def test_kernels_that_return_nonsense_are_named():
    X, y = _rows()
    with pytest.raises(ValueError, match=r"must return finite values, got nan for the points \["):
        _fixed(Function(lambda x, z: np.full((len(x), len(z)), np.nan)) + White()).fit(X, y)
    with pytest.raises(ValueError, match="not positive definite"):
        _fixed(Function(lambda x, z: -x @ z.T) + White(1e-9), "zero").fit(X, y)
    with pytest.raises(TypeError, match=r"kernel must be one of posteriori\.kernels or None"):
        GaussianProcessRegressor("rbf").fit(X, y)
    with pytest.raises(ValueError, match=r"fixed names 'RBF\.width'"):
        GaussianProcessRegressor(KERNEL, fixed=["RBF.width"]).fit(X, y)


def test_jitter_is_said():
    X = np.linspace(0.0, 1.0, 40)[:, None]
    gp = _fixed(RBF(1.0), "zero").fit(X, np.sin(X[:, 0]))
    assert any("jitter" in line for line in gp.account_)
    assert not any("jitter" in line for line in _fixed().fit(X, X[:, 0]).account_)


def test_a_failed_call_leaves_the_model_as_it_was():
    X, y = _rows()
    gp = _fixed(RBF(), "zero").fit(X, y)
    before = gp.log_evidence_
    with pytest.raises(ValueError, match="have the same inputs"):
        gp.partial_fit(X[:1], y[:1] + 1.0)
    assert gp.log_evidence_ == before


def test_a_polynomial_needs_few_rows():
    X = np.linspace(-1.0, 1.0, 6)[:, None]
    gp = _fixed(Polynomial(2) + White(1e-6), "zero").fit(X, 1.0 + X[:, 0] ** 2)
    assert gp.predict([[2.0]])[0] == pytest.approx(5.0, rel=1e-3)


# -- integrated parameters -----------------------------------------------------------------------


def test_one_integrated_parameter_is_that_of_quadrature():
    """Noise alone is free: evidence and predictions by a fine grid over its logarithm."""
    X, y = _rows(n=12)
    kernel, names = 1.5 * RBF(0.8) + White(0.2), ("Constant.value", "RBF.scale")
    gp = GaussianProcessRegressor(kernel, hyperparameters="integrated", mean="zero", fixed=names)
    gp.fit(X, y)
    usual, spread = np.log(0.1 * np.mean(y**2)), 2.3
    grid = np.linspace(usual - 6.0 * spread, usual + 6.0 * spread, 800)
    prior = np.exp(-0.5 * ((grid - usual) / spread) ** 2) / np.sqrt(2.0 * np.pi) / spread
    models = [1.5 * RBF(0.8) + White(np.exp(t)) for t in grid]
    joint = prior * np.exp([float(log_evidence(k, X, y, gradient=False)) for k in models])
    total = joint.sum() * (grid[1] - grid[0])
    assert gp.log_evidence_.kind == "laplace"
    assert float(gp.log_evidence_) == pytest.approx(np.log(total), abs=0.05)
    new = np.array([[0.2], [1.1]])
    each = np.array([k(new, X) @ np.linalg.solve(k(X), y) for k in models[::10]])
    expected = joint[::10] @ each / joint[::10].sum()
    assert gp.predict(new) == pytest.approx(expected, abs=0.03)


def test_integrated_predictions_are_mixtures():
    X, y = _rows(n=20)
    gp = GaussianProcessRegressor(KERNEL, hyperparameters="integrated").fit(X, y)
    new = np.array([[0.2], [5.0]])
    predicted = gp.predict_dist(new)
    assert predicted.mean == pytest.approx(gp.predict(new), rel=1e-12)
    chosen = _chosen(KERNEL).fit(X, y)
    assert (predicted.std > chosen.predict_dist(new).std).any()
    assert gp.predict_dist(new, joint=True).mean == pytest.approx(predicted.mean)
    draws = gp.sample_targets(new, 4000, rng=0)
    assert draws.mean(axis=0) == pytest.approx(predicted.mean, abs=5 * predicted.std.max() / 63.0)
    assert draws.std(axis=0) == pytest.approx(predicted.std, rel=0.15)
    apart = gp.leave_one_out_log_density(X, y)
    assert apart.sum() < gp.predict_dist(X).log_prob(y).sum()
    assert any("central composite design of 15 points" in line for line in gp.account_)
    assert not hasattr(gp, "partial_fit")


@pytest.mark.slow
def test_intervals_of_thirty_rows_cover_what_they_promise():
    """Functions, scales and noise from the prior: 90 % intervals hold 90 % of new targets."""
    rng = np.random.default_rng(0)
    inside, total = 0, 0
    for _ in range(60):
        X, new = rng.uniform(0.0, 1.0, (30, 1)), rng.uniform(0.0, 1.0, (20, 1))
        kernel = np.exp(rng.normal()) * RBF(0.25 * np.exp(rng.normal()))
        kernel = kernel + White(0.1 * np.exp(rng.normal()))
        both = np.vstack([X, new])
        targets = np.linalg.cholesky(kernel(both) + 1e-10 * np.eye(50)) @ rng.standard_normal(50)
        gp = GaussianProcessRegressor(1.0 * RBF() + White(), hyperparameters="integrated")
        low, high = gp.fit(X, targets[:30]).predict_dist(new).interval(0.9)
        inside += int(((low < targets[30:]) & (targets[30:] < high)).sum())
        total += 20
    # targets of one function depend on each other: five standard errors of sixty functions
    assert abs(inside / total - 0.9) < 5 * np.sqrt(0.09 / 60 / 4)


# -- searches on some rows, and few rows -------------------------------------------------------------


def test_a_search_on_some_rows_is_that_of_these_and_the_rest_is_of_all():
    X, y = _rows(n=90)
    model = _chosen(search_rows=30).fit(X, y)
    part = _chosen().fit(X[::3], y[::3])
    on_part = _fixed(model.kernel_).fit(X[::3], y[::3])
    assert float(part.log_evidence_) - float(on_part.log_evidence_) < 0.1
    whole = _fixed(model.kernel_).fit(X, y)
    assert float(model.log_evidence_) == pytest.approx(float(whole.log_evidence_), rel=1e-12)
    assert model.log_evidence_.kind == "type-II"
    assert "of 30 rows" in model.account_[1]
    new = np.array([[0.3], [4.0]])
    assert np.allclose(model.predict_dist(new).std, whole.predict_dist(new).std)


@pytest.mark.parametrize(("rows", "kind"), [(100, "laplace"), (101, "type-II")])
def test_learned_parameters_are_integrated_with_few_rows(rows, kind):
    X, y = _rows(n=rows)
    model = GaussianProcessRegressor(hyperparameters="learned").fit(X, y)
    assert model.log_evidence_.kind == kind
    same = "integrated" if kind == "laplace" else "type-II"
    other = GaussianProcessRegressor(hyperparameters=same).fit(X, y)
    assert float(model.log_evidence_) == pytest.approx(float(other.log_evidence_), rel=1e-12)
    assert not hasattr(model, "partial_fit")
    assert not hasattr(model, "leave_one_out_log_density")


def test_few_rows_of_many_columns_have_one_scale():
    X, y = _rows(n=30, columns=16)
    model = GaussianProcessRegressor(hyperparameters="learned").fit(X, y)
    assert len(model.kernel_.log_parameters) == 3
    assert model.log_evidence_.kind == "laplace"
    X, y = _rows(n=30, columns=15)
    wide = GaussianProcessRegressor(hyperparameters="learned", search_rows=9)
    assert len(wide.fit(X[:, :3], y).kernel_.log_parameters) == 5
