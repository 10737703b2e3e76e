"""Predictions of every row by a model that has not seen it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from posteriori.distributions.batches import has_atoms
from posteriori.numerics.types import Array
from posteriori.selection.held_out import predictive_of

__all__ = [
    "Unseen",
    "fit_in_parts",
    "join_folds",
    "predict_fold",
    "recording_step",
    "repeated_value",
    "split_rows",
]


#: Rows that are predicted at a time.
_PART = 1024
#: Rows that are learned from at a time, by models that can.
_FIT_PART = 4096

#: Rows, and share of them, from which on one value of the targets counts as repeated.
_FEWEST_REPEATED, _SHARE_REPEATED = 5, 0.1
#: Steps below this share of the targets' spread are as good as none.
_FINEST = 1e-8


class Unseen(NamedTuple):
    """What a model says about rows that it has not seen.

    Attributes
    ----------
    log_density : (N,)
        Log predictive density of the target, averaged over the step to which targets are recorded
        (whole numbers: the probability of the unit around them); or log probability of its class.
    prediction : (N,) or (N, K)
        Predictive mean, or probabilities of the classes.
    level : (N,)
        Predictive probability of targets up to the one that came (½ of it where it has mass);
        uniform for a calibrated model. Empty for classes.
    """

    log_density: Array
    prediction: Array
    level: Array


def split_rows(y: Any, folds: int, seed: int, *, classes: bool) -> list[tuple[Any, Any]]:
    """Return training and held-out rows of every fold; the classes are spread evenly."""
    n_folds = min(folds, len(y))
    places = np.zeros(len(y))
    if not classes:
        return list(KFold(n_folds, shuffle=True, random_state=seed).split(places))
    rarest = int(np.unique(y, return_counts=True)[1].min())
    if rarest < n_folds:  # some folds will have none of it; scikit-learn would warn
        order = np.argsort(np.random.default_rng(seed).permutation(len(y)))
        by_class = np.lexsort((order, np.unique(y, return_inverse=True)[1]))
        fold_of = np.empty(len(y), dtype=int)
        fold_of[by_class] = np.arange(len(y)) % n_folds
        return [
            (np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(n_folds)
        ]
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(places, y))


def predict_fold(
    pipeline: Any, X: pd.DataFrame, y: Any, split: tuple[Any, Any], classes: Any = None
) -> Unseen:
    """Fit to all rows but those of one fold, and predict these.

    Parameters
    ----------
    pipeline : estimator
        Left as it is.
    X : DataFrame
    y : (N,)
    split : pair of (n,)
        Training rows, and those held out.
    classes : (K,), optional
        All labels, for classification.
    """
    train, held_out = split
    model = fit_in_parts(clone(pipeline), X.iloc[train], y[train])
    step = recording_step(y) if classes is None else 0.0
    parts = []
    for start in range(0, len(held_out), _PART):  # a distribution can take 100 numbers a row
        rows = held_out[start : start + _PART]
        parts.append(
            _predict_numbers(model, X.iloc[rows], y[rows], step)
            if classes is None
            else _predict_classes(model, X.iloc[rows], y[rows], classes, len(train))
        )
    return Unseen(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def recording_step(y: Array) -> float:
    """Return the step h to which targets are recorded, or 0 where they show none.

    It is 1 for whole numbers, and otherwise that of the last decimal place in use. Where a value
    repeats among others of all digits, it is the difference by which these typically lie apart.
    A recorded y stands for y ± ½h, so that no model is better for being narrower.

    Examples
    --------
    >>> import numpy as np
    >>> recording_step(np.array([3.0, 4.0, 8.0])), recording_step(np.array([9.99, 20.0]))
    (1.0, 0.01)
    >>> recording_step(np.append(np.zeros(9), np.pi)), recording_step(np.array([0.0, np.pi]))
    (3.141592653589793, 0.0)
    """
    values = np.unique(y)
    finest = _FINEST * float(values[-1] - values[0])
    for decimals in range(16):
        step = 10.0**-decimals
        if decimals and step < finest:
            break
        if (np.round(values, decimals) == values).all():
            return step
    return float(np.median(np.diff(values))) if repeated_value(y) is not None else 0.0


def repeated_value(y: Array) -> tuple[float, float] | None:
    """Return the most frequent target and its share of the rows, if that is large."""
    values, counts = np.unique(y, return_counts=True)
    most = int(counts.argmax())
    if counts[most] < max(_FEWEST_REPEATED, _SHARE_REPEATED * len(y)):
        return None
    return float(values[most]), float(counts[most] / len(y))


def join_folds(parts: Sequence[Unseen], splits: list[tuple[Any, Any]]) -> Unseen:
    """Return what is said of all rows, in their order, from what is said of each fold."""
    places = np.argsort(np.concatenate([rows for _, rows in splits]))
    return Unseen(*(np.concatenate(values)[places] for values in zip(*parts, strict=True)))


def fit_in_parts(pipeline: Any, X: pd.DataFrame, y: Any) -> Any:
    """Fit a pipeline; a last step that can add rows up sees them part by part.

    Then no matrix of all inputs is made, which wide bases would make many times as large as X.
    """
    columns, model = pipeline[0], pipeline[-1]
    if len(X) <= _FIT_PART or not hasattr(model, "partial_fit"):
        return pipeline.fit(X, y)
    columns.fit(X, y)
    for start in range(0, len(X), _FIT_PART):
        part = slice(start, start + _FIT_PART)
        model.partial_fit(columns.transform(X.iloc[part]), y[part])
    return pipeline


def _predict_numbers(model: Any, X: pd.DataFrame, y: Array, step: float) -> Unseen:
    predictive = predictive_of(model, X)
    mean = np.asarray(model.predict(X), dtype=np.float64)
    log_density = np.asarray(predictive.log_prob(y))
    if has_atoms(predictive):
        level = np.asarray(predictive.cdf(y)) - 0.5 * np.exp(log_density)
        return Unseen(log_density, mean, level)
    if step > 0.0:
        log_density = _average_density(predictive, y, step, log_density)
    return Unseen(log_density, mean, np.asarray(predictive.cdf(y)))


def _average_density(predictive: Any, y: Array, step: float, log_density: Array) -> Array:
    """Return ln p(y − ½h < Y < y + ½h)/h; in far tails the density, for which h is narrow."""
    half = 0.5 * step
    mass = np.asarray(predictive.cdf(y + half)) - np.asarray(predictive.cdf(y - half))
    sure = mass > 1e-9
    return np.where(sure, np.log(np.where(sure, mass, 1.0) / step), log_density)


def _predict_classes(model: Any, X: pd.DataFrame, y: Any, classes: Any, seen: int) -> Unseen:
    """Spread the probabilities over all classes.

    A class that the training rows lack has 1/(n + K), what a uniform Dirichlet prior leaves to it.
    """
    own = np.asarray(model.predict_proba(X))
    share = 1.0 / (seen + len(classes))
    p = np.full((len(y), len(classes)), share)
    p[:, np.searchsorted(classes, model.classes_)] = own * (
        1.0 - share * (len(classes) - own.shape[1])
    )
    chosen = p[np.arange(len(y)), np.searchsorted(classes, y)]
    with np.errstate(divide="ignore"):
        return Unseen(np.log(chosen), p, np.full(len(y), np.nan))
