"""Results of the model language in a comparison: data left out, WAIC, priors, and blanks."""

import numpy as np
import pytest
from scipy import special, stats

from posteriori import (
    Bernoulli,
    Beta,
    Categorical,
    Chain,
    Dirichlet,
    Gamma,
    Input,
    Model,
    MvNormal,
    Normal,
    Poisson,
    bayes,
    rank_models,
    take,
)
from posteriori.modeling.posterior.pointwise import replicate
from posteriori.regression import BayesianLinearRegressor
from posteriori.selection import check_posterior

TOSSES = np.array([1, 0, 1, 1, 0, 0, 1])


def level(y, variance=1.0):
    m = Model()
    m.mu = Normal(0, variance=variance)
    m.y = Normal(m.mu, variance=0.25).iid("n")
    return m.infer(y=y)


def coin(a):
    m = Model()
    m.p = Beta(a, a)
    m.y = Bernoulli(m.p).iid("n")
    return m.infer(y=TOSSES)


def regression(X, y):
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(X.shape[1]), cov=np.eye(X.shape[1]) / 2.0)
    m.y = Normal(m.X @ m.w, precision=25.0)
    return m.infer(X=X, y=y)


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, 0.5, 0.0] + 0.2 * rng.normal(size=n)


def test_a_normal_mean_without_each_datum():
    y = np.array([1.1, 0.7, 1.9, 2.4])
    row = rank_models(a=level(y))["a"]
    expected = 0.0
    for n in range(4):
        others = np.delete(y, n)
        precision = 1.0 + 4.0 * len(others)
        variance = 0.25 + 1.0 / precision
        expected += stats.norm.logpdf(y[n], 4.0 * others.sum() / precision, np.sqrt(variance))
    assert row.elpd == pytest.approx(expected, rel=1e-12)
    assert row.method == "leave-one-out"
    assert row.effective_parameters == pytest.approx(16.0 / 17.0)  # N β / (α + N β)


def test_a_coin_without_each_toss():
    row = rank_models(any=coin(1.0))["any"]
    heads = TOSSES.sum()
    left = np.where(TOSSES == 1, heads, len(TOSSES) - heads) - 1
    expected = np.log((1 + left) / (2 + len(TOSSES) - 1)).sum()
    assert row.elpd == pytest.approx(expected, rel=1e-12)
    assert row.measure == "probability"


def test_a_regression_is_that_of_the_estimator():
    X, y = rows()
    model = BayesianLinearRegressor(2.0, noise_precision=25.0, fit_intercept=False)
    estimator = rank_models({"m": model}, X, y, draws=20_000)["m"]
    found = rank_models(m=regression(X, y), draws=20_000)["m"]
    for column in ("log_evidence", "elpd", "elpd_se", "accuracy", "complexity"):
        assert getattr(found, column) == pytest.approx(getattr(estimator, column), rel=1e-9)
    assert found.prior_sensitivity == pytest.approx(estimator.prior_sensitivity, rel=1e-9)
    assert found.effective_parameters == pytest.approx(estimator.effective_parameters, rel=1e-9)
    assert found.waic == pytest.approx(estimator.waic, abs=0.1)


def test_posteriors_and_estimators_of_the_same_targets_compare():
    X, y = rows()
    model = BayesianLinearRegressor(2.0, noise_precision=25.0, fit_intercept=False)
    table = rank_models({"estimator": model}, X, y, posterior=regression(X, y))
    assert table.probabilities == pytest.approx({"estimator": 0.5, "posterior": 0.5})
    assert table["estimator"].elpd_difference == pytest.approx(0.0, abs=1e-9)


def test_waic_of_a_coin_by_quadrature():
    row = rank_models(any=coin(1.0), draws=40_000)["any"]
    heads = TOSSES.sum()
    a, b = 1 + heads, 1 + len(TOSSES) - heads
    mean = np.where(TOSSES == 1, a, b) / (a + b)
    spread = np.where(TOSSES == 1, special.polygamma(1, a), special.polygamma(1, b))
    spread = spread - special.polygamma(1, a + b)  # Var ln θ and Var ln(1 − θ)
    assert row.effective_parameters == pytest.approx(spread.sum(), rel=0.05)
    assert row.waic == pytest.approx((np.log(mean) - spread).sum(), abs=0.05)


def test_sensitivity_is_the_largest_move_of_the_evidence():
    y = np.array([1.1, 0.7, 1.9, 2.4])
    row = rank_models(a=level(y))["a"]
    moved = [float(level(y, s**2).log_evidence) - row.log_evidence for s in (0.25, 0.5, 2.0, 4.0)]
    assert row.prior_sensitivity == pytest.approx(np.abs(moved).max(), rel=1e-12)
    assert np.isnan(rank_models(a=level(y), sensitivity=False)["a"].prior_sensitivity)


def mixture(x, classes):
    m = Model()
    m.p = Dirichlet(np.ones(classes))
    m.mu = Normal(0, variance=25).iid(classes)
    m.z = Categorical(m.p).iid("n")
    m.x = Normal(m.mu[m.z], variance=1)
    return m.infer(x=x, method="vmp")  # of 13 rows all states would be summed over


def test_a_mixture_is_left_out_as_its_refits_say():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-3, 1, 7), rng.normal(3, 1, 7)])
    row = rank_models(two=mixture(x, 2), draws=4000)["two"]
    expected = 0.0
    for n in range(len(x)):
        post = mixture(np.delete(x, n), 2)
        draws = post.sample(4000, rng=n)
        density = (draws["p"] * stats.norm.pdf(x[n], draws["mu"])).sum(axis=1)
        expected += np.log(density.mean())
    assert row.method == "psis"
    assert row.elpd == pytest.approx(expected, abs=0.3)


def test_states_of_a_chain_are_left_out_by_folds():
    y = np.array([-1.2, -0.7, -1.1, 1.3, 0.8, 1.6, 0.9, -1.4])

    def switching(stay):
        step = [[stay, 1 - stay], [1 - stay, stay]]
        m = Model()
        m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(step, z)), length="t")
        m.y = Normal(take([-1.0, 1.0], m.z), variance=0.5)
        return m.infer(y=y)

    table = rank_models(free=switching(0.5), folds=4)
    expected = np.log(0.5 * stats.norm.pdf(y[:, None], [-1.0, 1.0], 0.5**0.5).sum(axis=1)).sum()
    assert table["free"].method == "4-fold"
    assert table["free"].elpd == pytest.approx(expected)  # independent: others tell nothing
    assert table["free"].blanks.startswith("prior sensitivity: no prior has a width; WAIC: ")
    assert f"free: {table['free'].blanks}" in table.notes


def test_counts_and_numbers_have_differences_of_their_own():
    y = [1.0, 0.0, 2.0, 5.0]
    m = Model()
    m.rate = Gamma(1, rate=1)
    m.y = Poisson(m.rate).iid("n")
    table = rank_models(counts=m.infer(y=y), numbers=level(y))
    assert table["counts"].elpd_difference == table["numbers"].elpd_difference == 0.0
    assert table["counts"].probability == table["numbers"].probability == 1.0


def test_what_cannot_be_had_is_blank_with_the_reason():
    m = Model()
    m.a = Normal(0, variance=1)
    m.y = Chain(Normal(0, variance=1), lambda y: Normal(m.a * y, variance=1), length="t")
    table = rank_models(series=m.infer(y=[0.1, 0.4, 0.2]))
    assert np.isnan(table["series"].elpd)
    assert "y is an observed chain" in table["series"].blanks
    assert table["series"].prior_sensitivity > 0
    updated = rank_models(later=level([1.0]).update(y=[2.0]))["later"]
    assert "earlier data are no longer there" in updated.blanks


def test_results_of_bayes_are_compared_by_evidence():
    coins = {k: bayes(Beta(k, k), Bernoulli, TOSSES) for k in (1, 5)}
    table = rank_models(any=coins[1], fair=coins[5])
    assert table.best == "fair"
    assert table["any"].accuracy - table["any"].complexity == pytest.approx(
        table["any"].log_evidence
    )
    assert "does not hold its data" in table["any"].blanks


def test_many_data_are_left_out_in_closed_form_and_a_few_weighed():
    y = np.random.default_rng(0).normal(1.0, 0.5, size=30_000)
    row = rank_models(a=level(y), sensitivity=False)["a"]
    precision = 1.0 + 4.0 * (len(y) - 1)
    mean = 4.0 * (y.sum() - y) / precision
    expected = stats.norm.logpdf(y, mean, np.sqrt(0.25 + 1.0 / precision)).sum()
    assert row.elpd == pytest.approx(expected, rel=1e-10)
    assert row.waic == pytest.approx(expected, abs=0.5)


def test_many_data_without_closed_form_are_told_by_some():
    y = np.random.default_rng(0).normal(1.0, 0.5, size=10_000)
    m = Model()
    m.tau = Gamma(2, rate=1)
    m.mu = Normal(0, variance=1)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    row = rank_models(a=m.infer(y=y), sensitivity=False)["a"]
    assert row.method == "psis of 2000 rows"
    best = stats.norm.logpdf(y, y.mean(), y.std()).sum()
    assert row.elpd == pytest.approx(best - 2.0, abs=0.5)  # two parameters


def test_replicates_of_a_posterior_have_its_predictive_moments():
    X, y = rows()
    y[3] = np.nan
    draws = replicate(regression(X, y), "y", 20_000, 0)
    predicted = regression(X, y).predict("y")
    assert draws.shape == (20_000, len(y))
    error = predicted.std / np.sqrt(20_000)
    assert np.all(np.abs(draws.mean(axis=0) - predicted.mean) < 5 * error)
    np.testing.assert_allclose(draws.std(axis=0), predicted.std, rtol=0.04)


def test_a_check_finds_what_a_posterior_cannot_produce():
    y = np.append(np.random.default_rng(0).normal(1.0, 0.5, size=50), [np.nan, 9.0])
    post = level(y)
    assert check_posterior(post, "y", np.max, rng=0).p_value < 0.01
    assert 0.05 < check_posterior(post, "y", np.mean, rng=0).p_value < 0.95
    with pytest.raises(ValueError, match="'mu' must be an observed variable"):
        check_posterior(post, "mu")


def test_replicates_of_vectors_and_of_a_mixture():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-3, 1, 15), rng.normal(3, 1, 15)])
    draws = replicate(mixture(x, 2), "x", 4000, 1)
    assert np.all(np.sign(draws).mean(axis=0)[:15] < -0.9)  # every datum keeps its class
    m = Model()
    m.mu = MvNormal([0.0, 0.0], cov=np.eye(2))
    m.y = MvNormal(m.mu, cov=[[1.0, 0.9], [0.9, 1.0]]).iid("n")
    draws = replicate(m.infer(y=np.zeros((100, 2))), "y", 4000, 0)
    assert draws.shape == (4000, 100, 2)
    assert np.corrcoef(draws[:, 0].T)[0, 1] == pytest.approx(0.9, abs=0.02)
