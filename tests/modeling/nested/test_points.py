"""Many points at once answer as one after another does, and as exact inference with values given."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori import (
    Beta,
    Binomial,
    Categorical,
    Chain,
    Dirichlet,
    Gamma,
    Input,
    Model,
    MvNormal,
    Normal,
    Poisson,
    take,
)
from posteriori.distributions import HalfNormal, LogNormal, Uniform
from posteriori.modeling.contract.engine import Group
from posteriori.modeling.contract.requests import read_request
from posteriori.modeling.nested.choice import choose_outside
from posteriori.modeling.nested.conditional_model import ConditionalModel
from posteriori.modeling.nested.nested_block import NestedBlock
from posteriori.modeling.planning.planner import exact_parts

RNG = np.random.default_rng(7)
GAPS = np.array([0.3, np.nan, -0.2, 0.8, np.nan, 1.4, 0.9])


def level():
    m = Model()
    m.q = HalfNormal(scale=1.0)
    m.r = HalfNormal(scale=1.0)
    m.s = Chain(Normal(0, scale=m.r), lambda s: Normal(s, scale=m.q), length="t")
    m.y = Normal(m.s, scale=m.r)
    return m, {"y": GAPS}


def autoregression():
    m = Model()
    m.a = Uniform(-1.0, 1.0)
    m.c = Normal(0, scale=1.0)
    m.q = HalfNormal(scale=1.0)
    m.s = Chain(Normal(0, scale=1.0), lambda s: Normal(m.a * s + m.c, scale=m.q), length="t")
    m.y = Normal(m.s, scale=0.3)
    return m, {"y": GAPS}


def moving_coefficient():
    """Transitions and emissions that differ from step to step, with numbers outside in both."""
    m = Model()
    m.x = Input("t")
    m.b = LogNormal(0.0, variance=1.0)
    m.q = HalfNormal(scale=1.0)
    m.s = Chain(Normal(0, scale=1.0), lambda s: Normal(m.b * m.x * s, scale=m.q), length="t")
    m.y = Normal(m.b * m.s + m.x, variance=m.q)
    return m, {"x": RNG.normal(size=7), "y": GAPS}


def trend_and_effects():
    """A vector state, effects whose spread is unknown, and one that is not."""
    m = Model()
    m.x = Input("t")
    m.tau = HalfNormal(scale=1.0)
    m.r = HalfNormal(scale=1.0)
    m.mu = Normal(0, scale=2.0)
    m.e = Normal(m.mu, scale=m.tau)
    m.s = Chain(
        MvNormal(np.zeros(2), cov=np.eye(2)),
        lambda s: MvNormal(np.array([[1.0, 1.0], [0.0, 1.0]]) @ s, cov=np.diag([0.1, 0.02])),
        length="t",
    )
    m.y = Normal(np.array([1.0, 0.0]) @ m.s + m.e * m.x, scale=m.r)
    return m, {"x": RNG.normal(size=7), "y": GAPS}


def seen_at_some_times():
    m = Model()
    m.q = HalfNormal(scale=1.0)
    m.s = Chain(Normal(0, scale=1.0), lambda s: Normal(s, scale=m.q), length=6)
    m.y = Normal(m.q * m.s[np.array([0, 2, 5])], scale=0.4)
    return m, {"y": np.array([0.1, 0.5, 0.2])}


def two_chains_and_a_level():
    m = Model()
    m.q = HalfNormal(scale=1.0)
    m.s = Chain(Normal(0, scale=1.0), lambda s: Normal(s, scale=m.q), length="t")
    m.u = Chain(Normal(0, scale=1.0), lambda u: Normal(0.5 * u, scale=m.q), length="t")
    m.y = Normal(m.s + m.u, scale=0.4)
    m.mu = Normal(0, scale=m.q)
    m.z = Normal(m.mu, scale=1.0).iid(3)
    return m, {"y": GAPS, "z": np.array([0.1, 0.2, np.nan])}


def groups():
    m = Model()
    m.s = HalfNormal(scale=1.0)
    m.t = Gamma(2.0, rate=m.s)
    m.mu = Normal(0, scale=2.0)
    m.a = Normal(m.mu, scale=m.s).iid(3)
    m.y = Normal(m.a, precision=m.t)
    return m, {"y": np.array([0.1, np.nan, 2.0])}


def coefficients_outside():
    m = Model()
    m.x = Input("n")
    m.b = LogNormal(0.0, variance=1.0)
    m.w = Normal(0, scale=1.0)
    m.y = Normal(m.w * m.b * m.x, scale=m.b)
    return m, {"x": np.array([1.0, 2.0, -1.0]), "y": np.array([0.3, 1.0, -0.2])}


def conjugate():
    m = Model()
    m.a = Gamma(2.0, rate=1.0)
    m.p = Beta(m.a, 2.0)
    m.k = Binomial(10, m.p).iid(3)
    return m, {"k": np.array([3, 4, 5])}


def discrete():
    m = Model()
    m.s = HalfNormal(scale=1.0)
    m.z = Categorical(np.array([0.3, 0.7])).iid(3)
    m.y = Normal(take(np.array([-1.0, 1.0]), m.z), scale=m.s)
    return m, {"y": np.array([-0.7, 0.2, 1.5])}


def hidden_markov():
    """Moves of one chain and numbers of its states outside, data with gaps, a switch beside it."""
    m = Model()
    m.A = Dirichlet(np.array([[4.0, 1.0], [2.0, 5.0]]))
    m.s = HalfNormal(scale=1.0)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.A[z]), length="t")
    m.c = Categorical([0.4, 0.6])
    m.y = Normal(take(np.array([-1.0, 1.0]), m.z), scale=m.s)
    m.x = Normal(take(np.array([0.0, 2.0]), m.c) + take(np.array([-1.0, 1.0]), m.z), scale=m.s)
    return m, {"y": GAPS, "x": GAPS[::-1]}


def counts_outside():
    m = Model()
    m.r = Gamma(2.0, rate=1.0)
    m.k = Poisson(m.r).iid(4)
    m.mu = Normal(0.0, scale=m.r)
    m.y = Normal(m.mu, scale=1.0)
    return m, {"k": np.array([1.0, 0.0, 2.0, np.nan]), "y": 0.4}


MODELS = [
    level,
    autoregression,
    moving_coefficient,
    trend_and_effects,
    seen_at_some_times,
    two_chains_and_a_level,
    groups,
    coefficients_outside,
    conjugate,
    discrete,
    hidden_markov,
    counts_outside,
]
CHAINS = MODELS[:5]


def made(make, count=5):
    """The rest of a model at some points from all over the prior."""
    m, data = make()
    bound = m.plan(**data).bound
    barren = set(bound.barren())
    names = tuple(n for n in bound.latent if n not in barren)
    group = Group(bound, names, tuple(f for f in bound.factors if f.name not in barren))
    block = NestedBlock(group, choose_outside(group, exact_parts), exact_parts)
    starts, scales = block.coordinates.starts()
    u = starts[0] + 0.7 * scales * np.random.default_rng(0).normal(size=(count, len(scales)))
    values, _ = block.coordinates.read(u)
    rest = ConditionalModel(group, block.coordinates.read(starts[0])[0], exact_parts, keeps=False)
    return m, data, rest, values


@pytest.mark.parametrize("make", MODELS)
def test_evidences_of_many_points_are_those_of_each(make):
    _m, _data, rest, values = made(make)
    found = rest.log_joints(values)
    for k, log_joint in enumerate(found):
        point = rest.at({n: v[k] for n, v in values.items()})
        alone = point.log_known + sum(float(r.log_evidence) for r in point.results)
        assert log_joint == pytest.approx(alone, abs=1e-10)
        single = rest.log_joints({n: v[k : k + 1] for n, v in values.items()})
        assert float(single[0]) == pytest.approx(alone, abs=1e-10)


@pytest.mark.parametrize("make", MODELS)
def test_evidences_are_those_of_inference_with_values_given(make):
    """What is integrated over is given as data: the evidence of both is the joint density."""
    m, data, rest, values = made(make, 2)
    for k, log_joint in enumerate(rest.log_joints(values)):
        given = {n: v[k] for n, v in values.items()}
        post = m.infer(**data, **given)
        assert log_joint == pytest.approx(float(post.log_evidence), abs=1e-9)


@pytest.mark.parametrize("make", MODELS)
def test_results_of_many_points_are_those_of_each(make):
    _m, _data, rest, values = made(make)
    for k, point in enumerate(rest.points(values)):
        whole = rest.at({n: v[k] for n, v in values.items()})
        for quick, slow in zip(point.results, whole.results, strict=True):
            for name in quick.names:
                a, b = quick.marginal(name), slow.marginal(name)
                if hasattr(a, "probabilities"):
                    np.testing.assert_allclose(a.probabilities, b.probabilities, rtol=1e-9)
                    continue
                np.testing.assert_allclose(a.mean, b.mean, rtol=1e-9, atol=1e-12)
                spread = "cov" if a.event_shape else "variance"
                np.testing.assert_allclose(getattr(a, spread), getattr(b, spread), rtol=1e-9)


@pytest.mark.parametrize("make", CHAINS)
@pytest.mark.parametrize("steps", [0, 3])
def test_predictions_of_many_points_are_those_of_each(make, steps):
    m, data, rest, values = made(make)
    if make is seen_at_some_times and steps:
        pytest.skip("its length has no name")
    asked = {"t": steps, "x": np.array([0.5, -0.2, 0.1])} if steps else {}
    asked = {k: v for k, v in asked.items() if k == "t" or k in data}
    for name in ("y", "s") if steps else ("y",):
        request = read_request(rest.group.bound, name, asked)
        (found,) = rest.predict(values, request)
        for k in range(5):
            post = m.infer(**data, **{n: v[k] for n, v in values.items()})
            alone = post.predict(name, **asked)
            np.testing.assert_allclose(found.mean[k], alone.mean, rtol=1e-9, atol=1e-12)
            spread = "cov" if alone.event_shape else "variance"
            np.testing.assert_allclose(
                getattr(found, spread)[k], getattr(alone, spread), rtol=1e-9, atol=1e-12
            )


def test_points_in_parts():
    """Long chains are smoothed a few points at a time."""
    _m, _data, rest, values = made(autoregression)
    whole = rest.log_joints(values)
    means = [p.results[0].marginal("s").mean for p in rest.points(values)]
    (chains,) = rest.solvers
    chains.at_once = 2
    np.testing.assert_array_equal(rest.log_joints(values), whole)
    np.testing.assert_array_equal(
        [p.results[0].marginal("s").mean for p in rest.points(values)], means
    )
    request = read_request(rest.group.bound, "y", {"t": 2})
    assert [len(part.mean) for part in rest.predict(values, request)] == [2, 2, 1]


def test_a_point_that_cannot_be_leaves_the_others():
    _m, _data, rest, values = made(level)
    whole = rest.log_joints(values)
    values["q"] = values["q"].copy()
    values["q"][3] = np.inf
    found = rest.log_joints(values)
    assert found[3] == -np.inf
    np.testing.assert_array_equal(np.delete(found, 3), np.delete(whole, 3))
    assert rest.failure is not None
