"""The report of groups: complete, escaped, and without need of a network."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import cluster
from tests.analysis.groups.grouped_tables import blobs, page_of


@pytest.mark.parametrize("kind", ["blobs", "mixed"])
def test_pages_have_all_sections(kind: str) -> None:
    page = page_of(kind)
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles == [
        "How many groups",
        "What sets the groups apart",
        "Who belongs together",
        "Rows in between",
        "The data at a glance",
        "The same in Python",
    ]
    assert "not drawn" not in page
    assert page.count("<svg") == page.count("</svg>")
    assert "data:image/png;base64" in page


def test_one_group_has_a_short_page() -> None:
    x = np.random.default_rng(1).normal(size=60)
    page = cluster({"a": x}, max_clusters=2).html()
    assert "These 60 rows form one group" in page
    assert "What sets the groups apart" not in page
    assert "not drawn" not in page


def test_names_and_levels_are_escaped() -> None:
    table, truth = blobs()
    table = table.rename(columns={"width": "<script>alert(1)</script>"})
    table["<b>"] = np.where(truth == 0, "<i>&amp;", "$x_1$ \"'")
    page = cluster(table, clusters=2).html("<img src=x>")
    assert not re.search(r"<(script|b|i|img)\b", page)
    Balanced().feed(page)


class Balanced(HTMLParser):
    """Fails where a tag closes another than the last one open."""

    VOID = {"meta", "br", "img", "link", "use", "path", "image"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_pages_need_no_network() -> None:
    page = page_of("blobs")
    links = re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?([^\"')\s>]+)", page)
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)


def test_the_code_finds_the_same_groups() -> None:
    table = blobs()[0]
    found = cluster(table.assign(other=1.0), clusters=2, drop=["other"], seed=3)
    names = {"table": table.assign(other=1.0)}
    exec(compile(found.code(), "report", "exec"), names)
    again = names["found"]
    pd.testing.assert_frame_equal(again.model.predict(table), found.model.predict(table))
