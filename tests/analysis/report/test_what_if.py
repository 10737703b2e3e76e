"""Typical rows and rows that change in one column: what the kept model says of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from posteriori import compare
from posteriori.analysis.comparisons.comparison_page import chances_in_words
from posteriori.analysis.report.what_if import (
    _typical_row,
    added_curves,
    driving_first,
    effect_curves,
    typical_table,
)


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(4)
    x, z = rng.uniform(0.0, 10.0, 150), rng.normal(size=150)
    colour = rng.choice(["red", "green"], 150)
    table = pd.DataFrame({"x": x, "z": z, "colour": colour})
    table["y"] = 3.0 * x + (colour == "red") + rng.normal(size=150)
    return compare(table, "y", models=["constant", "linear (learned scale)"], jobs=1)


def test_the_curve_of_a_line_is_a_line_of_its_slope(found):
    curve = next(c for c in effect_curves(found) if c.name == "x")
    (line,) = curve.lines.values()
    slope = np.diff(line) / np.diff(curve.at)
    np.testing.assert_allclose(slope, slope[0], rtol=1e-9)
    assert slope[0] == pytest.approx(3.0, abs=0.2)
    # noise of 1 has intervals of ± 1.64, and what is not known of the line adds little
    assert np.all((curve.high - curve.low > 3.0) & (curve.high - curve.low < 4.0))


def test_typical_rows_rise_and_hold_what_came(found):
    header, rows = typical_table(found, np.arange(150), ["x"])
    assert header == ("row", "x", "came", "predicted", "90% interval")
    assert len(rows) == 10
    predicted = [float(row[3]) for row in rows]
    assert predicted == sorted(predicted)
    for row in rows:
        place = int(row[0]) - 1
        assert float(row[2].replace("−", "-")) == pytest.approx(found.problem.y[place], abs=0.01)


@pytest.mark.parametrize(("base", "mark"), [(1960, ""), (9960, ",")])
def test_targets_far_from_zero_are_told_with_the_digits_that_differ(found, base, mark):
    table = found.problem.X.assign(far=np.round(base + found.problem.y))
    far = compare(table, "far", models=["linear (learned scale)"], jobs=1)
    _, rows = typical_table(far, np.arange(150), ["x"])
    for row, *told in rows:
        came, predicted, *ends = (
            text.replace(",", "") for text in (*told[1:3], *told[3].split(" to "))
        )
        assert float(came) == far.problem.y[int(row) - 1]
        assert 2.5 < float(ends[1]) - float(ends[0]) < 4.5  # noise of 1 has intervals of ± 1.64
        assert float(ends[0]) < float(predicted) < float(ends[1])
        assert told[1].replace(mark, "", 1).isdigit()


def test_columns_that_drive_predictions_are_told_first(found):
    assert driving_first(found, ["z", "elsewhere", "colour", "x"])[0] == "x"
    assert driving_first(found, ["z", "elsewhere", "colour", "x"])[-1] == "elsewhere"


def test_classes_have_probabilities(found):
    table = found.problem.X.assign(label=np.where(found.problem.y > 15.0, "much", "little"))
    classes = compare(table, "label", models=["class frequencies", "logistic"], jobs=1)
    curve = next(c for c in effect_curves(classes) if c.name == "x")
    assert list(curve.lines) == ["much"]
    assert curve.lines["much"][0] < 0.1 < 0.9 < curve.lines["much"][-1]
    header, rows = typical_table(classes, np.arange(150), ["x"])
    assert header[-1] == "probability"
    assert all(0.5 <= float(row[-1]) <= 1.0 for row in rows)


def test_intervals_that_are_too_narrow_are_said_to_be(found):
    assert "they can be taken at their word" in found.html("t")
    unseen = found.outcomes[found.kept].unseen
    spoiled = found.outcomes | {
        found.kept: found.outcomes[found.kept]._replace(
            unseen=unseen._replace(level=np.where(unseen.level > 0.5, 0.999, 0.001))
        )
    }
    page = replace(found, outcomes=spoiled).html("t")
    assert "0%), less than promised: they are too narrow" in page


def test_the_typical_row_has_levels_that_go_together():
    """Every town has one land; the most frequent land and the first town would be no row at all."""
    rng = np.random.default_rng(0)
    town = np.repeat(["a", "b", "c", "d", "e"], 20)
    table = pd.DataFrame({"town": town, "land": np.where(town < "c", "north", "south")})
    table["x"] = rng.normal(size=100)
    table.loc[::7, "x"] = np.nan
    table["y"] = table["x"].fillna(0.0) + (table["land"] == "north") + rng.normal(size=100)
    found = compare(table, "y", models=["constant", "linear"], jobs=1)
    kinds = found.problem.kinds
    rows = _typical_row(found.problem.X, kinds, 3)
    assert len(rows) == 3
    assert not rows.isna().any().any()
    land = dict(zip(table["town"], table["land"], strict=True))
    assert rows["land"][0] == land[rows["town"][0]]
    assert abs(rows["x"][0] - table["x"].median()) < 0.1


def test_probabilities_that_promise_too_much_are_said_to():
    rng = np.random.default_rng(1)
    p = np.column_stack([1.0 - (sure := rng.uniform(0.5, 1.0, 400)), sure])
    honest = (rng.random(400) < sure).astype(int)
    assert "as often as promised" in chances_in_words(p, honest)
    often = "less often than promised: probabilities are too sure"
    assert often in chances_in_words(p, (rng.random(400) < 0.55).astype(int))
    assert "more often than promised" in chances_in_words(p, np.ones(400, dtype=int))
    # 3 of 4 at 0.75 each is what they say, and one row alone is no reason
    four = np.tile([0.25, 0.75], (4, 1))
    assert "in 3 of 4 unseen rows (75.0%), where its probabilities promise 75.0%" in (
        chances_in_words(four, np.array([1, 1, 1, 0]))
    )


def test_links_lead_to_sections(found):
    page = found.html("t")
    for anchor in ("the-ranking", "what-drives-the-predictions", "some-rows"):
        assert f'href="#{anchor}"' in page
        assert f'id="{anchor}"' in page


@pytest.fixture(scope="module")
def added():
    rng = np.random.default_rng(7)
    table = pd.DataFrame({"x": rng.uniform(0.0, 10.0, 150), "z": rng.normal(size=150)})
    table["colour"] = rng.choice(["red", "green"], 150)
    table.loc[3:8, "z"] = np.nan
    table["y"] = 5.0 * np.sin(table["x"]) + (table["colour"] == "red") + rng.normal(size=150)
    names = ["linear", "additive curves"]
    return compare(table, "y", models=names, folds=2, jobs=1)


class TestAddedCurves:
    def test_bands_are_those_of_the_model_and_the_widest_comes_first(self, added):
        name, curves = added_curves(added)
        assert name == "additive curves"
        assert [curve.name for curve in curves] == ["x", "z"]
        first = curves[0]
        wave = 5.0 * np.sin(first.at)
        apart = first.lines[""] - (wave - 5.0 * np.sin(added.problem.X["x"]).mean())
        assert np.sqrt(np.mean(apart**2)) < 1.0
        assert np.all((first.low < first.lines[""]) & (first.lines[""] < first.high))
        flat = curves[1]
        assert np.ptp(flat.lines[""]) < 1.0

    def test_a_curve_is_the_difference_of_predictions(self, added):
        """Whatever the other columns hold: the model is a sum."""
        _, curves = added_curves(added)
        model = added.outcomes["additive curves"].model
        row = added.problem.X.iloc[[20, 20]].assign(x=curves[0].at[[5, 30]])
        low, high = model.predict(row)
        line = curves[0].lines[""]
        assert line[30] - line[5] == pytest.approx(high - low, rel=1e-9)

    def test_the_page_shows_them(self, added, found):
        page = added.html("t")
        assert "What each column adds" in page
        assert "What x adds to y" in page
        assert "What each column adds" not in found.html("t")
        assert added_curves(found) == ("", [])
