"""Regression that outliers cannot carry away: Student-t noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.estimators.estimator_rows import Rows
from posteriori.estimators.parameters import ABOVE_ZERO
from posteriori.inference.effects.bordered import Bordered
from posteriori.inference.predictors.curves.student_curves import (
    median_and_distance,
    student_curve,
    student_member,
    student_scale,
)
from posteriori.inference.predictors.generalized_linear import LinearPredictor, posterior_mode
from posteriori.inference.predictors.grouped.grouped_predictor import GroupedPredictor
from posteriori.inference.predictors.mode_finding import Mode, find_mode
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.types import Array
from posteriori.regression.generalized.generalized_regression import GeneralizedRegressor

__all__ = ["RobustRegressor"]

#: Targets are taken as rounded to this share of their spread, so that exact data have a scale.
_RESOLUTION = 1e-8

#: A scale below so many times the resolution has vanished.
_VANISHING = 1e3


class RobustRegressor(GeneralizedRegressor):
    """Linear regression with Student-t noise, whose scale is learned with the weights.

    With m the median of the targets and s their median distance from it, weights of standardised
    columns have the prior N(0, s²/α), the intercept N(m, s²/α), and the logarithm of the scale
    N(ln s, 1/α). The posterior is that of Laplace's method around the mode of ln scale with the weights
    integrated out, and that of the weights given it: at the joint mode the scale is too small, by half
    with half as many columns as rows.

    Parameters
    ----------
    prior_precision : float
        Precision α of every weight on standardised columns, of the intercept and of ln scale.
    dof : float
        Degrees of freedom of the noise: the smaller, the less an outlier counts; infinity is
        normal noise. Choose among several by ``log_evidence_``.
    fit_intercept, tol, max_iter, groups
        As of :class:`PoissonRegressor`.

    Attributes
    ----------
    scale_ : float
        The scale of the noise at the mode; predictions integrate over its posterior.
    posterior_, coef_, intercept_, log_evidence_, effective_parameters_, group_effects_, n_iter_
        As of :class:`PoissonRegressor`.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> y = 2.0 * x[:, 0] + 0.1 * np.sin(50 * x[:, 0])
    >>> y[::10] += 30.0
    >>> RobustRegressor().fit(x, y).coef_.round(1)
    array([2.])
    """

    _shaped = True
    _shape_apart = True
    _constraints = {**GeneralizedRegressor._constraints, "dof": ABOVE_ZERO}

    def __init__(
        self,
        prior_precision: float = 1.0,
        *,
        dof: float = 4.0,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 200,
        groups: Any = None,
    ) -> None:
        super().__init__(
            prior_precision,
            fit_intercept=fit_intercept,
            tol=tol,
            max_iter=max_iter,
            groups=groups,
        )
        self.dof = dof

    @property
    def scale_(self) -> float:
        """The scale of the noise at the mode."""
        return float(self._scale(self._weights.mean[-1]))

    def _centre(self, rows: Rows) -> tuple[float, float, float]:
        level, spread = median_and_distance(rows.y, rows.frequency)
        self._finest = _RESOLUTION * spread
        return level, spread, float(np.log(spread))

    def _ascend(
        self,
        density: LinearPredictor | GroupedPredictor,
        near: Mode | None = None,
        tol: float | None = None,
    ) -> Mode:
        """Return the mode of ln scale θ with the weights integrated out, and of the weights given it.

        Laplace's method has ∫ p(w, θ) dw ∝ p(ŵ, θ) |A|^(−½). As A = Λ + e^(−2θ) H, the logarithm of the
        last factor has the slope γ = Σ λ/(α + λ), the number of weights that the data determine: γθ is
        added, until γ is the one that belongs to the mode.
        """
        prior, place, tol = density.prior_mean, density.shape_place, tol or self.tol
        assert place is not None
        frequency = density.frequency
        rows = density.n_rows if frequency is None else float(frequency.sum())
        search, passes, mode = _Crossing(min(len(prior) - 1.0, rows)), 0, near
        while True:
            target = density.with_shape_slope(search.at)
            limits: dict[str, Any] = {"tol": tol, "max_iter": self.max_iter - passes}
            if mode is not None:
                mode = find_mode(target, mode.point, near=mode, **limits)
            elif isinstance(target, LinearPredictor):
                mode = posterior_mode(target, prior, **limits)
            else:
                mode = find_mode(target, prior, **limits)
            passes += mode.n_iter
            found, bend = _determined(mode, density.precision, place)
            settled = abs(found - search.at) <= tol * np.sqrt(_diagonal(mode.precision)[place])
            if settled or passes >= self.max_iter:
                break
            search.note(found)
        if mode.point[place] < np.log(
            _VANISHING * self._finest
        ):  # rows that repeat are fitted exactly
            return super()._ascend(density, near, tol)
        value = mode.value - search.at * float(mode.point[place])  # of the density that was given
        settled = mode.converged and settled
        return _bent(mode, place, bend)._replace(value=value, n_iter=passes, converged=settled)

    def _scale(self, log_scale: Any) -> Any:
        return student_scale(log_scale, self._finest)

    def _likelihood(self, y: Array) -> Any:
        return student_curve(y, self.dof, self._finest)

    def _width(self, eta: Array, log_shape: Array) -> Array:
        return np.broadcast_to(self._scale(log_shape), eta.shape)

    def _member(self, eta: Array, log_shape: Array, blur: Array) -> Any:
        return student_member(eta, self._scale(log_shape), self.dof, blur)

    def _mean_of(self, eta: Normal) -> Array:
        return np.asarray(eta.mean)


class _Crossing:
    """Where a falling function of a number crosses the diagonal, by secants that stay in a bracket."""

    def __init__(self, start: float) -> None:
        self.at = start
        self._low, self._high = 0.0, start
        self._before: tuple[float, float] | None = None

    def note(self, value: float) -> None:
        """Move on from ``at``, where the function has this value."""
        here, gap = self.at, value - self.at
        self._low, self._high = (here, self._high) if gap > 0 else (self._low, here)
        step = value
        if self._before is not None and gap != self._before[1]:
            step = here - gap * (here - self._before[0]) / (gap - self._before[1])
        inside = self._low < step < self._high
        self.at = step if inside else 0.5 * (self._low + self._high)
        self._before = here, gap


def _determined(mode: Mode, precision: Array, place: int) -> tuple[float, float]:
    """Return γ, how many weights the data determine at a given scale, and −dγ/dθ.

    γ is the trace of G = 1 − Λ A⁻¹, and its slope −2 tr(G − G²).
    """
    weights = np.delete(precision, place)
    if isinstance(mode.precision, Bordered):
        left, square = mode.precision.without(place).factorize().traces(weights)
    else:
        root = triangular_inverse(mode.factor[:place, :place])
        open_share = weights[:, None] * (root.T @ root)  # 1 − G
        left, square = float(np.trace(open_share)), float((open_share * open_share.T).sum())
    return len(weights) - left, max(2.0 * (left - square), 0.0)


def _bent(mode: Mode, place: int, bend: float) -> Mode:
    """Return a mode whose curvature along the log scale is larger."""
    if isinstance(mode.precision, Bordered):
        raised = np.zeros(len(mode.point))
        raised[place] = bend
        precision: Any = mode.precision.plus(raised)
        return mode._replace(precision=precision, factor=precision.factorize())
    precision, factor = mode.precision.copy(), mode.factor.copy()
    precision[place, place] += bend
    factor[place, place] = np.hypot(factor[place, place], np.sqrt(bend))
    return mode._replace(precision=precision, factor=factor)


def _diagonal(precision: Any) -> Array:
    return precision.diagonal if isinstance(precision, Bordered) else np.diagonal(precision)
