"""Maximum likelihood and MAP against closed forms, and the curvature at the maximum."""

import numpy as np
import pytest
from scipy import optimize, special

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
    Poisson,
    StudentT,
    bayes,
)
from posteriori.estimation import map_estimate, maximum_likelihood
from posteriori.numerics import ConvergenceWarning, gradient
from tests.estimation.estimation_data import X


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


# -- maximum likelihood beside Bayes -----------------------------------------------------------


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
