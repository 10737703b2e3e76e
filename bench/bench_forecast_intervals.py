r"""Do intervals of ``forecast`` hold what they promise? Series of 17 known processes, many futures of each.

A process turns standard normals into a series. A hundred futures share their past, are forecast once, and are
all compared with the forecast: the share of them inside an interval says how much the interval holds *after this
past*, with less noise than one future would leave. Standard errors are over pasts.

Beside that stands how far medians are off, in units of repeating the last value: those of the average, which makes the
forecast; of the first of the ranking; and of the walk where that is within a standard error of the first.

Usage: ``bench_forecast_intervals.py [SERIES [WORD …]]``: so many pasts of each process (60 by default), only
processes whose names contain a word. It fails when an 80 % interval of a process holds less than 75 %, or
those of all hold less than 78 or more than 84 %.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special, stats

__all__ = ["HORIZON", "PROCESSES", "Series", "make_series"]

HORIZON, FUTURES, BURN_IN = 12, 100, 100
MASSES = (0.5, 0.8, 0.95)
#: What 80 % intervals hold at least for each process; at least and at most for all together.
LEAST, ALL = 0.75, (0.78, 0.84)

#: Futures that densities are averaged over, none of which counts less than so many nats.
SCORED, LOWEST = 20, -30.0

#: From standard normals (S, T, 3) to series (S, T).
Process = Callable[[np.ndarray], np.ndarray]


def autoregression(*weights: float) -> Process:
    """y_t = Σ φ_k y_{t−k} + ε_t."""

    def made(z: np.ndarray) -> np.ndarray:
        y = np.zeros(z.shape[:2])
        for t in range(z.shape[1]):
            y[:, t] = z[:, t, 0] + sum(w * y[:, t - k - 1] for k, w in enumerate(weights) if t > k)
        return y

    return made


def cycle(period: float, radius: float) -> Process:
    """An autoregression of second order with roots radius · exp(± 2πi/period)."""
    return autoregression(2.0 * radius * np.cos(2.0 * np.pi / period), -(radius**2))


def moving_average(weight: float) -> Process:
    """y_t = ε_t + θ ε_{t−1}."""

    def made(z: np.ndarray) -> np.ndarray:
        y = z[..., 0].copy()
        y[:, 1:] += weight * z[:, :-1, 0]
        return y

    return made


def summed(process: Process, drift: float = 0.0) -> Process:
    """Sums of a process from its first value on."""
    return lambda z: np.cumsum(drift + process(z), axis=1)


def local_trend(damping: float, level: float, slope: float, noise: float) -> Process:
    """A level and a slope that walk, the slope damped; standard deviations of their steps and of noise."""

    def made(z: np.ndarray) -> np.ndarray:
        slopes = np.zeros(z.shape[:2])
        for t in range(1, z.shape[1]):
            slopes[:, t] = damping * slopes[:, t - 1] + slope * z[:, t, 1]
        return np.cumsum(slopes + level * z[..., 2], axis=1) + noise * z[..., 0]

    return made


def seasonal(z: np.ndarray) -> np.ndarray:
    """A level that walks, a season of 12 that stays, noise."""
    wave = 3.0 * np.tile(z[:1, :12, 1], (1, z.shape[1] // 12 + 1))[:, : z.shape[1]]
    return np.cumsum(0.3 * z[..., 2], axis=1) + wave + z[..., 0]


def level_shift(z: np.ndarray) -> np.ndarray:
    """Noise about a level that changes by four standard deviations, once within what is seen."""
    seen = z.shape[1] - HORIZON - BURN_IN
    place = BURN_IN + int(seen * (0.3 + 0.5 * special.ndtr(z[0, 0, 1])))
    return z[..., 0] + 4.0 * (np.arange(z.shape[1]) >= place)


def counts(z: np.ndarray) -> np.ndarray:
    """Poisson counts whose log rate is an autoregression."""
    rate = np.exp(1.5 + 0.15 * autoregression(0.95)(z[..., 1:]))
    return stats.poisson.ppf(special.ndtr(z[..., 0]), rate)


PROCESSES: dict[str, Process] = {
    "white noise": lambda z: z[..., 0],
    "random walk": summed(lambda z: z[..., 0]),
    "random walk with drift": summed(lambda z: z[..., 0], 0.3),
    "AR(1) 0.5": autoregression(0.5),
    "AR(1) 0.9": autoregression(0.9),
    "AR(2), period 8": cycle(8.0, 0.9),
    "AR(2), period 20": cycle(20.0, 0.95),
    "MA(1)": moving_average(0.6),
    "ARIMA(0,1,1)": summed(moving_average(-0.5)),
    "ARIMA(1,1,0)": summed(autoregression(0.6)),
    "damped trend": local_trend(0.9, 0.5, 0.2, 1.0),
    "local linear trend": local_trend(1.0, 0.5, 0.05, 1.0),
    "seasonal": seasonal,
    "log seasonal": lambda z: np.exp(3.0 + 0.1 * seasonal(z)),
    "level shift": level_shift,
    "counts": counts,
    "heavy tails": lambda z: (
        stats.t.ppf(special.ndtr(z[..., 0]), 3.0) + autoregression(0.7)(z[..., 1:])
    ),
}


class Series(NamedTuple):
    """A past as a table of "time" and "value", and what may come after it, (S, H)."""

    table: pd.DataFrame
    futures: np.ndarray


def make_series(name: str, seed: int) -> Series:
    """Return a series of 60 to 150 steps; every other one is far from 0, every other pair has monthly dates."""
    rng = np.random.default_rng([list(PROCESSES).index(name), seed])
    steps = int(rng.integers(60, 151))
    z = np.repeat(rng.standard_normal((1, BURN_IN + steps + HORIZON, 3)), FUTURES, axis=0)
    z[:, -HORIZON:] = rng.standard_normal((FUTURES, HORIZON, 3))
    y = PROCESSES[name](z)[:, BURN_IN:]
    if name not in ("log seasonal", "counts"):
        y = y - y[0, 0] + (seed % 2) * 100.0
    monthly = "seasonal" in name or seed // 2 % 2
    times = pd.date_range("2010-01-01", periods=steps, freq="MS") if monthly else np.arange(steps)
    return Series(pd.DataFrame({"time": times, "value": y[0, :steps]}), y[:, steps:])


class Held(NamedTuple):
    """What one forecast held: shares of futures by mass (M,), mean log density, mean width of 80 % intervals.

    And how far medians of the average, the first and the walk where it is tied were off, (3,).
    """

    shares: np.ndarray
    log_density: float
    width: float
    off: np.ndarray


def judge(series: Series) -> Held:
    """Forecast a past, and compare with its futures; values stand for the step to which they are recorded."""
    from posteriori import forecast
    from posteriori.selection.cross_validation import recorded_log_density

    found = forecast(series.table, time="time", value="value", horizon=HORIZON, jobs=1)
    ends = [[found.dist.quantile(0.5 + side * m) for side in (-0.5, 0.5)] for m in MASSES]
    inside = [((low <= series.futures) & (series.futures <= high)).mean() for low, high in ends]
    low, high = ends[MASSES.index(0.8)]
    some = series.futures[:SCORED]
    logs = recorded_log_density(found.dist, some, found.prepared.problem.step)
    density = float(np.maximum(logs, LOWEST).mean())
    return Held(np.array(inside), density, float((high - low).mean()), errors(found, series))


def errors(found: object, series: Series) -> np.ndarray:
    """Return how far three choices are off, in units of repeating the last value."""
    row = found.ranking["walk"]
    tied = -row.elpd_difference <= row.elpd_difference_se
    off = [
        np.abs(series.futures - found.outcomes[name].model[-1].forecast(HORIZON).median).mean()
        for name in (found.kept, found.best, "walk" if tied else found.best)
    ]
    return np.array(off) / np.abs(series.futures - series.table["value"].iloc[-1]).mean()


def show_process(name: str, count: int) -> np.ndarray:
    """Print what intervals of a process hold; return their shares."""
    start = time.process_time()
    found = [judge(make_series(name, seed)) for seed in range(count)]
    shares = np.array([one.shares for one in found])
    mean, error = shares.mean(axis=0), shares.std(axis=0, ddof=1) / np.sqrt(count)
    held = "  ".join(f"{100 * m:5.1f} ± {100 * e:3.1f}" for m, e in zip(mean, error, strict=True))
    density, width = (np.mean([one[k] for one in found]) for k in (1, 2))
    seconds = (time.process_time() - start) / count
    off = "  ".join(f"{x:5.2f}" for x in np.mean([one.off for one in found], axis=0))
    flag = "" if mean[MASSES.index(0.8)] >= LEAST else "   MISSED"
    print(
        f"  {name:24}{held}  {density:9.3f}  {width:8.3g}  {off}  {seconds:5.2f} s{flag}",
        flush=True,
    )
    return mean


def main(arguments: list[str]) -> int:
    warnings.simplefilter("ignore")
    count = int(arguments[0]) if arguments else 60
    names = [n for n in PROCESSES if not arguments[1:] or any(w in n for w in arguments[1:])]
    heads = "  ".join(f"{f'in {100 * m:g} %':>11}" for m in MASSES)
    print(f"{count} pasts of each process, {FUTURES} futures of each past")
    print(f"  {'':24}{heads}  {'density':>9}  {'width':>8}  off: average, first, tied walk")
    shares = np.array([show_process(name, count) for name in names])
    whole = shares.mean(axis=0)
    print(f"  {'all':24}" + "  ".join(f"{100 * m:5.1f}      " for m in whole))
    share, least = whole[MASSES.index(0.8)], shares[:, MASSES.index(0.8)].min()
    sound = least >= LEAST and (len(names) < len(PROCESSES) or ALL[0] <= share <= ALL[1])
    print(f"  80 % intervals hold {share:.1%}, of no process less than {least:.1%}")
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
