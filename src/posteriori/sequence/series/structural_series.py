r"""Structural series: trend, seasons, cycle, autoregression and effects of inputs, added up.

.. math:: y_t = \mu_t + \sum_i s_{it} + c_t + u_t + x_t^\top\beta_t + \varepsilon_t

Each part is a small chain with a scale. The common scale is integrated out in closed form, which makes
predictions Student's; the shares of the parts by Laplace's method and importance draws.

References: A. Harvey, "Forecasting, structural time series models and the Kalman filter", 1989;
J. Durbin & S. J. Koopman, "Time series analysis by state space methods", 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.parameters import Constraint, one_of, or_none
from posteriori.inference.series.auxiliary_residuals import auxiliary_residuals
from posteriori.inference.series.scalar_chain import smooth_scalar
from posteriori.inference.series.series_paths import simulate_series
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.lazy import pandas
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_belief import (
    Learned,
    SeriesBelief,
    believe,
    continue_belief,
    find_most_likely,
    later_chain,
    predict_values,
)
from posteriori.sequence.series.series_estimator import SeriesEstimator
from posteriori.sequence.series.series_form import (
    LARGEST_DUMMY,
    SeriesForm,
    check_given,
    check_periods,
    check_scales,
    measure_series,
)
from posteriori.sequence.series.series_problem import (
    SeriesProblem,
    choose_harmonics,
    make_problem,
)
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = ["StructuralSeries"]

_TRENDS = (
    "constant",
    "walk",
    "seasonal walk",
    "level",
    "line",
    "drift",
    "trend",
    "damped",
    "smooth",
)
_SMOOTHNESS = (None, 0.5, 1.5, 2.5)
#: Draws of the scales that components are averaged over.
_COMPONENT_DRAWS = 32
#: Standard deviations to either end of an interval that holds 95 %.
_WIDE = 1.959963984540054


class StructuralSeries(SeriesEstimator):
    """A series as a sum of parts that drift, with evidence.

    Parameters
    ----------
    trend : {"constant", "walk", "seasonal walk", "level", "line", "drift", "trend", "damped", "smooth"}
        A fixed level; a random walk without noise; one from season to season, of the shortest period; a
        level that drifts; a straight line; a level that drifts beside a slope that stays; both drifting; the same with a slope that dies
        away; a slope alone that drifts, which makes the trend a cubic spline.
    seasons : tuple of float
        Periods in steps. Whole ones up to 24 have one effect a step; others are sums of waves, their
        number chosen by evidence.
    cycle : bool
        A wave of unknown period whose size and phase wander.
    autoregression : int
        Order of a stationary autoregression.
    matern : {None, 0.5, 1.5, 2.5}
        A Matérn process of this smoothness.
    drifting : bool
        Whether weights of inputs walk.
    transform : {"none", "log"}
        Whether y or its logarithm is such a sum; densities are those of y.
    scales : "integrated", dict or "maximum-likelihood"
        Standard deviations of the parts: integrated out, given by name, or the most likely ones.
    initial : {"proper", "diffuse"}
        Whether first states have a prior on the scale of the series or, with the most likely scales
        only, none.
    draws : int
        By how many draws scales are integrated out; fewer are faster, and the evidence is less exact.

    Attributes
    ----------
    log_evidence_ : LogEvidence
        "exact" where scales are given, else an "estimate" with its error; not there where they are
        the most likely ones.
    log_likelihood_ : float
        Of the most likely scales; with ``initial="diffuse"`` lim [ln p(y) + ½ d ln κ] for start
        variances κ → ∞ of d states.
    log_predictive_ : (T,)
        ln p(y_t | earlier values), 0 where there is none; they add up to the evidence.
    scales_ : dict
        Standard deviations of the parts: posterior means, as given, or most likely.
    shapes_ : dict
        Damping, period, length and partial correlations, where there are such; posterior means.
    components_ : DataFrame
        Smoothed parts with ends of their 95 % intervals, and their sum ``fit``; of logarithms if
        ``transform="log"``.
    residuals_ : DataFrame
        Innovations, outliers and shifts of the level, standardised.
    harmonics_ : dict
        Numbers of waves of those seasons that are sums of waves.

    Examples
    --------
    >>> from posteriori.datasets import load_nile
    >>> flow = load_nile()["flow"]
    >>> level = StructuralSeries(trend="level").fit(flow)
    >>> {name: round(scale) for name, scale in level.scales_.items()}
    {'noise': 121, 'level': 41}
    >>> level.forecast(3).median.round(-1)
    array([800., 800., 800.])
    >>> given = StructuralSeries(scales={"noise": 122.9, "level": 38.3}).fit(flow)
    >>> given.log_evidence_.kind
    'exact'
    """

    _constraints = {
        "trend": one_of(*_TRENDS),
        "transform": one_of("none", "log"),
        "initial": one_of("proper", "diffuse"),
        "autoregression": Constraint("be a whole number >= 0", 0, 100, whole=True),
        "draws": Constraint("be a whole number >= 40", 40, 1e6, whole=True),
        "matern": or_none(Constraint("be None, 0.5, 1.5 or 2.5", 0.5, 2.5)),
    }

    scales_: dict[str, float]
    shapes_: dict[str, float]
    harmonics_: dict[float, int]
    log_likelihood_: float
    _belief: SeriesBelief
    _form: SeriesForm
    _error: float
    _start: Array | None = None

    def __init__(
        self,
        trend: str = "level",
        seasons: Any = (),
        *,
        cycle: bool = False,
        autoregression: int = 0,
        matern: float | None = None,
        drifting: bool = False,
        transform: str = "none",
        scales: Any = "integrated",
        initial: str = "proper",
        draws: int = 400,
    ) -> None:
        self.trend = trend
        self.seasons = seasons
        self.cycle = cycle
        self.autoregression = autoregression
        self.matern = matern
        self.drifting = drifting
        self.transform = transform
        self.scales = scales
        self.initial = initial
        self.draws = draws

    @property
    def log_evidence_(self) -> LogEvidence:
        """Log evidence."""
        check_is_fitted(self)
        if self._most_likely:
            raise AttributeError(
                "scales='maximum-likelihood' has log_likelihood_, not evidence; use scales='integrated'"
            )
        exact = self._error == 0.0
        return self._evidence("exact" if exact else "estimate", None if exact else self._error)

    @cached_property
    def components_(self) -> Any:
        """Smoothed parts."""
        check_is_fitted(self)
        rows = self._transformed(self._rows)
        problem = make_problem(self._form, rows, self._given, diffuse=self.initial == "diffuse")
        means, variances = _smooth_parts(problem, self._belief.resample(_COMPONENT_DRAWS))
        unit = self._form.units.unit
        names = [part.name for part in problem.first_parts]
        columns = {}
        for c, name in enumerate([*names, "fit"]):
            offset = self._form.units.center if name in ("level", "fit") else 0.0
            mean, width = offset + unit * means[:, c], unit * np.sqrt(variances[:, c])
            columns[name] = mean
            columns[f"{name}_lower"] = mean - _WIDE * width
            columns[f"{name}_upper"] = mean + _WIDE * width
        return pandas.DataFrame(columns, index=self.times_)

    @cached_property
    def residuals_(self) -> Any:
        """Standardised residuals at the most probable scales.

        A DataFrame of ``innovation``, what came less what was foretold a step before; ``outlier``, smoothed noise,
        NaN without noise; ``shift``, smoothed disturbance of the level from the step before, NaN where the level
        is fixed.
        """
        check_is_fitted(self)
        rows = self._transformed(self._rows)
        problem = make_problem(self._form, rows, self._given)
        k = int(np.argmax(self._belief.log_weights))
        theta, scale = self._belief.thetas[k], np.sqrt(self._belief.mean_squares[k])
        done = auxiliary_residuals(problem.chain(theta), self._belief.variances[k], problem.y)
        shifts = np.append(np.nan, done.shifts[:-1, 0])
        moves = "level" in self._form.scale_names
        found = {
            "innovation": done.innovations,
            "outlier": done.outliers if "noise" in self._form.scale_names else np.nan,
            "shift": shifts if moves else np.nan,
        }
        return pandas.DataFrame(found, index=self.times_) / scale

    def begin_near(self, other: StructuralSeries) -> Self:
        """Let the next fit look for scales from those of a fitted series of the same form on.

        A start changes where the search begins, and nothing else: what it finds is the same up to the digits of the
        search. A series of another form is no start.
        """
        check_is_fitted(other)
        self._start = np.exp(other._belief.log_weights) @ other._belief.thetas
        return self

    def evidence_by_prior_scale(self, factors: Sequence[float]) -> dict[float, float]:
        """Return the log evidence with priors of log variances and shapes so many times as wide.

        Draws of the posterior are reweighted; empty where scales were given or most likely, or nothing but the
        common scale is unknown.
        """
        check_is_fitted(self)
        belief = self._belief
        if self._most_likely or self._given or not belief.thetas.shape[1]:
            return {}
        prior = make_problem(self._form, self._transformed(self._rows), None).prior
        before = belief.log_weights - prior.log_density(belief.thetas)
        found = {}
        for factor in factors:
            other = prior._replace(precision=prior.precision / factor**2)
            change = log_sum_exp(before + other.log_density(belief.thetas))
            found[float(factor)] = float(self.log_evidence_) + float(change)
        return found

    # -- learning ----------------------------------------------------------------------------

    def _require_known(self, rows: SeriesRows) -> None:
        check_scales(self.scales, self.initial)
        if self.matern not in _SMOOTHNESS:
            raise ValueError(f"matern must be None, 0.5, 1.5 or 2.5, got {self.matern!r}")

    def _learn(self, rows: SeriesRows) -> Array:
        given, most_likely = self._given, self._most_likely
        form = self._make_form(rows)
        if not rows.clock.regular and not form.accepts_irregular:
            self._refuse_irregular(rows, f"trend={self.trend!r} with its other parts")
        check_given(given, form)
        form = choose_harmonics(form, rows, given)
        problem = make_problem(form, rows, given, diffuse=self.initial == "diffuse")
        learned = (
            find_most_likely(problem) if most_likely else believe(problem, self.draws, self._start)
        )
        self._form = form
        self.harmonics_ = {period: waves for period, waves in form.seasons if waves}
        self._keep(learned, problem)
        running = learned.running - np.log(form.units.unit) * np.cumsum(~np.isnan(rows.y))
        if most_likely:
            known = (~np.isnan(rows.y)).sum() - problem.unknown_starts
            # start values without a prior take up the units of as many values
            self.log_likelihood_ = problem.profile_likelihood(learned.belief.thetas[0])[0]
            self.log_likelihood_ -= float(known * np.log(form.units.unit) + self._sum_of_logs(rows))
        return np.diff(running, prepend=0.0)

    def _absorb(self, rows: SeriesRows) -> Array:
        self._belief, running = continue_belief(self._later_problem(rows), self._belief)
        running = running - np.log(self._form.units.unit) * np.cumsum(~np.isnan(rows.y))
        if self._most_likely:
            self.log_likelihood_ += float(running[-1] - self._sum_of_logs(rows))
        return np.diff(running, prepend=0.0)

    def _sum_of_logs(self, rows: SeriesRows) -> float:
        """Return Σ ln y of transformed values: what densities of y are less by."""
        return float(np.nansum(rows.y)) if self._logarithmic else 0.0

    def _keep(self, learned: Learned, problem: SeriesProblem) -> None:
        self._belief, self._error = learned.belief, learned.error
        for name in ("components_", "residuals_"):
            self.__dict__.pop(name, None)
        belief, weights = learned.belief, np.exp(learned.belief.log_weights)
        sds = (weights * belief.mean_scales) @ np.sqrt(belief.variances[:, -len(problem.names) :])
        self.scales_ = {
            name: float(sd * problem.form.units.per_time(name))
            for name, sd in zip(problem.names, sds, strict=True)
        }
        self.shapes_ = {
            shape.name: float(weights @ shape.natural(belief.thetas[:, problem.n_ratios + k]))
            for k, shape in enumerate(problem.form.shapes)
        }

    # -- predictions -------------------------------------------------------------------------

    def _predict(self, rows: SeriesRows, wanted: Array) -> Any:
        units = self._form.units
        problem = self._later_problem(rows)
        return predict_values(problem, self._belief, units.center, units.unit, wanted)

    def _draw(self, rows: SeriesRows, draws: int, rng: np.random.Generator) -> Array:
        problem, belief = self._later_problem(rows), self._belief
        chosen = rng.choice(len(belief.log_weights), draws, p=np.exp(belief.log_weights))
        paths = np.empty((draws, len(rows.y) - 1))
        for k in np.unique(chosen):
            here = np.flatnonzero(chosen == k)
            scale = belief.draw_scales(k, len(here), rng)
            chain = later_chain(problem, belief, k)
            made = simulate_series(chain, belief.variances[k], scale, len(rows.y), rng)
            paths[here] = made[:, 1:]
        return self._form.units.center + self._form.units.unit * paths

    # -- the form ----------------------------------------------------------------------------

    @property
    def _most_likely(self) -> bool:
        return isinstance(self.scales, str) and self.scales == "maximum-likelihood"

    @property
    def _given(self) -> dict[str, float] | None:
        return self.scales if isinstance(self.scales, dict) else None

    def _later_problem(self, rows: SeriesRows) -> SeriesProblem:
        return make_problem(self._form, rows, self._given)

    def _make_form(self, rows: SeriesRows) -> SeriesForm:
        """Return the form, with one wave in each season that is a sum of waves."""
        periods = check_periods(self.seasons, len(rows.y))
        whole = self.trend == "seasonal walk"
        seasons = tuple(
            (p, 0 if whole or (p <= LARGEST_DUMMY and p == int(p)) else 1) for p in periods
        )
        return SeriesForm(
            self.trend,
            seasons,
            bool(self.cycle),
            int(self.autoregression),
            self.matern,
            rows.inputs.shape[1],
            bool(self.drifting),
            measure_series(rows, periods),
        )


def _smooth_parts(problem: SeriesProblem, belief: SeriesBelief) -> tuple[Array, Array]:
    """Return means and variances of parts and of their sum, over draws, (T, C + 1)."""
    means, squares = 0.0, 0.0
    for k, weight in enumerate(np.exp(belief.log_weights)):
        views = _views(problem, belief.thetas[k])
        chain = problem.chain(belief.thetas[k])
        done = smooth_scalar(chain, belief.variances[k], problem.y, views)
        scale = belief.mean_squares[k]
        means = means + weight * done.means
        squares = squares + weight * (scale * done.variances + done.means**2)
    return np.asarray(means), np.maximum(np.asarray(squares) - np.asarray(means) ** 2, 0.0)


def _views(problem: SeriesProblem, theta: Array) -> Array:
    """Return what each part adds to the series, and their sum, (1 or T, C + 1, D)."""
    parts = problem.first_parts
    emission = problem.chain(theta).emission
    views = np.zeros((len(emission), len(parts) + 1, emission.shape[1]))
    start = 0
    for c, part in enumerate(parts):
        here = slice(start, start + len(part.initial_cov))
        views[:, c, here] = emission[:, here]
        start = here.stop
    views[:, -1] = emission
    return views
