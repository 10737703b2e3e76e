"""The printed ranking: names are whole and lines fit, however large the numbers are."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from posteriori.analysis import Analysis, compare, save_model
from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME
from posteriori.cli import app
from posteriori.cli.running_tasks import print_result
from posteriori.selection.comparison import Comparison, Row


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    x = np.linspace(0.0, 1.0, 40)
    table = pd.DataFrame({"x": x, "y": 50_000.0 * (x + 0.2 * np.cos(40.0 * x))})
    names = ["constant", "linear", "linear (learned scale)"]
    return compare(table, "y", models=names, folds=2, jobs=1)


def printed(analysis: Analysis, width: int, details: bool = False) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        print_result(console, analysis, verbose=details)
    return captured.get().splitlines()


def heading(analysis: Analysis, width: int, details: bool) -> str:
    """Return the headings of the ranking for everybody, or of that for statisticians, a word each."""
    brief, *detailed = [s for s in printed(analysis, width, details) if s.startswith("model  ")]
    assert len(detailed) == details
    line = detailed[0] if details else brief
    return line.replace("held out", "held_out").replace("technical name", "technical_name")


def with_rows(analysis: Analysis, **changes: Any) -> Analysis:
    """Return the analysis with other facts about its last model."""
    *others, last = analysis.ranking.rows
    return replace(analysis, ranking=Comparison([*others, replace(last, **changes)]))


@pytest.mark.parametrize("width", [200, 80, 60, 45])
@pytest.mark.parametrize("elpd", [-52_254_876_770.4, -123_456.7, -np.inf])
def test_names_are_whole_and_lines_fit(analysis: Analysis, width: int, elpd: float) -> None:
    far = with_rows(
        analysis,
        elpd=elpd,
        elpd_se=23_206_414_404.0,
        elpd_difference=elpd,
        elpd_difference_se=23_206_414_403.0,
        log_evidence=-2.0e9,
    )
    lines = printed(far, width)
    for row in far.ranking.rows:
        name = analysis.words(row.name)
        assert any(f"{line}  ".startswith(f"{name}  ") for line in lines), name
    assert all(len(line) <= width for line in lines)
    assert not [line for line in lines if "…" in line or "e+" in line]


ORDERS = {
    False: ["weight", "R²", "miss", "RMSE", "score"],
    True: ["technical name", "seconds", "kind", "evidence", "prob.", "RMSE", "held out"],
}


@pytest.mark.parametrize("details", [False, True])
def test_columns_go_in_the_order_of_their_use(analysis: Analysis, details: bool) -> None:
    order = ORDERS[details]
    shown = [heading(analysis, width, details) for width in range(36, 140)]
    for line in shown:
        columns = [name.replace("_", " ") for name in line.split()]
        left_out = [name for name in order if name not in columns]
        assert left_out == order[: len(left_out)]
        assert {"model", "behind"} <= set(columns)
    assert shown[0].split() == ["model", "behind"]
    assert len(shown[-1].split()) == len(order) + 2


def test_narrow_windows_say_what_they_do_not_show(analysis: Analysis) -> None:
    assert "a wider window also shows" not in " ".join(printed(analysis, 100))
    for details, hidden in ((False, "R², weight"), (True, "evidence, prob.")):
        narrow = " ".join(line.strip() for line in printed(analysis, 66, details))
        assert f"a wider window also shows: {hidden}" in narrow


def test_errors_of_large_targets_are_written_in_full(analysis: Analysis) -> None:
    rmse = analysis.metrics["constant"]["RMSE"]
    assert 10_000 < rmse < 99_999
    text = f"{round(rmse, -1):,.0f}"
    assert any(line.startswith("constant") and text in line for line in printed(analysis, 90))


@pytest.mark.parametrize(
    ("failure", "word"),
    [(OUT_OF_TIME, "not reached"), (INTERRUPTED, "interrupted"), ("ValueError: bad", "failed")],
)
def test_what_has_no_result_is_named_by_the_reason(
    analysis: Analysis, failure: str, word: str
) -> None:
    *others, last = analysis.ranking.rows
    lost = replace(analysis, ranking=Comparison([*others, Row(last.name, failure=failure)]))
    name = analysis.words(last.name)
    line = next(line for line in printed(lost, 100) if line.startswith(name))
    assert line.split("  ")[0] == name
    assert line.removeprefix(name).strip() == word


def test_the_same_reason_is_said_once(analysis: Analysis) -> None:
    outcomes = {
        name: o._replace(failure="" if name == "linear" else OUT_OF_TIME)
        for name, o in analysis.outcomes.items()
    }
    lines = [line for line in printed(replace(analysis, outcomes=outcomes), 120) if ": " in line]
    others = ", ".join(analysis.words(name) for name in outcomes if name != "linear")
    assert [line for line in lines if OUT_OF_TIME in line] == [f"  {others}: {OUT_OF_TIME}"]


def test_show_prints_a_true_minus(analysis: Analysis, tmp_path: Path) -> None:
    save_model(analysis.table_model(analysis.best_single), tmp_path / "m.po")
    output = CliRunner().invoke(app, ["show", str(tmp_path / "m.po")]).output
    assert "log evidence: −" in output
    assert "log evidence: -" not in output
