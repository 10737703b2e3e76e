"""Shapes, scales and gaps in which variational inference could go wrong without a sound."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    InverseGamma,
    MvNormal,
    Normal,
    Poisson,
    Wishart,
)
from posteriori.distributions import Multinomial
from posteriori.modeling import Chain, Input, Model, dot, take
from posteriori.modeling.variational.ascent.coordinate_ascent import Acceleration
from tests.modeling.posterior.calibrated_models import walk
from tests.modeling.variational.cases import noise
from tests.modeling.variational.models import variational
from tests.modeling.variational.monte_carlo import sampled_bound


def multinomial_mixture() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.p = Dirichlet(np.ones(3)).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Multinomial(4, probabilities=m.p[m.z])
    return m, {"x": np.array([[4.0, 0.0, 0.0], [0.0, 1.0, 3.0], [3.0, 1.0, 0.0], [0.0, 0.0, 4.0]])}


def scaled_precision() -> tuple[Model, dict[str, Any]]:
    """A known weight for each row times an unknown precision."""
    m = Model()
    m.w = Input("n")
    m.mu = Normal(0.0, variance=4.0)
    m.tau = Gamma(2.0, rate=1.0)
    m.x = Normal(m.mu, precision=m.w * m.tau)
    return m, {"w": np.array([0.5, 1.0, 2.0, 4.0]), "x": noise(4)}


def precision_of_two_plates() -> tuple[Model, dict[str, Any]]:
    """A product of two unknown precisions, one for rows and one for columns."""
    m = Model()
    m.row = Gamma(2.0, rate=1.0).iid("r")
    m.column = Gamma(3.0, rate=2.0).iid("c")
    m.mu = Normal(0.0, variance=4.0).iid("c")
    m.x = Normal(m.mu, precision=m.row * m.column)
    return m, {"x": noise(3, 4).T}


def crossed_effects() -> tuple[Model, dict[str, Any]]:
    m = Model()
    first, second = np.array([0, 0, 1, 1, 2, 2, 0]), np.array([0, 1, 0, 1, 0, 1, 1])
    m.ta, m.tb, m.te = (Gamma(2.0, rate=1.0) for _ in range(3))
    m.a = Normal(0.0, precision=m.ta).iid(3)
    m.b = Normal(0.0, precision=m.tb).iid(2)
    m.y = Normal(m.a[first] + m.b[second] + 0.5, precision=m.te)
    return m, {"y": noise(7)}


def several_known_indices() -> tuple[Model, dict[str, Any]]:
    """Means by one index and precisions by another."""
    m = Model()
    first, second = np.array([0, 0, 1, 1, 2, 2, 0]), np.array([0, 1, 0, 1, 0, 1, 1])
    m.t = Gamma(2.0, rate=1.0)
    m.a = Normal(0.0, precision=m.t).iid(3)
    m.te = Gamma(2.0, rate=1.0).iid(2)
    m.y = Normal(m.a[first], precision=m.te[second])
    return m, {"y": noise(7)}


def mixed_data() -> tuple[Model, dict[str, Any]]:
    """Rows with a count, a number, an answer, a waiting time and a part of a number."""
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.z = Categorical(m.pi).iid("n")
    m.rate = Gamma(2.0, rate=1.0).iid(2)
    m.mu = Normal(0.0, variance=4.0).iid(2)
    m.v = InverseGamma(3.0, scale=2.0)
    m.p = Beta(1.0, 1.0).iid(2)
    m.count = Poisson(m.rate[m.z])
    m.number = Normal(m.mu[m.z], variance=m.v)
    m.answer = Bernoulli(m.p[m.z])
    m.wait = Exponential(m.rate[m.z])
    m.part = Binomial(3, probability=m.p[m.z])
    return m, {
        "count": np.array([1.0, 5.0, np.nan, 6.0, 0.0]),
        "number": np.array([-1.0, np.nan, -1.2, 1.5, -0.8]),
        "answer": np.array([0.0, 1.0, 0.0, np.nan, 0.0]),
        "wait": np.array([1.0, 0.1, 2.0, 0.2, np.nan]),
        "part": np.array([np.nan, 3.0, 0.0, 2.0, 1.0]),
    }


def hierarchy_of_classes() -> tuple[Model, dict[str, Any]]:
    """A class for each group, and one for each member given that of the group."""
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.rho = Dirichlet(np.ones(3)).iid(2)
    m.g = Categorical(m.pi).iid("group")
    m.z = Categorical(m.rho[m.g]).iid("member")
    m.mu = Normal(0.0, variance=9.0).iid(3)
    m.tau = Gamma(2.0, rate=1.0)
    m.x = Normal(m.mu[m.z], precision=m.tau)
    return m, {"x": 2.0 * noise(2, 2)}


def vector_chain_with_inputs() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.u = Input("t")
    m.B = Normal(0.0, variance=1.0).iid(2)
    m.Q = Wishart(4.0, scale=0.5 * np.eye(2))
    m.s = Chain(
        MvNormal(np.zeros(2), cov=np.eye(2)),
        lambda s: MvNormal(0.8 * s + m.B * m.u, precision=m.Q),
        length="t",
    )
    m.y = MvNormal(m.s, cov=0.3 * np.eye(2))
    return m, {"u": noise(5, seed=1), "y": noise(5, 2)}


def hidden_drift() -> tuple[Model, dict[str, Any]]:
    """The step of a chain has an unknown constant, and its noise a scale for each series."""
    m = Model()
    m.drift = Normal(0.0, variance=1.0)
    m.q = Gamma(3.0, rate=1.0).iid("series")
    m.s = Chain(
        Normal(0.0, variance=1.0).iid("series"),
        lambda s: Normal(s + m.drift, precision=m.q),
        length="t",
    )
    m.y = Normal(m.s, variance=0.3)
    return m, {"y": np.cumsum(noise(4, 3), axis=0)}


def regression_with_classes_of_noise() -> tuple[Model, dict[str, Any]]:
    """Outliers: the class chooses the precision alone."""
    m = Model()
    m.X = Input("n")
    m.w = MvNormal(np.zeros(2), cov=4.0 * np.eye(2))
    m.tau = Gamma(2.0, rate=1.0)
    m.z = Bernoulli(0.2).iid("n")
    m.y = Normal(dot(m.X, m.w), precision=take([1.0, 0.01], m.z) * m.tau)
    x = np.column_stack([np.ones(7), np.arange(7.0)])
    y = x @ [1.0, 0.5] + 0.2 * noise(7)
    y[3] += 20.0
    return m, {"X": x, "y": y}


def one_row() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.mu = Normal(0.0, variance=4.0).iid(1)
    m.tau = Gamma(2.0, rate=1.0).iid(1)
    m.z = Categorical([1.0]).iid("n")
    m.x = Normal(m.mu[m.z], precision=m.tau[m.z])
    return m, {"x": np.array([0.7])}


def a_series_of_classes_in_groups() -> tuple[Model, dict[str, Any]]:
    """A class for each series, which chooses how it moves."""
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.k = Categorical(m.pi).iid("series")
    m.q = Gamma(2.0, rate=1.0).iid(2)
    m.s = Chain(
        Normal(0.0, variance=1.0).iid("series"),
        lambda s: Normal(s, precision=m.q[m.k]),
        length="t",
    )
    m.y = Normal(m.s, variance=0.3)
    return m, {"y": np.cumsum(noise(4, 3) * np.array([0.1, 1.0, 3.0]), axis=0)}


HARD = [
    multinomial_mixture,
    scaled_precision,
    precision_of_two_plates,
    crossed_effects,
    several_known_indices,
    mixed_data,
    hierarchy_of_classes,
    vector_chain_with_inputs,
    hidden_drift,
    regression_with_classes_of_noise,
    one_row,
    a_series_of_classes_in_groups,
]


@pytest.mark.parametrize("make", HARD, ids=lambda f: f.__name__)
def test_the_bound_by_three_routes_and_upwards(make: Any) -> None:
    m, data = make()
    post = m.infer(data, callback=lambda i, _: i >= 20)
    result = variational(post)
    assert_allclose(result.problem.slow_bound()[0], result.log_evidence, rtol=1e-10)
    trace = np.array(result.ascent.trace)
    assert np.all(np.diff(trace) > -1e-10 * np.maximum(1.0, np.abs(trace[1:])))
    found = sampled_bound(m, data, result, size=6000)
    assert abs(found.value - float(post.log_evidence)) < 5.0 * found.error


def test_a_jump_into_nonsense_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first sweeps of this walk nearly agree and point to a step precision of 1e28."""
    text = (
        "0.2249 0.6569 2.8018 2.2375 -0.1507 0.6126 -0.6772 -0.1969 -3.7315 -2.2615 "
        "-1.0867 -1.1133 -0.905 2.3633 1.4513 -1.5964 -4.4093 -4.6994 -6.7623 -6.1263"
    )
    y = np.array(text.split(), dtype=float)
    found = walk().infer(y=y)
    monkeypatch.setattr(Acceleration, "consider", lambda self, bound: None)
    plain = walk().infer(y=y, tol=1e-9)
    assert float(found.log_evidence) == pytest.approx(float(plain.log_evidence), abs=1e-4)
