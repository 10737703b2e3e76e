"""Forecasts against StatsForecast: accuracy on nine public series, then time.

Each series is forecast from three origins, one horizon apart: 6 years, 8 quarters, 12 months (or steps).
Densities are compared by the continuous ranked probability score, an integral over quantiles, and by how
many of the values the 80 % intervals hold. StatsForecast gives quantiles of normal distributions.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
import statsmodels.api as sm
from harness import Comparison, compare, report
from statsforecast import StatsForecast
from statsforecast.models import AutoARIMA, AutoETS

from posteriori.datasets import load_air_passengers

ORIGINS = 3
#: Levels of the quantiles over which scores are integrated: midpoints.
LEVELS = (np.arange(40) + 0.5) / 40


class Series(NamedTuple):
    """A public series: values, their times, steps of a season, steps to forecast."""

    name: str
    values: np.ndarray
    times: pd.DatetimeIndex
    period: int
    horizon: int


def public_series() -> list[Series]:
    macro = sm.datasets.macrodata.load_pandas().data
    nile = sm.datasets.nile.load_pandas().data["volume"]
    spots = sm.datasets.sunspots.load_pandas().data["SUNACTIVITY"]
    sea = sm.datasets.elnino.load_pandas().data.iloc[:, 1:].to_numpy().ravel()
    air = sm.datasets.co2.load_pandas().data["co2"].resample("MS").mean().interpolate()
    flights = load_air_passengers()["passengers"]
    quarters = [
        _made(name, macro[name], "1959-01-01", "QS", 4, 8)
        for name in ("realgdp", "cpi", "unemp", "realinv")
    ]
    return [
        _made("nile", nile, "1871-01-01", "YS", 1, 6),
        _made("sunspots", spots, "1700-01-01", "YS", 1, 6),
        _made("elnino", sea, "1950-01-01", "MS", 12, 12),
        _made("co2", air, "1958-03-01", "MS", 12, 12),
        *quarters,
        _made("air passengers", flights, "1949-01-01", "MS", 12, 12),
    ]


def _made(name: str, values: object, start: str, step: str, period: int, horizon: int) -> Series:
    y = np.asarray(values, dtype=np.float64)
    return Series(name, y, pd.date_range(start, periods=len(y), freq=step), period, horizon)


# -- forecasters: quantiles (H, Q) from a past -----------------------------------------------


def our_quantiles(past: Series, levels: np.ndarray) -> np.ndarray:
    from posteriori import forecast

    table = pd.DataFrame({"time": past.times, "value": past.values})
    found = forecast(table, time="time", value="value", horizon=past.horizon)
    return np.column_stack([found.dist.quantile(level) for level in levels])


def our_structural_quantiles(past: Series, levels: np.ndarray) -> np.ndarray:
    """One model without a choice: what ``forecast`` must at least be as good as."""
    from posteriori.sequence import StructuralSeries

    seasons = (past.period,) if past.period > 1 else ()
    model = StructuralSeries("damped", seasons).fit(past.values, time=past.times)
    ahead = model.forecast(past.horizon)
    return np.column_stack([ahead.quantile(level) for level in levels])


def peer_quantiles(kind: type) -> Callable[[Series, np.ndarray], np.ndarray]:
    """Return quantiles by a model of StatsForecast, from its intervals."""

    def quantiles(past: Series, levels: np.ndarray) -> np.ndarray:
        masses = np.unique(np.round(100 * np.abs(2 * levels - 1), 6))
        found = kind(season_length=past.period).forecast(
            past.values, h=past.horizon, level=masses.tolist()
        )
        columns = []
        for level in levels:
            mass = np.round(100 * abs(2 * level - 1), 6)
            side = "lo" if level < 0.5 else "hi"
            columns.append(found[_interval_name(found, side, mass)])
        return np.column_stack(columns)

    return quantiles


def _interval_name(found: dict, side: str, mass: float) -> str:
    for name in (f"{side}-{mass:g}", f"{side}-{mass}", f"{side}-{int(mass)}"):
        if name in found:
            return name
    raise KeyError(f"{side} {mass} among {sorted(found)[:4]}")


# -- accuracy --------------------------------------------------------------------------------


class Score(NamedTuple):
    """Mean CRPS of a series, and how many of its values the 80 % intervals held."""

    crps: float
    inside: int
    values: int


def score_series(series: Series, quantiles: Callable[[Series, np.ndarray], np.ndarray]) -> Score:
    losses, inside, count = [], 0, 0
    asked = np.concatenate([LEVELS, [0.1, 0.9]])
    for back in range(ORIGINS, 0, -1):
        end = len(series.values) - back * series.horizon
        later = series.values[end : end + series.horizon]
        past = series._replace(values=series.values[:end], times=series.times[:end])
        found = quantiles(past, asked)
        over = found[:, :-2] - later[:, None]
        # CRPS = 2 ∫ (1{y ≤ q(u)} − u)(q(u) − y) du
        losses.append(2.0 * np.mean(((over >= 0) - LEVELS) * over, axis=1))
        inside += int(((found[:, -2] <= later) & (later <= found[:, -1])).sum())
        count += len(later)
    return Score(float(np.mean(losses)), inside, count)


def show_accuracy(ours: Callable[[Series, np.ndarray], np.ndarray], series: list[Series]) -> None:
    forecasters = {
        "ours": ours,
        "AutoETS": peer_quantiles(AutoETS),
        "AutoARIMA": peer_quantiles(AutoARIMA),
    }
    print(f"\nAccuracy: mean CRPS from {ORIGINS} origins (share within 80 %)", flush=True)
    print(f"  {'':16}" + "".join(f"{name:>18}" for name in forecasters))
    table: dict[str, list[Score]] = {name: [] for name in forecasters}
    for one in series:
        for name, quantiles in forecasters.items():
            table[name].append(score_series(one, quantiles))
        cells = (f"{s[-1].crps:11.4g} ({s[-1].inside / s[-1].values:4.0%})" for s in table.values())
        print(f"  {one.name:16}" + "".join(cells), flush=True)
    means = {name: np.exp(np.mean([np.log(s.crps) for s in kept])) for name, kept in table.items()}
    for peer, bar in (("AutoETS", 0.9), ("AutoARIMA", 1.0)):
        ratio = means["ours"] / means[peer]
        flag = "" if ratio <= bar else "   MISSED"
        print(f"  geometric mean of CRPS, ours/{peer}: {ratio:.3f} (goal <= {bar}){flag}")
    for name, kept in table.items():
        share = sum(s.inside for s in kept) / sum(s.values for s in kept)
        flag = "   MISSED" if name == "ours" and not 0.7 <= share <= 0.9 else ""
        print(f"  80 % intervals of {name} hold {share:.1%} of the values{flag}", flush=True)


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
    """So many series without origins beside AutoETS on all cores."""
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
        made = StatsForecast([AutoETS(season_length=12)], freq="MS", n_jobs=-1)
        return made.forecast(df=table, h=12, level=[80])

    name = f"{count:,} series of {months} months"
    return compare(name, ours, theirs, bar=0.5, faster=True, rounds=1, warm=False)


def main(arguments: list[str]) -> None:
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    ours = our_structural_quantiles if "--structural" in arguments else our_quantiles
    show_accuracy(ours, public_series())
    if "--structural" not in arguments:
        report("Time of forecasts", [monthly_row(), many_rows()])
    print(f"  {time.perf_counter() - start:.0f} s in all", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
