"""Dates of every order and of every century: what is forecast for when, and what is said about it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from posteriori import forecast
from posteriori.analysis import load_model, save_model

FAST: dict[str, Any] = {
    "time": "t",
    "value": "y",
    "models": ["walk", "level"],
    "origins": 0,
    "jobs": 1,
}
FIRSTS = [f"{day:%d/%m/%Y}" for day in pd.date_range("2017-01-01", periods=40, freq="MS")]


def table_of(times: list[Any]) -> pd.DataFrame:
    walk = np.cumsum(np.random.default_rng(0).normal(size=len(times)))
    return pd.DataFrame({"t": times, "y": walk})


def test_firsts_of_months_are_months_with_the_day_first() -> None:
    found = forecast(table_of(FIRSTS), **FAST, horizon=2)
    assert found.notes[:2] == (
        "'t': dates are read day first; steps are equal in that order",
        "40 months from 2017-01 to 2020-04",
    )
    assert found.frame["t"].astype(str).tolist() == ["2020-05-01", "2020-06-01"]


@pytest.mark.parametrize("form", ["%Y%m", "%YM%m", "%y-%m", "%b-%y", "%Y%m%d"])
def test_months_without_a_sign_are_forecast_and_saved_as_months_with_one(
    form: str, tmp_path: Path
) -> None:
    months = pd.date_range("1949-01", periods=48, freq="MS")
    whole = pd.date_range("1953-01", periods=2, freq="MS")
    plain = forecast(table_of([f"{month:%Y-%m}" for month in months]), **FAST, horizon=2)
    written = [month.strftime(form) for month in months]
    for times in (written, [int(t) for t in written] if form.startswith("%Y%m") else written):
        found = forecast(table_of(times), **FAST, horizon=2)
        assert "48 months from 1949-01 to 1952-12" in found.notes
        pd.testing.assert_frame_equal(found.frame, plain.frame)
        save_model(found.model, tmp_path / "model")
        later = {"t": [type(times[0])(month.strftime(form)) for month in whole]}
        told = load_model(tmp_path / "model").predict(later)
        np.testing.assert_allclose(told["median"], plain.frame["median"])
        cut = forecast(table_of(times), **FAST, event=times[40])
        assert "40 months from 1949-01 to 1952-04" in cut.notes


def test_a_choice_between_two_orders_is_said_and_can_be_made() -> None:
    table = table_of(FIRSTS[:12])
    found = forecast(table, **FAST, horizon=1)
    assert found.notes[0] == (
        "'t': dates are read month first; day first would fit as well: if '01/02/2017' means 2017-02-01, "
        "write the dates like that, or choose the order with day_first"
    )
    chosen = forecast(table, **FAST, horizon=1, day_first=True)
    assert chosen.notes[0] == "12 months from 2017-01 to 2017-12"


def test_other_tables_and_events_are_read_in_the_order_of_the_first() -> None:
    table = table_of(FIRSTS).assign(x=np.arange(40.0))
    future = pd.DataFrame({"t": ["01/05/2020", "01/06/2020"], "x": [40.0, 41.0]})
    found = forecast(table, **FAST, horizon=2, inputs=["x"], future=future)
    assert found.frame["t"].astype(str).tolist() == ["2020-05-01", "2020-06-01"]
    plain = forecast(table, **FAST, horizon=2)
    told = plain.model.predict({"t": ["01/06/2020"]}, mass=0.8)
    assert told["median"][0] == pytest.approx(plain.frame["median"][1])
    assert told["lower_80"][0] == pytest.approx(plain.frame["lower_80"][1])
    assert forecast(table, **FAST, event="01/02/2020").notes[1] == (
        "37 months from 2017-01 to 2020-01"
    )


@pytest.mark.parametrize(
    ("times", "next_time"),
    [
        ([f"{year}-01-01" for year in range(1500, 1540)], "1540-01-01"),
        ([np.datetime64(f"{year}-01-01", "s") for year in range(1500, 1540)], "1540-01-01"),
        ([f"31.12.{year}" for year in range(9900, 9940)], "9940-12-31"),
        ([f"1500-01-{day:02d}" for day in range(1, 32)], "1500-02-01"),
        (["1500-01-01", "1500-01-02", "1500-03-05", "1502-01-09"], "1502-03-12"),
        (["1959Q1", "1959Q2", "1959Q3", "1959Q4"], "1960-01-01"),
        (["1459Q1", "1459Q2", "1459Q3", "1459Q4"], "1460-01-01"),
    ],
)
def test_every_century_is_forecast_shown_and_saved(
    times: list[Any], next_time: str, tmp_path: Path
) -> None:
    found = forecast(table_of(times), **{**FAST, "models": ["level"]}, horizon=2)
    assert str(found.frame["t"][0])[:10] == next_time
    assert found.html().startswith("<!doctype html>")
    save_model(found.model, tmp_path / "model")
    told = load_model(tmp_path / "model").predict({"t": [str(t)[:10] for t in found.frame["t"]]})
    np.testing.assert_allclose(told["median"], found.frame["median"])


def test_a_horizon_may_pass_the_reach_of_nanoseconds_but_not_the_calendar() -> None:
    table = table_of([f"{year}-01-01" for year in range(1970, 2010)])
    far = forecast(table, **{**FAST, "models": ["walk"]}, horizon=900)
    assert str(far.frame["t"].iloc[-1])[:10] == "2909-01-01"
    with pytest.raises(ValueError, match="9000 steps from 1970-01-01 go beyond the year 9999"):
        forecast(table, **FAST, horizon=9000)
