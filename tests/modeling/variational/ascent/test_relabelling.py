"""Classes that priors tell apart end with the names that fit them best, wherever they start."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori import Categorical, Chain, Dirichlet, Gamma, Model, Normal, Poisson, take
from posteriori.modeling.variational.ascent.grouping import identified_by_priors

RNG = np.random.default_rng(8)


def chain() -> tuple[Model, dict, np.ndarray]:
    m = Model()
    m.moves = Dirichlet(np.array([[4.0, 1.0], [1.0, 4.0]]))
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.moves[z]), length="t")
    m.mu = Normal([0.0, 3.0], scale=1.0)
    m.y = Normal(m.mu[m.z], scale=0.5)
    z = (np.cumsum(RNG.random(80) > 0.8) % 2).astype(int)
    return m, {"y": np.array([0.3, 2.4])[z] + 0.5 * RNG.normal(size=80)}, z


def mixture(size: int = 3) -> tuple[Model, dict, np.ndarray]:
    m = Model()
    m.pi = Dirichlet(np.ones(size))
    m.mu = Normal(3.0 * np.arange(size), scale=2.0)
    m.z = Categorical(m.pi).iid("n")
    m.y = Normal(m.mu[m.z], scale=0.6)
    z = np.repeat(np.arange(size), 12)
    return m, {"y": 3.0 * z + 0.6 * RNG.normal(size=len(z))}, z


def test_states_of_a_chain_that_start_exchanged():
    m, data, z = chain()
    right = m.infer(data, method="vmp", init={"z": z})
    wrong = m.infer(data, method="vmp", init={"z": 1 - z})
    assert right.mu.mean[0] < right.mu.mean[1]
    assert_allclose(float(wrong.log_evidence), float(right.log_evidence), atol=1e-4)
    assert_allclose(wrong.mu.mean, right.mu.mean, atol=1e-3)
    assert np.mean(wrong.z.probabilities.argmax(axis=1) == z) > 0.9
    assert np.all(np.diff(wrong.free_energy) <= 1e-9)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_classes_that_start_in_any_order(order):
    m, data, z = mixture()
    right = m.infer(data, method="vmp", init={"z": z})
    other = m.infer(data, method="vmp", init={"z": np.array(order)[z]})
    assert_allclose(float(other.log_evidence), float(right.log_evidence), atol=1e-4)
    assert_allclose(other.mu.mean, right.mu.mean, atol=1e-3)


def test_many_classes_exchange_two_at_a_time():
    m, data, z = mixture(6)
    order = np.array([1, 0, 2, 5, 4, 3])
    right = m.infer(data, method="vmp", init={"z": z})
    other = m.infer(data, method="vmp", init={"z": order[z]})
    assert_allclose(float(other.log_evidence), float(right.log_evidence), atol=1e-4)
    assert_allclose(other.mu.mean, right.mu.mean, atol=1e-3)


def factors_of(m: Model, **data):
    return m.plan(**data, method="vmp").bound.factors


def with_rates(rates) -> Model:
    m = Model()
    m.z = Categorical([0.5, 0.5]).iid("n")
    m.y = Poisson(rates(m))
    return m


def in_a_list(shapes):
    def rates(m):
        m.a, m.b = (Gamma(shape=k, rate=1.0) for k in shapes)
        return take([m.a, m.b], m.z)

    return rates


def in_an_array(shapes):
    def rates(m):
        m.rate = Gamma(shape=np.array(shapes), rate=1.0)
        return m.rate[m.z]

    return rates


@pytest.mark.parametrize("write", [in_a_list, in_an_array])
@pytest.mark.parametrize(("shapes", "apart"), [((2.0, 2.0), False), ((2.0, 9.0), True)])
def test_priors_tell_classes_apart_where_they_differ(write, shapes, apart):
    m = with_rates(write(shapes))
    assert identified_by_priors("z", factors_of(m, y=np.array([1.0, 2.0, 8.0]))) is apart


def test_known_numbers_tell_classes_apart():
    m = Model()
    m.z = Categorical([0.5, 0.5]).iid("n")
    m.tau = Gamma(2.0, rate=1.0)
    m.y = Normal(take([-1.0, 1.0], m.z), precision=m.tau)
    assert identified_by_priors("z", factors_of(m, y=np.array([0.3, -0.7])))
