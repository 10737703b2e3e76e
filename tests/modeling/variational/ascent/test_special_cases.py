"""Models that are special cases of one another have the same beliefs and the same bound."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    MvNormal,
    Normal,
    Poisson,
    Wishart,
)
from posteriori.modeling import Chain, Model, take
from tests.modeling.variational.cases import clusters, noise
from tests.modeling.variational.models import by_name, variational
from tests.modeling.variational.monte_carlo import sampled_bound

TIGHT = {"tol": 1e-15}


# -- one class is no mixture -------------------------------------------------------------------


def normal_of(classes: int) -> Model:
    m = Model()
    m.mu = MvNormal(np.zeros(2), cov=4.0 * np.eye(2)).iid(classes)
    m.L = Wishart(4.0, scale=0.5 * np.eye(2)).iid(classes)
    m.pi = Dirichlet(2.0 * np.ones(classes))
    m.z = Categorical(m.pi).iid("n")
    m.x = MvNormal(m.mu[m.z], precision=m.L[m.z])
    return m


def test_one_class_is_no_mixture() -> None:
    x = clusters(8, 2)
    plain = Model()
    plain.mu = MvNormal(np.zeros(2), cov=4.0 * np.eye(2))
    plain.L = Wishart(4.0, scale=0.5 * np.eye(2))
    plain.x = MvNormal(plain.mu, precision=plain.L).iid("n")
    one, expected = normal_of(1).infer(x=x, **TIGHT), plain.infer(x=x, **TIGHT)
    assert_allclose(float(one.log_evidence), float(expected.log_evidence), rtol=1e-10)
    assert_allclose(one.mu.mean[0], expected.mu.mean, rtol=1e-7)
    assert_allclose(one.mu.cov[0], expected.mu.cov, rtol=1e-7)
    assert_allclose(one.L.mean[0], expected.L.mean, rtol=1e-7)


def test_a_hidden_markov_chain_of_one_state_is_exact() -> None:
    m = Model()
    m.A = Dirichlet(np.ones(1)).iid(1)
    m.z = Chain(Categorical([1.0]), lambda z: Categorical(m.A[z]), length="t")
    m.rate = Gamma(2.0, rate=1.0).iid(1)
    m.x = Poisson(m.rate[m.z])
    plain = Model()
    plain.rate = Gamma(2.0, rate=1.0)
    plain.x = Poisson(plain.rate).iid("t")
    x = np.array([1.0, 4.0, 2.0])
    post, expected = m.infer(x=x), plain.infer(x=x)
    assert_allclose(float(post.log_evidence), float(expected.log_evidence), rtol=1e-12)
    assert_allclose(post.rate.rate[0], expected.rate.rate, rtol=1e-12)


def test_a_hidden_markov_chain_of_length_one_is_a_mixture_of_one_row() -> None:
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.A = Dirichlet(np.ones(2)).iid(2)
    m.z = Chain(Categorical(m.pi), lambda z: Categorical(m.A[z]), length="t")
    m.rate = Gamma(2.0, rate=1.0).iid(2)
    m.x = Poisson(m.rate[m.z])
    plain = Model()
    plain.pi = Dirichlet(np.ones(2))
    plain.z = Categorical(plain.pi).iid("t")
    plain.rate = Gamma(2.0, rate=1.0).iid(2)
    plain.x = Poisson(plain.rate[plain.z])
    start = {"init": {"z": np.array([[0.3, 0.7]])}, "x": np.array([4.0]), **TIGHT}
    post, expected = m.infer(**start), plain.infer(**start)
    assert_allclose(float(post.log_evidence), float(expected.log_evidence), rtol=1e-10)
    assert_allclose(post.rate.mean, expected.rate.mean, rtol=1e-6)


def test_a_normal_chain_of_length_one_is_a_variable() -> None:
    def model(chain: bool) -> Model:
        m = Model()
        m.q = Gamma(3.0, rate=1.0)
        first = Normal(0.0, precision=m.q)
        m.s = Chain(first, lambda s: Normal(s, precision=m.q), length="t") if chain else first
        m.y = Normal(m.s, variance=0.3)
        return m

    post, expected = model(True).infer(y=[1.5], **TIGHT), model(False).infer(y=1.5, **TIGHT)
    assert_allclose(float(post.log_evidence), float(expected.log_evidence), rtol=1e-10)
    assert_allclose(post.s.variance[0], expected.s.variance, rtol=1e-7)


@pytest.mark.parametrize("length", [2, 3])
def test_short_hidden_markov_chains(length: int) -> None:
    """A chain of two members, which has a single step, is no exception."""
    m = Model()
    m.A = Dirichlet(np.ones(2)).iid(2)
    m.z = Chain(Categorical([0.3, 0.7]), lambda z: Categorical(m.A[z]), length="t")
    m.rate = Gamma(2.0, rate=1.0).iid(2)
    m.x = Poisson(m.rate[m.z])
    data = {"x": np.array([4.0, 0.0, 5.0])[:length]}
    post = m.infer(data, factorize=[[]], **TIGHT)
    found = sampled_bound(m, data, *post._solved.results, size=4000)
    assert abs(found.value - float(post.log_evidence)) < 5.0 * found.error


# -- nothing observed --------------------------------------------------------------------------


MISSING = ["mean_and_precision", "ragged_groups", "univariate_mixture", "bernoulli_mixture"]
MISSING += ["wishart_mixture", "principal_components", "normal_hmm", "poisson_hmm"]
MISSING += ["linear_system", "switching_system", "two_gates", "matrix_factorisation"]

UNCOUPLED = {"mean_and_precision", "matrix_factorisation", "principal_components"}


@pytest.mark.parametrize("name", MISSING)
def test_nothing_observed_gives_the_prior(name: str) -> None:
    """The best independent beliefs about the prior: at most 0, and 0 where only data couple."""
    m, data = by_name(name)
    gone = {k: v if k in m._inputs else np.full(np.shape(v), np.nan) for k, v in data.items()}
    post = m.infer(gone, tol=1e-10, max_iter=5000)
    bound = float(post.log_evidence)
    assert bound < 1e-9
    if name in UNCOUPLED:
        assert_allclose(bound, 0.0, atol=1e-10)


def test_nothing_observed_and_no_coupling_gives_exactly_the_prior() -> None:
    m = Model()
    m.mu = Normal(1.0, variance=4.0).iid(3)
    m.tau = Gamma(2.0, rate=1.5).iid(3)
    m.z = Categorical([0.2, 0.3, 0.5]).iid("n")
    m.x = Normal(m.mu[m.z], precision=m.tau[m.z])
    post = m.infer(x=np.full(5, np.nan), **TIGHT)
    assert_allclose(float(post.log_evidence), 0.0, atol=1e-12)
    assert_allclose(post.mu.mean, 1.0)
    assert_allclose(post.mu.variance, 4.0)
    assert_allclose(post.tau.rate, 1.5)
    assert_allclose(post.z.probabilities, np.tile([0.2, 0.3, 0.5], (5, 1)))


def test_a_row_without_data_is_no_row() -> None:
    """Its scores have a known prior, and say nothing about the rest."""
    m, data = by_name("factor_analysis")
    x, z = data["x"], noise(8, 2)
    more = np.concatenate([x, np.full((1, x.shape[1]), np.nan)])
    post = m.infer(x=x, init={"z": z[:7]}, **TIGHT)
    longer = m.infer(x=more, init={"z": z}, **TIGHT)
    assert_allclose(float(post.log_evidence), float(longer.log_evidence), rtol=1e-10)
    for name in ("tau", "alpha"):
        assert_allclose(post[name].mean, longer[name].mean, rtol=1e-4)
    assert_allclose(longer.z.mean[-1], 0.0, atol=1e-12)
    assert_allclose(longer.z.cov[-1], np.eye(2), atol=1e-12)


# -- known parts -------------------------------------------------------------------------------


def test_observed_classes_are_counted() -> None:
    """With z known, weights and components are conjugate blocks of their own."""
    m = Model()
    m.pi = Dirichlet([1.0, 2.0])
    m.p = Beta(1.0, 1.5).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Bernoulli(m.p[m.z])
    z, x = np.array([0.0, 1.0, 1.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    post = m.infer(z=z, x=x, factorize="full")
    assert_allclose(post.pi.concentration, [3.0, 5.0])
    assert_allclose(post.p.a, [3.0, 2.0])
    assert_allclose(post.p.b, [1.5, 3.5])
    assert_allclose(float(post.log_evidence), float(m.infer(z=z, x=x).log_evidence), rtol=1e-12)


def test_classes_known_in_part_agree_with_hard_ones() -> None:
    """A class that is given is as certain as one that the data decide."""
    m, data = by_name("univariate_mixture")
    z = np.array([0.0, 1.0, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan])
    post = m.infer(**data, z=z)
    assert_allclose(post.z.probabilities[0], [1.0, 0.0])
    assert_allclose(post.z.probabilities[1], [0.0, 1.0])
    result = variational(post).informed
    assert_allclose(result.problem.slow_bound()[0], result.log_evidence, rtol=1e-11)
    assert float(post.log_evidence) < float(m.infer(**data).log_evidence)


def test_a_normal_block_alone_is_exact() -> None:
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid("g")
    m.y = Normal(m.theta, variance=1.0)
    y = [2.0, 3.0, 7.0]
    exact, forced = m.infer(y=y), m.infer(y=y, factorize=[["mu"]])
    assert forced.log_evidence.kind == "bound"
    assert_allclose(float(forced.log_evidence), float(exact.log_evidence), rtol=1e-12)
    assert_allclose(forced.theta.variance, exact.theta.variance, rtol=1e-12)


def test_a_normal_chain_alone_is_exact() -> None:
    m = Model()
    m.s = Chain(
        MvNormal(np.zeros(2), cov=np.eye(2)),
        lambda s: MvNormal(np.array([[0.9, 0.2], [0.0, 0.8]]) @ s, cov=0.5 * np.eye(2)),
        length="t",
    )
    m.y = MvNormal(m.s, cov=0.3 * np.eye(2))
    y = np.cumsum(noise(6, 2), axis=0)
    exact, forced = m.infer(y=y), m.infer(y=y, factorize=[["s"]])
    assert_allclose(float(forced.log_evidence), float(exact.log_evidence), rtol=1e-12)
    assert_allclose(forced.s.cov, exact.s.cov, rtol=1e-10, atol=1e-12)


def test_a_discrete_chain_alone_is_exact() -> None:
    m = Model()
    table = np.array([[0.9, 0.1], [0.3, 0.7]])
    emission = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    m.z = Chain(Categorical([0.4, 0.6]), lambda z: Categorical(take(table, z)), length="t")
    m.x = Categorical(take(emission, m.z))
    x = [0.0, 2.0, 1.0, 2.0]
    exact, forced = m.infer(x=x), m.infer(x=x, factorize=[["z"]])
    assert_allclose(float(forced.log_evidence), float(exact.log_evidence), rtol=1e-12)
    assert_allclose(forced.z.probabilities, exact.z.probabilities, rtol=1e-12)


def test_a_conjugate_variable_alone_is_exact() -> None:
    m = Model()
    m.L = Wishart(4.0, scale=np.eye(2))
    m.x = MvNormal(np.zeros(2), precision=m.L).iid("n")
    x = noise(5, 2)
    exact, forced = m.infer(x=x), m.infer(x=x, factorize=[["L"]])
    assert_allclose(float(forced.log_evidence), float(exact.log_evidence), rtol=1e-12)
    assert_allclose(forced.L.mean, exact.L.mean, rtol=1e-12)


def test_a_precision_almost_known_is_exact_in_the_limit() -> None:
    def model(precision: Any) -> Model:
        m = Model()
        if precision is None:
            m.tau = Gamma(1e6, rate=1e6)
        m.mu = Normal(0.0, variance=9.0)
        m.x = Normal(m.mu, precision=m.tau if precision is None else precision).iid("n")
        return m

    x = np.array([1.0, 2.0, 4.0])
    post, exact = model(None).infer(x=x), model(1.0).infer(x=x)
    assert_allclose(float(post.log_evidence), float(exact.log_evidence), atol=1e-5)
    assert_allclose(post.mu.variance, exact.mu.variance, rtol=1e-5)


# -- other ways to write the same --------------------------------------------------------------


def test_a_loop_over_scalars_is_a_plate() -> None:
    x = 1.0 + noise(5)
    loop, plate = Model(), Model()
    for m in (loop, plate):
        m.mu = Normal(0.0, variance=4.0)
        m.between, m.within = Gamma(2.0, rate=1.0), Gamma(3.0, rate=1.0)
    plate.theta = Normal(plate.mu, precision=plate.between).iid("n")
    plate.x = Normal(plate.theta, precision=plate.within)
    for i in range(5):
        loop[f"theta{i}"] = Normal(loop.mu, precision=loop.between)
        loop[f"x{i}"] = Normal(loop[f"theta{i}"], precision=loop.within)
    a = plate.infer(x=x, **TIGHT)
    b = loop.infer({f"x{i}": v for i, v in enumerate(x)}, **TIGHT)
    assert_allclose(float(a.log_evidence), float(b.log_evidence), rtol=1e-10)
    assert_allclose(a.within.rate, b.within.rate, rtol=1e-6)
    for i in range(5):
        assert_allclose(a.theta.variance[i], b[f"theta{i}"].variance, rtol=1e-6)


def test_a_loop_over_classes_is_a_plate_of_them() -> None:
    x = clusters(5)
    loop, plate = Model(), Model()
    for m in (loop, plate):
        m.pi = Dirichlet(np.ones(2))
        m.mu = Normal(0.0, variance=9.0).iid(2)
        m.tau = Gamma(2.0, rate=1.0)
    plate.z = Categorical(plate.pi).iid("n")
    plate.x = Normal(plate.mu[plate.z], precision=plate.tau)
    for i in range(5):
        loop[f"z{i}"] = Categorical(loop.pi)
        loop[f"x{i}"] = Normal(loop.mu[loop[f"z{i}"]], precision=loop.tau)
    codes = np.array([0, 1, 0, 1, 0])
    a = plate.infer(x=x, init={"z": codes}, **TIGHT)
    b = loop.infer(
        {f"x{i}": v for i, v in enumerate(x)},
        init={f"z{i}": code for i, code in enumerate(codes)},
        **TIGHT,
    )
    assert_allclose(float(a.log_evidence), float(b.log_evidence), rtol=1e-10)
    assert_allclose(a.mu.mean, b.mu.mean, rtol=1e-6)


def test_a_chain_is_a_loop_over_its_members() -> None:
    """A loop joins all members into one vector: the same belief as the chain's."""
    y = np.cumsum(noise(5))
    chain, loop = Model(), Model()
    for m in (chain, loop):
        m.q = Gamma(3.0, rate=1.0)
    chain.s = Chain(
        Normal(0.0, variance=1.0), lambda s: Normal(0.9 * s, precision=chain.q), length="t"
    )
    chain.y = Normal(chain.s, variance=0.3)
    for t in range(5):
        first = t == 0
        loop[f"s{t}"] = (
            Normal(0.0, variance=1.0)
            if first
            else Normal(0.9 * loop[f"s{t - 1}"], precision=loop.q)
        )
        loop[f"y{t}"] = Normal(loop[f"s{t}"], variance=0.3)
    a = chain.infer(y=y, **TIGHT)
    b = loop.infer({f"y{t}": v for t, v in enumerate(y)}, **TIGHT)
    assert_allclose(float(a.log_evidence), float(b.log_evidence), rtol=1e-10)
    assert_allclose(a.q.rate, b.q.rate, rtol=1e-6)
    assert_allclose(a.s.variance, [b[f"s{t}"].variance for t in range(5)], rtol=1e-6)


def test_a_wishart_of_one_dimension_is_a_gamma() -> None:
    """W(ν, V) on numbers is Gamma(ν/2, rate 1/(2V))."""
    x = 1.0 + noise(6)
    w, g = Model(), Model()
    w.mu, g.mu = MvNormal(np.zeros(1), cov=4.0 * np.eye(1)), Normal(0.0, variance=4.0)
    w.L, g.L = Wishart(5.0, scale=0.5 * np.eye(1)), Gamma(2.5, rate=1.0)
    w.x = MvNormal(w.mu, precision=w.L).iid("n")
    g.x = Normal(g.mu, precision=g.L).iid("n")
    a, b = w.infer(x=x[:, None], **TIGHT), g.infer(x=x, **TIGHT)
    assert_allclose(float(a.log_evidence), float(b.log_evidence), rtol=1e-10)
    assert_allclose(a.mu.cov[0, 0], b.mu.variance, rtol=1e-7)


# -- independence that was asked for -----------------------------------------------------------


def is_joint(name: str) -> bool:
    m, data = by_name(name)
    return any(len(group) > 1 for group in m.plan(data).blocks[0].approximation.structure.groups)


@pytest.mark.parametrize("name", ["eight_schools", "ragged_groups", "principal_components"])
def test_full_factorisation_is_not_above_the_structured_bound(name: str) -> None:
    m, data = by_name(name)
    assert is_joint(name)
    options = {"tol": 1e-9, "max_iter": 5000}
    apart = m.infer(data, factorize="full", **options)
    joint = m.infer(data, **options)
    assert float(apart.log_evidence) < float(joint.log_evidence) - 1e-4
    result = variational(apart)
    assert all(len(node.names) == 1 for node in result.problem.nodes)
    assert_allclose(result.problem.slow_bound()[0], result.log_evidence, rtol=1e-11)


def test_factorising_a_normal_pair_gives_the_known_variances() -> None:
    """Of N(m, Σ), independent beliefs have the right means and variances 1 / (Σ⁻¹)ᵢᵢ."""
    m = Model()
    m.a = Normal(0.0, variance=1.0)
    m.b = Normal(0.0, variance=2.0)
    m.y = Normal(m.a + m.b, variance=0.5)
    joint = m.infer(y=3.0).joint("a", "b")
    apart = m.infer(y=3.0, factorize="full", tol=1e-14)
    widths = 1.0 / np.diag(np.linalg.inv(joint.cov))
    assert_allclose([apart.a.mean, apart.b.mean], joint.mean, rtol=1e-5)
    assert_allclose([apart.a.variance, apart.b.variance], widths, rtol=1e-12)
    gap = 0.5 * (np.log(np.prod(widths)) - np.linalg.slogdet(joint.cov)[1])
    exact = float(m.infer(y=3.0).log_evidence)
    assert_allclose(float(apart.log_evidence), exact + gap, rtol=1e-9)


# -- symmetry ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("wishart_mixture", ("mu", "L")),
        ("poisson_mixture", ("rate",)),
        ("categorical_hmm", ("B",)),
        ("mixture_of_regressions", ("w", "tau")),
    ],
)
def test_names_of_classes_do_not_matter(name: str, parts: tuple[str, ...]) -> None:
    m, data = by_name(name)
    bound = m.plan(data).bound
    classes = bound.layouts[parts[0]].ints[0].size
    (n,) = bound.layouts["z"].shape
    p = np.random.default_rng(3).dirichlet(np.ones(classes), n)
    order = np.roll(np.arange(classes), 1)
    options: dict[str, Any] = {"callback": lambda i, _: i >= 20, "method": "vmp"}
    a = m.infer(data, init={"z": p}, **options)
    b = m.infer(data, init={"z": p[:, order]}, **options)
    assert_allclose(float(a.log_evidence), float(b.log_evidence), rtol=1e-10)
    for part in parts:
        assert_allclose(a[part].mean[order], b[part].mean, rtol=1e-7, atol=1e-9)
    assert_allclose(a.z.probabilities[:, order], b.z.probabilities, atol=1e-8)
