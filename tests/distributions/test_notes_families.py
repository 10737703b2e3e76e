"""Worked numbers of the course notes on waiting times, log-normal variables and counts."""

import numpy as np
import pytest

from posteriori import Beta, Binomial, Normal, bayes
from posteriori.distributions import BetaBinomial, Geometric, LogNormal, Uniform
from tests.distributions import oracles

FIRST, SECOND = [0, 2], [0, 2, 0, 1]


@pytest.mark.topic("002/B6")
def test_geometric_maximum_likelihood():
    assert Geometric.fit(FIRST).probability == 1 / 2
    assert Geometric.fit(SECOND).probability == pytest.approx(4 / 7, rel=1e-15)
    np.testing.assert_allclose(
        np.exp(Geometric(0.5).log_prob(range(4))), [0.5, 0.25, 0.125, 0.0625]
    )


@pytest.mark.topic("002/B8")
def test_geometric_posterior_is_a_beta():
    first, second = (bayes(Beta(1, 1), Geometric, data).posterior for data in (FIRST, SECOND))
    assert first == Beta(3, 3)
    assert second == Beta(5, 4)
    theta = np.array([0.2, 0.5, 0.9])
    np.testing.assert_allclose(np.exp(first.log_prob(theta)), 30 * theta**2 * (1 - theta) ** 2)
    np.testing.assert_allclose(np.exp(second.log_prob(theta)), 280 * theta**4 * (1 - theta) ** 3)


@pytest.mark.topic("002/B9")
def test_geometric_predictive_decides_against_maximum_likelihood():
    counts = np.arange(6)
    one, two = (
        np.exp(bayes(Beta(1, 1), Geometric, data).predictive.log_prob(counts))
        for data in (FIRST, SECOND)
    )
    np.testing.assert_allclose(one, [0.5, 0.21429, 0.10714, 0.05952, 0.03571, 0.02273], atol=5e-6)
    np.testing.assert_allclose(
        two, [0.55556, 0.22222, 0.10101, 0.05051, 0.02720, 0.01554], atol=5e-6
    )
    assert one[1] == pytest.approx(3 / 14, rel=1e-12)
    assert two[1] == pytest.approx(2 / 9, rel=1e-12)
    assert two[1] / (one[1] + two[1]) == pytest.approx(28 / 55, rel=1e-12)
    np.testing.assert_array_equal(two > one, [True, True, False, False, False, False])
    plug_in = [np.exp(Geometric.fit(data).log_prob(1)) for data in (FIRST, SECOND)]
    assert 0.5 * plug_in[0] == pytest.approx(0.125)
    assert 0.5 * plug_in[1] == pytest.approx(6 / 49)  # the plug-in rule prefers the first class


@pytest.mark.topic("004/1.4")
def test_a_density_may_exceed_one():
    d = Uniform(0.0, 0.5)
    assert np.exp(d.log_prob(0.3)) == pytest.approx(2.0)
    x, w = oracles.interval(0.0, 0.5)
    assert (w * np.exp(d.log_prob(x))).sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.topic("004/1.13")
def test_products_of_log_normal_variables_are_log_normal():
    one, two = LogNormal(0.3, variance=0.25), LogNormal(-0.2, variance=0.16)
    product = LogNormal(0.3 - 0.2, variance=0.25 + 0.16)
    x, w = oracles.positive_line()
    for z in (0.4, 1.0, 2.7):
        with np.errstate(over="ignore"):
            density = np.exp(one.log_prob(x) + two.log_prob(z / x)) / x
        assert (w * density).sum() == pytest.approx(np.exp(product.log_prob(z)), rel=1e-9)


@pytest.mark.topic("004/1.13")
def test_the_exponential_of_a_normal_variable_is_log_normal():
    d = LogNormal(0.3, scale=0.5)
    x = np.array([0.2, 1.0, 5.0])
    normal = Normal(0.3, variance=0.25)
    np.testing.assert_allclose(d.log_prob(x), normal.log_prob(np.log(x)) - np.log(x), rtol=1e-14)
    np.testing.assert_array_equal(d.sample(5, rng=1), np.exp(normal.sample(5, rng=1)))


@pytest.mark.topic("003/C.1")
def test_beta_binomial_counts_before_and_after_ten_tosses():
    r = bayes(Beta(2, 2), lambda p: Binomial(10, p), [7])
    assert r.posterior == Beta(9, 5)
    assert r.prior.mean == 0.5
    assert r.posterior.mean == pytest.approx(0.6428571429, abs=5e-11)
    assert r.prior_predictive == BetaBinomial(10, 2, 2)
    assert float(r.log_evidence) == pytest.approx(BetaBinomial(10, 2, 2).log_prob(7), rel=1e-13)
    assert r.predictive.mean == pytest.approx(6.428571429, abs=5e-10)
