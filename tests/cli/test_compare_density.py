"""The command compare without a target: what it prints and writes, and what it refuses."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from tests.analysis.densities.described_tables import customers, people
from typer.testing import CliRunner

from posteriori.cli import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    frame = people(60)
    frame.loc[::9, "weight"] = np.nan
    frame.loc[17, "height"] = 178.0
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def test_a_density_is_printed_saved_and_asked(table: Path, tmp_path: Path) -> None:
    page, model, out = (tmp_path / name for name in ("d.html", "m.po", "told.csv"))
    models = ("--models", "independent columns,normal,Student t")
    done = run("compare", table, "--task", "density", *models, "--html", page, "--save", model)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "model score behind weight" in said
    assert "odd, row 18 (height 178, expected 1." in said
    assert "7 gaps in weight were filled in." in said
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    again = run("predict", model, table, "--out", out)
    assert "60 predictions of the log density written to" in " ".join(again.output.split())
    told, frame = pd.read_csv(out), pd.read_csv(table)
    assert list(told) == [*frame.columns, "log_density", "weight_filled", "weight_sd"]
    missing = frame["weight"].isna()
    assert (told["weight_filled"][~missing] == frame["weight"][~missing]).all()
    assert (told["weight_sd"] > 0).equals(missing)
    assert told["log_density"].idxmin() == 17
    shown = run("show", model)
    assert "describes 3 columns together" in shown.output
    each = shown.output.partition("log density of an unseen row: ")[2].split()[0]
    own = told["log_density"].mean()  # of rows that were seen: a little more
    assert float(each.replace("−", "-")) == pytest.approx(own, abs=3.0)
    assert "learned from 60 rows" in shown.output


def test_details_tell_evidences(table: Path) -> None:
    options = ("--models", "independent columns,normal", "--verbose")
    done = run("compare", table, "--task", "density", *options)
    assert done.exit_code == 0, done.output
    assert "evidence" in done.output
    assert "seconds" in done.output


def test_all_kinds_of_columns_are_described(tmp_path: Path) -> None:
    customers(60).to_csv(tmp_path / "t.csv", index=False)
    done = run("compare", tmp_path / "t.csv", "--task", "density", "--save", tmp_path / "m.po")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "'never': every entry is missing: left out" in said
    told = run("predict", tmp_path / "m.po", tmp_path / "t.csv")
    assert "plan_filled,plan_sd,paid_filled,paid_sd" in told.output.splitlines()[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "name the column to predict with --target"),
        (("--task", "regression"), "or describe all columns together with --task density"),
        (("--task", "density", "--loss", "log"), "the loss 'log' is for a target"),
        (("--task", "density", "--drop", "height,weight,luck"), "no column is left to describe"),
        (("--task", "density", "--models", "kernel density"), "is for numbers without gaps"),
        (("--task", "density", "--max-rows", 4), "4 rows with an entry; at least 5 are needed"),
        (("--task", "density", "--time-limit", 0), "no model was fitted"),
    ],
)
def test_refusals_are_one_line(table: Path, options: tuple[object, ...], message: str) -> None:
    done = run("compare", table, *options)
    assert done.exit_code == 1
    assert message in " ".join(done.stderr.split())
    assert "defect" not in done.stderr
