"""What candidates are asked: a series, its periods, how far ahead, and from which origins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from posteriori.numerics.types import Array
from posteriori.selection.candidates import Candidate, candidates_for
from posteriori.sequence.series.series_clock import set_clock
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = [
    "DRAWS",
    "FEW_DRAWS",
    "ForecastProblem",
    "choose_origins",
    "fit_all",
    "fit_series",
    "forecast_later",
    "foresees",
    "suited_series",
]

#: An origin has at least so many values before it, and holds each period so often.
_FEWEST, _TIMES = 8, 2

#: Draws of scales behind a forecast and an evidence: errors of the latter stay below a few tenths.
DRAWS = 200
#: Draws of scales behind a forecast from an origin, whose density needs less exactness than an evidence.
FEW_DRAWS = 100


class ForecastProblem(NamedTuple):
    """A series to be forecast.

    Attributes
    ----------
    rows : SeriesRows
    periods : tuple of float
    horizon : int
    origins : tuple of int
        How many steps are known at each, the earliest first.
    step : float
        To which values are recorded; 0 where they show none.
    draws : int
        Of the scales of structural series, in fits to all steps.
    """

    rows: SeriesRows
    periods: tuple[float, ...]
    horizon: int
    origins: tuple[int, ...]
    step: float
    draws: int = DRAWS

    @property
    def classes(self) -> None:
        """Series have none."""
        return None

    @property
    def X(self) -> Array:
        """All values."""
        return self.rows.y

    @property
    def splits(self) -> tuple[int, ...]:
        """The origins."""
        return self.origins

    def ahead(self, origin: int) -> slice:
        """Return the steps that are forecast from an origin."""
        return slice(origin, min(origin + self.horizon, len(self.rows.y)))

    def seen(self, origin: int) -> Array:
        """Return which of them have a value, places in the series."""
        part = self.ahead(origin)
        return part.start + np.flatnonzero(~np.isnan(self.rows.y[part]))

    @property
    def sizes(self) -> list[int]:
        """How many values are forecast from each origin."""
        return [len(self.seen(origin)) for origin in self.origins]

    @property
    def values(self) -> Array:
        """The values that are forecast, origin after origin."""
        parts = [self.rows.y[self.seen(origin)] for origin in self.origins]
        return np.concatenate([np.zeros(0), *parts])

    @property
    def steps_ahead(self) -> Array:
        """How far ahead of its origin each of them is, from 1 on."""
        parts = [self.seen(origin) - origin + 1 for origin in self.origins]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def sum_by_origin(self, terms: Array) -> Array:
        """Return the sums over the values of each origin."""
        ends = np.cumsum(self.sizes)[:-1]
        return np.array([part.sum() for part in np.split(terms, ends)])


def choose_origins(
    rows: SeriesRows, periods: tuple[float, ...], horizon: int, wanted: int
) -> tuple[int, ...]:
    """Return how many steps are known at each origin: the last a horizon before the end.

    Origins are a horizon apart where the series is long enough, else closer, else fewer: each has eight
    values before it and holds every period twice.

    Parameters
    ----------
    rows : SeriesRows
    periods : tuple of float
    horizon, wanted : int
        How many steps are forecast, and from how many origins.
    """
    known = np.cumsum(~np.isnan(rows.y))
    least = int(np.ceil(_TIMES * max(periods, default=0.0)))
    last = len(rows.y) - horizon
    first = max(least, int(np.searchsorted(known, _FEWEST) + 1))
    if wanted == 0 or last < first:
        return ()
    apart = horizon if wanted == 1 else max(1, min(horizon, (last - first) // (wanted - 1)))
    places = last - apart * np.arange(wanted)[::-1]
    after = np.concatenate([[0], known])
    return tuple(
        int(p)
        for p in places
        if p >= first and after[min(p + horizon, len(known))] > after[p] and foresees(rows, p)
    )


def foresees(rows: SeriesRows, known: int) -> bool:
    """Tell whether models of the first ``known`` steps can say when later ones are.

    Where times are irregular, but those that are known are not, later ones lie between the known steps.
    """
    return rows.clock.regular or not set_clock(rows.positions[:known]).regular


def suited_series(problem: ForecastProblem, names: Any) -> list[Candidate]:
    """Return the candidates that suit a series, cheapest first."""
    y = problem.rows.y[~np.isnan(problem.rows.y)]
    traits = ["regular"] if problem.rows.clock.regular else []
    traits += ["positive"] if (y > 0.0).all() else []
    traits += ["counts"] if (y >= 0.0).all() and (y == np.rint(y)).all() else []
    traits += ["seasonal"] if problem.periods else []
    traits += ["without inputs"] if not problem.rows.inputs.shape[1] else []
    if not names and y.min() == y.max():
        names = ("constant",)
    return candidates_for("series", names, targets=traits)


def fit_series(problem: ForecastProblem, candidate: Candidate, known: int) -> Any:
    """Return a candidate fitted to the first ``known`` steps alone."""
    model, rows = candidate.make(), problem.rows
    if candidate.encoding == "seasons":
        model.seasons = problem.periods
    if "draws" in vars(model):
        model.draws = problem.draws if known == len(rows.y) else FEW_DRAWS
    part = slice(0, known)
    time = None if rows.clock.regular else rows.positions[part]
    inputs = np.nan_to_num(rows.inputs[part]) if rows.inputs.shape[1] else None
    return model.fit(rows.y[part], time, inputs)


def forecast_later(model: Any, rows: SeriesRows, part: slice) -> Any:
    """Return the distributions of later steps of a series, which the model has not seen."""
    inputs = rows.inputs[part] if rows.inputs.shape[1] else None
    if rows.clock.regular:
        return model.forecast(part.stop - part.start, inputs=inputs)
    return model.forecast(time=rows.positions[part], inputs=inputs)


def fit_all(problem: ForecastProblem, candidate: Candidate) -> Pipeline:
    """Return a candidate fitted to all steps."""
    return Pipeline([("model", fit_series(problem, candidate, len(problem.rows.y)))])
