"""New tables: what they hold that a model has not seen is told, and dates come back as dates."""

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import compare, load_model, save_model

RNG = np.random.default_rng(0)
N = 60
TABLE = pd.DataFrame(
    {
        "x": 72.0 * np.linspace(0.0, 1.0, N) ** 2,
        "day": pd.date_range("2020-01-01", periods=N).astype(str),
        "plan": ["month", "month", "year"] * (N // 3),
        "city": [*(["Rome", "Oslo"] * (N // 2))[:-1], "Bern"],
        "y": RNG.normal(size=N),
        "two": ["a", "b"] * (N // 2),
    }
)


def model(target="y", name="linear", table=TABLE):
    inputs = table[["x", "day", "plan", "city", target]]
    return compare(inputs, target, models=[name], jobs=1).table_model(name)


@pytest.fixture(scope="module")
def linear():
    return model()


def notes(model, **changes):
    new = TABLE.iloc[[3, 7, 11]].assign(**changes)
    assert len(model.predict(new)) == 3  # the prediction is made all the same
    return model.notes_on(new)


def test_rows_like_those_that_were_seen_need_no_note(linear):
    assert notes(linear) == []
    assert notes(linear, x=["72.5", "N/A", None], plan=[None, "year", "year"]) == []


def test_new_levels_are_told_with_what_stands_for_them(linear):
    (plan,) = notes(linear, plan=["5 years", "year", "week"])
    assert plan == (
        "column 'plan': 2 rows with a level that the model has never seen, such as '5 years': "
        "predicted around the average of all levels, with the width of their spread"
    )
    (city,) = notes(linear, city=["Rome", "Oslo", "Nice"])
    assert "such as 'Nice': predicted around the average" in city
    assert notes(linear, city=["Rome", "Oslo", "Bern"]) == []  # rare, but not new
    (coded,) = notes(model("two", "naive Bayes"), plan=["week", "year", "year"])
    assert coded.endswith("1 row with a level that the model has never seen, such as 'week': "
                          "taken as '(other)', as rare ones are")  # fmt: skip


def test_what_is_told_is_what_is_done(linear):
    new = TABLE.iloc[[3]]
    never, month, year = (
        linear.predict(new.assign(plan=[plan])).iloc[0] for plan in ("never", "month", "year")
    )
    assert min(month["y_mean"], year["y_mean"]) <= never["y_mean"]
    assert never["y_mean"] <= max(month["y_mean"], year["y_mean"])
    width = never["y_high"] - never["y_low"]
    assert width >= max(a["y_high"] - a["y_low"] for a in (month, year)) - 1e-9


def test_numbers_and_dates_out_of_range_are_told(linear):
    (number,) = notes(linear, x=[1e9, -30.0, 40.0])
    assert number == (
        "column 'x': 2 rows outside the range 0 to 72 that the model has seen: what it says of them "
        "is a guess"
    )
    (date,) = notes(linear, day=["2020-02-01", "2020-03-01", "2031-01-01"])
    assert date.startswith("column 'day': 1 row outside the range 2020-01-01 to 2020-02-29")


def test_words_among_numbers_are_told(linear):
    (note,) = notes(linear, x=["5", "abc", "7"])
    assert note == "column 'x': 1 entry such as 'abc' cannot be read as a number: taken as missing"


def test_what_is_known_is_saved(linear, tmp_path):
    save_model(linear, tmp_path / "m.po")
    again = load_model(tmp_path / "m.po")
    new = TABLE.iloc[[3]].assign(plan=["week"], x=[1e9])
    assert again.notes_on(new) == linear.notes_on(new)
    assert len(again.notes_on(new)) == 2


@pytest.mark.parametrize(("unit", "kind"), [("D", "date"), ("h", "time")])
def test_dates_are_predicted_as_dates(unit, kind, tmp_path):
    moments = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.rint(9.7 * TABLE["x"]), unit=unit)
    table = TABLE.assign(when=moments.astype(str))
    found = model("when", "linear", table)
    assert found.target_kind == kind
    predicted = found.predict(table)
    assert all(dtype.kind == "M" for dtype in predicted.dtypes)
    gap = (predicted["when_mean"] - moments).abs()
    assert gap.max() < 0.05 * (moments.max() - moments.min())
    assert (predicted["when_low"] <= predicted["when_mean"]).all()
    assert (predicted["when_mean"] <= predicted["when_high"]).all()
    if kind == "date":
        assert "00:00:00" not in predicted.to_csv()
    save_model(found, tmp_path / "m.po")
    pd.testing.assert_frame_equal(load_model(tmp_path / "m.po").predict(table), predicted)


def test_classes_of_dates_stay_as_they_are():
    table = TABLE.assign(when=["2020-01-01", "2021-01-01"] * (N // 2))
    found = model("when", "logistic", table)
    assert found.target_kind == "number"
    assert set(found.predict(table)["when_predicted"]) <= {"2020-01-01", "2021-01-01"}
