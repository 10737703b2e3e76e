"""Errors that a person knows, of predictions of unseen rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from posteriori.numerics.types import Array
from posteriori.selection.cross_validation import Unseen

__all__ = ["Metrics", "metrics_of"]

#: Values by name, best first in importance.
Metrics = dict[str, float]


def metrics_of(unseen: Unseen, y: Any, classes: Any) -> Metrics:
    """Return RMSE, mean absolute error, R² and coverage, or accuracy, log loss and Brier score."""
    if classes is None:
        return _of_numbers(unseen, y)
    return _of_classes(unseen.prediction, y, classes)


def _of_numbers(unseen: Unseen, y: Array) -> Metrics:
    error = y - unseen.prediction
    around = np.mean((y - y.mean()) ** 2)
    return {
        "RMSE": float(np.sqrt(np.mean(error**2))),
        "MAE": float(np.mean(np.abs(error))),
        "R²": float(1.0 - np.mean(error**2) / around),
        "90% coverage": float(np.mean(np.abs(unseen.level - 0.5) <= 0.45)),
    }


def _of_classes(p: Array, y: Any, classes: Any) -> Metrics:
    codes = np.searchsorted(classes, y)
    truth = codes[:, None] == np.arange(len(classes))
    squares = ((p - truth) ** 2).sum(axis=1)
    return {
        "accuracy": float(np.mean(p.argmax(axis=1) == codes)),
        "log loss": float(log_loss(codes, p, labels=np.arange(len(classes)))),
        # of two classes, as is usual, one only: the squares of the other are the same
        "Brier": float(np.mean(squares)) / (2.0 if len(classes) == 2 else 1.0),
    }
