"""Log densities that boosting climbs: where they start, what they add up, and what rows left out teach."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from posteriori.distributions.counts.compound_counts import negative_binomial_log_mass
from posteriori.ensemble.gradient_boosting import loss_slopes
from posteriori.ensemble.gradient_boosting.left_out_noise import (
    fit_spread,
    fit_tail,
    student_log_density,
)
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array

__all__ = ["CountLoss", "LogisticLoss", "Loss", "SoftmaxLoss", "StudentLoss"]

_Slopes = Callable[..., None]

#: Of targets in units of their own size: rows that are all equal have a scale, too.
_LEAST_VARIANCE = 2.0**-52


class Loss(ABC):
    """The log density of a target, of one predictor or more.

    Attributes
    ----------
    number : int
        By which compiled loops know it.
    slopes : tuple of functions
        One of :mod:`loss_slopes` for each predictor that has trees.
    room : int
        How many predictors there are in all.
    """

    number: int
    slopes: tuple[_Slopes, ...]
    room: int

    @abstractmethod
    def start(self, y: Array, weight: Array) -> Array:
        """Return the predictors of a constant model, (P,)."""

    @abstractmethod
    def log_density(self, y: Array, f: Array, shape: float) -> Array:
        """Return that of each row, (N,)."""

    def begin_round(self, f: Array) -> None:  # noqa: B027 - most need nothing
        """Write what all trees of a round need."""

    def learn_shape(self, y: Array, f: Array, weight: Array) -> float:
        """Return the shape of the noise that suits rows best."""
        return 0.0


@dataclass(frozen=True)
class StudentLoss(Loss):
    """Numbers with a location and a log scale; the shape is t = 1/ν."""

    normal: bool
    number = loss_slopes.STUDENT
    slopes = (loss_slopes.location_slopes, loss_slopes.log_scale_slopes)
    room = 2

    def start(self, y: Array, weight: Array) -> Array:
        mean = np.average(y, weights=weight)
        variance = np.average((y - mean) ** 2, weights=weight)
        return np.array([mean, 0.5 * np.log(max(variance, _LEAST_VARIANCE))])

    def log_density(self, y: Array, f: Array, shape: float) -> Array:
        return student_log_density(self.residuals(y, f), shape) - f[1]

    def residuals(self, y: Array, f: Array) -> Array:
        """Return z = (y − m)/σ, (N,)."""
        return (y - f[0]) * np.exp(-f[1])

    def learn_shape(self, y: Array, f: Array, weight: Array) -> float:
        if self.normal:
            return 0.0
        return fit_tail(self.residuals(y, f), weight)[0]


@dataclass(frozen=True)
class CountLoss(Loss):
    """Counts with a log mean; the shape is s = 1/r."""

    poisson: bool
    number = loss_slopes.COUNTS
    slopes = (loss_slopes.count_slopes,)
    room = 1

    def start(self, y: Array, weight: Array) -> Array:
        total = weight.sum()
        return np.array([np.log((weight @ y + 0.5) / (total + 1.0))])

    def log_density(self, y: Array, f: Array, shape: float) -> Array:
        if shape == 0.0:
            return y * f[0] - np.exp(f[0]) - special.gammaln(y + 1.0)
        return negative_binomial_log_mass(y, np.asarray(1.0 / shape), np.exp(f[0]))

    def learn_shape(self, y: Array, f: Array, weight: Array) -> float:
        return 0.0 if self.poisson else fit_spread(y, np.exp(f[0]), weight)


@dataclass(frozen=True)
class LogisticLoss(Loss):
    """Two classes with the log odds of the second."""

    number = loss_slopes.LOGISTIC
    slopes = (loss_slopes.logistic_slopes,)
    room = 1

    def start(self, y: Array, weight: Array) -> Array:
        second = weight @ y
        return np.array([np.log((second + 0.5) / (weight.sum() - second + 0.5))])

    def log_density(self, y: Array, f: Array, shape: float) -> Array:
        return -np.logaddexp(0.0, np.where(y > 0, -f[0], f[0]))


@dataclass(frozen=True)
class SoftmaxLoss(Loss):
    """Several classes with a score each."""

    classes: int
    number = loss_slopes.SOFTMAX

    @property
    def slopes(self) -> tuple[_Slopes, ...]:  # type: ignore[override]
        return (loss_slopes.softmax_slopes,) * self.classes

    @property
    def room(self) -> int:  # type: ignore[override]
        return self.classes + 1

    def start(self, y: Array, weight: Array) -> Array:
        counts = np.bincount(y.astype(np.int64), weights=weight, minlength=self.classes) + 0.5
        return np.append(np.log(counts / counts.sum()), 0.0)

    def begin_round(self, f: Array) -> None:
        loss_slopes.sum_classes(f)

    def log_density(self, y: Array, f: Array, shape: float) -> Array:
        codes = y.astype(np.int64)
        return f[codes, np.arange(len(y))] - special.logsumexp(f[:-1], axis=0)
