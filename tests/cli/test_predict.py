"""The command predict says what is new in a table, on standard error, and predicts all the same."""

import os
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from posteriori.cli import app
from posteriori.cli.output import print_notes


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def table(rows: int = 40) -> pd.DataFrame:
    x = np.arange(rows) * 7 % rows
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(x + np.arange(rows) % 3, unit="D")
    plan = ["month", "year"] * (rows // 2)
    return pd.DataFrame({"x": x, "plan": plan, "when": days.astype(str)})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    table().to_csv(folder / "t.csv", index=False)
    options = ("--target", "when", "--models", "linear", "--jobs", 1)
    done = run("compare", folder / "t.csv", *options, "--save", folder / "m.po")
    assert done.exit_code == 0, done.output
    assert "regression: 'when' is a date" in done.output
    return folder / "m.po"


def test_what_is_new_goes_to_standard_error(model: Path, tmp_path: Path) -> None:
    new = table(6).assign(x=[1, 2, 3, 4, 5, 1e9], plan=["week", *["year"] * 5])
    new.to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", model, tmp_path / "new.csv")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 7
    assert done.stderr.splitlines() == [
        "note: column 'x': 1 row outside the range 0 to 39 that the model has seen: what it "
        "says of them is a guess",
        "note: column 'plan': 1 row with a level that the model has never seen, such as "
        "'week': predicted around the average of all levels, with the width of their spread",
    ]


def test_dates_come_back_as_dates(model: Path, tmp_path: Path) -> None:
    table(4).iloc[:1].to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", model, tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    assert "1 prediction of when written to" in " ".join(done.output.split())
    predicted = pd.read_csv(tmp_path / "out.csv")[["when_low", "when_mean", "when_high"]].iloc[0]
    assert predicted.str.fullmatch(r"202[01]-\d\d-\d\d").all()
    assert predicted.is_monotonic_increasing


def test_no_models_are_refused(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    for models in ("", " , "):
        done = run("compare", tmp_path / "t.csv", "--target", "x", "--models", models)
        assert done.exit_code == 1
        assert "--models names no model; leave it out to try all that suit" in done.output


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_tables_come_from_pipes(model: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    text = table(4).to_csv(index=False)
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(text))
    writer.start()
    done = run("predict", model, tmp_path / "pipe")
    writer.join()
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == 5


def test_long_notes_are_indented() -> None:
    console = Console(width=30, highlight=False)
    with console.capture() as captured:
        print_notes(console, ("short", "a note that is longer than the terminal is wide"))
    lines = captured.get().splitlines()
    assert lines[0] == "  · short"
    assert lines[1].startswith("  · a note")
    assert all(line.startswith("    ") and len(line) <= 30 for line in lines[2:])
    assert len(lines) == 3
