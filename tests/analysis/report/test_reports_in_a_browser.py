"""Reports of all tasks as people see them, on a desk, a tablet and a phone, light and dark."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from posteriori.analysis import cluster, compare, forecast, segment
from posteriori.analysis.tasks.contract import TaskResult
from posteriori.datasets import load_air_passengers
from tests.analysis.report.browser import measure
from tests.analysis.report.keyboard import Keyboard
from tests.analysis.tables import analysis_of

pytestmark = pytest.mark.slow

#: Widths of windows in pixels.
WIDTHS = (1280, 800, 360)


def flowers() -> pd.DataFrame:
    frame = load_iris(as_frame=True).frame
    return frame.assign(target=frame["target"].map({0: "setosa", 1: "versicolor", 2: "virginica"}))


def houses() -> pd.DataFrame:
    """Return columns with long names, large numbers, years and codes."""
    rng = np.random.default_rng(1)
    year, area = rng.integers(1900, 2015, 120), rng.normal(120.0, 30.0, 120)
    return pd.DataFrame(
        {
            "year built": year,
            "area of all rooms without the cellar (square metres)": area.round(1),
            "town": rng.choice(["Oberammergau near the mountains", "Zell", "Ulm"], 120),
            "price": (2e4 * area + 9e3 * (year - 1900) + rng.normal(0.0, 2e5, 120)).round(-2),
        }
    )


def shops() -> pd.DataFrame:
    rng, months = np.random.default_rng(0), pd.date_range("2015-01-01", periods=48, freq="MS")
    season = 10.0 * np.sin(np.arange(48) / 6.0 * np.pi)
    parts = [
        pd.DataFrame(
            {"month": months, "shop": shop, "sales": 1000.0 + season + rng.normal(size=48)}
        )
        for shop in ("north", "south")
    ]
    return pd.concat(parts, ignore_index=True)


def waiting() -> TaskResult:
    """Return two states of numbers over five years of days."""
    rng = np.random.default_rng(0)
    level = np.repeat([0.0, 8.0, 0.0, 8.0], 40)
    days = pd.date_range("2019-01-01", periods=160, freq="D")
    table = pd.DataFrame({"day": days, "temperature": level + rng.normal(size=160)})
    return segment(table, time="day", states=(1, 3))


def payments() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 400))
    fraud = rng.random(400) < 1.0 / (1.0 + np.exp(3.6 - 1.7 * x))
    return pd.DataFrame(
        {"amount": x, "past": z, "fraudulent payment": np.where(fraud, "yes", "no")}
    )


REPORTS: dict[str, Callable[[], TaskResult]] = {
    "numbers": lambda: compare(
        houses(), "price", models=["constant", "linear", "log-linear", "splines"], folds=2, jobs=1
    ),
    "counts": lambda: analysis_of("count", "regression", "constant", "linear", "tree (averaged)"),
    "two classes": lambda: analysis_of("two", "classification", "class frequencies", "logistic"),
    "three classes": lambda: compare(
        flowers(), "target", models=["class frequencies", "logistic"], folds=2, jobs=1
    ),
    "a rare class": lambda: compare(
        payments(), "fraudulent payment", models=["class frequencies", "logistic"], jobs=1
    ),
    "costs": lambda: compare(
        payments(),
        "fraudulent payment",
        models=["class frequencies", "logistic"],
        jobs=1,
        costs={"yes:no": 10},
    ),
    "density": lambda: analysis_of("count", "density"),
    "groups": lambda: cluster(flowers().drop(columns="target")),
    "segments": waiting,
    "one series": lambda: forecast(
        load_air_passengers().frame,
        time="time",
        value="passengers",
        models=["walk", "log level + season"],
        jobs=1,
    ),
    "several series": lambda: forecast(
        shops(), time="month", value="sales", by="shop", models=["walk", "constant"], jobs=1
    ),
}


@pytest.fixture(scope="module", params=REPORTS)
def report(request: pytest.FixtureRequest) -> str:
    return REPORTS[request.param]().html("a table")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_can_be_read(report: str, width: int, tmp_path: Path) -> None:
    dark = width == 800
    seen = measure(report, tmp_path, width, dark=dark)
    assert seen["texts"] > 50
    assert seen["dark"] == dark
    assert seen["width"] == [width, width]  # nothing is wider than the window
    assert seen["overlaps"] == []
    assert seen["outside"] == []
    assert seen["faint"] == []
    assert seen["sizes"] == ["12px"]
    assert seen["unreached"] == []
    assert seen["unmarked"] == []
    for drawn, room, stretched in seen["charts"]:
        assert drawn == room or not stretched or drawn <= 340


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_wrong_is_found(width: int, tmp_path: Path) -> None:
    page = """<body style="margin:0;background:#fff;color:#000"><p style="color:#888">faint</p>
    <p style="color:#bbb" aria-hidden="true">an ornament</p><a href="#x" style="outline:none">unmarked</a>
    <div style="width:1400px">wide</div>
    <figure><svg role="img" style="width:300px;height:60px"><text x="10" y="20">one text</text>
    <text x="30" y="24">another</text><text x="10" y="50">apart</text><text x="290" y="50" font-size="9">beyond</text>
    <rect x="100" width="80" height="60" fill="#222"/><text x="110" y="50">on a bar</text></svg></figure>"""
    seen = measure(page, tmp_path, width)
    assert seen["width"] == [width, 1400]
    assert seen["overlaps"] == [["one text", "another"]]
    assert seen["outside"] == ["beyond"]
    assert [words for words, *_ in seen["faint"]] == ["faint", "on a bar"]
    assert seen["unmarked"] == ["unmarked"]
    assert len(seen["sizes"]) == 2


# -- keys ----------------------------------------------------------------------------------------

#: What the keyboard should reach, in the order of the page: links, and what unfolds, unless it is folded away.
REACHABLE = """[...document.querySelectorAll("a[href], summary")].filter(e => {
  const folded = e.parentElement.closest("details:not([open])");
  return e.getClientRects().length && (e.localName === "summary" ? e.parentElement.parentElement.closest("details:not([open])") === null : folded === null);
})"""

#: Where the focus is: its place among these (−1 for what scrolls, −2 for nothing), whether it has a ring, and is seen.
FOCUS = f"""(() => {{
  const e = document.activeElement, style = getComputedStyle(e), r = e.getBoundingClientRect();
  const scrolls = e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight;
  return {{place: e === document.body ? -2 : {REACHABLE}.indexOf(e), scrolls: scrolls,
    ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    seen: r.bottom > 0 && r.top < innerHeight}};
}})()"""


@pytest.mark.parametrize("width", [1280, 500])
def test_keys_reach_all_that_can_be_used_in_its_order(
    report: str, width: int, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    page.write_text(report, encoding="utf-8")
    with Keyboard(page, tmp_path / "keys", width) as keyboard:
        count = keyboard.ask(f"{REACHABLE}.length")
        assert count > 5
        reached: list[int] = []
        for _ in range(3 * count + 60):
            keyboard.press("Tab")
            focus = keyboard.ask(FOCUS)
            if focus["place"] == -2:  # past the last one
                break
            assert focus["place"] >= 0 or focus["scrolls"]
            assert focus["seen"]
            if focus["place"] >= 0:
                assert focus["ring"]
                reached.append(focus["place"])
        assert reached == list(range(count))


def test_enter_unfolds_and_follows(report: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(report, encoding="utf-8")
    with Keyboard(page, tmp_path / "keys") as keyboard:

        def go_to(name: str) -> None:
            for _ in range(80):
                keyboard.press("Tab")
                if keyboard.ask("document.activeElement.localName") == name:
                    return
            raise AssertionError(f"no key leads to {name}")

        go_to("summary")
        opened = "document.activeElement.parentElement.open"
        assert keyboard.ask(opened) is False
        keyboard.press("Enter")
        assert keyboard.ask(opened) is True
        keyboard.press("Enter")
        assert keyboard.ask(opened) is False
        go_to("a")
        first = keyboard.ask("document.activeElement.getAttribute('href')")
        keyboard.press("Tab")
        second = keyboard.ask("document.activeElement.getAttribute('href')")
        assert first.startswith("#")
        assert second != first
        keyboard.press("Shift+Tab")
        assert keyboard.ask("document.activeElement.getAttribute('href')") == first
        keyboard.press("Tab")
        keyboard.press("Enter")
        assert keyboard.ask("location.hash") == second
        top = keyboard.ask("document.querySelector(location.hash).getBoundingClientRect().top")
        assert -5 <= top < 900
        # the next key goes on behind the heading that was followed to, if there is anything to use
        behind = f"{REACHABLE}.find(e => document.querySelector(location.hash).compareDocumentPosition(e) & 4)"
        keyboard.ask(f"window.behind = {behind}; null")
        keyboard.press("Tab")
        scrolls = "document.activeElement.closest('a, summary') === null"
        if keyboard.ask("window.behind !== undefined") and not keyboard.ask(scrolls):
            assert keyboard.ask("document.activeElement === window.behind")
