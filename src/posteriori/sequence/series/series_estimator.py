"""What all models of one series answer: evidence by steps, forecasts of y itself, later values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.utils import TransformerTags
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.algebra.maps import ExpMap
from posteriori.distributions.algebra.transformed import Transformed
from posteriori.estimators.approximate_posterior import ApproximatePosterior
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.parameters import check_parameters
from posteriori.numerics.evidence import Kind, LogEvidence
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.sequence.series.series_clock import read_times
from posteriori.sequence.series.series_rows import (
    SeriesRows,
    continue_series,
    fingerprint_of,
    read_series,
    require_positive,
)

__all__ = ["SeriesEstimator"]


class SeriesEstimator(ApproximatePosterior, BaseEstimator, ABC):
    """Base of the models of one series.

    A model learns from values, absorbs later ones, predicts and draws; times, transforms and the
    bookkeeping of evidence are done here.
    """

    _constraints: dict[str, Any] = {}

    log_predictive_: Array
    _rows: SeriesRows
    _n_inputs: int

    def fit(self, y: Any, time: Any = None, inputs: Any = None) -> Self:
        """Learn from a series.

        Parameters
        ----------
        y : (T,) or (T, 1)
            NaN is missing.
        time : (T,), optional
            Dates or numbers; steps that are left out become gaps. By default the index of y, where that
            holds dates.
        inputs : (T, K), optional
            Known numbers of each step, whose weights are learned.
        """
        check_parameters(self)
        rows = read_series(y, time, inputs)
        self._require_known(rows)
        log_predictive = self._learn(self._transformed(rows))
        self._rows, self._n_inputs = rows, rows.inputs.shape[1]
        self.log_predictive_ = log_predictive + self._log_slopes(rows)
        return self

    def update(self, y: Any, time: Any = None, inputs: Any = None) -> Self:
        """Absorb later values; what was learned of scales stays, or is reweighted, never refitted.

        Parameters
        ----------
        y : (M,)
        time : (M,), optional
            After the last time; without it values follow step by step.
        inputs : (M, K)
        """
        rows = self._later(y, time, inputs)
        log_predictive = self._absorb(self._transformed(rows))
        before = self._rows
        self._rows = before._replace(
            y=np.concatenate([before.y, rows.y[1:]]),
            positions=np.concatenate([before.positions, rows.positions[1:]]),
            inputs=np.concatenate([before.inputs, rows.inputs[1:]]),
        )
        added = (log_predictive + self._log_slopes(rows))[1:]
        self.log_predictive_ = np.concatenate([self.log_predictive_, added])
        for name in ("components_", "residuals_"):
            self.__dict__.pop(name, None)
        return self

    def forecast(self, horizon: int | None = None, *, time: Any = None, inputs: Any = None) -> Any:
        """Return the distributions of later values, a batch.

        Parameters
        ----------
        horizon : int, optional
            How many steps ahead.
        time : (H,), optional
            Instead of a horizon, later times in order: needed where times are irregular.
        inputs : (H, K), optional
            Of these steps, if the model was fitted with some.
        """
        rows, wanted = self._future(horizon, time, inputs)
        made = self._predict(rows, wanted)
        return Transformed(made, ExpMap()) if self._logarithmic else made

    def sample_paths(
        self,
        horizon: int | None = None,
        draws: int = 1000,
        *,
        time: Any = None,
        inputs: Any = None,
        rng: Seed = None,
    ) -> Array:
        """Return later values drawn together, (draws, H); steps are given as to :meth:`forecast`."""
        rows, wanted = self._future(horizon, time, inputs)
        made = self._draw(rows, _at_least_one("draws", draws), as_generator(rng))[:, wanted - 1]
        return np.exp(made) if self._logarithmic else made

    def forecast_times(self, horizon: int) -> Any:
        """Return the times of the next steps, an index."""
        rows, _ = self._future(horizon, None, np.zeros((horizon, self._fitted_inputs())))
        return rows.clock.times(rows.positions[1:])

    @property
    def times_(self) -> Any:
        """Times of all steps, those left out included, an index."""
        check_is_fitted(self)
        return self._rows.clock.times(self._rows.positions)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = tags.input_tags.allow_nan = True
        tags.transformer_tags = (
            TransformerTags()
        )  # for scikit-learn, that is what has ``transform``
        return tags

    # -- what a model states -----------------------------------------------------------------

    @abstractmethod
    def _learn(self, rows: SeriesRows) -> Array:
        """Learn from transformed values; return ln p(y_t | past) of each step."""

    @abstractmethod
    def _absorb(self, rows: SeriesRows) -> Array:
        """Learn from later values, whose first row is the last step; return ln p(y_t | past)."""

    @abstractmethod
    def _predict(self, rows: SeriesRows, wanted: Array) -> Any:
        """Return distributions of later values at the wanted rows."""

    @abstractmethod
    def _draw(self, rows: SeriesRows, draws: int, rng: np.random.Generator) -> Array:
        """Return paths of all rows but the first."""

    def _require_known(self, rows: SeriesRows) -> None:
        """Refuse what a model cannot take."""
        if rows.inputs.shape[1]:
            raise ValueError(f"inputs are taken by StructuralSeries, not by {type(self).__name__}")
        if not rows.clock.regular:
            self._refuse_irregular(rows, "this model")

    def _refuse_irregular(self, rows: SeriesRows, who: str) -> None:
        steps = rows.steps
        raise ValueError(
            f"time is irregular (from {steps.min():.6g} to {steps.max():.6g} between values), and {who} needs "
            "equal steps; round the times, or use StructuralSeries with trend 'constant', 'line', 'level', "
            "'trend' or 'smooth', or matern="
        )

    # -- evidence ----------------------------------------------------------------------------

    def _evidence(self, kind: Kind, error: float | None = None) -> LogEvidence:
        """Return the sum of the predictive terms."""
        check_is_fitted(self, "log_predictive_")
        return LogEvidence(
            float(self.log_predictive_.sum()),
            kind=kind,
            fingerprint=fingerprint_of(self._rows.y),
            error=error,
        )

    # -- transforms --------------------------------------------------------------------------

    @property
    def _logarithmic(self) -> bool:
        return getattr(self, "transform", "none") == "log"

    def _transformed(self, rows: SeriesRows) -> SeriesRows:
        if not self._logarithmic:
            return rows
        require_positive(rows.y, "transform")
        return rows._replace(y=np.log(rows.y))

    def _log_slopes(self, rows: SeriesRows) -> Array:
        """Return ln |dz/dy| of each step: densities are those of y."""
        if not self._logarithmic:
            return np.zeros(len(rows.y))
        return np.where(np.isnan(rows.y), 0.0, -np.log(np.where(np.isnan(rows.y), 1.0, rows.y)))

    # -- later steps -------------------------------------------------------------------------

    def _fitted_inputs(self) -> int:
        check_is_fitted(self)
        return self._n_inputs

    def _later(self, y: Any, time: Any, inputs: Any) -> SeriesRows:
        """Return later values, behind a gap that stands for the last step."""
        expected = self._fitted_inputs()
        last, steps = float(self._rows.positions[-1]), self._rows.steps
        step = 1.0 if self._rows.clock.regular else float(np.median(steps))
        rows = continue_series(y, time, inputs, self._rows.clock, last, step)
        if rows.inputs.shape[1] != expected:
            raise ValueError(
                f"inputs must have {expected} columns, as at fit; got "
                f"{'none' if inputs is None else rows.inputs.shape[1]}: give those of the later steps"
            )
        return rows

    def _future(self, horizon: int | None, time: Any, inputs: Any) -> tuple[SeriesRows, Array]:
        """Return steps without values, and which of them are asked for."""
        check_is_fitted(self)
        if (horizon is None) == (time is None):
            raise ValueError(
                "forecast needs either a horizon, the number of steps, or time, their times"
            )
        count = _at_least_one("horizon", horizon) if time is None else len(time)
        rows = self._later(np.full(count, np.nan), time, inputs)
        if time is None:
            return rows, np.arange(1, count + 1)
        places = np.sort(rows.clock.positions(read_times(time, count)))
        return rows, np.searchsorted(rows.positions, places - 1e-6)


def _at_least_one(name: str, value: Any) -> int:
    if not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
    return int(value)
