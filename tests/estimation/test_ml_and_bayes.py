"""Maximum likelihood beside Bayes: reports, decisions and flat priors."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, special

from posteriori.distributions import (
    Bernoulli,
    Beta,
    Geometric,
    Normal,
    NormalGamma,
    bayes,
    grid_posterior,
)
from posteriori.estimation import compare_ml_bayes, evidence_under_flat_priors
from tests.estimation.estimation_data import X


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
