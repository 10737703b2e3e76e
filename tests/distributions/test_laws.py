"""The laws that every family obeys, each against sums or integrals of its density."""

import numpy as np
import pytest
from scipy import integrate

from posteriori.distributions.base import Univariate
from tests.distributions import oracles
from tests.distributions.families import FAMILIES, UNIVARIATE, close, having

# -- density, moments, information -------------------------------------------------------------


@pytest.mark.parametrize("case", FAMILIES)
@pytest.mark.parametrize("which", ["one", "two"])
def test_probabilities_add_up_to_one(case, which):
    d = getattr(case, which)()
    close(oracles.mass(d, case.rule_for(d)).sum(), 1.0, case.rtol)


@pytest.mark.parametrize("case", having("mean"))
@pytest.mark.parametrize("which", ["one", "two"])
def test_mean_is_the_integral_of_x(case, which):
    d = getattr(case, which)()
    rule = case.rule_for(d)
    if case.joint:
        for part, points in zip(d.mean, rule.points, strict=True):
            close(part, oracles.expect(d, rule, points), case.rtol)
    else:
        close(d.mean, oracles.expect(d, rule, lambda x: x), case.rtol)


@pytest.mark.parametrize("case", having("variance"))
@pytest.mark.parametrize("which", ["one", "two"])
def test_variance_is_the_mean_squared_deviation(case, which):
    d = getattr(case, which)()
    rule = case.rule_for(d)
    if case.joint:
        for part, mean, points in zip(d.variance, d.mean, rule.points, strict=True):
            close(part, oracles.expect(d, rule, (points - mean) ** 2), case.rtol)
    else:
        close(d.variance, oracles.expect(d, rule, lambda x: (x - d.mean) ** 2), case.rtol)
    if hasattr(case.family, "std") and not case.joint:
        close(d.std**2, d.variance, 1e-14)


@pytest.mark.parametrize("case", having("cov"))
def test_cov_is_the_mean_outer_product_of_deviations(case):
    d = case.one()
    rule = case.rule_for(d)
    if hasattr(case.family, "mean"):
        close(d.cov, oracles.cov(d, rule, lambda x: x), case.rtol)
        close(np.diagonal(d.cov), d.variance, 1e-14)
    else:  # a category is no number: the covariance is that of its code
        close(d.cov, oracles.cov(d, rule, oracles.statistics_of(d)), case.rtol)


@pytest.mark.parametrize("case", having("mode"))
def test_no_point_is_more_probable_than_the_mode(case):
    for d in (case.one(), case.two()):
        highest = d.log_prob(d.mode)
        assert np.all(d.log_prob(case.points) <= highest + 1e-12)
        assert np.all(d.log_prob(case.rule_for(d).points) <= highest + 1e-12)


@pytest.mark.parametrize("case", having("entropy"))
@pytest.mark.parametrize("which", ["one", "two"])
def test_entropy_is_the_mean_surprise(case, which):
    d = getattr(case, which)()
    rule = case.rule_for(d)
    log_p = d.log_prob(rule.points)
    close(d.entropy(), -oracles.average(rule.weights * np.exp(log_p), log_p), case.rtol)


@pytest.mark.parametrize("case", having("kl"))
def test_kl_and_cross_entropy_are_mean_log_ratios(case):
    for p, q in ((case.one(), case.two()), (case.two(), case.one())):
        rule = case.rule_for(p)
        log_p, log_q = p.log_prob(rule.points), q.log_prob(rule.points)
        w = rule.weights * np.exp(log_p)
        close(p.kl(q), oracles.average(w, log_p) - oracles.average(w, log_q), case.rtol)
        close(p.cross_entropy(q), -oracles.average(w, log_q), case.rtol)
        assert 0.0 <= p.kl(p) <= 1e-15


# -- one number --------------------------------------------------------------------------------


@pytest.mark.parametrize("case", UNIVARIATE)
def test_cdf_is_the_integral_of_the_density(case):
    d = case.one()
    rule = case.rule_for(d)
    for x in case.points:
        if case.discrete:
            expected = oracles.mass(d, rule)[rule.points <= x].sum()
        else:
            expected, _ = integrate.quad(
                lambda u: np.exp(d.log_prob(u)), case.least, x, epsabs=1e-12
            )
        close(d.cdf(x), expected, 1e-9)
    assert d.cdf(-np.inf) == 0.0
    assert d.cdf(np.inf) == 1.0


@pytest.mark.parametrize("case", UNIVARIATE)
def test_quantile_is_the_least_point_with_enough_probability(case):
    d = case.one()
    q = np.array([1e-6, 0.01, 0.25, 0.5, 0.7, 0.99, 1 - 1e-6])
    x = d.quantile(q)
    if case.discrete:
        assert np.all(d.cdf(x) >= q * (1 - 1e-12))
        assert np.all(d.cdf(x - 1e-6) < q)
    else:
        close(d.cdf(x), q, 1e-9, atol=0)
        close(d.quantile(d.cdf(np.asarray(case.points))), case.points, 1e-7)
    close(d.median, d.quantile(0.5), 1e-14)
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="q must"):
            d.quantile(wrong)


@pytest.mark.parametrize("case", UNIVARIATE)
def test_interval_holds_its_mass(case):
    d = case.one()
    for mass in (0.5, 0.95):
        low, high = d.interval(mass)
        if case.discrete:
            assert d.cdf(high) - d.cdf(low - 1e-6) >= mass
        else:
            close(d.cdf(high) - d.cdf(low), mass, 1e-9)
            close(d.cdf(low), 1 - d.cdf(high), 1e-9)
    for wrong in (0.0, 1.0, -0.2, 95):
        with pytest.raises(ValueError, match="mass"):
            d.interval(wrong)


# -- peers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [p for p in FAMILIES if p.values[0].peer])
def test_scipy_says_the_same(case):
    d, peer = case.one(), case.peer()
    log_density = getattr(peer, "logpdf", None) or peer.logpmf
    expected = [float(np.squeeze(log_density(x))) for x in np.asarray(case.points)]
    close(d.log_prob(case.points), expected, 1e-11)
    if hasattr(case.family, "entropy") and case.id != "InverseWishart":
        close(d.entropy(), peer.entropy(), 1e-9)  # scipy's of InverseWishart forgets D ln 2
    if hasattr(case.family, "mean") and hasattr(peer, "mean"):
        close(d.mean, peer.mean() if callable(peer.mean) else peer.mean, 1e-11)
    if hasattr(case.family, "variance") and hasattr(peer, "var"):
        close(d.variance, peer.var(), 1e-11)
    if isinstance(d, Univariate):
        close(d.cdf(case.points), peer.cdf(case.points), 1e-11)
        close(d.quantile(0.3), peer.ppf(0.3), 1e-10)
