"""Models with numbers whose beliefs are densities on grids, with data."""

import numpy as np

from posteriori import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    Normal,
    Poisson,
)
from posteriori.distributions import HalfCauchy, HalfNormal, HalfStudentT, LogNormal, Uniform
from posteriori.modeling import Chain, Input, Model, take
from tests.modeling.variational.cases import Case, clusters, listed, noise

__all__ = ["CASES"]

CASES: list[Case] = []
case = listed(CASES)


@case
def scales_of_classes():
    m = Model()
    m.pi = Dirichlet([1.0, 2.0])
    m.mu = Normal(0.0, variance=9.0).iid(2)
    m.s = HalfCauchy(1.0).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Normal(m.mu[m.z], scale=m.s[m.z])
    x = clusters(9, seed=9)
    x[4] = np.nan
    return m, {"x": x}


@case
def scales_of_columns():
    """A scale for each of six columns, of different priors; a variance is shared."""
    m = Model()
    m.s = HalfStudentT(3.0, [0.5, 1.0, 2.0, 1.0, 1.0, 0.7])
    m.v = Uniform(0.0, 5.0)
    m.mu = Normal(0.0, variance=m.v).iid(6)
    m.x = Normal(m.mu, scale=m.s).iid("n")
    return m, {"x": noise(5, 6, seed=30) * [0.5, 1.0, 2.0, 0.3, 1.0, 1.0]}


@case
def rates_of_groups():
    """Rates with a log-normal prior times an exposure with an exponential one."""
    m = Model()
    m.g = Input("n")
    m.rate = LogNormal(0.0, variance=0.5).iid(6)
    m.common = Exponential(1.0)
    m.y = Poisson(m.rate[m.g] * m.common)
    return m, {"y": np.array([3, 0, 1, 5, 2, 2, 4, 1, 0.0]), "g": [0, 0, 1, 2, 3, 3, 4, 5, 5]}


@case
def shapes_of_classes():
    m = Model()
    m.w = Beta(2.0, 2.0)
    m.a = Exponential(0.3).iid(2)
    m.r = Gamma(2.0, rate=1.0).iid(2)
    m.z = Bernoulli(m.w).iid("n")
    m.x = Gamma(m.a[m.z], m.r[m.z])
    return m, {"x": np.array([0.3, 0.5, 0.2, 4.0, 5.5, 3.9, 0.4, 6.1])}


@case
def shape_and_rate_in_one():
    """Numbers of mean 1 whose shape is their rate, above precisions of six columns."""
    m = Model()
    m.a = HalfNormal(4.0)
    m.tau = Gamma(m.a, m.a).iid(6)
    m.x = Normal(0.0, precision=m.tau).iid("n")
    return m, {"x": noise(4, 6, seed=31) * [0.5, 1.0, 2.0, 0.3, 1.0, 1.0]}


@case
def scales_with_a_common_scale():
    """Half-normal scales whose own scale is unknown."""
    m = Model()
    m.t = HalfCauchy(1.0)
    m.s = HalfNormal(m.t).iid(6)
    m.x = Normal(0.0, scale=m.s).iid("n")
    return m, {"x": noise(4, 6, seed=32) * [0.5, 1.0, 2.0, 0.3, 1.0, 1.0]}


@case
def known_and_unknown_scales():
    """One class has a known scale."""
    m = Model()
    m.w = Beta(2.0, 2.0)
    m.mu = Normal(0.0, variance=4.0).iid(2)
    m.s = HalfNormal(3.0)
    m.z = Bernoulli(m.w).iid("n")
    m.x = Normal(m.mu[m.z], scale=take([0.5, m.s], m.z))
    return m, {"x": clusters(8, seed=33)}


@case
def walks_with_unknown_scales():
    """Six walks with a scale of steps each and one of noise."""
    m = Model()
    m.q = HalfNormal(1.0).iid(6)
    m.r = HalfCauchy(1.0)
    m.s = Chain(Normal(0.0, variance=1.0).iid(6), lambda s: Normal(s, scale=m.q), length="t")
    m.y = Normal(m.s, scale=m.r)
    return m, {"y": np.cumsum(0.4 * noise(8, 6, seed=34), axis=0) + 0.3 * noise(8, 6, seed=35)}
