"""The report of segments: complete, escaped, and without need of a network."""

import re

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import segment
from posteriori.analysis.segments import segment_page
from tests.analysis.groups.test_cluster_page import Balanced
from tests.analysis.segments.segment_tables import page_of, regimes


@pytest.mark.parametrize("kind", ["regimes", "mixed"])
def test_pages_have_all_sections(kind):
    page = page_of(kind)
    assert re.findall(r"<h2>(.*?)</h2>", page) == [
        "Further columns and series",
        "How many states",
        "What the states are like",
        "Surprising stretches",
        "The data at a glance",
        "The same in Python",
    ]
    assert "not drawn" not in page
    assert page.count("<svg") == page.count("</svg>")
    Balanced().feed(page)


def test_dates_are_months_and_years_are_no_quantities():
    page = page_of("regimes")
    assert re.search(r">2024-\d\d<", page)
    assert "2,024" not in page
    table = pd.DataFrame({"year": np.arange(1871, 1911), "flow": np.repeat([1.0, 9.0], 20)})
    table["flow"] += np.random.default_rng(0).normal(size=40)
    page = segment(table, time="year", states=2).html()
    assert ">1890<" in page
    assert "from year 1891 on." in page
    assert "1,890" not in page


def test_one_state_has_a_short_page():
    page = segment({"a": np.random.default_rng(3).normal(size=120)}, states=(1, 2)).html()
    assert "one state throughout" in page
    assert "What the states are like" not in page
    assert "not drawn" not in page


def test_categories_alone_show_their_states():
    page = segment({"k": list("aaaaaaaabbbbbbbbaaaa")}, states=2).html()
    assert "not drawn" not in page
    assert page.split("How many states</h2>")[0].count("<svg role") == 1


def test_names_are_escaped():
    table, state = regimes()
    table = table.rename(columns={"load": "<script>alert(1)</script>"})
    table["<b>"] = np.where(state == 0, "<i>&amp;", "$x_1$ \"'")
    page = segment(table, by="<b>", states=2).html("<img src=x>")
    assert not re.search(r"<(script|b|i|img)\b", page)


def test_pages_need_no_network():
    links = re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?([^\"')\s>]+)", page_of("mixed"))
    assert all(link.startswith("#") for link in links)


def test_the_code_finds_the_same_states():
    names = {"table": regimes()[0]}
    found = segment(names["table"], columns=["heat"], time="day", states=2, seed=3)
    exec(compile(found.code(), "report", "exec"), names)
    again = names["found"]
    table = names["table"]
    pd.testing.assert_frame_equal(again.model.predict(table), found.model.predict(table))


def test_runs_that_are_too_short_for_a_page_are_drawn_at_its_end():
    rng = np.random.default_rng(0)
    state = np.cumsum(rng.random(3000) < 0.2) % 2
    found = segment({"x": 6.0 * state + rng.normal(size=3000)}, states=2)
    page = found.html()
    assert "The last 240 rows: above many runs are too short to be seen." in page
    assert "too short to be seen" not in page_of("regimes")


def test_no_more_stretches_are_drawn_than_can_be_told_apart():
    """Of many short runs neighbours are one stretch, in the state that most of its steps are in."""
    states = np.arange(6000) // 3 % 2
    shares = np.eye(2)[states]
    places = np.arange(6000.0)
    marks = segment_page._shades(shares, places, 0.0, 1.0)
    assert sum(len(bars.left) for bars in marks) <= 240
    few = segment_page._shades(np.eye(2)[np.repeat([0, 1, 0], 10)], np.arange(30.0), 0.0, 1.0)
    assert few[0].left.tolist() == [0.0, 19.5]
    assert few[0].right.tolist() == [9.5, 29.0]
    assert (few[1].left.tolist(), few[1].right.tolist()) == ([9.5], [19.5])
    assert [bars.label for bars in few] == ["state 1", "state 2"]
