"""The ranking while models are fitted: live in terminals, on standard error elsewhere."""

import io
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from rich.console import Console
from rich.live import Live
from typer.testing import CliRunner

from posteriori.analysis.fitting.running import Outcome
from posteriori.cli import app
from posteriori.cli.under_way import table_so_far, told_outcomes, verdict_so_far
from posteriori.selection.candidates import candidates_for
from posteriori.selection.cross_validation import Unseen

NAMES = ["constant", "linear", "splines", "quadratic"]
CANDIDATES = {c.name: c for c in candidates_for("regression", NAMES)}


def outcome(name: str, level: float, rows: int = 40, *, ends_quick: bool = False) -> Outcome:
    wiggle = np.random.default_rng(len(name)).normal(size=rows)
    said = Unseen(level + 0.1 * wiggle, np.zeros(rows), np.zeros(rows))
    return Outcome(CANDIDATES[name], unseen=said, seconds=0.5, ends_quick=ends_quick)


def failed(name: str) -> Outcome:
    return Outcome(CANDIDATES[name], failure="ValueError: no")


FIRST = [outcome("constant", -3.0), outcome("linear", -1.0, ends_quick=True)]


def shown_live(outcomes: list[Outcome], height: int = 40) -> tuple[str, str]:
    """Return all that was written to a terminal, and what stands there last while it is live."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system=None, width=80, height=height)
    with (
        patch.object(Live, "start", autospec=True, side_effect=Live.start) as start,
        told_outcomes(console) as hear,
    ):
        for one in outcomes:
            hear(one, 4, 7.0)
        with console.capture() as captured:
            console.print(start.call_args.args[0].get_renderable())
    return file.getvalue(), captured.get()


def test_terminals_show_the_best_first_and_how_long_it_takes() -> None:
    _, live = shown_live([*FIRST, outcome("splines", -0.5), failed("quadratic")])
    rows = [line.split("  ") for line in live.splitlines()]
    order = ["smooth curves", "straight lines", "constant", "curves and products"]
    assert [row[0].strip() for row in rows if row[0].strip() in order] == order
    assert "failed" in next(line for line in live.splitlines() if line.startswith("curves and"))
    assert "about 7 s left" in live
    assert "4/4" in live


def test_the_first_verdict_follows_the_quick_models() -> None:
    assert "So far" not in shown_live(FIRST[:1])[1]
    _, live = shown_live(FIRST)
    said = " ".join(live.split())
    assert "So far, 2 of 4 models (preliminary): “straight lines” is ahead: it does clearly" in said
    _, live = shown_live([*FIRST, outcome("splines", -0.5)])
    assert "So far, 3 of 4 models (preliminary): “smooth curves” is ahead" in " ".join(live.split())


@pytest.mark.parametrize("height", [8, 13, 40])
def test_low_windows_show_the_best(height: int) -> None:
    many = [*FIRST, outcome("splines", -0.5), outcome("quadratic", -0.7)]
    _, live = shown_live(many, height=height)
    assert "smooth curves" in live
    assert ("… and" in live) is (height < 15)
    assert len(live.splitlines()) <= max(height, 10)


def test_nothing_stays_of_the_live_ranking() -> None:
    text, _ = shown_live(FIRST)
    assert text.endswith("\x1b[?25h") or text.rstrip().endswith("\x1b[2K")


def test_outcomes_of_a_sample_give_way_to_those_of_all_rows() -> None:
    _, live = shown_live([*FIRST, outcome("linear", -1.2, rows=90)])
    assert "constant" not in live
    assert "1/4" in live


def test_ties_and_failures_have_rows_and_words() -> None:
    header, rows = table_so_far([failed("linear")])
    assert header == ("model", "score", "behind", "seconds")
    assert rows == [("straight lines", "failed", "", "0")]
    assert verdict_so_far([failed("linear")], 2).endswith("none could be fitted.")


def test_scores_have_the_digits_that_differ() -> None:
    scores = {"constant": -0.0955, "linear": -0.0921, "splines": -0.0923}
    done = [
        outcome(name, 0.0)._replace(unseen=Unseen(np.full(9, x), np.zeros(9), np.zeros(9)))
        for name, x in scores.items()
    ]
    assert [row[1] for row in table_so_far(done)[1]] == ["−0.0921", "−0.0923", "−0.0955"]


def test_pipes_have_lines_on_standard_error(table: Path) -> None:
    options = ["--target", "y", "--drop", "when", "--models", "splines,linear,constant"]
    done = CliRunner().invoke(app, ["compare", str(table), *options, "--jobs", "1"])
    assert done.exit_code == 0, done.output
    first, second, verdict, third = done.stderr.splitlines()
    assert first.startswith("  1 of 3  constant: score ")
    assert second.startswith("  2 of 3  straight lines: score ")
    assert verdict.startswith("  So far, 2 of 3 models (preliminary): “")
    assert third.startswith("  3 of 3  smooth curves: score ")
    assert "So far" not in done.stdout
    assert " of 3 " not in done.stdout
