"""One row per conjugate pair with one unknown, and the models that it makes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import integrate

from posteriori import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    InverseGamma,
    Multinomial,
    MvNormal,
    Normal,
    Poisson,
)
from posteriori.distributions.counts.geometric import Geometric
from posteriori.distributions.counts.negative_binomial import NegativeBinomial
from posteriori.distributions.numbers.log_normal import LogNormal
from posteriori.distributions.numbers.pareto import Pareto
from posteriori.distributions.numbers.uniform import Uniform
from posteriori.distributions.vectors.inverse_wishart import InverseWishart
from posteriori.distributions.vectors.wishart import Wishart
from posteriori.modeling import Input, Model

__all__ = [
    "BITS",
    "CASES",
    "CODES",
    "COUNTS",
    "Case",
    "GROUP",
    "N",
    "POSITIVE",
    "REAL",
    "SCALE",
    "VECTORS",
    "assert_same",
    "gaps",
    "log_average",
    "one_for_all",
    "one_for_each_group",
]

RNG = np.random.default_rng(7)
N = 9
GROUP = np.array([0, 2, 1, 2, 0, 1, 2, 0, 2])
REAL = RNG.normal(size=N)
POSITIVE = RNG.gamma(2.0, size=N)
COUNTS = np.array([0, 3, 1, 2, 5, 0, 1, 1, 2])
BITS = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1])
CODES = np.array([0, 2, 1, 2, 2, 0, 1, 2, 2])
TABLES = RNG.multinomial(4, [0.2, 0.3, 0.5], size=N)
VECTORS = RNG.normal(size=(N, 2))
SCALE = np.array([[1.0, 0.2], [0.2, 0.7]])


class Case(NamedTuple):
    """A prior, a likelihood as a function of the unknown, and data."""

    prior: Any
    likelihood: Callable[[Any], Any]
    data: Any


CASES = {
    "BetaBernoulli": Case(Beta(2.0, 1.5), lambda p: Bernoulli(p), BITS),
    "BetaBinomialPair": Case(Beta(2.0, 1.5), lambda p: Binomial(6, p), COUNTS),
    "BetaGeometric": Case(Beta(2.0, 1.5), lambda p: Geometric(p, start=1), COUNTS + 1),
    "BetaNegativeBinomial": Case(Beta(2.0, 1.5), lambda p: NegativeBinomial(2.5, p), COUNTS),
    "DirichletCategorical": Case(Dirichlet([1.0, 2.0, 0.5]), lambda p: Categorical(p), CODES),
    "DirichletMultinomialPair": Case(
        Dirichlet([1.0, 2.0, 0.5]), lambda p: Multinomial(4, p), TABLES
    ),
    "GammaPoisson": Case(Gamma(2.0, 1.5), lambda r: Poisson(2.0 * r), COUNTS),
    "GammaExponential": Case(Gamma(2.0, 1.5), lambda r: Exponential(0.5 * r), POSITIVE),
    "GammaPrecision": Case(Gamma(2.0, 1.5), lambda t: Normal(0.3, precision=2.0 * t), REAL),
    "GammaLogPrecision": Case(Gamma(2.0, 1.5), lambda t: LogNormal(0.3, precision=t), POSITIVE),
    "GammaPareto": Case(Gamma(2.0, 1.5), lambda a: Pareto(a, 1.0), 1.0 + POSITIVE),
    "InverseGammaVariance": Case(
        InverseGamma(2.0, 1.5), lambda v: Normal(0.3, variance=0.5 * v), REAL
    ),
    "InverseGammaLogVariance": Case(
        InverseGamma(2.0, 1.5), lambda v: LogNormal(0.3, variance=v), POSITIVE
    ),
    "LogMeanVariance": Case(
        Normal(0.2, variance=2.0), lambda m: LogNormal(2.0 * m - 0.5, variance=0.7), POSITIVE
    ),
    "LogMeanScale": Case(Normal(0.2, variance=2.0), lambda m: LogNormal(m, scale=0.7), POSITIVE),
    "LogMeanPrecision": Case(
        Normal(0.2, variance=2.0), lambda m: LogNormal(m, precision=0.7), POSITIVE
    ),
    "ParetoUniform": Case(Pareto(2.0, 0.5), lambda w: Uniform(-1.0, -1.0 + w), POSITIVE - 1.0),
    "WishartPrecision": Case(
        Wishart(dof=4.0, scale=SCALE), lambda q: MvNormal([0.1, 0.2], precision=q), VECTORS
    ),
    "InverseWishartCovariance": Case(
        InverseWishart(dof=4.0, scale=SCALE), lambda c: MvNormal([0.1, 0.2], cov=c), VECTORS
    ),
}


def gaps(data: Any) -> np.ndarray:
    """Return the data with rows 1 and 4 missing."""
    out = np.array(data, dtype=np.float64)
    out[[1, 4]] = np.nan
    return out


def one_for_all(case: Case) -> Model:
    m = Model()
    m.theta = case.prior
    m.y = case.likelihood(m.theta).iid("n")
    return m


def one_for_each_group(case: Case) -> Model:
    m = Model()
    m.g = Input()
    m.theta = case.prior.iid(3)
    m.y = case.likelihood(m.theta[m.g])
    return m


def assert_same(d: Any, expected: Any, at: Any = ()) -> None:
    """Compare parameters; ``at`` picks members of the batch of the first."""
    assert type(d) is type(expected)
    for mine, theirs in zip(d._key(), expected._key(), strict=True):
        np.testing.assert_allclose(mine[at], theirs, rtol=1e-12)


def log_average(model: Model, prior: Any, data: dict[str, Any], split: float = 0.5) -> float:
    """Return ln ∫ p(data | θ(u)) du over the quantiles u of the prior of theta."""

    def likelihood(u: float) -> float:
        theta = prior.quantile(u)
        return float(np.exp(model.log_joint(data, theta=theta) - prior.log_prob(theta)))

    parts = (
        integrate.quad(likelihood, low, high, epsabs=0.0, epsrel=1e-10, limit=400)[0]
        for low, high in ((0.0, split), (split, 1.0))
    )
    return float(np.log(sum(parts)))
