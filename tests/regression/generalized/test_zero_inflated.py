"""Zero-inflated counts: the mode and the evidence against dense algebra, quadrature and limits."""

from itertools import product

import numpy as np
import pytest
from scipy import optimize, special, stats
from sklearn.base import clone

from posteriori.analysis.saved.object_tree import from_tree, to_tree
from posteriori.inference.predictors.pairs.two_predictors import TwoPredictors
from posteriori.regression import (
    HurdleRegressor,
    NegativeBinomialRegressor,
    ZeroInflatedRegressor,
)

RNG = np.random.default_rng(3)


def problem(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    some = rng.random(n) < special.expit(0.5 + X[:, 0])
    rate = np.exp(1.0 + 0.5 * X[:, 1]) * rng.gamma(3.0, 1.0 / 3.0, size=n)
    return X, some * rng.poisson(rate) * 1.0


def log_mass(y, eta, zeta, log_r):
    """The definition: (1 − π) [y = 0] + π NegBin(y | μ, r)."""
    r, chance = np.exp(log_r), special.expit(zeta)
    counted = chance * stats.nbinom.pmf(y, r, r / (r + np.exp(eta)))
    return np.log((1.0 - chance) * (y == 0) + counted)


def standard(X):
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.column_stack([np.ones(len(z)), z])


def stated_prior(y, size):
    """Means of (c, v, b, w, ln r); all precisions are α."""
    mean = np.zeros(2 * size + 1)
    mean[0] = np.log(y[y > 0].mean())
    mean[size] = special.logit(((y > 0).sum() + 0.5) / (len(y) + 1.0))
    return mean


def log_joint(v, design, y, centre):
    d = design.shape[1]
    rows = log_mass(y, design @ v[:d], design @ v[d : 2 * d], v[-1])
    return rows.sum() + stats.norm.logpdf(v, centre).sum()


def differences(function, w, step=1e-5):
    return np.array(
        [(function(w + e) - function(w - e)) / (2 * step) for e in step * np.eye(len(w))]
    )


def test_log_masses_and_derivatives_of_rows():
    X, y = problem(30)
    f, size = RNG.integers(1, 4, size=30) * 1.0, 7
    design = standard(X)
    density = TwoPredictors(
        design,
        ZeroInflatedRegressor()._row_curves(y),
        np.linspace(0.5, 2.0, size),
        np.full(size, 0.1),
        f,
    )
    for v in 0.7 * RNG.normal(size=(6, size)):
        value, gradient = density.value_and_gradient(v)
        rows = log_mass(y, design @ v[:3], design @ v[3:6], v[-1])
        expected = f @ rows - 0.5 * (v - 0.1) ** 2 @ density.precision
        assert value == pytest.approx(expected, rel=1e-10)
        numeric = differences(lambda w: density.value_and_gradient(w)[0], v)
        np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6)
        numeric = -differences(lambda w: density.value_and_gradient(w)[1], v)
        np.testing.assert_allclose(density.curvature(v), numeric, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("zeta", [-800.0, -30.0, 30.0, 800.0])
def test_rows_keep_their_digits_where_a_part_is_certain(zeta):
    y, eta = np.array([0.0, 3.0]), np.array([0.3, 0.3])
    made = ZeroInflatedRegressor()._row_curves(y)(eta, np.full(2, zeta), 0.2, slice(None))
    plain = NegativeBinomialRegressor()._likelihood(y)(eta, 0.2, slice(None)).value
    # without counts a zero is certain, and any other count costs ζ
    expected = plain if zeta > 0 else np.array([0.0, zeta + plain[1]])
    np.testing.assert_allclose(made.value, expected, rtol=1e-10, atol=1e-12)
    assert np.all(np.isfinite(made.slope))
    assert np.all(np.isfinite(made.curvature))


def test_mode_covariance_and_evidence_are_those_of_dense_algebra():
    X, y = problem()
    model, design = ZeroInflatedRegressor().fit(X, y), standard(X)
    centre = stated_prior(y, 3)

    def loss(v):
        return -log_joint(v, design, y, centre)

    best = optimize.minimize(loss, centre, tol=1e-12)
    scale = X.std(axis=0)
    np.testing.assert_allclose(model.coef_ * scale, best.x[1:3], atol=1e-4)
    np.testing.assert_allclose(model.occurrence_coef_ * scale, best.x[4:6], atol=1e-4)
    assert model.count_ == pytest.approx(np.exp(best.x[-1]), rel=1e-3)
    step = 1e-4
    bend = differences(lambda v: differences(loss, v, step), best.x, step)
    half = 0.5 * len(centre) * np.log(2.0 * np.pi)
    expected = -best.fun + half - 0.5 * np.linalg.slogdet(bend)[1]
    assert float(model.log_evidence_) == pytest.approx(expected, abs=1e-3)
    assert model.log_evidence_.kind == "laplace"
    cov = np.linalg.inv(bend)
    slopes = np.diag(model.posterior_.cov)[[0, 1, 3, 4]] * np.tile(scale**2, 2)
    np.testing.assert_allclose(slopes, np.diag(cov)[[1, 2, 4, 5]], rtol=1e-3)


def test_evidence_against_quadrature():
    # no inputs but a constant: log mean, log odds and log dispersion
    rng = np.random.default_rng(1)
    y = (rng.random(600) < 0.6) * rng.negative_binomial(3.0, 3.0 / 8.0, 600) * 1.0
    model = ZeroInflatedRegressor().fit(np.zeros((600, 1)), y)
    counts, times = np.unique(y, return_counts=True)
    centre = stated_prior(y, 1)
    found = np.array([model.intercept_, model.occurrence_intercept_, np.log(model.count_)])
    axes = [np.linspace(m - w, m + w, 17) for m, w in zip(found, (0.5, 0.8, 1.3), strict=True)]
    values = [
        times @ log_mass(counts, a, b, t) + stats.norm.logpdf([a, b, t], centre).sum()
        for a, b, t in product(*axes)
    ]
    exact = special.logsumexp(values) + sum(np.log(axis[1] - axis[0]) for axis in axes)
    assert float(model.log_evidence_) == pytest.approx(exact, abs=0.05)


def test_where_counts_are_certain_it_is_the_negative_binomial_regression():
    X, y = problem()
    plain, model = NegativeBinomialRegressor().fit(X, y), ZeroInflatedRegressor().fit(X, y)
    known = plain._weights
    cov = np.zeros((7, 7))
    kept = np.ix_([0, 1, 2, 6], [0, 1, 2, 6])
    cov[kept] = known.cov
    mean = np.concatenate([known.mean[:3], [60.0, 0.0, 0.0], known.mean[3:]])  # log odds of 60
    model._weights = model._weights._replace(mean=mean, cov=cov)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-6)
    counts = np.arange(40.0)[:, None]
    made, expected = model.predict_dist(X[:9]), plain.predict_dist(X[:9])
    np.testing.assert_allclose(made.log_prob(counts), expected.log_prob(counts), rtol=1e-9)


def test_plain_counts_prefer_the_simpler_model():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3000, 1))
    r, mean = 8.0, np.exp(2.5 + 0.3 * X[:, 0])
    y = rng.negative_binomial(r, r / (r + mean)) * 1.0
    plain, model = NegativeBinomialRegressor().fit(X, y), ZeroInflatedRegressor().fit(X, y)
    assert model.predict_dist(X[:9]).probability.min() > 0.98
    assert model.log_evidence_ < plain.log_evidence_


def test_predictions_are_those_of_draws():
    X, y = problem(60)
    model, rows = (
        ZeroInflatedRegressor().fit(X, y),
        np.array([[0.0, 0.0], [1.0, -1.0], [-3.0, 3.0]]),
    )
    made, counts = model.predict_dist(rows), np.arange(400.0)[:, None]
    np.testing.assert_allclose(np.exp(made.log_prob(counts)).sum(axis=0), 1.0, rtol=1e-5)
    # σ of log odds that are normal given the rest is MacKay's approximation, right to 0.01
    np.testing.assert_allclose(model.predict(rows), made.mean, rtol=1e-2)
    draws = model.sample_targets(rows, 40_000, rng=0)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - made.mean) < 5.0 * error + 0.01 * made.mean)
    for count in (0.0, 2.0, 5.0):
        below = made.cdf(count)
        error = np.sqrt(below * (1.0 - below) / len(draws))
        assert np.all(np.abs((draws <= count).mean(axis=0) - below) < 5.0 * error + 0.005)
    held = model.log_likelihood_draws(X, y, 4000, rng=1)
    mixed = np.log(np.exp(held).mean(axis=0))
    np.testing.assert_allclose(mixed, model.predict_dist(X).log_prob(y), atol=0.05)


def test_both_parts_move_together():
    """Few counts per row leave open which zeros are which, but not how many counts there are."""
    rng = np.random.default_rng(2)
    y = rng.poisson(0.6, size=150) * 1.0
    model = ZeroInflatedRegressor().fit(np.zeros((150, 1)), y)
    cov = model.posterior_.cov[np.ix_([1, 3], [1, 3])]
    assert cov[0, 1] < -0.3 * np.sqrt(cov[0, 0] * cov[1, 1])
    assert model.predict([[0.0]])[0] == pytest.approx(y.mean(), rel=0.1)


def test_evidence_tells_what_made_the_zeros():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 1))
    mean = np.exp(0.6 + X[:, 0])
    plain = rng.negative_binomial(2.0, 2.0 / (2.0 + mean)) * 1.0
    hidden = (rng.random(1500) < 0.6) * rng.poisson(mean) * 1.0
    behind = np.where(rng.random(1500) < 0.3, 0.0, 1.0 + rng.poisson(4.0, 1500))
    made_by = {
        NegativeBinomialRegressor: plain,
        ZeroInflatedRegressor: hidden,
        HurdleRegressor: behind,
    }
    for truth, y in made_by.items():
        models = [kind().fit(X, y) for kind in made_by]
        assert type(max(models, key=lambda m: float(m.log_evidence_))) is truth


def test_no_row_is_expected_beyond_twice_the_largest_count():
    X, y = problem()
    model = ZeroInflatedRegressor().fit(X, y)
    rows = np.array([[0.0, 1e9], [1e9, 1e9], [1e100, -1e100], [50.0, 30.0], [-1e9, 1e9]])
    assert np.all(model.predict(rows) < 2.0 * y.max())
    assert np.all(model.predict_dist(rows).mean < 2.0 * y.max())
    assert np.all(np.isfinite(model.predict_dist(rows).quantile(0.9)))


def test_it_comes_back_from_files():
    X, y = problem()
    model = ZeroInflatedRegressor().fit(X, y)
    tree, blocks = to_tree(model)
    again = from_tree(tree, b"".join(blocks))
    assert np.array_equal(again.predict_dist(X).quantile(0.9), model.predict_dist(X).quantile(0.9))


def towns(n=600, seed=0):
    """A column of numbers, a column of groups that move both parts, and their effects."""
    rng = np.random.default_rng(seed)
    town, effect = rng.integers(0, 12, n), rng.normal(size=(12, 2))
    some = rng.random(n) < special.expit(0.5 + effect[town, 0])
    y = some * rng.poisson(np.exp(1.0 + 0.5 * effect[town, 1])) * 1.0
    return np.column_stack([rng.normal(size=n), town]), y, effect


def test_groups_have_effects_on_both_parts_and_new_levels_are_predicted():
    X, y, effect = towns()
    model = ZeroInflatedRegressor(groups=[1]).fit(X, y)
    assert model.log_evidence_.kind == "type-II"
    assert model.log_evidence_ > ZeroInflatedRegressor().fit(X[:, :1], y).log_evidence_
    (odds,), (size,) = model.occurrence_effects_.values(), model.group_effects_.values()
    assert np.corrcoef(odds.mean, effect[:, 0])[0, 1] > 0.85
    assert np.corrcoef(size.mean, effect[:, 1])[0, 1] > 0.95
    for found, truth in ((odds, 1.0), (size, 0.5)):
        assert found.spread_interval[0] < truth < found.spread_interval[1]
        assert np.array_equal(found.levels, np.arange(12))
    rows = np.array([[0.0, 3.0], [0.0, 99.0]])  # a town that was seen, and one that was not
    made, draws = model.predict_dist(rows), model.sample_targets(rows, 20_000, rng=0)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - made.mean) < 5.0 * error + 0.01 * made.mean)
    np.testing.assert_allclose(model.predict(rows), made.mean, rtol=1e-2)
    held = model.log_likelihood_draws(X[:50], y[:50], 4000, rng=1)
    mixed = np.log(np.exp(held).mean(axis=0))
    np.testing.assert_allclose(mixed, model.predict_dist(X[:50]).log_prob(y[:50]), atol=0.05)


def test_groups_come_back_from_files():
    X, y, _ = towns(200)
    model = ZeroInflatedRegressor(groups=[1]).fit(X, y)
    tree, blocks = to_tree(model)
    again = from_tree(tree, b"".join(blocks))
    rows = np.array([[0.0, 3.0], [0.0, 99.0]])
    assert np.array_equal(again.predict(rows), model.predict(rows))
    assert np.array_equal(again.occurrence_effects_["1"].mean, model.occurrence_effects_["1"].mean)


def test_frequencies_equal_repeated_rows_with_groups():
    X, y, _ = towns(90)
    times = np.random.default_rng(1).integers(0, 4, size=90)
    times[:12] = 1
    weighted = ZeroInflatedRegressor(groups=[1]).fit(X, y, sample_weight=times)
    repeated = ZeroInflatedRegressor(groups=[1]).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    assert float(weighted.log_evidence_) == pytest.approx(float(repeated.log_evidence_), abs=1e-5)


def test_without_an_intercept():
    X, y = problem()
    model = ZeroInflatedRegressor(fit_intercept=False).fit(X, y)
    assert model.intercept_ == model.occurrence_intercept_ == 0.0
    assert model.posterior_.mean.shape == (4,)
    nothing = model.predict_dist(np.zeros((1, 2)))  # log mean and log odds are 0
    assert nothing.mean[0] == pytest.approx(0.5) == model.predict(np.zeros((1, 2)))[0]


def test_bad_counts_are_refused():
    X, y = problem(20)
    with pytest.raises(ValueError, match="zeros only"):
        ZeroInflatedRegressor().fit(X, np.zeros(20))
    with pytest.raises(ValueError, match="needs counts >= 0"):
        ZeroInflatedRegressor().fit(X, y - 1.0)
    model = ZeroInflatedRegressor().fit(X, y)
    assert np.isfinite(model.log_likelihood_draws(X[:3], np.zeros(3), 5, rng=0)).all()


def test_a_wider_prior():
    X, y = problem(40)
    model = ZeroInflatedRegressor(4.0).fit(X, y)
    assert model.with_prior_scaled(2.0).prior_precision == 1.0
    assert clone(model).prior_precision == 4.0
