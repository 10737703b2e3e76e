"""Plots in the pages of the documentation use the names of the examples above them."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PLOT = re.compile(
    r"^\.\. plot::\n(?P<options>(?: {3}:.*\n)*)(?P<code>(?: {3}.*\n|\n)*)", re.MULTILINE
)
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = sorted(page for page in DOCS.glob("*/*.md") if PLOT.search(page.read_text("utf-8")))


def statements(code: str) -> set[str]:
    """Return the lines of code, without comments and without lines of brackets alone."""
    lines = (re.sub(r"\s+#.*", "", line).strip() for line in code.splitlines())
    return {line for line in lines if re.search(r"\w", line)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_no_plot_repeats_an_example_above_it(page):
    text = page.read_text("utf-8")
    for plot in PLOT.finditer(text):
        above = doctest.DocTestParser().get_examples(text[: plot.start()])
        examples = set().union(*(statements(example.source) for example in above))
        assert not statements(plot["code"]) & examples


def test_every_plot_is_seen():
    for page in DOCS.glob("*/*.md"):
        text = page.read_text("utf-8")
        assert len(PLOT.findall(text)) == text.count(".. plot::")
        assert all(plot["code"].strip() for plot in PLOT.finditer(text))


def test_every_page_is_in_the_contents():
    listed = {
        (page.parent / line.strip()).resolve()
        for page in DOCS.rglob("*.md")
        for tree in TOCTREE.findall(page.read_text("utf-8"))
        for line in tree.splitlines()
        if line.strip() and not line.startswith(":")
    }
    assert [p.name for p in DOCS.glob("*/*.md") if p.with_suffix("").resolve() not in listed] == []
