"""Rows in parts: the sums of all parts are those of all rows, and the bound is the same."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori import (
    Categorical,
    Dirichlet,
    Gamma,
    Input,
    Model,
    MvNormal,
    Normal,
    Poisson,
    Wishart,
)
from posteriori.modeling.variational import streaming
from posteriori.modeling.variational.ascent import sweep

RNG = np.random.default_rng(0)


def mixture():
    m = Model()
    m.pi = Dirichlet(np.ones(3))
    m.mu = MvNormal(np.zeros(2), cov=100.0 * np.eye(2)).iid(3)
    m.L = Wishart(4, np.eye(2)).iid(3)
    m.z = Categorical(m.pi).iid("n")
    m.x = MvNormal(m.mu[m.z], precision=m.L[m.z])
    centers = np.array([[-6.0, 0.0], [0.0, 6.0], [6.0, 0.0]])
    return m, {"x": centers[RNG.integers(0, 3, 1001)] + RNG.normal(size=(1001, 2))}


def mixture_with_gaps():
    m, data = mixture()
    data["x"][::7] = np.nan
    return m, data


def mixture_of_regressions():
    m = Model()
    m.u = Input("n")
    m.pi = Dirichlet(np.ones(2))
    m.a = Normal(0.0, variance=100.0).iid(2)
    m.b = Normal(0.0, variance=100.0).iid(2)
    m.tau = Gamma(1.0, 1.0)
    m.z = Categorical(m.pi).iid("n")
    m.y = Normal(m.a[m.z] + m.b[m.z] * m.u, precision=m.tau)
    u = RNG.uniform(-1, 1, 900)
    z = RNG.integers(0, 2, 900)
    y = np.array([-4.0, 4.0])[z] + np.array([2.0, -1.0])[z] * u + 0.5 * RNG.normal(size=900)
    return m, {"u": u, "y": y}


def counts_with_own_rates():
    m = Model()
    m.b = Gamma(1.0, 1.0)
    m.rate = Gamma(2.0, m.b).iid("n")
    m.y = Poisson(m.rate)
    return m, {"y": RNG.poisson(RNG.gamma(2.0, 3.0, 800))}


CASES = {
    f.__name__: f
    for f in (mixture, mixture_with_gaps, mixture_of_regressions, counts_with_own_rates)
}


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(streaming, "PART", 1)
    monkeypatch.setattr(streaming, "FEWEST_ROWS", 150)
    monkeypatch.setattr(streaming, "FEWEST_PARTS", 2)
    monkeypatch.setattr(streaming, "SAMPLE", 300)


def result_of(post):
    (result,) = post._blocks
    return result


@pytest.mark.parametrize("name", CASES)
def test_parts_climb_to_the_bound_of_all_rows(name, monkeypatch, request):
    model, data = CASES[name]()
    whole = model.infer(**data, tol=1e-9)
    assert not isinstance(result_of(whole).problem, streaming.StreamedProblem)
    request.getfixturevalue("small_parts")
    parts = model.infer(**data, tol=1e-9)
    assert isinstance(result_of(parts).informed.problem, streaming.StreamedProblem)
    assert_allclose(float(parts.log_evidence), float(whole.log_evidence), rtol=0, atol=1e-5)


@pytest.mark.filterwarnings("ignore:variational inference stopped after")
@pytest.mark.parametrize("name", CASES)
def test_a_sweep_in_parts_is_a_sweep(name, small_parts):
    """The same shared beliefs give the same sums, hence the same bound by two routes."""
    model, data = CASES[name]()
    problem = result_of(model.infer(**data, max_iter=2, tol=1e-300)).problem
    for _ in range(2):
        bound = sweep(problem)
        assert_allclose(bound, problem.slow_bound(), rtol=1e-12)
    problem.reduce()
    sums = dict(problem.reduced)
    for i, monomial in sums.items():
        (total,), (expected,) = monomial.tables, problem._reduced(i).tables
        order = [total.axes.index(a) for a in expected.axes]
        assert_allclose(total.values.transpose(order), expected.values, rtol=1e-10, atol=1e-10)


def test_the_belief_about_rows_is_found_when_asked_for(small_parts):
    model, data = mixture()
    post = model.infer(**data)
    (node,) = result_of(post).problem.local
    assert not node._is_whole
    p = post.z.probabilities
    assert p.shape == (1001, 3)
    assert_allclose(p.sum(axis=1), 1.0)
    assert_allclose(np.sort(p.sum(axis=0)), np.sort(post.pi.concentration - 1.0), rtol=1e-3)


def test_memory_does_not_grow_with_beliefs_about_rows():
    rng = np.random.default_rng(1)
    model, _ = mixture()
    x = rng.normal(size=(300_000, 2)) + 8.0 * rng.integers(0, 3, 300_000)[:, None]
    tracemalloc.start()
    model.infer(x=x, max_iter=2, tol=1e9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * x.nbytes


def test_rows_that_meet_are_not_taken_apart(small_parts):
    """A group on the plate, but a variable of another plate is seen from each row."""
    m = Model()
    m.g = Input("n")
    m.tau = Gamma(1.0, 1.0)
    m.w = Normal(0.0, variance=4.0).iid(3)
    m.v = Gamma(2.0, 2.0).iid("n")
    m.y = Normal(m.w[m.g], precision=m.v)
    g = RNG.integers(0, 3, 600)
    post = m.infer(g=g, y=g + RNG.normal(size=600))
    problem = result_of(post).problem
    assert not isinstance(problem, streaming.StreamedProblem)
    assert_allclose(problem.slow_bound()[0], result_of(post).log_evidence, rtol=1e-9)


# -- batches ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mixture", "mixture_of_regressions", "counts_with_own_rates"])
def test_batches_climb_to_the_bound_of_all_rows(name):
    """Within a twentieth of a nat of some thousand nats, and the posterior with them."""
    model, data = CASES[name]()
    whole = model.infer(**data)
    some = model.infer(**data, batch_size=100)
    assert result_of(some).ascent.converged
    assert_allclose(float(some.log_evidence), float(whole.log_evidence), rtol=0, atol=0.05)
    (node,) = result_of(some).problem.local
    problem = result_of(some).problem
    assert_allclose(problem.bound(node), problem.slow_bound(), rtol=1e-12)


def test_batches_of_all_rows_are_damped_sweeps():
    model, data = mixture()
    trace = result_of(model.infer(**data, batch_size=1001)).ascent.trace
    assert np.all(np.diff(trace) > -1e-8)


def test_rows_that_no_unknown_lies_on_are_summed_once_whatever_the_batch():
    m = Model()
    m.tau = Gamma(1.0, 1.0)
    m.s = Gamma(1.0, 1.0)
    m.w = Normal(0.0, precision=m.s).iid(3)
    m.u = Input("n")
    m.y = Normal(m.u @ m.w, precision=m.tau)
    u = RNG.normal(size=(500, 3))
    data = {"u": u, "y": u @ np.array([1.0, -2.0, 0.5]) + RNG.normal(size=500)}
    whole, some = m.infer(**data), m.infer(**data, batch_size=50)
    assert float(some.log_evidence) == float(whole.log_evidence)


def test_batches_of_rows_with_two_beliefs_each_are_refused():
    m = Model()
    m.w = Normal(0.0, variance=1.0).iid(2)
    m.z = Categorical([0.5, 0.5]).iid("n")
    m.v = Gamma(2.0, 2.0).iid("n")
    m.y = Normal(m.w[m.z], precision=m.v)
    with pytest.raises(ValueError, match="batch_size=10 needs rows"):
        m.infer(y=RNG.normal(size=50), batch_size=10)


def test_batches_of_more_rows_than_there_are_are_refused():
    model, data = mixture_with_gaps()
    rows = int(np.sum(~np.isnan(data["x"][:, 0])))
    words = f"batch_size=1001 is more than the {rows} rows with data of plate 'n'"
    with pytest.raises(ValueError, match=words):
        model.infer(**data, batch_size=1001)
