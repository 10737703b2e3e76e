"""Classes that are told apart are integrated over; those that could change places are not."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp

from posteriori import Bernoulli, Beta, Binomial, Categorical, Chain, Gamma, Model, Normal, take
from posteriori.distributions import Dirichlet, MvNormal, Poisson, Uniform

CAPTURES = np.repeat([1, 2, 3, 0], [37, 38, 12, 150])
Y = np.concatenate([np.linspace(-1, 1, 9), np.linspace(4, 6, 7)])


def method(model: Model, **data) -> str:
    return model.plan(**data).blocks[0].method


def mixture(means, weight=None) -> Model:
    m = Model()
    m.w = Beta(1, 1) if weight is None else weight
    m.mu = means
    m.z = Bernoulli(m.w).iid("n")
    m.y = Normal(m.mu[m.z], scale=1.0)
    return m


def present() -> Model:
    """Animals of which some are not there, and are never caught."""
    m = Model()
    m.omega = Uniform(0, 1)
    m.p = Uniform(0, 1)
    m.z = Bernoulli(m.omega).iid("animal")
    m.s = Binomial(3, take([0.0, m.p], m.z))
    return m


def test_a_class_without_the_unknown_is_told_apart():
    post = present().infer(s=CAPTURES)
    omega, p = np.meshgrid(*[np.linspace(0.001, 0.999, 500)] * 2, indexing="ij")
    logs = np.zeros_like(omega)
    for k, count in zip(*np.unique(CAPTURES, return_counts=True), strict=True):
        choose = gammaln(4) - gammaln(k + 1) - gammaln(4 - k)
        there = np.log(omega) + choose + k * np.log(p) + (3 - k) * np.log1p(-p)
        logs += count * (np.logaddexp(there, np.log1p(-omega)) if k == 0 else there)
    assert post.log_evidence.kind == "quadrature"
    assert float(post.log_evidence) == pytest.approx(logsumexp(logs) - np.log(250000), abs=1e-3)
    weights = np.exp(logs - logsumexp(logs))
    for name, grid in (("omega", omega), ("p", p)):
        mean = (weights * grid).sum()
        std = np.sqrt((weights * (grid - mean) ** 2).sum())
        assert float(post[name].mean) == pytest.approx(mean, rel=1e-3)
        assert float(post[name].std) == pytest.approx(std, rel=1e-3)


def test_chances_that_round_to_one_are_chances():
    assert present().infer(s=CAPTURES).z.probability[0] == pytest.approx(1.0, abs=1e-12)


def test_means_whose_priors_lie_apart_are_integrated_over():
    m = mixture(Normal([0.0, 5.0], scale=1.0))
    post = m.infer(y=Y)
    assert "integral" in method(m, y=Y)
    grid = np.linspace(-3, 8, 111)
    share = np.linspace(0.02, 0.98, 49)
    normal = -0.5 * (Y[:, None] - grid) ** 2 - 0.5 * np.log(2 * np.pi)
    logs = np.empty((len(share), len(grid), len(grid)))
    for i, w in enumerate(share):
        first, second = np.log1p(-w) + normal, np.log(w) + normal
        logs[i] = np.logaddexp(first[:, :, None], second[:, None, :]).sum(0)
    logs += (-0.5 * grid**2)[:, None] - 0.5 * (grid - 5.0) ** 2
    weights = np.exp(logs - logsumexp(logs))
    for k, axes in ((0, (0, 2)), (1, (0, 1))):
        marginal = weights.sum(axes)
        mean = marginal @ grid
        assert float(post.mu.mean[k]) == pytest.approx(mean, abs=2e-3)
        std = np.sqrt(marginal @ (grid - mean) ** 2)
        assert float(post.mu.std[k]) == pytest.approx(std, rel=5e-3)


def test_moves_of_a_chain_whose_states_are_told_apart():
    m = Model()
    m.moves = Dirichlet([1.0, 1.0]).iid(2)
    m.mu = Normal([0.0, 5.0], scale=1.0)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.moves[z]), length="t")
    m.y = Normal(m.mu[m.z], scale=1.0)
    assert "integral over moves, mu" in method(m, y=Y)


@pytest.mark.parametrize(
    "means",
    [
        pytest.param(lambda: Normal(0, scale=3.0).iid(2), id="one prior"),
        pytest.param(lambda: Normal([0.0, 1.0], scale=1.0), id="priors that overlap"),
    ],
)
def test_classes_alike_are_approximated(means):
    assert "variational" in method(mixture(means()), y=Y)


def rates(low, high) -> Model:
    m = Model()
    m.w = Beta(1, 1)
    m.a = low
    m.b = high
    m.z = Bernoulli(m.w).iid("n")
    m.y = Poisson(take([m.a, m.b], m.z))
    return m


COUNTS = np.array([0, 1, 1, 2, 9, 8, 12])


def test_parameters_with_names_of_their_own_could_change_places_too():
    many = np.tile(COUNTS, 3)
    assert "variational" in method(rates(Gamma(1, 1), Gamma(1, 1)), y=many)
    assert "integral" in method(rates(Gamma(5, 5), Gamma(100, 10)), y=many)


def test_classes_alike_of_few_members_are_summed_over():
    """Σ over all assignments of Beta and Gamma integrals; an integral over one order is half."""
    m = Model()
    m.w = Beta(1, 1)
    m.rate = Gamma(1, 1).iid(2)
    m.z = Bernoulli(m.w).iid("n")
    m.y = Poisson(m.rate[m.z])
    post = m.infer(y=COUNTS)
    assert "sum over z" in method(m, y=COUNTS)
    terms = []
    for z in product([0, 1], repeat=len(COUNTS)):
        chosen = np.array(z, dtype=bool)
        term = betaln(1 + chosen.sum(), 1 + (~chosen).sum()) - gammaln(COUNTS + 1.0).sum()
        for mine in (chosen, ~chosen):
            total, count = COUNTS[mine].sum(), mine.sum()
            term += gammaln(1 + total) - (1 + total) * np.log(1.0 + count)
        terms.append(term)
    assert post.log_evidence.kind == "exact"
    assert float(post.log_evidence) == pytest.approx(logsumexp(terms), abs=1e-9)
    assert float(post.rate.mean[0]) == pytest.approx(float(post.rate.mean[1]), rel=1e-9)


def test_a_chance_and_its_complement_could_change_places():
    m = Model()
    m.w = Beta(1, 1)
    m.p = Beta(1, 1)
    m.z = Bernoulli(m.w).iid("n")
    m.y = Binomial(9, take([m.p, 1 - m.p], m.z))
    with pytest.raises(TypeError, match="is a sum"):  # not integrated over one of two orders
        m.plan(y=np.tile([0, 1, 8, 9], 5))


def test_vectors_whose_priors_lie_apart_are_integrated_over():
    m = Model()
    m.mu = MvNormal([[0.0, 0.0], [9.0, 9.0]], cov=np.eye(2))
    m.w = Beta(1, 1)
    m.z = Bernoulli(m.w).iid("n")
    m.y = MvNormal(m.mu[m.z], cov=np.eye(2))
    y = np.tile([[0.1, 0.2], [9.2, 8.7], [8.8, 9.5]], (6, 1))
    assert "integral" in method(m, y=y)


def test_more_joint_states_than_numbers_can_count():
    """3²⁰⁰⁰ overflows."""
    m = Model()
    m.p = Dirichlet(np.ones(3))
    m.z = Categorical(m.p).iid("n")
    m.y = Normal(take([-9.0, 0.0, 9.0], m.z), scale=1.0)
    y = np.tile([-9.0, 0.5, 9.0, 8.5], 500)
    assert m.infer(y=y).p.mean == pytest.approx([0.25, 0.25, 0.5], abs=2e-3)


@pytest.mark.parametrize(
    ("means", "said"), [([-1.0, 1.0], "integral"), ([1.0, 1.0], "variational")]
)
def test_known_parameters_of_data_tell_classes_apart(means, said):
    """Moves are rows of states that would change places together, unless the data tell them apart."""
    m = Model()
    m.A = Dirichlet(np.array([[4.0, 1.0], [1.0, 4.0]]))
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.A[z]), length="t")
    m.y = Normal(take(means, m.z), scale=1.0)
    assert said in method(m, y=np.tile(Y, 2))
