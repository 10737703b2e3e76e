"""The bound of every model by three routes, on the way up, and below the exact evidence."""

import functools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori.modeling.binding.labelled import Axis
from posteriori.modeling.variational.ascent.coordinate_ascent import sweep
from posteriori.modeling.variational.ascent.problem import restore
from posteriori.modeling.variational.ascent.starts import start
from tests.modeling.variational.models import NAMES, by_name, solve
from tests.modeling.variational.monte_carlo import log_joint_of_draws, sampled_bound

DRAWS = 6000


@functools.cache
def solved(name: str) -> Any:
    """Return a result that no test changes."""
    return solve(name)


@pytest.mark.parametrize("name", NAMES)
def test_energies_and_entropies_are_the_bound(name: str) -> None:
    result = solved(name)
    assert_allclose(result.problem.slow_bound()[0], result.log_evidence, rtol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_sampling_gives_the_bound(name: str) -> None:
    m, data = by_name(name)
    result = solved(name)
    there = {k: _without_missing_rows(v, k, result.approximation.bound) for k, v in data.items()}
    found = sampled_bound(m, there, result, size=DRAWS)
    assert found.error < 0.06  # a factor counted once too often would show
    assert abs(found.value - result.log_evidence) < 5.0 * found.error


def _without_missing_rows(values: Any, name: str, bound: Any) -> Any:
    """Return data without the members that the bound leaves out."""
    if name not in bound.layouts or np.shape(values) == bound.layouts[name].shape:
        return values
    return values[~np.isnan(values).reshape(len(values), -1).all(axis=1)]


@pytest.mark.parametrize("name", NAMES)
def test_the_bound_never_falls(name: str) -> None:
    trace = np.array(solved(name).ascent.trace)
    assert np.all(np.diff(trace) > -1e-10 * np.abs(trace[1:]))


@pytest.mark.parametrize("name", NAMES)
def test_no_single_update_lowers_the_bound(name: str) -> None:
    """Each node may be the last: both routes to the bound agree after every update."""
    problem = solve(name, sweeps=2).problem
    before = problem.slow_bound()
    for node in (*problem.shared, *problem.local, *problem.shared):
        problem.reduce()
        problem.update(node)
        after = problem.slow_bound()
        assert_allclose(problem.bound(node), after, rtol=1e-11)
        assert after[0] > before[0] - 1e-10 * abs(before[0])
        before = after


@pytest.mark.parametrize("name", NAMES)
def test_beliefs_can_be_taken_back(name: str) -> None:
    problem = solve(name, sweeps=1).problem
    before = problem.slow_bound()
    kept = problem.snapshot()
    first = sweep(problem)
    for _ in range(2):  # what was kept can be used again
        restore(kept)
        assert_allclose(problem.slow_bound(), before, rtol=1e-12)
        assert_allclose(sweep(problem), first, rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["wishart_mixture", "panel_hmm", "rates_of_rates", "linear_system"]
)
def test_draws_as_a_plate_have_the_density_of_the_model(name: str) -> None:
    """The density that sampling uses, against :meth:`Model.log_joint` one draw at a time."""
    m, data = by_name(name)
    plan = m.plan(data)
    rng = np.random.default_rng(0)
    inputs = {k: v for k, v in data.items() if k in m._inputs}
    sizes = {a.name: a.size for layout in plan.bound.layouts.values() for a in layout.plates}
    worlds = [m.simulate(plates=sizes, rng=rng, **inputs) for _ in range(3)]
    draws = {k: np.stack([w[k] for w in worlds]) for k in worlds[0] if k not in data}
    found = log_joint_of_draws(m, data, plan.bound, draws, 3)
    expected = [m.log_joint({**w, **data}) for w in worlds]
    assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["wishart_mixture", "normal_hmm", "linear_system", "two_gates"])
def test_starts_do_not_mix(name: str) -> None:
    """Several starts at once end where each of them alone does."""
    m, data = by_name(name)
    approximation = m.plan(data).blocks[0].approximation
    together = approximation.problem(Axis("restart", 3))
    start(approximation, together, np.random.default_rng(1))
    first = [sweep(together) for _ in range(4)]
    for chosen in range(3):
        alone = approximation.problem(Axis("restart", 3))
        start(approximation, alone, np.random.default_rng(1))
        alone.select(chosen)
        for bounds in first:
            assert_allclose(sweep(alone)[0], bounds[chosen], rtol=1e-10)
