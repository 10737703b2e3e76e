"""Every page of the documentation runs alone, as one would paste it into a fresh interpreter."""

import builtins
import doctest
import symtable
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from tests.test_docs import load

DOCS = Path(__file__).parents[1] / "docs"
page_examples = load(DOCS / "_ext" / "page_examples.py")
PAGES = sorted(page for page in DOCS.rglob("*.md") if ">>> " in page.read_text("utf-8"))

#: Names that a figure has without an example: its source is not shown on the page.
OF_FIGURES = {"np", "plt"}


def label(page: Path) -> str:
    return page.relative_to(DOCS).with_suffix("").as_posix()


def tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from tables(child)


def names_in(code: str) -> tuple[set[str], set[str]]:
    """Return the global names that code uses, and those that it defines."""
    top = symtable.symtable(code, "page", "exec")
    symbols = [(table, symbol) for table in tables(top) for symbol in table.get_symbols()]
    used = {s.get_name() for t, s in symbols if s.is_referenced() and (t is top or s.is_global())}
    return used, {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}


def unknown_names(text: str) -> list[tuple[int, str]]:
    """Return the names that examples and figures of a page use before the page defines them."""
    known, unknown = set(dir(builtins)), []
    examples = [(e.lineno + 1, e.source, e) for e in page_examples.examples_of(text)]
    plots = [(b.line, b.source, None) for b in page_examples.split_page(text) if b.kind == "plot"]
    for line, code, example in sorted([*examples, *plots], key=lambda part: part[0]):
        if example is not None and example.options.get(doctest.SKIP):
            continue
        used, defined = names_in(code)
        allowed = known | defined | (OF_FIGURES if example is None else set())
        unknown += [(line, name) for name in sorted(used - allowed)]
        known |= defined if example is not None else set()
    return unknown


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_names_are_imported_or_defined_on_the_page(page):
    assert unknown_names(page.read_text("utf-8")) == []


def test_unknown_names_are_found():
    page = "a\n\n```{doctest}\n>>> x = [y for y in np.arange(z)]\n>>> def f(a): return a + x + q\n```\n"
    assert unknown_names(page) == [(4, "np"), (4, "z"), (5, "q")]
    plot = page + "```{eval-rst}\n.. plot::\n   :alt: A line\n\n   plt.plot(x, w)\n   v = 1\n```\n"
    assert unknown_names(plot)[3:] == [(7, "w")]
    assert unknown_names(plot + "```{doctest}\n>>> v\n```\n")[4:] == [(15, "v")]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", PAGES, ids=label)
def test_page_runs_alone(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    alone = doctest.DocTest(
        page_examples.examples_of(text), {"__name__": "__main__"}, label(page), str(page), 0, text
    )
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    told: list[str] = []
    ran = doctest.DocTestRunner(optionflags=flags).run(alone, out=told.append)
    plt.close("all")
    assert not ran.failed, "".join(told)
