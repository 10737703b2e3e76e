"""Mistakes that exact engines make in silence, each with a test that would see it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posteriori import Bernoulli, Beta, Categorical, Gamma, MvNormal, Normal, Poisson
from posteriori.modeling import Chain, Input, Model, take
from tests.modeling.exact.test_gaussian import CASES
from tests.modeling.exact_conditioning import condition, exact_array

RNG = np.random.default_rng(3)


# -- scales ------------------------------------------------------------------------------------


@pytest.mark.parametrize("variance", [1e-12, 1e12])
def test_leaves_of_any_scale_are_predicted_in_moments(variance: float) -> None:
    m = Model()
    m.x = Normal(0.0, variance=1e8).iid("n")
    m.y = Normal(m.x, variance=1.0)
    m.leaf = Normal(2.0 * m.x, variance=variance)
    post = m.infer(y=[3.0, -1.0])
    shrunk = 1e8 / (1e8 + 1.0)
    np.testing.assert_allclose(post.leaf.mean, [6.0 * shrunk, -2.0 * shrunk], rtol=1e-12)
    np.testing.assert_allclose(post.leaf.variance, 4.0 * shrunk + variance, rtol=1e-12)


@pytest.mark.parametrize("prior_variance", [1.0, 1e8, 1e16])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_targets_far_from_zero_have_the_evidence_of_decimal_arithmetic(
    prior_variance: float, offset: float
) -> None:
    X = np.column_stack([np.ones(30), RNG.normal(size=30)])
    y = offset + X @ [0.5, 2.0] + RNG.normal(size=30)
    m = Model()
    m.w = MvNormal([offset, 0.0], cov=prior_variance * np.eye(2))
    m.y = Normal(X @ m.w, variance=1.0)
    post = m.infer(y=y)
    root = exact_array(X)
    cov = root @ (exact_array(prior_variance * np.eye(2)) @ root.T) + exact_array(np.eye(30))
    truth = condition(root @ exact_array([offset, 0.0]), cov, y)
    assert float(post.log_evidence) == pytest.approx(truth.log_evidence, rel=1e-9)


def test_a_prior_far_from_the_targets_keeps_the_evidence() -> None:
    X = np.column_stack([np.ones(30), RNG.normal(size=30)])
    y = 1e8 + X @ [0.5, 2.0] + RNG.normal(size=30)
    m = Model()
    m.w = MvNormal(np.zeros(2), cov=1e16 * np.eye(2))
    m.y = Normal(X @ m.w, variance=1.0)
    root = exact_array(X)
    cov = root @ (exact_array(1e16 * np.eye(2)) @ root.T) + exact_array(np.eye(30))
    truth = condition(exact_array(np.zeros(30)), cov, y)
    # the data themselves are rounded to 1e-8, and residuals of size 1 are their differences
    assert float(m.infer(y=y).log_evidence) == pytest.approx(truth.log_evidence, abs=1e-5)


@pytest.mark.parametrize(
    ("start", "move", "noise"),
    [(1e8, 1e-8, 1e-8), (1.0, 1e-12, 1.0), (1e-8, 1e8, 1.0), (1e8, 1.0, 1e-8), (1.0, 1.0, 1e12)],
)
def test_chains_of_any_conditioning(start: float, move: float, noise: float) -> None:
    count = 8
    m = Model()
    m.s = Chain(Normal(0.0, variance=start), lambda s: Normal(0.9 * s, variance=move), length="t")
    m.y = Normal(m.s, variance=noise)
    y = np.cumsum(RNG.normal(size=count))
    post = m.infer(y=y)
    root = np.zeros((count, count), dtype=object)
    factor = exact_array(0.9)[()]
    for t in range(count):
        for u in range(t + 1):
            root[t, u] = factor ** (t - u)
    states = root @ np.diag(exact_array([start] + [move] * (count - 1))) @ root.T
    whole = np.block([[states, states], [states, states + np.diag(exact_array([noise] * count))]])
    truth = condition(exact_array(np.zeros(2 * count)), whole, np.append(np.full(count, np.nan), y))
    assert float(post.log_evidence) == pytest.approx(truth.log_evidence, rel=1e-8)
    scale = np.sqrt(np.diag(truth.cov)[:count])
    assert np.all(np.abs(post.s.mean - truth.mean[:count]) <= 1e-9 * (scale + np.abs(y)))
    np.testing.assert_allclose(post.s.variance, np.diag(truth.cov)[:count], rtol=1e-9)


def shifted_level(c: float) -> Model:
    m = Model()
    m.mu = Normal(c, variance=2.0)
    m.y = Normal(m.mu, variance=1.0).iid("n")
    return m


def shifted_groups(c: float) -> Model:
    m = Model()
    m.mu = Normal(c, variance=2.0)
    m.theta = Normal(m.mu, variance=0.5).iid(3)
    m.y = Normal(m.theta[[0, 1, 1, 2, 0, 2]], variance=1.0)
    return m


def shifted_walk(c: float) -> Model:
    m = Model()
    m.s = Chain(Normal(c, variance=2.0), lambda s: Normal(s, variance=0.5), length="n")
    m.y = Normal(m.s, variance=1.0)
    return m


def shifted_mixture(c: float) -> Model:
    m = Model()
    m.z = Categorical([0.3, 0.7]).iid("n")
    m.y = Normal(take([c - 1.0, c + 1.0], m.z), variance=1.0)
    return m


def shifted_regimes(c: float) -> Model:
    m = Model()
    moves = np.array([[0.9, 0.1], [0.2, 0.8]])
    m.z = Chain(Categorical([0.3, 0.7]), lambda z: Categorical(take(moves, z)), length="n")
    m.y = Normal(take([c - 1.0, c + 1.0], m.z), variance=1.0)
    return m


def shifted_with_precision(c: float) -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.0)
    m.mu = Normal(c, precision=0.5 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


def shifted_known_mean(c: float) -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.0)
    m.y = Normal(c, precision=m.tau).iid("n")
    return m


@pytest.mark.parametrize(
    "build",
    [
        shifted_level,
        shifted_groups,
        shifted_walk,
        shifted_mixture,
        shifted_regimes,
        shifted_with_precision,
        shifted_known_mean,
    ],
)
def test_evidence_does_not_see_where_zero_is(build: Callable[[float], Model]) -> None:
    """Shifts by a power of two are exact, so nothing but the engine can lose digits."""
    y = np.array([0.5, -1.25, 2.0, 0.75, 1.5, -0.5])
    c = 2.0**27
    near, far = build(0.0).infer(y=y), build(c).infer(y=y + c)
    assert float(far.log_evidence) == pytest.approx(float(near.log_evidence), abs=1e-6)


# -- two routes to the evidence ----------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_evidence_is_joint_over_posterior(name: str) -> None:
    """ln p(y) = ln p(y, x) − ln p(x | y) at any x: plates counted wrongly would show."""
    case = CASES[name]
    model = case.build()
    post = model.infer(case.data)
    joint = post.joint(*case.shapes)
    point = np.random.default_rng(8).normal(size=len(joint.mean))
    ends = np.cumsum([int(np.prod(shape)) for shape in case.shapes.values()])[:-1]
    parts = zip(case.shapes.items(), np.split(point, ends), strict=True)
    x = {variable: part.reshape(shape) for (variable, shape), part in parts}
    evidence = model.log_joint({**case.data, **x}) - joint.log_prob(point)
    assert float(post.log_evidence) == pytest.approx(evidence, abs=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_data_that_are_all_missing_say_exactly_nothing(name: str) -> None:
    case = CASES[name]
    model = case.build()
    inputs = {n: v for n, v in case.data.items() if n in model._inputs}
    gone = {n: np.full(np.shape(v), np.nan) for n, v in case.data.items() if n not in inputs}
    assert float(model.infer({**inputs, **gone}).log_evidence) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "prior",
    [
        Normal(1.0, variance=2.0),
        MvNormal(np.zeros(2), cov=np.eye(2)),
        Gamma(2.0, 3.0),
        Beta(1.0, 2.0),
        Bernoulli(0.3),
        Categorical([0.2, 0.8]),
        Poisson(3.0),
    ],
)
def test_nothing_observed_gives_exactly_0_and_the_prior(prior: Any) -> None:
    m = Model()
    m.x = prior
    post = m.infer()
    assert float(post.log_evidence) == 0.0
    x = prior.sample(rng=1)
    assert post.x.log_prob(x) == pytest.approx(prior.log_prob(x), rel=1e-14)


# -- gaps, single numbers, names ---------------------------------------------------------------


def test_gaps_inside_an_observed_chain_are_integrated_out() -> None:
    """Leaving out the rows of a gap would cut the chain in two."""
    m = Model()
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(0.5 * s, variance=1.0), length="t")
    post = m.infer(s=[2.0, np.nan, 1.0, -1.0])
    first, last = Normal(0.0, variance=1.0).log_prob(2.0), Normal(0.5, variance=1.0).log_prob(-1.0)
    across = Normal(0.25 * 2.0, variance=1.25).log_prob(1.0)
    assert float(post.log_evidence) == pytest.approx(first + across + last, abs=1e-12)


@pytest.mark.parametrize(
    ("prior", "child", "y", "expected"),
    [
        (Gamma(2.0, 1.0), lambda x: Normal(1.0, precision=x), 4.0, Gamma(2.5, 5.5)),
        (Gamma(2.0, 1.0), Poisson, 3, Gamma(5.0, 2.0)),
        (Beta(1.0, 1.0), Bernoulli, 1, Beta(2.0, 1.0)),
        (
            Normal(0.0, variance=1.0),
            lambda x: Normal(x, variance=1.0),
            4.0,
            Normal(2.0, variance=0.5),
        ),
    ],
)
def test_a_single_number_moves_a_single_unknown(
    prior: Any, child: Any, y: Any, expected: Any
) -> None:
    m = Model()
    m.x = prior
    m.y = child(m.x)
    found = m.infer(y=y).x
    assert found.mean == pytest.approx(expected.mean, rel=1e-14)
    assert found.variance == pytest.approx(expected.variance, rel=1e-14)


INTERNAL = ["state", "rows", "sum", "noise", "entry", "twin", "index", "time", "new", "n", "plate"]


@pytest.mark.parametrize("plate", INTERNAL)
def test_plates_may_have_any_name(plate: str) -> None:
    def build(p: str) -> tuple[float, float]:
        m = Model()
        m.z = MvNormal(np.zeros(2), cov=np.eye(2)).iid(p)
        m.c = Normal(0.0, variance=1.0).iid(2)
        m.x = MvNormal(np.ones((3, 2)) @ m.z + m.c[[0, 1, 1]], cov=np.eye(3) + 0.1)
        continuous = float(m.infer(x=[[1.0, 2.0, 3.0], [1.0, np.nan, 2.0]]).log_evidence)
        m = Model()
        m.g = Bernoulli(0.4).iid(p)
        m.k = Categorical([0.2, 0.8])
        m.y = Normal(take(take([[0.0, 1.0], [2.0, -1.0]], m.g), m.k), variance=1.0)
        return continuous, float(m.infer(y=[0.3, np.nan, 1.0]).log_evidence)

    assert build(plate) == pytest.approx(build("other"), abs=1e-12)


@pytest.mark.parametrize("name", INTERNAL)
def test_variables_and_inputs_may_have_any_name(name: str) -> None:
    def build(variable: str, known: str, plate: str) -> float:
        m = Model()
        m[known] = Input(plate)
        m[variable] = MvNormal(np.zeros(2), cov=np.eye(2)).iid(plate)
        m.y = MvNormal(np.eye(2)[::-1] @ m[variable] + m[known], cov=np.eye(2) + 0.1)
        return float(m.infer({known: [0.5, 1.0], "y": [[1.0, np.nan], [2.0, 3.0]]}).log_evidence)

    plain = build("x", "u", "a")
    assert build(name, "u", "a") == pytest.approx(plain, abs=1e-12)
    assert build("x", name, "a") == pytest.approx(plain, abs=1e-12)
    assert build(name, "u", name) == pytest.approx(plain, abs=1e-12)


# -- size, memory ------------------------------------------------------------------------------


def test_a_sum_of_2000_terms() -> None:
    m = Model()
    m.x = Normal(0.0, variance=1.0).iid(20)
    total = sum((m.x[i % 20] for i in range(1, 2000)), start=1.0 * m.x[0])
    m.y = Normal(total, variance=1.0)
    post = m.infer(y=1.0)  # every x enters 100 times
    np.testing.assert_allclose(post.x.mean, 100.0 / (1.0 + 20 * 100.0**2), rtol=1e-9)
    assert len(repr(total)) < 1000


def test_a_loop_of_800_steps_is_a_chain() -> None:
    moves = np.array([[0.9, 0.1], [0.3, 0.7]])
    y = np.random.default_rng(4).normal(size=800)
    loop, chain = Model(), Model()
    loop.z0 = Categorical([0.5, 0.5])
    for i in range(1, 800):
        loop[f"z{i}"] = Categorical(take(moves, loop[f"z{i - 1}"]))
    for i in range(800):
        loop[f"y{i}"] = Normal(take([0.0, 1.0], loop[f"z{i}"]), variance=1.0)
    chain.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(moves, z)), length="t")
    chain.y = Normal(take([0.0, 1.0], chain.z), variance=1.0)
    long, short = loop.infer({f"y{i}": y[i] for i in range(800)}), chain.infer(y=y)
    assert float(long.log_evidence) == pytest.approx(float(short.log_evidence), abs=1e-8)
    np.testing.assert_allclose(long.z400.probabilities, short.z.probabilities[400], atol=1e-10)


def test_data_are_read_and_not_written() -> None:
    X, y = RNG.normal(size=(6, 2)), RNG.normal(size=6)
    y[2] = np.nan
    X.flags.writeable = y.flags.writeable = False
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(2), cov=np.eye(2))
    m.y = Normal(m.X @ m.w, variance=1.0)
    kept = ~np.isnan(y)
    shorter = m.infer(X=X[kept], y=y[kept])
    np.testing.assert_allclose(m.infer(X=X, y=y).w.mean, shorter.w.mean, rtol=1e-12)


def test_diagonal_noise_of_vectors_is_noise_of_their_entries() -> None:
    X, Y = RNG.normal(size=(5, 2)), RNG.normal(size=(5, 3))
    variances = np.array([0.5, 1.0, 2.0])
    vectors, entries = Model(), Model()
    for m in (vectors, entries):
        m.X = Input()
        m.W = Normal(np.zeros((2, 3)), variance=1.0)
    vectors.Y = MvNormal(vectors.X @ vectors.W, cov=np.diag(variances))
    entries.Y = Normal(entries.X @ entries.W, variance=variances)
    a, b = vectors.infer(X=X, Y=Y), entries.infer(X=X, Y=Y)
    assert float(a.log_evidence) == pytest.approx(float(b.log_evidence), abs=1e-10)
    np.testing.assert_allclose(a.W.mean, b.W.mean, atol=1e-12)
    np.testing.assert_allclose(a.W.variance, b.W.variance, atol=1e-12)
