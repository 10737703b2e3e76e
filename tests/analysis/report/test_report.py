"""The report: valid, self-contained, and everything from the data is text."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import Analysis, compare
from posteriori.analysis.tasks.sections import Grid, Section, fill_page
from tests.analysis.report.browser import browse, measure
from tests.analysis.tables import analysis_of, mixed_table

_VOID = {"meta", "br", "hr", "img", "link", "input"}

SECTIONS = (
    "The ranking",
    "How well the best model predicts",
    "What drives the predictions",
    "What each column adds",
    "The most probable tree",
    "Some rows",
    "Surprising rows",
    "The data at a glance",
    "The same in Python",
)


class Page(HTMLParser):
    """Elements, attributes and text of a page, whose tags must be balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.headings: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert len({name for name, _ in attrs}) == len(attrs), f"<{tag}> repeats an attribute"
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.attributes if key == name]

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


def require_sound(page: Page) -> None:
    """Valid and self-contained: no ids twice, nothing to fetch, nothing to run."""
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    for name in ("href", "xlink:href", "src", "srcset", "action", "data"):
        assert all(value.startswith("#") for value in page.values(name)), name
    referred = set(re.findall(r"#([\w.-]+)", " ".join(page.values("xlink:href"))))
    assert referred <= set(ids)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert page.tags.isdisjoint({"script", "link", "iframe", "object", "embed", "img", "form"})
    assert page.open == []


#: Some models are enough for every section.
CURVES = ("constant", "linear", "additive curves", "tree (averaged)")
CLASSES = ("class frequencies", "logistic", "tree (averaged)", "nearest neighbours")

ANALYSES = [
    pytest.param(("count", "regression", *CURVES), id="count-regression"),
    pytest.param(("two", "classification", *CLASSES), id="two-classification"),
    pytest.param(("five", "classification", *CLASSES), id="five-classification"),
    pytest.param(("count", "density"), id="count-density"),
    pytest.param(("count", "regression"), id="count-regression-all", marks=pytest.mark.slow),
    pytest.param(("two", "classification"), id="two-classification-all", marks=pytest.mark.slow),
    pytest.param(("five", "classification"), id="five-classification-all", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=ANALYSES)
def page(request: pytest.FixtureRequest) -> tuple[Analysis, str]:
    analysis = analysis_of(*request.param)
    return analysis, analysis.html("table.csv")


def test_pages_are_sound(page: tuple[Analysis, str]) -> None:
    require_sound(Page(page[1]))


def test_all_sections_are_there(page: tuple[Analysis, str]) -> None:
    analysis, text = page
    expected = list(SECTIONS)
    if not any("additive curves" in row.name for row in analysis.ranking.rows):
        expected.remove("What each column adds")
    if analysis.target.task == "density":
        expected.remove("What drives the predictions")
        expected.remove("The most probable tree")
        expected.remove("Some rows")
    assert Page(text).headings == expected


def test_what_is_printed_is_on_the_page(page: tuple[Analysis, str]) -> None:
    analysis, text = page
    words = Page(text).text
    assert analysis.verdict in words
    for row in analysis.ranking.rows:
        assert row.name in words
    for column in analysis.columns:
        assert column.name in words
    assert f"seed {analysis.seed}" in words


def test_pages_follow_light_and_dark(page: tuple[Analysis, str]) -> None:
    text = page[1]
    assert '<meta name="color-scheme" content="light dark">' in text
    assert "prefers-color-scheme: dark" in text
    drawn = text[text.index("<svg") :]
    # what is drawn has colours of the style sheet, which change with the scheme
    assert not re.findall(r"(?:fill|stroke): ?#(?!fff)[0-9a-f]{6}", drawn)
    used = set(re.findall(r"var\(--(\w+)\)", text))
    style = text[: text.index("</style>")]
    for name in used:
        assert style.count(f"--{name}:") == 2, name


def test_reports_are_written_without_matplotlib(tmp_path: Path) -> None:
    """Loading it would take longer than all figures."""
    mixed_table(60)[["x", "colour", "y"]].to_csv(tmp_path / "t.csv", index=False)
    code = (
        "import sys; from posteriori.cli import app\n"
        "options = '--target y --models constant,linear --jobs 1 --html r.html'.split()\n"
        "app(['compare', 't.csv', *options], standalone_mode=False)\n"
        "sys.exit('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, timeout=300, check=False)
    assert done.returncode == 0
    assert (tmp_path / "r.html").read_text(encoding="utf-8").count("<svg") > 5


def test_notebooks_show_the_page_in_a_frame() -> None:
    shown = analysis_of("count", "density")._repr_html_()
    frame = Page(shown)
    assert frame.tags == {"iframe"}
    require_sound(Page(frame.values("srcdoc")[0]))


# -- names and entries that mean something to pages ----------------------------------------------

STRANGE = [
    "<script>alert(1)</script>",
    "\"&'$\N{SNOWMAN}",
    "$x$ ${y}",
    "a\nb --> c",
    "</svg></style><img src=x onerror=alert(1)>",
    "long " * 60,
    ' id="figure" #030303 #p1',
]


def strange_table(target: str) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = 60
    table = {f"{name} {k}": rng.normal(size=rows) for k, name in enumerate(STRANGE)}
    table["<i>levels</i>"] = rng.choice(STRANGE[:5], rows)
    table["<u>code</u>"] = [f"<b>{k}</b>" for k in range(rows)]
    table[target] = rng.choice(STRANGE[:3], rows)
    return pd.DataFrame(table)


@pytest.fixture(scope="module")
def strange() -> Analysis:
    target = "<script>document.title = 'run'</script>"
    models = ["class frequencies", "logistic"]
    return compare(strange_table(target), target, models=models, folds=2, jobs=1)


@pytest.mark.parametrize("title", ["<script>alert(1)</script>", "$title ${sections} & '\"\n"])
def test_everything_from_the_data_is_text(strange: Analysis, title: str) -> None:
    page = Page(strange.html(title))
    require_sound(page)
    for column in [*strange.columns, strange.target.column]:
        assert " ".join(column.name.split()) in page.text
    assert " ".join(title.split()) in page.text


def test_a_failed_candidate_is_listed_with_its_reason(monkeypatch) -> None:
    from posteriori.regression import RobustRegressor

    def fail(*_: object) -> None:
        raise RuntimeError("<b>no</b> luck")

    monkeypatch.setattr(RobustRegressor, "fit", fail)
    names = ["constant", "robust linear"]
    result = compare(mixed_table()[["x", "y"]], "y", models=names, folds=2, jobs=1)
    page = Page(result.html())
    require_sound(page)
    assert "straight lines (robust): RuntimeError: <b>no</b> luck" in page.text
    assert "“constant” is the only model that was fitted" in page.text


# -- in a browser --------------------------------------------------------------------------------


@pytest.mark.slow
def test_strange_names_do_not_widen_pages_or_run(strange: Analysis, tmp_path: Path) -> None:
    page = strange.html("w" * 300)
    seen = measure(page, tmp_path, 360)
    assert seen["width"] == [360, 360]
    assert seen["overlaps"] == seen["outside"] == seen["faint"] == []
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    dom = browse(tmp_path / "page.html", tmp_path / "profile", "--dump-dom")
    assert "<title>run</title>" not in dom


@pytest.mark.slow
@pytest.mark.parametrize("size", ["1100,1400", "500,900"])
def test_screenshots_show_the_page(page: tuple[Analysis, str], size: str, tmp_path: Path) -> None:
    image = pytest.importorskip("matplotlib.image")
    (tmp_path / "page.html").write_text(page[1], encoding="utf-8")
    shot = tmp_path / "page.png"
    options = (f"--window-size={size}", f"--screenshot={shot}")
    browse(tmp_path / "page.html", tmp_path / "profile", *options)
    pixels = image.imread(shot)[..., :3]
    width, height = map(int, size.split(","))
    assert pixels.shape[:2] == (height, width)
    dark = (pixels.mean(axis=-1) < 0.5).mean(axis=1)  # share of ink in every line of pixels
    assert (dark > 0).mean() > 0.3
    assert dark.max() < 1.0


@pytest.mark.slow
def test_what_is_folded_is_printed(tmp_path: Path) -> None:
    rows = [(str(k), "a number") for k in range(400)]
    written = tmp_path / "page.html"
    text = fill_page(
        "t", "l", [], [Section("s", [Section("All", [Grid(("row", "is"), rows)])])], "f"
    )
    written.write_text(text, encoding="utf-8")
    printed = tmp_path / "page.pdf"
    browse(written, tmp_path / "profile", f"--print-to-pdf={printed}")
    pages = re.findall(rb"/Type\s*/Page\b", printed.read_bytes())
    assert len(pages) >= 5  # no more than 80 lines of the table stand on one
