"""Linear machines against a general solver of their primal."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

from posteriori.inference.margins.dual_coordinates import LinearRows, solve_linear_machine


def some_rows(count=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 3)) * (rng.random((count, 3)) < 0.7)
    y = np.where(x @ [1.0, -1.0, 0.5] + 0.4 + 0.7 * rng.normal(size=count) > 0, 1.0, -1.0)
    return x, y, rng.uniform(0.2, 2.0, size=count)


def primal(v, x, y, cost, squared, penalised):
    slack = np.maximum(0.0, 1.0 - y * (x @ v[:-1] + v[-1]))
    size = v[:-1] @ v[:-1] + penalised * v[-1] ** 2
    return 0.5 * size + cost @ (slack**2 if squared else slack)


def solve(x, y, cost, *, squared=False, penalised=True, tol=1e-6, max_iter=20_000):
    return solve_linear_machine(
        LinearRows.of(x), y, cost, squared=squared, penalised=penalised, tol=tol, max_iter=max_iter,
        rng=np.random.default_rng(0),
    )  # fmt: skip


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("penalised", [False, True])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_the_primal_is_at_its_least(squared, penalised, form):
    x, y, cost = some_rows()
    found = solve(form(x), y, cost, squared=squared, penalised=penalised, tol=1e-9)
    assert found.converged
    ours = np.append(found.weights, found.bias)
    value = primal(ours, x, y, cost, squared, penalised)
    best = min(
        minimize(
            primal, start, (x, y, cost, squared, penalised), method="Powell",
            options={"xtol": 1e-10, "ftol": 1e-14, "maxiter": 20_000},
        ).fun
        for start in (np.zeros(4), ours)
    )  # fmt: skip
    np.testing.assert_allclose(value, best, rtol=1e-6)
    np.testing.assert_allclose(found.weights, x.T @ (found.dual * y), atol=1e-9)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("penalised", [False, True])
def test_every_one_of_many_rows_agrees(squared, penalised):
    x, y, cost = some_rows(5003)  # no whole number of runs
    order = np.argsort(y, kind="stable")
    x, y, cost = x[order], y[order], 0.01 * cost
    found = solve(x, y, cost, squared=squared, penalised=penalised)
    assert found.converged
    slope = y * (x @ found.weights + found.bias) - 1.0
    if squared:
        slope += found.dual * 0.5 / cost
    upper = np.inf if squared else cost
    free = np.where(found.dual <= 0, np.minimum(slope, 0), slope)  # projected gradients
    projected = np.where(found.dual >= upper, np.maximum(slope, 0), free)
    assert (
        np.abs(projected).max() <= 5e-6
    )  # rows visited early in the last pass moved on by others' steps
    # −slope of the dual in b is 0 where it is free
    expected = found.bias if penalised else 0.0
    np.testing.assert_allclose(found.dual @ y, expected, atol=1e-6)


def test_passes_over_few_rows_count_as_their_part():
    x, y, cost = some_rows(5003)
    found = solve(x, y, 0.01 * cost)
    assert found.converged
    assert found.n_iter < 100
    short = solve(x, y, 0.01 * cost, max_iter=found.n_iter // 2)
    assert not short.converged
    assert short.n_iter <= found.n_iter // 2 + 1  # the pass at the end is gone through
