"""Associations between 0 and 1: of numbers, of categories, and of both, against SciPy and by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from posteriori.analysis.table.association import association_matrix, strongest_first

RNG = np.random.default_rng(0)
N = 90
COLUMNS = {
    "number": pd.Series(RNG.normal(size=N)),
    "curve": pd.Series(np.exp(RNG.normal(size=N))),
    "three": pd.Series(RNG.choice(list("abc"), N)),
    "five": pd.Series(RNG.choice(list("vwxyz"), N)),
}
COLUMNS["near"] = COLUMNS["number"] ** 3 + 0.2 * RNG.normal(size=N)


def between(a, b):
    return association_matrix({"a": COLUMNS[a], "b": COLUMNS[b]})[0, 1]


def test_numbers_are_compared_by_their_ranks():
    for other in ("curve", "near"):
        rho = stats.spearmanr(COLUMNS["number"], COLUMNS[other]).statistic
        assert between("number", other) == pytest.approx(abs(rho), rel=1e-12)


def test_categories_have_the_v_of_cramer():
    table = pd.crosstab(COLUMNS["three"], COLUMNS["five"]).to_numpy()
    expected = stats.contingency.association(table, method="cramer")
    assert between("three", "five") == pytest.approx(expected, rel=1e-12)


def test_numbers_and_categories_have_the_share_of_spread_between_groups():
    ranks = COLUMNS["number"].rank()
    means = ranks.groupby(COLUMNS["five"]).transform("mean")
    expected = np.sqrt(means.var(ddof=0) / ranks.var(ddof=0))
    assert between("number", "five") == pytest.approx(expected, rel=1e-12)
    assert between("five", "number") == between("number", "five")


def test_what_repeats_another_has_1_and_what_is_constant_0():
    renamed = COLUMNS["five"].map(dict(zip("vwxyz", "VWXYZ", strict=True)))
    columns = {**COLUMNS, "renamed": renamed, "constant": pd.Series(np.ones(N))}
    matrix = pd.DataFrame(association_matrix(columns), list(columns), list(columns))
    assert matrix.loc["five", "renamed"] == pytest.approx(1.0)
    assert (matrix.loc["constant"].drop("constant") == 0.0).all()
    assert (matrix.to_numpy() <= 1.0 + 1e-12).all()


def test_gaps_are_left_out_and_the_strongest_come_first():
    gappy = COLUMNS["near"].where(np.arange(N) % 3 > 0)
    rho = stats.spearmanr(COLUMNS["number"], gappy, nan_policy="omit").statistic
    found = association_matrix({"a": COLUMNS["number"], "b": gappy})
    assert found[0, 1] == pytest.approx(rho, rel=1e-12)
    others = {name: series for name, series in COLUMNS.items() if name != "number"}
    assert strongest_first(COLUMNS["number"], others)[0] == "near"
