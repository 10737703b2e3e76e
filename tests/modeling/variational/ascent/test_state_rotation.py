"""Linear systems with unknown matrices: turns of the states, their gain, and few sweeps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori import Chain, Gamma, Model, MvNormal, Normal
from posteriori.modeling.binding.labelled import Axis
from posteriori.modeling.variational.ascent.coordinate_ascent import sweep
from posteriori.modeling.variational.ascent.starts import start
from posteriori.modeling.variational.ascent.state_rotation import (
    ColumnPrior,
    SystemMoments,
    _apply,
    _moments,
    gain,
    rotate_states,
)
from tests.modeling.variational.models import NAMES, by_name, variational

LENGTH, WIDTH, SIZE = 60, 6, 4


def _system(kind: str) -> Model:
    """Return a system with more states than the data need."""
    m = Model()
    m.alpha = Gamma(1e-3, 1e-3).iid(SIZE)
    m.A = Normal(0.0, precision=m.alpha).iid(SIZE)
    if kind == "known prior":
        m.C = Normal(0.0, variance=2.0).iid(SIZE).iid(WIDTH)
    else:
        m.gamma = Gamma(1e-3, 1e-3).iid(SIZE)
        m.C = Normal(0.0, precision=m.gamma).iid(WIDTH)
    if kind == "numbers":
        m.x = Chain(
            Normal(0.0, variance=10.0).iid(SIZE),
            lambda x: Normal(m.A @ x, variance=1.0),
            length="t",
        )
    elif kind == "unknown noise":
        m.q = Gamma(5.0, rate=5.0)
        m.x = Chain(
            Normal(0.0, variance=10.0).iid(SIZE),
            lambda x: Normal(m.A @ x, precision=m.q),
            length="t",
        )
    else:
        m.x = Chain(
            MvNormal(np.zeros(SIZE), cov=10.0 * np.eye(SIZE)),
            lambda x: MvNormal(m.A @ x, cov=np.eye(SIZE)),
            length="t",
        )
    m.tau = Gamma(1e-3, 1e-3)
    m.y = Normal(m.C @ m.x, precision=m.tau)
    return m


def _data() -> np.ndarray:
    rng = np.random.default_rng(0)
    turn = np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
    x = np.zeros((LENGTH, 2))
    for t in range(1, LENGTH):
        x[t] = 0.98 * turn @ x[t - 1] + rng.standard_normal(2)
    y = x @ rng.standard_normal((2, WIDTH)) + 0.5 * rng.standard_normal((LENGTH, WIDTH))
    y[rng.random(y.shape) < 0.2] = np.nan
    return y


KINDS = ["vectors", "known prior", "numbers", "unknown noise"]


def _problem(kind: str, sweeps: int = 3):
    (block,) = _system(kind).plan(y=_data(), method="vmp", n_init=1, rng=0).blocks
    approximation = block.approximation
    problem = approximation.problem(Axis("restart", 1))
    start(approximation, problem, np.random.default_rng(0))
    for _ in range(sweeps):
        sweep(problem)
    (system,) = approximation.structure.systems
    return problem, system


def _turn(size: int = SIZE) -> np.ndarray:
    return np.eye(size) + 0.1 * np.random.default_rng(3).standard_normal((size, size))


def _settled(problem, system) -> float:
    """Return the bound with the precisions of columns, whose gain is part of a turn's, updated."""
    for name in ("alpha", "gamma"):
        if name in problem.owner:
            problem.update(problem.owner[name])
    return float(problem.slow_bound()[0])


@pytest.mark.parametrize("kind", ["vectors", "known prior"])
def test_the_gain_is_what_the_bound_gains(kind):
    problem, system = _problem(kind)
    moments = _moments(problem, system)
    before = _settled(problem, system)
    turn = _turn()
    _apply(problem, system, turn)
    problem.reduce()
    after = _settled(problem, system)
    expected = gain(turn, moments)[0] - gain(np.eye(SIZE), moments)[0]
    assert abs(expected) > 0.1
    assert_allclose(after - before, expected, rtol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_data_do_not_notice_a_turn(kind):
    problem, system = _problem(kind)
    before = problem.energies()
    _apply(problem, system, _turn())
    after = problem.energies()
    likelihood = max(before)  # the last factor is that of the data
    assert_allclose(after[likelihood], before[likelihood], rtol=1e-9)
    assert any(abs(after[i] - before[i])[0] > 1e-3 for i in before)


@pytest.mark.parametrize("kind", KINDS)
def test_a_turn_and_its_way_back(kind):
    problem, system = _problem(kind)
    means = {name: problem.owner[name].centre(name).copy() for name in ("x", "A", "C")}
    turn = _turn()
    _apply(problem, system, turn)
    assert_allclose(problem.owner["x"].centre("x")[0], means["x"][0] @ turn.T, rtol=1e-9)
    _apply(problem, system, np.linalg.inv(turn))
    for name, mean in means.items():
        assert_allclose(problem.owner[name].centre(name), mean, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_turns_raise_the_bound(kind):
    problem, system = _problem(kind)
    before = problem.slow_bound()
    after = rotate_states(problem, system, before)
    assert after[0] > before[0] + 1.0
    assert_allclose(problem.slow_bound(), after, rtol=1e-12)


def test_the_derivative_of_the_gain():
    rng = np.random.default_rng(5)

    def definite(size: int) -> np.ndarray:
        root = rng.standard_normal((size, size + 2))
        return root @ root.T

    n = 3
    rows = rng.standard_normal((20, n, n))
    moments = SystemMoments(
        7.0,
        [(definite(n), definite(n)), (np.eye(n), definite(n))],
        [(definite(n), ColumnPrior(np.full(n, 4.0), rng.gamma(1.0, size=n), definite(n)))],
        np.einsum("sij,skl->ikjl", rows, rows),
        ColumnPrior(np.full(n, 2.5), rng.gamma(1.0, size=n), np.zeros((n, n))),
    )
    turn = _turn(n)
    value, slope = gain(turn, moments)
    for i in range(n):
        for j in range(n):
            step = np.zeros((n, n))
            step[i, j] = 1e-6
            up, down = gain(turn + step, moments)[0], gain(turn - step, moments)[0]
            assert_allclose(slope[i, j], (up - down) / 2e-6, rtol=1e-5, atol=1e-5)
    assert np.isneginf(gain(-turn, moments)[0])
    assert np.isfinite(value)


@pytest.mark.parametrize("kind", KINDS)
def test_few_sweeps_end_above_many_plain_ones(kind):
    result = variational(_system(kind).infer(y=_data(), method="vmp", n_init=1, rng=0, tol=1e-3))
    trace = np.array(result.trace)
    assert result.ascent.converged
    assert np.all(np.diff(trace) >= -1e-10 * np.abs(trace[1:]))
    problem, _ = _problem(kind, sweeps=0)
    for _ in range(4 * len(trace)):
        plain = float(sweep(problem)[0])
    assert trace[-1] > plain


def test_which_models_are_systems():
    found = {}
    for name in NAMES:
        m, data = by_name(name)
        blocks = m.plan(data, method="vmp").blocks
        structures = [b.approximation.structure for b in blocks if hasattr(b, "approximation")]
        found[name] = sum(len(s.systems) for s in structures)
    assert {name for name, count in found.items() if count} == {"linear_system"}
