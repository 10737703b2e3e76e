"""Bayes' rule: every conjugate pair against integrals over the parameter, and its laws."""

from collections.abc import Callable
from dataclasses import dataclass
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
    Exponential,
    Gamma,
    InverseGamma,
    InverseWishart,
    Multinomial,
    MvNormal,
    Normal,
    NormalGamma,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalWishart,
    Poisson,
    Wishart,
    bayes,
)
from posteriori.distributions import (
    BetaBinomial,
    DirichletMultinomial,
    Geometric,
    Laplace,
    LogNormal,
    NegativeBinomial,
    Pareto,
    Predictive,
    Uniform,
)
from posteriori.distributions.conjugate import list_pairs
from tests.distributions import oracles

RNG = np.random.default_rng(20)
COV = np.array([[0.8, 0.3], [0.3, 0.5]])
VECTORS = np.round(RNG.normal(size=(6, 2)) @ np.linalg.cholesky(COV).T + [1.0, -0.5], 3)
DESIGN = np.round(RNG.normal(size=(6, 2)), 3)
NUMBERS = np.array([1.2, 0.4, 2.3, 1.9, 0.7, 1.1])
EXPOSURE = np.array([0.5, 2.0, 1.0, 3.0, 0.25, 1.5])
NOISE = np.array([0.5, 1.0, 2.0, 0.3, 1.5, 0.8])


@dataclass(frozen=True)
class PairCase:
    """A prior, a likelihood, six rows of data, and the likelihood of one datum written out."""

    prior: Callable[[], Any]
    likelihood: Any
    data: Any
    #: ln p(x | θ) of row n by scipy.stats alone.
    log_density: Callable[..., Any]
    #: How to integrate over θ; None where Bayes' rule is checked point by point alone.
    rule: Callable[[], oracles.Rule] | None = None
    #: Whether known parameters differ from row to row.
    by_row: bool = False


def mean_and_spread() -> oracles.Rule:
    points, weights = oracles.tensor(oracles.real_line(400), oracles.positive_line(300))
    return oracles.Rule((points[:, 0], points[:, 1]), weights)


A = np.array([[1.0, 0.5], [0.0, 2.0], [1.0, -1.0]])
R = np.diag([0.5, 0.4, 0.9]) + 0.1
TRIPLES = np.round(RNG.normal(size=(6, 3)), 3)

CASES = {
    "Beta-Bernoulli": PairCase(
        lambda: Beta(1.5, 2.5),
        Bernoulli,
        [1, 0, 1, 1, 0, 1],
        lambda p, x, n: stats.bernoulli.logpmf(x, p),
        oracles.unit_interval,
    ),
    "Beta-Binomial": PairCase(
        lambda: Beta(2.0, 1.2),
        lambda probability: Binomial(8, probability),
        [3, 5, 8, 0, 4, 6],
        lambda p, x, n: stats.binom.logpmf(x, 8, p),
        oracles.unit_interval,
    ),
    "Beta-Binomial by row": PairCase(
        lambda: Beta(2.0, 1.2),
        lambda p: Binomial([4, 5, 8, 2, 9, 6], p),
        [3, 5, 8, 0, 4, 6],
        lambda p, x, n: stats.binom.logpmf(x, [4, 5, 8, 2, 9, 6][n], p),
        oracles.unit_interval,
        by_row=True,
    ),
    "Gamma-Poisson": PairCase(
        lambda: Gamma(2.0, 1.5),
        Poisson,
        [3, 0, 2, 5, 1, 2],
        lambda rate, x, n: stats.poisson.logpmf(x, rate),
        oracles.positive_line,
    ),
    "Gamma-Poisson exposure": PairCase(
        lambda: Gamma(2.0, 1.5),
        lambda rate: Poisson(EXPOSURE * rate),
        [3, 0, 2, 5, 1, 2],
        lambda rate, x, n: stats.poisson.logpmf(x, EXPOSURE[n] * rate),
        oracles.positive_line,
        by_row=True,
    ),
    "Gamma-Exponential": PairCase(
        lambda: Gamma(3.0, 2.0),
        Exponential,
        NUMBERS,
        lambda rate, x, n: stats.expon.logpdf(x, scale=1 / rate),
        oracles.positive_line,
    ),
    "Gamma-Exponential factor": PairCase(
        lambda: Gamma(3.0, 2.0),
        lambda rate: Exponential(2.0 * rate),
        NUMBERS,
        lambda rate, x, n: stats.expon.logpdf(x, scale=0.5 / rate),
        oracles.positive_line,
    ),
    "Dirichlet-Categorical": PairCase(
        lambda: Dirichlet([1.5, 2.0, 0.7]),
        Categorical,
        [0, 2, 1, 0, 0, 2],
        lambda p, x, n: np.log(p[..., int(x)]),
        oracles.simplex_3,
    ),
    "Dirichlet-Multinomial": PairCase(
        lambda: Dirichlet([1.5, 2.0, 0.7]),
        lambda p: Multinomial(3, p),
        [[1, 1, 1], [3, 0, 0], [0, 2, 1], [1, 2, 0], [0, 0, 3], [2, 1, 0]],
        lambda p, x, n: stats.multinomial.logpmf(x, 3, p),
        oracles.simplex_3,
    ),
    "Normal mean": PairCase(
        lambda: Normal(0.5, variance=4.0),
        lambda mu: Normal(mu, variance=0.7),
        NUMBERS,
        lambda mu, x, n: stats.norm.logpdf(x, mu, np.sqrt(0.7)),
        oracles.real_line,
    ),
    "Normal mean by scale, affine, by row": PairCase(
        lambda: Normal(0.5, precision=0.3),
        lambda mu: Normal(2.0 * mu - 0.5, scale=NOISE),
        NUMBERS,
        lambda mu, x, n: stats.norm.logpdf(x, 2 * mu - 0.5, NOISE[n]),
        oracles.real_line,
        by_row=True,
    ),
    "Normal mean by precision": PairCase(
        lambda: Normal(0.5, variance=4.0),
        lambda mu: Normal(1.0 - mu, precision=2.0),
        NUMBERS,
        lambda mu, x, n: stats.norm.logpdf(x, 1 - mu, np.sqrt(0.5)),
        oracles.real_line,
    ),
    "Gamma precision": PairCase(
        lambda: Gamma(2.0, 1.0),
        lambda tau: Normal(1.0, precision=tau),
        NUMBERS,
        lambda tau, x, n: stats.norm.logpdf(x, 1.0, tau**-0.5),
        oracles.positive_line,
    ),
    "Gamma precision factor by row": PairCase(
        lambda: Gamma(2.0, 1.0),
        lambda tau: Normal(1.0, precision=NOISE * tau),
        NUMBERS,
        lambda tau, x, n: stats.norm.logpdf(x, 1.0, (NOISE[n] * tau) ** -0.5),
        oracles.positive_line,
        by_row=True,
    ),
    "InverseGamma variance": PairCase(
        lambda: InverseGamma(3.0, 2.0),
        lambda v: Normal(1.0, variance=v),
        NUMBERS,
        lambda v, x, n: stats.norm.logpdf(x, 1.0, np.sqrt(v)),
        oracles.positive_line,
    ),
    "NormalGamma": PairCase(
        lambda: NormalGamma(0.0, 1.0, 1.0, 1.0),
        Normal,
        NUMBERS,
        lambda mu, tau, x, n: stats.norm.logpdf(x, mu, tau**-0.5),
        mean_and_spread,
    ),
    "NormalInverseGamma": PairCase(
        lambda: NormalInverseGamma(0.3, 2.0, 3.0, 2.0),
        lambda mu, v: Normal(mu, variance=v),
        NUMBERS,
        lambda mu, v, x, n: stats.norm.logpdf(x, mu, np.sqrt(v)),
        mean_and_spread,
    ),
    "NormalInverseGamma regression": PairCase(
        lambda: NormalInverseGamma(
            [0.1, -0.2], mean_precision=[[2.0, 0.3], [0.3, 1.0]], shape=2.0, scale=1.5
        ),
        lambda w, v: Normal(DESIGN @ w + 0.2, variance=v),
        NUMBERS,
        lambda w, v, x, n: stats.norm.logpdf(x, DESIGN[n] @ w + 0.2, np.sqrt(v)),
        by_row=True,
    ),
    "MvNormal weights": PairCase(
        lambda: MvNormal([0.1, -0.2], cov=[[2.0, 0.3], [0.3, 1.0]]),
        lambda w: Normal(DESIGN @ w, variance=NOISE),
        NUMBERS,
        lambda w, x, n: stats.norm.logpdf(x, DESIGN[n] @ w, np.sqrt(NOISE[n])),
        by_row=True,
    ),
    "linear Gaussian, covariance": PairCase(
        lambda: MvNormal([0.1, -0.2], cov=[[2.0, 0.3], [0.3, 1.0]]),
        lambda x: MvNormal(A @ x + [0.1, 0.2, 0.3], cov=R),
        TRIPLES,
        lambda x, y, n: stats.multivariate_normal.logpdf(y, A @ x + [0.1, 0.2, 0.3], R),
    ),
    "linear Gaussian, precision": PairCase(
        lambda: MvNormal([0.1, -0.2], precision=[[2.0, 0.3], [0.3, 1.0]]),
        lambda x: MvNormal(A @ x, precision=np.linalg.inv(R)),
        TRIPLES,
        lambda x, y, n: stats.multivariate_normal.logpdf(y, A @ x, R),
    ),
    "MvNormal mean": PairCase(
        lambda: MvNormal([0.1, -0.2], cov=[[2.0, 0.3], [0.3, 1.0]]),
        lambda mu: MvNormal(mu, cov=COV),
        VECTORS,
        lambda mu, x, n: stats.multivariate_normal.logpdf(x, mu, COV),
    ),
    "Wishart precision": PairCase(
        lambda: Wishart(4.0, [[0.5, 0.1], [0.1, 0.4]]),
        lambda precision: MvNormal([1.0, -0.5], precision=precision),
        VECTORS,
        lambda w, x, n: stats.multivariate_normal.logpdf(x, [1.0, -0.5], np.linalg.inv(w)),
    ),
    "InverseWishart covariance": PairCase(
        lambda: InverseWishart(5.0, [[1.5, 0.1], [0.1, 1.4]]),
        lambda cov: MvNormal([1.0, -0.5], cov=cov),
        VECTORS,
        lambda cov, x, n: stats.multivariate_normal.logpdf(x, [1.0, -0.5], cov),
    ),
    "NormalWishart": PairCase(
        lambda: NormalWishart([0.2, 0.1], 1.5, 4.0, [[0.5, 0.1], [0.1, 0.4]]),
        MvNormal,
        VECTORS,
        lambda mu, w, x, n: stats.multivariate_normal.logpdf(x, mu, np.linalg.inv(w)),
    ),
    "NormalInverseWishart": PairCase(
        lambda: NormalInverseWishart([0.2, 0.1], 1.5, 5.0, [[1.5, 0.1], [0.1, 1.4]]),
        lambda mu, cov: MvNormal(mu, cov=cov),
        VECTORS,
        lambda mu, cov, x, n: stats.multivariate_normal.logpdf(x, mu, cov),
    ),
    "Beta-Geometric": PairCase(
        lambda: Beta(4.5, 2.5),
        Geometric,
        [0, 2, 1, 0, 3, 1],
        lambda p, x, n: stats.geom.logpmf(x + 1, p),
        oracles.unit_interval,
    ),
    "Beta-Geometric from one": PairCase(
        lambda: Beta(4.5, 2.5),
        lambda p: Geometric(p, start=1),
        [1, 3, 2, 1, 4, 2],
        lambda p, x, n: stats.geom.logpmf(x, p),
        oracles.unit_interval,
    ),
    "Beta-NegativeBinomial": PairCase(
        lambda: Beta(4.5, 2.5),
        lambda p: NegativeBinomial(2.5, p),
        [3, 0, 2, 5, 1, 2],
        lambda p, x, n: stats.nbinom.logpmf(x, 2.5, p),
        oracles.unit_interval,
    ),
    "Beta-NegativeBinomial by row": PairCase(
        lambda: Beta(4.5, 2.5),
        lambda p: NegativeBinomial(EXPOSURE, p),
        [3, 0, 2, 5, 1, 2],
        lambda p, x, n: stats.nbinom.logpmf(x, EXPOSURE[n], p),
        oracles.unit_interval,
        by_row=True,
    ),
    "Pareto-Uniform": PairCase(
        lambda: Pareto(3.5, 1.4),
        lambda high: Uniform(0.0, high),
        NUMBERS,
        lambda high, x, n: stats.uniform.logpdf(x, 0.0, high),
        lambda: oracles.half_line(2.3),
    ),
    "Pareto-Uniform width": PairCase(
        lambda: Pareto(3.5, 1.4),
        lambda width: Uniform(-0.5, -0.5 + 1.5 * width),
        NUMBERS,
        lambda width, x, n: stats.uniform.logpdf(x, -0.5, 1.5 * width),
        lambda: oracles.half_line(2.8 / 1.5),
    ),
    "Gamma-Pareto": PairCase(
        lambda: Gamma(3.0, 2.0),
        lambda shape: Pareto(shape, 0.3),
        NUMBERS,
        lambda shape, x, n: stats.pareto.logpdf(x, shape, scale=0.3),
        oracles.positive_line,
    ),
    "LogNormal mean": PairCase(
        lambda: Normal(0.5, variance=4.0),
        lambda mu: LogNormal(mu, variance=0.7),
        NUMBERS,
        lambda mu, x, n: stats.lognorm.logpdf(x, np.sqrt(0.7), scale=np.exp(mu)),
        lambda: oracles.numbers(200),
    ),
    "LogNormal mean by scale, affine, by row": PairCase(
        lambda: Normal(0.5, precision=0.3),
        lambda mu: LogNormal(2.0 * mu - 0.5, scale=NOISE),
        NUMBERS,
        lambda mu, x, n: stats.lognorm.logpdf(x, NOISE[n], scale=np.exp(2 * mu - 0.5)),
        lambda: oracles.numbers(200),
        by_row=True,
    ),
    "LogNormal mean by precision": PairCase(
        lambda: Normal(0.5, variance=4.0),
        lambda mu: LogNormal(1.0 - mu, precision=2.0),
        NUMBERS,
        lambda mu, x, n: stats.lognorm.logpdf(x, np.sqrt(0.5), scale=np.exp(1 - mu)),
        lambda: oracles.numbers(200),
    ),
    "LogNormal, Gamma precision": PairCase(
        lambda: Gamma(2.0, 1.0),
        lambda tau: LogNormal(0.2, precision=tau),
        NUMBERS,
        lambda tau, x, n: stats.lognorm.logpdf(x, tau**-0.5, scale=np.exp(0.2)),
        oracles.positive_line,
    ),
    "LogNormal, InverseGamma variance": PairCase(
        lambda: InverseGamma(3.0, 2.0),
        lambda v: LogNormal(0.2, variance=v),
        NUMBERS,
        lambda v, x, n: stats.lognorm.logpdf(x, np.sqrt(v), scale=np.exp(0.2)),
        oracles.positive_line,
    ),
    "LogNormal, NormalGamma": PairCase(
        lambda: NormalGamma(0.0, 1.0, 1.0, 1.0),
        LogNormal,
        NUMBERS,
        lambda mu, tau, x, n: stats.norm.logpdf(np.log(x), mu, tau**-0.5) - np.log(x),
        mean_and_spread,
    ),
    "LogNormal, NormalInverseGamma": PairCase(
        lambda: NormalInverseGamma(0.3, 2.0, 3.0, 2.0),
        lambda mu, v: LogNormal(mu, variance=v),
        NUMBERS,
        lambda mu, v, x, n: stats.norm.logpdf(np.log(x), mu, np.sqrt(v)) - np.log(x),
        mean_and_spread,
    ),
}

#: Pairs whose next datum has no finite mean.
NO_MOMENTS = {
    "Gamma-Pareto",
    "LogNormal, Gamma precision",
    "LogNormal, InverseGamma variance",
    "LogNormal, NormalGamma",
    "LogNormal, NormalInverseGamma",
}

#: Pairs whose predictive has a family of its own.
CLOSED_PREDICTIVES = {
    "Beta-Binomial": BetaBinomial,
    "Dirichlet-Multinomial": DirichletMultinomial,
    "Gamma-Poisson": NegativeBinomial,
}

INTEGRABLE = [name for name, case in CASES.items() if case.rule is not None]


def run(case: PairCase, data: Any = None) -> Any:
    return bayes(case.prior(), case.likelihood, case.data if data is None else data)


def log_likelihood(case: PairCase, theta: Any) -> Any:
    parts = theta if isinstance(theta, tuple) else (theta,)
    return sum(case.log_density(*parts, x, n) for n, x in enumerate(np.asarray(case.data)))


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
