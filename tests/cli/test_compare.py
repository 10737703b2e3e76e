"""The commands compare, predict and show, on clean and on broken files."""

import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from tests.analysis.tables import INPUTS, mixed_table
from typer.testing import CliRunner

from posteriori.cli import app

FEW = ("--models", "constant,linear", "--jobs", "1")


def run(*arguments: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)


def require_refusal(done: Result, message: str) -> None:
    """Exit code 1 and one line in plain words."""
    output = " ".join(done.output.split())
    assert done.exit_code == 1, output
    assert message in output
    assert "posteriori: " in output
    assert "Traceback" not in output
    assert isinstance(done.exception, SystemExit)


@pytest.fixture(scope="module")
def written(table: Path) -> tuple[str, Path, Path]:
    """Return what a whole run prints, its report and its model."""
    html, model = table.with_name("report.html"), table.with_name("model.po")
    drop = "count,positive,two,five"
    done = run(
        "compare", table, "--target", "y", "--drop", drop, *FEW, "--html", html, "--save", model
    )
    assert done.exit_code == 0, done.output
    return done.output, html, model


def small(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


ROWS = "".join(f"{k % 7},{k * 37 % 11}\n" for k in range(20))


# -- compare -------------------------------------------------------------------------------------


def test_compare_prints_what_it_guessed_and_the_verdict(written: tuple[str, Path, Path]) -> None:
    output = " ".join(written[0].split())
    assert "80 rows, 9 columns" in output
    assert "read as text in utf-8, columns separated by commas" in output
    assert "'when': dates, year first: used as decimal years" in output
    assert "regression: 'y' is a number" in output
    assert "“straight lines” is the one to use" in output  # it has all of the average
    assert re.search(r"“[\w ()]+” saved to", output)
    assert "Report written to" in output


def test_compare_writes_whole_files(written: tuple[str, Path, Path]) -> None:
    _, html, model = written
    assert html.read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert model.read_bytes().startswith(b"posteriori model 4\n")
    names = {path.name for path in html.parent.iterdir()}
    assert names == {"table.csv", "report.html", "model.po"}


def test_the_same_seed_gives_the_same_ranking(table: Path) -> None:
    def ranking(seed: int) -> list[str]:
        done = run("compare", table, "--target", "y", "--drop", "when", *FEW, "--seed", seed)
        assert done.exit_code == 0, done.output
        return [line[:40] for line in done.output.splitlines() if " ± " in line][:2]

    assert ranking(1) == ranking(1)
    assert ranking(1) != ranking(2)


def test_standard_input(table: Path) -> None:
    done = run("compare", "-", "--target", "y", *FEW, stdin=table.read_bytes())
    assert done.exit_code == 0, done.output
    assert "80 rows" in done.output


def test_max_rows(table: Path) -> None:
    done = run("compare", table, "--target", "y", *FEW, "--max-rows", 30)
    assert done.exit_code == 0, done.output
    assert "30 rows" in done.output


@pytest.mark.parametrize("task", ["regression", "classification", "density"])
def test_the_task_can_be_chosen(tmp_path: Path, task: str) -> None:
    path = small(tmp_path / "t.csv", "x,y\n" + ROWS)
    first = {
        "regression": "straight lines",
        "classification": "straight boundaries (logistic)",
        "density": "normal",
    }[task]
    done = run("compare", path, "--target", "y", "--task", task, "--models", first, "--jobs", 1)
    assert done.exit_code == 0, done.output
    assert f"“{first}” is the only model" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("x,y\n", "has a header but no rows"),
        ("x,y\n1,2\n", "nothing to predict"),
        ("x,y\n1,2\n2,3\n", "known in 2 rows only; at least 5 are needed"),
        (b"x,y\n1,2\n\0\0\0,3\n", "holds NUL bytes: it is no text file"),
        (b"x,y\n\x81\x8d\x8f,1\n", "neither UTF-8 nor Windows-1252 text; save it as UTF-8"),
        ("x,y\n1,2,3,4\n", "line 2 has 4 cells, more than the 2 of the header"),
        ("x,y\n" + ",\n" * 20, "is missing in every row; choose another column"),
        ("x,y\n" + "1,\n" * 20, "is missing in every row; choose another column"),
        ("x,y\n" + "".join(f"{k},5\n" for k in range(20)), "always 5"),
        ("x,y\n" + "".join(f"{k},a\n" for k in range(20)), "with one value there is nothing"),
        (
            "x,y\n" + "".join(f"{k % 3},name {k}\n" for k in range(20)),
            "the target 'y' has a text of its own in nearly every row",
        ),
        ("x,y\n" + "".join(f"7,{k % 5}\n" for k in range(20)), "no column is left to predict from"),
        ("y\n" + "".join(f"{k % 5}\n" for k in range(20)), "the target is alone"),
        ("x,z\n" + ROWS, "there is no column 'y'; there are 'x', 'z'"),
        (",".join(f"c{k}" for k in range(10_001)) + ",y\n", "at most 10,000 are handled"),
    ],
)  # fmt: skip
def test_broken_tables_are_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = small(tmp_path / "t.csv", content)
    saved = ("--html", tmp_path / "r.html", "--save", tmp_path / "m.po")
    require_refusal(run("compare", path, "--target", "y", *saved), message)
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_a_mostly_missing_target_is_said(tmp_path: Path) -> None:
    gaps = "".join(f"{k % 7},\n" for k in range(30))
    done = run("compare", small(tmp_path / "t.csv", "x,y\n" + ROWS + gaps), "--target", "y", *FEW)
    assert done.exit_code == 0, done.output
    assert "missing in 30 of 50 rows (most of them: check" in " ".join(done.output.split())


def test_repeated_headers_are_said(tmp_path: Path) -> None:
    rows = "".join(f"{k % 7},{k * k % 5},{k * 37 % 11}\n" for k in range(20))
    done = run("compare", small(tmp_path / "t.csv", "x,x,y\n" + rows), "--target", "y", *FEW)
    assert done.exit_code == 0, done.output
    assert "the header repeats 'x'" in done.output


def test_windows_encoding_is_said(tmp_path: Path) -> None:
    rows = "".join(f"{'Zürich' if k % 2 else 'Köln'},{k * 37 % 11}\n" for k in range(20))
    path = small(tmp_path / "t.csv", ("Ort,y\n" + rows).encode("cp1252"))
    done = run("compare", path, "--target", "y", *FEW)
    assert done.exit_code == 0, done.output
    assert "read as text in cp1252" in done.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--models", "liner"), "no regression model 'liner'; did you mean 'linear'?"),
        (("--models", "log-linear"), "'log-linear' is for positive"),
        (("--drop", "nothing"), "drop names 'nothing', which is no column"),
        (("--task", "guess"), "task must be one of auto, regression"),
        (("--html", "none/r.html"), "cannot be written: there is no folder"),
        (("--save", "none/m.po"), "cannot be written: there is no folder"),
        (("--html", "file/r.html"), "cannot be written: Not a directory"),
    ],
)
def test_wrong_options_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    small(tmp_path / "t.csv", "x,y\n" + ROWS)
    small(tmp_path / "file", "")
    require_refusal(
        run("compare", "t.csv", "--target", "y", "--task", "regression", *options), message
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "t.csv"]


def test_places_that_cannot_be_written_are_refused_before_anything_is_fitted(
    table: Path, tmp_path: Path
) -> None:
    done = run("compare", table, "--target", "y", "--html", tmp_path / "none" / "r.html")
    require_refusal(done, "cannot be written: there is no folder")
    assert "rows" not in done.output


@pytest.mark.parametrize(
    "options",
    [
        ("--time-limit", "-1"),
        ("--max-rows", "0"),
        ("--jobs", "0"),
        ("--seed", "x"),
        ("--unknown",),
    ],
)
def test_options_out_of_range_are_refused(table: Path, options: tuple[str, ...]) -> None:
    done = run("compare", table, "--target", "y", *options)
    assert done.exit_code == 2
    assert options[0] in done.output


def test_the_target_must_be_named(table: Path) -> None:
    require_refusal(run("compare", table), "name the column to predict with --target")


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    require_refusal(run("compare", tmp_path / "no.csv", "--target", "y"), "no.csv does not exist")
    require_refusal(run("compare", tmp_path, "--target", "y"), "is a folder")


def test_no_time_leaves_no_model(table: Path, tmp_path: Path) -> None:
    saved = ("--html", tmp_path / "r.html", "--save", tmp_path / "m.po")
    done = run("compare", table, "--target", "y", "--time-limit", 0, *saved)
    require_refusal(done, "no model was fitted")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over_what_is_read(table: Path, tmp_path: Path) -> None:
    before = table.read_bytes()
    for option in ("--save", "--html"):
        require_refusal(run("compare", table, "--target", "y", option, table), "is named twice")
    both = ["--save", tmp_path / "a", "--html", tmp_path / "." / "a"]
    require_refusal(run("compare", table, "--target", "y", *both), "is named twice")
    assert table.read_bytes() == before
    assert list(tmp_path.iterdir()) == []


def test_a_model_of_no_columns_is_saved_and_predicts(table: Path, tmp_path: Path) -> None:
    model, new = tmp_path / "c.po", tmp_path / "new.csv"
    done = run("compare", table, "--target", "y", "--models", "constant", "--save", model)
    assert done.exit_code == 0, done.output
    new.write_text("anything\n1\n2\n")
    lines = run("predict", model, new).output.splitlines()
    assert lines[0] == "anything,y_mean,y_low,y_high"
    assert lines[1].partition(",")[2] == lines[2].partition(",")[2]


def test_defects_are_told_in_a_line(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise TypeError("no\nsuch thing")

    monkeypatch.setattr(import_module("posteriori.analysis.comparisons.comparing"), "compare", fail)
    done = run("compare", table, "--target", "y")
    require_refusal(done, "TypeError: no such thing. This is a defect of posteriori")


def test_no_room_for_threads_is_no_defect(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", fail)
    require_refusal(run("compare", table, "--target", "y"), "out of memory: can't start new thread")


def test_libraries_that_cannot_be_loaded_are_told_in_a_line(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        sys.modules, "posteriori.cli.running_tasks", None
    )  # as where memory is short
    require_refusal(run("compare", table, "--target", "y"), "a library cannot be loaded")


# -- predict and show ----------------------------------------------------------------------------


def test_predict_appends_columns(
    written: tuple[str, Path, Path], table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    done = run("predict", written[2], table, "--out", out, "--mass", 0.5)
    assert done.exit_code == 0, done.output
    assert "80 predictions of y written to" in " ".join(done.output.split())
    result, given = pd.read_csv(out), pd.read_csv(table)
    pd.testing.assert_frame_equal(result[given.columns], given)
    assert list(result.columns[-3:]) == ["y_mean", "y_low", "y_high"]
    inside = (result["y_low"] < result["y"]) & (result["y"] < result["y_high"])
    assert 0.3 < inside.mean() < 0.7
    assert np.corrcoef(result["y_mean"], result["y"])[0, 1] > 0.7


def test_predict_prints_without_out(written: tuple[str, Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    mixed_table(3, seed=5)[INPUTS].to_csv(path, index=False)
    done = run("predict", written[2], path)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0] == ",".join([*INPUTS, "y_mean", "y_low", "y_high"])
    assert len(lines) == 4


def test_predict_reads_standard_input(written: tuple[str, Path, Path]) -> None:
    text = mixed_table(3, seed=5)[INPUTS].to_csv(index=False).encode()
    done = run("predict", written[2], "-", stdin=text)
    assert done.exit_code == 0, done.output
    assert len(done.output.splitlines()) == 4


def test_predict_refuses_other_tables(written: tuple[str, Path, Path], tmp_path: Path) -> None:
    model, new = written[2], mixed_table(3, seed=5)[INPUTS]
    lacking, wrong = tmp_path / "lacking.csv", tmp_path / "wrong.csv"
    new.drop(columns=["colour", "x"]).to_csv(lacking, index=False)
    require_refusal(run("predict", model, lacking), "the table lacks 'x', 'colour'; the model")
    new.assign(x=["many", "few", "some"]).to_csv(wrong, index=False)
    require_refusal(run("predict", model, wrong), "column 'x' should hold a number, but it holds")
    require_refusal(run("predict", model, tmp_path / "no.csv"), "no.csv does not exist")
    require_refusal(run("predict", model, lacking, "--mass", 2), "mass must lie between 0 and 1")


def test_predict_writes_whole_or_not_at_all(
    written: tuple[str, Path, Path], table: Path, tmp_path: Path
) -> None:
    done = run("predict", written[2], table, "--out", tmp_path / "none" / "out.csv")
    require_refusal(done, "cannot be written: there is no folder")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_model_is_refused(table: Path) -> None:
    require_refusal(run("predict", table, table), "table.csv is not a saved model")
    require_refusal(run("show", table), "table.csv is not a saved model")
    require_refusal(run("show", table.with_name("none.po")), "none.po does not exist")


def test_show_describes_a_model(written: tuple[str, Path, Path]) -> None:
    done = run("show", written[2])
    assert done.exit_code == 0, done.output
    output = " ".join(done.output.split())
    assert "linear: predicts y" in output
    assert "learned from 80 rows with posteriori" in output
    assert "on unseen rows: RMSE" in output
    for name in INPUTS:
        assert name in output


def test_show_prints_names_as_they_are_without_codes_for_the_terminal(tmp_path: Path) -> None:
    odd = "[red]a\x1b[2J"
    frame = pd.DataFrame({odd: np.arange(30.0) % 7, "y": np.arange(30.0)})
    data, model = tmp_path / "odd.csv", tmp_path / "odd.po"
    frame.to_csv(data, index=False)
    assert run("compare", data, "--target", "y", *FEW, "--save", model).exit_code == 0
    output = run("show", model).output
    assert "[red]a\N{REPLACEMENT CHARACTER}[2J" in output
    assert "\x1b[2J" not in output
