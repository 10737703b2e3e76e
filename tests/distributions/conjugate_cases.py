"""One row per conjugate pair: prior, likelihood, data, and the likelihood written out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
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
    LogNormal,
    NegativeBinomial,
    Pareto,
    Uniform,
)
from tests.distributions import oracles

__all__ = [
    "A",
    "CASES",
    "CLOSED_PREDICTIVES",
    "EXPOSURE",
    "INTEGRABLE",
    "NO_MOMENTS",
    "R",
    "log_likelihood",
    "run",
]

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
