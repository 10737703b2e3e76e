"""What forecasts say to everybody, and to statisticians: the words of all cases, and the numbers in them."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from posteriori import forecast
from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME
from posteriori.analysis.forecasts.forecast_page import heading_words, ranked_rows
from posteriori.analysis.forecasts.forecast_words import answer_of_forecast
from posteriori.analysis.table.wording import short_number
from tests.analysis.forecasts.dated_tables import monthly, yearly
from tests.analysis.sentences import MOST, count_sentences

FEW = ("walk", "level")
NUMBER = re.compile(r"(above |below )?−?\d+(,\d{3})*(\.\d+)?(-\d\d)?( %)?")


def of_years(table: pd.DataFrame | None = None, **options: Any) -> Any:
    asked = {"time": "year", "value": "flow", "models": FEW, **options}
    return forecast(yearly() if table is None else table, **asked)


def calm_then_wild() -> pd.DataFrame:
    """A walk whose steps become six times as large: what was learned before is too sure."""
    rng = np.random.default_rng(0)
    steps = np.where(np.arange(60) > 30, 6.0, 1.0) * rng.standard_normal(60)
    return yearly(60).assign(flow=np.cumsum(steps))


def few_sales() -> pd.DataFrame:
    return yearly(60).assign(flow=np.random.default_rng(0).poisson(0.4, 60))


def at_odd_times() -> pd.DataFrame:
    return yearly().assign(year=np.sort(np.random.default_rng(0).uniform(0.0, 100.0, 40)))


def two_shops() -> pd.DataFrame:
    falls = yearly(30).assign(shop="falls", flow=lambda t: 60.0 - 2.0 * np.arange(30) + t["flow"])
    return pd.concat([yearly(34, 1).assign(shop="stays"), falls])


AHEAD = (
    "flow: # is expected for #, with a chance of # between # and #, and # for # (# to #); the chance of more than the "
    "last value, #, is then #."
)
TRIED = "From # points in the past it was off by # on average,"
LAST = "repeating the last value (#)"

#: What is forecast, and what is said of it, with # for numbers.
CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "one series": (
        lambda: of_years(horizon=4),
        f"{AHEAD} {TRIED} hardly less than {LAST}.",
    ),
    "one step": (
        lambda: of_years(models=["level"], horizon=1, origins=1),
        "flow: # is expected for #, with a chance of # between # and #; the chance of more than the last value, #, is "
        f"then #. From one point in the past it was off by # on average, no better than {LAST}.",
    ),
    "by evidence": (lambda: of_years(origins=0), AHEAD),
    "very short": (
        lambda: of_years(yearly(9)),
        f"{AHEAD} The series is too short to try the forecast on its own past.",
    ),
    "constant": (
        lambda: of_years(yearly(20).assign(flow=7.0), models=()),
        "flow has always been #, and is expected to stay so.",
    ),
    "intermittent": (
        lambda: of_years(few_sales(), models=["counts"]),
        "flow is # most of the time: for # the chance of more is #, and with a chance of # it is between # and #. "
        f"{TRIED} hardly less than {LAST}.",
    ),
    "irregular times, tied": (
        lambda: of_years(at_odd_times(), models=["level", "constant"], horizon=3, origins=2),
        f"{AHEAD} {TRIED} hardly less than {LAST}; # models did about equally well, and say between # and # "
        "for #: it hardly matters which of them is taken. But “constant” may do so well by luck, as all that was seen, "
        "taken together, speaks for “level” instead.",
    ),
    "widened, and no better than naive": (
        lambda: of_years(calm_then_wild()),
        f"{AHEAD} {TRIED} # more than {LAST}. Its # intervals held only # of what came after these points, and are # "
        "times as wide here for that reason.",
    ),
    "with a season": (
        lambda: forecast(
            monthly().rename(columns={"sales": "flow"}),
            time="month",
            value="flow",
            models=["level + season"],
            origins=3,
        ),
        f"{AHEAD} {TRIED} hardly less than repeating the last season (#).",
    ),
    "an event": (
        lambda: of_years(event=2010, models=["level"], origins=2),
        "From # on, # years came to # more in sum than without what began then (# of the effect: # to #); the chance "
        f"that it raised them is #. {TRIED} # more than {LAST}.",
    ),
    "several": (
        lambda: of_years(two_shops(), by="shop", models=["walk", "trend"], origins=2, horizon=3),
        "# series forecast, the largest fall first, with intervals that hold #: “falls” from # to # for # (# to #); "
        "“stays” from # to # for # (# to #). Tried on their own past, forecasts were nearer than repeating the last "
        "value for # of # series.",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_words_of(name: str) -> None:
    make, words = CASES[name]
    assert NUMBER.sub("#", make().verdict) == words
    assert count_sentences(words) <= MOST


def test_numbers_are_those_of_table_and_forecast() -> None:
    """Errors are means over what came after the origins, by hand; chances those of the distribution."""
    found, y = of_years(horizon=4), yearly()["flow"].to_numpy()
    frame, said = found.frame, found.verdict
    first, last = frame.iloc[0], frame.iloc[-1]
    for value in (first["median"], first["lower_80"], first["upper_80"], last["median"], y[-1]):
        assert short_number(value) in said
    assert f"{short_number(y[-1])}, is then {100 * (1 - found.dist.cdf(y[-1])[-1]):.0f} %" in said
    repeated = [abs(y[t] - y[o - 1]) for o in (20, 24, 28, 32, 36) for t in range(o, o + 4)]
    assert f"the last value ({np.mean(repeated):.3g})" in said
    own = np.abs(y[20:] - found.outcomes["average"].unseen.median).mean()
    assert f"off by {own:.3g}" in said


def test_values_far_from_zero_are_told_with_the_digits_that_their_intervals_leave_open() -> None:
    """An interval of some units around 50,000 has ends that differ, and so do last value and forecast."""
    table = yearly().assign(flow=lambda t: 50_000.0 + t["flow"])
    found = of_years(table, horizon=4)
    last = found.frame.iloc[-1]
    for value in (last["median"], last["lower_80"], last["upper_80"], table["flow"].iloc[-1]):
        assert short_number(value, 6) in found.verdict or short_number(value, 7) in found.verdict
    (steps,) = [
        part for part in found.printed(details=True) if getattr(part, "header", ("",))[0] == "year"
    ]
    assert all(len({*row[1:]}) == 5 for row in steps.rows)


def test_who_is_tied_says_how_far_forecasts_lie_apart() -> None:
    found = of_years(at_odd_times(), models=["level", "constant"], horizon=3, origins=2)
    models = [found.outcomes[name].model[-1] for name in ("level", "constant")]
    said = sorted(float(m.forecast(**found.prepared.asked_steps).median[-1]) for m in models)
    assert f"between {short_number(said[0])} and {short_number(said[-1])}" in found.verdict


def test_of_many_series_only_some_models_are_kept_and_no_rivals_are_told() -> None:
    table = pd.concat([at_odd_times().assign(shop=shop) for shop in "ab"])
    asked: dict[str, Any] = {"models": ["level", "constant", "trend"], "horizon": 3, "origins": 2}
    both = of_years(table, by="shop", **asked)
    assert "equally well" in of_years(at_odd_times(), **asked).verdict
    assert not any("equally well" in one.verdict for one in both.series.values())


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (INTERRUPTED, "1 model of 3 had no turn before it was stopped."),
        (OUT_OF_TIME, "1 model of 3 had no turn before time was over."),
    ],
)
def test_models_that_were_not_waited_for_are_said(failure: str, words: str) -> None:
    found = of_years(horizon=2, origins=1)
    found.outcomes["trend"] = found.outcomes["level"]._replace(model=None, failure=failure)
    assert answer_of_forecast(found).endswith(words)


def test_series_that_failed_or_had_no_turn_are_counted() -> None:
    table = pd.concat([two_shops(), yearly(2).assign(shop="new")])
    found = of_years(table, by="shop", models=["walk"], origins=0)
    assert found.verdict.endswith("). 1 series could not be forecast.")
    assert found.failures["new"].startswith("y holds 2 values")
    found.failures["other"] = INTERRUPTED
    assert found.verdict.endswith(
        "1 series could not be forecast; 1 series of 4 had no turn before it was stopped."
    )
    with pytest.raises(ValueError, match=r"y holds 2 values.*\(series 'new'\)"):
        of_years(yearly(2).assign(shop="new"), by="shop")


def test_reasons_are_for_statisticians() -> None:
    told = [NUMBER.sub("#", reason) for reason in of_years(horizon=4).reasons]
    assert told == [
        "“level” foresaw best what came after # origins, # ± # in log density before “average of the models”: as good "
        "as equal, like # models within two standard errors. It is open whether it beats the walk, which repeats the "
        "last value: # ± # (CRPS # times as large).",
        "The forecast is that of the average: level #, walk #.",
        "Its # intervals held #, those of # # of # values.",
    ]
    assert of_years(origins=0).reasons == [
        "By evidence “level” has probability 0.81, before “walk”."
    ]


def test_a_model_at_the_top_that_the_evidence_excludes_is_doubted() -> None:
    found = of_years(at_odd_times(), models=["level", "constant"], horizon=3, origins=2)
    assert found.best == "constant"
    assert found.ranking["constant"].probability < 0.01
    assert any("The evidence of all values doubts “constant”" in reason for reason in found.reasons)
    assert "“constant” may do so well by luck" in found.verdict
    sound = of_years(horizon=4)
    assert not any("doubts" in reason for reason in sound.reasons)
    assert "luck" not in sound.verdict


def test_what_was_widened_is_said_with_both_figures() -> None:
    found = of_years(calm_then_wild())
    held = f"{100 * found.metrics['average']['inside 80 %']:.0f} %"
    assert f"held only {held}" in found.verdict
    assert f"are {found.widening:.2g} times as wide" in found.verdict
    assert f"{found.widening:.3g} times as far from the median" in found.reasons[-1]


def test_rankings_are_for_everybody_and_for_statisticians() -> None:
    found = of_years(horizon=4)
    plain, detailed = (
        [part.header for part in found.printed(details=d) if hasattr(part, "header")]
        for d in (False, True)
    )
    assert plain == [("model", "off by", "in 80 %", "behind", "weight")]
    assert ("model", "score", "CRPS", "scaled", "evidence", "prob.") in detailed
    assert detailed[-1][:2] == ("year", "median")
    assert ranked_rows(of_years(origins=0))[0] == ("model", "evidence", "behind", "prob.")


def test_headings_that_are_not_shown_are_not_explained() -> None:
    header = ("model", "off by", "in 80 %", "behind", "weight")
    assert heading_words(header)[0].startswith("off by: how far")
    assert "in 80 %: share" in heading_words(header)[0]
    assert "in 80 %" not in heading_words(header, ["in 80 %", "weight"])[0]
