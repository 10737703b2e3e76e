"""Families of counts and categories: a row each."""

from functools import partial

from scipy import stats

from posteriori.distributions import (
    Bernoulli,
    BetaBinomial,
    Binomial,
    Categorical,
    DirichletMultinomial,
    Geometric,
    Multinomial,
    NegativeBinomial,
    Poisson,
)
from tests.distributions import oracles
from tests.distributions.family_case import Case

__all__ = ["COUNTS"]

COUNTS = (
    Case(
        one=lambda: Bernoulli(0.3),
        two=lambda: Bernoulli(0.6),
        batch=lambda: Bernoulli([0.2, 0.5, 0.9]),
        inside=[0.0, 1.0],
        outside=[0.5, 2.0, -1.0],
        rule=lambda: oracles.counts(1),
        discrete=True,
        peer=lambda: stats.bernoulli(0.3),
        extremes=(lambda: Bernoulli(1e-12), lambda: Bernoulli(0.5)),
    ),
    Case(
        one=lambda: Poisson(3.4),
        two=lambda: Poisson(1.9),
        batch=lambda: Poisson([0.5, 4.0, 60.0]),
        inside=[0.0, 1.0, 3.0, 20.0],
        outside=[-1.0, 0.5],
        rule=lambda: oracles.counts(100),
        discrete=True,
        peer=lambda: stats.poisson(3.4),
        extremes=(lambda: Poisson(1e12), lambda: Poisson(1e-12)),
    ),
    Case(
        one=lambda: Binomial(12, 0.3),
        two=lambda: Binomial(12, 0.55),
        batch=lambda: Binomial([12, 12, 12], [0.1, 0.5, 0.9]),
        inside=[0.0, 3.0, 7.0, 12.0],
        outside=[-1.0, 0.5, 13.0],
        rule=lambda: oracles.counts(12),
        discrete=True,
        peer=lambda: stats.binom(12, 0.3),
        extremes=(lambda: Binomial(1_000_000_000_000, 0.25), lambda: Binomial(5, 1e-12)),
        fit_with=partial(Binomial.fit, trials=12),
    ),
    Case(
        one=lambda: Categorical([0.2, 0.35, 0.45]),
        two=lambda: Categorical([0.6, 0.3, 0.1]),
        batch=lambda: Categorical([[0.1, 0.2, 0.7], [0.3, 0.4, 0.3]]),
        inside=[0.0, 1.0, 2.0],
        outside=[-1.0, 0.5, 3.0],
        rule=lambda: oracles.counts(2),
        discrete=True,
        extremes=(lambda: Categorical([1e-12, 0.5, 0.5 - 1e-12]),),
        fit_with=partial(Categorical.fit, n_categories=3),
    ),
    Case(
        one=lambda: Multinomial(4, [0.2, 0.3, 0.5]),
        two=lambda: Multinomial(4, [0.6, 0.3, 0.1]),
        batch=lambda: Multinomial([4, 4], [[0.1, 0.2, 0.7], [0.3, 0.4, 0.3]]),
        inside=[[1.0, 1.0, 2.0], [4.0, 0.0, 0.0], [0.0, 3.0, 1.0]],
        outside=[[1.0, 1.0, 1.0], [-1.0, 2.0, 3.0], [0.5, 1.5, 2.0]],
        rule=lambda: oracles.compositions(4, 3),
        discrete=True,
        peer=lambda: stats.multinomial(4, [0.2, 0.3, 0.5]),
        extremes=(lambda: Multinomial(10**12, [1e-12, 0.5, 0.5 - 1e-12]),),
    ),
    Case(
        one=lambda: Geometric(0.3),
        two=lambda: Geometric(0.55),
        batch=lambda: Geometric([0.1, 0.5, 0.9], start=[0, 0, 0]),
        inside=[0.0, 1.0, 3.0, 20.0],
        outside=[-1.0, 0.5],
        rule=lambda: oracles.counts(150),
        discrete=True,
        peer=lambda: stats.geom(0.3, loc=-1),
        extremes=(lambda: Geometric(1e-12), lambda: Geometric(0.5, start=1)),
        improper=((0.0,), (0.4,)),
    ),
    Case(
        one=lambda: NegativeBinomial(2.5, 0.4),
        two=lambda: NegativeBinomial(3.0, mean=2.0),
        batch=lambda: NegativeBinomial([0.5, 4.0, 1e6], mean=[0.5, 4.0, 6.0]),
        inside=[0.0, 1.0, 3.0, 20.0],
        outside=[-1.0, 0.5],
        rule=lambda: oracles.counts(200),
        discrete=True,
        peer=lambda: stats.nbinom(2.5, 0.4),
    ),
    Case(
        one=lambda: BetaBinomial(12, 1.7, 2.6),
        two=lambda: BetaBinomial(12, 4.0, 0.8),
        batch=lambda: BetaBinomial([12, 12, 12], [0.3, 5.0, 2e6], [0.4, 2.0, 1e6]),
        inside=[0.0, 3.0, 7.0, 12.0],
        outside=[-1.0, 0.5, 13.0],
        rule=lambda: oracles.counts(12),
        discrete=True,
        peer=lambda: stats.betabinom(12, 1.7, 2.6),
    ),
    Case(
        one=lambda: DirichletMultinomial(4, [1.2, 0.7, 2.5]),
        two=lambda: DirichletMultinomial(4, [3.0, 4.0, 1.0]),
        batch=lambda: DirichletMultinomial([4, 4], [[0.3, 0.4, 0.3], [2e6, 1e6, 3e6]]),
        inside=[[1.0, 1.0, 2.0], [4.0, 0.0, 0.0], [0.0, 3.0, 1.0]],
        outside=[[1.0, 1.0, 1.0], [-1.0, 2.0, 3.0], [0.5, 1.5, 2.0]],
        rule=lambda: oracles.compositions(4, 3),
        discrete=True,
        peer=lambda: stats.dirichlet_multinomial([1.2, 0.7, 2.5], 4),
    ),
)
