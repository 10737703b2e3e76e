"""Models whose new members are predicted, and their data."""

import numpy as np

from posteriori.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    InverseGamma,
    InverseWishart,
    MvNormal,
    Normal,
    Poisson,
    Wishart,
)
from posteriori.modeling import Input, Model, take

RNG = np.random.default_rng(3)
Y = RNG.normal(1.0, 2.0, size=7)
VECTORS = RNG.normal(size=(6, 2))
GRID = RNG.normal(size=(4, 3)) + np.arange(4)[:, None]
LETTERS = [0, 2, 1, 1, 2, 2]
COV = np.array([[2.0, 0.5], [0.5, 1.0]])


def mean() -> Model:
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.y = Normal(m.mu, variance=1.0).iid("n")
    return m


def groups() -> Model:
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid("n")
    m.y = Normal(m.theta, variance=0.5)
    return m


def shared_twice() -> Model:
    """What is new depends on the rest by several ways at once."""
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.a = Normal(2.0 * m.mu + 1.0, variance=0.7).iid("n")
    m.b = Normal(m.a - m.mu, precision=3.0)
    m.y = Normal(m.a + 0.5 * m.b - m.mu, scale=0.4)
    return m


def repeats_in_groups() -> Model:
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid("n")
    m.y = Normal(m.theta, variance=0.5).iid(3)
    return m


def vectors() -> Model:
    m = Model()
    m.mu = MvNormal(np.zeros(2), cov=9.0 * np.eye(2))
    m.theta = MvNormal(m.mu, cov=COV).iid("n")
    m.y = MvNormal(COV @ m.theta, cov=0.3 * np.eye(2))
    return m


def several_added() -> Model:
    """Each row adds up new members of an axis."""
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid("n").iid(3)
    m.y = Normal(np.array([1.0, -2.0, 0.5]) @ m.theta, variance=0.5)
    return m


def common_precision() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5)
    m.mu = Normal(0.0, precision=0.2 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


def groups_of_common_variance() -> Model:
    m = Model()
    m.v = InverseGamma(3.0, 1.5)
    m.mu = Normal(0.0, variance=4.0 * m.v)
    m.theta = Normal(m.mu, variance=2.0 * m.v).iid("n")
    m.y = Normal(m.theta, variance=m.v)
    return m


def precision_of_each() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5).iid("n")
    m.mu = Normal(1.0, precision=0.2 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid(2)
    return m


def coin() -> Model:
    m = Model()
    m.p = Beta(2.0, 3.0)
    m.y = Bernoulli(m.p).iid("n")
    return m


def coins() -> Model:
    m = Model()
    m.p = Beta(2.0, 3.0).iid("n")
    m.y = Bernoulli(m.p).iid(2)
    return m


def counts() -> Model:
    m = Model()
    m.rate = Gamma(2.0, 1.0)
    m.y = Poisson(m.rate).iid("n")
    return m


def letters() -> Model:
    m = Model()
    m.p = Dirichlet([1.0, 2.0, 0.5])
    m.y = Categorical(m.p).iid("n")
    return m


def known_mean() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5)
    m.y = Normal(0.5, precision=m.tau).iid("n")
    return m


def matrix_precision() -> Model:
    m = Model()
    m.precision = Wishart(dof=4.0, scale=COV)
    m.y = MvNormal(np.ones(2), precision=m.precision).iid("n")
    return m


def matrix_covariance() -> Model:
    m = Model()
    m.cov = InverseWishart(dof=5.0, scale=COV)
    m.y = MvNormal(np.ones(2), cov=m.cov).iid("n")
    return m


def common_matrix() -> Model:
    m = Model()
    m.precision = Wishart(dof=4.0, scale=COV)
    m.mu = MvNormal(np.ones(2), precision=0.2 * m.precision)
    m.y = MvNormal(m.mu, precision=m.precision).iid("n")
    return m


def groups_of_common_matrix() -> Model:
    m = Model()
    m.cov = InverseWishart(dof=5.0, scale=COV)
    m.mu = MvNormal(np.ones(2), cov=4.0 * m.cov)
    m.theta = MvNormal(m.mu, cov=2.0 * m.cov).iid("n")
    m.y = MvNormal(m.theta, cov=m.cov)
    return m


def mixture() -> Model:
    m = Model()
    m.z = Categorical([0.6, 0.3, 0.1]).iid("n")
    m.y = Normal(take([0.0, 3.0, 5.0], m.z), variance=1.0)
    return m


def mixture_of_unknown_kind() -> Model:
    m = Model()
    m.kind = Bernoulli(0.4)
    m.z = Categorical(take([[0.9, 0.1], [0.2, 0.8]], m.kind)).iid("n")
    m.y = Normal(take([0.0, 3.0], m.z), variance=take([1.0, 2.0], m.kind))
    return m


def noisy_letters() -> Model:
    m = Model()
    m.kind = Bernoulli(0.4)
    m.z = Categorical(take([[0.9, 0.1], [0.2, 0.8]], m.kind)).iid("n")
    m.y = Categorical(take([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], m.z))
    return m


def regression() -> Model:
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(3), cov=4.0 * np.eye(3))
    m.y = Normal(m.X @ m.w, variance=0.5)
    return m


def by_index() -> Model:
    m = Model()
    m.g = Input("n")
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid(3)
    m.y = Normal(m.theta[m.g], variance=0.5)
    return m
