"""The command forecast: what it prints and writes, and what it refuses."""

from pathlib import Path

import pandas as pd
import pytest
from click.testing import Result
from tests.analysis.forecasts.dated_tables import yearly
from typer.testing import CliRunner

from posteriori.cli import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def years(tmp_path: Path) -> Path:
    yearly().to_csv(tmp_path / "years.csv", index=False)
    return tmp_path / "years.csv"


ASKED = ("--time", "year", "--value", "flow", "--models", "walk,level", "--origins", 2)


def test_months_as_numbers_give_the_forecast_of_months_as_dates(tmp_path: Path) -> None:
    months = pd.period_range("1949-01", periods=36, freq="M")
    written = []
    for form in ("%Y%m", "%Y-%m"):
        table = pd.DataFrame({"year": months.strftime(form), "flow": range(36)})
        table.to_csv(tmp_path / "t.csv", index=False)
        done = run("forecast", tmp_path / "t.csv", *ASKED, "--out", tmp_path / "out.csv")
        assert done.exit_code == 0, done.output
        said = " ".join(done.output.split())
        assert "36 months from 1949-01 to 1951-12" in said
        assert ("dates are read as months; '194901' is 1949-01" in said) == (form == "%Y%m")
        written.append((tmp_path / "out.csv").read_bytes())
    assert written[0] == written[1]
    assert b"1952-01" in written[0]


def test_a_forecast_is_printed_and_written(years: Path, tmp_path: Path) -> None:
    page, out, model = (tmp_path / name for name in ("f.html", "f.csv", "f.po"))
    done = run("forecast", years, *ASKED, "--html", page, "--out", out, "--save", model)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "40 years from 1980 to 2019" in said
    assert "forecasts go 6 years ahead, unasked" in said
    assert "is expected for 2020" in said
    assert "foresaw best" not in said
    assert "6 steps ahead written to" in said
    table = pd.read_csv(out)
    assert list(table) == ["year", "median", "lower_80", "upper_80", "lower_95", "upper_95"]
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    shown = run("show", model)
    assert "average of the models: forecasts 'flow' of 1 series" in shown.output
    assert "years up to 2019" in shown.output
    new = tmp_path / "new.csv"
    new.write_text("year,flow\n2020,9.5\n2021,\n")
    told = run("predict", model, new, "--out", tmp_path / "told.csv", "--mass", 0.8)
    assert told.exit_code == 0, told.output
    answers = pd.read_csv(tmp_path / "told.csv")
    assert answers["median"].isna().tolist() == [True, False]
    assert list(answers) == ["year", "flow", "median", "lower_80", "upper_80"]


def test_series_inputs_and_masses(tmp_path: Path) -> None:
    both = pd.concat([yearly(24).assign(shop=s, price=range(24)) for s in ("a", "b")])
    both.to_csv(tmp_path / "t.csv", index=False)
    future = pd.DataFrame({"year": [2004, 2005] * 2, "shop": list("aabb"), "price": [24, 25] * 2})
    future.to_csv(tmp_path / "f.csv", index=False)
    options = ("--by", "shop", "--inputs", "price", "--future", tmp_path / "f.csv", "--horizon", 2)
    done = run(
        "forecast", tmp_path / "t.csv", *ASKED[:6], *options, "--origins", 0, "--mass", "0.5",
        "--out", tmp_path / "o.csv",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "2 series forecast" in " ".join(done.output.split())
    table = pd.read_csv(tmp_path / "o.csv")
    assert list(table) == ["year", "shop", "median", "lower_50", "upper_50"]
    assert len(table) == 4


def test_refusals_are_told_in_a_line(years: Path, tmp_path: Path) -> None:
    for options, said in (
        (("--time", "when", "--value", "flow"), "time names 'when'"),
        (("--time", "year", "--value", "flow", "--models", "levle"), "did you mean 'level'"),
        (("--time", "year", "--value", "flow", "--mass", "2"), "mass must be probabilities"),
        (("--time", "year", "--value", "flow", "--models", ","), "--models names no model"),
        (("--time", "year", "--value", "flow", "--out", years), "is named twice"),
    ):
        done = run("forecast", years, *options)
        assert done.exit_code == 1
        assert said in " ".join(done.output.split()), done.output
        assert "Traceback" not in done.output
    assert run("forecast", tmp_path / "no.csv", *ASKED).exit_code == 1


def test_ctrl_c_ends_without_writing(
    years: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from posteriori.analysis.forecasts import forecasting

    original = forecasting.run_candidates

    def stop(*arguments: object, **options: object) -> object:
        outcomes, _ = original(*arguments, **options)  # type: ignore[arg-type]  # handed on
        return outcomes[:1], "interrupted"

    monkeypatch.setattr(forecasting, "run_candidates", stop)
    done = run("forecast", years, *ASKED, "--out", tmp_path / "f.csv")
    assert done.exit_code == 130
    assert "walk" in done.output
    assert not (tmp_path / "f.csv").exists()


def test_the_order_of_dates_is_an_option(tmp_path: Path) -> None:
    rows = [f"01/{month:02d}/2017,{month % 3}" for month in range(1, 13)]
    (tmp_path / "t.csv").write_text("t,y\n" + "\n".join(rows))
    asked = ("forecast", tmp_path / "t.csv", "--time", "t", "--value", "y", "--models", "walk")
    said = {
        option: " ".join(run(*asked, "--origins", 0, *option.split()).output.split())
        for option in ("", "--day-first", "--month-first")
    }
    assert "day first would fit as well" in said[""]
    assert "12 days from 2017-01-01 to 2017-01-12" in said[""]
    assert "12 days from 2017-01-01 to 2017-01-12" in said["--month-first"]
    assert "12 months from 2017-01 to 2017-12" in said["--day-first"]
    assert "would fit" not in said["--day-first"] + said["--month-first"]
