"""Predictions of new members, against ratios of evidences and models with more rows."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from posteriori.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    InverseGamma,
    InverseWishart,
    MvNormal,
    MvStudentT,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
    Wishart,
)
from posteriori.modeling import Chain, Input, Model, take

RNG = np.random.default_rng(3)
Y = RNG.normal(1.0, 2.0, size=7)
VECTORS = RNG.normal(size=(6, 2))
GRID = RNG.normal(size=(4, 3)) + np.arange(4)[:, None]
LETTERS = [0, 2, 1, 1, 2, 2]
COV = np.array([[2.0, 0.5], [0.5, 1.0]])


class Case(NamedTuple):
    """A model, its data, a plate, and values that one new member of ``y`` might have."""

    build: Callable[[], Model]
    data: Mapping[str, Any]
    plate: str
    points: Any
    family: Any = None


def mean() -> Model:
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.y = Normal(m.mu, variance=1.0).iid("n")
    return m


def groups() -> Model:
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid("n")
    m.y = Normal(m.theta, variance=0.5)
    return m


def shared_twice() -> Model:
    """What is new depends on the rest by several ways at once."""
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.a = Normal(2.0 * m.mu + 1.0, variance=0.7).iid("n")
    m.b = Normal(m.a - m.mu, precision=3.0)
    m.y = Normal(m.a + 0.5 * m.b - m.mu, scale=0.4)
    return m


def repeats_in_groups() -> Model:
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid("n")
    m.y = Normal(m.theta, variance=0.5).iid(3)
    return m


def vectors() -> Model:
    m = Model()
    m.mu = MvNormal(np.zeros(2), cov=9.0 * np.eye(2))
    m.theta = MvNormal(m.mu, cov=COV).iid("n")
    m.y = MvNormal(COV @ m.theta, cov=0.3 * np.eye(2))
    return m


def several_added() -> Model:
    """Each row adds up new members of an axis."""
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid("n").iid(3)
    m.y = Normal(np.array([1.0, -2.0, 0.5]) @ m.theta, variance=0.5)
    return m


def common_precision() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5)
    m.mu = Normal(0.0, precision=0.2 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


def groups_of_common_variance() -> Model:
    m = Model()
    m.v = InverseGamma(3.0, 1.5)
    m.mu = Normal(0.0, variance=4.0 * m.v)
    m.theta = Normal(m.mu, variance=2.0 * m.v).iid("n")
    m.y = Normal(m.theta, variance=m.v)
    return m


def precision_of_each() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5).iid("n")
    m.mu = Normal(1.0, precision=0.2 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid(2)
    return m


def coin() -> Model:
    m = Model()
    m.p = Beta(2.0, 3.0)
    m.y = Bernoulli(m.p).iid("n")
    return m


def coins() -> Model:
    m = Model()
    m.p = Beta(2.0, 3.0).iid("n")
    m.y = Bernoulli(m.p).iid(2)
    return m


def counts() -> Model:
    m = Model()
    m.rate = Gamma(2.0, 1.0)
    m.y = Poisson(m.rate).iid("n")
    return m


def letters() -> Model:
    m = Model()
    m.p = Dirichlet([1.0, 2.0, 0.5])
    m.y = Categorical(m.p).iid("n")
    return m


def known_mean() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5)
    m.y = Normal(0.5, precision=m.tau).iid("n")
    return m


def matrix_precision() -> Model:
    m = Model()
    m.precision = Wishart(dof=4.0, scale=COV)
    m.y = MvNormal(np.ones(2), precision=m.precision).iid("n")
    return m


def matrix_covariance() -> Model:
    m = Model()
    m.cov = InverseWishart(dof=5.0, scale=COV)
    m.y = MvNormal(np.ones(2), cov=m.cov).iid("n")
    return m


def mixture() -> Model:
    m = Model()
    m.z = Categorical([0.6, 0.3, 0.1]).iid("n")
    m.y = Normal(take([0.0, 3.0, 5.0], m.z), variance=1.0)
    return m


def mixture_of_unknown_kind() -> Model:
    m = Model()
    m.kind = Bernoulli(0.4)
    m.z = Categorical(take([[0.9, 0.1], [0.2, 0.8]], m.kind)).iid("n")
    m.y = Normal(take([0.0, 3.0], m.z), variance=take([1.0, 2.0], m.kind))
    return m


def noisy_letters() -> Model:
    m = Model()
    m.kind = Bernoulli(0.4)
    m.z = Categorical(take([[0.9, 0.1], [0.2, 0.8]], m.kind)).iid("n")
    m.y = Categorical(take([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], m.z))
    return m


CASES = {
    "mean": Case(mean, {"y": Y}, "n", [-1.0, 2.5], Normal),
    "groups": Case(groups, {"y": Y}, "n", [-1.0, 2.5], Normal),
    "shared twice": Case(shared_twice, {"y": Y}, "n", [-1.0, 2.5], Normal),
    "repeats": Case(repeats_in_groups, {"y": GRID}, "n", None, Normal),
    "vectors": Case(vectors, {"y": VECTORS}, "n", [[0.3, -1.0], [2.0, 1.0]], MvNormal),
    "several added": Case(several_added, {"y": Y}, "n", [-1.0, 2.5], Normal),
    "common precision": Case(common_precision, {"y": Y}, "n", [-1.0, 2.5], StudentT),
    "common variance": Case(groups_of_common_variance, {"y": Y}, "n", [-1.0, 2.5], StudentT),
    "precision of each": Case(precision_of_each, {"y": GRID[:, :2]}, "n", None, StudentT),
    "coin": Case(coin, {"y": [1, 0, 1, 1]}, "n", [0, 1], Bernoulli),
    "coins": Case(coins, {"y": [[1, 0], [1, 1], [0, 0]]}, "n", None, Bernoulli),
    "counts": Case(counts, {"y": [3, 0, 5]}, "n", [0, 4], NegativeBinomial),
    "letters": Case(letters, {"y": LETTERS}, "n", [0, 1, 2], Categorical),
    "known mean": Case(known_mean, {"y": Y}, "n", [-1.0, 2.5], StudentT),
    "Wishart": Case(matrix_precision, {"y": VECTORS}, "n", [[0.3, -1.0], [2.0, 1.0]], MvStudentT),
    "inverse Wishart": Case(
        matrix_covariance, {"y": VECTORS}, "n", [[0.3, -1.0], [2.0, 1.0]], MvStudentT
    ),
    "mixture": Case(mixture, {"y": Y}, "n", [-1.0, 2.5]),
    "unknown kind": Case(mixture_of_unknown_kind, {"y": Y}, "n", [-1.0, 2.5]),
    "noisy letters": Case(noisy_letters, {"y": LETTERS}, "n", [0, 1, 2], Categorical),
}


def log_ratio(case: Case, point: Any) -> float:
    """ln p(point | data), from the evidence with and without one more row."""
    y = np.asarray(case.data["y"], dtype=float)
    more = np.concatenate([y, np.asarray(point, dtype=float)[None]])
    whole = case.build().infer({**case.data, "y": more})
    return float(whole.log_evidence) - float(case.build().infer(case.data).log_evidence)


@pytest.mark.parametrize("name", CASES)
def test_a_new_member_is_a_ratio_of_evidences(name: str) -> None:
    case = CASES[name]
    post = case.build().infer(case.data)
    new = post.predict("y", **{case.plate: 2})
    if case.family is not None:
        assert isinstance(new, case.family)
    row = np.shape(case.data["y"])[1:]
    assert new.batch_shape + new.event_shape == (2, *row)
    if case.points is not None:
        for point in case.points:
            expected = log_ratio(case, point)
            np.testing.assert_allclose(new.log_prob([point, point]), expected, atol=1e-9)
        return
    for k in range(row[0]):  # one number of the row at a time, the others missing
        for point in (0.0, 1.0):
            values = np.full(row, np.nan)
            values[k] = point
            expected = log_ratio(case, values)
            filled = np.full((2, *row), point)
            np.testing.assert_allclose(new.log_prob(filled)[:, k], expected, atol=1e-9)
