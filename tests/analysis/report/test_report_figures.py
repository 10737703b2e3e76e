"""What figures of the report show: scales, bins and confusions."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.analysis.report.class_figures import (
    confusion_counts,
    draw_reliability,
    frequent_confusions,
    reliability_bins,
)
from posteriori.analysis.report.figures import (
    choose_scale,
    draw_ranking,
    draw_sensitivity,
    far_models,
)
from posteriori.selection.comparison import Row


def rows(*pairs):
    return [
        Row(f"model {k}", elpd_difference=gap, elpd_difference_se=error)
        for k, (gap, error) in enumerate(pairs)
    ]


def names(chosen):
    return [row.name for row in chosen]


# -- the scale of the ranking ----------------------------------------------------------------------


def test_leaders_are_told_apart_and_the_last_named():
    scale = choose_scale(rows((0, 0), (-4.1, 1.6), (-84, 14), (-317, 24), (-4.6e6, 3e5)))
    assert names(scale.shown) == ["model 0", "model 1", "model 2"]
    assert far_models(scale) == "Off the scale: model 3 (−317 ± 24), model 4 (−4.6e6)."
    assert -130 < scale.low < -112  # the bar of the third model, −84 − 28, is whole
    # the second lies at least a hundredth of the axis behind the best
    assert 4.1 / (scale.high - scale.low) > 0.01


def test_equal_leaders_and_impossible_models():
    scale = choose_scale(rows((0, 0), (0, 0), (-0.01, 0.0), (-3.4, 0.1), (-math.inf, math.nan)))
    assert names(scale.shown) == ["model 0", "model 1", "model 2", "model 3"]
    assert far_models(scale) == "Off the scale: model 4 (−∞)."


@given(
    st.lists(st.tuples(st.floats(0, 1e12), st.floats(0, 1e12)), min_size=1, max_size=8),
)
def test_the_first_two_are_always_shown(pairs):
    ordered = sorted(-gap for gap, _ in pairs)[::-1]
    models = rows((0.0, 0.0), *zip(ordered, (error for _, error in pairs), strict=True))
    scale = choose_scale(models)
    assert names(scale.shown) + names(scale.far) == names(models)
    assert len(scale.shown) >= 2
    assert scale.low < min(row.elpd_difference for row in scale.shown)
    assert scale.high > 0.0


def test_models_without_a_result_are_not_drawn():
    models = [*rows((0, 0), (-1, 1)), Row("broken", failure="no luck")]
    drawn = draw_ranking(choose_scale(models))
    assert "model 1" in drawn
    assert "broken" not in drawn


# -- stated probabilities --------------------------------------------------------------------------


def test_bins_do_not_mix_what_is_far_apart():
    stated = np.repeat([0.0, 1.0], [470, 330])
    bins = reliability_bins(stated, stated)
    np.testing.assert_array_equal(bins.stated, [0.0, 1.0])
    np.testing.assert_array_equal(bins.came, [0.0, 1.0])


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=200))
def test_bins_partition_the_rows(pairs):
    stated, came = np.array([p for p, _ in pairs]), np.array([float(t) for _, t in pairs])
    bins = reliability_bins(stated, came)
    assert (np.diff(bins.stated) > 0).all()
    assert 1 <= len(bins.stated) <= 21
    assert bins.stated.min() >= stated.min() - 1e-12
    assert bins.stated.max() <= stated.max() + 1e-12
    assert ((bins.came >= 0) & (bins.came <= 1)).all()


def test_bins_of_a_calibrated_model_lie_on_the_line():
    rng = np.random.default_rng(0)
    stated = rng.beta(0.3, 3.0, 20_000)  # most are small
    bins = reliability_bins(stated, (rng.random(20_000) < stated).astype(float))
    inside = np.abs(bins.came - bins.stated) < bins.error
    assert inside.mean() > 0.8
    assert (np.abs(bins.came - bins.stated) < 2.5 * bins.error).all()
    assert (bins.stated < 0.1).sum() >= 5  # they are not one point in a corner


def test_rare_classes_fill_the_figure():
    stated = np.linspace(0.0, 0.05, 1000)
    came = (np.arange(1000) % 50 == 0).astype(float)
    drawn = draw_reliability(reliability_bins(stated, came), "stated")
    ticks = [float(text) for text in re.findall(r">([\d.]+)</text>", drawn)]
    assert 0.02 < max(ticks) < 0.2


# -- confusions ------------------------------------------------------------------------------------


def test_confusions_are_listed_by_frequency():
    codes, chosen = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 1, 1, 2, 2])
    table = confusion_counts(codes, chosen, 3)
    np.testing.assert_array_equal(table, [[1, 2, 0], [0, 1, 1], [0, 0, 1]])
    found = frequent_confusions(table, np.array(["a", "b", "c"]))
    assert found == [("a", "b", "2", "67%"), ("b", "c", "1", "50%")]


def test_no_mistakes_make_no_list():
    assert frequent_confusions(np.diag([3, 4]), np.array(["a", "b"])) == []


# -- the prior -------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, -11_163.0])
def test_evidences_are_drawn_as_changes(offset):
    """What is drawn does not depend on how large the evidences are."""
    curve = {1.0: 0.0, 0.25: -4.0, 0.5: -1.0, 2.0: 1.0, 4.0: 2.0}
    other = {scale: 2.0 * value + offset for scale, value in curve.items()}
    same = {scale: 2.0 * value for scale, value in curve.items()}
    assert draw_sensitivity({"a": curve, "b": other}) == draw_sensitivity({"a": curve, "b": same})
