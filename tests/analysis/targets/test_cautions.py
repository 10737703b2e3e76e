"""What about the rows makes scores say less than they seem to."""

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import compare
from posteriori.analysis.comparisons.table_problem import Problem
from posteriori.analysis.table.wording import counted
from posteriori.analysis.targets.cautions import cautions
from posteriori.selection.cross_validation import split_rows

RNG = np.random.default_rng(0)


def notes(X, y, classes=None, folds=5):
    splits = split_rows(y, folds, 0, classes=classes is not None)
    kinds = {name: "category" if X[name].dtype == "category" else "number" for name in X}
    return cautions(Problem(X, y, kinds, classes, splits), "y", {})


def test_rows_that_repeat_others_are_counted():
    once = pd.DataFrame({"a": RNG.normal(size=30), "b": pd.Categorical(["u", "v"] * 15)})
    X = pd.concat([once] * 8, ignore_index=True)
    (note,) = notes(X, np.tile(RNG.normal(size=30), 8))
    assert note.startswith("210 of 240 rows repeat another exactly: a copy in the rows")
    assert notes(X, RNG.normal(size=240)) == []  # the same inputs with other targets are no copies


def test_rows_that_agree_by_chance_are_not_said():
    X = pd.DataFrame({"a": RNG.integers(0, 2, 200), "b": RNG.integers(0, 3, 200)})
    labels = np.array(["n", "y"])[RNG.integers(0, 2, 200)]
    assert notes(X, labels, np.array(["n", "y"])) == []


def test_gaps_agree():
    gaps = np.where(np.arange(40) % 2, np.nan, RNG.normal(size=40))
    X = pd.DataFrame({"a": gaps, "b": RNG.normal(size=40)})
    twice = pd.concat([X, X], ignore_index=True)
    (note,) = notes(twice, np.tile(RNG.normal(size=40), 2))
    assert note.startswith("40 of 80 rows")


def test_rare_classes_are_named():
    labels = np.array(["a"] * 90 + ["b"] * 4 + ["c"])
    X = pd.DataFrame({"a": RNG.normal(size=95)})
    (note,) = notes(X, labels, np.unique(labels))
    assert note.startswith("2 classes of 'y' with fewer rows than the 5 parts that are held out")
    assert "b (4), c (1): little can be learned of them" in note
    assert notes(X, labels, np.unique(labels), folds=2)[0].startswith("1 class of 'y'")


def test_all_are_notes_of_an_analysis():
    x = RNG.normal(size=30)
    table = pd.DataFrame({"x": x, "late": np.where(x > 0, 1.0, np.nan) * RNG.normal(size=30)})
    table["y"] = np.where(x > 0, "up", "down")
    table = pd.concat([table, table, pd.DataFrame({"x": [0.3], "y": ["flat"]})])
    said = " | ".join(compare(table, "y", models=["class frequencies"], jobs=1).notes)
    assert "whether 'late' is missing tells 'y': if it is known only afterwards" in said
    assert "30 of 61 rows repeat another" in said
    assert "1 class of 'y'" in said


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (12345, "12,345 rows")]
)
def test_counted(number, text):
    assert counted(number, "row") == text
