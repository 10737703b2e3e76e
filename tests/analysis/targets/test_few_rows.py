"""Candidates whose scales are learned hold what their intervals promise on tables of 25 rows."""

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis.comparisons.comparing import make_pipeline
from posteriori.selection.candidates import candidates_for

LEARNED = ["linear (learned scale)", "linear (sparse)", "splines", "quadratic"]
TABLES, ROWS, FRESH = 120, 25, 20


def steps(rng, X):
    """Soft steps somewhere in each column, hardly any to large ones."""
    return np.tanh(1.5 * X - rng.uniform(-1.0, 1.0, size=X.shape[1]))


def bumps(rng, X):
    return 2.0 * np.exp(-((X - rng.uniform(-1.0, 1.0, size=X.shape[1])) ** 2))


def lines(rng, X):
    del rng
    return X


def coverage(rng, name, columns, shapes):
    """Return the shares of fresh targets within intervals of 90 %, table by table."""
    kinds = {f"x{j}": "number" for j in range(columns)}
    (candidate,) = candidates_for("regression", [name])
    found = []
    for _ in range(TABLES):
        X = rng.uniform(-1.7, 1.7, size=(ROWS + FRESH, columns))
        sizes = 2.0 * rng.gamma(1.0) * rng.normal(size=columns) / np.sqrt(columns)
        y = 3.0 + shapes(rng, X) @ sizes + rng.normal(size=len(X))
        table = pd.DataFrame(X, columns=list(kinds))
        pipeline = make_pipeline(candidate, kinds).fit(table[:ROWS], y[:ROWS])
        below = pipeline[-1].predict_dist(pipeline[:-1].transform(table[ROWS:])).cdf(y[ROWS:])
        found.append(np.mean((below > 0.05) & (below < 0.95)))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("shapes", [steps, bumps, lines])
@pytest.mark.parametrize("columns", [1, 5, 10])
@pytest.mark.parametrize("name", LEARNED)
def test_intervals_of_learned_candidates_hold_with_25_rows(name, columns, shapes):
    shares = coverage(np.random.default_rng(columns), name, columns, shapes)
    error = shares.std() / np.sqrt(TABLES)
    assert 0.88 - 2.0 * error < shares.mean() < 0.92 + 2.0 * error


@pytest.mark.parametrize("name", ["splines", "quadratic"])
def test_lines_and_bends_are_told_apart_also_where_a_column_never_changes(name):
    """The number of features of a table is known before its rows are: a constant column has zeros."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    table["b"] = 7.0
    kinds = {"a": "number", "b": "number", "flag": "boolean", "c": "date"}
    table["flag"] = np.arange(40) % 2.0
    y = table["a"].to_numpy() + 0.1 * rng.normal(size=40)
    (candidate,) = candidates_for("regression", [name])
    pipeline = make_pipeline(candidate, kinds).fit(table, y)
    names = pipeline[0].get_feature_names_out()
    apart = pipeline[-1].own_scale
    assert list(names[: apart[0]]) == ["a", "b", "c"]
    assert names[apart[-1] + 1 :].tolist() == ["flag"]
    new = pipeline[0].transform(table.assign(b=9.0))  # of which nothing was learned
    constant = [j for j, told in enumerate(names) if told.startswith("b")]
    assert len(constant) > 1
    assert np.all(new[:, constant] == 0.0)
