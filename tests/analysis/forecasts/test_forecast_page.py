"""The report of forecasts: its sections, its code, and texts from the data that are escaped."""

import numpy as np
import pandas as pd
import pytest

from posteriori import forecast
from posteriori.analysis.report.time_figures import autocorrelation
from tests.analysis.forecasts.dated_tables import monthly, yearly


def test_the_report_has_all_its_parts() -> None:
    table = monthly().rename(columns={"sales": "<b>sales"})
    f = forecast(
        table, time="month", value="<b>sales", models=["walk", "level + season"], origins=2
    )
    page = f.html("<i>shop.csv")
    for heading in (
        "All models",
        "Parts",
        "How forecasts would have fared",
        "What the model was surprised by",
        "Priors, and what moving them changes",
        "What was done",
        "The same in Python",
    ):
        assert f"<h2>{heading}</h2>" in page
    assert "<summary>The forecast step by step</summary>" in page
    assert page.index("<figure") < page.index("<h2>")  # the fan stands beside the answer
    assert "<b>sales" not in page
    assert "<i>shop" not in page
    assert "not drawn" not in page


def test_an_event_and_several_series_have_their_reports() -> None:
    table = yearly()
    f = forecast(table, time="year", value="flow", models=["level"], event=2012, origins=1)
    assert "<h2>What the event changed</h2>" in f.html()
    two = pd.concat([table.assign(shop="<a>"), table.assign(shop="b")])
    both = forecast(two, time="year", value="flow", by="shop", models=["walk"], origins=0)
    page = both.html()
    assert "<h3>&lt;a&gt;</h3>" in page
    assert "<h2>All series</h2>" in page


def test_the_code_makes_the_same_forecast() -> None:
    table = yearly()
    f = forecast(table, time="year", value="flow", models=["walk"], origins=2, mass=(0.5,))
    scope = {"table": table}
    exec(f.code(), scope)
    again = scope["f"]
    pd.testing.assert_frame_equal(again.frame, f.frame)  # type: ignore[attr-defined]  # made by the code


def test_autocorrelations_are_those_of_the_definition() -> None:
    x = np.array([1.0, 3.0, np.nan, 2.0, 5.0, 4.0])
    mean = np.nanmean(x)
    gaps = x - mean
    total = np.nansum(gaps**2)
    first = gaps[0] * gaps[1] + gaps[3] * gaps[4] + gaps[4] * gaps[5]
    second = gaps[1] * gaps[3] + gaps[3] * gaps[5]
    np.testing.assert_allclose(autocorrelation(x, 2), [first / total, second / total])
    assert autocorrelation(np.ones(5), 2) == pytest.approx([0.0, 0.0])
