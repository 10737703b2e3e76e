"""Small models that need variational inference, each with data that fit it."""

from typing import Any, NamedTuple

import numpy as np

from posteriori import (
    Categorical,
    Chain,
    Dirichlet,
    Gamma,
    Input,
    Model,
    MvNormal,
    Normal,
    Poisson,
    Wishart,
)

__all__ = ["CASES", "Case"]


class Case(NamedTuple):
    """A model with its data."""

    model: Model
    data: dict[str, Any]


def _location_and_precision() -> Case:
    rng = np.random.default_rng(1)
    m = Model()
    m.mu = Normal(0, variance=100)
    m.tau = Gamma(1, rate=1)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    return Case(m, {"x": rng.normal(3, 2, 12)})


def _regression() -> Case:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 3))
    m = Model()
    m.X = Input("n")
    m.w = Normal(0, variance=10).iid(3)
    m.tau = Gamma(2, rate=1)
    m.y = Normal(m.X @ m.w, precision=m.tau)
    return Case(m, {"X": X, "y": X @ [1.0, -2.0, 0.5] + 0.7 * rng.normal(size=20)})


def _groups() -> Case:
    m = Model()
    m.mu = Normal(0, variance=1000)
    m.tau = Gamma(3, rate=100)
    m.theta = Normal(m.mu, precision=m.tau).iid("g")
    m.noise = Input("g")
    m.y = Normal(m.theta, variance=m.noise)
    y = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
    return Case(m, {"y": y, "noise": np.array([15.0, 10, 16, 11, 9, 11, 10, 18]) ** 2})


def _mixture() -> Case:
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal([0, 0], 1, (25, 2)), rng.normal([6, 3], [0.5, 1.5], (15, 2))])
    m = Model()
    m.pi = Dirichlet(0.3 * np.ones(3))
    m.mu = MvNormal(np.zeros(2), cov=10 * np.eye(2)).iid(3)
    m.precision = Wishart(5, np.eye(2)).iid(3)
    m.z = Categorical(m.pi).iid("n")
    m.x = MvNormal(m.mu[m.z], precision=m.precision[m.z])
    return Case(m, {"x": x})


def _counts() -> Case:
    rng = np.random.default_rng(4)
    m = Model()
    m.pi = Dirichlet([2.0, 2.0])
    m.rate = Gamma([2.0, 2.0], rate=[1.0, 0.1])
    m.z = Categorical(m.pi, labels=("few", "many")).iid("n")
    m.x = Poisson(m.rate[m.z])
    return Case(m, {"x": np.concatenate([rng.poisson(1.0, 12), rng.poisson(20.0, 8)])})


def _factors() -> Case:
    rng = np.random.default_rng(5)
    y = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 4)) + 0.3 * rng.normal(size=(30, 4))
    m = Model()
    m.alpha = Gamma(2, rate=1).iid(2)
    m.W = Normal(0, precision=m.alpha).iid(4)
    m.b = Normal(0, variance=100).iid(4)
    m.tau = Gamma(2, rate=0.1)
    m.z = MvNormal(np.zeros(2), cov=np.eye(2)).iid("n")
    m.y = Normal(m.W @ m.z + m.b, precision=m.tau)
    return Case(m, {"y": y + np.arange(4.0)})


def _hidden_markov() -> Case:
    rng = np.random.default_rng(6)
    z = (np.cumsum(rng.random(30) < 0.15) % 2).astype(int)
    m = Model()
    m.first = Dirichlet(np.ones(2))
    m.A = Dirichlet(np.ones((2, 2)))
    m.mu = Normal(0, variance=25).iid(2)
    m.tau = Gamma(3, rate=3).iid(2)
    m.z = Chain(Categorical(m.first), lambda z: Categorical(m.A[z]), length="t")
    m.y = Normal(m.mu[m.z], precision=m.tau[m.z])
    return Case(m, {"y": np.array([-2.0, 3.0])[z] + rng.normal(size=30)})


def _linear_dynamics() -> Case:
    rng = np.random.default_rng(7)
    s = np.zeros(25)
    for t in range(1, 25):
        s[t] = 0.9 * s[t - 1] + 0.5 * rng.normal()
    m = Model()
    m.a = Normal(0, variance=1)
    m.q = Gamma(3, rate=1)
    m.r = Gamma(3, rate=1)
    m.s = Chain(Normal(0, variance=1), lambda s: Normal(m.a * s, precision=m.q), length="t")
    m.y = Normal(m.s, precision=m.r)
    return Case(m, {"y": s + 0.3 * rng.normal(size=25)})


CASES = {
    "location and precision": _location_and_precision,
    "regression": _regression,
    "groups": _groups,
    "mixture": _mixture,
    "counts": _counts,
    "factors": _factors,
    "hidden Markov": _hidden_markov,
    "linear dynamics": _linear_dynamics,
}
