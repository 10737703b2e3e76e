"""Posteriors on grids against conjugate posteriors and integrals."""

import numpy as np
import pytest
from scipy import integrate

from posteriori.distributions import Beta, Geometric, Normal, NormalGamma, bayes, grid_posterior
from tests.estimation.estimation_data import X


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
