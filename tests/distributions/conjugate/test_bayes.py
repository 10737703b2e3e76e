"""Bayes' rule: every conjugate pair against integrals over the parameter, and its laws."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from posteriori import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Gamma,
    Multinomial,
    MvNormal,
    Normal,
    NormalGamma,
    NormalInverseWishart,
    Poisson,
    bayes,
)
from posteriori.distributions import Laplace, Predictive
from posteriori.distributions.conjugate.pair import list_pairs
from tests.distributions.conjugate_cases import (
    CASES,
    CLOSED_PREDICTIVES,
    EXPOSURE,
    INTEGRABLE,
    NO_MOMENTS,
    A,
    R,
    log_likelihood,
    run,
)


def test_every_pair_has_a_case() -> None:
    assert {type(run(case).pair) for case in CASES.values()} == set(list_pairs())


@pytest.mark.parametrize("name", INTEGRABLE)
def test_evidence_fit_and_complexity_are_integrals(name: str) -> None:
    case = CASES[name]
    r, prior = run(case), case.prior()
    assert case.rule is not None
    theta, weights = case.rule()
    log_prior, log_like = prior.log_prob(theta), log_likelihood(case, theta)
    posterior = weights * np.exp(log_prior + log_like - float(r.log_evidence))
    assert posterior.sum() == pytest.approx(1.0, rel=1e-8)
    kept = posterior > 0
    fit = (posterior[kept] * log_like[kept]).sum()
    complexity = (posterior * (r.posterior.log_prob(theta) - log_prior))[kept].sum()
    assert r.fit == pytest.approx(fit, rel=1e-7)
    assert r.complexity == pytest.approx(complexity, rel=1e-7)
    assert float(r.log_evidence) == pytest.approx(r.fit - r.complexity, abs=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_bayes_rule_holds_at_every_point(name: str) -> None:
    case = CASES[name]
    r, prior = run(case), case.prior()
    draws = [prior.sample(rng=seed) for seed in range(5)]
    for theta in draws:
        left = r.posterior.log_prob(theta) + float(r.log_evidence)
        right = log_likelihood(case, theta) + prior.log_prob(theta)
        assert left == pytest.approx(right, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if not c.by_row])
def test_natural_parameters_add(name: str) -> None:
    """The posterior minus the prior is linear in the data: two halves add up to the whole."""
    case = CASES[name]
    data = np.asarray(case.data)
    whole, first, second = run(case), run(case, data[:2]), run(case, data[2:])
    parts = zip(
        case.prior().natural,
        whole.posterior.natural,
        first.posterior.natural,
        second.posterior.natural,
        strict=True,
    )
    for p, w, a, b in parts:
        np.testing.assert_allclose(w - p, (a - p) + (b - p), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.topic("000/M20")
def test_sequential_streamed_and_merged_equal_batch(name: str) -> None:
    case = CASES[name]
    data = np.asarray(case.data)
    whole = run(case)
    results = [run(case, iter([data[:1], data[1:4], data[4:]]))]
    if not case.by_row:
        first = run(case, data[:2])
        results += [
            first.update(data[2:]),
            first.merge(run(case, data[2:])),
            bayes(first.posterior, case.likelihood, data[2:]),
        ]
    for other in results:
        for p, q in zip(whole.posterior.natural, other.posterior.natural, strict=True):
            np.testing.assert_allclose(p, q, rtol=1e-11, atol=1e-12)
    for other in results[:-1] if not case.by_row else results:
        assert float(other.log_evidence) == pytest.approx(float(whole.log_evidence), abs=1e-10)
        assert other.log_evidence.comparable(whole.log_evidence)
    if not case.by_row:
        chained = run(case, data[:2]).log_evidence + results[-1].log_evidence
        assert float(chained) == pytest.approx(float(whole.log_evidence), abs=1e-10)
        assert chained.comparable(whole.log_evidence)


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if not c.by_row])
def test_predictive_is_the_ratio_of_evidences(name: str) -> None:
    case = CASES[name]
    data = np.asarray(case.data)
    before, after = run(case, data[:-1]), run(case)
    gain = float(after.log_evidence) - float(before.log_evidence)
    assert before.predictive.log_prob(data[-1]) == pytest.approx(gain, abs=1e-9)


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if not c.by_row])
def test_predictive_moments_match_its_draws(name: str) -> None:
    case = CASES[name]
    d = run(case).predictive
    if name in NO_MOMENTS:
        assert d.mean == d.variance == np.inf
        assert np.all(np.isfinite(d.log_prob(d.sample(50, rng=3))))
        return
    draws = np.asarray(d.sample(40_000, rng=3))
    if name == "Dirichlet-Categorical":
        draws, mean = np.eye(3)[draws.astype(int)], d.probabilities
    else:
        mean = d.mean
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 5 * error)


@pytest.mark.parametrize("name", CLOSED_PREDICTIVES)
def test_closed_predictive_equals_the_generic_one(name: str) -> None:
    case = CASES[name]
    r = run(case)
    closed, generic = r.predictive, Predictive(r.posterior, r.pair)
    assert type(closed) is CLOSED_PREDICTIVES[name]
    data = np.asarray(case.data)
    np.testing.assert_allclose(closed.log_prob(data), generic.log_prob(data), rtol=1e-11)
    np.testing.assert_allclose(closed.mean, generic.mean, rtol=1e-13)
    np.testing.assert_allclose(closed.variance, generic.variance, rtol=1e-13)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.topic("004/2.11")
def test_correction_ends_at_the_posterior_prediction(name: str) -> None:
    case = CASES[name]
    r = run(case)
    view = r.correction
    gain = np.asarray(view.gain)
    matrix = gain.ndim == 2 and np.ndim(view.error) == 1
    move = gain @ view.error if matrix else gain * view.error
    np.testing.assert_allclose(view.correction, move, rtol=1e-12)
    np.testing.assert_allclose(view.posterior, view.prior + view.correction, rtol=1e-10)
    np.testing.assert_allclose(view.posterior, predicted(r), rtol=1e-10, atol=1e-12)


def predicted(r: Any) -> Any:
    """The quantity that the correction speaks of, from the posterior alone."""
    pair = r.pair
    if hasattr(pair, "prediction"):
        return pair.prediction(r.posterior)
    location = getattr(r.posterior, "location", None)
    return r.posterior.mean if location is None else location


@pytest.mark.parametrize("name", ["Beta-Bernoulli", "Gamma-Poisson", "Normal mean", "NormalGamma"])
def test_a_batch_of_priors_equals_a_loop(name: str) -> None:
    case = CASES[name]
    prior = case.prior()
    stacked = prior.iid(3)
    columns = np.stack([case.data, case.data, np.asarray(case.data)[::-1]], axis=1)
    r = bayes(stacked, case.likelihood, columns)
    assert r.log_evidence.shape == (3,)
    np.testing.assert_allclose(r.log_evidence.value, float(run(case).log_evidence), rtol=1e-12)


@pytest.mark.topic("004/4.9")
def test_data_far_from_zero_keep_their_variance() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    near, far = (bayes(NormalGamma(c, 1.0, 1.0, 1.0), Normal, x + c) for c in (0.0, 1e8))
    assert far.posterior.rate == pytest.approx(near.posterior.rate, rel=1e-7)
    assert float(far.log_evidence) == pytest.approx(float(near.log_evidence), abs=1e-4)
    y = (x + 1e8) - 1e8  # what float64 keeps of x out there
    exact = bayes(NormalGamma(0.0, 1.0, 1.0, 1.0), Normal, y)
    assert far.posterior.rate == pytest.approx(exact.posterior.rate, rel=1e-11)
    assert float(far.log_evidence) == pytest.approx(float(exact.log_evidence), rel=1e-11)


def test_regression_targets_far_from_zero() -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(200), rng.normal(size=200)])
    y = 1e8 + x @ [0.0, 2.0] + rng.normal(size=200)
    prior = MvNormal([0.0, 0.0], cov=1e20 * np.eye(2))
    shifted = MvNormal([-1e8, 0.0], cov=1e20 * np.eye(2))
    r = bayes(prior, lambda w: Normal(x @ w, variance=1.0), y)
    q = bayes(shifted, lambda w: Normal(x @ w, variance=1.0), y - 1e8)
    assert float(r.log_evidence) == pytest.approx(float(q.log_evidence), abs=1e-5)


def test_linear_gaussian_equals_conditioning_the_joint() -> None:
    prior = MvNormal([0.1, -0.2], cov=[[2.0, 0.3], [0.3, 1.0]])
    y = np.array([0.3, -0.1, 0.7])
    joint = prior.joint(A, noise=R)
    expected = joint.condition([2, 3, 4], y)
    for likelihood in (
        lambda x: MvNormal(A @ x, cov=R),
        lambda x: MvNormal(A @ x, precision=np.linalg.inv(R)),
    ):
        r = bayes(prior, likelihood, y[None])
        np.testing.assert_allclose(r.posterior.mean, expected.mean, rtol=1e-12)
        np.testing.assert_allclose(r.posterior.cov, expected.cov, rtol=1e-11)
        marginal = joint.marginal([2, 3, 4])
        assert float(r.log_evidence) == pytest.approx(marginal.log_prob(y), abs=1e-12)


def test_noise_free_observation_has_evidence() -> None:
    r = bayes(
        MvNormal([0.0, 0.0], cov=np.eye(2)),
        lambda x: MvNormal([[1.0, 1.0]] @ x, cov=[[0.0]]),
        [[2.0]],
    )
    np.testing.assert_allclose(r.posterior.mean, [1.0, 1.0])
    assert float(r.log_evidence) == pytest.approx(stats.norm.logpdf(2.0, 0.0, np.sqrt(2.0)))


def test_improper_prior_has_a_posterior_but_no_evidence() -> None:
    flat = Normal.from_natural(0.0, 0.0)
    r = bayes(flat, lambda mu: Normal(mu, variance=2.0), [1.0, 3.0])
    assert r.posterior.mean == pytest.approx(2.0)
    assert r.posterior.variance == pytest.approx(1.0)
    with pytest.raises(ValueError, match="improper prior"):
        _ = r.log_evidence


def test_prediction_under_other_exposure() -> None:
    r = bayes(Gamma(2.0, 1.0), lambda rate: Poisson(EXPOSURE * rate), [3, 0, 2, 5, 1, 2])
    new = r.predict(lambda rate: Poisson(4.0 * rate))
    peer = stats.nbinom(r.posterior.shape, r.posterior.rate / (r.posterior.rate + 4.0))
    np.testing.assert_allclose(new.log_prob([0, 1, 7]), peer.logpmf([0, 1, 7]), rtol=1e-12)
    assert new.mean == pytest.approx(peer.mean())
    assert new.variance == pytest.approx(peer.var())


def test_labelled_categories() -> None:
    r = bayes(
        Dirichlet([1.0, 1.0, 1.0]),
        lambda p: Categorical(p, labels=("red", "green", "blue")),
        ["red", "blue", "red"],
    )
    np.testing.assert_allclose(r.posterior.concentration, [3.0, 1.0, 2.0])
    assert r.predictive.mode == "red"


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((Beta(1, 1), Bernoulli, []), ValueError, "empty"),
        ((Beta(1, 1), Bernoulli, [0, 1, 2]), ValueError, "row 2"),
        ((Beta(1, 1), Bernoulli, [0, np.nan]), ValueError, "row 1"),
        ((Beta(1, 1), Bernoulli, ["yes"]), TypeError, "real numbers"),
        ((Beta(1, 1), Normal, [0.0]), TypeError, "conjugate to Bernoulli"),
        ((Beta(1, 1), Binomial, [0.0]), TypeError, "trials"),
        ((Normal(0, variance=1), Normal, [0.0]), TypeError, "variance"),
        ((Beta(1, 1), 0.5, [0.0]), TypeError, "likelihood"),
        ((0.5, Bernoulli, [0.0]), TypeError, "prior"),
        ((Laplace(0.0, 1.0), Normal, [0.0]), TypeError, "conjugate to no likelihood"),
        ((Dirichlet([1, 1]), Categorical, ["red", "blue"]), TypeError, "labels="),
        ((Gamma(1, 1), lambda r: Poisson(r + 1.0), [0.0]), TypeError, "factor"),
        ((Gamma(1, 1), lambda r: Poisson([1.0, 2.0] * r), [0, 1, 2]), ValueError, "2 rows"),
        ((Gamma(1, 1), lambda r: Poisson(np.ones(4) * r), [0, 1, 2]), ValueError, "4 rows"),
        ((Gamma(1, 1), lambda r: Poisson(3.0), [0]), TypeError, "depends on its argument"),
        ((Beta(1, 1), lambda p: Binomial(3, p), [4]), ValueError, "trials"),
        ((Beta([1.0, 2.0], 1.0), Bernoulli, np.ones((5, 3))), ValueError, "batch shape"),
        ((Dirichlet([1, 1]), Multinomial, [[1, 2, 3]]), ValueError, "shape"),
        (
            (NormalInverseWishart([0, 0], 1, 4, np.eye(2)), MvNormal, np.ones((4, 3))),
            ValueError,
            r"shape \(2,\)",
        ),
    ],
)
def test_bad_input(arguments: tuple[Any, ...], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        bayes(*arguments)


def test_evidence_of_different_data_does_not_compare() -> None:
    one = bayes(Beta(1, 1), Bernoulli, [1, 0, 1]).log_evidence
    two = bayes(Beta(1, 1), Bernoulli, [1, 0, 0]).log_evidence
    with pytest.raises(ValueError, match="different data"):
        _ = one - two
