"""Discrete models of every shape against the enumeration of all configurations."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori import (
    Bernoulli,
    Categorical,
)
from posteriori.modeling import Chain, Model, take
from posteriori.tables import JointTable
from tests.modeling.discrete_cases import CASES, shares
from tests.modeling.enumeration import Unknown, enumerate_model


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
        if name not in post._solved.bound.observed:
            np.testing.assert_allclose(shares(post[name]), truth.marginals[name], atol=1e-12)


def test_the_best_configuration(answers) -> None:
    case, _, truth, post = answers
    names = [name for name in case.unknowns if name not in post._solved.bound.observed]
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
    names = [n for n in case.unknowns if n not in post._solved.bound.observed][:2]
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
        if name in post._solved.bound.observed:
            continue
        assert draws[name].shape == (2000, *shape)
        p = truth.marginals[name]
        seen = (draws[name][..., None] == np.arange(states)).mean(axis=0)
        assert np.all(np.abs(seen - p) <= 5.0 * np.sqrt(p * np.maximum(1.0 - p, 0.0) / 2000) + 1e-9)


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
