"""From a table to a verdict: the whole of ``compare`` against cross-validation in scikit-learn.

Both sides fit the same kinds of models on the same five folds. Before anything is timed, the
models that both have are asserted to predict unseen rows alike.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings

import numpy as np
import pandas as pd
from harness import Comparison, compare, peak_memory, report, time_processes
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
)
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler

import posteriori
from posteriori.numerics import ConvergenceWarning

ROWS, NUMBERS, CATEGORIES = 20_000, 26, 4


def make_table(rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, NUMBERS))
    table = pd.DataFrame({f"x{k}": X[:, k] for k in range(NUMBERS)})
    for k in range(CATEGORIES):
        table[f"c{k}"] = rng.choice(list("abcde"), rows)
    shift = (table["c0"] == "a").to_numpy(float)
    signal = X[:, :8] @ rng.normal(size=8) + 0.5 * X[:, 0] ** 2 + shift
    table["amount"] = signal + 2.0 * rng.standard_t(5, size=rows)
    table["label"] = np.where(signal + 2.0 * rng.logistic(size=rows) > 0, "yes", "no")
    return table


def prepared(table: pd.DataFrame, spline: bool = False) -> ColumnTransformer:
    numbers = [c for c in table if c.startswith("x")]
    scaled = make_pipeline(StandardScaler(), SplineTransformer(5)) if spline else StandardScaler()
    categories = [c for c in table if c.startswith("c")]
    return ColumnTransformer(
        [
            ("numbers", scaled, numbers),
            ("levels", OneHotEncoder(drop="first", sparse_output=False), categories),
        ]
    )


def peers(table: pd.DataFrame, task: str) -> dict[str, object]:
    plain, curves = prepared(table), prepared(table, spline=True)
    if task == "regression":
        models = [DummyRegressor(), LinearRegression(), BayesianRidge(), ARDRegression()]
        models += [HuberRegressor(max_iter=1000)]
        extra = BayesianRidge()
    else:
        models = [DummyClassifier(), GaussianNB(), LinearDiscriminantAnalysis()]
        models += [QuadraticDiscriminantAnalysis(), LogisticRegression()]
        models += [LogisticRegression(C=10.0), KNeighborsClassifier(15)]  # the former for probit
        extra = LogisticRegression()
    named = {f"{k} {type(m).__name__}": make_pipeline(plain, m) for k, m in enumerate(models)}
    return named | {"splines": make_pipeline(curves, extra)}


def cross_validated(table: pd.DataFrame, target: str, task: str) -> dict[str, float]:
    X, y = table.drop(columns=["amount", "label"]), table[target]
    score = "neg_root_mean_squared_error" if task == "regression" else "neg_log_loss"
    folds = KFold if task == "regression" else StratifiedKFold
    split = folds(5, shuffle=True, random_state=0)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in peers(table, task).items():
            scores = cross_validate(model, X, y, cv=split, scoring=score, n_jobs=2)["test_score"]
            found[name] = -float(np.mean(scores))
    return found


def ours(table: pd.DataFrame, target: str, jobs: int = 2):
    other = "label" if target == "amount" else "amount"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return posteriori.compare(table, target, drop=[other], jobs=jobs)


def require_equal(table: pd.DataFrame) -> None:
    theirs = cross_validated(table, "amount", "regression")
    result = ours(table, "amount")
    np.testing.assert_allclose(
        result.metrics["linear"]["RMSE"], theirs["1 LinearRegression"], rtol=2e-3
    )
    theirs = cross_validated(table, "label", "classification")
    result = ours(table, "label")
    np.testing.assert_allclose(
        result.metrics["logistic"]["log loss"], theirs["4 LogisticRegression"], rtol=2e-3
    )


def times(table: pd.DataFrame) -> list[Comparison]:
    require_equal(table)
    return [
        compare(
            f"{task}, {len(table)} x {NUMBERS + CATEGORIES} (scikit-learn, 5 folds)",
            lambda target=target: ours(table, target),
            lambda target=target, task=task: cross_validated(table, target, task),
            bar=2.0,
            faster=False,
        )
        for target, task in (("amount", "regression"), ("label", "classification"))
    ]


def memory(table: pd.DataFrame) -> None:
    """All fits in this process, whose memory is traced."""
    size = table.memory_usage(deep=True).sum()
    for target in ("amount", "label"):
        peak = peak_memory(lambda target=target: ours(table, target, jobs=1))
        print(f"peak memory, {target}: {peak / size:.1f} times the table (goal 6)")


_COMMAND = """
import contextlib, io, sys
sys.argv = ["posteriori", "compare", *{arguments}]
from posteriori.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    with contextlib.suppress(SystemExit):
        main()
"""


def starts() -> list[Comparison]:
    """Help, a wrong argument and a missing file, against a bare import of two libraries."""
    cases = {
        "help": ["--help"],
        "wrong option": ["x.csv", "--target", "y", "--wrong"],
        "missing file": ["none.csv", "--target", "y"],
    }
    return [
        time_processes(
            f"{name} (import pandas, sklearn)",
            _COMMAND.format(arguments=arguments),
            "import pandas, sklearn",
            bar=2.0,
        )
        for name, arguments in cases.items()
    ]


_VERDICT = """
import contextlib, io, sys
sys.argv = ["posteriori", "compare", {file!r}, "--target", "target"]
from posteriori.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    with contextlib.suppress(SystemExit):
        main()
"""


def verdicts() -> None:
    """From the start of the command to its verdict on 442 rows, with machine code kept and without."""
    frame = load_diabetes(as_frame=True, scaled=False).frame
    posteriori.compare(frame, "target")  # loads all that the fits need
    start = time.perf_counter()
    posteriori.compare(frame, "target")
    fits = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/diabetes.csv"
        frame.to_csv(file, index=False)
        for cache in ("kept", "empty"):
            if cache == "empty":
                os.environ["NUMBA_CACHE_DIR"] = f"{folder}/numba"
            row = time_processes(cache, _VERDICT.format(file=file), "import pandas, sklearn", bar=3)
            ratio = (row.ours - fits) / row.reference
            print(
                f"start to verdict on {len(frame)} rows, machine code {cache}: {row.ours:.2f} s, of "
                f"which {fits:.2f} s are fits; the rest is {ratio:.1f} times the import of pandas and "
                f"sklearn, {row.reference:.2f} s (goal 3)"
            )


if __name__ == "__main__":
    table = make_table()
    report("From a table to a verdict", times(table) + starts())
    verdicts()
    memory(table)
