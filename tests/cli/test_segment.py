"""The command segment: what it prints and writes, and what it refuses."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from tests.analysis.segments.conftest import few_draws as few_draws
from tests.analysis.segments.segment_tables import mixed, regimes
from typer.testing import CliRunner

from posteriori.analysis.segments import state_search
from posteriori.cli import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def days(tmp_path: Path) -> Path:
    regimes()[0].to_csv(tmp_path / "days.csv", index=False)
    return tmp_path / "days.csv"


def test_states_are_printed_and_written(days: Path, tmp_path: Path) -> None:
    page, labelled, model = (tmp_path / name for name in ("g.html", "l.csv", "m.po"))
    options = ("--states", "1-2", "--html", page, "--out", labelled, "--save", model)
    done = run("segment", days, *options)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "The series has 2 states: state 1 (" in said
    assert "rows are ordered by 'day', the only column of dates" in said
    assert "followed by" in said
    table, state = pd.read_csv(labelled), regimes()[1]
    assert list(table) == ["day", "load", "heat", "state", "state_probability"]
    assert (table["state"] == 2 - state).mean() > 0.97
    assert table["state_probability"].between(0.5, 1.0).all()
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    again = run("predict", model, days, "--out", tmp_path / "again.csv")
    assert "240 predictions of states written to" in " ".join(again.output.split())
    assert (tmp_path / "again.csv").read_bytes() == labelled.read_bytes()
    shown = run("show", model)
    assert "tells 2 states of series" in shown.output
    assert "rows are ordered by 'day'" in shown.output


def test_series_and_broken_columns(tmp_path: Path) -> None:
    mixed()[0].to_csv(tmp_path / "t.csv", index=False)
    options = ("--by", "machine", "--columns", "load,mode", "--states", 2)
    done = run("segment", tmp_path / "t.csv", *options, "--out", tmp_path / "l.csv")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "'never': every entry is missing: left out" in said
    assert "As asked, the 240 rows of 2 series are divided among 2 states: " in said
    table = pd.read_csv(tmp_path / "l.csv")
    means = table.groupby("state")["load"].mean()
    assert np.all(np.diff(means) > 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--states", "one"), "--states takes a number or a range such as 1-8, got 'one'"),
        (("--states", "3-2"), "states must be a number >= 1 or a range"),
        (("--states", 500), "240 rows cannot show 500 states"),
        (("--columns", "nothing"), "columns names 'nothing', which is no column of the table"),
        (("--time", "nothing"), "time names 'nothing', which is no column of the table"),
        (("--by", "nothing"), "by names 'nothing', which is no column of the table"),
        (("--max-rows", 4), "4 rows with an entry; at least 5 are needed"),
        (("--out", "no/such/folder/l.csv"), "cannot be written"),
    ],
)
def test_refusals_are_one_line(days: Path, options: tuple[object, ...], message: str) -> None:
    done = run("segment", days, *options)
    assert done.exit_code == 1
    assert message in " ".join(done.stderr.split())
    assert "defect" not in done.stderr


def test_labels_are_not_appended_twice(tmp_path: Path) -> None:
    regimes()[0].assign(state="a").to_csv(tmp_path / "t.csv", index=False)
    done = run("segment", tmp_path / "t.csv", "--out", tmp_path / "l.csv")
    assert done.exit_code == 1
    assert "the table has a column 'state' already" in " ".join(done.stderr.split())
    assert not (tmp_path / "l.csv").exists()


def test_nothing_is_written_after_an_interrupt(
    days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(state_search, "_fit", interrupt)
    written = [tmp_path / name for name in ("g.html", "l.csv", "m.po")]
    places = zip(("--html", "--out", "--save"), written, strict=True)
    done = run("segment", days, *(part for pair in places for part in pair))
    assert done.exit_code == 130
    assert done.stderr.endswith("posteriori: stopped by Ctrl-C: nothing was written\n")
    assert not any(path.exists() for path in written)


def test_the_order_of_dates_is_told_and_an_option(tmp_path: Path) -> None:
    dates = pd.date_range("2017-01-01", periods=40, freq="MS")
    firsts = pd.DataFrame({"t": dates.strftime("%d/%m/%Y"), "y": np.arange(40) % 7 + 0.5})
    firsts.to_csv(tmp_path / "t.csv", index=False)
    said = " ".join(run("segment", tmp_path / "t.csv", "--states", 1).output.split())
    assert "'t': dates are read day first; steps are equal in that order" in said
    assert "gap" not in said
    asked = run("segment", tmp_path / "t.csv", "--states", 1, "--month-first")
    assert "3 long gaps" in " ".join(asked.output.split())
