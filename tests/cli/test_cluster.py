"""The command cluster: what it prints and writes, and what it refuses."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from tests.analysis.groups.grouped_tables import blobs, mixed
from typer.testing import CliRunner

from posteriori.analysis.groups import group_search
from posteriori.cli import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def clouds(tmp_path: Path) -> Path:
    blobs()[0].to_csv(tmp_path / "clouds.csv", index=False)
    return tmp_path / "clouds.csv"


def test_groups_are_printed_and_written(clouds: Path, tmp_path: Path) -> None:
    page, labelled, model = (tmp_path / name for name in ("g.html", "l.csv", "m.po"))
    options = ("--max-clusters", 4, "--html", page, "--out", labelled, "--save", model)
    done = run("cluster", clouds, *options)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "These 120 rows form 3 groups: group 1 (60 rows such as row " in said
    assert "Group 1: 60 rows" in said
    assert "Group 3: 20 rows" in said
    table = pd.read_csv(labelled)
    assert list(table) == ["width", "height", "cluster", "cluster_probability", "log_density"]
    np.testing.assert_array_equal(table["cluster"], blobs()[1] + 1)
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    again = run("predict", model, clouds, "--out", tmp_path / "again.csv")
    assert "120 predictions of clusters written to" in " ".join(again.output.split())
    assert (tmp_path / "again.csv").read_bytes() == labelled.read_bytes()
    shown = run("show", model)
    assert "tells 3 clusters apart" in shown.output
    assert "learned from 120 rows" in shown.output


def test_broken_columns_are_named_and_left_out(tmp_path: Path) -> None:
    mixed()[0].to_csv(tmp_path / "t.csv", index=False)
    done = run("cluster", tmp_path / "t.csv", "--clusters", 2, "--drop", "since")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "'never': every entry is missing: left out" in said
    assert "'since': left out as asked" in said
    assert "As asked, these 160 rows are told apart as 2 groups: " in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--clusters", 121), "clusters must be from 1 to 120, the different rows; got 121"),
        (("--drop", "nothing"), "drop names 'nothing', which is no column of the table"),
        (("--drop", "width,height"), "no column is left to tell groups by"),
        (("--max-rows", 4), "4 rows with an entry; at least 5 are needed"),
        (("--out", "no/such/folder/l.csv"), "cannot be written"),
    ],
)
def test_refusals_are_one_line(clouds: Path, options: tuple[object, ...], message: str) -> None:
    done = run("cluster", clouds, *options)
    assert done.exit_code == 1
    assert message in " ".join(done.stderr.split())
    assert "defect" not in done.stderr


def test_files_are_different(clouds: Path, tmp_path: Path) -> None:
    for options in (("--out", clouds), ("--out", tmp_path / "a", "--html", tmp_path / "a")):
        done = run("cluster", clouds, *options)
        assert done.exit_code == 1
        assert "is named twice" in " ".join(done.stderr.split())


def test_labels_are_not_appended_twice(tmp_path: Path) -> None:
    blobs()[0].assign(cluster="a").to_csv(tmp_path / "t.csv", index=False)
    done = run("cluster", tmp_path / "t.csv", "--out", tmp_path / "l.csv")
    assert done.exit_code == 1
    assert "the table has a column 'cluster' already" in " ".join(done.stderr.split())
    assert not (tmp_path / "l.csv").exists()


def test_nothing_is_written_after_an_interrupt(
    clouds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(group_search, "draw_groups", interrupt)
    written = [tmp_path / name for name in ("g.html", "l.csv", "m.po")]
    places = zip(("--html", "--out", "--save"), written, strict=True)
    done = run("cluster", clouds, *(part for pair in places for part in pair))
    assert done.exit_code == 130
    assert done.stderr.endswith("posteriori: stopped by Ctrl-C: nothing was written\n")
    assert not any(path.exists() for path in written)
