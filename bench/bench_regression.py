"""Linear regression with evidence against scikit-learn's, chunks against one fit, and growth in N.

Each case first checks that the answers are equal: the same model (no standardisation, no intercept,
hyper-priors that vanish), solved to tight tolerances. scikit-learn is then timed with its default
tolerances, which stop earlier.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from harness import Comparison, compare, peak_memory, report
from sklearn.linear_model import ARDRegression, BayesianRidge
from threadpoolctl import threadpool_limits

from posteriori.classification import BayesianLogisticRegression
from posteriori.regression import BayesianLinearRegressor, PoissonRegressor

ROWS, COLUMNS, CHUNKS = 100_000, 50, 100
VANISHING = {"alpha_1": 0.0, "alpha_2": 0.0, "lambda_1": 0.0, "lambda_2": 0.0}
SAME_MODEL = {"fit_intercept": False, "standardize": False}


def make_data(rows: int, columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns, half of which count."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) + 0.5 * rng.normal(size=(rows, 1))
    weights = np.where(np.arange(columns) % 2, 0.0, rng.normal(size=columns))
    return X, X @ weights + rng.normal(size=rows)


def groups_against_none() -> list[Comparison]:
    """10,000 levels beside the columns against the columns alone, for normal and other targets."""
    rng = np.random.default_rng(1)
    X, y = make_data(ROWS, 30)
    shop = rng.integers(0, 10_000, size=ROWS)
    wide, level = np.column_stack([X, shop]), 2.0 * rng.normal(size=10_000)[shop]
    eta = 0.3 * X[:, 1] + 0.5 * level
    likeliest = np.column_stack([eta, -eta, 0.0 * eta]) + rng.gumbel(size=(ROWS, 3))
    lines = []
    for name, make, targets in (
        ("linear", BayesianLinearRegressor, y + level),
        ("Poisson", PoissonRegressor, rng.poisson(np.exp(0.3 * eta))),
        ("logistic", BayesianLogisticRegression, rng.random(ROWS) < 1.0 / (1.0 + np.exp(-eta))),
        ("three classes", BayesianLogisticRegression, likeliest.argmax(axis=1)),
    ):
        alone, grouped = make(), make(groups=[-1])

        def with_groups(model=grouped, table=wide, targets=targets):  # type: ignore[no-untyped-def]
            model.fit(table, targets)

        def without(model=alone, table=X, targets=targets):  # type: ignore[no-untyped-def]
            model.fit(table, targets)

        title = f"{name}, 10,000 groups beside {ROWS} x 30 (no groups)"
        lines.append(compare(title, with_groups, without, bar=5.0, faster=False))
    return lines


def evidence_against_bayesian_ridge() -> Comparison:
    X, y = make_data(ROWS, COLUMNS)
    ours = BayesianLinearRegressor(hyperparameters="type-II", **SAME_MODEL)
    tight = BayesianRidge(fit_intercept=False, tol=1e-13, max_iter=1000, **VANISHING).fit(X, y)
    ours.fit(X, y)
    np.testing.assert_allclose(ours.coef_, tight.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.noise_precision_, tight.alpha_, rtol=1e-8)
    np.testing.assert_allclose(ours.prior_precision_, tight.lambda_, rtol=1e-7)
    theirs = BayesianRidge(fit_intercept=False, **VANISHING)
    return compare(
        f"type-II, {ROWS} x {COLUMNS} (BayesianRidge)",
        lambda: ours.fit(X, y),
        lambda: theirs.fit(X, y),
        bar=5.0,
        faster=True,
    )


def relevance_against_ard_regression() -> Comparison:
    X, y = make_data(ROWS, COLUMNS)
    ours = BayesianLinearRegressor(hyperparameters="ard", **SAME_MODEL).fit(X, y)
    tight = ARDRegression(
        fit_intercept=False, tol=1e-10, max_iter=3000, threshold_lambda=1e9, **VANISHING
    ).fit(X, y)
    np.testing.assert_array_equal(ours.coef_ != 0, tight.coef_ != 0)
    np.testing.assert_allclose(ours.coef_, tight.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(ours.noise_precision_, tight.alpha_, rtol=1e-6)
    theirs = ARDRegression(fit_intercept=False, **VANISHING)
    return compare(
        f"relevance, {ROWS} x {COLUMNS} (ARDRegression)",
        lambda: ours.fit(X, y),
        lambda: theirs.fit(X, y),
        bar=3.0,
        faster=True,
    )


def chunks_against_one_fit(hyperparameters: str) -> Comparison:
    X, y = make_data(ROWS, COLUMNS)
    parts = list(zip(np.array_split(X, CHUNKS), np.array_split(y, CHUNKS), strict=True))

    def stream() -> BayesianLinearRegressor:
        model = BayesianLinearRegressor(hyperparameters=hyperparameters)
        for rows, targets in parts:
            model.partial_fit(rows, targets)
        _ = model.coef_
        return model

    batch = BayesianLinearRegressor(hyperparameters=hyperparameters)
    np.testing.assert_allclose(stream().coef_, batch.fit(X, y).coef_, rtol=1e-9, atol=1e-12)
    name = f"partial_fit of {CHUNKS} chunks, {hyperparameters} (one fit)"
    return compare(name, stream, lambda: batch.fit(X, y), bar=1.5, faster=False)


def learn_from_chunks(rows: int, columns: int = 10, chunk: int = 100_000) -> float:
    """Return the seconds of learning alone; chunks are drawn as they are needed."""
    rng = np.random.default_rng(1)
    weights, model, spent = np.arange(columns, dtype=float), BayesianLinearRegressor(), 0.0
    for _ in range(rows // chunk):
        X = rng.normal(size=(chunk, columns))
        y = X @ weights + rng.normal(size=chunk)
        start = time.perf_counter()
        model.partial_fit(X, y)
        spent += time.perf_counter() - start
    np.testing.assert_allclose(model.coef_, weights, atol=10.0 / np.sqrt(rows))
    return spent


def growth() -> None:
    print("\nrows by chunks of 10⁵ x 10, drawn as they are needed")
    for rows in (10**5, 10**6, 10**7):
        spent = learn_from_chunks(rows)
        memory = peak_memory(lambda rows=rows: learn_from_chunks(rows))
        print(
            f"  {rows:>10} rows   {spent:7.3f} s   {1e9 * spent / rows:6.1f} ns a row"
            f"   peak {memory / 1e6:.1f} MB"
        )


def main() -> None:
    with threadpool_limits(1):  # threads of BLAS wait for one another where the machine is shared
        rows = [evidence_against_bayesian_ridge()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn's relevance divides by vanishing weights
            rows.append(relevance_against_ard_regression())
        rows += [chunks_against_one_fit(kind) for kind in ("fixed", "type-II", "ard")]
        rows += groups_against_none()
        report("linear regression with evidence, one thread", rows)
        growth()


if __name__ == "__main__":
    main()
