"""Worked numbers of the course notes that need Bayes' rule."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from posteriori import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    Multinomial,
    MvNormal,
    Normal,
    NormalGamma,
    Poisson,
    bayes,
)

COIN = [1, 0, 1, 1, 0, 0, 1]  # hthhtth


@pytest.mark.topic("004/2.10", "004/1.5", "000/A3", "004/2.6", "004/2.7")
def test_coin() -> None:
    r = bayes(Beta(1, 1), Bernoulli, COIN)
    assert r.posterior == Beta(5, 4)
    assert r.predictive.mean == pytest.approx(5 / 9, rel=1e-15)
    assert r.prior_predictive.mean == 0.5
    assert r.posterior.mode == pytest.approx(4 / 7)
    assert np.exp(float(r.log_evidence)) == pytest.approx(1 / 280, rel=1e-12)
    informed = bayes(Beta(5, 5), Bernoulli, COIN)
    assert np.exp(float(informed.log_evidence)) == pytest.approx(0.00611888, abs=5e-9)
    factor = r.log_evidence.bayes_factor(informed.log_evidence)
    assert factor == pytest.approx(0.583673, abs=5e-7)
    fair = Bernoulli(0.5).log_prob(COIN).sum()
    assert np.exp(fair) == pytest.approx(1 / 128)
    assert np.exp(float(r.log_evidence) - fair) == pytest.approx(0.457143, abs=5e-7)


@pytest.mark.topic("004/2.11")
def test_coin_prediction_and_correction() -> None:
    view = bayes(Beta(1, 1), Bernoulli, COIN).correction
    assert view.prior == 0.5
    assert view.data == pytest.approx(4 / 7)
    assert view.gain == pytest.approx(7 / 9)
    assert view.posterior == pytest.approx(5 / 9)


@pytest.mark.topic("004/2.16")
def test_coin_evidence_is_fit_less_complexity() -> None:
    r = bayes(Beta(1, 1), Bernoulli, COIN)
    assert r.fit == pytest.approx(-5.1916667, abs=5e-8)
    assert r.complexity == pytest.approx(0.4431229, abs=5e-8)
    assert float(r.log_evidence) == pytest.approx(-5.6347896, abs=5e-8)


@pytest.mark.topic("004/2.12")
def test_two_priors_converge_as_flips_arrive() -> None:
    flips = (np.random.default_rng(4).random(192) < 0.4) * 1.0
    gaps = []
    flat, firm = (bayes(p, Bernoulli, flips[:1]) for p in (Beta(1, 1), Beta(5, 5)))
    for x in flips[1:]:
        flat, firm = flat.update([x]), firm.update([x])
        gaps.append(abs(flat.posterior.mean - firm.posterior.mean))
    batch = bayes(Beta(1, 1), Bernoulli, flips)
    assert flat.posterior == batch.posterior
    assert float(flat.log_evidence) == pytest.approx(float(batch.log_evidence), abs=1e-10)
    assert gaps[-1] < 0.02
    assert gaps[148] < gaps[48] < gaps[8]


@pytest.mark.topic("003/C.1", "000/M10", "000/M19")
def test_beta_binomial() -> None:
    prior = Beta(2, 2)
    r = bayes(prior, lambda p: Binomial(10, p), [7])
    assert r.posterior == Beta(9, 5)
    assert (prior.mean, r.correction.data) == (0.5, 0.7)
    assert r.posterior.mean == pytest.approx(0.6428571429, abs=5e-11)
    assert prior.mean < r.posterior.mean < 0.7
    peer = stats.betabinom(10, r.posterior.a, r.posterior.b)
    counts = np.arange(11)
    np.testing.assert_allclose(r.predictive.log_prob(counts), peer.logpmf(counts), rtol=1e-11)


@pytest.mark.topic("003/C.2", "004/5.6", "004/5.7", "000/M18", "000/M14")
def test_dirichlet_categorical() -> None:
    two = bayes(Dirichlet([1, 1]), Categorical, [1 - x for x in COIN])
    coin = bayes(Beta(1, 1), Bernoulli, COIN)
    assert two.predictive.probabilities[0] == pytest.approx(5 / 9)
    assert float(two.log_evidence) == pytest.approx(float(coin.log_evidence), abs=1e-13)
    die = [0, 2, 2, 5, 5, 5, 1]
    r = bayes(Dirichlet(np.ones(6)), Categorical, die)
    counts = np.bincount(die, minlength=6)
    np.testing.assert_allclose(r.posterior.concentration, 1 + counts)
    np.testing.assert_allclose(r.predictive.probabilities, (counts + 1) / (7 + 6))
    one_table = bayes(Dirichlet(np.ones(6)), lambda p: Multinomial(7, p), [counts])
    assert one_table.posterior == r.posterior
    arrangements = special.gammaln(8) - special.gammaln(counts + 1).sum()
    gap = float(one_table.log_evidence) - float(r.log_evidence)
    assert gap == pytest.approx(arrangements, abs=1e-12)


@pytest.mark.topic("000/M5", "004/4.7", "004/4.10", "002/B11", "000/M4")
def test_normal_mean() -> None:
    x = np.array([1.2, 0.4, 2.3, 1.9, 0.7])
    m0, v0, v, n = 0.5, 4.0, 0.7, 5
    r = bayes(Normal(m0, variance=v0), lambda mu: Normal(mu, variance=v), x)
    assert r.posterior.precision == pytest.approx(1 / v0 + n / v)
    blend = (v * m0 + n * v0 * x.mean()) / (n * v0 + v)
    assert r.posterior.mean == pytest.approx(blend, rel=1e-14)
    assert r.predictive.variance == pytest.approx(v + r.posterior.variance)
    assert r.correction.gain == pytest.approx(n * v0 / (n * v0 + v))
    assert min(m0, x.mean()) < r.posterior.mean < max(m0, x.mean())
    vague = bayes(Normal(m0, variance=1e12), lambda mu: Normal(mu, variance=v), x)
    assert vague.posterior.mean == pytest.approx(x.mean(), abs=1e-10)


@pytest.mark.topic("004/4.9")
def test_recursive_estimation_of_a_constant() -> None:
    x = np.random.default_rng(3).normal(2.0, 0.5, 50)
    belief = Normal(0.0, variance=1000.0)
    steps = []
    for value in x:
        r = bayes(belief, lambda mu: Normal(mu, variance=0.25), [value])
        steps.append((float(r.correction.gain), float(r.posterior.variance)))
        belief = r.posterior
    assert steps[0][0] == pytest.approx(0.99975006, abs=5e-9)
    assert steps[0][1] == pytest.approx(0.24993752, abs=5e-9)
    assert steps[9][1] == pytest.approx(0.02499938, abs=5e-9)
    assert steps[49][1] == pytest.approx(0.004999975, abs=5e-10)
    batch = bayes(Normal(0.0, variance=1000.0), lambda mu: Normal(mu, variance=0.25), x)
    assert belief.mean == pytest.approx(batch.posterior.mean, rel=1e-13)


@pytest.mark.topic("000/M6", "004/4.16")
def test_precision_of_a_normal() -> None:
    x = np.array([1.2, 0.4, 2.3, 1.9, 0.7])
    r = bayes(Gamma(1.5, 0.8), lambda tau: Normal(1.0, precision=tau), x)
    assert r.posterior.shape == pytest.approx(1.5 + 2.5)
    assert r.posterior.rate == pytest.approx(0.8 + 0.5 * ((x - 1) ** 2).sum())
    nearly_flat = bayes(Gamma(1e-9, 1e-9), lambda tau: Normal(1.0, precision=tau), x)
    assert nearly_flat.posterior.mean == pytest.approx(5 / ((x - 1) ** 2).sum(), rel=1e-8)
    integral = integrate.quad(
        lambda tau: stats.norm.pdf(0.3, 1.0, tau**-0.5) * np.exp(r.posterior.log_prob(tau)), 0, 40
    )[0]
    assert np.exp(r.predictive.log_prob(0.3)) == pytest.approx(integral, rel=1e-9)


@pytest.mark.topic("000/M7")
def test_normal_gamma() -> None:
    r = bayes(NormalGamma(0.0, 1.0, 1.0, 1.0), Normal, [1.2, 0.4, 2.3, 1.9, 0.7])
    d = r.posterior
    assert d.location == pytest.approx(1.08333, abs=5e-6)
    assert (d.mean_strength, d.shape) == (6.0, 3.5)
    assert d.rate == pytest.approx(2.97416667, abs=5e-9)
    assert float(r.log_evidence) == pytest.approx(-8.10447241, abs=5e-9)


@pytest.mark.topic("000/M15", "000/M16", "000/B4")
def test_gamma_poisson_predictive_is_negative_binomial() -> None:
    counts = [4, 5, 4, 1, 0, 4, 3]
    r = bayes(Gamma(2.0, 1.0), Poisson, counts)
    assert r.posterior == Gamma(2 + sum(counts), 8.0)
    peer = stats.nbinom(r.posterior.shape, 8.0 / 9.0)
    np.testing.assert_allclose(r.predictive.log_prob(range(12)), peer.logpmf(range(12)), rtol=1e-11)
    assert r.predictive.log_prob(-1) == -np.inf
    assert r.predictive.log_prob(0.5) == -np.inf


@pytest.mark.topic("000/B4")
def test_gamma_exponential_predictive_is_lomax() -> None:
    r = bayes(Gamma(3.0, 2.0), Exponential, [1.2, 0.4, 2.3])
    peer = stats.lomax(r.posterior.shape, scale=r.posterior.rate)
    np.testing.assert_allclose(
        r.predictive.log_prob([0.1, 2.0]), peer.logpdf([0.1, 2.0]), rtol=1e-12
    )
    assert r.predictive.mean == pytest.approx(peer.mean())
    assert r.predictive.variance == pytest.approx(peer.var())


@pytest.mark.topic("000/A5")
def test_linear_gaussian_rule_in_both_forms() -> None:
    a = np.array([[1.0, 2.0], [0.5, -1.0], [0.0, 1.0]])
    b, y = np.array([0.1, 0.2, -0.3]), np.array([1.0, 0.5, -0.2])
    prior = MvNormal([0.3, -0.4], cov=[[1.0, 0.2], [0.2, 0.5]])
    noise = np.diag([0.3, 0.2, 0.6])
    lam, ell = np.linalg.inv(prior.cov), np.linalg.inv(noise)
    s = np.linalg.inv(lam + a.T @ ell @ a)
    mean = s @ (a.T @ ell @ (y - b) + lam @ prior.mean)
    for likelihood in (
        lambda x: MvNormal(a @ x + b, cov=noise),
        lambda x: MvNormal(a @ x + b, precision=ell),
    ):
        r = bayes(prior, likelihood, [y])
        np.testing.assert_allclose(r.posterior.mean, mean, rtol=1e-12)
        np.testing.assert_allclose(r.posterior.cov, s, rtol=1e-11)
        predictive = MvNormal(a @ prior.mean + b, cov=noise + a @ prior.cov @ a.T)
        assert float(r.log_evidence) == pytest.approx(predictive.log_prob(y), abs=1e-12)


@pytest.mark.topic("000/A4")
def test_log_likelihood_survives_where_the_product_underflows() -> None:
    x = np.random.default_rng(0).normal(size=10_000)
    logs = Normal(0.0, variance=1.0).log_prob(x)
    assert np.prod(np.exp(logs)) == 0.0
    assert np.isfinite(logs.sum())
