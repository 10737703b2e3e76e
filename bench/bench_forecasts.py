"""Forecasts beside StatsForecast: accuracy on public series, half of which nothing was tuned on, then time.

Each series is forecast from up to three origins, one horizon apart: 6 years, 8 quarters, 12 months, 14 days.
Densities are compared by the continuous ranked probability score, an integral over quantiles, points by errors in
units of the seasonal naive forecast, and intervals by how many values they hold.

Usage: ``bench_forecasts.py [tuning | testing | all] [WORD …]``: only series whose names contain a word, without times.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import defaultdict
from typing import NamedTuple

import numpy as np
import pandas as pd
from forecast_peers import LEVELS, MEAN, PEERS, Quantiles, peer_quantiles
from harness import Comparison, compare, report
from public_series import Series, public_series, series_of_half
from statsforecast import StatsForecast
from statsforecast.models import AutoARIMA, AutoETS

ORIGINS, FEWEST = 3, 12
#: Geometric mean of our CRPS over that of each peer, at most.
BARS = {"AutoETS": 0.93, "AutoARIMA": 0.95, MEAN: 1.0}
#: Shares that intervals are to hold.
HELD = {80: (0.77, 0.84), 95: (0.93, 0.97)}


def our_quantiles(past: Series) -> Quantiles:
    from posteriori import forecast

    table = pd.DataFrame({"time": past.times, "value": past.values})
    start = time.process_time()
    found = forecast(table, time="time", value="value", horizon=past.horizon, jobs=1)
    dist = found.dist
    seconds = time.process_time() - start
    return Quantiles(np.column_stack([dist.quantile(level) for level in LEVELS]), seconds)


class Score(NamedTuple):
    """Mean CRPS and scaled error, values inside 80 and 95 % intervals, how many there are, and seconds a fit."""

    crps: float
    error: float
    inside: tuple[int, int]
    values: int
    seconds: float


def score_series(series: Series) -> dict[str, Score]:
    """Return the scores of ours and of all peers."""
    told: dict[str, list[tuple[np.ndarray, ...]]] = defaultdict(list)
    for back in range(ORIGINS, 0, -1):
        past, later = series.before(back), series.after(back)
        if len(past.values) < FEWEST:
            continue
        scale = np.abs(past.values[past.period :] - past.values[: -past.period]).mean()
        said = {"ours": our_quantiles(past), **peer_quantiles(past)}
        for name, found in said.items():
            told[name].append(_judge(found, later, scale))
    return {name: _joined(parts) for name, parts in told.items()}


def _judge(found: Quantiles, later: np.ndarray, scale: float) -> tuple[np.ndarray, ...]:
    """Return CRPS and scaled error of each value, whether intervals held it, and the seconds."""
    values, levels = found.values, LEVELS[:-4]
    over = values[:, :-4] - later[:, None]
    # CRPS = 2 ∫ (1{y ≤ q(u)} − u)(q(u) − y) du
    crps = 2.0 * np.mean(((over >= 0) - levels) * over, axis=1)
    middle = 0.5 * (values[:, 19] + values[:, 20])
    inside = [(values[:, k] <= later) & (later <= values[:, k + 1]) for k in (-4, -2)]
    return crps, np.abs(later - middle) / scale, *inside, np.array([found.seconds])


def _joined(parts: list[tuple[np.ndarray, ...]]) -> Score:
    crps, error, narrow, wide, seconds = (np.concatenate(one) for one in zip(*parts, strict=True))
    inside = int(narrow.sum()), int(wide.sum())
    return Score(float(crps.mean()), float(error.mean()), inside, len(crps), float(seconds.mean()))


def show_accuracy(half: str, series: list[Series]) -> None:
    names = ("ours", *PEERS, MEAN)
    print(
        f"\nAccuracy on {len(series)} series, {half}: mean CRPS from {ORIGINS} origins", flush=True
    )
    print(f"  {'':30}" + "".join(f"{name:>12}" for name in names))
    table: dict[str, list[Score]] = {name: [] for name in names}
    for one in series:
        for name, score in score_series(one).items():
            table[name].append(score)
        cells = "".join(f"{table[name][-1].crps:12.4g}" for name in names)
        print(f"  {one.name:30}{cells}   {table['ours'][-1].seconds:.2f} s", flush=True)
    for peer in names[1:]:
        logs = [np.log(a.crps / b.crps) for a, b in zip(table["ours"], table[peer], strict=True)]
        ratio, error = np.exp(np.mean(logs)), np.std(logs) / np.sqrt(len(logs))
        bar = BARS.get(peer)
        flag = "   MISSED" if bar is not None and ratio > bar else ""
        goal = "" if bar is None else f" (goal <= {bar})"
        print(
            f"  geometric mean of CRPS, ours/{peer}: {ratio:.3f} ± {error * ratio:.3f}{goal}{flag}"
        )
    for name, kept in table.items():
        _show_one(name, kept)


def _show_one(name: str, kept: list[Score]) -> None:
    """Print scaled errors, shares inside intervals, and seconds of a forecaster."""
    count = sum(s.values for s in kept)
    shares = [sum(s.inside[k] for s in kept) / count for k in (0, 1)]
    sound = all(low <= s <= high for s, (low, high) in zip(shares, HELD.values(), strict=True))
    held = " and ".join(f"{100 * s:.1f} %" for s in shares)
    error, seconds = (np.mean([getattr(s, what) for s in kept]) for what in ("error", "seconds"))
    flag = "   MISSED" if name == "ours" and not sound else ""
    print(
        f"  {name:12} scaled error {error:.3f}; 80 and 95 % intervals hold {held}{flag}; "
        f"{seconds:.2f} processor seconds a forecast",
        flush=True,
    )


# -- time ------------------------------------------------------------------------------------


def monthly_row() -> Comparison:
    """The defaults of ``forecast`` beside AutoARIMA at the same six origins."""
    from posteriori import forecast

    series = next(s for s in public_series() if s.name == "air passengers")
    table = pd.DataFrame({"time": series.times, "value": series.values})

    def ours() -> object:
        return forecast(table, time="time", value="value", horizon=12)

    def theirs() -> object:
        ends = [len(series.values) - 12 * back for back in range(6)]
        return [AutoARIMA(season_length=12).forecast(series.values[:end], h=12) for end in ends]

    return compare("forecast, T = 144", ours, theirs, bar=0.5, faster=True, rounds=3)


def many_rows(count: int = 1000, months: int = 120) -> Comparison:
    """So many series without origins beside AutoETS and AutoARIMA on all cores."""
    from posteriori import forecast

    rng = np.random.default_rng(0)
    times = pd.date_range("2010-01-01", periods=months, freq="MS")
    season = 10.0 * np.sin(2 * np.pi * np.arange(months) / 12)
    walks = 100.0 + np.cumsum(rng.normal(0, 1, (count, months)), axis=1)
    values = walks + season * rng.uniform(0, 1, (count, 1)) + rng.normal(0, 2, (count, months))
    table = pd.DataFrame(
        {
            "unique_id": np.repeat(np.arange(count), months),
            "ds": np.tile(times, count),
            "y": values.ravel(),
        }
    )

    def ours() -> object:
        return forecast(table, time="ds", value="y", by="unique_id", horizon=12, origins=0)

    def theirs() -> object:
        models = [AutoETS(season_length=12), AutoARIMA(season_length=12)]
        made = StatsForecast(models, freq="MS", n_jobs=-1)
        return made.forecast(df=table, h=12, level=[80])

    name = f"{count:,} series of {months} months"
    return compare(name, ours, theirs, bar=1.5, faster=True, rounds=1, warm=False)


def main(arguments: list[str]) -> None:
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    chosen = arguments[:1] if arguments[:1] in (["tuning"], ["testing"], ["all"]) else []
    words = arguments[len(chosen) :]
    for half in chosen or ["tuning", "testing"]:
        some = [s for s in series_of_half(half) if not words or any(w in s.name for w in words)]
        show_accuracy(half, some)
    if not arguments:
        report("Time of forecasts", [monthly_row(), many_rows()])
    print(f"  {time.perf_counter() - start:.0f} s in all", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
