"""Predictions of every row by a model that has not seen it, and how probable they hold what came.

Two things are decided here, for all who ask. All classes of the table are known beforehand: one that
the training rows lack has 1/(n + K), what a uniform Dirichlet prior leaves to it, since a class of one
row is no reason to rule a model out. And a recorded y stands for y ± ½h, h being the step to which
targets are recorded, since no model is better for being narrower than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from posteriori.distributions.base import has_atoms
from posteriori.estimators.class_probabilities import fit_classes, spread_over_classes
from posteriori.estimators.contract import (
    HasSteps,
    PreparesBlocks,
    ReadsBlocks,
    adds_up,
    offers,
    predictive_of,
)
from posteriori.numerics.recording import recording_step, repeated_value
from posteriori.numerics.types import Array

__all__ = [
    "LOSSES",
    "Metrics",
    "Unseen",
    "cross_validate",
    "fit_in_parts",
    "join_folds",
    "metrics_of",
    "point_prediction",
    "predict_fold",
    "recorded_log_density",
    "recording_step",
    "repeated_value",
    "split_origins",
    "split_rows",
]


#: Rows that are predicted at a time: a distribution can take 100 numbers a row.
_PART = 4096
#: Rows that are learned from at a time, by models that can.
_FIT_PART = 4096

#: What an impossible class counts in the log loss.
_LEAST = float(np.finfo(np.float64).eps)


#: Errors that a person knows, by name, best first in importance.
Metrics = dict[str, float]

#: What a wrong number may cost: (y − ŷ)², |y − ŷ|, |ln y − ln ŷ|; and the error that tells of it first.
LOSSES = {"squared": "RMSE", "absolute": "MAE", "log": "factor"}


class Unseen(NamedTuple):
    """What a model says about rows that it has not seen.

    Attributes
    ----------
    log_density : (N,)
        Log predictive density of the target, averaged over the step to which targets are recorded
        (whole numbers: the probability of the unit around them); or log probability of its class.
    prediction : (N,) or (N, K)
        The number of least expected loss, or probabilities of the classes.
    level : (N,)
        Predictive probability of targets up to the one that came (½ of it where it has mass);
        uniform for a calibrated model. Not a number for classes.
    predictive : tuple of (rows, distribution)
        Of the targets, part by part, where medians are predicted: that of a mixture does not follow
        from those of its members. Empty for means and classes, which do.
    """

    log_density: Array
    prediction: Array
    level: Array
    predictive: tuple[tuple[Array, Any], ...] = ()


def cross_validate(
    estimator: Any, X: Any, y: Any, *, folds: int, seed: int, classes: Any = None
) -> Unseen:
    """Return what is said of every row by a model of the rows in other folds.

    Parameters
    ----------
    estimator : estimator
        Left as it is.
    X : (N, D)
    y : (N,)
    folds, seed : int
    classes : (K,), optional
        All labels, sorted, for classification.
    """
    splits = split_rows(y, folds, seed, classes=classes is not None)
    return join_folds([predict_fold(estimator, X, y, s, classes) for s in splits], splits)


def split_rows(y: Any, folds: int, seed: int, *, classes: bool) -> list[tuple[Any, Any]]:
    """Return training and held-out rows of every fold; the classes are spread evenly."""
    if folds < 2:
        raise ValueError(f"folds must be at least 2, got {folds}")
    if len(y) < 2:
        raise ValueError(f"cross-validation needs at least 2 rows, got n_samples={len(y)}")
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


def split_origins(times: Array, folds: int) -> list[tuple[Any, Any]]:
    """Return for each of several origins the rows before it, and those from it to the next.

    Of one part more, each of about as many rows, the first is told by none; rows of one time stay together.

    Parameters
    ----------
    times : (N,)
    folds : int

    Raises
    ------
    ValueError
        When there are too few different times.

    Examples
    --------
    >>> import numpy as np
    >>> for before, after in split_origins(np.array([3.0, 1.0, 2.0, 2.0, 4.0]), 2):
    ...     print(before, after)
    [1] [2 3]
    [1 2 3] [0 4]
    """
    if folds < 2:
        raise ValueError(f"folds must be at least 2, got {folds}")
    order = np.sort(times)
    cuts = [order[(k * len(times)) // (folds + 1)] for k in range(1, folds + 1)]
    ends = [*np.unique([cut for cut in cuts if cut > order[0]]), np.inf]
    if len(ends) < 3:
        raise ValueError(
            f"scores by origins need rows at several times, and there are {len(np.unique(times))} different ones for "
            f"{folds} folds"
        )
    return [
        (np.flatnonzero(times < begin), np.flatnonzero((times >= begin) & (times < end)))
        for begin, end in pairwise(ends)
    ]


def predict_fold(
    estimator: Any,
    X: Any,
    y: Any,
    split: tuple[Any, Any],
    classes: Any = None,
    loss: str = "squared",
) -> Unseen:
    """Fit to all rows but those of one fold, and predict these.

    Parameters
    ----------
    estimator : estimator
        Left as it is.
    X : (N, D)
    y : (N,)
    split : pair of (n,)
        Training rows, and those held out.
    classes : (K,), optional
        All labels, sorted, for classification.
    loss : {"squared", "absolute", "log"}
        For which numbers are predicted.
    """
    train, held_out = split
    fit = fit_in_parts if classes is None else partial(fit_classes, fit=fit_in_parts)
    learned = fit(clone(estimator), _safe_indexing(X, train), y[train])
    step = recording_step(y) if classes is None else 0.0
    parts = []
    for start in range(0, len(held_out), _PART):
        rows = held_out[start : start + _PART]
        inputs, targets = _safe_indexing(X, rows), y[rows]
        if classes is not None:
            parts.append(_predict_classes(learned, inputs, targets, classes, len(train)))
            continue
        predictive = predictive_of(learned, inputs)
        part = _predict_numbers(learned, inputs, targets, predictive, step, loss)
        parts.append(part if loss == "squared" else part._replace(predictive=((rows, predictive),)))
    return _concatenated(parts)


def join_folds(parts: Sequence[Unseen], splits: list[tuple[Any, Any]]) -> Unseen:
    """Return what is said of all rows, in their order, from what is said of each fold."""
    places = np.argsort(np.concatenate([rows for _, rows in splits]))
    joined = _concatenated(parts)
    log_density, prediction, level = (values[places] for values in joined[:3])
    return Unseen(log_density, prediction, level, joined.predictive)


def _concatenated(parts: Sequence[Unseen]) -> Unseen:
    """Return what is said of the rows of all parts, one after the other."""
    log_density, prediction, level = (
        np.concatenate(values) for values in zip(*(part[:3] for part in parts), strict=True)
    )
    predictive = tuple(pair for part in parts for pair in part.predictive)
    return Unseen(log_density, prediction, level, predictive)


def fit_in_parts(estimator: Any, X: Any, y: Any) -> Any:
    """Fit an estimator; the last step of a pipeline sees the rows part by part if it can.

    It adds them up, or they are made when it reads them. Then no matrix of all inputs is held, which
    wide bases would make many times as large as X. A model whose stream is not its batch sees all
    rows at once.
    """
    if len(X) <= _FIT_PART or not offers(estimator, HasSteps):
        return estimator.fit(X, y)
    columns, model = estimator[:-1], estimator[-1]
    if len(columns) == 1 and offers(columns[0], PreparesBlocks) and offers(model, ReadsBlocks):
        columns.fit(X, y)
        model.fit_blocks(columns[0].transform_blocks(X), y)
        return estimator
    if not adds_up(model) or not len(columns):
        return estimator.fit(X, y)
    columns.fit(X, y)
    for start in range(0, len(X), _FIT_PART):
        part = slice(start, start + _FIT_PART)
        model.partial_fit(columns.transform(_safe_indexing(X, part)), y[part])
    return estimator


def recorded_log_density(predictive: Any, y: Array, step: float) -> Array:
    """Return ln p(y − ½h < Y < y + ½h)/h; in far tails the density, for which h is narrow."""
    if step == 0.0 or has_atoms(predictive):
        return np.asarray(predictive.log_prob(y))
    half = 0.5 * step
    mass = np.asarray(predictive.cdf(y + half)) - np.asarray(predictive.cdf(y - half))
    sure = mass > 1e-9
    if sure.all():
        return np.log(mass / step)
    return np.where(sure, np.log(np.where(sure, mass, 1.0) / step), predictive.log_prob(y))


def metrics_of(
    unseen: Unseen,
    y: Any,
    classes: Any = None,
    loss: str = "squared",
    positive: int | None = None,
) -> Metrics:
    """Return errors of unseen rows, that of the loss first.

    RMSE, mean absolute error, R² and coverage, for the loss "log" also by which factor predictions are
    typically off, exp of the mean of |ln y − ln ŷ|; or accuracy, area under the ROC curve, average
    precision, log loss and Brier score. Area and average precision are those of the class with the code
    ``positive``; without it of the rarer of two classes, or means over all of more.
    """
    if classes is None:
        error, around = y - unseen.prediction, np.mean((y - y.mean()) ** 2)
        found = {
            "RMSE": float(np.sqrt(np.mean(error**2))),
            "MAE": float(np.mean(np.abs(error))),
            "R²": float(1.0 - np.mean(error**2) / around),
            "90% coverage": float(np.mean(np.abs(unseen.level - 0.5) <= 0.45)),
        }
        if loss == "log":
            found["factor"] = _typical_factor(y, unseen.prediction)
        first = LOSSES[loss]
        return {first: found[first], **found}
    p, codes = unseen.prediction, np.searchsorted(classes, y)
    came = p[np.arange(len(p)), codes]
    truth = codes[:, None] == np.arange(len(classes))
    squares = ((p - truth) ** 2).sum(axis=1)
    if positive is None and len(classes) == 2:
        positive = int(codes.mean() <= 0.5)
    told = slice(None) if positive is None else [positive]
    return {
        "accuracy": float(np.mean(p.argmax(axis=1) == codes)),
        "AUC": _mean_over(roc_auc_score, truth[:, told], p[:, told]),
        "average precision": _mean_over(average_precision_score, truth[:, told], p[:, told]),
        "log loss": -float(np.log(np.maximum(came, _LEAST)).mean()),
        # of two classes, as is usual, one only: the squares of the other are the same
        "Brier": float(np.mean(squares)) / (2.0 if len(classes) == 2 else 1.0),
    }


def _mean_over(measure: Any, truth: Any, p: Array) -> float:
    """Return a measure of how well probabilities order rows, averaged over classes that some rows have."""
    mixed = truth.any(axis=0) & ~truth.all(axis=0)
    return float(measure(truth[:, mixed], p[:, mixed])) if mixed.any() else float("nan")


def _typical_factor(y: Array, predicted: Array) -> float:
    """Return exp of the mean of |ln y − ln ŷ|; infinite where a prediction is not positive."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        apart = np.where(predicted > 0.0, np.abs(np.log(y) - np.log(predicted)), np.inf)
        return float(np.exp(np.mean(apart)))


def point_prediction(model: Any, X: Any, predictive: Any, loss: str) -> Array:
    """Return the numbers of least expected loss: means of squared ones, medians of the others.

    The median is also where E|ln y − ln ŷ| is least, since logarithms keep the order.
    """
    found = model.predict(X) if loss == "squared" else predictive.median
    return np.asarray(found, dtype=np.float64)


def _predict_numbers(model: Any, X: Any, y: Any, predictive: Any, step: float, loss: str) -> Unseen:
    y = np.asarray(y, dtype=np.float64)
    log_density = recorded_log_density(predictive, y, step)
    level = np.asarray(predictive.cdf(y))
    if has_atoms(predictive):
        level = level - 0.5 * np.exp(log_density)
    return Unseen(log_density, point_prediction(model, X, predictive, loss), level)


def _predict_classes(model: Any, X: Any, y: Any, classes: Any, seen: int) -> Unseen:
    p = spread_over_classes(model, X, classes, seen)
    chosen = p[np.arange(len(y)), np.searchsorted(classes, y)]
    with np.errstate(divide="ignore"):
        return Unseen(np.log(chosen), p, np.full(len(y), np.nan))
