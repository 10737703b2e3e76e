"""Models written as loops over scalar variables: closed forms, and groups that stay apart."""

from typing import Any

import numpy as np
import pytest

from posteriori import Bernoulli, Beta, Normal
from posteriori.inference.gaussian.elimination import solve_gaussian
from posteriori.inference.gaussian.equations import Equation, Latent, Link
from posteriori.modeling import Chain, Model


def sum_of(n: int) -> Any:
    """Return n standard normal variables, their sum seen with unit noise as 3, and a leaf."""
    m = Model()
    total: Any = 0.0
    for i in range(n):
        m[f"x{i}"] = Normal(0.0, variance=1.0)
        total = total + m[f"x{i}"]
    m.y = Normal(total, variance=1.0)
    m.leaf = Normal(m.x0 - m.x1, variance=0.5)
    return m.infer(y=3.0)


@pytest.mark.parametrize("n", [2, 15, 16, 60, 300])
def test_a_sum_over_many_variables(n: int) -> None:
    """x | y has mean 3/(n + 1) and covariance I − 11ᵀ/(n + 1)."""
    post = sum_of(n)
    share = 1.0 / (n + 1.0)
    evidence = Normal(0.0, variance=n + 1.0).log_prob(3.0)
    assert float(post.log_evidence) == pytest.approx(evidence, rel=1e-10)
    assert float(post.explain().log_evidence) == pytest.approx(evidence, rel=1e-10)
    for name in ("x0", f"x{n - 1}"):
        assert post[name].mean == pytest.approx(3.0 * share, rel=1e-10)
        assert post[name].variance == pytest.approx(1.0 - share, rel=1e-10)
    joint = post.joint("x1", "x0")
    np.testing.assert_allclose(joint.cov, np.eye(2) - share, rtol=1e-9, atol=1e-12)
    assert post.leaf.mean == pytest.approx(0.0, abs=1e-12)
    assert post.leaf.variance == pytest.approx(2.5, rel=1e-10)


def test_draws_of_a_sum_have_its_moments() -> None:
    n, size = 20, 40_000
    draws = sum_of(n).sample(size, rng=1)
    x = np.stack([draws[f"x{i}"] for i in range(n)])
    cov = np.eye(n) - 1.0 / (n + 1.0)
    error = 5.0 * np.sqrt((cov**2 + np.outer(np.diag(cov), np.diag(cov))) / size)
    assert np.all(np.abs(np.cov(x) - cov) < error)
    assert np.all(np.abs(x.mean(axis=1) - 3.0 / (n + 1.0)) < 5.0 * np.sqrt(np.diag(cov) / size))


@pytest.mark.parametrize("n", [100, pytest.param(250, marks=pytest.mark.slow)])
def test_a_loop_over_time_is_the_chain(n: int) -> None:
    y = np.sin(np.arange(float(n)))
    loop, chain = Model(), Model()
    for t in range(n):
        mean = 0.9 * loop[f"s{t - 1}"] if t else 0.0
        loop[f"s{t}"] = Normal(mean, variance=0.5)
        loop[f"y{t}"] = Normal(loop[f"s{t}"], variance=0.2)
    chain.s = Chain(Normal(0.0, variance=0.5), lambda s: Normal(0.9 * s, variance=0.5), length="t")
    chain.y = Normal(chain.s, variance=0.2)
    slow = loop.infer({f"y{t}": value for t, value in enumerate(y)})
    fast = chain.infer(y=y)
    assert float(slow.log_evidence) == pytest.approx(float(fast.log_evidence), rel=1e-11)
    found = [(slow[f"s{t}"].mean, slow[f"s{t}"].variance) for t in range(n)]
    np.testing.assert_allclose(found, np.stack([fast.s.mean, fast.s.variance], 1), atol=1e-11)


def test_vectors_that_an_equation_sees_twice() -> None:
    """(x0 + x0)/2 … + x15 = 1 with unit noise: the two links to x0 add up."""
    latents = [Latent(f"x{i}", 1, 2) for i in range(16)]
    zero, one = np.zeros(2), np.ones(2)
    priors = [Equation(zero, one, (Link(v.name, np.eye(2)),)) for v in latents]
    half = np.full((1, 2), 0.5)
    links = (Link("x0", half), Link("x0", half), *(Link(v.name, 2 * half) for v in latents[1:]))
    solved = solve_gaussian(latents, [*priors, Equation(np.ones(1), np.ones(1), links)])
    np.testing.assert_allclose(solved.mean["x0"], 1.0 / 33.0, rtol=1e-12)
    np.testing.assert_allclose(solved.cov["x9"][0], np.eye(2) - 1.0 / 33.0, rtol=1e-12)
    np.testing.assert_allclose(solved.cross["x3", "x9"][0][0], -1.0 / 33.0, rtol=1e-12)


def test_an_undetermined_number_is_named() -> None:
    latents = [Latent(f"x{i}", 1, 1) for i in range(20)]
    rows = [Equation(np.zeros(1), np.ones(1), (Link(v.name, np.eye(1)),)) for v in latents]
    with pytest.raises(ValueError, match="the posterior of x7 is improper"):
        solve_gaussian(latents, [*rows[:7], *rows[8:]])


def test_groups_that_share_nothing_are_solved_apart() -> None:
    m = Model()
    for name in "abcd":
        m[name] = Normal(0.0, variance=1.0)
    m.ab = Normal(m.a + m.b, variance=1.0)
    m.e = Beta(1.0, 1.0)
    m.ecoin = Bernoulli(m.e)
    m.acd = Normal(m.a + m.c + m.d, variance=1.0)
    m.f = Normal(0.0, variance=1.0)
    m.seen = Normal(m.f, variance=1.0)
    plan = m.plan(ab=1.0, ecoin=1, acd=0.0, seen=2.0)
    assert [block.names for block in plan.blocks] == [("a", "b", "c", "d"), ("e",), ("f",)]
