"""How well a model predicts rows that it has not seen: log predictive density with standard error.

In closed form where the estimator has it, by Pareto-smoothed importance sampling where it can draw from its
posterior, by cross-validation otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from posteriori.numerics.types import Array
from posteriori.selection.psis import leave_one_out, standard_error, waic

__all__ = ["HeldOut", "held_out_density"]

#: Above this shape of the tail importance sampling is not to be trusted.
_TRUSTED_SHAPE = 0.7

#: The least log density that a row may cost: a probability of 0 would rule a model out for ever.
_FLOOR = -1e4


class HeldOut(NamedTuple):
    """Log predictive densities of rows that were held out.

    Attributes
    ----------
    pointwise : (N,)
    method : str
        "leave-one-out", "psis" or "k-fold".
    waic : float
        Of the same draws; NaN without draws.
    accuracy : float
        Expected log likelihood under the posterior; NaN without draws.
    """

    pointwise: Array
    method: str
    waic: float
    accuracy: float

    @property
    def total(self) -> float:
        """Sum over all rows."""
        return float(self.pointwise.sum())

    @property
    def standard_error(self) -> float:
        """Standard error of the sum."""
        return standard_error(self.pointwise)


def held_out_density(
    estimator: Any, x: Any, y: Any, *, folds: int = 5, draws: int = 1000, seed: int = 0
) -> HeldOut:
    """Return the held-out log predictive density of a fitted estimator's model.

    Parameters
    ----------
    estimator
        Fitted to these data.
    x, y : array_like
    folds : int
        For cross-validation.
    draws : int
        From the posterior, for importance sampling.
    seed : int
    """
    log_likelihood = _draws(estimator, x, y, draws, seed)
    accuracy = float("nan") if log_likelihood is None else float(log_likelihood.sum(axis=1).mean())
    criterion = float("nan") if log_likelihood is None else float(waic(log_likelihood)[0].sum())
    exact = _hook(estimator, x, "leave_one_out_log_density")
    if exact is not None:
        return HeldOut(np.asarray(exact(y)), "leave-one-out", criterion, accuracy)
    if log_likelihood is not None:
        loo = leave_one_out(log_likelihood)
        if np.all(loo.pareto_shape < _TRUSTED_SHAPE):
            return HeldOut(loo.pointwise, "psis", criterion, accuracy)
    return HeldOut(_k_fold(estimator, x, y, folds, seed), f"{folds}-fold", criterion, accuracy)


def log_density_of_rows(estimator: Any, x: Any, y: Any) -> Array:
    """Return the log predictive density, or log probability of the class, of each row."""
    if is_classifier(estimator):
        p = np.asarray(estimator.predict_proba(x))
        column = {label: k for k, label in enumerate(estimator.classes_)}
        codes = np.array([column.get(label, -1) for label in np.asarray(y)])
        chosen = np.where(codes >= 0, p[np.arange(len(codes)), codes], 0.0)
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(chosen), _FLOOR)
    final, inputs = last_step(estimator, x)
    if not hasattr(final, "predict_dist"):
        raise TypeError(
            f"{type(final).__name__} has no predict_dist: it cannot say how probable a row is"
        )
    targets = np.asarray(y, dtype=np.float64)
    return np.maximum(np.asarray(final.predict_dist(inputs).log_prob(targets)), _FLOOR)


def last_step(estimator: Any, x: Any) -> tuple[Any, Any]:
    """Return the last step of a pipeline and its inputs, or the estimator itself."""
    if not hasattr(estimator, "steps"):
        return estimator, x
    return estimator.steps[-1][1], estimator[:-1].transform(x) if len(estimator.steps) > 1 else x


def _hook(estimator: Any, x: Any, name: str) -> Any:
    final, inputs = last_step(estimator, x)
    if not hasattr(final, name) or (final is not estimator and name.startswith("leave")):
        return None  # earlier steps of a pipeline have seen the row that is to be left out
    return lambda *rest: getattr(final, name)(inputs, *rest)


def _draws(estimator: Any, x: Any, y: Any, count: int, seed: int) -> Array | None:
    hook = _hook(estimator, x, "log_likelihood_draws")
    if hook is None:
        return None
    return np.asarray(hook(np.asarray(y), count, seed))


def _k_fold(estimator: Any, x: Any, y: Any, folds: int, seed: int) -> Array:
    rows = len(y)
    kind = StratifiedKFold if is_classifier(estimator) else KFold
    splitter = kind(min(folds, rows), shuffle=True, random_state=seed)
    found = np.empty(rows)
    targets = np.asarray(y)
    for train, test in splitter.split(np.zeros(rows), targets):
        part = clone(estimator).fit(_rows(x, train), targets[train])
        found[test] = log_density_of_rows(part, _rows(x, test), targets[test])
    return found


def _rows(x: Any, index: Any) -> Any:
    return x.iloc[index] if hasattr(x, "iloc") else x[index]
