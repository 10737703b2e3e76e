"""Mixtures, with data."""

import numpy as np

from posteriori import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    MvNormal,
    Normal,
    Poisson,
    Wishart,
)
from posteriori.modeling import Input, Model, dot, take
from tests.modeling.variational.cases import Case, clusters, listed, noise

__all__ = ["CASES"]

CASES: list[Case] = []
case = listed(CASES)


@case
def wishart_mixture():
    m = Model()
    m.pi = Dirichlet(0.7 * np.ones(3))
    m.mu = MvNormal(np.zeros(2), cov=4.0 * np.eye(2)).iid(3)
    m.L = Wishart(4.0, scale=0.5 * np.eye(2)).iid(3)
    m.z = Categorical(m.pi).iid("n")
    m.x = MvNormal(m.mu[m.z], precision=m.L[m.z])
    return m, {"x": clusters(8, 2)}


@case
def shared_precision_mixture():
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.mu = MvNormal(np.zeros(3), cov=4.0 * np.eye(3)).iid(2)
    m.L = Wishart(5.0, scale=0.3 * np.eye(3))
    m.z = Categorical(m.pi).iid("n")
    m.x = MvNormal(m.mu[m.z], precision=m.L)
    return m, {"x": clusters(7, 3, seed=8)}


@case
def univariate_mixture():
    m = Model()
    m.pi = Dirichlet([1.0, 2.0])
    m.mu = Normal(0.0, variance=9.0).iid(2)
    m.tau = Gamma(2.0, rate=1.0).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Normal(m.mu[m.z], precision=m.tau[m.z])
    x = clusters(9, seed=9)
    x[4] = np.nan
    return m, {"x": x}


@case
def bernoulli_mixture():
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.p = Beta(1.0, 1.5).iid(4).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Bernoulli(m.p[m.z])
    x = (clusters(7, 4, seed=10) > 0).astype(float)
    x[2, 1] = np.nan
    return m, {"x": x}


@case
def poisson_mixture():
    m = Model()
    m.pi = Dirichlet(np.ones(3))
    m.rate = Gamma(1.5, rate=0.5).iid(3)
    m.z = Categorical(m.pi).iid("n")
    m.x = Poisson(m.rate[m.z])
    return m, {"x": np.array([0.0, 9.0, 1.0, 12.0, 3.0, 8.0, 0.0])}


@case
def latent_class():
    """Answers to several questions, independent given the class."""
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.p = Dirichlet(np.array([0.5, 1.0, 2.0])).iid(4).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Categorical(m.p[m.z])
    return m, {"x": np.random.default_rng(11).integers(0, 3, (6, 4)).astype(float)}


@case
def binomial_mixture():
    m = Model()
    m.trials = Input("n")
    m.pi = Dirichlet(np.ones(2))
    m.p = Beta(1.0, 1.0).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Binomial(m.trials, probability=m.p[m.z])
    return m, {"trials": np.array([5.0, 8.0, 6.0, 9.0, 7.0]), "x": [4.0, 1.0, 6.0, 2.0, 6.0]}


@case
def exponential_mixture():
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.rate = Gamma(1.5, rate=1.0).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Exponential(m.rate[m.z])
    return m, {"x": np.array([0.1, 8.0, 0.3, 11.0, 0.2, 6.0])}


@case
def mixture_of_regressions():
    m = Model()
    m.X = Input("n")
    m.pi = Dirichlet(np.ones(2))
    m.w = MvNormal(np.zeros(2), cov=9.0 * np.eye(2)).iid(2)
    m.tau = Gamma(2.0, rate=1.0).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.y = Normal(dot(m.X, m.w[m.z]), precision=m.tau[m.z])
    x = np.column_stack([np.ones(9), noise(9, seed=12)])
    y = np.where(np.arange(9) % 2, x @ [1.0, 3.0], x @ [-1.0, -3.0])
    return m, {"X": x, "y": y + 0.3 * noise(9, seed=13)}


@case
def two_gates():
    m = Model()
    m.pa = Dirichlet(np.ones(2))
    m.pb = Dirichlet(np.ones(3))
    m.mu = Normal(0.0, variance=9.0).iid(3).iid(2)
    m.tau = Gamma(2.0, rate=1.0)
    m.a = Categorical(m.pa).iid("n")
    m.b = Categorical(m.pb).iid("n")
    m.x = Normal(m.mu[m.a, m.b], precision=m.tau)
    return m, {"x": 3.0 * noise(7, seed=14)}


@case
def known_means_taken():
    """Known means, unknown weights and one unknown precision for each class."""
    m = Model()
    m.pi = Dirichlet(np.ones(3))
    m.tau = Gamma(2.0, rate=1.0).iid(3)
    m.z = Categorical(m.pi).iid("n")
    m.x = Normal(take([-2.0, 0.0, 2.0], m.z), precision=m.tau[m.z])
    return m, {"x": clusters(8, seed=15)}


@case
def topic_model():
    """Words of documents, each with weights of its own."""
    m = Model()
    document = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
    m.theta = Dirichlet(np.ones(2)).iid(3)
    m.phi = Dirichlet(0.5 * np.ones(4)).iid(2)
    m.z = Categorical(m.theta[document])
    m.w = Categorical(m.phi[m.z])
    return m, {"w": np.array([0.0, 1.0, 0.0, 2.0, 3.0, 2.0, 1.0, 0.0, 3.0])}
