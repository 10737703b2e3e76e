r"""Gradient boosting of numbers, :math:`y \sim t_\nu(m(x), \sigma(x))`, of their logarithms, and of counts.

Location m and log scale ln σ, or the log mean of counts, are sums of trees. Each tree follows the
natural gradient of the log density (T. Duan and others, "NGBoost", 2020); members that leave out a fold
each, and say how wide and how heavy-tailed the noise is, keep the scale honest.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from posteriori.distributions.algebra.maps import ExpMap
from posteriori.distributions.algebra.transformed import Transformed
from posteriori.distributions.counts.negative_binomial import NegativeBinomial
from posteriori.distributions.counts.poisson import Poisson
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.ensemble.gradient_boosting.boosted_ensemble import (
    SCHEDULE_CONSTRAINTS,
    BoostedEnsemble,
    Judged,
)
from posteriori.ensemble.gradient_boosting.left_out_noise import (
    fit_log_mean,
    fit_tail,
    fit_width,
)
from posteriori.ensemble.gradient_boosting.losses import CountLoss, StudentLoss
from posteriori.estimators.estimator_rows import check_rows
from posteriori.estimators.parameters import check_parameters, one_of
from posteriori.estimators.target_unit import TargetUnit, learn_unit
from posteriori.numerics.calculus.level_off import level_off
from posteriori.numerics.types import Array

__all__ = ["GradientBoostingRegressor"]

_COUNTS = ("poisson", "negative binomial")
_FAMILIES = ("student", "normal", "log student", *_COUNTS)

#: Log means beyond this are taken as this.
_LARGEST = 700.0


class GradientBoostingRegressor(RegressorMixin, BoostedEnsemble):
    r"""Sums of trees for the distribution of each row's number or count.

    A tree is added for each predictor f of the distribution: location and log scale of numbers, the log
    mean of counts. A leaf moves f by :math:`\eta\,G/(F + \lambda)` with the slope G of the log density
    and its Fisher information F, summed over the rows of the leaf; the tree is the one whose leaves gain
    most of :math:`G^2/(F + \lambda)`.

    There are ``n_members`` such ensembles. Each leaves out a fold of the rows, and ends where the log
    density of that fold no longer rises. Predictions are the average of the members; a common factor of
    all scales, the degrees of freedom (3, 5, 8, 15, 30 or ∞) and the dispersion of counts are learned
    from what members predict for the rows that they left out. The partition is chosen by y, so that
    there is no ``log_evidence_``.

    Parameters
    ----------
    family : {"student", "normal", "log student", "poisson", "negative binomial"}
        "log student" is Student's t of ln y, for positive numbers whose noise is a percentage.
    n_estimators : int
        Rounds, at most. With ``n_members=1`` there are so many.
    learning_rate : float
        η in (0, 1].
    max_leaves : int or None
        Of a tree; None takes one for 512 rows, from 4 to 64.
    max_depth : int or None
    subsample : float or None
        Share of the rows that each tree is grown from. None takes half of them where they are fewer than
        10⁴ and there are several members, else all.
    max_features : float
        Share of the columns that are tried in each node.
    max_bins : int or None
        Bins of a column; None: one for each value.
    columns : {"number", "categorical"} or a sequence of these
        What the columns hold. Categories are codes 0, 1, …; levels that are new are missing.
    n_members : int
        1 learns from all rows, for ``n_estimators`` rounds, and takes the noise from the same rows:
        scales are then too small. Fewer than 4 rows a member make fewer members.
    random_state : int, Generator or None
        Of folds, rows and columns.
    progress : bool or None
        Whether a line tells how far it is; None: where it takes long.

    Attributes
    ----------
    dof_ : float
        Degrees of freedom, of "student", "log student" and "normal" (∞).
    dispersion_ : float
        s = 1/r of counts, whose variance is μ + sμ²; 0 for "poisson".
    left_out_log_density_ : float
        Of all rows, each by the member that has not seen it; of the rows seen if there is one member.
    n_rounds_ : (members,)
        Rounds that each member kept.
    trees_, values_, start_
        All trees, what their leaves add to the predictors (M, P), and where these start (P,).

    Notes
    -----
    NaN in X is missing: a node sends it where it gains. ``sample_weight`` counts repetitions: where
    nothing is random (one member, all rows, all columns) it equals repeated rows to rounding; folds are
    made of rows, so that a repeated row may be left out by another member than its copy.

    Multiplying y by a power of two multiplies predictions exactly, by another factor to rounding.

    Cost: O(N D) for each level of each tree.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(400, 1))
    >>> y = np.sin(2 * X[:, 0]) + rng.normal(size=400) * np.where(X[:, 0] > 0, 0.5, 0.1)
    >>> model = GradientBoostingRegressor(random_state=0).fit(X, y)
    >>> low, high = model.predict_dist([[-1.0], [1.0]]).interval(0.9)
    >>> bool(high[1] - low[1] > 2 * (high[0] - low[0]))  # wider where there is more noise
    True
    """

    _constraints = {
        **SCHEDULE_CONSTRAINTS,
        "family": one_of(*_FAMILIES),
    }

    dof_: float
    dispersion_: float
    left_out_log_density_: float
    _unit: TargetUnit
    #: Of logarithms: the h of predictions exp(m + hσ²), and the largest one seen.
    _log_mean: float
    _log_top: float

    def __init__(
        self,
        family: str = "student",
        n_estimators: int = 1000,
        learning_rate: float = 0.05,
        max_leaves: int | None = None,
        max_depth: int | None = None,
        subsample: float | None = None,
        max_features: float = 0.3,
        max_bins: int | None = 255,
        columns: Any = "number",
        n_members: int = 5,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.family = family
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.subsample = subsample
        self.max_features = max_features
        self.max_bins = max_bins
        self.columns = columns
        self.n_members = n_members
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the trees.

        Parameters
        ----------
        X : array_like (N, D)
            NaN is missing.
        y : array_like (N,)
            Numbers; positive ones for "log student", whole numbers >= 0 for counts.
        sample_weight : array_like (N,), optional
            Frequencies: how often each row counts.

        Raises
        ------
        ValueError
            When there is one row only, or a target is no count, or not positive.
        """
        check_parameters(self)
        rows = check_rows(self, X, y, sample_weight=sample_weight, gaps=True)
        if len(rows.y) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 rows to learn a scale, got 1 sample"
            )
        if self.family in _COUNTS:
            _require_counts(rows.y)
            loss = CountLoss(poisson=self.family == "poisson")
            judged = self._boost(loss, rows.x, rows.y, rows.frequency)
            some = judged.some()
            self.dispersion_ = loss.learn_shape(some.y, some.f, some.weight)
            logs = loss.log_density(judged.y, judged.f, self.dispersion_)
            self.left_out_log_density_ = float(judged.weight @ logs)
            return self
        y = self._numbers(rows.y)
        weight = np.broadcast_to(1.0 if rows.frequency is None else rows.frequency, len(y))
        self._unit = learn_unit(y, weight)
        target = (y - self._unit.centre) / self._unit.size
        student = StudentLoss(normal=self.family == "normal")
        judged = self._boost(student, rows.x, target, rows.frequency)
        self._learn_noise(student, judged)
        if self.family == "log student":
            self._learn_log_mean(judged, y[weight > 0].max())
        return self

    def _numbers(self, y: Array) -> Array:
        """Return what location and scale are those of: targets, or their logarithms."""
        if self.family != "log student":
            return y
        _require_positive(y)
        return np.log(y)

    def _learn_log_mean(self, judged: Judged, top: float) -> None:
        """Learn how far means lie above exp(m), and express the density in units of y."""
        logs = self._unit.centre + judged.y * self._unit.size
        self.left_out_log_density_ -= float(judged.weight @ logs)  # Σ ln|dy/d ln y|
        mean, scale = self._location_scale(judged.f)
        self._log_top = float(top)
        self._log_mean = 0.5
        if np.isfinite(self.dof_):
            most = 0.5 * self.dof_ / (self.dof_ - 2.0)  # half the variance, in units of σ²
            self._log_mean = fit_log_mean(logs, mean, scale**2, judged.weight, most)

    def _location_scale(self, f: Array) -> tuple[Array, Array]:
        return self._unit.centre + f[0] * self._unit.size, np.exp(f[1]) * self._unit.size

    def _learn_noise(self, loss: StudentLoss, judged: Judged) -> None:
        """Learn a factor of all scales and the degrees of freedom."""
        some = judged.some()
        z, weight = loss.residuals(some.y, some.f), some.weight
        tail, width = (0.0, fit_width(z, weight, 0.0)) if loss.normal else fit_tail(z, weight)
        judged.f[1] += np.log(width)
        self.start_[1] += np.log(width)
        self.dof_ = 1.0 / tail if tail > 0.0 else np.inf
        logs = loss.log_density(judged.y, judged.f, tail) - np.log(self._unit.size)
        self.left_out_log_density_ = float(judged.weight @ logs)

    def predict_dist(self, X: Any) -> Any:
        """Return the predictive distribution of each row's target, a batch.

        StudentT (Normal where the degrees of freedom are infinite), exp of one, Poisson or
        NegativeBinomial.
        """
        f = self._predictors(X)
        if self.family == "poisson":
            return Poisson(np.exp(np.clip(f[0], -_LARGEST, _LARGEST)))
        if self.family == "negative binomial":
            mean = np.exp(np.clip(f[0], -_LARGEST, _LARGEST))
            return NegativeBinomial(1.0 / self.dispersion_, mean=mean)
        mean, scale = self._location_scale(f)
        normal = np.isinf(self.dof_)
        numbers = (
            Normal(mean, variance=scale**2) if normal else StudentT(self.dof_, mean, scale=scale)
        )
        return Transformed(numbers, ExpMap()) if self.family == "log student" else numbers

    def predict(self, X: Any) -> Array:
        r"""Return the mean of each row's target, (N,).

        That of exp t is infinite. "log student" predicts :math:`\mu = \exp(m + h\sigma^2)`, with h = ½ where
        the degrees of freedom are infinite, else such that predictions of the rows that members left out
        add up to their targets; and T(2 − T/μ) beyond the largest target T.
        """
        if self.family == "log student":
            location, scale = self._location_scale(self._predictors(X))
            return np.exp(level_off(location + self._log_mean * scale**2, self._log_top))
        mean: Array = self.predict_dist(X).mean
        return mean

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.family == "log student"
        return tags


def _require_positive(y: Array) -> None:
    if not (y > 0).all():
        row = int(np.argmin(y > 0))
        raise ValueError(
            f"family='log student' needs positive targets, got {y[row]:.6g} in row {row}; "
            "family='student' learns other numbers"
        )


def _require_counts(y: Array) -> None:
    wrong = (y < 0) | (y != np.floor(y))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"y must hold counts 0, 1, 2, …, got {y[row]:.6g} in row {row}; "
            "family='student' learns other numbers"
        )
