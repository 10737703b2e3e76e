"""How often rows count: the check of weights, and fits of estimators that take none."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter

from posteriori.estimators.contract import last_step
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_moderate, unmasked, weighted_limit

__all__ = ["check_frequency", "fit_weighted", "require_frequency"]

#: Whole numbers up to here are exact, and so are their sums over a table.
LARGEST_FREQUENCY = 1e12


def check_frequency(sample_weight: Any, x: Any) -> Array:
    """Return how often each of the rows x (N, D) counts, (N,): finite, none negative, not all 0.

    Raises
    ------
    ValueError
        Also where x times the root of its weight has a square that overflows.
    """
    given = unmasked("sample_weight", sample_weight)
    frequency: Array = _check_sample_weight(given, x, dtype=np.float64, ensure_non_negative=True)
    require_frequency(frequency)
    if (
        isinstance(x, np.ndarray)
        and x.dtype.kind == "f"
        and (most := float(frequency.max())) != 1.0
    ):
        require_moderate("X", x, weighted_limit(most))
    return frequency


def require_frequency(frequency: Array) -> None:
    """Refuse weights that are no frequencies: so large that counts are not exact, or all next to 0.

    Examples
    --------
    >>> require_frequency(np.array([1.0, 1e150]))
    Traceback (most recent call last):
    ValueError: sample_weight must not be above 1e+12, got 1e+150; weights are frequencies (2 equals a repeated row): divide them by a common number
    >>> require_frequency(np.array([0.0, 1e-150]))
    Traceback (most recent call last):
    ValueError: sample_weight must not be below 1e-12 in all rows, got at most 1e-150; weights are frequencies (2 equals a repeated row): multiply them by a common number
    """
    most = float(np.max(frequency, initial=0.0))
    words = "weights are frequencies (2 equals a repeated row)"
    if most > LARGEST_FREQUENCY:
        raise ValueError(
            f"sample_weight must not be above {LARGEST_FREQUENCY:g}, got {most:.6g}; {words}: divide them by "
            "a common number"
        )
    if 0 < most < 1.0 / LARGEST_FREQUENCY:
        raise ValueError(
            f"sample_weight must not be below {1.0 / LARGEST_FREQUENCY:g} in all rows, got at most {most:.6g}; "
            f"{words}: multiply them by a common number"
        )


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
