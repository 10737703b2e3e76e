"""Sets of models, averages, Occam's factor and predictive checks, against enumeration and quadrature."""

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from posteriori import (
    Bernoulli,
    Beta,
    Binomial,
    Normal,
    Poisson,
    bayes,
)
from posteriori.distributions import Empirical, NegativeBinomial
from posteriori.regression import BayesianLinearRegressor, RobustRegressor
from posteriori.selection import (
    ModelAverage,
    ModelSet,
    PredictiveMixture,
    average,
    check_predictions,
    check_replicates,
    evidence_curve,
    held_out_density,
    occam_factor,
    stacking_weights,
    strength_of_evidence,
)
from posteriori.selection.stacking import bootstrapped_weights, weights_by_folds
from tests.scikit_learn_checks import every_check

TOSSES = [1, 0, 1, 1, 0, 0, 1]


def coins():
    return {
        name: bayes(Beta(a, a), Bernoulli, TOSSES) for name, a in {"any": 1, "fairer": 5}.items()
    }


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(n, 1))
    return x, np.sin(3 * x[:, 0]) + 0.2 * rng.normal(size=n)


@pytest.mark.topic("000/F1", "004/2.3")
def test_posterior_over_models_by_enumeration():
    models = ModelSet(coins(), prior={"any": 1.0, "fairer": 3.0})
    joint = {"any": 0.25 / 280, "fairer": 0.75 * 0.00611888}
    for name, p in models.probabilities.items():
        assert p == pytest.approx(joint[name] / sum(joint.values()), rel=1e-5)
    assert float(models.log_evidence) == pytest.approx(np.log(sum(joint.values())), rel=1e-6)


def test_probabilities_do_not_underflow():
    logs = ModelSet({k: bayes(Beta(1, 1), Bernoulli, TOSSES * 4000).log_evidence for k in "ab"})
    assert logs.probabilities == pytest.approx({"a": 0.5, "b": 0.5})


@pytest.mark.topic("000/F2")
def test_evidence_is_the_mean_likelihood_of_draws_of_the_prior():
    rate = np.random.default_rng(0).beta(1, 1, size=200_000)
    likelihood = rate**4 * (1 - rate) ** 3
    error = likelihood.std() / np.sqrt(len(rate))
    found = np.exp(float(coins()["any"].log_evidence))
    assert abs(found - likelihood.mean()) < 5 * error
    assert found == pytest.approx(1 / 280, rel=1e-12)


@pytest.mark.topic("000/F3", "004/2.5")
def test_bayes_factors_turn_prior_odds_into_posterior_odds():
    models = ModelSet(coins(), prior={"any": 0.2, "fairer": 0.8})
    assert models.bayes_factor("any", "fairer") == pytest.approx(0.583673, abs=5e-7)
    assert models.odds("any", "fairer") == pytest.approx(0.25 * 0.583673, rel=1e-5)
    p = models.probabilities
    assert models.odds("any", "fairer") == pytest.approx(p["any"] / p["fairer"])
    equal = ModelSet(coins())
    assert equal.odds("any", "fairer") == pytest.approx(equal.bayes_factor("any", "fairer"))


@pytest.mark.topic("004/2.4")
def test_sets_of_models_in_sets():
    inner = ModelSet(coins(), prior={"any": 1.0, "fairer": 3.0})
    fair = bayes(Beta(1e9, 1e9), Bernoulli, TOSSES)
    outer = ModelSet({"unknown": inner, "fair": fair}, prior={"unknown": 2.0, "fair": 1.0})
    joint = {
        "unknown/any": 2 / 3 / 4 / 280,
        "unknown/fairer": 0.5 * 0.00611888,
        "fair": 1 / 3 / 128,
    }
    total = sum(joint.values())
    for name, p in outer.model_probabilities.items():
        assert p == pytest.approx(joint[name] / total, rel=1e-5)
    assert outer.probabilities["fair"] == pytest.approx(joint["fair"] / total, rel=1e-5)


def test_sets_refuse_what_does_not_compare():
    other = bayes(Beta(1, 1), Bernoulli, TOSSES[:5])
    with pytest.raises(ValueError, match="different data"):
        ModelSet({**coins(), "other": other})
    with pytest.raises(ValueError, match="prior must name the models any, fairer"):
        ModelSet(coins(), prior={"any": 1.0})
    with pytest.raises(ValueError, match="positive sum"):
        ModelSet(coins(), prior={"any": 0.0, "fairer": 0.0})
    with pytest.raises(TypeError, match=r"line .* has no evidence; fit it first"):
        ModelSet({"line": BayesianLinearRegressor()})


@pytest.mark.parametrize(
    ("factor", "word"), [(1.5, "barely"), (19.0, "positive"), (21.0, "strong"), (149.0, "very")]
)
def test_words_for_bayes_factors(factor, word):
    assert strength_of_evidence(np.log(factor)).startswith(word)


@pytest.mark.topic("000/F4", "004/2.8")
def test_averaged_predictions_are_the_mixture_of_the_models():
    x, y = rows()
    models = {"line": BayesianLinearRegressor(), "level": BayesianLinearRegressor(np.inf)}
    found = average(models, x, 0.1 * y)
    fits = {name: m.fit(x, 0.1 * y) for name, m in models.items()}
    weights = ModelSet(fits).probabilities
    at = np.linspace(-0.3, 0.3, len(x))
    density = sum(w * np.exp(fits[k].predict_dist(x).log_prob(at)) for k, w in weights.items())
    np.testing.assert_allclose(found.predict_dist(x).log_prob(at), np.log(density), rtol=1e-12)
    mean = sum(w * fits[k].predict(x) for k, w in weights.items())
    np.testing.assert_allclose(found.predict(x), mean)
    assert found.weights_ == pytest.approx(weights)


def test_a_mixture_of_families_by_quadrature():
    mixed = PredictiveMixture(
        [0.3, 0.7],
        [
            Normal(-1, variance=0.5),
            bayes(Normal(0, variance=1), lambda m: Normal(m, variance=1), [2.0]).predictive,
        ],
    )
    mass = integrate.quad(lambda t: np.exp(mixed.log_prob(t)), -30, 30, epsabs=1e-12)[0]
    mean = integrate.quad(lambda t: t * np.exp(mixed.log_prob(t)), -30, 30, epsabs=1e-12)[0]
    square = integrate.quad(lambda t: t * t * np.exp(mixed.log_prob(t)), -30, 30, epsabs=1e-12)[0]
    assert (mass, mean) == pytest.approx((1.0, mixed.mean))
    assert mixed.variance == pytest.approx(square - mean**2)
    levels = np.array([1e-6, 0.1, 0.5, 0.9, 1.0 - 1e-6])
    np.testing.assert_allclose(mixed.cdf(mixed.quantile(levels)), levels, rtol=1e-12)
    draws = mixed.sample(100_000, rng=0)
    assert stats.kstest(draws[:5000], mixed.cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    "counts",
    [
        Poisson([[3.0], [80.0]]),
        NegativeBinomial(2.0, mean=[[40.0], [0.3]]),
        Empirical([-0.25, 0.5, 1.0, 3.7]),  # atoms between whole numbers
    ],
    ids=["Poisson", "negative binomial", "others"],
)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.97])
def test_quantiles_of_counts_and_numbers_are_the_least_that_reach_their_level(counts, share):
    numbers = Normal(np.full(counts.batch_shape, 2.2), variance=9.0)
    mixed = PredictiveMixture([1.0 - share, share], [counts, numbers])
    q = np.array([0.001, 0.05, 0.31, 0.5, 0.95, 0.9999])
    found = mixed.quantile(q)
    assert (mixed.cdf(found) >= q * (1.0 - 1e-14)).all()
    before = found - 1e-9 * np.maximum(np.abs(found), 1.0)
    assert (mixed.cdf(before) < q).all()


def test_bootstrapped_weights_are_an_integral_over_what_two_blocks_count():
    """∫₀¹ σ(2u d₁ + 2(1 − u) d₂) du in closed form, u being uniform where there are two blocks."""
    for first, second in ((3.0, -2.0), (0.5, 1.0), (-400.0, 300.0)):
        scores = np.array([[first, 0.0], [second, 0.0]])
        found = bootstrapped_weights(scores, np.random.default_rng(0), 40_000)
        ends = np.logaddexp(0.0, 2.0 * first), np.logaddexp(0.0, 2.0 * second)
        exact = (ends[0] - ends[1]) / (2.0 * (first - second))
        assert found[0] == pytest.approx(exact, abs=5.0 * 0.5 / np.sqrt(40_000))
        assert found.sum() == pytest.approx(1.0)
    one = bootstrapped_weights([[1.0, 0.0, -1.0]], np.random.default_rng(0), 3)
    np.testing.assert_allclose(one, np.exp([1.0, 0.0, -1.0]) / np.exp([1.0, 0.0, -1.0]).sum())
    with pytest.raises(ValueError, match="log_scores must be finite"):
        bootstrapped_weights([[0.0, -np.inf]], np.random.default_rng(0))


def test_stacking_weights_satisfy_the_conditions_of_a_maximum():
    logs = stats.norm.logpdf(np.random.default_rng(0).normal(size=(200, 1)), [-1.0, 0.4, 3.0])
    w = stacking_weights(logs)
    slopes = (np.exp(logs) / (np.exp(logs) @ w)[:, None]).mean(axis=0)
    assert w.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(slopes[w > 1e-6], 1.0, atol=1e-5)
    assert np.all(slopes < 1.0 + 1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_stacking_reaches_the_maximum_whatever_the_models_say(seed):
    """Densities of huge range, models that say nearly or exactly the same, one that rules rows out."""
    rng = np.random.default_rng(seed)
    logs = 10.0 * rng.standard_t(2.0, size=(400, 8))
    logs = np.hstack([logs, logs[:, :3] + 1e-6 * rng.normal(size=(400, 3)), logs[:, :1]])
    logs[rng.random(400) < 0.2, 3] = -np.inf
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    w = stacking_weights(logs)
    assert (w >= 0.0).all()
    assert w.sum() == pytest.approx(1.0)
    # by concavity no weights have a mean log score that is higher by more than this
    assert (p / (p @ w)[:, None]).mean(axis=0).max() - 1.0 < 1e-5


def test_a_model_that_nothing_is_possible_under_has_no_weight():
    logs = np.random.default_rng(0).normal(size=(50, 3))
    logs[:, 1] -= 800.0  # nothing is left of it beside the others
    found = stacking_weights(logs)
    assert found[1] == 0.0
    np.testing.assert_allclose(found[[0, 2]], stacking_weights(logs[:, [0, 2]]), atol=1e-6)


def test_of_many_rows_some_tell_the_weights():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120_000, 1)) * np.where(rng.random((120_000, 1)) < 0.3, 3.0, 1.0)
    logs = stats.norm.logpdf(x, scale=[1.0, 3.0])
    fold = rng.integers(5, size=len(x))
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(5)]
    np.testing.assert_allclose(weights_by_folds(logs, splits), stacking_weights(logs), atol=0.02)


def test_stacking_finds_no_worse_score_than_any_model():
    x, y = rows()
    models = {"line": BayesianLinearRegressor(), "robust": RobustRegressor()}
    stacked = average(models, x, y, weights="stacking")
    held = np.stack(
        [held_out_density(m.fit(x, y), x, y).pointwise for m in models.values()], axis=1
    )
    score = np.log(np.exp(held) @ list(stacked.weights_.values())).sum()
    assert score >= held.sum(axis=0).max() - 1e-8


@every_check(
    [
        ModelAverage(
            [("line", BayesianLinearRegressor()), ("level", BayesianLinearRegressor(10.0))]
        ),
        ModelAverage(
            [("line", BayesianLinearRegressor()), ("robust", RobustRegressor())],
            weights="stacking",
        ),
    ]
)
def test_averages_are_estimators(estimator, check):
    check(estimator)


@pytest.mark.topic("000/F6")
def test_peak_width_evidence_against_quadrature():
    x, width = np.array([0.3, -0.2, 0.8, 0.4]), 40.0
    best = stats.norm.logpdf(x, x.mean()).sum()
    found = occam_factor(best, np.sqrt(2 * np.pi / len(x)), width)
    likelihood = lambda m: np.exp(stats.norm.logpdf(x, m).sum())  # noqa: E731
    exact = np.log(integrate.quad(likelihood, -20, 20, points=[x.mean()], epsabs=1e-14)[0] / width)
    assert found.log_evidence == pytest.approx(exact, rel=1e-9)
    assert found.log_factor < 0
    several = occam_factor(best, 0.1, 1.0, n_parameters=5)
    assert several.log_factor == pytest.approx(5 * np.log(0.1))
    assert occam_factor(best, [0.1, 0.2], 1.0).log_factor == pytest.approx(np.log(0.02))
    with pytest.raises(ValueError, match="must not exceed"):
        occam_factor(best, 2.0, 1.0)


def sine_curve(seed, alpha):
    rng = np.random.default_rng(seed)
    x = np.linspace(-1, 1, 20)  # symmetric about 0, where a sine has no even terms
    t = np.sin(np.pi * x) + rng.normal(0.0, 0.2, size=20)
    model = BayesianLinearRegressor(alpha, noise_precision=25.0, fit_intercept=False)
    orders = {m: make_pipeline(powers(m), model) for m in range(5)}
    return evidence_curve(orders, x[:, None], t)


def powers(order):
    return FunctionTransformer(lambda x: np.vander(x[:, 0], order + 1, increasing=True))


@pytest.mark.topic("000/F9")
@pytest.mark.parametrize("alpha", [1.0, 5e-3])
@pytest.mark.parametrize("seed", [0, 1])
def test_odd_orders_bring_the_gain_for_a_sine(seed, alpha):
    curve = sine_curve(seed, alpha)
    logs = curve.log_evidence
    assert logs[1] > logs[0] + 5
    assert logs[2] < logs[1]
    assert logs[3] > logs[2] + 5
    assert logs[4] < logs[3]
    assert curve.best == 3


@pytest.mark.topic("000/F9")
def test_evidence_of_polynomials_on_a_sine():
    expected = [-84.85, -34.46, -35.42, -4.17, -5.03]
    np.testing.assert_allclose(sine_curve(0, 1.0).log_evidence, expected, atol=0.005)


@pytest.mark.topic("000/F9")
def test_a_simple_model_bets_on_few_data_sets_and_a_rich_one_on_many():
    def evidences(a):
        heads = range(11)
        logs = [
            float(bayes(Beta(a, a), lambda p: Binomial(10, p), [k]).log_evidence) for k in heads
        ]
        return np.exp(logs)

    simple, rich = evidences(1e9), evidences(1.0)
    assert simple.sum() == pytest.approx(1.0)
    assert rich.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(rich, 1 / 11)  # all numbers of heads are equally probable
    np.testing.assert_allclose(simple, stats.binom.pmf(np.arange(11), 10, 0.5), rtol=1e-6)
    np.testing.assert_array_equal(simple > rich, np.abs(np.arange(11) - 5) <= 2)


def test_a_curve_of_evidence_is_made_of_fit_and_price():
    x, y = rows()
    curve = evidence_curve(
        {k: BayesianLinearRegressor(s) for k, s in enumerate((100.0, 1.0, 0.01))}, x, y
    )
    np.testing.assert_allclose(curve.fit - curve.price, curve.log_evidence)
    assert np.all(curve.price > 0)
    assert curve.best == int(np.argmax(curve.log_evidence))


def test_a_check_finds_outliers_that_a_normal_model_cannot_produce():
    x, y = rows(80)
    y[3] += 8.0
    model = BayesianLinearRegressor(noise_precision=25.0).fit(x, y)
    assert check_predictions(model, x, y, np.max, rng=0).p_value < 0.01
    middle = check_predictions(model, x, y, np.mean, rng=0)
    assert 0.05 < middle.p_value < 0.95


def test_p_values_of_replicates_by_counting():
    check = check_replicates([1.0, 3.0], [[0.0, 1.0], [2.0, 2.0], [4.0, 4.0], [1.0, 1.0]])
    assert check.p_value == pytest.approx((1 + 0.5) / 4)
    with pytest.raises(ValueError, match=r"shape \(S, 2\)"):
        check_replicates([1.0, 3.0], [[0.0]])
