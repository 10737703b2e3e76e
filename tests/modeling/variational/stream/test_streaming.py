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
from posteriori.modeling.variational.ascent.coordinate_ascent import sweep
from posteriori.modeling.variational.ascent.problem import Problem
from posteriori.modeling.variational.stream import stochastic, streaming
from posteriori.modeling.variational.stream.streamed_node import StreamedProblem

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


def mixture_of_categories():
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.theta = Dirichlet(np.ones((2, 5, 3)))
    m.z = Categorical(m.pi).iid("n")
    m.answers = Categorical(m.theta[m.z])
    p = np.array([[0.8, 0.1, 0.1], [0.1, 0.2, 0.7]])
    z = RNG.integers(0, 2, 700)
    answers = [[RNG.choice(3, p=p[k]) for _ in range(5)] for k in z]
    return m, {"answers": np.array(answers)}


def components():
    m = Model()
    m.alpha = Gamma(1e-2, 1e-2).iid(4)
    m.W = Normal(0.0, precision=m.alpha).iid(6)
    m.z = MvNormal(np.zeros(4), cov=np.eye(4)).iid("n")
    m.tau = Gamma(1e-2, 1e-2)
    m.y = Normal(m.W @ m.z, precision=m.tau)
    y = RNG.normal(size=(700, 2)) @ RNG.normal(size=(2, 6)) + 0.3 * RNG.normal(size=(700, 6))
    return m, {"y": y}


def components_with_gaps():
    m, data = components()
    data["y"][RNG.random(data["y"].shape) < 0.15] = np.nan
    return m, data


def factors_far_from_0():
    """Each column has its own noise and its own mean; scores are independent numbers."""
    m = Model()
    m.alpha = Gamma(1e-2, 1e-2).iid(3)
    m.W = Normal(0.0, precision=m.alpha).iid(6)
    m.mu = Normal(0.0, variance=1e6).iid(6)
    m.z = Normal(np.zeros(3), variance=1.0).iid("n")
    m.tau = Gamma(1e-2 * np.ones(6), 1e-2)
    m.y = Normal(m.W @ m.z + m.mu, precision=m.tau)
    y = RNG.normal(size=(600, 2)) @ RNG.normal(size=(2, 6)) + 0.3 * RNG.normal(size=(600, 6))
    y[RNG.random(y.shape) < 0.1] = np.nan
    return m, {"y": y + 300.0}


def random_slopes():
    """Rows with a normal number each, which nothing turns."""
    m = Model()
    m.u = Input("n")
    m.tau, m.omega = Gamma(1.0, 1.0), Gamma(1.0, 1.0)
    m.slope = Normal(2.0, precision=m.omega).iid("n")
    m.y = Normal(m.u * m.slope, precision=m.tau)
    u = RNG.uniform(-2, 2, (600, 4))
    return m, {"u": u, "y": u * RNG.normal(3.0, 1.0, 600)[:, None] + RNG.normal(size=(600, 4))}


CASES = {
    f.__name__: f
    for f in (
        mixture,
        mixture_with_gaps,
        mixture_of_regressions,
        mixture_of_categories,
        counts_with_own_rates,
        components,
        components_with_gaps,
        factors_far_from_0,
        random_slopes,
    )
}


def case(name):
    """Return a model and its data, the same in any order of the tests."""
    RNG.bit_generator.state = np.random.default_rng(0).bit_generator.state
    return CASES[name]()


TURNED = ("components", "components_with_gaps", "factors_far_from_0")


@pytest.fixture
def small_parts(monkeypatch):
    cut_into_parts(monkeypatch, 150)
    monkeypatch.setattr(streaming, "SAMPLE", 300)


def cut_into_parts(monkeypatch, rows):
    monkeypatch.setattr(streaming, "SMALLEST", 1)
    monkeypatch.setattr(streaming, "LARGEST", 1)
    monkeypatch.setattr(streaming, "FEWEST_ROWS", rows)
    monkeypatch.setattr(streaming, "MANY", 1)
    monkeypatch.setattr(streaming, "MANY_COVARIANCES", 1)


def result_of(post):
    (result,) = post._solved.results
    return result


def assert_same_beliefs(post, expected, *, rtol=1e-10):
    for name in result_of(expected).names:
        scale = max(np.abs(np.asarray(part)).max() for part in expected[name].mean_params)
        for a, b in zip(post[name].mean_params, expected[name].mean_params, strict=True):
            assert_allclose(a, b, rtol=rtol, atol=rtol * scale)


@pytest.mark.filterwarnings("ignore:variational inference stopped after")
@pytest.mark.parametrize(
    "rows", [263, *(pytest.param(n, marks=pytest.mark.slow) for n in (100, 150))]
)
@pytest.mark.parametrize("name", CASES)
def test_parts_say_what_all_rows_say(name, rows, monkeypatch):
    """The bound after every sweep and all beliefs, also those about rows, whatever the parts."""
    model, data = case(name)
    more = {} if name in TURNED else {"n_init": 1}  # else several may end equally high
    whole = model.infer(**data, max_iter=8, **more)
    assert not isinstance(result_of(whole).problem, StreamedProblem)
    cut_into_parts(monkeypatch, rows)
    parts = model.infer(**data, max_iter=8, **more)
    assert isinstance(result_of(parts).informed.problem, StreamedProblem)
    assert len(parts.free_energy) == len(whole.free_energy) > 3
    assert_allclose(parts.free_energy, whole.free_energy, rtol=1e-10)
    assert_same_beliefs(parts, whole)


@pytest.mark.parametrize("name", [name for name in CASES if name not in TURNED[1:]])
def test_parts_climb_to_the_bound_of_all_rows(name, monkeypatch, request):
    """Starts are tried on some of the rows only: the end is the same."""
    model, data = case(name)
    whole = model.infer(**data, tol=1e-9)
    request.getfixturevalue("small_parts")
    parts = model.infer(**data, tol=1e-9)
    assert_allclose(float(parts.log_evidence), float(whole.log_evidence), rtol=0, atol=1e-5)


@pytest.mark.filterwarnings("ignore:variational inference stopped after")
@pytest.mark.parametrize("name", CASES)
def test_the_bound_by_two_routes(name, small_parts):
    """From the normaliser of rows, and from energies and entropies; turned or not."""
    model, data = case(name)
    result = result_of(model.infer(**data, max_iter=4)).informed
    problem = result.problem
    assert_allclose(problem.slow_bound(), result.log_evidence, rtol=1e-12)
    for _ in range(2):
        assert_allclose(sweep(problem), problem.slow_bound(), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:variational inference stopped after")
@pytest.mark.parametrize("name", CASES)
def test_sums_are_those_of_the_belief_about_all_rows(name, small_parts):
    """Each sum of parts is the expectation of its monomial under the belief that is asked for."""
    model, data = case(name)
    result = result_of(model.infer(**data, max_iter=3)).informed
    problem, block = result.problem, result.approximation
    node = problem.local[0].whole()
    nodes = (*problem.shared, node)
    whole = Problem(block.monomials, nodes, (node,), problem.restart)
    for factor, energy in whole.energies().items():
        assert_allclose(problem.energies()[factor], energy, rtol=1e-10)


@pytest.mark.filterwarnings("ignore:variational inference stopped after")
@pytest.mark.parametrize(
    ("name", "given"),
    [("mixture", "mu"), ("mixture", "z"), ("components_with_gaps", "W"), ("components", "z")],
)
def test_given_starts_are_followed_in_parts(name, given, monkeypatch):
    model, data = case(name)
    shape = np.shape(getattr(model.infer(**data, max_iter=1)[given], "mean", 0.0))
    start = (
        RNG.integers(0, 3, 1001) if given == "z" and name == "mixture" else RNG.normal(size=shape)
    )
    whole = model.infer(**data, max_iter=5, init={given: start})
    cut_into_parts(monkeypatch, 150)
    parts = model.infer(**data, max_iter=5, init={given: start})
    assert isinstance(result_of(parts).problem, StreamedProblem)
    assert_allclose(parts.free_energy, whole.free_energy, rtol=1e-10)
    assert_same_beliefs(parts, whole)


@pytest.mark.filterwarnings("ignore:variational inference stopped after")
@pytest.mark.parametrize("name", TURNED)
def test_questions_about_turned_rows(name, monkeypatch):
    model, data = case(name)
    whole = model.infer(**data, max_iter=6)
    cut_into_parts(monkeypatch, 150)
    parts = model.infer(**data, max_iter=6)
    assert parts.z.mean.shape == whole.z.mean.shape
    new = {"y": data["y"][:5]}
    a, b = (post.predict("z", **new).mean for post in (parts, whole))
    assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    a, b = (post.predict("y").mean for post in (parts, whole))
    assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    a, b = (post.sample(3, rng=0)["z"] for post in (parts, whole))
    assert_allclose(a, b, rtol=1e-7, atol=1e-7)


def test_the_belief_about_rows_is_found_when_asked_for(small_parts):
    model, data = mixture()
    post = model.infer(**data)
    (node,) = result_of(post).problem.local
    assert node._whole is None
    p = post.z.probabilities
    assert p.shape == (1001, 3)
    assert_allclose(p.sum(axis=1), 1.0)
    assert_allclose(np.sort(p.sum(axis=0)), np.sort(post.pi.concentration - 1.0), rtol=1e-3)


def test_memory_does_not_grow_with_beliefs_about_rows():
    rng = np.random.default_rng(1)
    model, _ = mixture()
    x = rng.normal(size=(150_000, 2)) + 8.0 * rng.integers(0, 3, 150_000)[:, None]
    tracemalloc.start()
    model.infer(x=x, max_iter=2, tol=1e9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * x.nbytes


@pytest.mark.parametrize(
    ("rows", "size", "gaps"), [(20_000, 20, 0.0), (20_000, 20, 0.1), (6000, 30, 0.1)]
)
def test_memory_does_not_grow_with_covariances_of_rows(rows, size, gaps, monkeypatch):
    """From somewhat more than a megabyte on; starts are tried on some of many rows."""
    if rows > streaming.SAMPLE:
        monkeypatch.setattr(streaming, "SAMPLE", 2000)
    rng = np.random.default_rng(1)
    k = 8
    m = Model()
    m.W = Normal(np.zeros(k), variance=1.0).iid(size)
    m.z = MvNormal(np.zeros(k), cov=np.eye(k)).iid("n")
    m.tau = Gamma(1e-2, 1e-2)
    m.y = Normal(m.W @ m.z, precision=m.tau)
    y = rng.normal(size=(rows, 3)) @ rng.normal(size=(3, size)) + rng.normal(size=(rows, size))
    y[rng.random(y.shape) < gaps] = np.nan
    m.infer(y=y[:40], max_iter=2, tol=1e9, n_init=1)  # what is imported on the way is no row's
    tracemalloc.start()
    post = m.infer(y=y, max_iter=2, tol=1e9, n_init=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * y.nbytes
    own = post.z.cov.strides[0] != 0
    assert own == (gaps > 0)  # complete rows share one covariance


@pytest.mark.filterwarnings("ignore:variational inference stopped after")
def test_beliefs_about_rows_without_data_are_found_when_asked_for(monkeypatch):
    model, data = components()
    data["y"][::7] = np.nan
    whole = model.infer(**data, max_iter=6)
    cut_into_parts(monkeypatch, 150)
    parts = model.infer(**data, max_iter=6)
    (node,) = result_of(parts).problem.local
    assert not node.sums
    assert_allclose(parts.z.mean[::7], 0.0, atol=1e-12)
    assert_same_beliefs(parts, whole)


def test_rows_that_meet_are_not_taken_apart(small_parts):
    """A group on the plate, but each row names one of many members of another variable."""
    m = Model()
    m.g = Input("n")
    m.w = Normal(0.0, variance=4.0).iid(100)
    m.v = Gamma(2.0, 2.0).iid("n")
    m.y = Normal(m.w[m.g], precision=m.v)
    g = RNG.integers(0, 100, 600)
    post = m.infer(g=g, y=g + RNG.normal(size=600))
    problem = result_of(post).problem
    assert not isinstance(problem, StreamedProblem)
    assert_allclose(problem.slow_bound()[0], result_of(post).log_evidence, rtol=1e-9)


# -- batches ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "mixture",
        "mixture_of_regressions",
        "counts_with_own_rates",
        "components",
        "components_with_gaps",
    ],
)
def test_batches_climb_to_the_bound_of_all_rows(name):
    """Within a twentieth of a nat of some thousand nats, and the posterior with them."""
    model, data = case(name)
    whole = model.infer(**data)
    some = model.infer(**data, batch_size=100)
    assert result_of(some).ascent.converged
    assert_allclose(float(some.log_evidence), float(whole.log_evidence), rtol=0, atol=0.05)
    problem = result_of(some).problem
    assert_allclose(some.log_evidence, problem.slow_bound()[0], rtol=1e-12)


def factors_with_own_noise(count, size):
    m = Model()
    m.alpha = Gamma(1e-2, 1e-2).iid(count)
    m.W = Normal(0.0, precision=m.alpha).iid(size)
    m.mu = Normal(0.0, variance=1e6).iid(size)
    m.z = Normal(np.zeros(count), variance=1.0).iid("n")
    m.tau = Gamma(1e-2 * np.ones(size), 1e-2)
    m.y = Normal(m.W @ m.z + m.mu, precision=m.tau)
    return m


def test_batches_do_without_factors_that_only_describe_noise(monkeypatch):
    """A third of two factors is noise of one column by another name: sweeps exchange them slowly."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=(900, 2)) @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(900, 6))
    y += 300.0
    found = factors_with_own_noise(3, 6).infer(y=y, batch_size=100)
    two = factors_with_own_noise(2, 6).infer(y=y)
    assert_allclose(found.tau.mean, two.tau.mean, rtol=0, atol=0.5 * two.tau.std.min())
    assert_allclose(found.mu.mean, two.mu.mean, rtol=0, atol=0.5 * two.mu.std.min())
    covs = [p.W.mean @ p.W.mean.T for p in (found, two)]
    assert_allclose(*covs, rtol=0, atol=two.W.std.min())
    monkeypatch.setattr(stochastic, "drop_weakest", lambda *_: False)
    slow = factors_with_own_noise(3, 6).infer(y=y, batch_size=100)
    assert float(found.log_evidence) > float(slow.log_evidence) + 3.0


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
