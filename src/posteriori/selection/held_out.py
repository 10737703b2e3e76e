"""How well a model predicts rows that it has not seen: log predictive density with standard error.

In closed form where the estimator has it, by Pareto-smoothed importance sampling where it can draw
from its posterior, by cross-validation otherwise.
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from posteriori.distributions.normal import Normal
from posteriori.numerics.types import Array
from posteriori.selection.psis import leave_one_out, standard_error, waic

__all__ = ["HeldOut", "held_out_density", "last_step", "predictive_of"]

#: Above this shape of the tail importance sampling is not to be trusted.
_TRUSTED_SHAPE = 0.7

#: Log likelihoods that are held at a time.
_BLOCK = 1 << 21


class HeldOut(NamedTuple):
    """Log predictive densities of rows that were held out.

    Attributes
    ----------
    pointwise : (N,)
    method : str
        "leave-one-out" (closed form), "psis" or "5-fold".
    waic : float
        Of draws of the posterior; NaN without draws.
    accuracy : float
        Expected log likelihood under the posterior; NaN where it is not known.
    pareto_shape : float
        Largest k̂ of importance sampling; NaN where it was not tried.
    """

    pointwise: Array
    method: str
    waic: float = float("nan")
    accuracy: float = float("nan")
    pareto_shape: float = float("nan")

    @property
    def total(self) -> float:
        """Sum over all rows."""
        return float(self.pointwise.sum())

    @property
    def standard_error(self) -> float:
        """Standard error of the sum."""
        return standard_error(self.pointwise)


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
        For cross-validation, where importance sampling is not possible or not to be trusted.
    draws : int
        From the posterior, for importance sampling.
    seed : int
    """
    targets = np.asarray(y)
    X = X if hasattr(X, "shape") else np.asarray(X)
    final, inputs = last_step(estimator, X)
    sampled = _from_draws(final, inputs, targets, draws, seed)
    if hasattr(final, "expected_log_likelihood"):
        sampled = sampled._replace(
            accuracy=float(np.sum(final.expected_log_likelihood(inputs, targets)))
        )
    alone = not _chosen_by_evidence(final) and (final is estimator or _is_fixed(estimator[:-1]))
    if alone and hasattr(final, "leave_one_out_log_density"):
        exact = np.asarray(final.leave_one_out_log_density(inputs, targets))
        return sampled._replace(pointwise=exact, method="leave-one-out", pareto_shape=float("nan"))
    if alone and sampled.pareto_shape < _TRUSTED_SHAPE:
        return sampled
    pointwise = _k_fold(estimator, X, targets, folds, seed)
    return sampled._replace(pointwise=pointwise, method=f"{min(folds, len(targets))}-fold")


def predictive_of(estimator: Any, X: Any) -> Any:
    """Return the predictive distribution of each row's target.

    That of ``predict_dist``; else a normal one with the standard deviations of
    ``predict(X, return_std=True)`` or with the fitted ``noise_variance_``.
    """
    final, inputs = last_step(estimator, X)
    if hasattr(final, "predict_dist"):
        return final.predict_dist(inputs)
    if "return_std" in inspect.signature(final.predict).parameters:
        mean, std = final.predict(inputs, return_std=True)
        return Normal(mean, variance=std**2)
    if hasattr(final, "noise_variance_"):
        return Normal(final.predict(inputs), variance=final.noise_variance_)
    raise TypeError(
        f"{type(final).__name__} cannot say how probable a row is: it has neither predict_dist, nor "
        "return_std in predict, nor noise_variance_"
    )


def last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the last step of a pipeline and its inputs, or the estimator itself."""
    if not hasattr(estimator, "steps"):
        return estimator, X
    return estimator.steps[-1][1], estimator[:-1].transform(X) if len(estimator.steps) > 1 else X


def _chosen_by_evidence(final: Any) -> bool:
    """Tell whether hyper-parameters have learned from the row that is to be left out."""
    return getattr(getattr(final, "log_evidence_", None), "kind", "") == "type-II"


def _is_fixed(steps: Any) -> bool:
    """Tell whether transformers learn nothing from data."""
    return all(
        step in ("passthrough", None) or not step.__sklearn_tags__().requires_fit
        for _, step in steps.steps
    )


def _from_draws(final: Any, inputs: Any, y: Array, draws: int, seed: int) -> HeldOut:
    """Smooth importance weights, block by block of rows; each block sees the same draws."""
    if not hasattr(final, "log_likelihood_draws"):
        return HeldOut(np.empty(0), "")
    pointwise, shape, criterion, accuracy = [np.empty(0)], -np.inf, 0.0, 0.0
    step = max(1, _BLOCK // draws)
    for first in range(0, len(y), step):
        rows = np.arange(first, min(first + step, len(y)))
        log_likelihood = final.log_likelihood_draws(
            _safe_indexing(inputs, rows), y[rows], draws, seed
        )
        loo = leave_one_out(log_likelihood)
        pointwise.append(loo.pointwise)
        shape = max(shape, float(loo.pareto_shape.max()))
        criterion += float(waic(log_likelihood)[0].sum())
        accuracy += float(log_likelihood.mean(axis=0).sum())
    return HeldOut(np.concatenate(pointwise), "psis", criterion, accuracy, shape)


def _k_fold(estimator: Any, X: Any, y: Array, folds: int, seed: int) -> Array:
    if folds < 2:
        raise ValueError(f"folds must be at least 2, got {folds}")
    if len(y) < 2:
        raise ValueError(f"cross-validation needs at least 2 rows, got n_samples={len(y)}")
    kind = StratifiedKFold if is_classifier(estimator) else KFold
    splitter = kind(min(folds, len(y)), shuffle=True, random_state=seed)
    found = np.empty(len(y))
    for train, test in splitter.split(np.zeros(len(y)), y):
        part = clone(estimator).fit(_safe_indexing(X, train), y[train])
        found[test] = _log_density_of_rows(part, _safe_indexing(X, test), y[test])
    return found


def _log_density_of_rows(estimator: Any, X: Any, y: Array) -> Array:
    """Return the log predictive density, or log probability of the class, of each row."""
    if not is_classifier(estimator):
        return np.asarray(predictive_of(estimator, X).log_prob(np.asarray(y, dtype=np.float64)))
    p = np.asarray(estimator.predict_proba(X))
    column = {label: k for k, label in enumerate(estimator.classes_)}
    codes = np.array([column.get(label, -1) for label in y])
    chosen = np.where(codes >= 0, p[np.arange(len(codes)), codes], 0.0)
    with np.errstate(divide="ignore"):
        return np.log(chosen)
