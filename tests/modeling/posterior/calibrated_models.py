"""Models of the gallery at small sizes, to be drawn from and inferred.

Priors tell classes, states and signs apart: where they could change places, no truth belongs to any
of them.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from posteriori import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Gamma,
    MvNormal,
    Normal,
    Poisson,
)
from posteriori.distributions import HalfNormal
from posteriori.modeling import Chain, Input, Model, take

__all__ = ["STUDIES", "Study", "mixture", "walk"]

X = np.column_stack([np.ones(8), np.linspace(-1.0, 2.0, 8), np.linspace(-1.0, 2.0, 8) ** 2])
WIDE = np.random.default_rng(0).normal(size=(15, 5))
LINE = np.column_stack([np.ones(30), np.linspace(-2.0, 2.0, 30)])
STEP = np.array([[0.95, 0.05], [0.0, 1.0]])
LASTING = np.array([[0.9, 0.1], [0.1, 0.9]])


class Study(NamedTuple):
    """A model to draw from, its inputs, the sizes of its plates, and how to infer."""

    build: Callable[[], Model]
    plates: Mapping[str, int] = {}
    inputs: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}


def conjugate() -> Model:
    """Mean and precision whose priors belong together: exact, for comparison."""
    m = Model()
    m.tau = Gamma(shape=2.0, rate=1.0)
    m.mu = Normal(0.0, precision=0.25 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


def mean_and_precision() -> Model:
    m = Model()
    m.tau = Gamma(shape=2.0, rate=1.0)
    m.mu = Normal(0.0, variance=4.0)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


def regression() -> Model:
    m = Model()
    m.X = Input()
    m.tau = Gamma(shape=3.0, rate=1.0)
    m.w = MvNormal(np.zeros(3), cov=np.eye(3))
    m.y = Normal(m.X @ m.w, precision=m.tau)
    return m


def groups() -> Model:
    m = Model()
    m.between = Gamma(shape=2.0, rate=2.0)
    m.mu = Normal(0.0, variance=4.0)
    m.theta = Normal(m.mu, precision=m.between).iid("g")
    m.y = Normal(m.theta, variance=1.0)
    return m


def mixture(distance: float) -> Model:
    """Two classes whose priors tell them apart."""
    m = Model()
    m.pi = Dirichlet([2.0, 2.0])
    m.mu = Normal([-0.5 * distance, 0.5 * distance], variance=0.5)
    m.tau = Gamma(shape=4.0, rate=4.0)
    m.z = Categorical(m.pi).iid("n")
    m.y = Normal(m.mu[m.z], precision=m.tau)
    return m


def walk() -> Model:
    m = Model()
    m.step = Gamma(shape=3.0, rate=1.0)
    m.noise = Gamma(shape=3.0, rate=2.0)
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, precision=m.step), length="t")
    m.y = Normal(m.s, precision=m.noise)
    return m


def hidden_markov() -> Model:
    m = Model()
    move = np.array([[0.9, 0.1], [0.2, 0.8]])
    m.mu = Normal([-1.0, 1.0], variance=0.5)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(move, z)), length="t")
    m.y = Normal(m.mu[m.z], variance=0.5)
    return m


def relevance() -> Model:
    m = Model()
    m.X = Input()
    m.alpha = Gamma(shape=2.0, rate=2.0).iid(5)
    m.w = Normal(0.0, precision=m.alpha)
    m.tau = Gamma(shape=3.0, rate=1.0)
    m.y = Normal(m.X @ m.w, precision=m.tau)
    return m


def schools() -> Model:
    m = Model()
    m.tau = HalfNormal(scale=1.0)
    m.mu = Normal(0.0, scale=2.0)
    m.theta = Normal(m.mu, scale=m.tau).iid("g")
    m.y = Normal(m.theta, scale=1.0)
    return m


def seeds() -> Model:
    m = Model()
    m.a = Gamma(shape=2.0, rate=0.5)
    m.b = Gamma(shape=2.0, rate=0.5)
    m.p = Beta(m.a, m.b).iid("g")
    m.y = Binomial(10, m.p)
    return m


def votes() -> Model:
    m = Model()
    m.pi = Dirichlet([2.0, 2.0])
    m.p = Beta(np.array([[2.0] * 4, [4.0] * 4]), np.array([[4.0] * 4, [2.0] * 4]))
    m.z = Categorical(m.pi).iid("n")
    m.y = Bernoulli(m.p[m.z])
    return m


def calls() -> Model:
    m = Model()
    m.pi = Dirichlet([2.0, 2.0])
    m.rate = Gamma(shape=[4.0, 16.0], rate=2.0)
    m.z = Categorical(m.pi).iid("n")
    m.y = Poisson(m.rate[m.z])
    return m


def two_lines() -> Model:
    m = Model()
    m.X = Input("n")
    m.pi = Dirichlet([2.0, 2.0])
    m.w = MvNormal(np.array([[0.0, -1.0], [0.0, 1.0]]), cov=0.25 * np.eye(2))
    m.tau = Gamma(shape=4.0, rate=1.0)
    m.z = Categorical(m.pi).iid("n")
    m.y = Normal(m.X @ m.w[m.z], precision=m.tau)
    return m


def change() -> Model:
    m = Model()
    m.rate = Gamma(shape=[6.0, 2.0], rate=2.0)
    m.z = Chain(Categorical([1.0, 0.0]), lambda z: Categorical(take(STEP, z)), length="t")
    m.y = Poisson(m.rate[m.z])
    return m


def moves() -> Model:
    """A hidden Markov model whose moves are unknown."""
    m = Model()
    m.A = Dirichlet(np.array([[4.0, 1.0], [1.0, 4.0]]))
    m.mu = Normal([-1.0, 1.0], variance=0.25)
    m.tau = Gamma(shape=4.0, rate=2.0)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.A[z]), length="t")
    m.y = Normal(m.mu[m.z], precision=m.tau)
    return m


def letters() -> Model:
    m = Model()
    m.A = Dirichlet(np.array([[4.0, 1.0], [1.0, 4.0]]))
    m.B = Dirichlet(np.array([[5.0, 2.0, 1.0], [1.0, 2.0, 5.0]]))
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.A[z]), length="t")
    m.y = Categorical(m.B[m.z])
    return m


def appliances() -> Model:
    m = Model()
    m.mu = Normal([1.0, 2.0], variance=0.25)
    for name in ("z0", "z1"):
        m[name] = Chain(
            Categorical([0.5, 0.5]), lambda z: Categorical(take(LASTING, z)), length="t"
        )
    m.y = Normal(m.mu[0] * take([0.0, 1.0], m.z0) + m.mu[1] * take([0.0, 1.0], m.z1), variance=0.25)
    return m


def one_factor() -> Model:
    m = Model()
    m.W = Normal(1.0, variance=0.25).iid(4)
    m.tau = Gamma(shape=4.0, rate=2.0).iid(4)
    m.z = Normal(0.0, variance=1.0).iid("n")
    m.y = Normal(m.W * m.z, precision=m.tau)
    return m


def ratings() -> Model:
    m = Model()
    m.u = Normal(1.0, variance=0.25).iid("person")
    m.v = Normal(1.0, variance=0.25).iid("film")
    m.tau = Gamma(shape=4.0, rate=2.0)
    m.y = Normal(m.u * m.v, precision=m.tau)
    return m


def linear_system() -> Model:
    m = Model()
    m.a = Normal(0.7, variance=0.04)
    m.noise = Gamma(shape=4.0, rate=2.0)
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(m.a * s, variance=0.5), length="t")
    m.y = Normal(m.s, precision=m.noise)
    return m


def regimes() -> Model:
    m = Model()
    m.a = Normal([-0.5, 0.9], variance=0.01)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(LASTING, z)), length="t")
    m.s = Chain(
        Normal(0.0, variance=1.0), lambda s: Normal(m.a[m.z] * s, variance=0.25), length="t"
    )
    m.y = Normal(m.s, variance=0.05)
    return m


#: Beliefs between groups where an integral would be the default.
VMP = {"method": "vmp"}

STUDIES = {
    "mean and precision, conjugate (exact)": Study(conjugate, {"n": 5}),
    "mean and precision, 5 data (integrated)": Study(mean_and_precision, {"n": 5}),
    "mean and precision, 5 data": Study(mean_and_precision, {"n": 5}, options=VMP),
    "mean and precision, 50 data": Study(mean_and_precision, {"n": 50}, options=VMP),
    "regression, 8 data": Study(regression, inputs={"X": X}, options=VMP),
    "relevance of 5 inputs, 15 data": Study(relevance, inputs={"X": WIDE}, options=VMP),
    "8 groups (integrated)": Study(groups, {"g": 8}),
    "8 groups": Study(groups, {"g": 8}, options=VMP),
    "40 groups": Study(groups, {"g": 40}, options=VMP),
    "eight schools (integrated)": Study(schools, {"g": 8}),
    "seeds, 8 plates (integrated)": Study(seeds, {"g": 8}),
    "two classes, 30 data": Study(partial(mixture, 3.0), {"n": 30}, options=VMP),
    "two classes far apart, 30 data": Study(partial(mixture, 10.0), {"n": 30}, options=VMP),
    "two classes of votes, 30 voters": Study(votes, {"n": 30}, options=VMP),
    "two rates of calls, 30 days": Study(calls, {"n": 30}, options=VMP),
    "two lines, 30 data": Study(two_lines, inputs={"X": LINE}, options=VMP),
    "change point, 30 years (summed)": Study(change, {"t": 30}),
    "change point, 30 years": Study(change, {"t": 30}, options=VMP),
    "hidden Markov chain, 20 steps (drawn)": Study(hidden_markov, {"t": 20}),
    "hidden Markov chain, 20 steps": Study(hidden_markov, {"t": 20}, options=VMP),
    "hidden Markov chain with moves, 60 steps (integrated)": Study(moves, {"t": 60}),
    "hidden Markov chain with moves, 60 steps": Study(moves, {"t": 60}, options=VMP),
    "letters with moves, 60 steps (drawn)": Study(letters, {"t": 60}),
    "letters with moves, 60 steps": Study(letters, {"t": 60}, options=VMP),
    "two chains apart, 20 steps": Study(
        appliances, {"t": 20}, options={"factorize": [("z0", "z1")]}
    ),
    "one factor, 30 rows": Study(one_factor, {"n": 30}, options=VMP),
    "ratings, 10 people and 8 films": Study(ratings, {"person": 10, "film": 8}, options=VMP),
    "random walk, 20 steps (integrated)": Study(walk, {"t": 20}),
    "random walk, 20 steps": Study(walk, {"t": 20}, options=VMP),
    "linear system, 30 steps": Study(linear_system, {"t": 30}, options=VMP),
    "two regimes, 40 steps": Study(regimes, {"t": 40}, options=VMP),
}
