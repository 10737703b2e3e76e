r"""Densities of a target that depends on nothing: what regressions have to be better than.

A kernel density, each row spread by a normal, or an adaptive histogram that is open at both ends. Beyond
its end e, in units s of how far the last rows lie from one another,

.. math:: p(x) = \frac{\epsilon\,a}{s}\Big(1 + \frac{|x - e|}{s}\Big)^{-a-1}, \qquad a = 3, \qquad
   \epsilon = \frac{1/2}{N + 3/2},

as the masses below, inside and above are Dirichlet(½, ½, ½), and none of N rows was outside. No kernel and no
cell is narrower than the step δ to which targets are recorded: the variance of what rounding leaves open
is δ²/12.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posteriori.density.adaptive_bins import AdaptiveHistogram
from posteriori.density.kernel_density import KernelDensity
from posteriori.distributions.algebra.maps import AffineMap
from posteriori.distributions.algebra.transformed import Transformed
from posteriori.distributions.base import Univariate
from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.composites.predictive_mixture import PredictiveMixture
from posteriori.distributions.composites.repeated import Repeated
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.pareto import Pareto
from posteriori.distributions.numbers.uniform import Uniform
from posteriori.estimators.approximate_posterior import ApproximatePosterior
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs, check_rows
from posteriori.estimators.parameters import AT_LEAST_ONE, check_parameters
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.recording import recording_step
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_squares

__all__ = ["TargetDensity", "TargetHistogram", "TargetKernelDensity"]

#: How fast tails fall: the fourth power leaves them a mean and a variance.
_SHAPE = 3.0

#: Distinct targets from which on those in a cell share a kernel, and cells in a bandwidth: the density changes
#: by 1e-5 of its size, as mean and variance of a cell's rows are kept.
_MANY, _CELLS = 2000, 8.0

#: Places within a step among which equal targets are divided at most.
_MOST_PLACES = 50


class TargetDensity(RegressorMixin, BaseEstimator):
    """The same distribution for every row, given how it is learned."""

    _constraints: dict[str, Any] = {}

    @abstractmethod
    def _learn(self, y: Array, frequency: Array, step: float) -> None:
        """Learn from targets in rising order, recorded to a step (0: none is seen)."""

    @property
    @abstractmethod
    def model_(self) -> Univariate:
        """The distribution of a target."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from targets.

        Parameters
        ----------
        X : (N, D)
            Without effect.
        y : (N,)
        sample_weight : (N,), optional
            Frequencies >= 0: equal to repeated rows.
        """
        check_parameters(self)
        rows = check_rows(self, X, y, sample_weight=sample_weight)
        require_squares("y", rows.y[:, None])
        if not np.ptp(rows.y) > 0.0:
            raise ValueError(
                f"y is {rows.y[0]:.6g} in all rows (n_samples={len(rows.y)}): a constant has no density"
            )
        order = np.argsort(rows.y, kind="stable")
        frequency = np.ones(len(order)) if rows.frequency is None else rows.frequency[order]
        self._fingerprint = Fingerprint().update(rows.y, rows.frequency)
        self._learn(rows.y[order], frequency, recording_step(rows.y))
        return self

    def predict_dist(self, X: Any) -> Repeated:
        """Return the distribution of each row's target: ``model_`` for all."""
        check_is_fitted(self)
        return Repeated(self.model_, len(check_inputs(self, X)))

    def predict(self, X: Any) -> Array:
        """Return the mean of ``model_`` for every row, (N,)."""
        return np.array(self.predict_dist(X).mean)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # by intent: it ignores its inputs
        return tags


class TargetKernelDensity(TargetDensity):
    """The kernel density of a target, which ignores all inputs.

    The bandwidth h makes targets that are left out most probable (:class:`KernelDensity`). Targets that are
    recorded to a step δ are taken as lying evenly within it, so that kernels have the variance h² + δ²/12.

    Attributes
    ----------
    bandwidth_ : float
        h.
    model_ : Mixture of Normal
        The distribution of a target. Of more than 2000 distinct targets those within an eighth of the bandwidth share
        a kernel, with their mean and variance.

    Examples
    --------
    >>> X, y = np.zeros((6, 1)), [1.0, 1.5, 2.0, 8.0, 8.5, 9.0]
    >>> model = TargetKernelDensity().fit(X, y)
    >>> np.exp(model.predict_dist(X[:3]).log_prob([1.5, 5.0, 8.5])).round(3)
    array([0.261, 0.   , 0.261])
    """

    bandwidth_: float
    _places: Array
    _variances: Array
    _weights: Array

    def _learn(self, y: Array, frequency: Array, step: float) -> None:
        opened, times = _within_steps(y, frequency, step)
        likely = KernelDensity().fit(opened[:, None], sample_weight=times)
        self.bandwidth_ = float(likely.bandwidth_[0])
        distinct, codes = np.unique(y, return_inverse=True)
        if len(distinct) > _MANY:
            cells = np.floor((y - y[0]) / (self.bandwidth_ / _CELLS))
            codes = np.unique(cells, return_inverse=True)[1]
        self._weights = np.bincount(codes, frequency)
        first = y[np.unique(codes, return_index=True)[1]]  # sums of what is small keep their digits
        shift = np.bincount(codes, frequency * (y - first[codes])) / self._weights
        self._places = first + shift
        squares = np.bincount(codes, frequency * (y - self._places[codes]) ** 2)
        self._variances = squares / self._weights + self.bandwidth_**2 + step**2 / 12.0

    @property
    def model_(self) -> Univariate:
        """The distribution of a target."""
        check_is_fitted(self)
        shares = self._weights / self._weights.sum()
        made: Any = Mixture(shares, Normal(self._places, variance=self._variances))
        return made

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_weights")


def _within_steps(y: Array, frequency: Array, step: float) -> tuple[Array, Array]:
    """Return distinct targets and their weights; what was recorded to a step is spread evenly over it."""
    distinct, codes = np.unique(y, return_inverse=True)
    total = np.bincount(codes, frequency)
    if step == 0.0:
        return distinct, total
    places = np.clip(np.ceil(total), 1, _MOST_PLACES).astype(np.int64)
    source = np.repeat(np.arange(len(distinct)), places)
    first = np.cumsum(places) - places
    shares = (np.arange(len(source)) - first[source] + 0.5) / places[source]
    return distinct[source] + step * (shares - 0.5), (total / places)[source]


class Tail(NamedTuple):
    """One end of an open histogram: where it begins, and the unit in which it falls."""

    end: float
    scale: float


class TargetHistogram(ApproximatePosterior, TargetDensity):
    """The adaptive histogram of a target, open at both ends, which ignores all inputs.

    Parameters
    ----------
    cells : int
        Largest number of equal cells between the least and the largest target
        (:class:`AdaptiveHistogram`); none is narrower than the step to which targets are recorded, and each has
        as many of its values.

    Attributes
    ----------
    edges_, masses_ : (M + 1,), (M,)
        Cells of the averaged density, given that a target lies inside.
    outside_ : float
        Probability of each tail.
    log_evidence_ : LogEvidence
        ln p(y), "type-II", as the range is that of the targets.
    model_ : PredictiveMixture
        The distribution of a target.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.exponential(size=500)
    >>> model = TargetHistogram().fit(np.zeros((500, 1)), y)
    >>> model.predict_dist([[0.0], [0.0]]).cdf([0.5, y.max() + 1.0]).round(2)
    array([0.32, 1.  ])
    """

    _constraints = {"cells": AT_LEAST_ONE._replace(words="be a whole number >= 1", whole=True)}

    edges_: Array
    masses_: Array
    outside_: float
    log_evidence_: LogEvidence

    def __init__(self, cells: int = 200) -> None:
        self.cells = cells

    def _learn(self, y: Array, frequency: Array, step: float) -> None:
        low, high, cells = _grid(y, step, int(self.cells))
        inner = AdaptiveHistogram(cells, (low, high)).fit(y, sample_weight=frequency)
        total = float(frequency.sum())
        self.edges_, self.masses_ = inner.edges_, inner.masses_
        self.outside_ = 0.5 / (total + 1.5)
        least = (high - low) / cells
        self._low = Tail(low, max(_reach(y, frequency), least))
        self._high = Tail(high, max(_reach(-y[::-1], frequency[::-1]), least))
        self.log_evidence_ = LogEvidence(
            float(inner.log_evidence_) - np.log(2.0 * total + 1.0),  # Γ(3/2)Γ(N+½)/{Γ(½)Γ(N+3/2)}
            kind="type-II",
            of="y|X",
            fingerprint=self._fingerprint,
        )

    @property
    def model_(self) -> Univariate:
        """The distribution of a target."""
        check_is_fitted(self)
        steps: Any = Mixture(self.masses_, Uniform(self.edges_[:-1], self.edges_[1:]))
        shares = [self.outside_, 1.0 - 2.0 * self.outside_, self.outside_]
        return PredictiveMixture(shares, [_tail(self._low, -1.0), steps, _tail(self._high, 1.0)])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "masses_")


def _grid(y: Array, step: float, most: int) -> tuple[float, float, int]:
    """Return the ends of the range and the number of cells, each of as many steps."""
    low, high = float(y[0]), float(y[-1])
    if step == 0.0:
        return low, high, most
    steps = int(np.rint((high - low) / step)) + 1  # a recorded y stands for y ± ½δ
    each = -(-steps // most)
    cells = -(-steps // each)
    return low - 0.5 * step, low + (cells * each - 0.5) * step, cells


def _reach(y: Array, frequency: Array) -> float:
    """Return how far the first target lies from that √N rows further on: the unit of its tail."""
    before = np.cumsum(frequency)
    place = np.searchsorted(before, np.ceil(np.sqrt(before[-1])), side="right")
    return float(y[min(place, len(y) - 1)] - y[0])


def _tail(tail: Tail, side: float) -> Univariate:
    """Return e ± (x − s) with x of Pareto's distribution from s on."""
    made: Any = Transformed(
        Pareto(_SHAPE, minimum=tail.scale), AffineMap(side, tail.end - side * tail.scale)
    )
    return made
