"""Discrete models that are small enough to be enumerated."""

import numpy as np

from posteriori import (
    Bernoulli,
    Categorical,
    Gamma,
    MvNormal,
    Normal,
    Poisson,
)
from posteriori.modeling import Chain, Input, Model, take

RNG = np.random.default_rng(5)


def tables(*shape: int) -> np.ndarray:
    """Random probabilities on the last axis."""
    return RNG.dirichlet(np.ones(shape[-1]), size=shape[:-1])


PI = tables(3)
A = tables(3, 3)
A_IN_TIME = tables(2, 3, 3)
MU = np.array([-1.0, 0.5, 2.0])
EMISSION = tables(3, 4)
Y = np.array([0.3, 2.2, -0.8, 1.0])
SWITCHED = tables(2, 3, 3)
GROUP = np.array([0, 1, 1, 0, 2, 1])
MEANS = np.array([[0.0, 1.0, 3.0], [-2.0, 0.5, 2.0]])


def single() -> Model:
    m = Model()
    m.z = Categorical(PI)
    m.y = Normal(take(MU, m.z), variance=take([1.0, 0.5, 2.0], m.z))
    return m


def mixture() -> Model:
    m = Model()
    m.z = Categorical(PI).iid("n")
    m.y = Normal(take(MU, m.z), variance=1.0)
    return m


def mixture_on_an_array_axis() -> Model:
    m = Model()
    m.z = Categorical(PI).iid(4)
    m.y = Normal(2.0 * take(MU, m.z) - 1.0 + take(MU**2, m.z), scale=0.8)
    return m


def mixture_of_vectors() -> Model:
    m = Model()
    m.z = Bernoulli(0.3).iid("n")
    covs = np.array([np.eye(2), [[2.0, 0.5], [0.5, 1.0]]])
    m.y = MvNormal(take([[0.0, 0.0], [1.0, -1.0]], m.z), cov=take(covs, m.z))
    return m


def counts() -> Model:
    m = Model()
    m.a = Bernoulli(0.4)
    m.b = Categorical(PI)
    m.y = Poisson(take(take(1.0 + np.arange(6.0).reshape(2, 3), m.a), m.b)).iid("n")
    m.w = Gamma(shape=2.0, rate=take([0.5, 3.0], m.a))
    return m


def a_code_is_a_number() -> Model:
    m = Model()
    m.a = Bernoulli(0.4)
    m.b = Categorical(PI)
    m.y = Normal(1.5 * m.a - m.b, variance=0.5)
    return m


def sprinkler() -> Model:
    m = Model()
    m.cloudy = Bernoulli(0.5)
    m.rain = Bernoulli(take([0.2, 0.8], m.cloudy))
    m.sprinkler = Bernoulli(take([0.5, 0.1], m.cloudy))
    m.wet = Bernoulli(take(take([[0.01, 0.9], [0.9, 0.99]], m.rain), m.sprinkler))
    return m


def two_loops() -> Model:
    m = Model()
    m.a = Categorical(PI)
    m.b = Categorical(take(A, m.a))
    m.c = Bernoulli(take([0.2, 0.5, 0.9], m.a))
    m.d = Categorical(take(take(tables_of["d"], m.b), m.c))
    m.e = Categorical(take(take(tables_of["e"], m.d), m.a))
    return m


tables_of = {"d": tables(3, 2, 3), "e": tables(3, 3, 3)}


def nested_plates() -> Model:
    m = Model()
    m.g = Categorical(PI)
    m.h = Categorical(take(A, m.g)).iid("s")
    m.z = Bernoulli(take([0.2, 0.5, 0.9], m.h)).iid("n")
    m.y = Normal(take([-1.0, 1.0], m.z), variance=1.0)
    return m


def crossed_plates() -> Model:
    m = Model()
    m.a = Bernoulli(0.3).iid("i")
    m.b = Bernoulli(0.6).iid("j")
    m.y = Normal(take(take([[0.0, 1.0], [2.0, -1.0]], m.a), m.b), variance=1.0)
    return m


def groups_by_known_index() -> Model:
    m = Model()
    m.g = Input()
    m.c = Categorical(PI).iid(3)
    m.y = Normal(take(MU, m.c[m.g]), variance=1.0)
    return m


def ring_of_pairs() -> Model:
    m = Model()
    m.i, m.j = Input("pair"), Input("pair")
    m.c = Categorical(PI).iid(4)
    same = np.where(np.eye(3) > 0, 0.8, 0.3)
    m.like = Bernoulli(take(take(same, m.c[m.i]), m.c[m.j]))
    return m


def hidden_markov() -> Model:
    m = Model()
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(A, z)), length="t")
    m.y = Normal(take(MU, m.z), variance=1.0)
    return m


def several_emissions() -> Model:
    m = Model()
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(A, z)), length="t")
    m.x = Categorical(take(EMISSION, m.z))
    m.c = Bernoulli(take([0.1, 0.5, 0.7], m.z))
    m.y = Normal(take(take([[-1.0, 1.0], [0.0, 2.0], [3.0, 4.0]], m.z), m.c), variance=1.0)
    return m


def chain_with_inputs() -> Model:
    m = Model()
    m.u = Input("t")
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(SWITCHED[:, :, :], m.u)[z]), length="t")
    m.y = Normal(take(MU, m.z), variance=1.0)
    return m


def chain_with_given_tables() -> Model:
    m = Model()
    m.P = Input("t")
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(m.P, z)), length="t")
    m.y = Normal(take(MU, m.z), variance=1.0)
    return m


def chain_of_bits() -> Model:
    m = Model()
    m.z = Chain(Bernoulli(0.3), lambda z: Bernoulli(take([0.2, 0.9], z)), length=5)
    m.y = Bernoulli(take([0.1, 0.7], m.z))
    return m


def many_series() -> Model:
    m = Model()
    m.z = Chain(Bernoulli(0.3).iid("s"), lambda z: Bernoulli(take([0.2, 0.9], z)), length="t")
    m.y = Normal(take([0.0, 2.0], m.z), variance=1.0)
    return m


def coupled_chains() -> Model:
    m = Model()
    m.a = Chain(Bernoulli(0.3), lambda z: Bernoulli(take([0.2, 0.9], z)), length="t")
    step = np.array([[[0.1, 0.3, 0.6], [0.5, 0.2, 0.3], [0.2, 0.2, 0.6]], A])
    m.b = Chain(Categorical(PI), lambda z: Categorical(take(take(step, m.a), z)), length="t")
    m.y = Normal(take(MU, m.b), variance=1.0)
    return m


def factorial_chains() -> Model:
    m = Model()
    m.a = Chain(Bernoulli(0.3), lambda z: Bernoulli(take([0.2, 0.9], z)), length="t")
    m.b = Chain(Bernoulli(0.5), lambda z: Bernoulli(take([0.4, 0.7], z)), length="t")
    m.y = Normal(take([0.0, 1.0], m.a) + take([0.0, 3.0], m.b), variance=1.0)
    return m


def chain_under_a_regime() -> Model:
    m = Model()
    m.g = Bernoulli(0.4)
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(take(SWITCHED, m.g), z)), length="t")
    m.y = Normal(take(MU, m.z), variance=1.0)
    return m


def series_with_their_own_tables() -> Model:
    m = Model()
    m.p = Input("s")
    m.z = Chain(Bernoulli(0.3).iid("s"), lambda z: Bernoulli(take(m.p, z)), length="t")
    m.c = Bernoulli(take([0.3, 0.8], m.z))
    m.y = Normal(take([0.0, 2.0], m.c), variance=1.0)
    return m


def series_on_an_array_axis() -> Model:
    m = Model()
    m.z = Chain(Bernoulli([0.3, 0.6]), lambda z: Bernoulli(take([0.2, 0.9], z)), length="t")
    m.y = Normal(take([0.0, 2.0], m.z), variance=[1.0, 0.5])
    return m


def state_and_its_history() -> Model:
    m = Model()
    m.u = Bernoulli(0.4).iid("t")
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(take(SWITCHED, m.u), z)), length="t")
    m.y = Normal(take(MU, m.z), variance=1.0)
    return m


def regime_in_the_emission() -> Model:
    m = Model()
    m.g = Bernoulli(0.4)
    m.z = Chain(Bernoulli(0.3), lambda z: Bernoulli(take([0.2, 0.9], z)), length="t")
    m.y = Normal(take(take([[0.0, 1.0], [2.0, -1.0]], m.g), m.z), variance=1.0)
    return m


def members_of_a_chain() -> Model:
    m = Model()
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(A, z)), length=5)
    m.y = Normal(take(MU, m.z[2:]), variance=1.0)
    m.a = Bernoulli(take([0.1, 0.5, 0.7], m.z[4]))
    m.b = Bernoulli(take([0.3, 0.2, 0.9], m.z[0]))
    m.c = Normal(take([0.0, 2.0], m.b), variance=1.0)
    return m


def steps_of_a_chain() -> Model:
    m = Model()
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(A, z)), length=4)
    m.y = Normal(take(MU, m.z), variance=[1.0, 2.0, 0.5, 1.0])
    m.moved = Normal(take(take(A, m.z[:-1]), m.z[1:]), variance=1.0)
    return m


def chains_of_known_length() -> Model:
    m = Model()
    m.a = Chain(Bernoulli(0.3), lambda z: Bernoulli(take([0.2, 0.9], z)), length=4)
    m.b = Chain(Bernoulli(0.5), lambda z: Bernoulli(take([0.4, 0.7], z)), length=4)
    m.y = Normal(take([0.0, 1.0], m.a) + take([0.0, 3.0], m.b[::-1]), variance=1.0)
    return m


def two_indices_on_an_array_axis() -> Model:
    m = Model()
    m.a = Bernoulli(0.4).iid(3)
    m.b = Categorical(PI).iid(3)
    m.y = Normal(take(take(MEANS, m.a), m.b), variance=1.0)
    m.w = Normal((2.0 * take(MEANS, m.a) - 1.0)[m.b], variance=1.0)
    return m


def one_index_for_all_and_one_for_each() -> Model:
    m = Model()
    m.a = Bernoulli(0.4)
    m.b = Categorical(PI).iid(3)
    m.y = Normal(take(take(MEANS, m.a), m.b), variance=1.0)
    m.w = Normal(take(MEANS.T, m.b)[m.a], variance=1.0)
    return m


def regimes_of_several_series() -> Model:
    m = Model()
    m.d = Bernoulli(0.4)
    m.g = Bernoulli(take([0.3, 0.8], m.d)).iid("s")
    moves = np.array([[0.2, 0.9], [0.6, 0.3]])
    m.z = Chain(Bernoulli(0.3).iid("s"), lambda z: Bernoulli(take(take(moves, m.g), z)), length="t")
    m.y = Normal(take(take([[0.0, 1.0], [2.0, -1.0]], m.g), m.z), variance=1.0)
    return m


def one_regime_of_several_series() -> Model:
    m = Model()
    m.g = Categorical(PI)
    moves = np.array([[0.2, 0.9], [0.6, 0.3], [0.5, 0.1]])
    m.z = Chain(Bernoulli(0.3).iid("s"), lambda z: Bernoulli(take(take(moves, m.g), z)), length="t")
    m.c = Bernoulli(take(take([[0.1, 0.2, 0.9], [0.8, 0.3, 0.4]], m.z), m.g))
    m.y = Normal(take([0.0, 1.0], m.c), variance=1.0)
    return m


def two_regimes() -> Model:
    m = Model()
    m.d = Bernoulli(0.3)
    m.g = Bernoulli(take([0.2, 0.6], m.d))
    m.h = Categorical(take(EMISSION[:2, :3] / EMISSION[:2, :3].sum(1, keepdims=True), m.d))
    m.x = Bernoulli(take([0.3, 0.9], m.d))
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(take(SWITCHED, m.g), z)), length="t")
    m.y = Normal(take(MU, m.z) + take([0.0, 1.0, 3.0], m.h), variance=1.0)
    return m


def an_impossible_regime() -> Model:
    """Regime 1 never leaves a state, regime 2 must start in state 0."""
    m = Model()
    m.g = Categorical(PI)
    moves = np.array([[0.0, 1.0], [1.0, 0.0]])[None] * np.ones((3, 1, 1))
    moves[1] = np.eye(2)
    moves[2] = [[0.5, 0.5], [0.1, 0.9]]
    start = np.array([[0.4, 0.6], [0.5, 0.5], [1.0, 0.0]])
    m.z = Chain(
        Categorical(take(start, m.g)),
        lambda z: Categorical(take(take(moves, m.g), z)),
        length="t",
    )
    m.y = Bernoulli(take(take([[0.0, 1.0], [0.0, 1.0], [1.0, 0.9]], m.g), m.z))
    return m


def an_impossible_regime_of_one_series() -> Model:
    m = Model()
    m.g = Bernoulli(0.4).iid("s")
    moves = np.array([np.eye(2), [[0.5, 0.5], [0.1, 0.9]]])
    m.z = Chain(
        Categorical([0.5, 0.5]).iid("s"),
        lambda z: Categorical(take(take(moves, m.g), z)),
        length="t",
    )
    m.y = Bernoulli(take([0.0, 1.0], m.z))
    return m


def regions() -> Model:
    m = Model()
    m.h = Categorical(PI)
    m.z = Categorical(take(A, m.h)).iid("n")
    m.y = Normal(take(MU, m.z), variance=1.0)
    return m
