"""How well a model predicts rows that it has not seen: log predictive density with standard error.

In closed form where the estimator has it, by Pareto-smoothed importance sampling where it can draw
from its posterior, by cross-validation otherwise; also where targets are recorded so coarsely that
densities at single points mislead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import column_or_1d

from posteriori.estimators.contract import (
    DrawsLikelihoods,
    ExpectsLikelihoods,
    HasEvidence,
    LeavesOneOut,
    last_step,
    offers,
    predictive_of,
)
from posteriori.estimators.parameters import require_estimator
from posteriori.numerics.blocks.block_sizes import IN_MEMORY, rows_per_block
from posteriori.numerics.types import Array
from posteriori.selection.comparison import standard_error
from posteriori.selection.cross_validation import (
    cross_validate,
    recorded_log_density,
    recording_step,
)
from posteriori.selection.psis import leave_one_out, waic

__all__ = [
    "TRUSTED_SHAPE",
    "HeldOut",
    "held_out_density",
    "hold_out_by_draws",
]

#: Above this shape of the tail importance sampling is not to be trusted.
TRUSTED_SHAPE = 0.7

#: Share of the standard error that the step of the targets may move densities which do not know it.
_MATTERS = 0.1


#: Rows that are predicted at a time: a distribution can take 100 numbers a row.
_PART = 1024

#: Rows for which draws are weighed; of more, this many are picked at random.
_MOST_ROWS = 2000

#: Draws that tell the densities of all rows, where some are weighed.
_FEW = 50


class HeldOut(NamedTuple):
    """Log predictive densities of rows that were held out.

    Attributes
    ----------
    pointwise : (N,)
    method : str
        "leave-one-out" (closed form), "psis", "psis of 2000 rows" or "5-fold".
    waic : float
        Of draws of the posterior; NaN without draws.
    accuracy : float
        Expected log likelihood under the posterior; NaN where it is not known.
    pareto_shape : float
        Largest k̂ of importance sampling; NaN where it was not tried.
    sampling_error : float
        Standard error of the sum that comes from picking rows.
    penalty : float
        Effective number of parameters by WAIC; NaN without draws.
    """

    pointwise: Array
    method: str
    waic: float = float("nan")
    accuracy: float = float("nan")
    pareto_shape: float = float("nan")
    sampling_error: float = 0.0
    penalty: float = float("nan")

    @property
    def total(self) -> float:
        """Sum over all rows."""
        return float(self.pointwise.sum())

    @property
    def standard_error(self) -> float:
        """Standard error of the sum."""
        return float(np.hypot(standard_error(self.pointwise), self.sampling_error))


def held_out_density(
    estimator: Any, X: Any, y: Any, *, folds: int = 5, draws: int = 1000, seed: int = 0
) -> HeldOut:
    """Return the held-out log predictive density of a fitted estimator's model.

    Parameters
    ----------
    estimator
        Fitted to these data.
    X, y : array_like
    folds : int
        For cross-validation, where importance sampling is not possible or not to be trusted, or targets
        are coarse.
    draws : int
        From the posterior, for importance sampling.
    seed : int

    Returns
    -------
    HeldOut
        Of the rows that have a target.

    Notes
    -----
    Of more than 2000 rows importance sampling weighs that many, picked at random; what all rows lose by
    being left out is told by regression on their densities under 50 draws (after M. Magnusson et al.,
    "Bayesian leave-one-out cross-validation for large data", 2019).
    """
    require_estimator("estimator", estimator)
    classes = is_classifier(estimator)
    targets = column_or_1d(np.asarray(y), dtype=None if classes else np.float64)
    X = X if hasattr(X, "shape") else np.asarray(X)
    X, targets = _without_missing(X, targets)
    final, inputs = last_step(estimator, X)
    alone = not _chosen_by_evidence(final) and (final is estimator or _is_fixed(estimator[:-1]))
    exact = None
    if alone and offers(final, LeavesOneOut):
        exact = np.asarray(final.leave_one_out_log_density(inputs, targets))
    found = _from_draws(final, inputs, targets, draws, seed, exact)
    if offers(final, ExpectsLikelihoods):
        fit = float(np.sum(final.expected_log_likelihood(inputs, targets)))
        found = found._replace(accuracy=fit)
    if exact is not None or (alone and found.pareto_shape < TRUSTED_SHAPE):
        change = _by_recording(final, inputs, targets)
        moved = max(abs(np.sum(change)), np.linalg.norm(change))
        if not moved > _MATTERS * found.standard_error:
            return found._replace(pointwise=found.pointwise + change)
    labels = np.unique(targets) if classes else None
    unseen = cross_validate(estimator, X, targets, folds=folds, seed=seed, classes=labels)
    return found._replace(
        pointwise=unseen.log_density, method=f"{min(folds, len(targets))}-fold", sampling_error=0.0
    )


def _by_recording(final: Any, inputs: Any, y: Array) -> Array | float:
    """Return by how much log densities change when they are averaged over the step of the targets.

    Within a step the density of a row that is left out bends nearly as the fitted one does.
    """
    step = 0.0 if is_classifier(final) else recording_step(y)
    if step == 0.0:
        return 0.0
    changes = []
    for first in range(0, len(y), _PART):
        rows = slice(first, first + _PART)
        predictive, here = predictive_of(final, _safe_indexing(inputs, rows)), y[rows]
        changes.append(recorded_log_density(predictive, here, step) - predictive.log_prob(here))
    return np.concatenate(changes)


def _without_missing(X: Any, y: Array) -> tuple[Any, Array]:
    """Leave out rows without a target: there is nothing to predict."""
    if y.dtype.kind != "f" or not np.isnan(y).any():
        return X, y
    there = np.flatnonzero(~np.isnan(y))
    return _safe_indexing(X, there), y[there]


def hold_out_by_draws(
    log_likelihood_of: Callable[[Any, int], Array],
    count: int,
    draws: int,
    seed: int,
    exact: Array | None = None,
) -> HeldOut:
    """Weigh draws of a posterior for rows, or for some of many rows.

    Parameters
    ----------
    log_likelihood_of : callable
        From rows and a number of draws to ln p(y_n | θ_s), (S, R), of the same draws every time.
    count : int
        Number of rows N.
    draws : int
        Number of draws S.
    seed : int
        Picks the rows.
    exact : (N,), optional
        The densities of rows that are left out, where they are known.
    """
    rows = _pick_rows(count, seed)
    weighed = _weigh_draws(log_likelihood_of, rows, draws, smooth=exact is None)
    if exact is not None:
        return _extended(weighed, rows, exact)
    if len(rows) == count:
        held = _extended(weighed, rows, weighed.left_out)
        return held._replace(method="psis", pareto_shape=float(weighed.pareto_shape.max()))
    return _carried_over(log_likelihood_of, weighed, rows, count)


def _pick_rows(count: int, seed: int) -> Any:
    """Return all rows, or some at random, in order."""
    if count <= _MOST_ROWS:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, _MOST_ROWS, replace=False))


class _Weighed(NamedTuple):
    """What draws of a posterior say of rows, each (M,): left out, by WAIC, and as they are fitted."""

    left_out: Array
    pareto_shape: Array
    waic: Array
    penalty: Array
    accuracy: Array


def _weigh_draws(
    log_likelihood_of: Callable[[Any, int], Array], rows: Any, draws: int, *, smooth: bool
) -> _Weighed:
    """Weigh block by block of rows; what rows are when they are left out only where it is asked."""
    step = rows_per_block(draws, IN_MEMORY)
    parts = []
    for first in range(0, len(rows), step):
        logs = log_likelihood_of(rows[first : first + step], draws)
        blank = np.full(logs.shape[1], np.nan)
        left_out = leave_one_out(logs) if smooth else (blank, blank)
        parts.append((*left_out, *waic(logs), logs.mean(axis=0)))
    return _Weighed(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _extended(weighed: _Weighed, rows: Any, whole: Array) -> HeldOut:
    """Let all rows be as far from the densities ``whole`` (N,) as the rows that were weighed."""
    n, here = len(whole), whole[rows]
    return HeldOut(
        whole,
        "leave-one-out",
        float(whole.sum() + n * np.mean(weighed.waic - here)),
        float(whole.sum() + n * np.mean(weighed.accuracy - here)),
        penalty=n * float(np.mean(weighed.penalty)),
    )


def _carried_over(
    log_likelihood_of: Callable[[Any, int], Array], weighed: _Weighed, rows: Any, count: int
) -> HeldOut:
    """Predict what is known of the rows that were weighed for all, from a few draws of each.

    The densities of a row under a few draws tell that under the posterior mean, which differs from
    that of the row when it is left out by terms of the order of its leverage.
    """
    logs = log_likelihood_of(rows, _FEW)
    center, spread = logs.mean(axis=0), logs.std() or 1.0
    columns = _columns(logs, spread)
    wanted = np.stack([weighed.left_out, weighed.waic, weighed.accuracy]) - center
    slopes = np.linalg.lstsq(columns.T, wanted.T, rcond=1e-9)[0]
    left = wanted[0] - columns.T @ slopes[:, 0]
    found = []
    step = rows_per_block(_FEW, IN_MEMORY)
    for some in np.split(np.arange(count), range(step, count, step)):
        logs = log_likelihood_of(some, _FEW)
        found.append(logs.mean(axis=0) + slopes.T @ _columns(logs, spread))
    left_out, criterion, accuracy = np.concatenate(found, axis=1)
    return HeldOut(
        left_out,
        f"psis of {len(rows)} rows",
        float(criterion.sum()),
        float(accuracy.sum()),
        float(weighed.pareto_shape.max()),
        float(count * left.std() / np.sqrt(len(rows) - _FEW)),
        count * float(np.mean(weighed.penalty)),
    )


def _columns(logs: Array, spread: float) -> Array:
    """Return 1 and the deviations of all draws but one, (S, R)."""
    apart = (logs - logs.mean(axis=0)) / spread
    apart[0] = 1.0
    return apart


def _chosen_by_evidence(final: Any) -> bool:
    """Tell whether hyper-parameters have learned from the row that is to be left out."""
    return offers(final, HasEvidence) and final.log_evidence_.kind == "type-II"


def _is_fixed(steps: Any) -> bool:
    """Tell whether transformers learn nothing from data."""
    return all(
        step in ("passthrough", None) or not step.__sklearn_tags__().requires_fit
        for _, step in steps.steps
    )


def _from_draws(
    final: Any, inputs: Any, y: Array, draws: int, seed: int, exact: Array | None
) -> HeldOut:
    """Return what draws and the closed form, where there is one, say of all rows."""
    if not offers(final, DrawsLikelihoods):
        return HeldOut(np.empty(0) if exact is None else exact, "leave-one-out")

    def log_likelihood_of(rows: Any, size: int) -> Array:
        every = len(rows) == len(y)
        x = inputs if every else _safe_indexing(inputs, rows)
        return final.log_likelihood_draws(x, y if every else y[rows], size, seed)

    return hold_out_by_draws(log_likelihood_of, len(y), draws, seed, exact)
