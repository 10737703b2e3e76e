"""Where a table has a regular column of dates, the command that forecasts is named."""

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import compare


@pytest.mark.parametrize(("freq", "named"), [("MS", True), ("D", True), ("uneven", False)])
def test_regular_dates_lead_to_forecast(freq: str, named: bool) -> None:
    rng = np.random.default_rng(0)
    if freq == "uneven":
        days = pd.Timestamp("2000-01-01") + pd.to_timedelta(
            np.sort(rng.choice(20_000, 40, False)), "D"
        )
    else:
        days = pd.date_range("2020-01-01", periods=40, freq=freq)
    table = {"day": days.strftime("%Y-%m-%d"), "x": rng.normal(size=40), "y": rng.normal(size=40)}
    notes = compare(table, "y", models=["constant"]).notes
    assert any("posteriori forecast --time day --value y" in note for note in notes) is named
