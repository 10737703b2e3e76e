"""The report of segments: complete, escaped, and without need of a network."""

import re

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import segment
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


def test_dates_are_days():
    page = page_of("regimes")
    assert re.search(r">2024-\d\d-\d\d<", page)
    assert "2,024" not in page


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
