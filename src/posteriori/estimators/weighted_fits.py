"""Fits in which rows count several times, also of estimators that take no weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from posteriori.estimators.contract import last_step
from posteriori.numerics.types import Array

__all__ = ["fit_weighted"]


def fit_weighted(estimator: Any, X: Any, y: Any, frequency: Array | None) -> Any:
    """Return an estimator fitted to rows of which each counts so many times.

    By ``sample_weight`` where it takes them, else by rows that are repeated. Rows of frequency 0 are
    left out, so that no class or value is learned from them.

    Parameters
    ----------
    estimator : estimator
        That is fitted.
    X : (N, D)
    y : (N,)
    frequency : (N,) or None
        At least 0; None is once.

    Raises
    ------
    ValueError
        When the estimator takes no weights and these are not whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from posteriori.classification import ClassFrequencies, KNeighborsClassifier
    >>> X, y, twice = np.array([[0.0], [1.0]]), np.array(["a", "b"]), np.array([1.0, 2.0])
    >>> fit_weighted(ClassFrequencies(), X, y, twice).predict_proba([[0.5]])  # (1 + 1)/5, (2 + 1)/5
    array([[0.4, 0.6]])
    >>> fit_weighted(KNeighborsClassifier(3), X, y, twice).predict_proba([[0.5]])  # the same
    array([[0.4, 0.6]])
    """
    if frequency is None:
        return estimator.fit(X, y)
    if has_fit_parameter(estimator, "sample_weight"):
        rows = np.flatnonzero(frequency)
        return estimator.fit(_safe_indexing(X, rows), y[rows], sample_weight=frequency[rows])
    times = np.rint(frequency).astype(np.int64)
    if not np.array_equal(times, frequency):
        name = type(last_step(estimator)[0]).__name__
        raise ValueError(
            f"{name} takes no sample_weight, so rows are repeated: weights must be whole numbers, got "
            f"{frequency[times != frequency][0]:.6g}"
        )
    rows = np.repeat(np.arange(len(times)), times)
    return estimator.fit(_safe_indexing(X, rows), y[rows])
