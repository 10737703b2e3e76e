"""Tables of the size and shape that people meet first: penguins, a stock exchange, months, a number to predict."""

from __future__ import annotations

import numpy as np
import pandas as pd

from posteriori.datasets import load_air_passengers

__all__ = ["make_effects", "make_exchange", "make_months", "make_penguins"]

#: Rows, share of the islands, and by sex the means of bill length, bill depth, flipper length and mass.
_SPECIES = {
    "Adelie": (152, (0.37, 0.29, 0.34), ((37.3, 17.6, 188.0, 3370.0), (40.4, 19.1, 192.0, 4040.0))),
    "Gentoo": (124, (0.0, 1.0, 0.0), ((45.6, 14.2, 213.0, 4680.0), (49.5, 15.7, 222.0, 5480.0))),
    "Chinstrap": (68, (1.0, 0.0, 0.0), ((46.6, 17.6, 192.0, 3530.0), (51.1, 19.3, 200.0, 3940.0))),
}
_ISLANDS = ("Dream", "Biscoe", "Torgersen")
_MEASURES = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
#: Deviations within a species and a sex, and how far measures share the size of the animal.
_SPREADS, _COMMON = np.array([2.3, 0.8, 5.8, 290.0]), 0.6
#: To which measures are recorded.
_STEPS = np.array([0.1, 0.1, 1.0, 25.0])

#: How a target may follow a column, and the size of what no column tells.
_SHAPES = (lambda z: z, lambda z: np.sin(2.0 * z), np.abs, lambda z: z > 0.5, np.tanh)
_NOISE = 0.6


def make_effects(rows: int, columns: int, seed: int = 0) -> pd.DataFrame:
    """Return columns that share a part, two of them of levels, and "y": curves of half of them, and noise.

    Two columns act together; the further down a column, the weaker it is.
    """
    rng = np.random.default_rng(seed)
    z = 0.5 * rng.normal(size=(rows, 1)) + np.sqrt(0.75) * rng.normal(size=(rows, columns - 2))
    levels = rng.integers(3, size=rows), rng.integers(8, size=rows)
    signal = 0.7 * z[:, 0] * z[:, 1]
    for place in range(columns // 2):
        signal = signal + _SHAPES[place % len(_SHAPES)](z[:, place]) / (1.0 + 0.5 * place)
    for level in levels:
        signal = signal + 0.5 * rng.normal(size=level.max() + 1)[level]
    z[:, 2], z[:, 3] = np.exp(z[:, 2]), np.round(10.0 * z[:, 3])  # skewed, and whole numbers
    table = pd.DataFrame(z, columns=[f"x{place + 1}" for place in range(columns - 2)]).round(4)
    for name, level in zip(("kind", "place"), levels, strict=True):
        table[name] = np.array(list("abcdefgh"))[level]
    table["y"] = (signal / signal.std() + _NOISE * rng.normal(size=rows)).round(4)
    return table


def make_penguins(seed: int = 0) -> pd.DataFrame:
    """Return 344 × 7 like the penguins of Palmer: three species, four measures, islands, sexes, some gaps."""
    rng = np.random.default_rng(seed)
    parts = []
    for species, (rows, shares, means) in _SPECIES.items():
        sexes = rng.integers(2, size=rows)
        size = _COMMON * rng.normal(size=(rows, 1))
        own = np.sqrt(1.0 - _COMMON**2) * rng.normal(size=(rows, len(_MEASURES)))
        measured = np.array(means)[sexes] + _SPREADS * (size + own)
        part = pd.DataFrame(_STEPS * np.round(measured / _STEPS), columns=list(_MEASURES)).round(1)
        part.insert(0, "species", species)
        part.insert(1, "island", rng.choice(_ISLANDS, rows, p=shares))
        part["sex"] = np.where(sexes == 1, "male", "female")
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    table.loc[rng.choice(len(table), 11, replace=False), "sex"] = None
    table.loc[[3, 271], list(_MEASURES)] = np.nan
    return table


def make_exchange(days: int = 1500, seed: int = 0) -> pd.DataFrame:
    """Return daily returns and log volumes whose spread and level drift and jump between three regimes."""
    rng = np.random.default_rng(seed)
    stays = np.array([[0.985, 0.013, 0.002], [0.02, 0.965, 0.015], [0.01, 0.05, 0.94]])
    regime, drift, rows = 0, 0.0, []
    for _ in range(days):
        regime = rng.choice(3, p=stays[regime])
        drift = 0.97 * drift + 0.06 * rng.normal()  # what a regime leaves open lasts for some weeks
        spread = (0.005, 0.009, 0.02)[regime] * np.exp(drift)
        move = spread * rng.standard_t(6.0)
        volume = (-0.15, 0.0, 0.25)[regime] + 0.6 * drift + 6.0 * abs(move) + 0.12 * rng.normal()
        rows.append(((0.0006, 0.0002, -0.002)[regime] + move, volume))
    return pd.DataFrame(rows, columns=["dj_return", "log_volume"]).round(6)


def make_months(series: int = 5, months: int = 123, seed: int = 0) -> pd.DataFrame:
    """Return a long table of monthly counts with a trend and a season, made from those of air passengers."""
    rng = np.random.default_rng(seed)
    flown = np.log(load_air_passengers().frame["passengers"].to_numpy(dtype=np.float64))[:months]
    trend = np.poly1d(np.polyfit(np.arange(months), flown, 1))(np.arange(months))
    dates = pd.date_range("1949-01-01", periods=months, freq="MS")
    parts = []
    for place in range(series):
        walk = np.cumsum(0.02 * rng.normal(size=months))
        season = np.roll(flown - trend, int(rng.integers(12))) * rng.uniform(0.5, 1.5)
        log_level = rng.uniform(4.0, 6.0) + rng.uniform(0.2, 1.2) * (trend - trend[0])
        values = np.exp(log_level + walk + season + 0.03 * rng.normal(size=months))
        parts.append(pd.DataFrame({"series": f"line {place + 1}", "month": dates}))
        parts[-1]["passengers"] = values.round()
    return pd.concat(parts, ignore_index=True)
