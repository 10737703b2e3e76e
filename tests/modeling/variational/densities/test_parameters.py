"""What parameters may be made of: known factors, products of unknowns, tables and gates.

Each model is a handful of lines with one parameter of interest; its bound is compared with sampling.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori import (
    Bernoulli,
    Binomial,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    InverseGamma,
    InverseWishart,
    MvNormal,
    Normal,
    Poisson,
    Wishart,
)
from posteriori.distributions import Multinomial
from posteriori.modeling import Chain, Input, Model, take
from tests.modeling.variational.cases import clusters, noise
from tests.modeling.variational.monte_carlo import sampled_bound

MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])
MATRICES = np.array([[[1.0, 0.3], [0.3, 1.0]], [[9.0, -1.0], [-1.0, 4.0]]])


def with_classes() -> Model:
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.z = Categorical(m.pi).iid("n")
    return m


def put(m: Model, **variables: Any) -> None:
    for name, law in variables.items():
        m[name] = law


def scalar(key: str, value: Callable[[Model], Any], **unknowns: Any) -> Any:
    def make() -> tuple[Model, dict[str, Any]]:
        m = Model()
        m.mu = Normal(0.0, variance=4.0)
        put(m, **unknowns)
        m.x = Normal(m.mu, **{key: value(m)}).iid("n")
        return m, {"x": 2.0 * noise(5)}

    return make


def vector(key: str, value: Callable[[Model], Any], **unknowns: Any) -> Any:
    def make() -> tuple[Model, dict[str, Any]]:
        m = Model()
        m.mu = MvNormal(np.zeros(2), cov=np.eye(2))
        put(m, **unknowns)
        m.x = MvNormal(m.mu, **{key: value(m)}).iid("n")
        return m, {"x": 2.0 * noise(5, 2)}

    return make


def gated(law: Callable[[Model], Any], x: Any, **unknowns: Any) -> Any:
    def make() -> tuple[Model, dict[str, Any]]:
        m = with_classes()
        put(m, **unknowns)
        m.x = law(m)
        return m, {"x": np.asarray(x, dtype=float)}

    return make


def rates() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.e = Input("n")
    m.r = Gamma(2.0, rate=1.0).iid("g")
    m.b = Gamma(2.0, rate=1.0)
    m.y = Poisson(m.e * m.r * m.b)
    return m, {"e": np.array([1.0, 2.0, 3.0]), "y": np.array([[1.0, 3.0], [2.0, 0.0], [0.0, 5.0]])}


def rates_of_precisions() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.b = Gamma(2.0, rate=1.0)
    m.tau = Gamma(2.0, rate=0.5 * m.b).iid("n")
    m.mu = Normal(0.0, variance=1.0)
    m.x = Normal(m.mu, precision=m.tau)
    return m, {"x": noise(5)}


def product_of_three() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.a, m.b, m.c = (Normal(1.0, variance=1.0).iid(p) for p in "ijk")
    m.tau = Gamma(2.0, rate=1.0)
    m.y = Normal(m.a * m.b * m.c, precision=m.tau)
    return m, {"y": noise(2, 3, 4)}


def single_members_of_a_chain() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.q, m.tau = Gamma(2.0, rate=1.0), Gamma(3.0, rate=1.0)
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, precision=m.q), 5)
    m.y = Normal(m.s[2], precision=1.0)
    m.w = Normal(m.s[4] - m.s[3], precision=m.tau)
    return m, {"y": 1.0, "w": 0.5}


def members_of_a_chain_out_of_order() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.q = Gamma(2.0, rate=1.0)
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, precision=m.q), 6)
    m.y = Normal(m.s[np.array([0, 3, 3, 5])], precision=1.0)
    m.w = Normal(m.s[4] - m.s[1], precision=2.0)
    return m, {"y": noise(4), "w": 0.5}


def regimes_of_a_series() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.P = Dirichlet(np.ones(2)).iid(2)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.P[z]), length="t")
    m.a = Normal(0.0, variance=1.0).iid(2)
    m.q = Gamma(2.0, rate=1.0)
    m.y = Chain(
        Normal(0.0, variance=1.0), lambda y: Normal(m.a[m.z] * y, precision=m.q), length="t"
    )
    return m, {"y": np.cumsum(noise(7))}


def classes_of_factors() -> tuple[Model, dict[str, Any]]:
    m = with_classes()
    m.A = Normal(0.0, variance=1.0).iid(2).iid(3).iid(2)
    m.h = MvNormal(np.zeros(2), cov=np.eye(2)).iid("n")
    m.tau = Gamma(2.0, rate=1.0)
    m.x = Normal(m.A[m.z] @ m.h, precision=m.tau)
    return m, {"x": noise(4, 3)}


def t() -> Any:
    return Gamma(2.0, rate=1.0)


def v() -> Any:
    return InverseGamma(3.0, scale=1.0)


CASES: dict[str, Callable[[], tuple[Model, dict[str, Any]]]] = {
    "a known factor of a precision": scalar("precision", lambda m: 3.0 * m.t, t=t()),
    "a known factor of a variance": scalar("variance", lambda m: 3.0 * m.v, v=v()),
    "a product of variances": scalar("variance", lambda m: m.v * m.u, v=v(), u=v()),
    "a known matrix and a precision": vector("precision", lambda m: m.t * MATRIX, t=t()),
    "a known matrix and a variance": vector("cov", lambda m: m.v * MATRIX, v=v()),
    "the unit matrix and a variance": vector("cov", lambda m: m.v * np.eye(2), v=v()),
    "a number and an unknown matrix": vector(
        "precision", lambda m: m.t * m.L, t=t(), L=Wishart(4.0, scale=np.eye(2))
    ),
    "a known factor of a covariance": vector(
        "cov", lambda m: 3.0 * m.S, S=InverseWishart(5.0, scale=np.eye(2))
    ),
    "a table of precisions": gated(
        lambda m: Normal(m.mu, precision=take([1.0, 0.1], m.z)),
        3.0 * noise(5),
        mu=Normal(0.0, variance=4.0),
    ),
    "a table of variances": gated(
        lambda m: Normal(m.mu, variance=take([1.0, 9.0], m.z)),
        3.0 * noise(5),
        mu=Normal(0.0, variance=4.0),
    ),
    "a table of scales": gated(
        lambda m: Normal(m.mu, scale=take([1.0, 9.0], m.z)),
        3.0 * noise(5),
        mu=Normal(0.0, variance=4.0),
    ),
    "a table of factors of a variance": gated(
        lambda m: Normal(m.mu, variance=take([1.0, 9.0], m.z) * m.v),
        3.0 * noise(5),
        mu=Normal(0.0, variance=4.0),
        v=v(),
    ),
    "a table of covariances": gated(
        lambda m: MvNormal(m.mu, cov=take(MATRICES, m.z)),
        2.0 * noise(5, 2),
        mu=MvNormal(np.zeros(2), cov=np.eye(2)),
    ),
    "a table of matrices and a precision": gated(
        lambda m: MvNormal(m.mu, precision=m.t * take(MATRICES, m.z)),
        2.0 * noise(5, 2),
        mu=MvNormal(np.zeros(2), cov=np.eye(2)),
        t=t(),
    ),
    "a precision for each class, and the unit matrix": gated(
        lambda m: MvNormal(m.mu[m.z], precision=m.t[m.z] * np.eye(2)),
        clusters(6, 2),
        mu=MvNormal(np.zeros(2), cov=np.eye(2)).iid(2),
        t=t().iid(2),
    ),
    "a table of rates": gated(lambda m: Poisson(take([1.0, 9.0], m.z)), [1.0, 8.0, 3.0]),
    "a table of probabilities": gated(
        lambda m: Bernoulli(take([0.1, 0.9], m.z)).iid("k"), [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    ),
    "a table for counts": gated(
        lambda m: Binomial(5, probability=take([0.1, 0.9], m.z)), [1.0, 5.0, 2.0]
    ),
    "a table of categories": gated(
        lambda m: Categorical(take([[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]], m.z)), [1.0, 2.0, 0.0]
    ),
    "a table for counts of categories": gated(
        lambda m: Multinomial(3, probabilities=take([[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]], m.z)),
        [[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]],
    ),
    "observed numbers of a Gamma": gated(
        lambda m: Gamma(3.0, rate=m.r[m.z]), [0.5, 5.0, 0.8], r=t().iid(2)
    ),
    "a known factor of a waiting rate": gated(
        lambda m: Exponential(2.0 * m.r[m.z]), [0.5, 5.0, 0.8], r=t().iid(2)
    ),
    "rates": rates,
    "rates of precisions": rates_of_precisions,
    "a product of three": product_of_three,
    "single members of a chain": single_members_of_a_chain,
    "members of a chain out of order": members_of_a_chain_out_of_order,
    "regimes of a series": regimes_of_a_series,
    "classes of factors": classes_of_factors,
}


@pytest.mark.parametrize("name", CASES)
def test_the_bound_by_three_routes(name: str) -> None:
    m, data = CASES[name]()
    post = m.infer(data, factorize=[[]], callback=lambda i, _: i >= 12)
    for result in post._solved.results:
        assert_allclose(result.problem.slow_bound()[0], result.log_evidence, rtol=1e-10)
        trace = np.array(result.ascent.trace)
        assert np.all(np.diff(trace) > -1e-10 * np.maximum(1.0, np.abs(trace[1:])))
    found = sampled_bound(m, data, *post._solved.results, size=6000)
    assert abs(found.value - float(post.log_evidence)) < 5.0 * found.error
