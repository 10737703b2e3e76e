"""The form of a structural series: which parts it has, what is believed of them, and their one chain."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.series.scalar_chain import NO_ENTRIES, Entries, ScalarChain
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_parts import (
    SeriesPart,
    autoregressive_part,
    cycle_part,
    dummy_season_part,
    harmonic_season_part,
    input_part,
    matern_part,
    repeated_season_part,
    trend_part,
    walking_weights,
)
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = [
    "LARGEST_DUMMY",
    "SeriesForm",
    "SeriesUnits",
    "Shape",
    "check_given",
    "check_periods",
    "check_scales",
    "join_parts",
    "measure_series",
]

#: Whole periods up to this have an effect for each step; longer and broken ones are sums of waves.
LARGEST_DUMMY = 24
#: Trends that have a slope.
_SLOPED = ("line", "drift", "trend", "damped", "smooth")
#: Trends that have a level and no noise beside it.
_NOISELESS = ("walk", "seasonal walk")
#: Expected logarithm of the variance of each part, beside that of the noise.
_EXPECTED = {"level": -1.0, "slope": -6.0, "season": -5.0, "cycle": -2.0, "inputs": -7.0}


#: Slopes, cycles and autoregressions are damped at least so much: their equilibrium is finite.
_LARGEST_DAMPING = 0.998
#: Waves of two steps or less cannot be told from slower ones.
_SHORTEST_CYCLE = 2.0
#: The first level is within so many standard deviations of the series of its mean.
_LEVEL = 3.0
#: A line through the whole series has a slope of √12 standard deviations a length.
_SLOPE = 4.0
#: No unit is smaller than this share of the standard deviation; that of a constant is one of its size.
_FINEST, _CONSTANT = 1e-4, 1e-9

#: Share of zeros from which on an input says when something happened.
_RARE = 0.8


class SeriesUnits(NamedTuple):
    """In which units a series is measured, and how wide it is in them.

    Attributes
    ----------
    center, unit : float
        Values become (y − center)/unit; unit is about the spread of what cannot be foretold.
    level, slope, swing : float
        Standard deviations, in units, of the first level, of the slope per step, of seasons and effects.
    span : float
        Time from the first value to the last, in mean steps.
    tempo : float
        The mean step of irregular times, 1 of regular ones.
    input_center, input_width : (K,)
        Inputs become (x − center)/width.
    """

    center: float
    unit: float
    level: float
    slope: float
    swing: float
    span: float
    tempo: float
    input_center: Array
    input_width: Array

    def per_time(self, name: str) -> float:
        """Return what turns a standard deviation in these units into one of y per unit of time."""
        return self.unit * self.tempo ** {"level": -0.5, "slope": -1.5}.get(name, 0.0)


class Shape(NamedTuple):
    """A number that is no scale: what is believed of the real number behind it."""

    name: str
    mean: float
    std: float

    def natural(self, x: Array) -> Array:
        """Return what real numbers stand for."""
        if "damping" in self.name:
            return _LARGEST_DAMPING * special.expit(x)
        if self.name.startswith("partial"):
            return _LARGEST_DAMPING * np.tanh(x)
        return np.exp(x) + (_SHORTEST_CYCLE if self.name == "period" else 0.0)


class SeriesForm(NamedTuple):
    """Parts of a series.

    Attributes
    ----------
    trend : str
    seasons : tuple of (float, int)
        Period and number of harmonics, 0 for one effect a step.
    cycle : bool
    autoregression : int
    matern : float or None
    n_inputs : int
    drifting : bool
    units : SeriesUnits
    """

    trend: str
    seasons: tuple[tuple[float, int], ...]
    cycle: bool
    autoregression: int
    matern: float | None
    n_inputs: int
    drifting: bool
    units: SeriesUnits

    @property
    def scale_names(self) -> list[str]:
        """Names of the scales, "noise" first."""
        found = [] if self.trend in _NOISELESS else ["noise"]
        found += (
            ["level"] if self.trend in (*_NOISELESS, "level", "drift", "trend", "damped") else []
        )
        found += ["slope"] if self.trend in ("trend", "damped", "smooth") else []
        found += self.season_names
        found += ["cycle"] if self.cycle else []
        found += ["autoregression"] if self.autoregression else []
        found += ["matern"] if self.matern is not None else []
        return found + (["inputs"] if self.drifting and self.n_inputs else [])

    @property
    def season_names(self) -> list[str]:
        """Names of seasons that are parts, with their periods where there are several."""
        if self.trend == "seasonal walk":
            return []
        several = len(self.seasons) > 1
        return [f"season_{period:g}" if several else "season" for period, _ in self.seasons]

    @property
    def expected_scales(self) -> Array:
        """Expected logarithms of the variances, (P,)."""
        return np.array([_EXPECTED.get(name.split("_")[0], 0.0) for name in self.scale_names])

    @property
    def shapes(self) -> list[Shape]:
        """The numbers that are no scales."""
        found: list[Shape] = []
        if self.trend == "damped":
            found.append(Shape("damping", 2.2, 1.0))
        if self.cycle:
            low, high = np.log(3.0), np.log(max(self.units.span, 12.0))
            found += [Shape("period", 0.5 * (low + high), 0.25 * (high - low))]
            found += [Shape("cycle_damping", 2.2, 1.0)]
        found += [Shape(f"partial_{k + 1}", 0.0, 0.7 / (k + 1)) for k in range(self.autoregression)]
        if self.matern is not None:
            found.append(Shape("length", float(np.log(0.1 * self.units.span)), 1.0))
        return found

    @property
    def accepts_irregular(self) -> bool:
        """Whether times need not be steps."""
        plain = self.trend in ("constant", "walk", "line", "level", "drift", "trend", "smooth")
        drifts = self.drifting and self.n_inputs > 0
        return plain and not (self.seasons or self.cycle or self.autoregression or drifts)

    def parts(self, shape: Array, steps: Array | None, inputs: Array) -> list[SeriesPart]:
        """Return the parts for real numbers ``shape``, over steps (None: all 1) with inputs (T, K)."""
        units, shaped = self.units, self.shaped_parts(self.shapes, shape, steps)
        made = [shaped.pop(0) if self.trend == "damped" else self._trend_part(steps, 1.0)]
        for name, (period, harmonics) in zip(self.season_names, self.seasons, strict=False):
            made.append(
                harmonic_season_part(name, period, harmonics, units.swing)
                if harmonics
                else dummy_season_part(name, int(period), units.swing)
            )
        made += shaped
        if self.n_inputs:
            part = input_part(inputs, units.swing)
            made.append(walking_weights(part) if self.drifting else part)
        return made

    def shaped_parts(
        self, shapes: list[Shape], shape: Array, steps: Array | None
    ) -> list[SeriesPart]:
        """Return the parts that shapes change, for real numbers ``shape`` (..., K) of each, in their order."""
        named = {s.name: np.asarray(s.natural(shape[..., k])) for k, s in enumerate(shapes)}
        made = [self._trend_part(steps, named["damping"])] if self.trend == "damped" else []
        if self.cycle:
            made.append(cycle_part(named["period"], named["cycle_damping"]))
        if self.autoregression:
            partial = [named[f"partial_{k + 1}"] for k in range(self.autoregression)]
            made.append(autoregressive_part(np.stack(partial, axis=-1)))
        if self.matern is not None:
            made.append(matern_part(self.matern, named["length"], steps))
        return made

    def _trend_part(self, steps: Array | None, damping: Array | float) -> SeriesPart:
        if self.trend == "seasonal walk":
            shortest = min((period for period, _ in self.seasons), default=1.0)
            return repeated_season_part(round(shortest), self.units.level)
        slope = self.units.slope if self.trend in _SLOPED else 0.0
        return trend_part(self.trend, steps, self.units.level, slope, damping)

    def chain(self, shape: Array, steps: Array | None, inputs: Array, diffuse: bool) -> ScalarChain:
        """Return the chain of all parts."""
        names = [name for name in self.scale_names if name != "noise"]
        return join_parts(self.parts(shape, steps, inputs), names, diffuse)


def join_parts(parts: list[SeriesPart], names: list[str], diffuse: bool) -> ScalarChain:
    """Return the chain of parts side by side; noises are numbered 1, 2, … by ``names``."""
    sizes = [len(part.initial_cov) for part in parts]
    starts = np.cumsum([0, *sizes[:-1]])
    total = int(sum(sizes))
    emission = np.concatenate(_same_length([np.atleast_2d(p.emission) for p in parts]), axis=1)
    steps = [_entries_of(part.transition, start) for part, start in zip(parts, starts, strict=True)]
    noises, numbers, begun, begun_parts = [], [], [], []
    initial, unknown = np.zeros((total, total)), np.zeros(total, dtype=bool)
    for part, start, size in zip(parts, starts, sizes, strict=True):
        here = slice(start, start + size)
        for name, cov in part.noises.items():
            noises.append(_entries_of(cov, start))
            numbers.append(np.full(len(noises[-1].rows), 1 + names.index(name)))
        if part.proper:
            begun.append(_entries_of(part.initial_cov[None], start))
            begun_parts.append(np.full(len(begun[-1].rows), numbers[-1][0]))
        else:
            initial[here, here] = part.initial_cov
            unknown[here] = diffuse
    none = np.zeros(0, dtype=np.int64)
    return ScalarChain(
        emission=np.ascontiguousarray(emission, dtype=np.float64),
        transition=_joined(steps),
        noise=_joined(noises),
        parts=np.concatenate([none, *numbers]),
        initial_mean=np.zeros(total),
        initial_cov=initial,
        start=_joined(begun),
        start_parts=np.concatenate([none, *begun_parts]),
        diffuse=unknown,
    )


def _entries_of(matrices: Array, start: int) -> Entries:
    """Return the entries of matrices (1, D, D) or (T, D, D) that are not always 0."""
    full = bool((matrices[0] != 0.0).all())  # then there is nothing to leave out
    rows, columns = np.nonzero(matrices[0] != 0.0 if full else (matrices != 0.0).any(axis=0))
    weights = matrices.reshape(len(matrices), -1) if full else matrices[:, rows, columns]
    return Entries(rows + start, columns + start, weights)


def _joined(entries: list[Entries]) -> Entries:
    if not entries:
        return NO_ENTRIES
    if len(entries) == 1:
        return entries[0]._replace(weights=np.ascontiguousarray(entries[0].weights))
    weights = np.concatenate(_same_length([e.weights for e in entries]), axis=1)
    rows = np.concatenate([e.rows for e in entries]).astype(np.int64)
    columns = np.concatenate([e.columns for e in entries]).astype(np.int64)
    return Entries(rows, columns, np.ascontiguousarray(weights))


def _same_length(weights: list[Array]) -> list[Array]:
    length = max(map(len, weights))
    if length == min(map(len, weights)):
        return weights
    return [np.broadcast_to(w, (length, w.shape[1])) for w in weights]


# -- what is asked ---------------------------------------------------------------------------


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


def measure_series(rows: SeriesRows, periods: tuple[float, ...]) -> SeriesUnits:
    """Return the units of a series.

    The unit is the standard deviation of differences between neighbours, and between seasons, over √2
    for each difference taken: that of the values themselves if they are independent.

    Parameters
    ----------
    rows : SeriesRows
    periods : tuple of float
        Of seasons.
    """
    observed = ~np.isnan(rows.y)
    seen, times = rows.y[observed], (rows.positions - rows.positions[0])[observed]
    center, spread = float(seen.mean()), float(seen.std())
    tempo = 1.0 if rows.clock.regular else float(rows.steps.mean())
    span = float(rows.positions[-1] - rows.positions[0]) / tempo
    rest = span, tempo, *_column_scales(rows.inputs)
    if seen.min() == seen.max():
        warnings.warn(
            f"y is constant ({center:.6g}); forecasts repeat it", UserWarning, stacklevel=4
        )
        unit = _CONSTANT * (abs(center) or 1.0)
        return SeriesUnits(center, unit, _LEVEL, _SLOPE / span, 1.0, *rest)
    unit = max(_innovation_scale(rows.y, periods), _FINEST * spread)
    about = float(np.std(seen - np.polyval(np.polyfit(times, seen, 1), times)))
    swing, wide = max(about, unit) / unit, spread / unit
    return SeriesUnits(center, unit, _LEVEL * wide, _SLOPE * wide / span, swing, *rest)


def _column_scales(inputs: Array) -> tuple[Array, Array]:
    """Return means and standard deviations of inputs; constant ones are left as they are.

    A column that is nearly always 0 says when something happened. Its effect, not its effect times a tiny
    standard deviation, is expected to be as large as the series is wide: its width is its largest size.
    """
    if not inputs.shape[1]:
        return np.zeros(0), np.ones(0)
    center, width = np.nanmean(inputs, axis=0), np.nanstd(inputs, axis=0)
    rare = (width > 0) & (np.mean(inputs == 0.0, axis=0) >= _RARE)
    center, width = (
        np.where(rare, 0.0, center),
        np.where(rare, np.nanmax(np.abs(inputs), axis=0), width),
    )
    return np.where(width > 0, center, 0.0), np.where(width > 0, width, 1.0)


def _innovation_scale(z: Array, periods: tuple[float, ...]) -> float:
    """Return the scale of differences between neighbours and between seasons."""
    neighbours = np.diff(z)
    if np.isnan(neighbours).all():
        neighbours = np.diff(z[~np.isnan(z)])
    made, taken = neighbours, 1
    for period in periods:
        lag = round(period)
        later = made[lag:] - made[:-lag]
        if (~np.isnan(later)).sum() >= max(8, lag):
            made, taken = later, taken + 1
    return float(np.sqrt(np.nanmean(made**2) / 2.0**taken))
