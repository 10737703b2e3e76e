"""Bad input is refused by argument, value and remedy; odd input is taken, and said."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from posteriori.sequence import AutoregressiveSeries, CountSeries, StructuralSeries
from posteriori.sequence.series.series_clock import read_times, set_clock

Y = [1.0, 3.0, 2.0, 4.0, 3.5, 5.0]
MODELS = [StructuralSeries, AutoregressiveSeries, CountSeries]

REFUSED = [
    ({}, {"y": [1.0, np.inf, 2.0]}, "y holds inf in row 1"),
    ({}, {"y": [1.0, np.nan, 2.0]}, "y holds 2 values"),
    ({}, {"y": np.ones((4, 2))}, r"one series, \(T,\) or \(T, 1\)"),
    ({}, {"y": Y, "time": [1, 2, 3, 3, 4, 5]}, "3.0 in rows 2 and 3"),
    ({}, {"y": Y, "time": ["2020-01-01"] * 5 + ["soon"]}, "'soon' in row 5"),
    ({}, {"y": Y, "time": [1, 2]}, "one entry per value"),
    ({}, {"y": Y, "inputs": [1, 2]}, "a row for each of 6 steps"),
    ({}, {"y": Y, "inputs": [1, 2, np.nan, 0, 0, 0]}, "row 2, column 0"),
    ({"transform": "log"}, {"y": [1.0, 0.0, 2.0, 3.0]}, "0 in step 1, which has no logarithm"),
    ({"trend": "none"}, {"y": Y}, "trend must be one of"),
    ({"seasons": (1,)}, {"y": Y}, "at least 2 steps, got 1"),
    ({"seasons": (2, 2)}, {"y": Y}, "holds 2 twice"),
    ({"matern": 1.0}, {"y": Y}, "matern must be None, 0.5, 1.5 or 2.5"),
    ({"scales": "known"}, {"y": Y}, "scales must be 'integrated'"),
    ({"scales": {"noise": 1.0}}, {"y": Y}, "scales must name noise, level"),
    ({"scales": {"noise": 1.0, "level": -1.0}}, {"y": Y}, r"scales\['level'\] must be positive"),
    ({"initial": "diffuse"}, {"y": Y}, "has no evidence"),
    ({"trend": "damped"}, {"y": Y, "time": [0, 1, 2.3, 4, 5, 7.7]}, "time is irregular"),
]


@pytest.mark.parametrize(("parameters", "given", "message"), REFUSED)
def test_bad_input_is_refused(parameters, given, message):
    with pytest.raises(ValueError, match=message):
        StructuralSeries(**parameters).fit(**given)


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (AutoregressiveSeries(-1), Y, "order must be"),
        (CountSeries(), [1, 2, 2.5, 3], "2.5 in step 2, which is no count"),
        (CountSeries(), [1, -2, 3], "-2 in step 1"),
        (CountSeries(discount=0.0), [1, 2, 3], "discount must be"),
        (CountSeries(prior=3.0), [1, 2, 3], "prior must be a Gamma"),
    ],
)
def test_other_models_refuse_what_they_cannot_take(model, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit(y)


@pytest.mark.parametrize("model", [AutoregressiveSeries(), CountSeries()])
def test_inputs_and_irregular_times_are_for_structural_series(model):
    with pytest.raises(ValueError, match="inputs are taken by StructuralSeries"):
        model.fit([1, 2, 3, 4], inputs=[1, 2, 3, 4])
    with pytest.raises(ValueError, match="time is irregular"):
        model.fit([1, 2, 3, 4], time=[0, 1, 2.3, 4])


def test_future_inputs_must_be_given():
    model = StructuralSeries("constant").fit(Y, inputs=[1, 2, 0, 1, 2, 0])
    with pytest.raises(ValueError, match="inputs must have 1 columns"):
        model.forecast(2)
    with pytest.raises(ValueError, match="either a horizon"):
        model.forecast()
    with pytest.raises(ValueError, match="horizon must be a whole number"):
        model.forecast(0)


def test_later_values_must_be_later():
    model = StructuralSeries("level").fit(Y, time=[0, 1, 2, 3, 4, 5])
    with pytest.raises(ValueError, match="does not come after"):
        model.update([1.0], time=[5])
    with pytest.raises(ValueError, match="between the steps"):
        model.update([1.0], time=[6.5])


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = StructuralSeries("level").fit(Y)
    before = model.forecast(2).mean
    with pytest.raises(ValueError, match="irregular"):
        model.set_params(seasons=(2,)).fit(Y, time=[0, 1, 2.3, 4, 5, 7.7])
    np.testing.assert_array_equal(model.forecast(2).mean, before)


@pytest.mark.parametrize("initial", ["diffuse", "proper"])
@pytest.mark.parametrize("trend", ["constant", "walk", "level", "drift", "trend"])
def test_series_that_does_not_vary_has_no_most_likely_scale(trend, initial):
    """The likelihood rises without end as the scale falls to 0."""
    series = StructuralSeries(trend, initial=initial, scales="maximum-likelihood")
    with (
        pytest.warns(UserWarning, match="y is constant"),
        pytest.raises(ValueError, match="y does not vary, so that the most likely scale is 0"),
    ):
        series.fit(np.zeros(20))


@pytest.mark.parametrize("value", [5.0, 0.0])
def test_a_constant_series_is_forecast_as_itself(value):
    with pytest.warns(UserWarning, match="y is constant"):
        model = StructuralSeries("level").fit(np.full(10, value))
    low, high = model.forecast(3).interval(0.95)
    np.testing.assert_allclose(low, value, atol=1e-6)
    np.testing.assert_allclose(high, value, atol=1e-6)


def test_a_season_that_the_series_does_not_hold_twice_is_left_out():
    with pytest.warns(UserWarning, match="a season of 4 steps is left out"):
        model = StructuralSeries("level", (4,)).fit(Y)
    assert set(model.scales_) == {"noise", "level"}


@pytest.mark.parametrize("kind", MODELS)
def test_columns_are_series_and_models_are_estimators(kind):
    y = np.array([3.0, 5, 4, 6, 7, 5, 6, 8, 9, 7, 8, 9])
    one, other = clone(kind()).fit(y), kind().fit(y[:, None])
    np.testing.assert_array_equal(one.forecast(2).mean, other.forecast(2).mean)
    assert one.sample_paths(4, 7, rng=0).shape == (7, 4)
    np.testing.assert_array_equal(one.sample_paths(2, 3, rng=1), one.sample_paths(2, 3, rng=1))
    ahead = one.forecast(2)
    assert (ahead.cdf(ahead.quantile(0.5)) >= 0.5 - 1e-6).all()


CLOCKS = [
    (["2020-01-01", "2020-02-01", "2020-04-01"], "months", [0, 1, 3]),
    (["2020-01-31", "2020-02-29", "2020-03-31"], "months", [0, 1, 2]),
    (["2019-01-01", "2020-01-01", "2022-01-01"], "months", [0, 1, 3]),
    (["2020-01-01", "2020-01-02", "2020-01-05"], "moments", [0, 1, 4]),
    (["2020-01-01 00:00", "2020-01-01 00:30", "2020-01-01 02:00"], "moments", [0, 1, 4]),
    ([2000, 2002, 2008], "numbers", [0, 1, 4]),
    ([0.1, 0.2, 0.4], "numbers", [0, 1, 3]),
    ([0.0, 1.0, 2.3], "irregular", [0.0, 1.0, 2.3]),
    (["2020-01-01", "2020-01-02 00:00:01", "2020-01-05"], "irregular", [0, 1 + 1 / 86400, 4]),
]


@pytest.mark.parametrize(("times", "kind", "positions"), CLOCKS)
def test_times_become_steps_and_back(times, kind, positions):
    read = read_times(times, len(times))
    clock = set_clock(read)
    assert clock.kind == kind
    np.testing.assert_allclose(clock.positions(read), positions, atol=1e-9)
    back = clock.times(np.asarray(positions))
    assert list(pd.Index(read)) == pytest.approx(list(back)) if not clock.dated else True
    assert not clock.dated or list(back.round("s")) == list(read.round("s"))


@pytest.mark.parametrize(
    ("times", "later"),
    [
        (
            np.arange(1949, 1961, 1 / 12),
            [1961.0, 1961 + 1 / 12, 1961 + 2 / 12],
        ),  # rounds as it adds
        (1949 + np.arange(143, -1, -1) / 12, [1961.0, 1961 + 1 / 12, 1961 + 2 / 12]),
        (np.arange(100) * 0.1, [10.0, 10.1, 10.2]),
        (np.arange(1, 40) * 0.7, [28.0, 28.7, 29.4]),
        (np.array([1900, 1910, 1920]), [1930.0, 1940.0, 1950.0]),
        (np.array([1959.25, 1959.5, 1960.0]), [1960.25, 1960.5, 1960.75]),
    ],
)
def test_later_times_have_the_digits_of_earlier_ones(times, later):
    clock = set_clock(np.sort(read_times(times, len(times))))
    known = np.rint(clock.positions(np.sort(times)))
    assert clock.times(known[-1] + np.arange(1.0, 4.0)).tolist() == later
    np.testing.assert_allclose(clock.times(known), np.sort(times), rtol=1e-13)


def test_paths_are_drawn_at_given_times():
    """A level is Brownian: its variance grows with the time, whatever is asked for beside it."""
    scales = {"noise": 1e-6, "level": 0.5}
    model = StructuralSeries(scales=scales).fit(Y, time=[0, 1, 2.3, 4, 5, 7.7])
    later = np.array([8.7, 9.0, 16.7])
    paths = model.sample_paths(draws=4000, time=later, rng=0)
    assert paths.shape == (4000, 3)
    expected = model.forecast(time=later)
    np.testing.assert_allclose(paths.mean(axis=0), expected.mean, atol=5 * 1.5 / np.sqrt(4000))
    np.testing.assert_allclose(paths.var(axis=0), 0.25 * (later - 7.7), rtol=5 * np.sqrt(2 / 4000))
    with pytest.raises(ValueError, match="either a horizon, the number of steps, or time"):
        model.sample_paths(2, time=later)


def test_business_days_pass_over_weekends():
    days = pd.bdate_range("2024-01-01", periods=30)
    clock = set_clock(read_times(days, 30))
    assert clock.kind == "business days"
    np.testing.assert_array_equal(clock.positions(days), np.arange(30))
    assert clock.times(np.array([30]))[0] == pd.Timestamp("2024-02-12")


@pytest.mark.parametrize("dates", ["times", "periods"])
def test_the_index_of_values_tells_their_dates(dates):
    index = pd.date_range("2000-01-01", periods=40, freq="MS")
    y = pd.Series(np.sin(np.arange(40.0)), index.to_period("M") if dates == "periods" else index)
    kept = y.drop(y.index[[5, 6, 20]])
    found = StructuralSeries(scales={"noise": 0.5, "level": 0.2}).fit(kept)
    same = StructuralSeries(scales={"noise": 0.5, "level": 0.2}).fit(
        kept.to_numpy(), time=index.delete([5, 6, 20])
    )
    assert len(found.times_) == 40
    assert float(found.log_evidence_) == float(same.log_evidence_)
    assert found.forecast_times(1)[0] == pd.Timestamp("2003-05-01")
