"""Classes that are all alike: asked for, an integral over one of their orders stands for all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

from posteriori import (
    Bernoulli,
    Beta,
    Categorical,
    Chain,
    Dirichlet,
    Gamma,
    Model,
    MvNormal,
    Normal,
    take,
)
from posteriori.distributions import Poisson

APART = np.concatenate([np.linspace(-1, 1, 9), np.linspace(4, 6, 7)])
NEAR = np.concatenate([np.linspace(-1.5, 1.5, 12), np.linspace(1, 4, 10)])
#: Two classes, or one of a larger spread than 1.
ONE = np.concatenate([np.linspace(-1.5, 1.5, 10), np.linspace(-0.5, 2.5, 10)])


def mixture(means=None, weight=None) -> Model:
    m = Model()
    m.w = weight or Beta(1, 1)
    m.mu = means or Normal(0, scale=3.0).iid(2)
    m.z = Bernoulli(m.w).iid("n")
    m.y = Normal(m.mu[m.z], scale=1.0)
    return m


def dense(y):
    """Weights of a grid of shares and of two means in any order, and ln p(y)."""
    means, shares = np.linspace(-8, 9, 103), (np.arange(40) + 0.5) / 40
    normal = -0.5 * (y[:, None] - means) ** 2 - 0.5 * np.log(2 * np.pi)
    prior = -0.5 * (means / 3) ** 2 - np.log(3 * np.sqrt(2 * np.pi))
    logs = np.array(
        [
            np.logaddexp((np.log1p(-w) + normal)[:, :, None], (np.log(w) + normal)[:, None]).sum(0)
            for w in shares
        ]
    )
    logs += prior[:, None] + prior
    total = logsumexp(logs)
    in_order = np.where(means[:, None] < means, 2.0, np.where(means[:, None] == means, 1.0, 0.0))
    weights = np.exp(logs - total) * in_order
    return means, shares, weights, total + 2 * np.log(means[1] - means[0]) - np.log(len(shares))


@pytest.mark.parametrize(("y", "within"), [(APART, 2e-3), (NEAR, 5e-3)], ids=["apart", "near"])
def test_two_means_against_a_grid(y, within):
    post = mixture().infer(y=y, method="quadrature")
    means, shares, weights, log_evidence = dense(y)
    assert post.log_evidence.kind == "quadrature"
    assert float(post.log_evidence) == pytest.approx(log_evidence, abs=within)
    for k, axes in ((0, (0, 2)), (1, (0, 1))):
        marginal = weights.sum(axes)
        mean = marginal @ means
        std = np.sqrt(marginal @ (means - mean) ** 2)
        assert float(post.mu.mean[k]) == pytest.approx(mean, abs=within * std)
        assert float(post.mu.std[k]) == pytest.approx(std, rel=2 * within)
    share = weights.sum((1, 2))
    assert float(post.w.mean) == pytest.approx(share @ shares, abs=within)


@pytest.mark.slow  # the edge is refined before it is refused
def test_classes_that_may_be_one_are_refused():
    m = Model()
    m.mu = Normal(0, scale=3.0).iid(2)
    m.z = Bernoulli(0.5).iid("n")
    m.y = Normal(m.mu[m.z], scale=1.0)
    with pytest.raises(ValueError, match="do not tell the classes of mu apart"):
        m.infer(y=ONE, method="quadrature")


def test_draws_are_in_order_and_weights_agree():
    post = mixture().infer(y=NEAR, method="quadrature")
    assert np.all(np.diff(post.sample(500, rng=0)["mu"], axis=1) > 0)
    assert post.reliability(draws=300, rng=0).verdict == "the belief agrees with the posterior"


@pytest.mark.slow
def test_rates_of_three_classes():
    """Evidence by enumeration: of Gamma rates and Dirichlet shares all that matters are sums."""
    m = Model()
    m.w = Dirichlet(np.ones(3))
    m.rate = Gamma(1, 0.1).iid(3)
    m.z = Categorical(m.w).iid("n")
    m.y = Poisson(take(m.rate, m.z))
    y = np.array([1, 2, 3, 15, 16, 17, 60, 65, 70])
    post = m.infer(y=y, method="quadrature")
    assert "integral" in m.plan(y=y, method="quadrature").blocks[0].method
    z = np.stack(np.unravel_index(np.arange(3 ** len(y)), (3,) * len(y)), axis=1)
    logs = -gammaln(y + 1.0).sum() + gammaln(3.0) - gammaln(3.0 + len(y))
    for k in range(3):
        count, total = (z == k).sum(1), (z == k) @ y
        logs = logs + gammaln(1.0 + count) + np.log(0.1) + gammaln(1.0 + total)
        logs = logs - (1.0 + total) * np.log(0.1 + count)
    assert float(post.log_evidence) == pytest.approx(logsumexp(logs), abs=0.1)
    assert np.all(np.diff(post.rate.mean) > 0)


def test_states_of_a_chain_change_places_with_their_moves():
    m = Model()
    m.moves = Dirichlet(np.ones((2, 2)))
    m.mu = Normal(0, scale=5).iid(2)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.moves[z]), length="t")
    m.y = Normal(m.mu[m.z], scale=1.0)
    plan = m.plan(y=APART, method="quadrature")
    assert "integral over moves, mu" in plan.blocks[0].method
    assert "variational" in m.plan(y=APART).blocks[0].method


def moves_that_differ() -> Model:
    m = Model()
    m.moves = Dirichlet(np.array([[4.0, 1.0], [1.0, 2.0]]))
    m.mu = Normal(0, scale=5).iid(2)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.moves[z]), length="t")
    m.y = Normal(m.mu[m.z], scale=1.0)
    return m


def vectors() -> Model:
    m = Model()
    m.w = Beta(1, 1)
    m.mu = MvNormal(np.zeros(2), cov=np.eye(2)).iid(2)
    m.z = Bernoulli(m.w).iid("n")
    m.y = MvNormal(m.mu[m.z], cov=np.eye(2))
    return m


def test_vectors_have_no_order():
    y = np.tile(NEAR[:, None], 2)
    with pytest.raises(TypeError, match="could change places"):
        vectors().plan(y=y, method="quadrature")
    assert "variational" in vectors().plan(y=y).blocks[0].method


# -- classes that priors tell apart, although they overlap ---------------------------------------


def grid(y, log_priors, log_share):
    """Weights of a grid of shares and two means, all namings of the classes counted, and ln p(y)."""
    means, shares = np.linspace(-5, 8, 92), (np.arange(40) + 0.5) / 40
    normal = -0.5 * (y[:, None] - means) ** 2 - 0.5 * np.log(2 * np.pi)
    logs = np.array(
        [
            np.logaddexp((np.log1p(-w) + normal)[:, :, None], (np.log(w) + normal)[:, None]).sum(0)
            + log_share(w)
            for w in shares
        ]
    )
    logs += log_priors[0](means)[:, None] + log_priors[1](means)
    total = logsumexp(logs)
    volume = 2 * np.log(means[1] - means[0]) - np.log(len(shares))
    return means, np.exp(logs - total), total + volume


@pytest.mark.parametrize(
    ("centres", "scale", "counts"),
    [
        pytest.param((0.0, 0.0), 3.0, (2, 5), id="shares that differ"),
        pytest.param((0.0, 1.0), 1.0, (1, 1), id="priors that overlap"),
    ],
)
def test_priors_that_differ_count_every_naming(centres, scale, counts):
    m = mixture(Normal(np.array(centres), scale=scale), Beta(*counts))
    assert "variational" in m.plan(y=NEAR).blocks[0].method  # not by itself
    post = m.infer(y=NEAR, method="quadrature")
    priors = [stats.norm(centre, scale).logpdf for centre in centres]
    means, weights, log_evidence = grid(NEAR, priors, stats.beta(*counts).logpdf)
    assert float(post.log_evidence) == pytest.approx(log_evidence, abs=0.02)
    for k, axes in ((0, (0, 2)), (1, (0, 1))):
        marginal = weights.sum(axes)
        mean = marginal @ means
        std = np.sqrt(marginal @ (means - mean) ** 2)
        assert float(post.mu.mean[k]) == pytest.approx(mean, abs=0.05 * std)
        assert float(post.mu.std[k]) == pytest.approx(std, rel=0.05)


@pytest.mark.parametrize("truth", [(0.5, 2.0), (2.0, 0.5), (1.0, 1.5)])
def test_states_of_a_chain_with_other_priors(truth):
    """Forward sums on a grid of both means, whichever of them the first state has."""
    rng = np.random.default_rng(3)
    stay = 0.8
    z = (np.cumsum(rng.random(40) > stay) % 2).astype(int)
    y = np.array(truth)[z] + 0.5 * rng.normal(size=40)
    moves = np.array([[stay, 1 - stay], [1 - stay, stay]])
    m = Model()
    m.mu = Normal([0.0, 3.0], variance=1.0)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(moves, z)), length="t")
    m.y = Normal(m.mu[m.z], scale=0.5)
    post = m.infer(y=y, method="quadrature")
    at = np.linspace(-4, 7, 221)
    seen = stats.norm.logpdf(y[:, None], at, 0.5)
    first, second = np.broadcast_arrays(seen[0][:, None], seen[0])
    for row in seen[1:]:
        first, second = (
            np.logaddexp(first + np.log(stay), second + np.log(1 - stay)) + row[:, None],
            np.logaddexp(first + np.log(1 - stay), second + np.log(stay)) + row,
        )
    logs = np.logaddexp(first, second) + np.log(0.5)
    logs = logs + stats.norm(0, 1).logpdf(at)[:, None] + stats.norm(3, 1).logpdf(at)
    log_evidence = logsumexp(logs) + 2 * np.log(at[1] - at[0])
    weights = np.exp(logs - logsumexp(logs))
    assert float(post.log_evidence) == pytest.approx(log_evidence, abs=2e-3)
    for k in range(2):
        mean = weights.sum(axis=1 - k) @ at
        assert float(post.mu.mean[k]) == pytest.approx(mean, abs=0.01)


def test_moves_that_differ_are_integrated_over():
    plan = moves_that_differ().plan(y=NEAR, method="quadrature")
    assert "integral over moves, mu" in plan.blocks[0].method
