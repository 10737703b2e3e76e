"""Poisson regression against scikit-learn's solvers: equal weights first, to the same gradient norm.

Columns have root mean square 1 and no intercept is fitted, so that both have the same penalty. Ours
returns the covariance of the weights and the evidence as well.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from harness import Comparison, compare, peak_memory, report
from sklearn.linear_model import PoissonRegressor as PeerRegressor
from threadpoolctl import threadpool_limits

from posteriori.regression import PoissonRegressor

#: Largest entry of the gradient of the mean log posterior.
GRADIENT = 1e-7


def make_counts(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, columns)) @ (
        np.eye(columns) + 0.1 * rng.normal(size=(columns, columns))
    )
    x /= np.sqrt((x**2).mean(axis=0))
    rate = np.exp(x @ rng.normal(size=columns) * 0.7 / np.sqrt(columns))
    return x, rng.poisson(rate).astype(np.float64)


def gradient_norm(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    return float(np.abs((y - np.exp(x @ w)) @ x - w).max()) / len(y)


def compare_solver(x: np.ndarray, y: np.ndarray, solver: str, bar: float) -> Comparison:
    rows, columns = x.shape
    ours = PoissonRegressor(fit_intercept=False, tol=GRADIENT * np.sqrt(rows) / 2)
    # its tolerance is tightened until the gradient is as small as asked for
    for tol in GRADIENT * 10.0 ** -np.arange(4):
        peer = PeerRegressor(
            alpha=1.0 / rows, fit_intercept=False, solver=solver, tol=tol, max_iter=1000
        )
        peer.fit(x, y)
        if gradient_norm(x, y, peer.coef_) <= GRADIENT:
            break
    ours.fit(x, y)
    reached = gradient_norm(x, y, ours.coef_), gradient_norm(x, y, peer.coef_)
    print(f"  {solver}: gradient norm ours {reached[0]:.1e}, peer {reached[1]:.1e} (tol {tol:.0e})")
    assert reached[0] <= GRADIENT
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=0, atol=1e-5)
    name = f"{rows:,} x {columns} vs {solver}"
    return compare(name, lambda: ours.fit(x, y), lambda: peer.fit(x, y), bar=bar, faster=True)


def growth() -> None:
    print("\nPoissonRegressor, peak memory over that of X")
    for rows in (10**4, 10**5):
        x, y = make_counts(rows, 50)
        peak = peak_memory(partial(PoissonRegressor().fit, x, y))
        print(f"  {rows:>9,} x 50   {peak / x.nbytes:.2f}")


def main() -> None:
    warnings.simplefilter("ignore")
    for threads in (1, 2):
        with threadpool_limits(threads):
            print(f"\n{threads} thread(s)")
            lines = []
            for rows, columns in ((10**4, 20), (10**5, 50)):
                x, y = make_counts(rows, columns)
                for solver in ("newton-cholesky", "lbfgs"):
                    lines.append(compare_solver(x, y, solver, 2.0))
            report(f"Poisson regression to gradient {GRADIENT:g}", lines)
    growth()


if __name__ == "__main__":
    main()
