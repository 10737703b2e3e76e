"""Forecasts of tables: what is chosen and said, ranking and verdict, events, inputs, several series."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from posteriori import forecast
from posteriori.analysis import Forecast, Forecasts, load_model, save_model
from posteriori.analysis.forecasts import forecasting
from posteriori.selection.origins.origin_scores import DRAWS, FEW_DRAWS
from posteriori.sequence import StructuralSeries
from posteriori.sequence.series.series_average import SeriesAverage
from tests.analysis.forecasts.dated_tables import monthly, yearly

FEW = ("walk", "level")


@pytest.fixture(scope="module")
def found() -> Forecast:
    return forecast(yearly(), time="year", value="flow", models=FEW, horizon=4)


def test_the_average_goes_on(found: Forecast) -> None:
    """The forecast is the mixture of those of models that are fitted by hand, by their weights."""
    assert found.best == "level"
    assert found.kept == "average"
    weights = {name: found.ranking[name].weight for name in FEW}
    assert found.fitted.weights == weights
    assert sum(weights.values()) == pytest.approx(1.0)
    y = yearly()["flow"].to_numpy()
    models = {name: StructuralSeries(name, draws=DRAWS).fit(y).forecast(4) for name in FEW}
    for column, level in (("median", 0.5), ("lower_80", 0.1), ("upper_95", 0.975)):
        reached = sum(w * models[name].cdf(found.frame[column]) for name, w in weights.items())
        np.testing.assert_allclose(reached, level, rtol=1e-8)
    assert list(found.frame) == [
        "year",
        "median",
        *(f"{e}_{m}" for m in (80, 95) for e in ("lower", "upper")),
    ]
    assert found.frame["year"].tolist() == [2020, 2021, 2022, 2023]
    np.testing.assert_allclose(found.dist.cdf(found.frame["lower_80"]), 0.1, atol=1e-8)
    np.testing.assert_allclose(found.dist.cdf(found.frame["upper_95"]), 0.975, atol=1e-8)
    assert [row.name for row in found.ranking.rows] == ["level", "average", "walk"]


def test_the_ranking_adds_up(found: Forecast) -> None:
    """Sums over origins, standard errors over origins, and evidence of all values."""
    problem = found.prepared.problem
    logs = found.outcomes["level"].unseen.log_density
    sums = logs.reshape(5, 4).sum(axis=1)
    row = found.ranking["level"]
    assert row.elpd == pytest.approx(logs.sum())
    assert row.elpd_se == pytest.approx(np.sqrt(5) * sums.std(ddof=1))
    walk = found.outcomes["walk"].unseen.log_density.reshape(5, 4).sum(axis=1)
    gap = walk - sums
    assert found.ranking["walk"].elpd_difference == pytest.approx(gap.sum())
    assert found.ranking["walk"].elpd_difference_se == pytest.approx(np.sqrt(5) * gap.std(ddof=1))
    model = StructuralSeries("level", draws=DRAWS).fit(problem.rows.y)
    assert row.log_evidence == pytest.approx(float(model.log_evidence_))
    both = [found.ranking[name].log_evidence for name in FEW]
    odds = np.exp(np.array(both) - max(both))
    assert found.ranking["level"].probability == pytest.approx(odds[1] / odds.sum())


def test_what_was_chosen_is_said(found: Forecast) -> None:
    told = " ".join(found.notes)
    assert "40 years from 1980 to 2019" in told
    assert "no seasons" in told
    assert "forecasts go 4 years ahead" in told
    assert "level" in repr(found)


def test_components_are_those_of_the_series(found: Forecast) -> None:
    assert found.components_of == "level"
    assert list(found.components) == [
        f"{p}{e}" for p in ("level", "fit") for e in ("", "_lower", "_upper")
    ]
    assert found.components.index[0] == 1980


def test_one_model_is_no_average_but_one_origin_has_one() -> None:
    alone = forecast(yearly(), time="year", value="flow", models=["level"], horizon=4, origins=2)
    assert alone.kept == alone.best == "level"
    assert not any("average" in reason for reason in alone.reasons)
    once = forecast(yearly(), time="year", value="flow", models=FEW, horizon=4, origins=1)
    assert once.kept == "average"


def test_without_origins_evidence_ranks() -> None:
    f = forecast(yearly(), time="year", value="flow", models=(*FEW, "trend"), origins=0)
    evidences = [row.log_evidence for row in f.ranking.rows]
    assert evidences == sorted(evidences, reverse=True)
    assert f.kept == f.best
    assert sum(row.probability for row in f.ranking.rows) == pytest.approx(1.0)


def test_dates_give_periods_and_times() -> None:
    f = forecast(
        monthly(), time="month", value="sales", models=["level + season", "walk"], origins=2
    )
    assert f.prepared.problem.periods == (12.0,)
    assert len(f.frame) == 12
    assert f.frame["month"].iloc[0] == pd.Timestamp("2023-01-01")
    assert f.best == "level + season"
    assert any("seasons of 12 months, chosen by the calendar" in note for note in f.notes)
    assert {"level", "season", "fit"} <= set(f.components)


def test_seasons_beyond_half_the_series_are_left_out_and_said() -> None:
    f = forecast(monthly(20), time="month", value="sales", models=["level"], horizon=3, origins=1)
    assert f.prepared.problem.periods == ()
    assert any("a season of 12 months is left out" in note for note in f.notes)


def test_models_that_had_no_turn_at_the_first_origin_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the time is for the first origin; what it does not reach is not far behind."""
    run, limits = forecasting.run_candidates, []

    def run_short(candidates: Any, *rest: Any, time_limit: float, **options: Any) -> Any:
        limits.append(time_limit)
        first = len(limits) == 1
        reached, ended = run(
            candidates[:2] if first else candidates, *rest, time_limit=None, **options
        )
        return reached, "time" if first else ended

    monkeypatch.setattr(forecasting, "run_candidates", run_short)
    few: dict[str, Any] = {"origins": 1, "horizon": 2, "jobs": 1}
    made = forecast(yearly(20), time="year", value="flow", time_limit=60.0, **few)
    assert limits[0] == 30.0
    assert 30.0 <= limits[1] <= 60.0
    assert {"trend", "damped trend"} <= set(made.outcomes)
    assert not any(outcome.failure for outcome in made.outcomes.values())


def test_a_constant_series_is_forecast_as_itself_and_said() -> None:
    f = forecast(yearly(20).assign(flow=7.0), time="year", value="flow")
    np.testing.assert_allclose(f.frame["median"], 7.0, rtol=1e-6)
    assert "the series is constant: it is forecast as itself" in f.notes
    assert f.best == "constant"
    assert not any("left out" in note for note in f.notes)


def test_gaps_and_irregular_times_are_taken() -> None:
    table = yearly()
    gappy = forecast(table.drop(index=[7, 8]), time="year", value="flow", models=FEW, origins=1)
    assert any("40 years from 1980 to 2019, 2 of them without a value" in n for n in gappy.notes)
    rng = np.random.default_rng(0)
    odd = table.assign(year=np.sort(rng.uniform(0.0, 100.0, len(table))))
    f = forecast(odd, time="year", value="flow", origins=2, horizon=3)
    assert any("irregular" in note for note in f.notes)
    assert set(f.outcomes) >= {"constant", "level", "trend"}
    assert "walk + season" not in f.outcomes
    assert f.outcomes["walk"].model[-1].forecast(time=[101.0, 140.0]).mean == pytest.approx(
        odd["flow"].iloc[-1]
    )
    assert np.isfinite(f.frame.to_numpy()).all()


@pytest.mark.parametrize(
    ("table", "options", "asked", "beside"),
    [
        (monthly(60), {"time": "month", "value": "sales"}, ("level",), {"walk", "seasonal walk"}),
        (yearly(), {"time": "year", "value": "flow"}, ("constant", "level"), {"walk"}),
        (yearly(), {"time": "year", "value": "flow"}, ("walk", "level"), set()),
    ],
)
def test_models_that_repeat_values_are_ranked_beside_those_asked_for(
    table: pd.DataFrame, options: dict[str, Any], asked: tuple[str, ...], beside: set[str]
) -> None:
    f = forecast(table, models=asked, horizon=3, origins=2, **options)
    assert set(f.outcomes) == {*asked, *beside, *({"average"} if len(asked) > 1 else ())}
    assert {row.name for row in f.ranking.rows} == set(f.outcomes)
    assert all(f.metrics[name]["MAE"] > 0.0 for name in beside)
    assert f.kept == ("average" if len(asked) > 1 else asked[0])
    members = getattr(f.fitted, "models", {asked[0]: f.fitted})
    assert set(members) <= set(asked)
    assert f.components_of in asked
    note = "ranked beside; no forecast is made of"
    assert sum(note in said for said in f.notes) == bool(beside)
    assert "repeating the last " in f.verdict
    assert "luck" not in f.verdict or f.best in asked  # what was not asked for needs no doubt


def test_a_season_that_is_too_long_to_be_repeated_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("posteriori.selection.origins.origin_fits._MOST_WORK", 60 * 11**2)
    f = forecast(monthly(60), time="month", value="sales", models=["walk"], horizon=3, origins=2)
    said = "no model repeats the last season: 12 months are too many to keep one by one"
    assert any(note.startswith(said) for note in f.notes)
    assert set(f.outcomes) == {"walk"}
    assert "repeating the last season" in f.verdict  # which needs no model


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"horizon": 0}, "horizon must be"),
        ({"origins": -1}, "origins must be"),
        ({"mass": 1.5}, "mass must be probabilities"),
        ({"mass": "wide"}, "mass must be probabilities"),
        ({"period": "weekly"}, "period must be"),
        ({"models": ["levle"]}, "did you mean 'level'"),
        ({"models": ["counts"]}, "'counts' is for counts, which the series is not; leave it out"),
        ({"event": "yesterday"}, "event must be a number"),
        ({"event": 1981}, "three values before it and one after it are needed"),
        ({"event": 2050}, "the series goes from 1980 to 2019"),
        ({"holidays": "DE"}, "holidays='DE' needs dates"),
        ({"inputs": ["price"]}, "inputs names 'price', which is no column"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        forecast(yearly(), time="year", value="flow", **options)


# -- events ------------------------------------------------------------------------------------


def test_an_event_is_measured_by_what_would_have_been() -> None:
    table = yearly()
    table.loc[30:, "flow"] += 25.0
    f = forecast(table, time="year", value="flow", models=["level"], event=2010, origins=2)
    model = StructuralSeries("level", draws=DRAWS).fit(table["flow"].to_numpy()[:30])
    np.testing.assert_allclose(f.frame["median"], model.forecast(10).median, rtol=1e-9)
    effect = f.event
    assert effect is not None
    actual = table["flow"].to_numpy()[30:]
    np.testing.assert_allclose(effect.frame["effect"], actual - f.frame["median"])
    np.testing.assert_allclose(effect.frame["effect_upper_80"], actual - f.frame["lower_80"])
    paths = model.sample_paths(10, 4000, rng=0).sum(axis=1)
    assert effect.total == pytest.approx(actual.sum() - np.median(paths))
    low, high = effect.intervals[0.95]
    assert low < effect.total < high
    assert effect.probability > 0.9
    assert "more in sum than without what began then" in f.verdict


def test_an_event_among_irregular_times() -> None:
    rng = np.random.default_rng(4)
    times = np.sort(rng.uniform(0.0, 100.0, 40))
    table = yearly().assign(year=times)
    table.loc[30:, "flow"] += 25.0
    f = forecast(table, time="year", value="flow", models=["level"], event=times[30], origins=1)
    model = StructuralSeries("level", draws=DRAWS).fit(table["flow"][:30], time=times[:30])
    np.testing.assert_allclose(f.frame["median"], model.forecast(time=times[30:]).median, rtol=1e-9)
    assert f.event is not None
    np.testing.assert_allclose(f.event.frame["time"], times[30:])
    paths = model.sample_paths(draws=4000, time=times[30:], rng=0).sum(axis=1)
    assert f.event.total == pytest.approx(table["flow"][30:].sum() - np.median(paths))


def test_a_past_of_equal_steps_does_not_foresee_irregular_times() -> None:
    table = yearly().astype({"year": float})
    table.loc[30:, "year"] += np.random.default_rng(0).uniform(0.1, 0.4, 10)
    options: dict[str, Any] = {"time": "year", "value": "flow", "models": ["level"]}
    with pytest.raises(ValueError, match="later times lie between such steps: round these"):
        forecast(table, **options, event=table["year"][30])
    f = forecast(table, **options, origins=3, horizon=5)  # origins among the first 30 are left out
    assert f.prepared.problem.origins == (35,)
    assert any("1 origin instead of 3" in note for note in f.notes)


def test_decimal_years_keep_their_digits() -> None:
    table = monthly(48)
    table["month"] = np.arange(1949, 1953, 1 / 12)
    f = forecast(table, time="month", value="sales", models=["level"], origins=1)
    expected = [1953 + k / 12 for k in range(12)]
    assert f.frame["month"].tolist() == expected


# -- inputs ------------------------------------------------------------------------------------


def _with_price(count: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    table = yearly(count + 4)
    price = np.random.default_rng(3).standard_normal(count + 4)
    table = table.assign(price=price, flow=table["flow"] + 6.0 * price)
    return table.iloc[:count], table.iloc[count:]


def test_inputs_are_learned_and_known_of_the_future() -> None:
    past, future = _with_price(40)
    f = forecast(
        past,
        time="year",
        value="flow",
        inputs=["price"],
        future=future,
        horizon=4,
        models=["level"],
        origins=2,
    )
    model = StructuralSeries("level", draws=DRAWS).fit(
        past["flow"].to_numpy(), inputs=past[["price"]].to_numpy()
    )
    expected = model.forecast(4, inputs=future[["price"]].to_numpy()).median
    np.testing.assert_allclose(f.frame["median"], expected, rtol=1e-9)


def test_missing_inputs_of_the_future_are_named() -> None:
    past, future = _with_price(40)
    asked: dict[str, Any] = {"time": "year", "value": "flow", "inputs": ["price"]} | {
        "horizon": 4,
        "models": FEW,
    }
    with pytest.raises(ValueError, match="give them as future"):
        forecast(past, **asked)
    with pytest.raises(ValueError, match="future has no row for 2023"):
        forecast(past, future=future.iloc[:3], **asked)
    with pytest.raises(ValueError, match="future lacks the column 'price'"):
        forecast(past, future=future[["year"]], **asked)
    gap = future.copy()
    gap.loc[gap.index[1], "price"] = np.nan
    with pytest.raises(ValueError, match="future lacks 'price' for 2021"):
        forecast(past, future=gap, **asked)
    holes = past.copy()
    holes.loc[5, "price"] = np.nan
    with pytest.raises(ValueError, match="'price' holds nan in row 6, which must be known"):
        forecast(holes, future=future, **asked)


# -- several series ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def both() -> Forecasts:
    table = pd.concat([yearly(30).assign(shop="a"), yearly(34, 1).assign(shop="b")])
    return forecast(table, time="year", value="flow", by="shop", models=FEW, origins=2, horizon=3)


def test_series_are_forecast_one_by_one(both: Forecasts) -> None:
    y = yearly(34, 1)["flow"].to_numpy()
    assert both["b"].kept == "average"
    alone = StructuralSeries("level", draws=FEW_DRAWS).fit(y).forecast(3)
    np.testing.assert_allclose(
        both["b"].fitted.models["level"].forecast(3).median, alone.median, rtol=1e-12
    )
    assert list(both.frame)[:3] == ["year", "shop", "median"]
    assert both.frame["shop"].tolist() == ["a"] * 3 + ["b"] * 3
    assert list(both) == ["a", "b"]
    assert "2 series forecast" in both.verdict


def test_a_series_that_fails_does_not_end_the_others() -> None:
    table = pd.concat([yearly(30).assign(shop="a"), yearly(20).assign(shop="b", flow=-1.0)])
    table.loc[table["shop"] == "b", "flow"] -= np.arange(20.0)
    f = forecast(table, time="year", value="flow", by="shop", models=["log level"], origins=0)
    assert list(f.series) == ["a"]
    assert "positive" in f.failures["b"]


def test_saved_models_go_on(found: Forecast, both: Forecasts, tmp_path: Path) -> None:
    """Later values are absorbed as by update, and empty ones predicted from those before them."""
    save_model(found.model, tmp_path / "m.po")
    model = load_model(tmp_path / "m.po")
    later = pd.DataFrame({"year": [2021, 2020, 2022, 2024], "flow": [None, 9.0, 8.0, None]})
    told = model.predict(later, 0.8)
    y = yearly()["flow"].to_numpy()
    models = {name: StructuralSeries(name, draws=DRAWS).fit(y) for name in FEW}
    by_hand = SeriesAverage(models, found.fitted.weights).update([9.0])
    first = by_hand.forecast(1)
    assert told["median"].iloc[0] == pytest.approx(first.median[0], rel=1e-9)
    assert told["lower_80"].iloc[0] == pytest.approx(first.quantile(0.1)[0], rel=1e-9)
    second = by_hand.update([np.nan, 8.0]).forecast(2)
    assert told["median"].iloc[3] == pytest.approx(second.median[1], rel=1e-9)
    assert told["median"].iloc[[1, 2]].isna().all()
    np.testing.assert_array_equal(model.predict(later, 0.8), told)  # nothing is kept
    save_model(both.model, tmp_path / "b.po")
    several = load_model(tmp_path / "b.po")
    told = several.predict({"year": [2010, 2014], "shop": ["a", "b"], "flow": [None, None]})
    expected = [both[name].frame["median"].iloc[0] for name in ("a", "b")]
    np.testing.assert_allclose(told["median"], expected, rtol=1e-9)
    with pytest.raises(ValueError, match="holds 'c', a series that was not learned"):
        several.predict({"year": [2010], "shop": ["c"], "flow": [None]})
    with pytest.raises(ValueError, match="the table lacks 'year'"):
        several.predict({"shop": ["c"]})
