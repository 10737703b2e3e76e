"""Notebooks made from the gallery hold all of its code, and show what the pages show."""

import ast
import doctest
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from tests.test_docs import load
from tests.test_pages_alone import names_in, page_examples

DOCS = Path(__file__).parents[1] / "docs"
notebooks = load(DOCS / "_ext" / "page_notebook.py")
PAGES = sorted(page for page in DOCS.glob("gallery/*.md") if page.stem != "index")
#: Pages that are run as notebooks: figures before and after examples, networks, series, tables.
RUN = ["coin", "regression", "outliers", "asia", "nile_spreads", "xor"]

PAGE = """\
# Title

See [a page](other.md#part), [out](https://example.org/x.md) and {py:obj}`~posteriori.a.Name`.

```{doctest}
>>> x = [1,
...      2]
>>> x
[1, 2]
>>> y = 3
```

```{eval-rst}
.. plot::
   :alt: A line

   plt.plot(x)

   plt.xlabel("x")
```

```{doctest}
>>> 1 / 0
Traceback (most recent call last):
ZeroDivisionError: division by zero
```
"""


def code_of(notebook):
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    return ["".join(cell["source"]) for cell in cells]


def test_prose_examples_and_figures_become_cells():
    notebook = notebooks.notebook_of(PAGE)
    text = "".join(notebook["cells"][0]["source"])
    assert text == "# Title\n\nSee a page, [out](https://example.org/x.md) and `Name`."
    prelude, *code = code_of(notebook)
    assert prelude == notebooks.PRELUDE.strip()
    figure = 'plt.plot(x)\n\nplt.xlabel("x");'
    assert code == ["x = [1,\n     2]\nx", "y = 3", figure, "1 / 0"]
    raising = [cell["metadata"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert raising == [{}, {}, {}, {}, {"tags": ["raises-exception"]}]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_notebooks_hold_the_code_of_their_page_in_its_order(page):
    text = page.read_text("utf-8")
    notebook = json.loads(json.dumps(notebooks.notebook_of(text)))
    assert notebook["cells"][0]["source"][0].startswith("# ")
    code = "\n".join(code_of(notebook))
    place = 0
    for block in page_examples.split_page(text):
        sources = [block.source] if block.kind == "plot" else examples_in(block)
        for source in sources:
            place = code.index(source.strip("\n"), place)
    assert ">>>" not in code
    ast.parse(code)


def examples_in(block):
    found = doctest.DocTestParser().get_examples(block.source) if block.kind == "doctest" else []
    return [example.source for example in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_figures_do_not_change_what_examples_below_them_use(page):
    """On the page a figure has a copy of the names, in the notebook it assigns the names themselves."""
    assigned = set()
    for block in page_examples.split_page(page.read_text("utf-8")):
        if block.kind == "plot":
            assigned |= names_in(block.source)[1]
        for source in examples_in(block):
            used, defined = names_in(source)
            assert not (used - defined) & assigned
            assigned -= defined


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", RUN)
def test_notebooks_show_what_their_page_shows(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "gallery" / f"{name}.md").read_text("utf-8")
    with plt.rc_context():
        shown = run_cells(notebooks.notebook_of(text))
        assert len(plt.get_fignums()) >= text.count(".. plot::")
        plt.close("all")
    expected = [e for e in page_examples.examples_of(text) if e.want and e.exc_msg is None]
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert len(shown) == len(expected)
    for got, example in zip(shown, expected, strict=True):
        assert doctest.OutputChecker().check_output(example.want, got, flags), (example.want, got)


def run_cells(notebook):
    """Run the cells one after another as a notebook does; return what those that are no figure show."""
    names, shown = {"__name__": "__main__"}, []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        out = io.StringIO()
        with redirect_stdout(out):
            run_cell("".join(cell["source"]), names, cell["metadata"].get("tags", []))
        if out.getvalue():
            shown.append(out.getvalue())
    return shown


def run_cell(code, names, tags):
    """Run all statements, and show the value of the last one if it is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    try:
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    except Exception:
        assert "raises-exception" in tags
        return
    if not code.endswith(";"):
        sys.displayhook(value)
