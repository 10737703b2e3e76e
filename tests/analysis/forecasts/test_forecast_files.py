"""Every candidate of a series comes back from its file and goes on as it would have."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from posteriori import forecast
from posteriori.analysis import load_model, save_model
from posteriori.selection.candidates import CANDIDATES
from tests.analysis.forecasts.dated_tables import monthly

NAMES = [c.name for c in CANDIDATES if c.task == "series"]


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_candidate_goes_on(name: str, tmp_path: Path) -> None:
    table = monthly(36).assign(sales=lambda t: t["sales"].round())
    f = forecast(table, time="month", value="sales", models=[name], origins=0, horizon=3)
    save_model(f.model, tmp_path / "m.po")
    months = pd.date_range("2021-01-01", periods=3, freq="MS").strftime("%Y-%m")
    told = load_model(tmp_path / "m.po").predict({"month": months, "sales": [None] * 3}, 0.8)
    for column in ("median", "lower_80", "upper_80"):
        np.testing.assert_allclose(told[column], f.frame[column], rtol=1e-9)


def test_an_autoregression_with_a_gap_goes_on(tmp_path: Path) -> None:
    table = monthly(36).drop(index=20)
    f = forecast(
        table, time="month", value="sales", models=["autoregression"], origins=0, horizon=3
    )
    save_model(f.model, tmp_path / "m.po")
    months = pd.date_range("2021-01-01", periods=3, freq="MS").strftime("%Y-%m")
    told = load_model(tmp_path / "m.po").predict({"month": months, "sales": [None] * 3}, 0.8)
    np.testing.assert_allclose(told["median"], f.frame["median"], rtol=1e-9)


def test_the_average_comes_back(tmp_path: Path) -> None:
    table = monthly(40)
    f = forecast(table, time="month", value="sales", models=["walk", "level"], origins=3, horizon=3)
    average = f.outcomes["average"].model[-1]
    again = average.forecast(3)
    kept = f.model.pipeline[-1].series[""]._replace(model=average)
    f.model.pipeline[-1].series[""] = kept
    save_model(f.model, tmp_path / "m.po")
    back = load_model(tmp_path / "m.po").pipeline[-1].series[""].model
    np.testing.assert_allclose(back.forecast(3).median, again.median, rtol=1e-9)
    before = dict(back.weights)
    back.update([50.0, 51.0])
    gains = {n: m.log_predictive_[-2:].sum() for n, m in back.models.items()}
    odds = {n: before[n] * np.exp(gains[n]) for n in before}
    expected = {n: odd / sum(odds.values()) for n, odd in odds.items()}
    assert back.weights == pytest.approx(expected)
    assert back.sample_paths(4, 100, rng=0).shape == (100, 4)


def test_widened_intervals_stay_widened_in_files_and_forged_factors_are_refused(
    tmp_path: Path,
) -> None:
    steps = np.where(np.arange(60) > 30, 6.0, 1.0) * np.random.default_rng(0).standard_normal(60)
    table = monthly(60).assign(sales=np.cumsum(steps))
    asked = {"time": "month", "value": "sales", "horizon": 3}
    for models in (["walk", "level"], ["walk"]):
        f = forecast(table, models=models, **asked)
        assert f.widening > 1.05
        save_model(f.model, tmp_path / "m.po")
        months = pd.date_range("2023-01-01", periods=3, freq="MS").strftime("%Y-%m")
        model = load_model(tmp_path / "m.po")
        told = model.predict({"month": months, "sales": [None] * 3}, 0.8)
        for column in ("median", "lower_80", "upper_80"):
            np.testing.assert_allclose(told[column], f.frame[column], rtol=1e-9)
    for forged in (0.5, float("nan"), float("inf"), "wide"):
        model.pipeline[-1].series[""].model.widening = forged
        with pytest.raises(ValueError, match="series"):
            model.require_sound()
