"""Seasons of dates: which there are, and where dates lie in them, beside the calendar."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from posteriori import compare
from posteriori.analysis.fitting.date_seasons import (
    find_seasons,
    season_names,
    season_numbers,
    season_waves,
    wave_names,
)
from posteriori.analysis.fitting.preparation import CodeColumns, NumberColumns
from posteriori.analysis.saved.model_files import load_model, save_model
from posteriori.analysis.table.values import years_of

ALL = {"t": ("day of year", "day of week", "hour")}


def frame(times) -> pd.DataFrame:
    return pd.DataFrame({"t": years_of(pd.Series(times))})


@pytest.mark.parametrize(
    ("freq", "periods", "found"),
    [
        ("D", 800, ("day of year", "day of week")),
        ("D", 300, ("day of week",)),  # less than a year and a half: the season is the time
        ("B", 800, ("day of year", "day of week")),
        ("7D", 200, ("day of year",)),
        ("MS", 60, ("day of year",)),
        ("ME", 60, ("day of year",)),
        ("QS", 40, ("day of year",)),
        ("YS", 40, ()),
        ("YE", 40, ()),
        ("h", 24 * 30, ("day of week", "hour")),
        ("12h", 60, ("day of week",)),
        ("h", 12, ()),
    ],
)
def test_which_seasons_dates_have(freq, periods, found):
    X = frame(pd.date_range("1999-01-03", periods=periods, freq=freq))
    assert find_seasons(X, {"t": "date"}) == ({"t": found} if found else {})
    assert find_seasons(X, {"t": "number"}) == {}


def test_places_are_those_of_the_calendar():
    times = pd.to_datetime(
        ["1969-12-31 23:59:59", "1970-01-01", "2000-02-29 06:30", "2023-12-31 12:00", None],
        format="mixed",
    ).to_series()
    day, week, hour = season_numbers(ALL, frame(times))
    known = times[:4]
    clock = known.dt.hour + known.dt.minute / 60 + known.dt.second / 3600
    np.testing.assert_allclose(day[:4], known.dt.day_of_year - 1 + clock / 24, atol=1e-9)
    np.testing.assert_array_equal(week[:4], known.dt.day_of_week)
    np.testing.assert_allclose(hour[:4], clock, atol=1e-9)
    assert np.isnan([day[4], week[4], hour[4]]).all()
    assert season_names(ALL) == ["t (day of year)", "t (day of week)", "t (hour)"]


def test_waves_come_round_and_tell_each_day_of_the_week_apart():
    X = frame(pd.date_range("2024-01-01", periods=14, freq="D"))
    waves = np.column_stack(season_waves({"t": ("day of week",)}, X, most=3))
    np.testing.assert_allclose(waves[:7], waves[7:], atol=1e-12)
    # seven days, a constant and six waves: orthogonal, of mean square one
    np.testing.assert_allclose(waves[:7].T @ waves[:7], 7.0 * np.eye(6), atol=1e-12)
    np.testing.assert_allclose(waves[:7].sum(axis=0), 0.0, atol=1e-12)
    assert len(wave_names({"t": ("day of week",)}, 3)) == 6
    missing = np.column_stack(season_waves(ALL, pd.DataFrame({"t": [np.nan]}), most=1))
    np.testing.assert_array_equal(missing, np.zeros((1, 6)))


def test_encoders_name_what_they_return():
    X = frame(pd.date_range("2020-01-01", periods=900, freq="D"))
    X["c"] = pd.Categorical(["a", "b", "c"] * 300)
    kinds = {"t": "date", "c": "category"}
    seasons = find_seasons(X, kinds)
    codes = CodeColumns(kinds, seasons=seasons).fit(X)
    assert list(codes.get_feature_names_out()) == ["t", "c", "t (day of year)", "t (day of week)"]
    assert codes.asked_columns == ["number", "categorical", "number", "number"]
    assert codes.columns == ["normal", "categorical", "normal", "normal"]
    assert codes.transform(X).shape == (900, 4)
    grouped = NumberColumns(kinds, grouped=True, seasons=seasons).fit(X)
    assert grouped.transform(X).shape[1] == len(grouped.get_feature_names_out()) == 1 + 4 + 6 + 1
    assert grouped.group_names() == ["c"]
    plain = NumberColumns(kinds, seasons=seasons, most_waves=1).fit(X)
    assert plain.transform(X).shape[1] == len(plain.get_feature_names_out()) == 1 + 2 + 2 + 2


def test_a_season_is_found_by_lines_and_by_trees_and_saved(tmp_path):
    rng = np.random.default_rng(0)
    times = pd.date_range("2015-01-01", periods=420, freq="3D")
    season = 5.0 * np.cos(2 * np.pi * (times.day_of_year - 20) / 365.25)
    table = pd.DataFrame({"when": times.astype(str), "y": season + rng.normal(size=420)})
    table = table.sample(frac=1.0, random_state=1).reset_index(drop=True)
    asked = ["constant", "linear", "tree (averaged)"]
    found = compare(table[:300], "y", models=asked)
    assert found.metrics["linear"]["RMSE"] < 1.2
    assert found.metrics["tree (averaged)"]["RMSE"] < 2.0
    path = tmp_path / "dated.po"
    save_model(found.model, path)
    again = load_model(path)
    said = again.predict(table[300:])
    pd.testing.assert_frame_equal(said, found.model.predict(table[300:]))
    assert np.sqrt(np.mean((said["y_mean"] - table["y"][300:]) ** 2)) < 1.2
