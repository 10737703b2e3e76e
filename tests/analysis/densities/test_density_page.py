"""The report of a density: all parts are there, everything from the data is escaped, its code runs."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from posteriori import compare
from posteriori.analysis.densities import density_figures
from posteriori.analysis.densities.density_figures import density_levels, pair_density
from posteriori.analysis.densities.density_page import density_code
from tests.analysis.densities.described_tables import TABLES, density_of, page_of, people


@pytest.mark.parametrize(
    ("kind", "sections"),
    [
        ("people", ["The ranking", "Columns together", "Odd rows"]),
        ("gaps", ["The ranking", "Columns together", "Odd rows", "Gaps filled in"]),
        ("customers", ["The ranking", "Odd rows", "Gaps filled in"]),
    ],
)
def test_pages_have_their_parts(kind: str, sections: list[str]) -> None:
    page = page_of(kind)
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles == [*sections, "The data at a glance", "The same in Python"]
    assert "<script" not in page
    assert "http://" not in re.sub(r"http://www.w3.org[\w/.#-]*", "", page)
    assert "not drawn" not in page
    assert ">nan<" not in page.lower()


def test_names_and_entries_are_escaped() -> None:
    table = people(40).rename(columns={"height": "<b>h</b>"})
    table["kind"] = np.where(np.arange(40) % 2, "<i>x</i>", "&amp;")
    table.loc[::7, "kind"] = None
    page = compare(table, task="density", models=["latent classes"]).html("<u>t</u>.csv")
    for bad in ("<b>h", "<i>x", "<u>t"):
        assert bad not in page


@pytest.mark.parametrize("kind", [pytest.param("people", marks=pytest.mark.slow), "customers"])
def test_the_code_finds_the_same(kind: str) -> None:
    found = density_of(kind)
    space: dict[str, Any] = {"table": TABLES[kind]()}
    exec(density_code(found), space)
    assert [row.name for row in space["found"].ranking] == [row.name for row in found.ranking]
    few = compare(people(30), task="density", models=["normal"], folds=3, seed=4, drop=["luck"])
    code = density_code(few, "table = 1")
    assert "seed=4, drop=['luck'], models=['normal'], folds=3" in code


def test_outlined_regions_hold_their_shares() -> None:
    """Rows of the table itself: of 120, about half lie where the density is above the highest level."""
    found = density_of("people")
    model, x = found.outcomes["normal"].model[-1], found.problem.X
    levels = density_levels(pair_density(model, x, (0, 1)).density)
    own = np.exp(model.score_samples(np.where([True, True, False], x, np.nan)))
    shares = [(own > level).mean() for level in levels]
    for share, expected in zip(shares, (0.99, 0.9, 0.5), strict=True):
        assert share == pytest.approx(expected, abs=3 * np.sqrt(expected * (1 - expected) / 120))


def test_one_column_and_no_numbers_have_pages() -> None:
    rng = np.random.default_rng(0)
    one = compare({"a": rng.normal(size=40)}, task="density", models=["normal"])
    assert "The line is that of “normal”." in one.html("t.csv")
    assert "one another" not in one.verdict
    words = pd.DataFrame({"a": rng.choice(["x", "y"], 40), "b": rng.choice(["u", "v"], 40)})
    page = compare(words, task="density", models=["independent columns"]).html("t.csv")
    assert "Columns together" not in page


def test_years_begin_where_they_are_written() -> None:
    """A tick of a year stands on its first of January, which decimal years of 365.2425 days do not begin with."""
    places, texts = density_figures._year_ticks(2019.7, 2023.4, 4)
    assert texts == ["2020", "2021", "2022", "2023"]
    firsts = pd.to_datetime([f"{year}-01-01" for year in texts])
    since = (firsts - pd.Timestamp("2000-01-01")).days.to_numpy()
    np.testing.assert_allclose(places, 2000.0 + since / 365.2425, rtol=1e-12)
    assert ">2021</text>" in page_of("customers")


def test_notebooks_show_the_page() -> None:
    assert density_of("people")._repr_html_().startswith("<iframe")
    shown = repr(density_of("people"))
    assert shown.splitlines()[0].split() == ["model", "score", "behind", "weight"]
    assert density_of("people").verdict in shown
