"""Estimators against closed forms, conjugate posteriors, grids and simulation."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, special, stats

from posteriori.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    Geometric,
    MvNormal,
    Normal,
    NormalGamma,
    Poisson,
    StudentT,
    bayes,
    bias_variance,
    compare_ml_bayes,
    evidence_under_flat_priors,
    grid_posterior,
    james_stein,
    james_stein_means,
    laplace_approximation,
    map_estimate,
    maximum_likelihood,
    point_estimate,
    shrinkage_covariance,
    unbiased_covariance,
    unbiased_variance,
)
from posteriori.numerics import ConvergenceWarning, gradient

X = np.array([0.2, 1.9, -0.4, 2.0, 0.7])


def log_geometric(k, theta):
    return np.log(theta) + k * np.log1p(-theta)


# -- maximum likelihood ------------------------------------------------------------------------


@pytest.mark.topic("002/B2", "000/B1")
def test_numeric_and_closed_maximum_likelihood_agree_and_report_curvature():
    closed = maximum_likelihood(Normal, X)
    found = maximum_likelihood(
        lambda x, t: Normal(t[0], scale=np.exp(t[1])).log_prob(x), X, [0.0, 0.0]
    )
    mean, log_scale = found.estimate
    assert mean == pytest.approx(float(closed.estimate.mean), abs=1e-8)
    assert np.exp(2 * log_scale) == pytest.approx(float(closed.estimate.variance), rel=1e-8)
    assert found.value == pytest.approx(closed.value, rel=1e-10)
    assert found.gradient_norm < 1e-6
    assert found.concavity == closed.concavity == "strictly concave"
    v = float(closed.estimate.variance)
    np.testing.assert_allclose(found.standard_errors, [np.sqrt(v / 5), np.sqrt(1 / 10)], rtol=1e-5)
    np.testing.assert_allclose(found.hessian, [[-5 / v, 0], [0, -10]], atol=1e-4)
    assert closed.gradient_norm < 1e-10
    assert closed.method == "closed form"
    assert found.converged


@pytest.mark.topic("002/B1", "002/B2")
def test_a_model_has_few_parameters_whatever_the_number_of_cells():
    # 10 binary features: 10 probabilities instead of a table of 2^10 − 1
    x = (np.random.default_rng(0).random((500, 10)) < np.linspace(0.1, 0.9, 10)) * 1.0
    found = maximum_likelihood(
        lambda x, t: Bernoulli(special.expit(t)).log_prob(x), x, np.full(10, 0.1)
    )
    np.testing.assert_allclose(special.expit(found.estimate), x.mean(axis=0), atol=1e-7)


@pytest.mark.topic("002/B2")
def test_geometric_by_both_routes():
    for data, expected in (([0, 2], 1 / 2), ([0, 2, 0, 1], 4 / 7)):
        found = maximum_likelihood(log_geometric, np.array(data), 0.3)
        assert found.estimate == pytest.approx(expected, abs=1e-9)
        assert Geometric.fit(data).probability == pytest.approx(expected, rel=1e-12)
        n, s = len(data), sum(data)
        curvature = -n / expected**2 - s / (1 - expected) ** 2
        assert found.hessian[0, 0] == pytest.approx(curvature, rel=1e-5)


@pytest.mark.parametrize(
    ("family", "data", "options"),
    [
        (Exponential, [0.3, 2.0, 1.1], {}),
        (Gamma, [0.3, 2.0, 1.1, 4.0], {}),
        (Poisson, [3, 0, 2, 5], {}),
        (Binomial, [3, 0, 2, 5], {"trials": 9}),
        (Beta, [0.2, 0.5, 0.9, 0.7], {}),
        (MvNormal, np.random.default_rng(0).normal(size=(20, 3)), {}),
    ],
)
def test_families_are_fitted_in_closed_form_and_are_concave(family, data, options):
    report = maximum_likelihood(family, data, **options)
    assert report.value == pytest.approx(float(report.estimate.log_prob(data).sum()), rel=1e-13)
    assert report.concavity == "strictly concave"
    assert report.gradient_norm < 1e-4
    assert np.all(report.standard_errors > 0)


def test_redundant_and_missing_directions_are_called_flat():
    assert maximum_likelihood(Categorical, [0, 1, 1, 2]).concavity == "flat"  # K − 1 of K
    flat = maximum_likelihood(
        lambda x, t: Normal(t[0] + t[1], variance=1.0).log_prob(x), X, [0.1, 0.2]
    )
    assert flat.concavity == "flat"
    assert flat.standard_errors is None
    assert sum(flat.estimate) == pytest.approx(X.mean(), abs=1e-6)
    assert maximum_likelihood(StudentT, np.random.default_rng(1).standard_t(3, 200)).concavity == (
        "unknown"
    )


def test_a_given_gradient_is_used_and_bounds_hold():
    calls = []

    def slope(x, theta):
        calls.append(theta)
        return np.array([(x - theta[0]).sum()])

    found = maximum_likelihood(
        lambda x, t: Normal(t[0], variance=1.0).log_prob(x), X, [0.0], gradient=slope
    )
    assert calls
    assert found.estimate[0] == pytest.approx(X.mean(), abs=1e-9)
    held = maximum_likelihood(
        lambda x, t: Normal(t[0], variance=1.0).log_prob(x), X, [0.1], bounds=[(None, 0.5)]
    )
    assert held.estimate[0] == pytest.approx(0.5, abs=1e-9)
    assert held.concavity == "on the boundary"
    assert held.converged


def test_small_scales_and_forbidden_regions():
    rng = np.random.default_rng(2)
    x = rng.normal(0.0, 1e-3, size=400)

    def log_density(x, v):
        return Normal(0.0, variance=v).log_prob(x) if v > 0 else -np.inf

    found = maximum_likelihood(log_density, x, 1e-5)
    assert found.estimate == pytest.approx((x**2).mean(), rel=1e-7)
    cauchy = maximum_likelihood(  # not concave, with outliers
        lambda x, t: StudentT(1.0, t, scale=1.0).log_prob(x), np.array([-1.0, 0.0, 0.5, 40.0]), 0.0
    )
    grid = np.linspace(-3, 3, 60_001)
    heights = StudentT(1.0, grid[:, None], scale=1.0).log_prob([-1.0, 0.0, 0.5, 40.0]).sum(axis=1)
    assert cauchy.estimate == pytest.approx(grid[heights.argmax()], abs=1e-4)


def test_what_has_no_maximum_warns_and_bad_arguments_are_named():
    with pytest.warns(ConvergenceWarning, match="not reached"):
        runaway = maximum_likelihood(lambda x, t: np.exp(0.1 * t), X, 1.0, max_iter=3)
    assert not runaway.converged
    z, y = np.array([-1.0, -0.5, 0.4, 2.0]), np.array([0.0, 0.0, 1.0, 1.0])  # separable classes
    with pytest.warns(ConvergenceWarning, match="is flat"):
        endless = maximum_likelihood(lambda d, w: y * z * w - np.logaddexp(0.0, z * w), z, 1.0)
    assert not endless.converged
    assert endless.standard_errors is None
    with pytest.raises(TypeError, match="needs start"):
        maximum_likelihood(log_geometric, [0, 1])
    with (
        pytest.raises(ValueError, match="is not finite; start elsewhere"),
        np.errstate(all="ignore"),
    ):
        maximum_likelihood(log_geometric, np.array([0, 1]), -0.5)
    with pytest.raises(TypeError, match="only families take trials"):
        maximum_likelihood(log_geometric, [0, 1], 0.5, trials=3)
    with pytest.raises(ValueError, match="bounds must have 1 pairs"):
        maximum_likelihood(log_geometric, np.array([1]), 0.5, bounds=[(0, 1), (0, 1)])


# -- MAP ---------------------------------------------------------------------------------------


@pytest.mark.topic("000/B3", "004/2.13", "004/2.14")
def test_map_is_penalised_maximum_likelihood():
    prior = Normal(0.0, variance=0.5)

    def log_density(x, mu):
        return Normal(mu, variance=2.0).log_prob(x)

    found = map_estimate(log_density, prior, X, 0.0)
    closed = map_estimate(lambda mu: Normal(mu, variance=2.0), prior, X)
    posterior = bayes(prior, lambda mu: Normal(mu, variance=2.0), X)
    assert found.estimate == pytest.approx(float(posterior.posterior.mode), abs=1e-8)
    assert closed.estimate == pytest.approx(float(found.estimate), abs=1e-8)
    assert found.value == pytest.approx(closed.value, rel=1e-10)  # ln p(D | θ) + ln p(θ)
    assert found.standard_errors == pytest.approx(float(posterior.posterior.std), rel=1e-5)
    assert closed.standard_errors[0] == pytest.approx(float(posterior.posterior.std), rel=1e-5)
    penalised = maximum_likelihood(
        lambda x, mu: np.append(log_density(x, mu), -(mu**2) / (2 * 0.5)), X, 0.0
    )
    assert penalised.estimate == pytest.approx(float(found.estimate), abs=1e-7)
    flat = map_estimate(log_density, lambda mu: 0.0, X, 0.0)  # uniform prior: ML
    assert flat.estimate == pytest.approx(X.mean(), abs=1e-8)


@pytest.mark.topic("004/2.13")
def test_mode_of_a_dirichlet_posterior_has_no_curvature_off_the_simplex():
    report = map_estimate(Categorical, Dirichlet([2.0, 2.0, 2.0]), [0, 1, 1, 1])
    np.testing.assert_allclose(report.estimate, np.array([2, 4, 1]) / 7, rtol=1e-12)
    assert report.concavity == "unknown"
    with pytest.raises(TypeError, match="needs start"):
        map_estimate(log_geometric, lambda t: 0.0, [0, 1])


# -- Laplace -----------------------------------------------------------------------------------


def test_laplace_is_exact_for_a_quadratic_log_joint():
    rng = np.random.default_rng(3)
    design, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    prior = MvNormal(np.zeros(3), cov=2.0 * np.eye(3))

    def log_joint(w):
        return prior.log_prob(w) + Normal(design @ w, variance=0.5).log_prob(y).sum()

    found = laplace_approximation(log_joint, np.ones(3), of="y|X")
    precision = design.T @ design / 0.5 + np.eye(3) / 2.0
    mean = np.linalg.solve(precision, design.T @ y / 0.5)
    np.testing.assert_allclose(found.mode, mean, atol=1e-7)
    np.testing.assert_allclose(found.distribution.precision, precision, rtol=1e-6)
    cov = 0.5 * np.eye(12) + 2.0 * design @ design.T
    exact = stats.multivariate_normal(np.zeros(12), cov).logpdf(y)
    assert float(found.log_evidence) == pytest.approx(exact, abs=1e-6)
    assert found.log_evidence.kind == "laplace"
    assert found.log_evidence.of == "y|X"


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_the_error_of_laplace_falls_with_the_number_of_data(n):
    prior = Gamma(2.0, 1.0)
    x = np.arange(n) % 7
    exact = float(bayes(prior, Poisson, x).log_evidence)

    def log_joint(rate):
        if rate <= 0:
            return -np.inf
        return prior.log_prob(rate) + Poisson(rate).log_prob(x).sum()

    found = laplace_approximation(log_joint, 1.0)
    a = 2.0 + x.sum()
    # Stirling: ln Γ(a) against (a − ½) ln(a−1) − (a−1) + ½ ln 2π
    stirling = special.gammaln(a) - ((a - 0.5) * np.log(a - 1) - (a - 1) + 0.5 * np.log(2 * np.pi))
    assert exact - float(found.log_evidence) == pytest.approx(stirling, abs=1e-6)
    assert 0 < exact - float(found.log_evidence) < 1 / n
    assert isinstance(found.distribution, Normal)


def test_laplace_needs_a_strict_mode():
    with pytest.raises(ValueError, match="strictly concave"):
        laplace_approximation(lambda t: -((t[0] + t[1]) ** 2), [0.3, 0.4])
    with pytest.raises(ValueError, match="number or a vector"):
        laplace_approximation(lambda t: -np.sum(t**2), np.ones((2, 2)))


# -- bias and variance -------------------------------------------------------------------------


@pytest.mark.topic("000/B2", "003/P.8", "002/H10")
@pytest.mark.parametrize("n", [2, 5])
def test_bias_of_the_variance_and_its_correction(n):
    sigma2 = 2.0

    def sampler(rng):
        return rng.normal(1.0, np.sqrt(sigma2), size=n)

    ml = bias_variance(np.var, sampler, sigma2, 8000, rng=1)
    assert abs(ml.mean - (n - 1) / n * sigma2) < 5 * ml.bias_error
    corrected = bias_variance(unbiased_variance, sampler, sigma2, 8000, rng=1)
    assert abs(corrected.bias) < 5 * corrected.bias_error
    assert corrected.variance > ml.variance  # the price of no bias
    assert ml.mse < corrected.mse
    exact = 2 * sigma2**2 / (n - 1)
    assert abs(corrected.variance - exact) < 5 * corrected.variance_error


@pytest.mark.topic("002/H10", "003/P.8")
def test_mean_and_covariance_are_unbiased():
    cov = np.array([[2.0, 0.6], [0.6, 1.0]])
    truth = MvNormal([1.0, -1.0], cov=cov)
    mean = bias_variance(
        lambda x: x.mean(axis=0), lambda rng: truth.sample(8, rng=rng), truth.mean, 4000, rng=2
    )
    assert np.all(np.abs(mean.bias) < 5 * mean.bias_error)
    assert np.all(np.abs(mean.variance - np.diag(cov) / 8) < 5 * mean.variance_error)  # σ²/N
    assert mean.risk == pytest.approx(mean.mse.sum(), rel=1e-12)
    assert mean.mse == pytest.approx(mean.bias**2 + mean.variance * 3999 / 4000, rel=1e-10)
    found = bias_variance(
        unbiased_covariance, lambda rng: truth.sample(4, rng=rng), cov, 4000, rng=3
    )
    assert np.all(np.abs(found.bias) < 5 * found.bias_error)


def test_simulation_reports_progress_and_survives_interruption():
    seen = []
    bias_variance(
        np.mean, lambda rng: rng.normal(size=3), 0.0, 5, rng=0, progress=lambda *a: seen.append(a)
    )
    assert seen == [(i, 5) for i in range(1, 6)]

    def stop(done, total):
        if done == 10:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="stopped after 10 of 1000"):
        short = bias_variance(
            np.mean, lambda rng: rng.normal(size=3), 0.0, 1000, rng=0, progress=stop
        )
    assert short.n_repeats == 10
    again = [bias_variance(np.mean, lambda rng: rng.normal(size=3), 0.0, 20, rng=7) for _ in "ab"]
    assert again[0].mse == again[1].mse
    with pytest.raises(ValueError, match="returned shape"):
        bias_variance(lambda x: x, lambda rng: rng.normal(size=3), 0.0, 5)
    with pytest.raises(ValueError, match="at least 2"):
        bias_variance(np.mean, lambda rng: rng.normal(size=3), 0.0, 1)
    with pytest.raises(ValueError, match="at least 2 data points"):
        unbiased_variance([1.0])


# -- shrinkage ---------------------------------------------------------------------------------


@pytest.mark.topic("002/H11")
@pytest.mark.parametrize(("length", "risk"), [(0.0, 2.00), (1.0, 2.74), (5.0, 7.96)])
def test_risk_of_james_stein(length, risk):
    mu = np.zeros(10)
    mu[0] = length

    def sampler(rng):
        return mu + rng.normal(size=10)

    plain = bias_variance(
        lambda x: james_stein(x, positive_part=False).estimate, sampler, mu, 6000, rng=4
    )
    assert abs(plain.risk - risk) < 5 * plain.risk_error + 0.005
    assert plain.risk < 10.0  # the risk of the mean, whatever μ
    positive = bias_variance(lambda x: james_stein(x).estimate, sampler, mu, 6000, rng=4)
    assert positive.risk < plain.risk  # the same draws
    if length == 0:  # 10 − (n−2)² E[1/χ²₁₀] = 10 − 64/8
        assert abs(plain.risk - 2.0) < 5 * plain.risk_error


@pytest.mark.topic("002/H11")
def test_james_stein_formula_and_its_variants():
    x = np.array([3.0, -1.0, 2.0, 1.0, 0.5])
    found = james_stein(x, variance=0.4)
    np.testing.assert_allclose(found.estimate, (1 - 3 * 0.4 / (x @ x)) * x, rtol=1e-14)
    assert found.shrinkage == pytest.approx(3 * 0.4 / (x @ x), rel=1e-14)
    tiny = np.full(5, 0.1)
    assert james_stein(tiny).estimate.tolist() == [0.0] * 5
    np.testing.assert_allclose(
        james_stein(tiny, positive_part=False).estimate, (1 - 3 / 0.05) * tiny, rtol=1e-12
    )
    moved = james_stein(x + 7.0, variance=0.4, centre=7.0)
    np.testing.assert_allclose(moved.estimate, found.estimate + 7.0, rtol=1e-14)
    middle = james_stein(x, variance=0.4, centre="mean")
    shift = x - x.mean()
    np.testing.assert_allclose(
        middle.estimate, x.mean() + (1 - 2 * 0.4 / (shift @ shift)) * shift, rtol=1e-13
    )
    batch = james_stein(np.stack([x, tiny]), variance=[0.4, 1.0])
    np.testing.assert_allclose(batch.estimate[0], found.estimate)
    np.testing.assert_array_equal(james_stein(np.zeros(3)).estimate, np.zeros(3))
    with pytest.raises(ValueError, match="fewer than 3 means, got 2"):
        james_stein([1.0, 2.0])
    with pytest.raises(ValueError, match="fewer than 4 means"):
        james_stein([1.0, 2.0, 3.0], centre="mean")


@pytest.mark.topic("002/H11")
@pytest.mark.parametrize("variance", [None, 4.0])
def test_james_stein_on_several_means(variance):
    mu = np.linspace(-0.5, 0.5, 8)
    n = 10

    def sampler(rng):
        return mu + 2.0 * rng.normal(size=(n, 8))

    shrunk = bias_variance(
        lambda x: james_stein_means(x, variance).estimate, sampler, mu, 2000, rng=5
    )
    plain = bias_variance(lambda x: x.mean(axis=0), sampler, mu, 2000, rng=5)
    assert abs(plain.risk - 8 * 4.0 / n) < 5 * plain.risk_error
    assert shrunk.risk < 0.75 * plain.risk
    x = sampler(np.random.default_rng(0))
    known = james_stein_means(x, 4.0)
    np.testing.assert_allclose(known.estimate, james_stein(x.mean(axis=0), 4.0 / n).estimate)


def test_shrunken_covariances():
    rng = np.random.default_rng(6)
    truth = np.diag(np.linspace(0.5, 2.0, 20))
    x = rng.normal(size=(15, 20)) @ np.sqrt(truth)
    sample = np.cov(x.T, bias=True)
    for method in ("ledoit-wolf", "oas"):
        found = shrinkage_covariance(x, method)
        a = found.shrinkage
        target = np.trace(sample) / 20 * np.eye(20)
        np.testing.assert_allclose(found.cov, (1 - a) * sample + a * target, rtol=1e-10, atol=1e-12)
        assert np.linalg.norm(found.cov - truth) < np.linalg.norm(sample - truth)
        assert np.isfinite(found.distribution.log_prob(x[0]))
    # the weight that Ledoit and Wolf derive: b²/d², both estimated
    z = x - x.mean(axis=0)
    d2 = ((sample - target) ** 2).sum()
    b2 = sum(((np.outer(row, row) - sample) ** 2).sum() for row in z) / 15**2
    assert shrinkage_covariance(x).shrinkage == pytest.approx(min(b2, d2) / d2, rel=1e-9)
    with pytest.raises(ValueError, match='"ledoit-wolf" or "oas"'):
        shrinkage_covariance(x, "mcd")
    with pytest.raises(ValueError, match="at least two rows"):
        shrinkage_covariance(x[0])


# -- point estimates ---------------------------------------------------------------------------


@pytest.mark.topic("004/2.13")
@pytest.mark.parametrize("d", [Gamma(3.0, 2.0), Beta(2.0, 5.0), Normal(1.0, variance=4.0)])
def test_losses_and_their_estimates(d):
    assert point_estimate(d) == d.mean
    assert point_estimate(d, "absolute") == d.median
    assert point_estimate(d, "zero-one") == d.mode
    by_loss = point_estimate(d, lambda a, x: (x - a) ** 2)
    assert by_loss == pytest.approx(float(d.mean), abs=1e-6)
    by_loss = point_estimate(d, lambda a, x: np.abs(x - a))
    assert by_loss == pytest.approx(float(d.median), abs=1e-6)
    check = point_estimate(d, lambda a, x: np.where(x > a, 4.0 * (x - a), a - x))
    assert check == pytest.approx(float(d.quantile(0.8)), abs=1e-5)
    drawn = point_estimate(d, lambda a, x: (x - a) ** 2, n_draws=20_000, rng=0)
    assert abs(drawn - d.mean) < 5 * d.std / np.sqrt(20_000)


@pytest.mark.topic("004/2.13")
def test_point_estimates_of_counts_and_vectors():
    d = Poisson(4.2)
    stock = point_estimate(d, lambda a, x: np.where(x > a, 9.0 * (x - a), a - x))
    assert stock == pytest.approx(float(d.quantile(0.9)), abs=1e-4)
    joint = MvNormal([1.0, 2.0], cov=[[1.0, 0.3], [0.3, 2.0]])
    np.testing.assert_array_equal(point_estimate(joint, "absolute"), joint.mean)
    found = point_estimate(joint, lambda a, x: ((x - a) ** 2).sum(axis=-1), rng=1)
    np.testing.assert_allclose(found, joint.mean, atol=5 * np.sqrt(2.0 / 20_000) + 1e-3)
    simplex = Dirichlet([2.0, 3.0, 4.0])
    middle = point_estimate(simplex, "absolute", rng=2)
    exact = [Beta(a, 9 - a).median for a in (2.0, 3.0, 4.0)]
    np.testing.assert_allclose(middle, exact, atol=0.01)
    with pytest.raises(ValueError, match='"squared", "absolute", "zero-one"'):
        point_estimate(d, "huber")
    with pytest.raises(ValueError, match="single distribution"):
        point_estimate(Normal([0.0, 1.0], variance=1.0), lambda a, x: (x - a) ** 2)


# -- grids -------------------------------------------------------------------------------------


@pytest.mark.topic("002/B8", "004/2.2")
@pytest.mark.parametrize(
    ("data", "height", "powers", "posterior"),
    [([0, 2], 30.0, (2, 2), Beta(3, 3)), ([0, 2, 0, 1], 280.0, (4, 3), Beta(5, 4))],
)
def test_posterior_of_a_geometric_probability(data, height, powers, posterior):
    theta = np.linspace(0.0, 1.0, 401)
    x = np.array(data)

    def log_likelihood(t):
        with np.errstate(divide="ignore"):
            return len(x) * np.log(t) + x.sum() * np.log1p(-t)

    found = grid_posterior(log_likelihood, Beta(1, 1), {"theta": theta})
    expected = height * theta ** powers[0] * (1 - theta) ** powers[1]
    np.testing.assert_allclose(np.exp(found.log_density), expected, rtol=1e-8, atol=1e-12)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found.log_density, posterior.log_prob(theta), atol=1e-9)
    assert found.mean["theta"] == pytest.approx(float(posterior.mean), abs=1e-9)
    assert found.variance["theta"] == pytest.approx(float(posterior.variance), abs=1e-9)
    assert found.mode["theta"] == pytest.approx(float(posterior.mode), abs=1 / 400)
    assert np.exp(found.log_evidence.value) == pytest.approx(1 / height, rel=1e-8)
    # conjugate pair: the same posterior
    assert bayes(Beta(1, 1), Geometric, data).posterior == posterior


@pytest.mark.topic("002/B8")
def test_any_prior_on_the_unit_interval():
    theta = np.linspace(0.0, 1.0, 2001)
    found = grid_posterior(
        lambda t: np.log(np.maximum(t, 1e-300)) * 3,
        lambda t: np.log(2.0 * np.where(t < 0.5, 2 * t, 2 * (1 - t)) + 1e-300),  # a tent
        [theta],
    )
    z, _ = integrate.quad(lambda t: t**3 * 2 * min(2 * t, 2 * (1 - t)), 0, 1, points=[0.5])
    m, _ = integrate.quad(lambda t: t**4 * 2 * min(2 * t, 2 * (1 - t)), 0, 1, points=[0.5])
    assert np.exp(found.log_evidence.value) == pytest.approx(z, rel=1e-6)
    assert found.mean["theta0"] == pytest.approx(m / z, rel=1e-6)
    assert found.prior_mass == pytest.approx(1.0, abs=1e-6)


@pytest.mark.topic("004/2.1", "004/2.2", "000/B4")
def test_a_model_of_two_unknowns_against_its_conjugate_posterior():
    prior = NormalGamma(0.0, 1.0, 3.0, 2.0)
    grids = {"mean": np.linspace(-3.0, 4.0, 281), "tau": np.linspace(1e-3, 8.0, 401)}

    def log_likelihood(mean, tau):
        return sum(0.5 * np.log(tau / (2 * np.pi)) - 0.5 * tau * (x - mean) ** 2 for x in X)

    found = grid_posterior(log_likelihood, lambda m, t: prior.log_prob((m, t)), grids)
    exact = bayes(prior, Normal, X)
    error = abs(float(found.log_evidence) - float(exact.log_evidence))
    assert error < 1e-4
    assert found.log_evidence.kind == "estimate"
    # tails of a t are heavier than exponential, hence the factor
    assert error <= found.log_evidence.error + 2.0 * found.edge_mass < 1e-4
    mean, tau = exact.posterior.mean
    assert found.mean["mean"] == pytest.approx(float(mean), abs=1e-4)
    assert found.mean["tau"] == pytest.approx(float(tau), abs=1e-3)
    assert found.prior_mass == pytest.approx(1.0, abs=2e-2)
    marginal = found.marginal("mean")
    assert np.exp(marginal.log_density).shape == (281,)
    assert np.trapezoid(np.exp(marginal.log_density), grids["mean"]) == pytest.approx(1.0, abs=1e-4)
    assert marginal.variance["mean"] == pytest.approx(found.cov[0, 0], rel=1e-9)

    def log_density(x, mean, tau):
        return 0.5 * np.log(tau / (2 * np.pi)) - 0.5 * tau * (x - mean) ** 2

    new = np.array([-1.0, 0.5, 3.0])
    np.testing.assert_allclose(
        found.log_predictive(log_density, new), exact.predictive.log_prob(new), atol=1e-3
    )
    assert found.expect(lambda m, t: m * t) == pytest.approx(
        float((found.probabilities * np.outer(grids["mean"], grids["tau"])).sum())
    )
    draws = found.sample(4000, rng=0)
    spread = np.sqrt(found.variance["mean"])
    assert abs(draws["mean"].mean() - found.mean["mean"]) < 5 * spread / np.sqrt(4000)


@pytest.mark.topic("004/2.2")
def test_functions_of_plain_numbers_are_called_cell_by_cell():
    mu = np.linspace(-4.0, 5.0, 181)
    summed = grid_posterior(
        lambda m: Normal(m, variance=1.0).log_prob(X).sum(),  # adds over data: no array answer
        Normal(0.0, variance=4.0),
        {"mu": mu},
    )
    exact = bayes(Normal(0.0, variance=4.0), lambda m: Normal(m, variance=1.0), X)
    assert summed.mean["mu"] == pytest.approx(float(exact.posterior.mean), abs=1e-8)
    assert float(summed.log_evidence) == pytest.approx(float(exact.log_evidence), abs=1e-8)


def test_a_constant_prior_may_be_a_plain_number():
    flat = grid_posterior(
        lambda m: -0.5 * (m - 1.0) ** 2, lambda m: 0.0, [np.linspace(-9, 11, 201)]
    )
    assert flat.mean["theta0"] == pytest.approx(1.0, abs=1e-9)
    assert flat.prior_mass == pytest.approx(20.0)  # not a density: the evidence has no meaning
    assert np.exp(float(flat.log_evidence)) == pytest.approx(np.sqrt(2 * np.pi), rel=1e-9)


def test_bad_grids_are_named():
    with pytest.raises(ValueError, match="grid of mu must be at least three increasing"):
        grid_posterior(lambda m: m, lambda m: m, {"mu": [1.0, 0.0, 2.0]})
    with pytest.raises(ValueError, match="0 on the whole grid"):
        grid_posterior(lambda m: np.where(m > 9, 0.0, -np.inf), lambda m: 0 * m, [np.arange(5.0)])
    with pytest.raises(ValueError, match=r"log_likelihood is not a number or infinite at \(0\)"):
        grid_posterior(lambda m: np.where(m == 0, np.nan, m), lambda m: 0 * m, [np.arange(5.0)])
    post = grid_posterior(lambda m: -m, lambda m: 0 * m, {"mu": np.arange(5.0)})
    with pytest.raises(KeyError, match="'sigma' is no parameter; there are mu"):
        post.marginal("sigma")
    assert "mu[5]" in repr(post)


# -- maximum likelihood beside Bayes -----------------------------------------------------------


@pytest.mark.topic("004/2.15")
def test_evidence_vanishes_under_ever_flatter_priors():
    def log_likelihood(mu):
        return Normal(mu, variance=1.0).log_prob(X).sum()

    widths = 10.0 ** np.arange(1, 7)
    shown = evidence_under_flat_priors(log_likelihood, widths)
    # ∫ Π N(xₙ | μ, 1) dμ in closed form
    area = -2.0 * np.log(2 * np.pi) - 0.5 * np.log(5) - 0.5 * ((X - X.mean()) ** 2).sum()
    np.testing.assert_allclose(shown.log_evidence, area - np.log(widths), atol=1e-8)
    np.testing.assert_allclose(shown.log_integral, area, atol=1e-8)
    assert shown.slope == pytest.approx(-1.0, abs=1e-9)
    with pytest.raises(ValueError, match="improper prior gives no evidence"):
        _ = bayes(Normal.from_natural(0.0, 0.0), lambda m: Normal(m, variance=1.0), X).log_evidence
    # priors that do not reach the likelihood see a part of it
    narrow = evidence_under_flat_priors(log_likelihood, [0.1, 1.0], centre=3.0)
    direct, _ = integrate.quad(lambda m: np.exp(log_likelihood(m)), 2.95, 3.05)
    assert narrow.log_integral[0] == pytest.approx(np.log(direct), abs=1e-9)
    with pytest.raises(ValueError, match="increasing"):
        evidence_under_flat_priors(log_likelihood, [10.0, 1.0])


@pytest.mark.topic("002/B10", "004/2.15", "004/2.13")
def test_report_of_maximum_likelihood_beside_bayes():
    report = compare_ml_bayes(Beta(2, 2), Bernoulli, [1, 1])
    assert report.ml == 1.0  # certain after two tosses
    assert report.map == pytest.approx(0.75)
    assert report.posterior_mean == pytest.approx(4 / 6)
    assert float(np.exp(report.predictive.log_prob(0))) == pytest.approx(1 / 3)
    assert float(np.exp(report.predictive_ml.log_prob(0))) == 0.0
    assert float(report.log_evidence) == pytest.approx(
        special.betaln(4, 2) - special.betaln(2, 2), rel=1e-12
    )
    text = report.table()
    assert text.splitlines()[0].split() == ["estimate", "predicted", "mean", "predicted", "std"]
    assert len(text.splitlines()) == 4


@pytest.mark.topic("002/B10")
def test_bayes_shrinks_with_few_data_and_agrees_with_many():
    rng = np.random.default_rng(8)
    flips = (rng.random(4000) < 0.8) * 1.0
    prior = Beta(5, 5)
    gaps, widths = [], []
    for n in (5, 50, 500, 4000):
        report = compare_ml_bayes(prior, Bernoulli, flips[:n])
        low, high = sorted((0.5, float(report.ml)))
        assert low <= report.posterior_mean <= high  # between prior and data
        gaps.append(abs(report.posterior_mean - report.ml))
        widths.append(float(report.posterior.std))
    assert gaps[0] > gaps[-1]
    assert gaps[-1] < 1e-3
    assert all(a > b for a, b in pairwise(widths))  # confidence grows


@pytest.mark.topic("002/B10")
def test_decisions_of_maximum_likelihood_and_bayes_differ():
    first, second = (compare_ml_bayes(Beta(1, 1), Geometric, d) for d in ([0, 2], [0, 2, 0, 1]))
    plug_in = [float(np.exp(r.predictive_ml.log_prob(1))) for r in (first, second)]
    averaged = [float(np.exp(r.predictive.log_prob(1))) for r in (first, second)]
    np.testing.assert_allclose(plug_in, [0.25, 12 / 49], rtol=1e-12)
    np.testing.assert_allclose(averaged, [3 / 14, 2 / 9], rtol=1e-10)
    assert plug_in[0] > plug_in[1]  # maximum likelihood decides for the first class
    assert averaged[0] < averaged[1]  # Bayes for the second, which has more data


@pytest.mark.topic("002/B10", "000/B4")
def test_report_with_a_known_variance_and_with_two_unknowns():
    report = compare_ml_bayes(Normal(0, variance=4), lambda m: Normal(m, variance=1), X)
    assert report.ml == pytest.approx(X.mean(), abs=1e-8)
    assert report.predictive.variance > report.predictive_ml.variance  # θ is uncertain
    both = compare_ml_bayes(NormalGamma(0.0, 1.0, 3.0, 2.0), Normal, X)
    np.testing.assert_allclose(both.ml, [X.mean(), 1 / X.var()], rtol=1e-10)
    assert "(" in both.table()
    improper = compare_ml_bayes(Normal.from_natural(0.0, 0.0), lambda m: Normal(m, variance=1), X)
    assert improper.log_evidence is None
    assert improper.posterior_mean == pytest.approx(float(improper.ml), abs=1e-8)  # flat: ML


@pytest.mark.topic("000/B4", "004/2.1")
@given(st.integers(0, 20), st.integers(1, 20))
def test_the_predictive_integral_by_three_routes(failures, successes):
    x = np.concatenate([np.ones(successes), np.zeros(failures)])
    exact = float(np.exp(bayes(Beta(2, 2), Bernoulli, x).predictive.log_prob(1)))
    grid = grid_posterior(
        lambda t: (
            successes * np.log(np.maximum(t, 1e-300)) + failures * np.log(np.maximum(1 - t, 1e-300))
        ),
        Beta(2, 2),
        [np.linspace(0, 1, 801)],
    )
    assert grid.expect(lambda t: t) == pytest.approx(exact, abs=1e-8)
    draws = bayes(Beta(2, 2), Bernoulli, x).posterior.sample(4000, rng=0)
    assert abs(draws.mean() - exact) < 5 * draws.std() / np.sqrt(4000)


@pytest.mark.topic("002/B2", "000/B1")
def test_a_stationary_point_that_is_no_maximum_is_recognised():
    # at its own stationary point the likelihood of two clusters is a minimum in this direction
    x = np.array([-3.0, 3.0])

    def log_density(x, m):
        return np.logaddexp(
            Normal(m, variance=0.2).log_prob(x), Normal(-m, variance=0.2).log_prob(x)
        )

    slope = gradient(lambda m: log_density(x, m[0]).sum(), [0.0])
    assert abs(slope[0]) < 1e-8
    stuck = maximum_likelihood(log_density, x, 0.0)
    assert stuck.concavity == "not a maximum"
    free = maximum_likelihood(log_density, x, 1.0)
    assert abs(free.estimate) == pytest.approx(3.0, abs=1e-6)
    assert free.value > stuck.value
    best = optimize.minimize_scalar(
        lambda m: -log_density(x, m).sum(), bounds=(1, 5), method="bounded"
    )
    assert free.value == pytest.approx(-best.fun, abs=1e-8)
