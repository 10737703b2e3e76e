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


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("penalised", [False, True])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_the_primal_is_at_its_least(squared, penalised, form):
    x, y, cost = some_rows()
    found = solve_linear_machine(
        LinearRows.of(form(x)),
        y,
        cost,
        squared=squared,
        penalised=penalised,
        tol=1e-9,
        max_iter=20_000,
        rng=np.random.default_rng(0),
    )
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
