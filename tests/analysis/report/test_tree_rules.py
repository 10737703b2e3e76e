"""The rules of the most probable tree in the report."""

import re
from html import unescape
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import compare
from posteriori.analysis.report.insights import best_tree
from posteriori.analysis.tasks.sections import as_html

TREE = "tree (averaged)"


def section_of(table: pd.DataFrame, target: str, flat: str = "constant") -> str:
    return as_html(best_tree(compare(table, target, models=[TREE, flat], folds=2, jobs=1)))


def branches_of(html: str) -> list[str]:
    """Return what stands in the list, line by line."""
    listed = re.sub(r"</?(b|small)>", "", html[html.index("<ul") :])
    return [unescape(item).strip() for item in re.split(r"<[^>]*>", listed) if item.strip()]


def rows_of(html: str) -> int:
    """Return the rows of all leaves."""
    return sum(int(n.replace(",", "")) for n in re.findall(r"<small>([\d,]+) rows?</small>", html))


def steps(entry: pd.Series, high: np.ndarray) -> pd.DataFrame:
    """Return a column and a target that is about 10 or about 0."""
    noise = np.random.default_rng(0).normal(0, 0.1, len(high))
    return pd.DataFrame({"entry": entry, "y": np.where(high, 10.0, 0.0) + noise})


def test_numbers_are_divided_at_a_cut():
    x = 0.5 * np.arange(60.0)
    told = branches_of(section_of(steps(pd.Series(x), x >= 15.0), "y"))
    assert [line.split(":")[0] for line in told] == ["entry ≤ 14.75", "entry > 14.75"]
    assert told[0].endswith("30 rows")


def test_levels_truth_values_and_dates_have_words_of_their_own():
    n = np.arange(60)
    levels = pd.Series(np.array(["red", "green", "blue"])[n % 3])
    told = branches_of(section_of(steps(levels, n % 3 == 0), "y"))
    assert [line.split(":")[0] for line in told] == ["entry is red", "entry is not red"]
    truth = pd.Series(np.where(n % 2 == 0, "yes", "no"))
    told = branches_of(section_of(steps(truth, n % 2 == 0), "y"))
    assert [line.split(":")[0] for line in told] == ["entry is no", "entry is yes"]
    days = pd.Series(pd.date_range("2020-03-01", periods=60).astype(str))
    told = branches_of(section_of(steps(days, n >= 30), "y"))
    assert [line.split(":")[0] for line in told] == [
        "entry until 2020-03-30",
        "entry after 2020-03-30",
    ]


def test_gaps_are_told_where_they_go_and_nowhere_else():
    x = 0.5 * np.arange(90.0)
    gappy = pd.Series(np.where(np.arange(90) % 9 == 4, np.nan, x))
    table = steps(gappy, x > 22)
    table["y"] += 5.0 * (x > 35)
    told = branches_of(section_of(table, "y"))
    assert (
        sum("or missing" in line for line in told) + sum("is missing" in line for line in told) > 0
    )
    for above, below in pairwise(told):
        if above.startswith("entry >") and "missing" not in above:
            assert "missing" not in below


def test_every_row_has_one_leaf_and_large_trees_are_cut():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, (3000, 2))
    table = pd.DataFrame(x, columns=["a", "b"])
    table["y"] = np.floor(8 * x[:, 0]) * (1.0 + np.floor(4 * x[:, 1])) + rng.normal(0, 0.05, 3000)
    page = section_of(table, "y")
    assert "is left out" in page
    assert 2 <= page.count("<small>") <= 16
    assert rows_of(page) == 3000


def test_classes_are_told_with_their_share():
    x = 0.5 * np.arange(80.0)
    table = pd.DataFrame({"x": x, "kind": np.where(x < 20.0, "low", "high")})
    page = section_of(table, "kind", "class frequencies")
    told = branches_of(page)
    # Jeffreys' half row of each class: 40.5 of 41
    assert told[0] == "x ≤ 19.75: low 99% 40 rows"
    assert told[1] == "x > 19.75: high 99% 40 rows"


def test_names_and_levels_are_text():
    n = np.arange(60)
    levels = pd.Series(np.array(["<i>red</i>", "a&b"])[n % 2])
    table = steps(levels, n % 2 == 0).rename(columns={"entry": "<script>x"})
    page = section_of(table, "y")
    assert "<script>" not in page
    assert "<i>" not in page
    assert branches_of(page)[0].startswith("<script>x is ")


@pytest.mark.parametrize("constant", [True, False])
def test_where_there_is_nothing_to_ask_it_is_said(constant):
    rng = np.random.default_rng(2)
    y = rng.normal(size=40)
    table = pd.DataFrame({"x": np.ones(40) if constant else rng.normal(size=40), "y": y})
    table["z"] = 1.0 * (np.arange(40) % 2)
    assert "asks nothing" in section_of(table, "y")


def test_without_a_tree_there_is_no_section():
    x = 0.5 * np.arange(40.0)
    found = compare(
        steps(pd.Series(x), x > 10.0), "y", models=["constant", "linear"], folds=2, jobs=1
    )
    assert best_tree(found) == []
