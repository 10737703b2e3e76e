"""Classes that share their members are merged: no creeping, and no lower bound than plain sweeps."""

import warnings
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
from posteriori.modeling import Chain, Input, Model
from posteriori.modeling.binding.labelled import Axis, Table
from posteriori.modeling.variational.ascent import coordinate_ascent as merging
from posteriori.modeling.variational.nodes.discrete_node import map_states
from posteriori.modeling.variational.stream import streaming
from tests.modeling.variational.models import variational

K = 6


def normal_classes(count: int) -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.pi = Dirichlet(0.1 * np.ones(K))
    m.mu = MvNormal(np.zeros(2), cov=10.0 * np.eye(2)).iid(K)
    m.L = Wishart(5, scale=np.eye(2)).iid(K)
    m.z = Categorical(m.pi).iid("n")
    m.x = MvNormal(m.mu[m.z], precision=m.L[m.z])
    rng = np.random.default_rng(0)
    z = rng.choice(3, p=[0.5, 0.3, 0.2], size=count)
    centers, scales = np.array([[-4.0, 0.0], [0.0, 4.0], [4.0, 0.0]]), np.array([1.0, 0.7, 0.5])
    return m, {"x": centers[z] + scales[z, None] * rng.normal(size=(count, 2))}


def bits(count: int) -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.pi = Dirichlet(0.1 * np.ones(K))
    m.p = Beta(1, 1).iid(8).iid(K)
    m.z = Categorical(m.pi).iid("n")
    m.x = Bernoulli(m.p[m.z])
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, size=(3, 8))
    return m, {"x": (rng.random((count, 8)) < p[rng.integers(0, 3, count)]).astype(float)}


def counts(count: int) -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.pi = Dirichlet(0.1 * np.ones(K))
    m.rate = Gamma(1, rate=0.1).iid(K)
    m.z = Categorical(m.pi).iid("n")
    m.x = Poisson(m.rate[m.z])
    rng = np.random.default_rng(2)
    return m, {"x": rng.poisson(np.array([2.0, 15.0, 50.0])[rng.integers(0, 3, count)])}


def lines(count: int) -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.u = Input("n")
    m.pi = Dirichlet(0.1 * np.ones(K))
    m.a = Normal(0, variance=100).iid(K)
    m.b = Normal(0, variance=100).iid(K)
    m.tau = Gamma(1, rate=1).iid(K)
    m.z = Categorical(m.pi).iid("n")
    m.y = Normal(m.a[m.z] + m.b[m.z] * m.u, precision=m.tau[m.z])
    rng = np.random.default_rng(3)
    u, z = rng.uniform(-1, 1, count), rng.integers(0, 2, count)
    y = np.array([-3.0, 3.0])[z] + np.array([2.0, -1.0])[z] * u + 0.5 * rng.normal(size=count)
    return m, {"u": u, "y": y}


def hidden_states(count: int) -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.A = Dirichlet(0.5 * np.ones(K)).iid(K)
    m.mu = Normal(0, variance=25).iid(K)
    m.tau = Gamma(1, rate=1).iid(K)
    m.z = Chain(Categorical(np.ones(K) / K), lambda z: Categorical(m.A[z]), length="t")
    m.x = Normal(m.mu[m.z], precision=m.tau[m.z])
    rng = np.random.default_rng(4)
    z = np.zeros(count, dtype=int)
    for t in range(1, count):
        z[t] = z[t - 1] if rng.random() < 0.9 else rng.integers(0, 3)
    return m, {"x": np.array([-4.0, 0.0, 4.0])[z] + rng.normal(size=count)}


#: How many classes the data have.
CASES = {normal_classes: 3, bits: 3, counts: 3, lines: 2, hidden_states: 3}


def plain(monkeypatch: pytest.MonkeyPatch, m: Model, data: dict[str, Any], **options: Any) -> Any:
    """Return what sweeps find without merging."""
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(merging, "_MERGES", 0)
        return variational(m.infer(data, **options))


@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_split_classes_become_one(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From one start with all classes, where plain sweeps creep or end lower."""
    m, data = case(1500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = variational(m.infer(data, n_init=1))
    assert found.used_classes()["z"] == (CASES[case], K)
    assert found.ascent.converged
    assert len(found.ascent.trace) < 60
    assert np.all(np.diff(found.ascent.trace) > -1e-10 * abs(found.log_evidence))
    assert_allclose(found.problem.slow_bound()[0], found.log_evidence, rtol=1e-11)
    same = plain(monkeypatch, m, data, n_init=1, max_iter=80)
    assert found.log_evidence > same.log_evidence - 1e-5


def test_rows_in_parts_are_merged_by_their_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    m, data = normal_classes(3000)
    whole = variational(m.infer(data, n_init=1))
    for name, value in {"SMALLEST": 1, "LARGEST": 1, "FEWEST_ROWS": 400, "MANY": 1}.items():
        monkeypatch.setattr(streaming, name, value)
    parts = variational(m.infer(data, n_init=1))
    assert "in 8 parts" in parts.problem.local[0].describe()
    assert parts.used_classes()["z"] == (3, K)
    assert_allclose(parts.log_evidence, whole.log_evidence, rtol=1e-9)


def test_merging_adds_along_every_label_of_the_states() -> None:
    """Pairs of successive states: both the state that is left and the state that is entered."""
    before, after, row = Axis("z", 3), Axis("z", 3), Axis("t", 2)
    values = np.random.default_rng(5).random((2, 3, 3))
    matrix = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    merged = map_states(Table(values, (row, before, after)), [before, after], matrix)
    codes = np.array([2, 1, 2])  # where each state goes
    expected = np.zeros((2, 3, 3))
    for i in range(3):
        for j in range(3):
            expected[:, codes[i], codes[j]] += values[:, i, j]
    assert_allclose(merged.values, expected, rtol=1e-15)


def test_classes_that_are_needed_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two classes that overlap, but whose merger would end lower: the belief is as before."""
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.mu = Normal([-1.0, 1.0], variance=0.1)
    m.z = Categorical(m.pi).iid("n")
    m.x = Normal(m.mu[m.z], variance=1.0)
    rng = np.random.default_rng(6)
    data = {"x": rng.choice([-1.2, 1.2], size=400) + rng.normal(size=400)}
    tried = []
    monkeypatch.setattr(
        merging.Merger, "_is_kept", _counting(merging.Merger._is_kept, tried), raising=True
    )
    found = variational(m.infer(data))
    assert tried == [False]
    same = plain(monkeypatch, m, data)
    assert_allclose(found.log_evidence, same.log_evidence, rtol=1e-12)
    assert_allclose(found.marginal("pi").mean, same.marginal("pi").mean, rtol=1e-8)


def _counting(merge: Any, tried: list[bool]) -> Any:
    def counted(self: Any, *arguments: Any) -> bool:
        tried.append(merge(self, *arguments))
        return tried[-1]

    return counted


@pytest.mark.slow
def test_many_rows_converge_where_plain_sweeps_creep(monkeypatch: pytest.MonkeyPatch) -> None:
    m, data = normal_classes(100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [variational(m.infer(data, n_init=1, rng=seed)) for seed in range(2)]
    long = [plain(monkeypatch, m, data, n_init=1, rng=seed, max_iter=150) for seed in range(4)]
    best = max(result.log_evidence for result in long)
    assert not all(result.ascent.converged for result in long)
    for result in found:
        assert len(result.ascent.trace) < 60
        assert result.log_evidence > best - 1e-4
