"""Forecasts in words: what a series will do, how far such forecasts were off, what that rests on; tables of texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.comparisons.verdict_words import DOUBTED, doubt_of
from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.table.series_calendar import time_words
from posteriori.analysis.table.wording import (
    counted,
    number_with_error,
    number_within,
    one_sentence,
    probability_words,
    short_number,
)
from posteriori.numerics.types import Array
from posteriori.selection.comparison import Row
from posteriori.selection.origins.origin_scores import naive_forecasts

if TYPE_CHECKING:
    from posteriori.analysis.forecasts.forecast_result import Forecast, Forecasts

__all__ = [
    "answer_of_forecast",
    "answer_of_forecasts",
    "known_values",
    "reasons_of_forecast",
    "reasons_of_forecasts",
    "step_texts",
]

#: Forecasts that lie apart by less than this share of the interval are as good as one.
_APART = 0.25
#: Shares of the error below which a difference to repeating values is none worth telling.
_HARDLY = 0.02
#: Series that the answer tells of, and models of the average.
_TOLD, _NAMED = 4, 3


class _Step(NamedTuple):
    """A step ahead in texts: when, median, ends of the narrowest interval, its mass and width, the last value."""

    time: str
    median: str
    low: str
    high: str
    mass: str
    width: float
    known: str


def step_texts(found: Forecast, k: int) -> _Step:
    """Return the k-th step ahead in texts."""
    row, mass = found.frame.iloc[k], f"{100 * found.options.mass[0]:g}"
    ends = (row["median"], row[f"lower_{mass}"], row[f"upper_{mass}"])
    width, values = float(ends[2] - ends[1]), (*ends, known_values(found)[-1])
    median, low, high, known = (number_within(value, width, digits=4) for value in values)
    when = time_words(found.prepared.problem.rows.clock, found.prepared.later.times[k])
    return _Step(when, median, low, high, mass, width, known)


def known_values(found: Forecast) -> Array:
    """Return the values that are known, in their order."""
    y = found.prepared.problem.rows.y
    return y[~np.isnan(y)]


class _Repeated(NamedTuple):
    """How far forecasts that repeat values were off, and the error of what they were off by more."""

    error: float
    gain_error: float


def _repeated(found: Forecast) -> dict[str, _Repeated]:
    """Return what repeating the last value, and the last season, would have been off by after the origins."""
    problem = found.prepared.problem
    mine = np.abs(problem.values - found.outcomes[found.kept].unseen.median)
    made = {}
    for name, said in naive_forecasts(problem).items():
        theirs = np.abs(problem.values - said)
        gains, count = problem.sum_by_origin(theirs - mine), len(problem.origins)
        error = np.sqrt(count) * gains.std(ddof=1) / len(mine) if count > 1 else 0.0
        made[name] = _Repeated(float(theirs.mean()), float(error))
    return made


def _rivals(found: Forecast) -> list[float]:
    """Return medians for the last step of all models that foresaw about as well as the best; none for many series."""
    models = [found.outcomes[name].model for name in _near_best(found)]
    if len(models) < 2 or None in models:
        return []
    made = [model[-1].forecast(**found.prepared.asked_steps) for model in models]
    return [float(np.asarray(dist.median)[-1]) for dist in made]


def _near_best(found: Forecast) -> list[str]:
    """Return the models asked for that are at most a standard error behind the best."""
    near = [row.name for row in found.ranking.rows if row.name == found.best or _is_near(row, 1.0)]
    return [name for name in near if name != AVERAGE and found.asks(found.outcomes[name])]


# -- one series ------------------------------------------------------------------------------


def answer_of_forecast(found: Forecast) -> str:
    """Say what the series will do, how far such forecasts were off, and what to beware of."""
    if found.ranking.rows[0].failure:
        return "No model could be fitted."
    told = _event_sentence(found) or _ahead_sentence(found)
    untried = _untried([o.failure for n, o in found.outcomes.items() if n != AVERAGE], "model")
    doubt = doubt_of(found, few=True) if found.asks(found.outcomes[found.best]) else ""
    tried = _tried(found, least=True), _tied(found)
    beware = doubt, _widened(found), untried
    return " ".join(filter(None, (told, one_sentence(*tried), one_sentence(*beware))))


def _ahead_sentence(found: Forecast) -> str:
    name, known = found.dated.value.name, known_values(found)
    if known.min() == known.max():
        return f"{name} has always been {short_number(known[0])}, and is expected to stay so."
    return (_few_ahead if _mostly_nothing(found, known) else _values_ahead)(name, known, found)


def _few_ahead(name: str, known: Array, found: Forecast) -> str:
    last, more = step_texts(found, -1), 1.0 - np.asarray(found.dist.cdf(0.0))[-1]
    return (
        f"{name} is 0 most of the time: for {last.time} the chance of more is {_percent(more)}, and with a chance of "
        f"{last.mass} % it is between {last.low} and {last.high}."
    )


def _values_ahead(name: str, known: Array, found: Forecast) -> str:
    first, last = step_texts(found, 0), step_texts(found, -1)
    ahead = (
        f"{first.median} is expected for {first.time}, with a chance of {first.mass} % between {first.low} and "
        f"{first.high}"
    )
    if last.time != first.time:
        ahead += f", and {last.median} for {last.time} ({last.low} to {last.high})"
    more = 1.0 - np.asarray(found.dist.cdf(known[-1]))[-1]
    return f"{name}: {ahead}; the chance of more than the last value, {last.known}, is then {_percent(more)}."


def _mostly_nothing(found: Forecast, known: Array) -> bool:
    """Tell whether at least half of a series without negative values is 0, and so is the median ahead."""
    zeros = known.min() == 0.0 and np.mean(known == 0.0) >= 0.5
    return bool(zeros and found.frame["median"].iloc[-1] <= 0.0)


def _percent(p: float) -> str:
    return "above 99 %" if p > 0.99 else "below 1 %" if p < 0.01 else f"{100 * p:.0f} %"


def _tried(found: Forecast, *, least: bool = False) -> str:
    """Say how far forecasts from the past were off, beside those that repeat values, or the better of these."""
    if not found.metrics:
        short = bool(found.options.origins) and not found.prepared.problem.origins
        return "the series is too short to try the forecast on its own past" if short else ""
    known = known_values(found)
    if known.min() == known.max():
        return ""
    count = len(found.prepared.problem.origins)
    points = f"{count} points in the past" if count > 1 else "one point in the past"
    repeated = sorted(_repeated(found).items(), key=lambda pair: pair[1].error)
    told = [_beside(found, *pair) for pair in (repeated[:1] if least else repeated)]
    off = short_number(found.metrics[found.kept]["MAE"], 3)
    return f"from {points} it was off by {off} on average, {' and '.join(told)}"


def _beside(found: Forecast, name: str, naive: _Repeated) -> str:
    """Say how much less that is than repeating values, as far as the origins agree on it."""
    named = f"repeating {name} ({short_number(naive.error, 3)})"
    gain = naive.error - found.metrics[found.kept]["MAE"]
    share = gain / naive.error if naive.error > 0.0 else -float(gain < 0.0)
    if abs(share) < _HARDLY or abs(gain) <= naive.gain_error:
        return f"{'hardly less' if share >= _HARDLY else 'no better'} than {named}"
    return f"{100 * abs(share):.0f} % {'less' if share > 0.0 else 'more'} than {named}"


def _tied(found: Forecast) -> str:
    """Say that several models foresaw about as well, and how far their forecasts lie apart."""
    rivals = _rivals(found)
    if not rivals:
        return ""
    last, ends = step_texts(found, -1), (min(rivals), max(rivals))
    low, high = (number_within(end, last.width, digits=4) for end in ends)
    told = f"{counted(len(rivals), 'model')} did about equally well"
    if low == high:
        return f"{told}, and all say {low} for {last.time}"
    apart = (ends[1] - ends[0]) / max(last.width, 1e-300)
    near = set(_near_best(found))
    theirs = np.nansum([row.weight for row in found.ranking.rows if row.name in near])
    taken = "their average is taken" if theirs > 0.5 else "the choice matters"
    matters = "it hardly matters which of them is taken" if apart < _APART else taken
    return f"{told}, and say between {low} and {high} for {last.time}: {matters}"


def _widened(found: Forecast) -> str:
    if found.widening == 1.0:
        return ""
    held = 100 * found.metrics[found.kept]["inside 80 %"]
    return (
        f"its 80 % intervals held only {held:.0f} % of what came after these points, and are {found.widening:.2g} "
        "times as wide here for that reason"
    )


def _untried(why: Sequence[str], what: str, plural: str = "") -> str:
    """Say how many of those that have failed, or have not, were not waited for."""
    for failure, words in ((INTERRUPTED, "it was stopped"), (OUT_OF_TIME, "time was over")):
        if failure in why:
            return f"{counted(why.count(failure), what, plural)} of {len(why)} had no turn before {words}"
    return ""


def _event_sentence(found: Forecast) -> str:
    """Say what an event changed; nothing if none was asked for."""
    effect = None if found.options.event is None else found.event
    if effect is None:
        return ""
    mass, (low, high) = max(effect.intervals.items())
    more = "less" if effect.total < 0.0 else "more"
    count = int((~np.isnan(found.prepared.actual)).sum())
    steps = counted(count, found.prepared.calendar.step, found.prepared.calendar.steps)
    return (
        f"From {found.options.event} on, {steps} came to {short_number(abs(effect.total))} {more} in sum than without "
        f"what began then ({100 * mass:g} % of the effect: {short_number(low)} to {short_number(high)}); the chance "
        f"that it raised them is {_percent(effect.probability)}."
    )


# -- what that rests on ----------------------------------------------------------------------


def reasons_of_forecast(found: Forecast) -> list[str]:
    """Say which model foresaw best, by how much, how probable it is, who makes the forecast, and what was held."""
    if found.ranking.rows[0].failure:
        return []
    ranked = f"{_ranked(found)} {_against_walks(found)}".rstrip()
    tried = one_sentence(_tried(found)) if found.metrics and len(_repeated(found)) > 1 else ""
    parts = (ranked, tried, _doubt(found), _averaged(found), _held(found))
    return [part for part in parts if part]


def _ranked(found: Forecast) -> str:
    name, rows = found.words(found.best), found.ranking.rows
    others = [row for row in rows[1:] if not row.failure]
    if not others:
        return f"“{name}” is the only model."
    second = found.words(others[0].name)
    if not found.metrics:
        p = probability_words(rows[0].probability)
        return f"By evidence “{name}” has probability {p}, before “{second}”."
    count = counted(len(found.prepared.problem.origins), "origin")
    gap = _gap(others[0])
    said = f"“{name}” foresaw best what came after {count}, {gap} in log density before “{second}”"
    if near := [row for row in others if _is_near(row, 2.0)]:
        return f"{said}: as good as equal, like {counted(len(near), 'model')} within two standard errors."
    return f"{said}: a clear lead."


def _gap(row: Row) -> str:
    return number_with_error(-row.elpd_difference, row.elpd_difference_se)


def _is_near(row: Row, errors: float) -> bool:
    """Tell whether a model is at most so many standard errors behind the best."""
    error = row.elpd_difference_se
    return not math.isnan(error) and -row.elpd_difference <= errors * error


def _doubt(found: Forecast) -> str:
    """Doubt the model at the top where the evidence all but excludes it."""
    rows = {row.name: row for row in found.ranking.rows if row.probability == row.probability}
    if not found.metrics or found.best not in rows or rows[found.best].probability >= DOUBTED:
        return ""
    likely = max(rows.values(), key=lambda row: row.probability)
    return (
        f"The evidence of all values doubts “{found.words(found.best)}”: its probability is "
        f"{probability_words(rows[found.best].probability)}, that of “{found.words(likely.name)}” "
        f"{probability_words(likely.probability)}; to be first after "
        f"{counted(len(found.prepared.problem.origins), 'origin')} may be luck."
    )


def _against_walks(found: Forecast) -> str:
    walks = {"walk": "the last value", "seasonal walk": "the last season"}
    return " ".join(filter(None, (_against(found, *walk) for walk in walks.items())))


def _against(found: Forecast, walk: str, what: str) -> str:
    """Say whether the best model beats one that repeats values."""
    row = next((row for row in found.ranking.rows if row.name == walk and not row.failure), None)
    if row is None or not found.metrics:
        return ""
    if found.best == walk:
        return f"Nothing beats the {walk}, which repeats {what}."
    ratio = found.metrics[found.best]["CRPS"] / max(found.metrics[walk]["CRPS"], 1e-300)
    beats = "It is open whether it beats" if _is_near(row, 2.0) else "It beats"
    return f"{beats} the {walk}, which repeats {what}: {_gap(row)} (CRPS {short_number(ratio, 2)} times as large)."


def _averaged(found: Forecast) -> str:
    if found.kept != AVERAGE:
        return ""
    shares = found.fitted.weights
    first = sorted(shares, key=lambda n: -shares[n])[:_NAMED]
    listed = ", ".join(f"{found.words(n)} {100 * shares[n]:.0f} %" for n in first)
    more = " and others" if len(shares) > _NAMED else ""
    return f"The forecast is that of the average: {listed}{more}."


def _held(found: Forecast) -> str:
    if not found.metrics:
        return ""
    metrics, total = found.metrics[found.kept], len(found.prepared.problem.values)
    held = (
        f"Its 80 % intervals held {100 * metrics['inside 80 %']:.0f} %, those of 95 % "
        f"{100 * metrics['inside 95 %']:.0f} % of {counted(total, 'value')}"
    )
    if found.widening == 1.0:
        return f"{held}."
    return (
        f"{held}; normal levels are {found.widening:.3g} times as far from the median for that reason, less far than "
        "these values alone ask for, as intervals of other series held."
    )


# -- several series --------------------------------------------------------------------------


def answer_of_forecasts(found: Forecasts) -> str:
    """Say what each series will do, the largest fall first, and for how many that was tried and right."""
    if not found.series:
        return "No series could be forecast."
    some = [f"“{name}” {_change(one)}" for name, one in found.by_change[:_TOLD]]
    more = len(found.series) - len(some)
    rest = [f"and {_of_series(more)} more"] if more > 0 else []
    parts = [
        f"{_of_series(len(found.series))} forecast, the largest fall first, with intervals that hold "
        f"{100 * found.options.mass[0]:g} %: {'; '.join([*some, *rest])}."
    ]
    tried = [one for one in found.series.values() if one.metrics]
    nearer = [
        one.metrics[one.kept]["MAE"] < _repeated(one)["the last value"].error for one in tried
    ]
    wider, told = sum(one.widening > 1.0 for one in tried), []
    if tried:
        told = [
            "tried on their own past, forecasts were nearer than repeating the last value for "
            f"{sum(nearer)} of {_of_series(len(tried))}"
        ]
    if wider:
        told.append(f"intervals of {_of_series(wider)} had held too little there, and are widened")
    why = [*("" for _ in found.series), *found.failures.values()]
    failed = sum(one not in ("", INTERRUPTED, OUT_OF_TIME) for one in why)
    lost = f"{_of_series(failed)} could not be forecast" if failed else ""
    parts += [one_sentence(*told), one_sentence(lost, _untried(why, "series", "series"))]
    return " ".join(part for part in parts if part)


def _of_series(count: int) -> str:
    return counted(count, "series", "series")


def _change(one: Forecast) -> str:
    """Say where a series goes from its last value."""
    last = step_texts(one, -1)
    return f"from {last.known} to {last.median} for {last.time} ({last.low} to {last.high})"


def reasons_of_forecasts(found: Forecasts) -> list[str]:
    """Say which models foresaw the series best, and what intervals held of all that came."""
    counts = pd.Series(list(found.best.values()), dtype=object).value_counts()
    listed = ", ".join(f"“{name}” {count}" for name, count in list(counts.items())[:_TOLD])
    others = len(counts) - _TOLD
    more = f" and {counted(others, 'other')}" if others > 0 else ""
    tried = [one for one in found.series.values() if one.metrics]
    reasons = [f"At the top of the rankings: {listed}{more}."] if listed else []
    total = sum(len(one.prepared.problem.values) for one in tried)
    if total:
        held = sum(
            one.metrics[one.kept]["inside 80 %"] * len(one.prepared.problem.values) for one in tried
        )
        reasons.append(
            f"80 % intervals held {100 * held / total:.0f} % of {counted(total, 'value')} after the origins."
        )
    return reasons
