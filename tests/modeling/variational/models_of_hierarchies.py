"""Models of one level and hierarchies, with data."""

import numpy as np

from posteriori import (
    Gamma,
    InverseGamma,
    InverseWishart,
    MvNormal,
    Normal,
    Poisson,
    Wishart,
)
from posteriori.modeling import Input, Model
from tests.modeling.variational.cases import Case, listed, noise

__all__ = ["CASES"]

CASES: list[Case] = []
case = listed(CASES)


@case
def mean_and_precision():
    m = Model()
    m.mu = Normal(1.0, variance=4.0)
    m.tau = Gamma(2.0, rate=1.5)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    return m, {"x": 3.0 + noise(7)}


@case
def ard_regression():
    m = Model()
    m.X = Input("n")
    m.alpha = Gamma(2.0, rate=1.0).iid(3)
    m.beta = Gamma(2.0, rate=0.5)
    m.w = Normal(0.0, precision=m.alpha)
    m.y = Normal(m.X @ m.w, precision=m.beta)
    x = noise(9, 3, seed=1)
    return m, {"X": x, "y": x @ [1.0, -2.0, 0.0] + 0.5 * noise(9, seed=2)}


@case
def eight_schools():
    m = Model()
    m.mu = Normal(0.0, variance=400.0)
    m.tau = Gamma(2.0, rate=20.0)
    m.theta = Normal(m.mu, precision=m.tau).iid("school")
    m.noise = Input("school")
    m.y = Normal(m.theta, variance=m.noise)
    return m, {
        "noise": np.array([15, 10, 16, 11, 9, 11, 10, 18]) ** 2.0,
        "y": np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]),
    }


@case
def ragged_groups():
    m = Model()
    group = np.array([0, 0, 1, 2, 2, 2, 3, 3, 0])
    m.mu = Normal(0.0, variance=4.0)
    m.between = Gamma(2.0, rate=1.0)
    m.within = Gamma(3.0, rate=1.0)
    m.theta = Normal(m.mu, precision=m.between).iid(4)
    m.y = Normal(m.theta[group], precision=m.within)
    return m, {"y": 0.7 * group + noise(9, seed=3)}


@case
def rates_of_rates():
    m = Model()
    m.b = Gamma(2.0, rate=1.0)
    m.rate = Gamma(1.5, rate=m.b).iid("n")
    m.y = Poisson(m.rate).iid(3)
    return m, {"y": np.random.default_rng(4).poisson(3.0, (3, 5)).T.astype(float)}


@case
def unknown_variance():
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.v = InverseGamma(3.0, scale=2.0)
    m.x = Normal(m.mu, variance=m.v).iid("n")
    return m, {"x": 1.0 + noise(6, seed=5)}


@case
def unknown_covariance():
    m = Model()
    m.mu = MvNormal(np.zeros(2), cov=4.0 * np.eye(2))
    m.S = InverseWishart(5.0, scale=2.0 * np.eye(2))
    m.x = MvNormal(m.mu, cov=m.S).iid("n")
    return m, {"x": noise(7, 2, seed=6) @ np.array([[1.0, 0.5], [0.0, 1.0]]) + 1.0}


@case
def parts_of_vectors_missing():
    m = Model()
    m.mu = MvNormal(np.zeros(3), cov=4.0 * np.eye(3))
    m.L = Wishart(5.0, scale=0.3 * np.eye(3))
    m.x = MvNormal(m.mu, precision=m.L).iid("n")
    x = noise(7, 3, seed=7)
    x[1, 0] = x[3, 1:] = x[5] = np.nan
    return m, {"x": x}
