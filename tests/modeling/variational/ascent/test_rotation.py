"""Factor models with more columns than the data need: few sweeps, and the end of many plain ones."""

import numpy as np
import pytest

from posteriori import Gamma, Model, MvNormal, Normal
from posteriori.inference.components.factor_turns import balancing_turns
from posteriori.modeling.binding.labelled import Axis
from posteriori.modeling.variational.ascent import coordinate_ascent as ascent
from posteriori.modeling.variational.ascent.coordinate_ascent import sweep
from posteriori.modeling.variational.ascent.starts import start

#: Rows, columns, true factors, believed factors, noise, shape and rate of all precisions.
CASES = {
    "three of five": (0, 200, 10, 2, 5, 0.3, 1e-3),
    "four of eight, noisy": (6, 400, 20, 4, 8, 1.0, 1e-2),
    "ten of fifteen, vague": (5, 500, 30, 5, 15, 0.3, 1e-6),
}


def factor_model(size, factors, vague):
    m = Model()
    m.alpha = Gamma(vague, vague).iid(factors)
    m.W = Normal(0.0, precision=m.alpha).iid(size)
    m.z = MvNormal(np.zeros(factors), cov=np.eye(factors)).iid("n")
    m.tau = Gamma(vague, vague)
    m.y = Normal(m.W @ m.z, precision=m.tau)
    return m


def data_and_model(case):
    seed, n, d, true, believed, noise, vague = CASES[case]
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(n, true)) @ rng.normal(size=(true, d)) + noise * rng.normal(size=(n, d))
    return y, factor_model(d, believed, vague)


@pytest.fixture
def count_sweeps(monkeypatch):
    """Count all sweeps, also those that are taken back."""
    calls = []

    def counted(problem, passes=1):
        calls.append(passes)
        return sweep(problem, passes)

    monkeypatch.setattr(ascent, "sweep", counted)
    return calls


@pytest.mark.parametrize("case", CASES)
def test_surplus_columns_take_few_sweeps_and_end_where_plain_sweeps_stand_still(case, count_sweeps):
    y, model = data_and_model(case)
    (block,) = model.plan(y=y, n_init=1, rng=0).blocks
    result = block.solve()
    assert result.ascent.converged
    assert len(count_sweeps) <= 60
    trace = np.array(result.ascent.trace)
    assert np.all(np.diff(trace) >= -1e-10 * np.abs(trace[-1]))
    problem = result.problem
    np.testing.assert_allclose(problem.slow_bound()[0], result.log_evidence, rtol=1e-10)
    for _ in range(50):
        after = float(sweep(problem)[0])
    assert after - trace[-1] < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_end_is_a_fixed_point_that_a_thousand_plain_sweeps_do_not_reach(case):
    y, model = data_and_model(case)
    (block,) = model.plan(y=y, n_init=1, rng=0, tol=1e-9).blocks
    result = block.solve()
    for _ in range(300):
        after = float(sweep(result.problem)[0])
    assert abs(after - result.log_evidence) < 1e-6
    problem = block.approximation.problem(Axis("restart", 1))
    start(block.approximation, problem, np.random.default_rng(0))
    for _ in range(1000):
        plain = float(sweep(problem)[0])
    assert plain < result.log_evidence - 1e-6


def test_turns_make_both_second_moments_diagonal_and_leave_the_product():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 1, 9, 4))
    scores, loadings = (np.swapaxes(x, -1, -2) @ x for x in (a, b))
    for turn, back in balancing_turns(scores, loadings, 9):
        np.testing.assert_allclose(turn @ back, np.eye(4)[None], atol=1e-12)
        for moment in (
            turn @ scores @ np.swapaxes(turn, -1, -2),
            np.swapaxes(back, -1, -2) @ loadings @ back,
        ):
            np.testing.assert_allclose(moment[0], np.diag(np.diag(moment[0])), atol=1e-9)
