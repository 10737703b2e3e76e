"""What a structural series is asked for, checked; its problem in units, and how many waves it has."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from posteriori.inference.series.mode_draws import climb_to_peak
from posteriori.sequence.series.series_form import SeriesForm
from posteriori.sequence.series.series_problem import SeriesProblem
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = ["check_given", "check_periods", "check_scales", "choose_harmonics", "make_problem"]

#: Waves of a season at most.
_MOST_HARMONICS = 12


def make_problem(
    form: SeriesForm, rows: SeriesRows, given: dict[str, float] | None, *, diffuse: bool = False
) -> SeriesProblem:
    """Return the problem of rows in the units of a form; ``given`` are standard deviations of y."""
    units = form.units
    steps = None if rows.clock.regular else np.append(rows.steps, 1.0) / units.tempo
    inputs = np.nan_to_num((rows.inputs - units.input_center) / units.input_width)
    variances = None
    if given is not None:
        variances = {name: (float(sd) / units.per_time(name)) ** 2 for name, sd in given.items()}
    y = (rows.y - units.center) / units.unit
    return SeriesProblem(form, y, steps, inputs, variances, diffuse)


def choose_harmonics(
    form: SeriesForm, rows: SeriesRows, given: dict[str, float] | None
) -> SeriesForm:
    """Add waves to each season that is a sum of them, as long as the evidence rises."""
    for i, (period, waves) in enumerate(form.seasons):
        most = min(_MOST_HARMONICS, int(np.ceil(period / 2.0)) - 1) if waves else 0
        best, start = -np.inf, None
        for count in range(1, most + 1):
            seasons = (*form.seasons[:i], (period, count), *form.seasons[i + 1 :])
            tried = form._replace(seasons=seasons)
            problem = make_problem(tried, rows, given)
            begin = problem.prior.mean if start is None else start
            peak = climb_to_peak(problem.log_likelihoods, problem.prior, begin)
            if peak.log_integral <= best:
                break
            best, start, form = peak.log_integral, peak.at, tried
    return form


def check_periods(seasons: Any, steps: int) -> tuple[float, ...]:
    """Return the periods that so many steps hold at least twice; say which are left out."""
    found: list[float] = []
    for period in map(float, np.atleast_1d(np.asarray(seasons, dtype=np.float64))):
        if not (np.isfinite(period) and period >= 2.0):
            raise ValueError(f"seasons must be periods of at least 2 steps, got {period:g}")
        if period in found:
            raise ValueError(f"seasons holds {period:g} twice; leave one out")
        if 2.0 * period > steps:
            warnings.warn(
                f"a season of {period:g} steps is left out: {steps} steps hold it less than twice",
                UserWarning,
                stacklevel=5,
            )
        else:
            found.append(period)
    return tuple(found)


def check_scales(scales: Any, initial: str) -> None:
    """Refuse scales that are no choice, and starts without a prior where there is evidence."""
    named = isinstance(scales, str) and scales in ("integrated", "maximum-likelihood")
    if not named and not isinstance(scales, dict):
        raise ValueError(
            "scales must be 'integrated', 'maximum-likelihood' or a dict of standard deviations; got "
            f"{scales!r}"
        )
    if initial == "diffuse" and not (named and scales == "maximum-likelihood"):
        raise ValueError(
            "initial='diffuse' has no evidence; use it with scales='maximum-likelihood', or initial='proper'"
        )


def check_given(given: dict[str, float] | None, form: SeriesForm) -> None:
    """Refuse given scales that are not those of the parts."""
    if given is None:
        return
    names = form.scale_names
    if set(given) != set(names):
        raise ValueError(f"scales must name {', '.join(names)}; got {', '.join(map(str, given))}")
    for name, sd in given.items():
        if not (np.isfinite(sd) and sd > 0):
            raise ValueError(f"scales[{name!r}] must be positive and finite, got {sd!r}")
