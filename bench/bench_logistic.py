"""Logistic regression against scikit-learn's solvers, its posteriors against its fit, growth in N.

All solvers run to the same gradient: scikit-learn's tolerances are set so that the largest entry of
the mean gradient ends below ``GRADIENT``, as ours does. Answers are compared first.
"""

from __future__ import annotations

import time
import warnings
from functools import partial

import numpy as np
from harness import Comparison, compare, peak_memory, report
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as Reference

from posteriori.classification import BayesianLogisticRegression, LogisticRegression

ROWS, COLUMNS = 100_000, 50
GRADIENT = 1e-6
SOLVERS = ("newton-cholesky", "lbfgs", "newton-cg")


def make_data(rows: int, columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns, weights that leave the classes well mixed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) + 0.5 * rng.normal(size=(rows, 1))
    w = rng.normal(size=columns) / np.sqrt(columns)
    return X, (rng.random(rows) < expit(X @ w - 0.5)).astype(int)


def largest_slope(model: object, X: np.ndarray, y: np.ndarray) -> float:
    """Return the largest entry of the mean gradient of the log likelihood."""
    excess = expit(X @ model.coef_[0] + model.intercept_[0]) - y
    return max(float(np.abs(excess @ X).max()), abs(float(excess.sum()))) / len(y)


def tuned(solver: str, X: np.ndarray, y: np.ndarray) -> Reference:
    """Return scikit-learn's model with the loosest tolerance that reaches the gradient."""
    for tol in 10.0 ** -np.arange(4, 11):
        model = Reference(C=np.inf, solver=solver, tol=tol, max_iter=1000).fit(X, y)
        if largest_slope(model, X, y) <= GRADIENT:
            return Reference(C=np.inf, solver=solver, tol=tol, max_iter=1000)
    raise RuntimeError(f"{solver} does not reach a mean gradient of {GRADIENT:g}")


def against_solvers() -> list[Comparison]:
    X, y = make_data(ROWS, COLUMNS)
    ours = LogisticRegression(tol=1e-3)
    tight = Reference(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(LogisticRegression().fit(X, y).coef_, tight.coef_, atol=1e-8)
    assert largest_slope(ours.fit(X, y), X, y) <= GRADIENT
    rows = []
    for solver in SOLVERS:
        theirs = tuned(solver, X, y)
        name = f"{ROWS} x {COLUMNS} ({solver}, tol={theirs.tol:g})"
        both = partial(ours.fit, X, y), partial(theirs.fit, X, y)
        rows.append(compare(name, *both, bar=1.5, faster=True))
    return rows


def posterior_against_fit() -> Comparison:
    X, y = make_data(ROWS, COLUMNS)
    plain, bayes = LogisticRegression(), BayesianLogisticRegression()
    np.testing.assert_allclose(bayes.fit(X, y).coef_, plain.fit(X, y).coef_, atol=1e-2)
    name = f"Laplace posterior, {ROWS} x {COLUMNS} (LogisticRegression)"
    return compare(name, lambda: bayes.fit(X, y), lambda: plain.fit(X, y), bar=1.5, faster=False)


def approximation_against_laplace(approximation: str, bar: float) -> Comparison:
    X, y = make_data(10_000, 20)
    laplace = BayesianLogisticRegression()
    other = BayesianLogisticRegression(method=approximation)
    np.testing.assert_allclose(
        other.fit(X, y).predict_proba(X), laplace.fit(X, y).predict_proba(X), atol=5e-3
    )
    name = f"{approximation}, 10000 x 20 (Laplace)"
    return compare(name, lambda: other.fit(X, y), lambda: laplace.fit(X, y), bar=bar, faster=False)


def growth() -> None:
    print("\nseconds and peak memory by rows, 20 columns")
    for rows in (10**4, 10**5, 10**6):
        X, y = make_data(rows, 20)
        print(f"  {rows:>8} rows", end="")
        for name in ("laplace", "ep"):
            model = BayesianLogisticRegression(method=name)
            start = time.perf_counter()
            model.fit(X, y)
            spent = time.perf_counter() - start
            print(f"   {name} {spent:7.3f} s {1e9 * spent / rows:6.0f} ns a row", end="")
            if rows <= 10**5:
                memory = peak_memory(lambda m=model, X=X, y=y: m.fit(X, y))
                print(f" {memory / 1e6:.0f} MB", end="")
        print()


def main() -> None:
    warnings.simplefilter("ignore", FutureWarning)
    report(f"logistic regression, mean gradient <= {GRADIENT:g}", against_solvers())
    rows = [posterior_against_fit(), approximation_against_laplace("ep", 5.0)]
    rows.append(approximation_against_laplace("variational", 10.0))
    report("posteriors", rows)
    growth()


if __name__ == "__main__":
    main()
