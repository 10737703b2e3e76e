"""The demonstration, end to end."""

import re
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from posteriori import __version__
from posteriori.cli import app
from posteriori.cli.demo import answer_task

SOME = ("constant", "linear", "splines")


def run_demo(folder: Path) -> tuple[str, str]:
    """Return what is printed, and the report."""
    html = folder / "demo.html"
    done = CliRunner().invoke(app, ["demo", "--html", str(html)])
    assert done.exit_code == 0, done.output
    return done.output, html.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return run_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module", params=["some", pytest.param("all", marks=pytest.mark.slow)])
def demo(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str]:
    """The demonstration with some models, and in slow runs with all."""
    if request.param == "all":
        return request.getfixturevalue("whole")

    def answer_some(*given: Any, **named: Any) -> None:
        console, task, frame, options, places = given
        answer_task(console, task, frame, {**options, "models": SOME}, places, **named)

    with patch("posteriori.cli.demo.answer_task", answer_some):
        return run_demo(tmp_path_factory.mktemp("some"))


def test_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).output == f"posteriori {__version__}\n"


def test_the_ranking_and_the_verdict_are_printed(demo: tuple[str, str]) -> None:
    output, _ = demo
    assert "“progression” is predicted to within" in output
    assert re.search(r"is\s+the\s+one\s+to\s+use:", output)
    assert "constant" in output


def test_the_report_is_named_and_has_the_same_verdict(demo: tuple[str, str]) -> None:
    output, page = demo
    assert "Report written to" in output
    verdict = re.search(r'<p class="verdict">(.*?)</p>', page, flags=re.DOTALL)
    assert verdict is not None
    assert " ".join(verdict[1].split())[:60] in " ".join(output.split())


def test_inputs_are_better_than_none(demo: tuple[str, str]) -> None:
    ranking = demo[0].partition("  score: ")[0]
    rows = [line for line in ranking.splitlines() if "±" in line]
    assert rows[-1].startswith(("constant", "counts (Poisson)"))
    assert not rows[0].startswith("constant")


def test_demo_into_a_missing_folder_says_so(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["demo", "--html", str(tmp_path / "none" / "a.html")])
    assert done.exit_code == 1
    assert "cannot be written: there is no folder" in done.output


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/start/table_to_verdict.md"])
def test_the_pages_show_what_is_printed(whole: tuple[str, str], page: str) -> None:
    shown = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    lines = [line.rstrip() for line in whole[0].splitlines()]
    first = next(k for k, line in enumerate(lines) if line.startswith("model "))
    last = next(k for k, line in enumerate(lines) if line.startswith("Report"))
    assert "\n".join(lines[first:last]).rstrip() in shown
