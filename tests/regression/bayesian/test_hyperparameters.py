"""Type-II, relevance and integrated hyper-parameters: stationarity, dense algebra and quadrature."""

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from posteriori.numerics import ConvergenceWarning
from posteriori.regression import BayesianLinearRegressor
from tests.regression.oracles import known_noise_log_evidence, prior_predictive, problem


def dense_evidence(X, y, alphas, beta, intercept=None):
    """ln N(y | ·, β⁻¹I + X diag(1/α) Xᵀ [+ intercept])."""
    centre, cov = prior_predictive(X, np.asarray(alphas) / beta, intercept=intercept)
    return known_noise_log_evidence(y, centre, cov, beta)


def sparse_problem(n=40, d=8, seed=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1] += 0.9 * X[:, 0]
    return X, X @ np.append([2.0, -1.5, 1.0], np.zeros(d - 3)) + rng.normal(size=n)


# -- type II ---------------------------------------------------------------------------------


@pytest.mark.topic("000/F7")
@pytest.mark.parametrize("standardize", [True, False])
def test_type_two_is_a_stationary_point_of_the_dense_evidence(standardize):
    X, y, _ = problem(n=25)
    model = BayesianLinearRegressor(
        hyperparameters="type-II", standardize=standardize, fit_intercept=False
    ).fit(X, y)
    scale = np.mean(X**2, axis=0) if standardize else np.ones(3)
    at = np.log([model.prior_precision_, model.noise_precision_])

    def height(logs):
        return dense_evidence(X, y, np.exp(logs[0]) * scale, np.exp(logs[1]))

    assert model.log_evidence_.kind == "type-II"
    assert float(model.log_evidence_) == pytest.approx(height(at), rel=1e-11)
    slope = optimize.approx_fprime(at, height, 1e-6)
    np.testing.assert_allclose(slope, 0.0, atol=1e-4)
    found = optimize.minimize(lambda logs: -height(logs), at + 0.3, method="Nelder-Mead")
    assert -found.fun <= height(at) + 1e-9


@pytest.mark.topic("000/F7")
def test_type_two_is_a_fixed_point_of_mackays_updates():
    X, y, _ = problem(n=25)
    model = BayesianLinearRegressor(
        hyperparameters="type-II", standardize=False, fit_intercept=False
    ).fit(X, y)
    alpha, beta = model.prior_precision_, model.noise_precision_
    eigenvalues = beta * np.linalg.eigvalsh(X.T @ X)
    gamma = np.sum(eigenvalues / (alpha + eigenvalues))
    residual = y - X @ model.coef_
    assert model.effective_parameters_ == pytest.approx(gamma, rel=1e-11)
    assert alpha == pytest.approx(gamma / (model.coef_ @ model.coef_), rel=1e-9)
    assert 1.0 / beta == pytest.approx(residual @ residual / (25 - gamma), rel=1e-9)


def test_both_solvers_agree():
    X, y, _ = problem(n=25)
    newton = BayesianLinearRegressor(hyperparameters="type-II").fit(X, y)
    fixed = BayesianLinearRegressor(hyperparameters="type-II", solver="fixed-point").fit(X, y)
    assert fixed.prior_precision_ == pytest.approx(newton.prior_precision_, rel=1e-8)
    np.testing.assert_allclose(fixed.coef_, newton.coef_, rtol=1e-9)


@pytest.mark.parametrize("intercept_precision", [None, 0.0, 0.5])
def test_type_two_with_an_intercept(intercept_precision):
    """The best noise is n/q with one row less for a flat intercept: compare with a fixed prior."""
    X, y, _ = problem(n=25)
    settings = {"intercept_precision": intercept_precision}
    model = BayesianLinearRegressor(hyperparameters="type-II", standardize=False, **settings)
    model.fit(X, y)

    def height(logs):
        alpha, beta = np.exp(logs)
        kappa = beta if intercept_precision is None else intercept_precision * beta
        fixed = BayesianLinearRegressor(alpha, noise_precision=beta, intercept_precision=kappa)
        return float(fixed.fit(X, y).log_evidence_)

    at = np.log([model.prior_precision_, model.noise_precision_])
    assert float(model.log_evidence_) == pytest.approx(height(at), rel=1e-11)
    np.testing.assert_allclose(optimize.approx_fprime(at, height, 1e-6), 0.0, atol=1e-4)


def test_no_signal_puts_all_weights_at_the_prior_mean():
    X = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    y = np.array([1.0, -1.0, 1.0, -1.0])  # orthogonal to the column
    model = BayesianLinearRegressor(hyperparameters="type-II", fit_intercept=False).fit(X, y)
    assert np.isinf(model.prior_precision_)
    np.testing.assert_array_equal(model.coef_, [0.0])
    assert model.noise_precision_ == pytest.approx(1.0)
    expected = stats.norm.logpdf(y).sum()
    assert float(model.log_evidence_) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(model.predict_dist(X).variance, 1.0)


@pytest.mark.parametrize("hyperparameters", ["type-II", "ard"])
def test_a_perfect_fit_is_said_to_have_no_best_noise(hyperparameters):
    X, _, _ = problem(n=25)
    with pytest.warns(ConvergenceWarning, match="fit the targets perfectly"):
        model = BayesianLinearRegressor(hyperparameters=hyperparameters).fit(X, X @ [1.0, 2.0, 3.0])
    np.testing.assert_allclose(model.coef_, [1.0, 2.0, 3.0], rtol=1e-6)


@pytest.mark.parametrize("hyperparameters", ["type-II", "ard"])
def test_targets_without_spread_are_refused(hyperparameters):
    X, _, _ = problem(n=25)
    with pytest.raises(ValueError, match="no spread"):
        BayesianLinearRegressor(hyperparameters=hyperparameters).fit(X, np.full(25, 3.0))


# -- relevance -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [4, 5, 6])
def test_relevances_satisfy_the_optimality_conditions_of_the_dense_evidence(seed):
    X, y = sparse_problem(seed=seed)
    model = BayesianLinearRegressor(
        hyperparameters="ard", standardize=False, fit_intercept=False
    ).fit(X, y)
    variances, noise = 1.0 / model.prior_precision_, 1.0 / model.noise_precision_

    def height(u, v):
        cov = v * np.eye(len(y)) + (X * u) @ X.T
        return stats.multivariate_normal(np.zeros(len(y)), cov).logpdf(y)

    assert float(model.log_evidence_) == pytest.approx(height(variances, noise), rel=1e-10)
    step = 1e-6
    assert abs(height(variances, noise * (1 + step)) - height(variances, noise * (1 - step))) < 1e-9
    kept = variances > 0
    assert {0, 1, 2} <= set(np.flatnonzero(kept))
    assert not kept.all()
    for j in range(X.shape[1]):
        e = np.eye(X.shape[1])[j]
        if kept[j]:
            up, down = (height(variances * (1 + s * e), noise) for s in (step, -step))
            assert abs(up - down) < 1e-9
        else:
            assert height(variances + step * e, noise) < height(variances, noise)


def test_relevance_posterior_is_that_of_a_fixed_diagonal_prior():
    X, y = sparse_problem()
    model = BayesianLinearRegressor(hyperparameters="ard", standardize=False).fit(X, y)
    beta = model.noise_precision_
    fixed = BayesianLinearRegressor(
        model.prior_precision_, noise_precision=beta, intercept_precision=beta
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, fixed.coef_, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(
        model.predict_dist(X).variance, fixed.predict_dist(X).variance, rtol=1e-10
    )
    assert float(model.log_evidence_) == pytest.approx(float(fixed.log_evidence_), rel=1e-10)
    assert model.effective_parameters_ == pytest.approx(fixed.effective_parameters_, rel=1e-9)
    assert (
        model.log_evidence_
        > BayesianLinearRegressor(hyperparameters="type-II", standardize=False)
        .fit(X, y)
        .log_evidence_
    )


def test_relevance_beats_random_starts_or_equals_them_up_to_local_maxima():
    """No coordinate step from the answer gains: a sweep of dense line searches finds nothing."""
    X, y = sparse_problem(seed=9)
    model = BayesianLinearRegressor(
        hyperparameters="ard", standardize=False, fit_intercept=False
    ).fit(X, y)
    beta = model.noise_precision_
    u = beta / model.prior_precision_
    best = float(model.log_evidence_)
    for j in range(X.shape[1]):
        for value in np.append(0.0, np.exp(np.linspace(-12, 8, 41))):
            trial = u.copy()
            trial[j] = value
            cov = np.eye(len(y)) + (X * trial) @ X.T
            q = y @ np.linalg.solve(cov, y) / len(y)  # the best noise variance
            height = stats.multivariate_normal(np.zeros(len(y)), q * cov).logpdf(y)
            assert height <= best + 1e-9


# -- hyper-priors ----------------------------------------------------------------------------


@pytest.mark.topic("000/F8")
def test_grid_evidence_against_two_dimensional_quadrature_of_the_dense_evidence():
    X, y, _ = problem(n=10, d=2)
    a, b, c, d = 1.5, 0.8, 2.0, 1.2
    model = BayesianLinearRegressor(
        hyperparameters="grid",
        standardize=False,
        fit_intercept=False,
        precision_shape=a,
        precision_rate=b,
        noise_shape=c,
        noise_scale=d,
    ).fit(X, y)
    nodes, weights = np.polynomial.legendre.leggauss(80)
    logs_a, logs_b = 1.0 + 11.0 * nodes, 7.0 * nodes
    values, slopes = np.linalg.eigh(X @ X.T)
    projected = slopes.T @ y
    alpha, beta = np.exp(logs_a)[:, None], np.exp(logs_b)[None, :]
    variance = 1.0 / beta[..., None] + values / alpha[..., None]
    log_joint = stats.norm.logpdf(projected, scale=np.sqrt(variance)).sum(axis=-1)
    log_joint = log_joint + stats.gamma.logpdf(alpha, a, scale=1 / b) + np.log(alpha)
    log_joint = log_joint + stats.gamma.logpdf(beta, c, scale=1 / d) + np.log(beta)
    both = np.outer(11.0 * weights, 7.0 * weights)
    expected = special.logsumexp(log_joint, b=both)
    assert float(model.log_evidence_) == pytest.approx(expected, rel=1e-7)
    # posterior mean of the weights, averaged over both hyper-parameters
    posterior = both * np.exp(log_joint - expected)
    mean = np.zeros(2)
    for i, one in enumerate(alpha[:, 0]):
        for j, other in enumerate(beta[0]):
            A = one * np.eye(2) + other * X.T @ X
            mean += posterior[i, j] * np.linalg.solve(A, other * X.T @ y)
    np.testing.assert_allclose(model.coef_, mean, rtol=1e-6)


@pytest.mark.topic("000/F8")
def test_grid_evidence_integrates_the_fixed_evidences():
    """∫ p(y|λ) p(λ) dλ by adaptive quadrature, each p(y|λ) from the fixed model."""
    X, y, _ = problem(n=15)
    model = BayesianLinearRegressor(hyperparameters="grid").fit(X, y)
    rate = 0.005 * y.var()  # both gammas have shape 1: p(λ) = 1/(1 + λ)²

    def joint(t):
        ratio = np.exp(t)
        fixed = BayesianLinearRegressor(
            ratio * X.var(axis=0), noise_shape=2.0, noise_scale=rate * (1.0 + ratio)
        ).fit(X, y)
        return np.exp(float(fixed.log_evidence_) - best) * ratio / (1.0 + ratio) ** 2

    best = float(model.log_evidence_)
    total, _ = integrate.quad(joint, -20.0, 20.0, epsabs=1e-10, limit=200)
    assert total == pytest.approx(1.0, abs=1e-7)


def test_grid_is_converged_for_many_columns():
    """Twice the nodes change nothing: the peak over ln λ is narrow, and the rule follows it."""
    from posteriori.regression.bayesian.scales import hyper_grid

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 120))
    y = X @ rng.normal(size=120) + rng.normal(size=400)
    model = BayesianLinearRegressor(hyperparameters="grid").fit(X, y)
    before = float(model.log_evidence_)
    density = hyper_grid._DENSITY
    try:
        hyper_grid._DENSITY = 2.7 * density
        after = float(BayesianLinearRegressor(hyperparameters="grid").fit(X, y).log_evidence_)
    finally:
        hyper_grid._DENSITY = density
    assert before == pytest.approx(after, abs=1e-9)


# -- learned scales: integrated for few rows, chosen for many --------------------------------


def uniform_level(y):
    """Return the log density of a level that is uniform within two standard deviations of the mean."""
    return -np.log(4.0 * y.std())


@pytest.mark.parametrize("how", ["learned", "sparse"])
def test_the_level_beside_integrated_scales_is_uniform(how):
    """∫ p(y | c) dc / 4s over ȳ ± 2s, each p(y | c) from a model without an intercept of y − c."""
    X, y, _ = problem(n=15)
    noise = {"noise_shape": 0.25, "noise_scale": 0.25 * 0.005 * y.var()}
    model = BayesianLinearRegressor(hyperparameters=how).fit(X, y)
    bare = BayesianLinearRegressor(hyperparameters=how, fit_intercept=False, **noise)
    centred, best = X - X.mean(axis=0), float(model.log_evidence_)

    def given(c):
        return np.exp(float(bare.fit(centred, y - c).log_evidence_) - best)

    low, high = y.mean() - 2.0 * y.std(), y.mean() + 2.0 * y.std()
    total, _ = integrate.quad(given, low, high, points=[y.mean()], epsabs=1e-8, limit=200)
    # "sparse" finds its columns by what they explain beside c, which tails of the integral change
    assert total / (high - low) == pytest.approx(1.0, abs=1e-6 if how == "learned" else 1e-3)


def test_a_level_that_is_stated_is_taken():
    X, y, _ = problem(n=15)
    stated = [
        BayesianLinearRegressor(hyperparameters="learned", intercept_mean=mean).fit(X, y)
        for mean in (y.mean(), y.mean() + 5.0)
    ]
    assert stated[1].predict(X).mean() > stated[0].predict(X).mean() == pytest.approx(y.mean())


def test_learned_evidence_integrates_the_fixed_evidences_under_a_half_cauchy_scale():
    """∫ p(y|s) p(s) ds with s = λ^(−½), each p(y|λ) from the fixed model."""
    X, y, _ = problem(n=15)
    model = BayesianLinearRegressor(hyperparameters="learned").fit(X, y)
    assert model.log_evidence_.kind == "exact"
    best, width = float(model.log_evidence_) - uniform_level(y), X.shape[1] ** -0.5
    rest = {"noise_shape": 0.25, "noise_scale": 0.25 * 0.005 * y.var(), "intercept_precision": 0.0}

    def fixed(scale):
        return BayesianLinearRegressor(X.var(axis=0) / scale**2, **rest).fit(X, y)

    def joint(t):
        density = stats.halfcauchy.pdf(np.exp(t), scale=width)
        return np.exp(float(fixed(np.exp(t)).log_evidence_) - best) * density * np.exp(t)

    total, _ = integrate.quad(joint, -25.0, 25.0, epsabs=1e-10, limit=400)
    assert total == pytest.approx(1.0, abs=1e-6)
    # and the density of a fresh target is the average of those of the fixed models
    row, at = X[:1] + 1.0, float(model.predict(X[:1] + 1.0)[0]) + 0.5 * y.std()

    def predicted(t):
        return joint(t) * np.exp(float(fixed(np.exp(t)).predict_dist(row).log_prob(at)[0]))

    density, _ = integrate.quad(predicted, -25.0, 25.0, epsabs=1e-10, limit=400)
    found = float(model.predict_dist(row).log_prob(at)[0])
    assert found == pytest.approx(np.log(density), abs=1e-5)


@pytest.mark.parametrize("rows", [100, 101])
def test_learned_scales_are_chosen_from_a_hundred_and_one_rows_on(rows):
    X, y, _ = problem(n=rows)
    learned = BayesianLinearRegressor(hyperparameters="learned").fit(X, y)
    chosen = BayesianLinearRegressor(hyperparameters="type-II").fit(X, y)
    assert (learned.log_evidence_.kind == "type-II") == (rows > 100)
    if rows > 100:
        assert float(learned.log_evidence_) == float(chosen.log_evidence_)
        assert learned.prior_precision_ == chosen.prior_precision_
    else:
        assert len(learned.hyper_posterior_.ratios) < 100
        mean, std = learned.predict(X, return_std=True)
        near, peer = chosen.predict(X, return_std=True)
        np.testing.assert_allclose(mean, near, atol=0.02 * y.std())
        np.testing.assert_allclose(std, peer, rtol=0.03)


def test_learned_scales_of_streams_follow_the_rows():
    X, y, _ = problem(n=160)
    model = BayesianLinearRegressor(hyperparameters="learned").partial_fit(X[:60], y[:60])
    assert model.log_evidence_.kind == "exact"
    model.partial_fit(X[60:], y[60:])
    whole = BayesianLinearRegressor(hyperparameters="learned").fit(X, y)
    assert float(model.log_evidence_) == pytest.approx(float(whole.log_evidence_), rel=1e-10)


@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False, "standardize": False}])
def test_few_columns_are_an_average_over_sets_that_join_one_by_one(settings):
    """Each set by a model of its own; the next column is the one that leaves least squares least."""
    X, y = sparse_problem(n=30, d=5)
    sparse = BayesianLinearRegressor(hyperparameters="sparse", **settings).fit(X, y)
    base = y.mean() if sparse.fit_intercept else 0.0
    z = X - X.mean(axis=0) if sparse.fit_intercept else X
    chosen, logs, members = (), [], []
    for k in range(6):
        alone = {"hyperparameters": "learned"} if k else {"prior_precision": np.inf}
        if not k:
            alone |= {"noise_shape": 0.25, "noise_scale": 0.00125 * np.mean((y - base) ** 2)}
            alone |= {} if settings else {"intercept_precision": 0.0}
        columns = list(chosen) or [0]
        model = BayesianLinearRegressor(**alone, **settings).fit(X[:, columns], y)
        level = uniform_level(y) if not k and not settings else 0.0
        logs.append(float(model.log_evidence_) + level - np.log(6.0 * special.comb(5, k)))
        members.append(model.predict_dist(X[:4, columns]).cdf(y[:4]))
        left = {
            j: np.linalg.lstsq(z[:, [*chosen, j]], y - base, rcond=None)[1][0]
            for j in range(5)
            if j not in chosen
        }
        chosen = tuple(sorted((*chosen, min(left, key=left.get)))) if left else chosen
    assert float(sparse.log_evidence_) == pytest.approx(special.logsumexp(logs), abs=1e-5)
    expected = special.softmax(logs) @ np.array(members)
    np.testing.assert_allclose(sparse.predict_dist(X[:4]).cdf(y[:4]), expected, atol=1e-3)
    draws = sparse.sample_weights(20_000, rng=0)[:, :5]
    error = draws.std(axis=0) / np.sqrt(20_000)
    assert np.all(np.abs(draws.mean(axis=0) - sparse.coef_) < 5.0 * error + 1e-12)
    assert 0.0 < sparse.effective_parameters_ < 5.0


def test_equal_columns_join_once_and_few_rows_see_few():
    X, y = sparse_problem(n=12, d=8)
    twice = np.column_stack([X, X, np.full(12, 3.0)])
    model = BayesianLinearRegressor(hyperparameters="sparse").fit(twice, y)
    assert np.all(model.coef_[8:] == 0.0)
    wide = np.random.default_rng(0).normal(size=(12, 500))
    assert np.isfinite(BayesianLinearRegressor(hyperparameters="sparse").fit(wide, y).coef_).all()


def test_sparse_models_of_many_rows_are_those_of_relevance():
    X, y = sparse_problem(n=120)
    few, relevant = (
        BayesianLinearRegressor(hyperparameters=how).fit(X, y) for how in ("sparse", "ard")
    )
    assert float(few.log_evidence_) == float(relevant.log_evidence_)
    assert np.array_equal(few.coef_, relevant.coef_)


def test_integrating_is_less_sure_than_choosing():
    X, y, _ = problem(n=8)
    chosen = BayesianLinearRegressor(hyperparameters="type-II", noise_scale=1.0).fit(X, y)
    averaged = BayesianLinearRegressor(hyperparameters="grid", noise_scale=1.0).fit(X, y)
    new = X[:3] + 5.0
    assert np.all(averaged.predict(new, return_std=True)[1] > chosen.predict(new, True)[1])


def test_more_columns_than_rows():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(15, 40))
    y = X[:, 0] * 3.0 + rng.normal(size=15)
    for hyperparameters in ("fixed", "type-II", "ard", "grid", "learned", "sparse"):
        model = BayesianLinearRegressor(hyperparameters=hyperparameters).fit(X, y)
        assert np.isfinite(float(model.log_evidence_))
        assert 0 < model.effective_parameters_ <= 14.0 + 1e-9
        fresh = rng.normal(size=(2000, 40))
        truth = fresh[:, 0] * 3.0 + rng.normal(size=2000)
        densities = model.predict_dist(fresh).log_prob(truth)
        nothing = stats.norm(0.0, np.sqrt(10.0)).logpdf(truth)  # without looking at the columns
        assert densities.mean() > nothing.mean() - 0.1
