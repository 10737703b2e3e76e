"""Worked examples of the lessons on linear regression."""

import numpy as np
import pytest
from scipy import stats

from posteriori.datasets import make_heteroscedastic_line
from posteriori.regression import BayesianLinearRegressor, LinearRegressor

ALPHA, BETA = 2.0, 25.0
POINTS = np.array([-0.5, 0.5, 0.8])
TARGETS = -0.3 + 0.5 * POINTS
DESIGN = np.column_stack([np.ones(3), POINTS])


def three_points(**settings):
    model = BayesianLinearRegressor(ALPHA, noise_precision=BETA, fit_intercept=False, **settings)
    return model.fit(DESIGN, TARGETS)


def line(x):
    return np.column_stack([np.ones_like(x), x])


def bumps(x, width=0.12):
    return np.exp(-((x[:, None] - np.linspace(0.0, 1.0, 9)) ** 2) / (2 * width**2))


# -- 000 -------------------------------------------------------------------------------------


@pytest.mark.topic("000/B5", "000/E3", "002/N2")
def test_ridge_is_the_posterior_mean_with_the_ratio_of_precisions():
    model = LinearRegressor(ridge=ALPHA / BETA, fit_intercept=False).fit(DESIGN, TARGETS)
    closed = np.linalg.solve(DESIGN.T @ DESIGN + ALPHA / BETA * np.eye(2), DESIGN.T @ TARGETS)
    np.testing.assert_allclose(model.coef_, closed, rtol=1e-12)
    np.testing.assert_allclose(three_points().coef_, closed, rtol=1e-12)


@pytest.mark.topic("000/E1", "002/N4")
def test_posterior_of_a_general_normal_prior():
    S0, m0 = np.array([[0.8, 0.3], [0.3, 0.5]]), np.array([0.4, -0.2])
    model = BayesianLinearRegressor(
        np.linalg.inv(S0), prior_mean=m0, noise_precision=BETA, fit_intercept=False
    ).fit(DESIGN, TARGETS)
    SN = np.linalg.inv(np.linalg.inv(S0) + BETA * DESIGN.T @ DESIGN)
    mN = SN @ (np.linalg.inv(S0) @ m0 + BETA * DESIGN.T @ TARGETS)
    np.testing.assert_allclose(model.posterior_.cov, SN, rtol=1e-11)
    np.testing.assert_allclose(model.posterior_.mean, mN, rtol=1e-11)
    np.testing.assert_allclose(model.posterior_.mode, model.coef_)  # mean = MAP


@pytest.mark.topic("000/E2", "004/6.3")
def test_posterior_of_three_points():
    posterior = three_points().posterior_
    np.testing.assert_allclose(posterior.mean, [-0.28034385, 0.45432384], atol=5e-9)
    cov = [[0.01565307, -0.01026431], [-0.01026431, 0.03951758]]
    np.testing.assert_allclose(posterior.cov, cov, atol=5e-9)


@pytest.mark.topic("000/E2")
def test_the_prior_enters_with_its_precision_not_its_variance():
    """α⁻¹ in the place of α would give (−0.29477508, 0.48777592)."""
    misprint = np.linalg.solve(np.eye(2) / ALPHA + BETA * DESIGN.T @ DESIGN, DESIGN.T @ TARGETS)
    np.testing.assert_allclose(BETA * misprint, [-0.29477508, 0.48777592], atol=5e-9)
    assert np.abs(three_points().coef_ - BETA * misprint).min() > 0.01


@pytest.mark.topic("000/E4", "004/6.7")
def test_limits():
    least = LinearRegressor(fit_intercept=False).fit(DESIGN, TARGETS)
    weak = BayesianLinearRegressor(1e-10, noise_precision=BETA, fit_intercept=False)
    np.testing.assert_allclose(weak.fit(DESIGN, TARGETS).coef_, least.coef_, rtol=1e-8)
    strong = BayesianLinearRegressor(1e10, noise_precision=BETA, fit_intercept=False)
    strong.fit(DESIGN, TARGETS)
    np.testing.assert_allclose(strong.coef_, BETA / 1e10 * DESIGN.T @ TARGETS, rtol=1e-7)
    np.testing.assert_allclose(strong.posterior_.cov, np.eye(2) / 1e10, rtol=1e-7, atol=1e-16)
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 200_000)
    t = -0.3 + 0.5 * x + rng.normal(size=200_000) * 0.2
    many = BayesianLinearRegressor(ALPHA, noise_precision=BETA, fit_intercept=False)
    many.fit(line(x), t)
    likely = LinearRegressor(fit_intercept=False).fit(line(x), t)
    np.testing.assert_allclose(many.coef_, likely.coef_, atol=1e-5)
    assert np.all(np.diagonal(many.posterior_.cov) < 1e-6)


@pytest.mark.topic("000/E5", "004/6.4")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_points_one_at_a_time_in_any_order(order):
    model = BayesianLinearRegressor(ALPHA, noise_precision=BETA, fit_intercept=False)
    volumes = [np.linalg.det(np.eye(2) / ALPHA)]
    for n in order:
        model.partial_fit(DESIGN[[n]], TARGETS[[n]])
        volumes.append(np.linalg.det(model.posterior_.cov))
    np.testing.assert_allclose(model.coef_, three_points().coef_, rtol=1e-12)
    np.testing.assert_allclose(model.posterior_.cov, three_points().posterior_.cov, rtol=1e-11)
    assert np.all(np.diff(volumes) < 0)  # the posterior narrows


@pytest.mark.topic("000/E6", "004/6.5")
def test_prediction_of_three_points():
    predicted = three_points().predict_dist(line(np.array([0.2])))
    assert predicted.mean[0] == pytest.approx(-0.18947909, abs=5e-9)
    assert predicted.variance[0] == pytest.approx(0.05312805, abs=5e-9)
    function = three_points().predict_dist(line(np.array([0.2])), noise=False)
    assert predicted.variance[0] - function.variance[0] == pytest.approx(1 / BETA, rel=1e-12)


@pytest.mark.topic("000/E6", "004/6.6")
def test_predictive_variance_never_grows_with_a_point():
    rng = np.random.default_rng(1)
    x, grid = rng.uniform(size=12), np.linspace(-0.2, 1.2, 40)
    model = BayesianLinearRegressor(ALPHA, noise_precision=BETA, fit_intercept=False)
    before = np.inf
    for n in range(12):
        model.partial_fit(bumps(x[[n]]), np.sin(2 * np.pi * x[[n]]))
        variance = model.predict_dist(bumps(grid)).variance
        assert np.all(variance <= before + 1e-14)
        before = variance
    near = np.abs(grid[:, None] - x).min(axis=1)
    inside = (grid > 0.0) & (grid < 1.0)  # beyond the bumps all weights count for little
    assert variance[inside][np.argmin(near[inside])] < variance[inside][np.argmax(near[inside])]


@pytest.mark.topic("000/E7")
def test_equivalent_kernel():
    model = three_points()
    kernel = model.equivalent_kernel(line(np.array([0.2])), DESIGN)
    np.testing.assert_allclose(kernel @ TARGETS, [-0.18947909], atol=5e-9)
    SN = model.posterior_.cov
    np.testing.assert_allclose(kernel, BETA * line(np.array([0.2])) @ SN @ DESIGN.T, rtol=1e-11)
    x = np.linspace(0, 1, 60)
    smooth = BayesianLinearRegressor(ALPHA, noise_precision=BETA, fit_intercept=False)
    smooth.fit(bumps(x), np.sin(2 * np.pi * x))
    rows = smooth.equivalent_kernel(bumps(x), bumps(x))
    inner = np.arange(10, 50)
    assert np.all(np.abs(rows[inner].argmax(axis=1) - inner) <= 1)  # local around x


@pytest.mark.topic("000/E8")
def test_covariance_of_two_values_of_the_function():
    model, two = three_points(), line(np.array([0.2, -0.7]))
    SN = model.posterior_.cov
    covariance = model.function_covariance(two[[0]], two[[1]])
    np.testing.assert_allclose(covariance, two[[0]] @ SN @ two[[1]].T, rtol=1e-11)
    # k(x₁, x₂)/β
    np.testing.assert_allclose(covariance, model.equivalent_kernel(two[[0]], two[[1]]) / BETA)


@pytest.mark.topic("000/E9")
def test_sampled_curves_scatter_like_the_posterior():
    model, x = three_points(), np.linspace(-1, 1, 7)
    curves = model.sample_functions(line(x), 20_000, rng=0)
    predicted = model.predict_dist(line(x), noise=False)
    assert np.all(np.abs(curves.mean(axis=0) - predicted.mean) < 5 * predicted.std / 141)
    np.testing.assert_allclose(curves.std(axis=0), predicted.std, rtol=5 / 200)


@pytest.mark.topic("000/F7")
def test_evidence_of_three_points():
    model = three_points()
    assert float(model.log_evidence_) == pytest.approx(-1.33402732, abs=5e-9)
    cov = np.eye(3) / BETA + DESIGN @ DESIGN.T / ALPHA
    expected = stats.multivariate_normal(np.zeros(3), cov).logpdf(TARGETS)
    assert float(model.log_evidence_) == pytest.approx(expected, rel=1e-12)
    # the closed form in m_N, S_N
    m, SN = model.coef_, model.posterior_.cov
    residual = TARGETS - DESIGN @ m
    closed = (
        np.log(ALPHA)
        + 1.5 * np.log(BETA)
        - 0.5 * BETA * residual @ residual
        - 0.5 * ALPHA * m @ m
        + 0.5 * np.linalg.slogdet(SN)[1]
        - 1.5 * np.log(2 * np.pi)
    )
    assert float(model.log_evidence_) == pytest.approx(closed, rel=1e-12)


# -- 001, 003 --------------------------------------------------------------------------------


@pytest.mark.topic("001/3.5", "003/G.3")
def test_bayesian_polynomial_regression():
    """α = 2 is a variance, σ² = 0.5, basis (1, x)."""
    X, y = line(np.array([0.0, 1.0, 2.0])), np.array([1.0, 2.0, 3.5])
    model = BayesianLinearRegressor(1 / 2.0, noise_precision=1 / 0.5, fit_intercept=False)
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, [0.8837209302, 1.2093023256], atol=5e-11)
    cov = [[0.3255813953, -0.1860465116], [-0.1860465116, 0.2015503876]]
    np.testing.assert_allclose(model.posterior_.cov, cov, atol=5e-11)
    predicted = model.predict_dist(line(np.array([3.0])))
    assert predicted.mean[0] == pytest.approx(4.5116279070, abs=5e-11)
    assert predicted.variance[0] == pytest.approx(1.5232558140, abs=5e-11)
    assert float(model.log_evidence_) == pytest.approx(-4.76909405421, abs=5e-12)
    as_precision = BayesianLinearRegressor(2.0, noise_precision=2.0, fit_intercept=False)
    np.testing.assert_allclose(as_precision.fit(X, y).coef_, [0.8, 1.1], rtol=1e-12)


# -- 002 -------------------------------------------------------------------------------------


@pytest.mark.topic("002/N1", "004/6.8")
def test_least_squares_solves_the_normal_equations_and_follows_outliers():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    model = LinearRegressor(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(X.T @ X @ model.coef_, X.T @ y, rtol=1e-10)
    np.testing.assert_allclose(-2 * X.T @ (y - X @ model.coef_), 0.0, atol=1e-12)
    spoilt = y.copy()
    spoilt[0] += 1e6  # not robust: the weights follow without bound
    moved = LinearRegressor(fit_intercept=False).fit(X, spoilt).coef_ - model.coef_
    np.testing.assert_allclose(moved, 1e6 * np.linalg.solve(X.T @ X, X[0]), rtol=1e-6)


@pytest.mark.topic("002/N2", "002/N6")
def test_ridge_shrinks_and_leaves_no_small_eigenvalue():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    plain = LinearRegressor(fit_intercept=False).fit(X, y).coef_
    np.testing.assert_array_equal(
        LinearRegressor(ridge=0.0, fit_intercept=False).fit(X, y).coef_, plain
    )
    lengths = [
        np.linalg.norm(LinearRegressor(ridge=g, fit_intercept=False).fit(X, y).coef_)
        for g in (0.0, 1.0, 10.0, 100.0, 1e4)
    ]
    assert np.all(np.diff(lengths) < 0)
    # biased, and steadier than least squares where columns nearly repeat one another
    twin = np.column_stack([X[:, 0], X[:, 0] + 1e-5 * rng.normal(size=30)])
    steady = LinearRegressor(ridge=1.0, fit_intercept=False).fit(twin, y).coef_
    wild = LinearRegressor(fit_intercept=False).fit(twin, y).coef_
    assert np.abs(steady).max() < 1.0 < 1e2 < np.abs(wild).max()


@pytest.mark.topic("002/N3")
@pytest.mark.parametrize("degree", [1, 2])
def test_ridge_in_features_equals_its_dual(degree):
    """(ΦᵀΦ + λI)⁻¹Φᵀ = Φᵀ(ΦΦᵀ + λI)⁻¹, for the linear and the quadratic kernel."""
    rng = np.random.default_rng(4)
    X, y, new = rng.normal(size=(15, 2)), rng.normal(size=15), rng.normal(size=(6, 2))

    def features(x):
        if degree == 1:
            return x
        return np.column_stack([x**2, np.sqrt(2) * x[:, 0] * x[:, 1]])

    def kernel(a, b):
        return (a @ b.T) ** degree

    model = LinearRegressor(ridge=0.3, fit_intercept=False).fit(features(X), y)
    dual = kernel(new, X) @ np.linalg.solve(kernel(X, X) + 0.3 * np.eye(15), y)
    np.testing.assert_allclose(model.predict(features(new)), dual, rtol=1e-10)


@pytest.mark.topic("002/N4")
def test_bayesian_linear_model_and_its_ridge():
    rng = np.random.default_rng(5)
    X, y, new = rng.normal(size=(20, 3)), rng.normal(size=20), rng.normal(size=(4, 3))
    Sigma, sigma2 = np.diag([1.0, 0.5, 2.0]), 0.7
    model = BayesianLinearRegressor(
        np.linalg.inv(Sigma), noise_precision=1 / sigma2, fit_intercept=False
    ).fit(X, y)
    A = X.T @ X / sigma2 + np.linalg.inv(Sigma)
    predicted = model.predict_dist(new, noise=False)
    mean = new @ np.linalg.solve(A, X.T @ y) / sigma2
    np.testing.assert_allclose(predicted.mean, mean, rtol=1e-10)
    variance = np.diagonal(new @ np.linalg.solve(A, new.T))
    np.testing.assert_allclose(predicted.variance, variance, rtol=1e-10)
    s2 = 1.7
    isotropic = BayesianLinearRegressor(1 / s2, noise_precision=1 / sigma2, fit_intercept=False)
    ridge = LinearRegressor(ridge=sigma2 / s2, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(isotropic.fit(X, y).coef_, ridge.coef_, rtol=1e-11)


# -- 004 -------------------------------------------------------------------------------------


@pytest.mark.topic("004/6.1")
def test_evidence_of_a_regression_is_of_targets_given_inputs():
    assert three_points().log_evidence_.of == "y|X"
    # the inputs' own density is not modelled: rows of weight 0 may stand anywhere
    far = np.concatenate([DESIGN, [[1.0, 1e3]]])
    model = BayesianLinearRegressor(ALPHA, noise_precision=BETA, fit_intercept=False)
    model.fit(far, np.append(TARGETS, 0.0), sample_weight=[1.0, 1.0, 1.0, 0.0])
    assert float(model.log_evidence_) == float(three_points().log_evidence_)


@pytest.mark.topic("004/6.2", "004/6.2b", "004/6.6")
def test_nine_bumps_on_a_sinusoid():
    rng = np.random.default_rng(6)
    x = rng.uniform(size=25)
    Phi = bumps(x)
    assert Phi.shape == (25, 9)
    t = np.sin(2 * np.pi * x) + 0.2 * rng.normal(size=25)
    grid = np.linspace(0.0, 1.0, 50)
    widths, errors = [], []
    for n in (1, 2, 4, 25):
        model = BayesianLinearRegressor(ALPHA, noise_precision=BETA, fit_intercept=False)
        model.fit(Phi[:n], t[:n])
        widths.append(model.predict_dist(bumps(grid)).std.mean())
        errors.append(np.abs(model.predict(bumps(grid)) - np.sin(2 * np.pi * grid)).mean())
    assert np.all(np.diff(widths) < 0)
    assert errors[-1] < 0.15 < errors[0]


@pytest.mark.topic("004/6.7")
def test_fewer_points_than_weights():
    x = np.array([0.2, 0.8])
    with pytest.warns(np.exceptions.RankWarning, match="determine 2 of 9"):
        shortest = LinearRegressor(fit_intercept=False).fit(bumps(x), x)
    np.testing.assert_allclose(shortest.coef_, np.linalg.pinv(bumps(x)) @ x, rtol=1e-9)
    bayesian = BayesianLinearRegressor(ALPHA, noise_precision=BETA, fit_intercept=False)
    bayesian.fit(bumps(x), x)
    assert np.isfinite(bayesian.posterior_.cov).all()
    assert np.linalg.eigvalsh(bayesian.posterior_.cov).min() > 0


@pytest.mark.topic("004/6.9")
def test_known_noise_of_every_row():
    rng = np.random.default_rng(7)
    X, y, v = rng.normal(size=(20, 3)), rng.normal(size=20), rng.uniform(0.2, 3.0, size=20)
    L = np.diag(1 / v)
    model = BayesianLinearRegressor(0.6, noise_precision=1.0, fit_intercept=False)
    model.fit(X, y, noise_variance=v)
    SN = np.linalg.inv(0.6 * np.eye(3) + X.T @ L @ X)
    np.testing.assert_allclose(model.posterior_.cov, SN, rtol=1e-10)
    np.testing.assert_allclose(model.coef_, SN @ X.T @ L @ y, rtol=1e-10)
    weighted = LinearRegressor(fit_intercept=False).fit(X, y, noise_variance=v)
    np.testing.assert_allclose(
        weighted.coef_, np.linalg.solve(X.T @ L @ X, X.T @ L @ y), rtol=1e-10
    )


@pytest.mark.topic("004/6.10")
def test_least_squares_beside_weighted_least_squares():
    """Both are unbiased; over data sets of 50 points the weighted one scatters half as much."""
    rng, sets = np.random.default_rng(8), 1000
    found = np.empty((2, sets, 2))
    for n in range(sets):
        data = make_heteroscedastic_line(50, rng=rng)
        x, y = data.data.T
        v = data.truth["noise_variance"]
        for k, model in enumerate(
            (
                LinearRegressor().fit(x[:, None], y),
                LinearRegressor().fit(x[:, None], y, noise_variance=v),
            )
        ):
            found[k, n] = model.coef_[0], model.intercept_
    spread = np.array([[2.25, 0.744], [1.23, 0.327]])  # from 3000 other sets
    np.testing.assert_array_less(np.abs(found.mean(axis=1) - [5, -2]), 5 * spread / np.sqrt(sets))
    error = spread * np.sqrt(1 / (2 * sets) + 1 / 6000)
    np.testing.assert_array_less(np.abs(found.std(axis=1) - spread), 5 * error)
    x = np.array([0.0, 0.5, 1.0])
    np.testing.assert_allclose(10 * np.exp(2 * x**2) - 9.5, [0.5, 6.98721, 64.39056], atol=5e-6)


@pytest.mark.topic("004/6.11")
def test_gradient_of_the_log_likelihood_vanishes_at_least_squares():
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    theta = LinearRegressor(fit_intercept=False).fit(X, y).coef_

    def log_likelihood(w):
        return stats.norm.logpdf(y, X @ w, BETA**-0.5).sum()

    other = theta + np.array([0.1, -0.2, 0.3])
    numeric = [
        (log_likelihood(other + 1e-5 * e) - log_likelihood(other - 1e-5 * e)) / 2e-5
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(numeric, BETA * (y - X @ other) @ X, rtol=1e-6)
    np.testing.assert_allclose((y - X @ theta) @ X, 0.0, atol=1e-12)
