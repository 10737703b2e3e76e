"""Evidence and posteriors of generalised regressions against quadrature, limits and simulation."""

from itertools import product

import numpy as np
import pytest
from scipy import special, stats

from posteriori.regression import (
    NegativeBinomialRegressor,
    OrdinalRegression,
    PoissonRegressor,
    RobustRegressor,
)
from posteriori.regression.generalized.ordered_normals import log_probability_of_order


def counts(n=200, d=2, seed=0, r=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    mean = np.exp(1.0 + X @ np.linspace(0.5, -0.3, d))
    return X, rng.poisson(mean if r is None else mean * rng.gamma(r, 1 / r, size=n)) * 1.0


def log_integral(log_density, *ranges):
    """ln ∫ exp(f) over a box that holds all of it, by the trapezoid rule."""
    axes = [np.linspace(*r, 41) for r in ranges]
    values = [log_density(*p) for p in product(*axes)]
    return special.logsumexp(values) + sum(np.log(axis[1] - axis[0]) for axis in axes)


def test_thresholds_far_apart_are_in_order():
    """Tenths of standard deviations matter, thousands of them do not: nor their number of digits."""
    near = log_probability_of_order(np.array([0.0, 0.5, 1.0]), 1.0)
    far = log_probability_of_order(np.array([0.0, 0.5, 1.0, 1e30]), 1.0)
    assert far == pytest.approx(near, abs=1e-12)
    for std in (1e-8, 1e-20, 1e-50):
        assert log_probability_of_order(np.array([-0.5, 1.2, 1.9]), std) == pytest.approx(
            0, abs=1e-12
        )


def test_laplace_evidence_of_one_poisson_rate_against_quadrature():
    # no inputs but a constant: a log rate with prior N(ln ȳ, 1)
    y = np.random.default_rng(0).poisson(4.0, size=400).astype(float)
    model = PoissonRegressor().fit(np.zeros((400, 1)), y)
    centre = np.log(y.mean())

    def log_joint(b):
        return stats.poisson(np.exp(b)).logpmf(y).sum() + stats.norm.logpdf(b, centre)

    exact = log_integral(log_joint, (centre - 0.4, centre + 0.4))
    # the constant column has its prior as posterior, and no part in the evidence
    assert float(model.log_evidence_) == pytest.approx(exact, abs=1e-3)
    assert abs(float(model.log_evidence_) - exact) > 1e-8  # Laplace is an approximation


@pytest.mark.parametrize(("n", "tolerance"), [(30, 2e-2), (3000, 2e-4)])
def test_laplace_evidence_improves_with_the_data(n, tolerance):
    X, y = counts(n, d=1)
    x = X / np.sqrt((X**2).mean())
    model = PoissonRegressor(fit_intercept=False).fit(x, y)
    centre, width = model.coef_[0], 9.0 * np.sqrt(model.posterior_.cov[0, 0])

    def log_joint(w):
        return stats.poisson(np.exp(x[:, 0] * w)).logpmf(y).sum() + stats.norm.logpdf(w)

    exact = log_integral(log_joint, (centre - width, centre + width))
    assert float(model.log_evidence_) == pytest.approx(exact, abs=tolerance)


def test_laplace_evidence_of_normal_noise_against_quadrature():
    # two unknowns, level and log scale: RobustRegressor without a bend for outliers
    y = np.random.default_rng(1).normal(3.0, 2.0, size=300)
    model = RobustRegressor(dof=np.inf).fit(np.zeros((300, 1)), y)
    level = np.sort(y)[149]
    s = np.sort(np.abs(y - level))[149]

    def log_joint(b, t):
        prior = stats.norm.logpdf(b, level, s) + stats.norm.logpdf(t, np.log(s))
        return stats.norm.logpdf(y, b, np.exp(t)).sum() + prior

    b, t = y.mean(), np.log(y.std())
    exact = log_integral(log_joint, (b - 1.2, b + 1.2), (t - 0.4, t + 0.4))
    assert float(model.log_evidence_) == pytest.approx(exact, abs=1e-2)


def test_laplace_evidence_of_heavy_tails_against_quadrature():
    y = 3.0 + 2.0 * np.random.default_rng(1).standard_t(3, size=300)
    model = RobustRegressor(dof=3.0).fit(np.zeros((300, 1)), y)
    level = np.sort(y)[149]
    s = np.sort(np.abs(y - level))[149]

    def log_joint(b, t):
        prior = stats.norm.logpdf(b, level, s) + stats.norm.logpdf(t, np.log(s))
        return stats.t.logpdf(y, 3.0, b, np.exp(t)).sum() + prior

    b, t = model.intercept_, np.log(model.scale_)
    exact = log_integral(log_joint, (b - 1.2, b + 1.2), (t - 0.5, t + 0.5))
    assert float(model.log_evidence_) == pytest.approx(exact, abs=1e-2)


def test_laplace_evidence_of_dispersed_counts_against_quadrature():
    _, y = counts(300, r=2.0)
    model = NegativeBinomialRegressor().fit(np.zeros((300, 1)), y)
    centre = np.log(y.mean())

    def log_joint(b, t):
        r, mean = np.exp(t), np.exp(b)
        prior = stats.norm.logpdf(b, centre) + stats.norm.logpdf(t)
        return stats.nbinom.logpmf(y, r, r / (r + mean)).sum() + prior

    b, t = model.intercept_, np.log(model.count_)
    exact = log_integral(log_joint, (b - 0.5, b + 0.5), (t - 1.0, t + 1.0))
    assert float(model.log_evidence_) == pytest.approx(exact, abs=1e-2)


def log_order(centre):
    """ln P(c₁ < c₂ < …) of c ~ N(centre, I): their differences are normal, and all positive."""
    steps = np.diff(np.eye(len(centre)), axis=0)
    return stats.multivariate_normal(-steps @ centre, steps @ steps.T).logcdf(np.zeros(len(steps)))


@pytest.mark.parametrize("shares", [[0.3, 0.5, 0.2], [0.2, 0.3, 0.1, 0.4]], ids=["three", "four"])
def test_laplace_evidence_of_ordered_categories_against_quadrature(shares):
    """The prior is that of ordered thresholds: its density is normalised on these."""
    y = np.random.default_rng(2).choice(len(shares), size=400, p=shares)
    model = OrdinalRegression().fit(np.zeros((400, 1)), y)
    n = np.bincount(y)
    centre = special.logit(np.cumsum(n)[:-1] / 400)
    axes = [np.linspace(c - 0.9, c + 0.9, 61) for c in model.thresholds_]
    c = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    p = np.diff(special.expit(c), axis=-1, prepend=0.0, append=1.0)
    log_prior = stats.norm.logpdf(c, centre).sum(axis=-1) - log_order(centre)
    ordered = (p > 0).all(axis=-1)
    log_joint = np.log(p[ordered]) @ n + log_prior[ordered]
    exact = special.logsumexp(log_joint) + sum(np.log(axis[1] - axis[0]) for axis in axes)
    assert float(model.log_evidence_) == pytest.approx(exact, abs=1e-2)


@pytest.mark.parametrize("alpha", [0.01, 1.0, 25.0])
def test_evidence_of_ordered_categories_against_draws_of_the_prior(alpha):
    rng = np.random.default_rng(3)
    x, y = np.zeros((12, 1)), np.repeat([0, 1, 2], 4)
    model = OrdinalRegression(alpha).fit(x, y)
    c = special.logit([1 / 3, 2 / 3]) + rng.normal(size=(400_000, 2)) / np.sqrt(alpha)
    c = c[c[:, 0] < c[:, 1]]  # those that are not in order cannot be
    likelihood = np.prod(np.diff(special.expit(c), axis=1, prepend=0.0, append=1.0) ** 4, axis=1)
    # Laplace's method errs by some hundredths; a prior with thresholds out of order lacks 0.62 and 0.18
    assert float(model.log_evidence_) == pytest.approx(np.log(likelihood.mean()), abs=0.06)


def test_normal_variables_of_one_mean_are_in_each_order_alike():
    for m in (1, 2, 3, 9, 30, 100):
        expected = -special.gammaln(m + 1.0)
        assert log_probability_of_order(np.full(m, 3.7), 0.3) == pytest.approx(expected, abs=1e-10)


def test_the_order_of_two_normal_variables_is_that_of_their_difference():
    for gap, std in ((0.0, 1.0), (0.3, 2.0), (4.0, 0.5), (7.0, 0.01)):
        expected = stats.norm.logcdf(gap / (std * np.sqrt(2.0)))
        found = log_probability_of_order(np.array([-1.0, gap - 1.0]), std)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("classes", [4, 5, 7, 10])
def test_the_probability_of_order_against_draws(classes):
    rng, size = np.random.default_rng(classes), 400_000
    centre = special.logit(np.cumsum(rng.dirichlet(np.full(classes, 9.0)))[:-1])
    draws = centre + rng.normal(size=(size, classes - 1))
    share = np.mean((np.diff(draws, axis=1) > 0).all(axis=1))
    found = np.exp(log_probability_of_order(centre, 1.0))
    assert abs(found - share) < 5 * np.sqrt(found / size)


def test_normal_noise_of_known_size_has_the_exact_evidence_of_linear_regression():
    # with the log scale pinned by its prior, weights and targets are jointly normal
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 2))
    x = (X - X.mean(axis=0)) / X.std(axis=0)
    y = X @ [1.0, -2.0] + rng.normal(size=25)
    model = RobustRegressor(1e9, dof=np.inf)  # pins the weights as well: at 0, around the median
    model.fit(X, y)
    level = np.sort(y)[12]
    s = np.sort(np.abs(y - level))[12]
    design = np.column_stack([np.ones(25), x])
    cov = s**2 * (np.eye(25) + design @ design.T / 1e9)
    exact = stats.multivariate_normal(np.full(25, level), cov).logpdf(y)
    assert float(model.log_evidence_) == pytest.approx(exact, abs=1e-5)


def test_negative_binomial_becomes_poisson_as_its_count_grows():
    X, y = counts(300)
    rows = slice(0, 300)
    eta = 0.3 + X @ [0.4, 0.1]
    poisson = PoissonRegressor()._likelihood(y)(eta, 0.0, rows)
    for log_count, tolerance in ((np.log(1e6), 1e-3), (np.log(1e10), 1e-7)):
        near = NegativeBinomialRegressor()._likelihood(y)(eta, log_count, rows)
        for one, other in zip(near[:3], poisson[:3], strict=True):
            np.testing.assert_allclose(one, other, atol=tolerance)


def test_student_noise_becomes_normal_as_its_degrees_of_freedom_grow():
    X, _ = counts(60)
    y = X @ [2.0, 1.0] + np.random.default_rng(0).normal(size=60)
    near, limit = RobustRegressor(dof=1e8).fit(X, y), RobustRegressor(dof=np.inf).fit(X, y)
    np.testing.assert_allclose(near.coef_, limit.coef_, rtol=1e-6)
    assert near.scale_ == pytest.approx(limit.scale_, rel=1e-6)
    assert float(near.log_evidence_) == pytest.approx(float(limit.log_evidence_), abs=1e-5)


def test_two_categories_are_logistic_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = (rng.random(80) < special.expit(X @ [1.0, -1.0] + 0.3)).astype(int)
    model = OrdinalRegression().fit(X, y)
    w, c = model.coef_, model.thresholds_[0]
    # at the mode, the gradient of the penalised logistic likelihood is 0
    residual = y - special.expit(X @ w - c)
    np.testing.assert_allclose(residual @ X, w, atol=1e-7)
    assert -residual.sum() == pytest.approx(c - special.logit(1 - y.mean()), abs=1e-7)


@pytest.mark.parametrize("r", [None, 1.5])
def test_evidence_prefers_the_model_that_made_the_counts(r):
    X, y = counts(400, seed=4, r=r)
    plain, varied = PoissonRegressor().fit(X, y), NegativeBinomialRegressor().fit(X, y)
    assert (plain.log_evidence_ > varied.log_evidence_) == (r is None)


def test_evidence_prefers_the_noise_that_made_the_targets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    for noise, best in ((rng.standard_t(2, size=400), 2.0), (rng.normal(size=400), np.inf)):
        y = X @ [1.0, 2.0] + noise
        found = {dof: RobustRegressor(dof=dof).fit(X, y).log_evidence_ for dof in (2.0, np.inf)}
        assert max(found, key=lambda dof: float(found[dof])) == best


def test_evidence_leaves_out_columns_that_say_nothing():
    X, y = counts(500)
    more = np.column_stack([X, np.random.default_rng(9).normal(size=(500, 5))])
    both = PoissonRegressor().fit(X, y), PoissonRegressor().fit(more, y)
    assert both[0].log_evidence_ > both[1].log_evidence_
    only = PoissonRegressor().fit(X[:, :1], y)
    assert both[0].log_evidence_ > only.log_evidence_


def test_outliers_do_not_carry_the_weights_away():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X @ [2.0, -1.0] + 0.1 * rng.normal(size=200)
    clean = RobustRegressor().fit(X, y)
    y[:20] += 1e6
    spoilt = RobustRegressor().fit(X, y)
    np.testing.assert_allclose(spoilt.coef_, clean.coef_, atol=0.05)
    assert spoilt.intercept_ == pytest.approx(clean.intercept_, abs=0.05)


def test_effective_parameters_count_what_the_data_determine():
    X, y = counts(2000)
    assert PoissonRegressor(1e-6).fit(X, y).effective_parameters_ == pytest.approx(3.0, abs=1e-3)
    assert PoissonRegressor(1e9).fit(X, y).effective_parameters_ == pytest.approx(0.0, abs=1e-2)
