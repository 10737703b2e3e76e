"""Discrete models of every shape against the enumeration of all configurations."""

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posteriori import (
    Bernoulli,
    Beta,
    Categorical,
    Gamma,
    MvNormal,
    Normal,
    Poisson,
)
from posteriori.distributions import JointTable, Mixture
from posteriori.modeling import Chain, Input, Model, take
from tests.modeling.enumeration import Unknown, enumerate_model

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


class Case(NamedTuple):
    build: Callable[[], Model]
    data: dict[str, Any]
    unknowns: dict[str, Unknown]
    method: str


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


T3, T4 = Unknown((3,), 3), Unknown((4,), 3)
CASES = {
    "one datum": Case(single, {"y": 0.4}, {"z": Unknown((), 3)}, "elimination"),
    "mixture": Case(mixture, {"y": Y}, {"z": T4}, "elimination"),
    "mixture on an array axis": Case(mixture_on_an_array_axis, {"y": Y}, {"z": T4}, "elimination"),
    "mixture of vectors": Case(
        mixture_of_vectors, {"y": RNG.normal(size=(5, 2))}, {"z": Unknown((5,), 2)}, "elimination"
    ),
    "counts": Case(
        counts,
        {"y": [3, 0, 4], "w": 0.7},
        {"a": Unknown((), 2), "b": Unknown((), 3)},
        "elimination",
    ),
    "a code is a number": Case(
        a_code_is_a_number, {"y": 0.2}, {"a": Unknown((), 2), "b": Unknown((), 3)}, "elimination"
    ),
    "sprinkler": Case(
        sprinkler,
        {"wet": 1},
        {n: Unknown((), 2) for n in ("cloudy", "rain", "sprinkler")},
        "elimination",
    ),
    "two loops": Case(
        two_loops,
        {"e": 1},
        {"a": Unknown((), 3), "b": Unknown((), 3), "c": Unknown((), 2), "d": Unknown((), 3)},
        "elimination",
    ),
    "nested plates": Case(
        nested_plates,
        {"y": RNG.normal(size=(2, 2))},
        {"g": Unknown((), 3), "h": Unknown((2,), 3), "z": Unknown((2, 2), 2)},
        "elimination",
    ),
    "crossed plates": Case(
        crossed_plates,
        {"y": RNG.normal(size=(2, 3))},
        {"a": Unknown((2,), 2), "b": Unknown((3,), 2)},
        "member by member",
    ),
    "groups by a known index": Case(
        groups_by_known_index, {"g": GROUP, "y": RNG.normal(size=6)}, {"c": T3}, "elimination"
    ),
    "ring of pairs": Case(
        ring_of_pairs,
        {"i": [0, 1, 2, 3], "j": [1, 2, 3, 0], "like": [1, 0, 1, 1]},
        {"c": T4},
        "member by member",
    ),
    "hidden Markov model": Case(hidden_markov, {"y": Y}, {"z": T4}, "forward-backward"),
    "several emissions": Case(
        several_emissions,
        {"x": [0, 3, np.nan], "y": [0.2, 1.0, 2.5]},
        {"z": T3, "c": Unknown((3,), 2), "x": Unknown((3,), 4)},
        "forward-backward",
    ),
    "chain with inputs": Case(
        chain_with_inputs, {"u": [0, 1, 1, 0], "y": Y}, {"z": T4}, "forward-backward"
    ),
    "chain with given tables": Case(
        chain_with_given_tables, {"P": tables(4, 3, 3), "y": Y}, {"z": T4}, "forward-backward"
    ),
    "chain of bits with a gap": Case(
        chain_of_bits,
        {"y": [1, 0, np.nan, 1, 1]},
        {"z": Unknown((5,), 2), "y": Unknown((5,), 2)},
        "forward-backward",
    ),
    "many series": Case(
        many_series, {"y": RNG.normal(size=(3, 2))}, {"z": Unknown((3, 2), 2)}, "forward-backward"
    ),
    "coupled chains": Case(
        coupled_chains,
        {"y": Y[:3]},
        {"a": Unknown((3,), 2), "b": T3},
        "forward-backward",
    ),
    "factorial chains": Case(
        factorial_chains,
        {"y": Y},
        {"a": Unknown((4,), 2), "b": Unknown((4,), 2)},
        "forward-backward",
    ),
    "series with their own tables": Case(
        series_with_their_own_tables,
        {"p": [[0.2, 0.9], [0.6, 0.5]], "y": RNG.normal(size=(2, 2))},
        {"z": Unknown((2, 2), 2), "c": Unknown((2, 2), 2)},
        "forward-backward",
    ),
    "series on an array axis": Case(
        series_on_an_array_axis,
        {"y": RNG.normal(size=(3, 2))},
        {"z": Unknown((3, 2), 2)},
        "forward-backward",
    ),
    "unknown inputs of a chain": Case(
        state_and_its_history, {"y": Y[:3]}, {"u": Unknown((3,), 2), "z": T3}, "forward-backward"
    ),
    "regime in the emission": Case(
        regime_in_the_emission,
        {"y": Y},
        {"g": Unknown((), 2), "z": Unknown((4,), 2)},
        "forward-backward",
    ),
    "members of a chain": Case(
        members_of_a_chain,
        {"y": Y[:3], "a": 1, "c": 0.3},
        {"z": Unknown((5,), 3), "b": Unknown((), 2)},
        "forward-backward",
    ),
    "observed members of a chain": Case(
        members_of_a_chain,
        {"y": Y[:3], "a": 1, "b": 0, "c": 0.3},
        {"z": Unknown((5,), 3)},
        "forward-backward",
    ),
    "steps of a chain": Case(
        steps_of_a_chain, {"y": Y, "moved": Y[:3]}, {"z": T4}, "forward-backward"
    ),
    "chains of known length": Case(
        chains_of_known_length,
        {"y": Y},
        {"a": Unknown((4,), 2), "b": Unknown((4,), 2)},
        "member by member",
    ),
    "two indices on an array axis": Case(
        two_indices_on_an_array_axis,
        {"y": Y[:3], "w": Y[1:]},
        {"a": Unknown((3,), 2), "b": T3},
        "elimination",
    ),
    "the first of two indices known": Case(
        two_indices_on_an_array_axis,
        {"a": [0, 1, 1], "y": Y[:3], "w": Y[1:]},
        {"b": T3},
        "elimination",
    ),
    "the second of two indices known": Case(
        two_indices_on_an_array_axis,
        {"b": [0, 2, 2], "y": Y[:3], "w": Y[1:]},
        {"a": Unknown((3,), 2)},
        "elimination",
    ),
    "one index for all and one for each": Case(
        one_index_for_all_and_one_for_each,
        {"y": Y[:3], "w": Y[1:]},
        {"a": Unknown((), 2), "b": T3},
        "elimination",
    ),
    "some states known": Case(
        regions,
        {"z": [np.nan, 2, 0, np.nan], "y": Y},
        {"h": Unknown((), 3), "z": T4},
        "elimination",
    ),
    "some states of a chain known": Case(
        hidden_markov, {"z": [np.nan, 1, np.nan, 2], "y": Y}, {"z": T4}, "forward-backward"
    ),
    "chain under a regime": Case(
        chain_under_a_regime, {"y": Y}, {"g": Unknown((), 2), "z": T4}, "forward-backward"
    ),
    "regimes of several series": Case(
        regimes_of_several_series,
        {"y": RNG.normal(size=(2, 3))},
        {"d": Unknown((), 2), "g": Unknown((2,), 2), "z": Unknown((3, 2), 2)},
        "forward-backward",
    ),
    "one regime of several series": Case(
        one_regime_of_several_series,
        {"y": RNG.normal(size=(2, 2))},
        {"g": Unknown((), 3), "z": Unknown((2, 2), 2), "c": Unknown((2, 2), 2)},
        "forward-backward",
    ),
    "two regimes": Case(
        two_regimes,
        {"x": 1, "y": Y[:3]},
        {"d": Unknown((), 2), "g": Unknown((), 2), "h": Unknown((), 3), "z": T3},
        "forward-backward",
    ),
    "an impossible regime": Case(
        an_impossible_regime,
        {"y": [1, 0, 1, 1]},
        {"g": Unknown((), 3), "z": Unknown((4,), 2)},
        "forward-backward",
    ),
    "an impossible regime of one series": Case(
        an_impossible_regime_of_one_series,
        {"y": [[1, 1], [0, 1], [1, 1]]},
        {"g": Unknown((2,), 2), "z": Unknown((3, 2), 2)},
        "forward-backward",
    ),
}


def shares(d: Any) -> np.ndarray:
    """Probabilities of the states of a marginal."""
    if isinstance(d, Bernoulli):
        return np.stack([1.0 - d.probability, d.probability], axis=-1)
    return d.probabilities


@pytest.fixture(scope="module", params=CASES, ids=str)
def answers(request):
    case = CASES[request.param]
    model = case.build()
    truth = enumerate_model(model, case.data, case.unknowns)
    return case, model, truth, model.infer(case.data)


@pytest.mark.topic("004/3.13", "004/3.25")
def test_evidence_and_marginals(answers) -> None:
    case, _, truth, post = answers
    assert float(post.log_evidence) == pytest.approx(truth.log_evidence, abs=1e-11)
    for name in case.unknowns:
        if name not in post._plan.bound.observed:
            np.testing.assert_allclose(shares(post[name]), truth.marginals[name], atol=1e-12)


def test_the_best_configuration(answers) -> None:
    case, _, truth, post = answers
    names = [name for name in case.unknowns if name not in post._plan.bound.observed]
    weights: dict[tuple[float, ...], float] = {}
    for values, p in zip(truth.configurations, truth.probabilities, strict=True):
        key = tuple(np.concatenate([values[name].ravel() for name in names]))
        weights[key] = weights.get(key, 0.0) + p
    first, second = sorted(weights.values())[:-3:-1]
    assert first - second > 1e-9
    best = post.most_likely()
    found = np.concatenate([np.ravel(best[name]) for name in names])
    np.testing.assert_array_equal(found, max(weights, key=weights.__getitem__))


def test_the_joint_table(answers) -> None:
    case, _, truth, post = answers
    names = [n for n in case.unknowns if n not in post._plan.bound.observed][:2]
    if (
        np.prod([float(case.unknowns[n].states) ** np.prod(case.unknowns[n].shape) for n in names])
        > 1000
    ):
        names = names[:1]
    table = post.joint(*names)
    assert isinstance(table, JointTable)
    flat = [np.concatenate([c[n].ravel() for n in names]) for c in truth.configurations]
    expected = np.zeros(table.shape)
    for index, p in zip(flat, truth.probabilities, strict=True):
        expected[tuple(index.astype(int))] += p
    np.testing.assert_allclose(table.probabilities, expected, atol=1e-12)


def test_draws_have_the_marginals(answers) -> None:
    case, _, truth, post = answers
    draws = post.sample(2000, rng=3)
    for name, (shape, states) in case.unknowns.items():
        if name in post._plan.bound.observed:
            continue
        assert draws[name].shape == (2000, *shape)
        p = truth.marginals[name]
        seen = (draws[name][..., None] == np.arange(states)).mean(axis=0)
        assert np.all(np.abs(seen - p) <= 5.0 * np.sqrt(p * (1.0 - p) / 2000) + 1e-9)


def test_the_plan_says_what_runs(answers) -> None:
    case, model, _, _ = answers
    assert case.method in repr(model.plan(case.data))


def test_simulated_values_have_a_joint_density(answers) -> None:
    case, model, _, _ = answers
    inputs = {n: v for n, v in case.data.items() if n in model._inputs}
    told = {plate for name in inputs for plate in model[name].plates}
    sizes = {"n": 3, "s": 2, "i": 2, "j": 2, "t": 4}
    plates = {plate: size for plate, size in sizes.items() if plate not in told}
    values = model.simulate(plates=plates, rng=1, **inputs)
    assert np.isfinite(model.log_joint({**values, **inputs}))


# -- random networks -------------------------------------------------------------------------


@st.composite
def networks(draw) -> tuple[Model, dict[str, Any], dict[str, Unknown]]:
    """Up to five variables of two or three states, each with up to three parents before it."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    count = draw(st.integers(2, 5))
    m = Model()
    sizes: dict[str, int] = {}
    for i in range(count):
        name = f"v{i}"
        parents = (
            draw(st.lists(st.sampled_from(sorted(sizes)), max_size=3, unique=True)) if i else []
        )
        size = draw(st.integers(2, 3))
        table: Any = rng.dirichlet(np.full(size, 0.7), size=[sizes[p] for p in parents])
        for parent in parents:
            table = take(table, m[parent])
        if size == 2 and draw(st.booleans()):
            table = table[..., 1]
            m[name] = Bernoulli(table)
        else:
            m[name] = Categorical(table)
        sizes[name] = size
    observed = draw(st.lists(st.sampled_from(sorted(sizes)), max_size=3, unique=True))
    values = m.simulate(rng=rng)
    data = {name: float(values[name]) for name in observed}
    return m, data, {n: Unknown((), k) for n, k in sizes.items() if n not in data}


@given(networks())
@settings(max_examples=25, deadline=None)
def test_random_networks(network) -> None:
    m, data, unknowns = network
    if not unknowns:
        return
    truth = enumerate_model(m, data, unknowns)
    post = m.infer(data)
    assert float(post.log_evidence) == pytest.approx(truth.log_evidence, abs=1e-10)
    for name in unknowns:
        np.testing.assert_allclose(shares(post[name]), truth.marginals[name], atol=1e-11)


@given(
    seed=st.integers(0, 10**6),
    n_states=st.integers(2, 3),
    n_steps=st.integers(1, 3),
    forbidden=st.booleans(),
    gaps=st.lists(st.booleans(), min_size=3, max_size=3),
)
@settings(max_examples=20, deadline=None)
def test_random_chains(seed, n_states, n_steps, forbidden, gaps) -> None:
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.ones(n_states), size=n_states)
    if forbidden:
        moves[0, 1] = 0.0
        moves /= moves.sum(axis=1, keepdims=True)
    m = Model()
    m.z = Chain(
        Categorical(rng.dirichlet(np.ones(n_states))),
        lambda z: Categorical(take(moves, z)),
        length="t",
    )
    m.y = Bernoulli(take(rng.uniform(size=n_states), m.z))
    y = m.simulate(plates={"t": n_steps}, rng=rng)["y"]
    y = np.where(gaps[:n_steps], np.nan, y)
    unknowns = {"z": Unknown((n_steps,), n_states), "y": Unknown((n_steps,), 2)}
    truth = enumerate_model(m, {"y": y}, unknowns)
    post = m.infer(y=y)
    assert float(post.log_evidence) == pytest.approx(truth.log_evidence, abs=1e-11)
    np.testing.assert_allclose(post.z.probabilities, truth.marginals["z"], atol=1e-12)


# -- special cases agree ---------------------------------------------------------------------


def test_a_chain_of_one_is_a_mixture() -> None:
    post = hidden_markov().infer(y=Y[:1])
    expected = Mixture(PI, Normal(MU, variance=1.0))
    np.testing.assert_allclose(post.z.probabilities, expected.responsibilities(Y[:1]))
    assert float(post.log_evidence) == pytest.approx(float(expected.log_prob(Y[0])))


def test_a_mixture_has_the_responsibilities_of_its_family() -> None:
    y = np.random.default_rng(0).normal(size=1000)
    post = mixture().infer(y=y)
    family = Mixture(PI, Normal(MU, variance=1.0))
    np.testing.assert_allclose(post.z.probabilities, family.responsibilities(y), atol=1e-13)
    assert float(post.log_evidence) == pytest.approx(float(family.log_prob(y).sum()))


def test_a_loop_of_scalars_is_a_chain() -> None:
    y = np.random.default_rng(1).normal(size=300)
    loop = Model()
    loop.z0 = Categorical(PI)
    for t in range(1, len(y)):
        loop[f"z{t}"] = Categorical(take(A, loop[f"z{t - 1}"]))
    for t in range(len(y)):
        loop[f"y{t}"] = Normal(take(MU, loop[f"z{t}"]), variance=1.0)
    one = loop.infer({f"y{t}": value for t, value in enumerate(y)})
    other = hidden_markov().infer(y=y)
    assert float(one.log_evidence) == pytest.approx(float(other.log_evidence), abs=1e-9)
    found = np.array([one[f"z{t}"].probabilities for t in range(len(y))])
    np.testing.assert_allclose(found, other.z.probabilities, atol=1e-12)
    best = one.most_likely()
    np.testing.assert_array_equal([best[f"z{t}"] for t in range(len(y))], other.most_likely()["z"])


def test_a_posterior_survives_pickling() -> None:
    post = hidden_markov().infer(y=Y)
    again = pickle.loads(pickle.dumps(post))
    assert float(again.log_evidence) == float(post.log_evidence)
    np.testing.assert_array_equal(again.z.probabilities, post.z.probabilities)
    np.testing.assert_array_equal(again.most_likely()["z"], post.most_likely()["z"])


def test_joint_tables_of_large_models() -> None:
    m = Model()
    m.a = Bernoulli(0.4)
    m.b = Bernoulli(take([0.3, 0.6], m.a))
    m.z = Bernoulli(take(take([[0.2, 0.5], [0.4, 0.9]], m.a), m.b)).iid("n")
    m.y = Normal(take([0.0, 1.0], m.z), variance=1.0)
    post = m.infer(y=np.random.default_rng(0).normal(size=50_000))
    table = post.joint("a", "b")
    np.testing.assert_allclose(table.probabilities.sum(axis=1)[1], post.a.probability)
    with pytest.raises(MemoryError, match="joint table of z"):
        post.joint("z")
    with pytest.raises(MemoryError, match="joint table of z"):
        hidden_markov().infer(y=np.zeros(900)).joint("z")


def test_explaining_away() -> None:
    m = sprinkler()
    alone = m.infer(wet=1).sprinkler.probability
    with_rain = m.infer(wet=1, rain=1).sprinkler.probability
    assert with_rain < alone
    joint = JointTable.from_factor(m.infer(wet=1).joint("rain", "sprinkler").factor)
    assert joint.query("sprinkler=1 | rain=1") == pytest.approx(float(with_rain))


@pytest.mark.topic("004/3.10", "004/3.12")
def test_seven_variables() -> None:
    """f_a(1) f_b(2) f_c(1,2,3) f_d(4) f_e(3,4,5) f_f(5,6,7) f_g(7): brackets against the engine."""
    rng = np.random.default_rng(7)
    a, b, d = rng.dirichlet(np.ones(2), size=3)
    c = rng.dirichlet(np.ones(3), size=(2, 2))
    e = rng.dirichlet(np.ones(2), size=(3, 2))
    f = rng.dirichlet(np.ones(3), size=(2, 2))
    g = rng.uniform(size=2)
    m = Model()
    m.x1, m.x2, m.x4 = Categorical(a), Categorical(b), Categorical(d)
    m.x3 = Categorical(take(take(c, m.x1), m.x2))
    m.x5 = Categorical(take(take(e, m.x3), m.x4))
    m.x7 = Categorical([0.5, 0.5])
    m.x6 = Categorical(take(take(f, m.x5), m.x7))
    m.g = Bernoulli(take(g, m.x7))
    m.h = Bernoulli(take([0.3, 0.6, 0.2], m.x6))
    right = np.einsum("uvw,v,w->u", f, 0.5 * g, [0.3, 0.6, 0.2])  # messages into x5
    back = np.einsum("rsu,s,u->r", e, d, right)
    forth = np.einsum("p,q,pqr->r", a, b, c)
    post = m.infer(g=1, h=1)
    product = forth * back
    np.testing.assert_allclose(post.x3.probabilities, product / product.sum())
    assert float(post.log_evidence) == pytest.approx(np.log(product.sum()))


def test_nothing_observed_gives_the_prior_and_no_evidence() -> None:
    post = sprinkler().infer()
    assert float(post.log_evidence) == 0.0
    assert float(post.rain.probability) == pytest.approx(0.5)
    truth = enumerate_model(
        sprinkler(), {}, {n: Unknown((), 2) for n in ("cloudy", "rain", "sprinkler", "wet")}
    )
    assert float(post.wet.probability) == pytest.approx(truth.marginals["wet"][1])


def test_a_gap_adds_nothing() -> None:
    y = Y.copy()
    y[2] = np.nan
    post = hidden_markov().infer(y=y)
    likelihood = Normal(MU, variance=1.0).log_prob(np.nan_to_num(y)[:, None])
    likelihood[2] = 0.0
    alpha = PI * np.exp(likelihood[0])
    for t in range(1, 4):
        alpha = (alpha @ A) * np.exp(likelihood[t])
    assert float(post.log_evidence) == pytest.approx(np.log(alpha.sum()))
    nothing = hidden_markov().infer(y=np.full(4, np.nan))
    assert float(nothing.log_evidence) == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_allclose(nothing.z.probabilities[1], PI @ A)


def test_gaps_inside_vectors_are_integrated_out() -> None:
    y = RNG.normal(size=(3, 2))
    y[0, 1] = y[2, 0] = y[2, 1] = np.nan
    post = mixture_of_vectors().infer(y=y)
    first = Normal([0.0, 1.0], variance=[1.0, 2.0]).log_prob(y[0, 0])
    odds = np.log([0.7, 0.3]) + first
    np.testing.assert_allclose(shares(post.z)[0], np.exp(odds) / np.exp(odds).sum())
    np.testing.assert_allclose(shares(post.z)[2], [0.7, 0.3])


@pytest.mark.slow
def test_a_long_chain_agrees_with_its_halves() -> None:
    """Compiled loops from a thousand steps on: a certain state in the middle cuts the chain."""
    rng = np.random.default_rng(2)
    y = rng.normal(size=2401)
    m = Model()
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(A, z)), length="t")
    m.y = Normal(take(MU, m.z), variance=1.0)
    m.seen = Bernoulli(take([0.0, 1.0, 0.0], m.z))
    seen = np.full(2401, np.nan)
    seen[800] = seen[1600] = 1.0
    whole = m.infer(y=y, seen=seen)
    cut = Model()
    cut.z = Chain(Categorical([0.0, 1.0, 0.0]), lambda z: Categorical(take(A, z)), length="t")
    cut.y = Normal(take(MU, cut.z), variance=1.0)
    cut.seen = Bernoulli(take([0.0, 1.0, 0.0], cut.z))
    middle = cut.infer(y=y[800:1601], seen=seen[800:1601])
    np.testing.assert_allclose(whole.z.probabilities[800:1601], middle.z.probabilities, atol=1e-10)


def test_a_regime_of_a_long_chain_is_known_from_its_own_chains() -> None:
    rng = np.random.default_rng(3)
    moves = rng.dirichlet(np.ones(3), size=(2, 3))
    m = Model()
    m.g = Categorical([0.3, 0.7])
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(take(moves, m.g), z)), length="t")
    m.y = Normal(take(take(np.array([MU, MU + 0.05]), m.g), m.z), variance=1.0)
    y = m.simulate(plates={"t": 30_000}, rng=rng, g=1)["y"] - 0.025
    evidences, beliefs = [], []
    for g in range(2):
        one = Model()
        one.z = Chain(Categorical(PI), lambda z, g=g: Categorical(take(moves[g], z)), length="t")
        one.y = Normal(take(MU + 0.05 * g, one.z), variance=1.0)
        alone = one.infer(y=y)
        evidences.append(float(alone.log_evidence))
        beliefs.append(alone.z.probabilities)
    logs = np.log([0.3, 0.7]) + evidences
    p = np.exp(logs - logs.max())
    post = m.infer(y=y)
    assert float(post.log_evidence) == pytest.approx(logs.max() + np.log(p.sum()), rel=1e-13)
    p /= p.sum()
    np.testing.assert_allclose(post.g.probabilities, p, atol=1e-9)
    np.testing.assert_allclose(post.joint("g").probabilities, p, atol=1e-9)
    mixed = p[0] * beliefs[0] + p[1] * beliefs[1]
    np.testing.assert_allclose(post.z.probabilities, mixed, atol=1e-9)
    np.testing.assert_allclose(post.predict("y").mean[:3], _means_of(p, beliefs)[:3])


def _means_of(p: np.ndarray, beliefs: list[np.ndarray]) -> np.ndarray:
    return p[0] * beliefs[0] @ MU + p[1] * beliefs[1] @ (MU + 0.05)


def test_many_variables_on_single_members_are_taken_one_by_one() -> None:
    """As many chains as joint states of twelve leaves would be much more work."""
    y = np.random.default_rng(4).normal(size=12)
    m = Model()
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(A, z)), length=12)
    one = Model()
    one.z = Chain(Categorical(PI), lambda z: Categorical(take(A, z)), length="t")
    one.b = Bernoulli(take([0.1, 0.5, 0.7], one.z))
    one.y = Normal(take([0.0, 2.0], one.b), variance=1.0)
    for k in range(12):
        m[f"b{k}"] = Bernoulli(take([0.1, 0.5, 0.7], m.z[k]))
        m[f"y{k}"] = Normal(take([0.0, 2.0], m[f"b{k}"]), variance=1.0)
    data = {f"y{k}": value for k, value in enumerate(y)}
    assert "member by member" in repr(m.plan(data))
    post, other = m.infer(data), one.infer(y=y)
    assert float(post.log_evidence) == pytest.approx(float(other.log_evidence), abs=1e-11)
    np.testing.assert_allclose(post.z.probabilities, other.z.probabilities, atol=1e-12)
    found = [post[f"b{k}"].probability for k in range(12)]
    np.testing.assert_allclose(found, other.b.probability, atol=1e-12)


# -- prediction ------------------------------------------------------------------------------


def test_predictions_are_mixtures_over_states() -> None:
    post = hidden_markov().infer(y=Y)
    d = post.predict("y")
    np.testing.assert_allclose(d.mean, post.z.probabilities @ MU)
    np.testing.assert_allclose(d.probabilities, post.z.probabilities)


def test_prediction_from_two_parents_uses_their_joint() -> None:
    means = np.array([[0.0, 1.0, 3.0], [-2.0, 5.0, 0.5]])
    m = Model()
    m.a = Bernoulli(0.4)
    m.b = Categorical(PI)
    m.x = Normal(take(take(means, m.a), m.b), variance=1.0)
    m.y = Normal(take(take(means**2, m.a), m.b), variance=take([1.0, 2.0], m.a))
    post = m.infer(x=0.7)
    p = np.array([0.6, 0.4])[:, None] * PI * np.exp(Normal(means, variance=1.0).log_prob(0.7))
    expected = Mixture(
        (p / p.sum()).ravel(),
        Normal((means**2).ravel(), variance=np.repeat([1.0, 2.0], 3)),
    )
    for d in (post.y, post.predict("y")):
        np.testing.assert_allclose(d.log_prob([0.0, 4.0]), expected.log_prob([0.0, 4.0]))


def test_a_leaf_is_predicted() -> None:
    m = sprinkler()
    truth = enumerate_model(
        m, {"sprinkler": 1}, {n: Unknown((), 2) for n in ("cloudy", "rain", "wet")}
    )
    post = m.infer(sprinkler=1)
    assert float(post.wet.probability) == pytest.approx(truth.marginals["wet"][1])
    assert float(post.rain.probability) == pytest.approx(truth.marginals["rain"][1])


def test_states_of_new_data() -> None:
    m = mixture()
    post = m.infer(y=Y)
    new = post.predict("z", y=Y[:2] + 1.0)
    np.testing.assert_allclose(new.probabilities, m.infer(y=Y[:2] + 1.0).z.probabilities)


# -- labels ----------------------------------------------------------------------------------


def test_labels_go_in_and_come_out() -> None:
    m = Model()
    m.weather = Categorical([0.3, 0.7], labels=("rain", "sun")).iid("day")
    m.mood = Categorical(take([[0.8, 0.2], [0.1, 0.9]], m.weather), labels=("bad", "good"))
    post = m.infer(mood=["bad", "good"])
    assert post.weather.labels == ("rain", "sun")
    assert list(post.most_likely()["weather"]) == ["rain", "sun"]
    assert post.joint("weather").labels["weather[0]"] == ("rain", "sun")
    np.testing.assert_allclose(post.weather.probabilities[0], np.array([0.24, 0.07]) / 0.31)
    assert m.infer(weather=["sun", "rain"]).mood.labels == ("bad", "good")
    codes = m.log_joint(weather=[1, 0], mood=[0, 1])
    assert m.log_joint(weather=["sun", "rain"], mood=["bad", "good"]) == codes


def test_a_joint_density_needs_all_values() -> None:
    with pytest.raises(ValueError, match="z has some missing"):
        hidden_markov().log_joint(z=[0, np.nan], y=[0.0, 1.0])


# -- refusals --------------------------------------------------------------------------------


def impossible_leaf() -> Model:
    m = Model()
    m.z = Categorical([0.5, 0.5]).iid("n")
    m.y = Bernoulli(take([0.0, 0.0], m.z))
    return m


def contradiction() -> Model:
    m = Model()
    m.z = Categorical([0.5, 0.5]).iid("n")
    m.x = Bernoulli(take([0.0, 1.0], m.z))
    m.y = Bernoulli(take([1.0, 0.0], m.z))
    return m


def stuck_chain() -> Model:
    m = Model()
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(np.eye(2), z)), length="t")
    m.y = Bernoulli(take([0.0, 1.0], m.z))
    return m


def stuck_series() -> Model:
    m = Model()
    m.z = Chain(
        Categorical([0.5, 0.5]).iid("s"), lambda z: Categorical(take(np.eye(2), z)), length="t"
    )
    m.y = Bernoulli(take([0.0, 1.0], m.z))
    return m


def stuck_members() -> Model:
    m = Model()
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(np.eye(2), z)), length=3)
    m.y = Bernoulli(take([0.0, 1.0], m.z))
    return m


def contradiction_of_rows() -> Model:
    m = Model()
    m.z = Categorical([0.5, 0.5]).iid(2)
    m.x = Bernoulli(take([0.0, 1.0], m.z))
    m.y = Bernoulli(take([1.0, 0.0], m.z))
    return m


def contradiction_in_a_network() -> Model:
    m = Model()
    m.a = Bernoulli(0.5)
    m.b = Bernoulli(take([0.0, 1.0], m.a))
    m.x = Bernoulli(take([0.0, 1.0], m.a))
    m.y = Bernoulli(take([0.0, 1.0], m.b))
    return m


def ring_of_one_colour() -> Model:
    m = Model()
    m.c = Bernoulli(0.5).iid(3)
    m.like = Bernoulli(take(take(np.eye(2), m.c[[0, 1, 2]]), m.c[[1, 2, 0]]))
    return m


def indexed(table: Any, index: Callable[[], Any]) -> Model:
    m = Model()
    m.i = index()
    m.y = Normal(take(table, m.i), variance=1.0)
    return m


def computed_index() -> Model:
    m = Model()
    m.i = Bernoulli(0.5)
    m.y = Normal(take(MU, 2.0 * m.i), variance=1.0)
    return m


def unnormalised() -> Model:
    m = Model()
    m.a = Categorical([0.5, 0.5])
    m.b = Categorical(take([[0.5, 0.6], [0.1, 0.9]], m.a))
    return m


def too_large() -> Model:
    m = Model()
    for i in range(24):
        m[f"c{i}"] = Categorical(np.full(4, 0.25))
    m.y = Normal(sum((m[f"c{i}"] for i in range(1, 24)), start=1.0 * m.c0), variance=1.0)
    return m


@pytest.mark.parametrize(
    ("build", "data", "error", "words"),
    [
        (impossible_leaf, {"y": [0, 1]}, ValueError, r"value of y at n=1 is impossible"),
        (
            contradiction_of_rows,
            {"x": [0, 0.5], "y": [1, 1]},
            ValueError,
            "value of x at index 1 is impossible in every state of z",
        ),
        (contradiction, {"x": [0, 1], "y": [1, 1]}, ValueError, r"no state of z .* n=1"),
        (stuck_chain, {"y": [1, 1, 0]}, ValueError, r"no state of z is possible at t=2 given"),
        (stuck_series, {"y": [[1, 1], [1, 0]]}, ValueError, r"state of z is possible at s=1, t=1"),
        (stuck_members, {"y": [1, 1, 0]}, ValueError, r"no state of z is possible at index 2"),
        (
            an_impossible_regime,
            {"y": [0, 1, 0, 0]},
            ValueError,
            r"no state of z is possible at t=3 .*, whatever the state of g",
        ),
        (contradiction_of_rows, {"x": [0, 1], "y": [1, 1]}, ValueError, r"of z .* at index 1$"),
        (contradiction_in_a_network, {"x": 0, "y": 1}, ValueError, r"no state of [ab] is possible"),
        (ring_of_one_colour, {"like": [1, 1, 0]}, ValueError, r"no state of c\[\d\] is possible"),
        (lambda: indexed(MU, lambda: Bernoulli(0.5)), {"y": 0.0}, ValueError, "3 rows.*2 states"),
        (unnormalised, {"b": 0}, ValueError, "parameters of b: .*sum to 1"),
        (lambda: indexed(MU, lambda: Normal(0.0, variance=1.0)), {"y": 0.0}, TypeError, "index"),
        (lambda: indexed(MU, lambda: Beta(1.0, 1.0)), {"y": 0.0}, TypeError, "index"),
        (computed_index, {"y": 0.0}, TypeError, "variable itself can be an index"),
        (regions, {"z": [np.nan, 3.0], "y": [0.0, 1.0]}, ValueError, "states 0 to 2, got 3"),
        (too_large, {"y": 30.0}, MemoryError, "cells"),
    ],
)
def test_refusals(build, data, error, words) -> None:
    with pytest.raises(error, match=words):
        build().infer(data)


def test_a_chain_keeps_its_number_of_states() -> None:
    m = Model()
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(EMISSION, z)), length="t")
    m.y = Normal(take(MU, m.z), variance=1.0)
    with pytest.raises(ValueError, match="keeps its number of states"):
        m.infer(y=Y)
