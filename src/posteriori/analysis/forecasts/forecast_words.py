"""Forecasts in words: the ranking as a table of texts, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.table.series_calendar import time_words
from posteriori.analysis.table.wording import (
    counted,
    even_number,
    fixed_number,
    number_with_error,
    short_number,
)
from posteriori.selection.comparison import Row

if TYPE_CHECKING:
    from posteriori.analysis.forecasts.forecast_result import Forecast, Forecasts

__all__ = [
    "event_sentence",
    "forecast_rows",
    "heading_words",
    "series_rows",
    "step_rows",
    "verdict_of_forecast",
    "verdict_of_forecasts",
]

#: What the headings of the ranking mean.
_HEADINGS = {
    "score": "log density of what came after the origins, ± standard error over origins",
    "behind": "its difference to the best",
    "CRPS": "mean distance of forecasts from what came",
    "scaled": "mean absolute error in units of the seasonal naive forecast's",
    "in 80 %": "share of the values inside the 80 % intervals",
}

_WALK = "walk"


def heading_words(hidden: Sequence[str] = ()) -> str:
    """Return what the headings of the ranking mean, but for those that are not shown."""
    return "; ".join(f"{name}: {words}" for name, words in _HEADINGS.items() if name not in hidden)


def forecast_rows(found: Forecast) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the ranking: a header, and a row of texts for each candidate, best first."""
    header: tuple[str, ...] = (
        "model",
        "score",
        "behind",
        "CRPS",
        "scaled",
        "in 80 %",
        "evidence",
        "prob.",
    )
    if not found.prepared.problem.origins:
        header = ("model", "evidence", "behind", "prob.")
    return header, [_cells(row, found, len(header)) for row in found.ranking.rows]


def _cells(row: Row, found: Forecast, width: int) -> tuple[str, ...]:
    name = found.words(row.name)
    if row.failure:
        return (name, "failed", *("" for _ in range(width - 2)))
    evidence = "" if math.isnan(row.log_evidence) else fixed_number(row.log_evidence)
    probability = _probability(row.probability)
    if row.name not in found.metrics:
        behind = fixed_number(row.log_bayes_factor) if row.log_bayes_factor < 0.0 else ""
        return (name, evidence, behind, probability)
    metrics = found.metrics[row.name]
    best = row.elpd_difference == 0.0
    return (
        name,
        number_with_error(row.elpd, row.elpd_se),
        "" if best else number_with_error(row.elpd_difference, row.elpd_difference_se),
        even_number(metrics["CRPS"], 3),
        fixed_number(metrics["scaled error"], 2),
        f"{100 * metrics['inside 80 %']:.0f} %",
        evidence,
        probability,
    )


def _probability(p: float) -> str:
    if math.isnan(p):
        return ""
    return f"{p:.2f}" if p >= 0.005 else "<0.01"


def verdict_of_forecast(found: Forecast) -> str:
    """Say which model foresees best, by how much, whether it beats the walk; who makes the forecast, and what it is."""
    if found.ranking.rows[0].failure:
        return "No model could be fitted."
    parts = [_ranked_sentence(found), _walk_sentence(found), _average_sentence(found)]
    parts += [_covered_sentence(found), event_sentence(found) or _ahead_sentence(found)]
    return " ".join(part for part in parts if part)


def _ranked_sentence(found: Forecast) -> str:
    name, rows = found.words(found.best), found.ranking.rows
    others = [row for row in rows[1:] if not row.failure]
    if not found.prepared.problem.origins:
        if not others:
            return f"“{name}” is the only model."
        p = rows[0].probability
        second = found.words(others[0].name)
        return f"By evidence “{name}” has probability {p:.2f}, before “{second}”."
    if not others:
        return f"“{name}” is the only model."
    count = counted(len(found.prepared.problem.origins), "origin")
    near = [row for row in others if _is_near(row)]
    second = found.words(others[0].name)
    gap = number_with_error(-others[0].elpd_difference, others[0].elpd_difference_se)
    said = f"“{name}” foresaw best what came after {count}, {gap} in log density before “{second}”"
    if near:
        return f"{said}: as good as equal, like {counted(len(near), 'model')} within two standard errors."
    return f"{said}: a clear lead."


def _is_near(row: Row) -> bool:
    error = row.elpd_difference_se
    return not math.isnan(error) and -row.elpd_difference <= 2.0 * error


def _walk_sentence(found: Forecast) -> str:
    names = {row.name: row for row in found.ranking.rows if not row.failure}
    if _WALK not in names or not found.prepared.problem.origins:
        return ""
    if found.best == _WALK:
        return "Nothing beats the walk, which forecasts the last value."
    walk = names[_WALK]
    gap, error = -walk.elpd_difference, walk.elpd_difference_se
    ratio = found.metrics[found.best]["CRPS"] / max(found.metrics[_WALK]["CRPS"], 1e-300)
    told = number_with_error(gap, error)
    change = f"CRPS {short_number(ratio, 2)} times as large"
    if math.isnan(error) or gap > 2.0 * error:
        return f"It beats the walk, which forecasts the last value, by {told} ({change})."
    return f"Whether it beats the walk, which forecasts the last value, is open: {told} ({change})."


def _average_sentence(found: Forecast) -> str:
    if found.kept != AVERAGE:
        return ""
    shares = found.fitted.weights
    first = sorted(shares, key=lambda n: -shares[n])[:3]
    listed = ", ".join(f"{found.words(n)} {100 * shares[n]:.0f} %" for n in first)
    return (
        f"The forecast is that of the average: {listed}{' and others' if len(shares) > 3 else ''}."
    )


def _covered_sentence(found: Forecast) -> str:
    if found.kept not in found.metrics:
        return ""
    share = found.metrics[found.kept]["inside 80 %"]
    total = len(found.prepared.problem.values)
    return f"Its 80 % intervals held {100 * share:.0f} % of {counted(total, 'value')}."


def _ahead_sentence(found: Forecast) -> str:
    clock, later = found.prepared.problem.rows.clock, found.prepared.later
    mass = found.options.mass[0]
    name = f"{100 * mass:g}"
    frame = found.frame
    ends = [0, len(frame) - 1] if len(frame) > 1 else [0]
    told = [
        f"{short_number(frame['median'].iloc[k])} for {time_words(clock, later.times[k])} "
        f"({name} %: {short_number(frame[f'lower_{name}'].iloc[k])} to "
        f"{short_number(frame[f'upper_{name}'].iloc[k])})"
        for k in ends
    ]
    return f"It expects {', and '.join(told)}."


def event_sentence(found: Forecast) -> str:
    """Say what an event changed; nothing if none was asked for."""
    effect = found.event
    if effect is None:
        return ""
    mass = max(effect.intervals)
    low, high = effect.intervals[mass]
    more = "less" if effect.total < 0.0 else "more"
    count = int((~np.isnan(found.prepared.actual)).sum())
    steps = counted(count, found.prepared.calendar.step, found.prepared.calendar.steps)
    return (
        f"From {found.options.event} on, {steps} came to {short_number(abs(effect.total))} {more} in sum than without "
        f"what began then ({100 * mass:g} % of the effect: {short_number(low)} to {short_number(high)}); the effect is positive "
        f"with probability {effect.probability:.3g}."
    )


def step_rows(found: Forecast) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the forecast step by step: medians, and ends of the intervals."""
    frame, clock = found.frame, found.prepared.problem.rows.clock
    columns = [name for name in frame if name.startswith(("median", "lower_", "upper_"))]
    header = (
        found.prepared.calendar.step,
        *(name.replace("_", " ") + " %" * ("_" in name) for name in columns),
    )
    times = [time_words(clock, time) for time in found.prepared.later.times]
    rows = [
        (when, *(short_number(value) for value in line))
        for when, line in zip(times, frame[columns].to_numpy(), strict=True)
    ]
    return header, rows


# -- several series --------------------------------------------------------------------------


def verdict_of_forecasts(found: Forecasts) -> str:
    """Say how many series there are, and which models foresee them best."""
    if not found.series:
        return "No series could be forecast."
    counts = pd.Series(list(found.best.values())).value_counts()
    listed = ", ".join(f"“{name}” {count}" for name, count in list(counts.items())[:4])
    more = f" and {counted(len(counts) - 4, 'other')}" if len(counts) > 4 else ""
    failed = (
        f" {counted(len(found.failures), 'series', 'series')} failed." if found.failures else ""
    )
    count = counted(len(found.series), "series", "series")
    return f"{count} forecast; at the top are {listed}{more}.{failed}"


def series_rows(found: Forecasts) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return a header, and for every series which model foresaw it best, and what is forecast, how well."""
    mass = f"{100 * found.options.mass[0]:g}"
    header: tuple[str, ...] = (
        "series",
        "values",
        "best model",
        "scaled",
        "in 80 %",
        "last",
        "next",
        f"{mass} %",
    )
    rows: list[tuple[str, ...]] = []
    for name, one in found.series.items():
        problem, frame, metrics = one.prepared.problem, one.frame, one.metrics.get(one.kept, {})
        known = problem.rows.y[problem.rows.y == problem.rows.y]
        clock, later = problem.rows.clock, one.prepared.later
        low, high = (short_number(frame[f"{end}_{mass}"].iloc[0]) for end in ("lower", "upper"))
        rows.append(
            (
                name,
                str(len(known)),
                one.words(one.best),
                fixed_number(metrics["scaled error"], 2) if metrics else "",
                f"{100 * metrics['inside 80 %']:.0f} %" if metrics else "",
                short_number(known[-1]),
                f"{short_number(frame['median'].iloc[0])} ({time_words(clock, later.times[0])})",
                f"{low} to {high}",
            )
        )
    rows += [(name, "", "failed", *("" for _ in range(5))) for name in found.failures]
    return header, rows
