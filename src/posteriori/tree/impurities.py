r"""How mixed a set of targets is, and what a division gains.

=============  ==============================================  ======================
criterion      :math:`Q`                                       of
=============  ==============================================  ======================
``"entropy"``  :math:`-\sum_k p_k\log_2 p_k`                   classes, in bits
``"gini"``     :math:`\sum_k p_k(1 - p_k)`                     classes
``"error"``    :math:`1 - \max_k p_k`                          classes
``"variance"`` :math:`\frac1N\sum_n(y_n - \bar y)^2`           numbers
``"poisson"``  :math:`\frac2N\sum_n y_n\ln(y_n/\bar y)`        counts
=============  ==============================================  ======================
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.utils.validation import check_consistent_length, column_or_1d

from posteriori.inference.trees.scores import CLASS_CRITERIA, CRITERIA
from posteriori.inference.trees.weakest_links import node_risks
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_moderate

__all__ = ["impurity", "split_gain"]


def impurity(y: Any, criterion: str, sample_weight: Any = None) -> float:
    r"""Return the impurity Q of targets.

    Parameters
    ----------
    y : array_like (N,)
        Classes, numbers or counts.
    criterion : {"entropy", "gini", "error", "variance", "poisson"}
    sample_weight : array_like (N,), optional
        Frequencies.

    Examples
    --------
    >>> impurity(["a", "b"], "entropy"), impurity(["a", "b"], "gini")
    (1.0, 0.5)
    """
    y, weight = _checked(y, criterion, sample_weight)
    return float(_risk(y, weight, criterion) / weight.sum())


def split_gain(y: Any, goes_left: Any, criterion: str, sample_weight: Any = None) -> float:
    r"""Return how much a division lowers the impurity; the parts count by their share of the rows.

    .. math:: Q(S) - \frac{|L|}{|S|}Q(L) - \frac{|R|}{|S|}Q(R)

    It is never negative. (Without the shares, as one finds it printed for the variance, it can be.)

    Parameters
    ----------
    y : array_like (N,)
    goes_left : array_like (N,) of bool
    criterion : {"entropy", "gini", "error", "variance", "poisson"}
    sample_weight : array_like (N,), optional

    Examples
    --------
    >>> split_gain([0.0, 0.0, 4.0, 4.0], [True, True, False, False], "variance")
    4.0
    """
    y, weight = _checked(y, criterion, sample_weight)
    left = column_or_1d(np.asarray(goes_left))
    check_consistent_length(y, left)
    if left.dtype != np.bool_:
        raise ValueError(f"goes_left must hold True and False, got {left.tolist()[0]!r}")
    parts = sum(_risk(y[side], weight[side], criterion) for side in (left, ~left))
    return float(max(_risk(y, weight, criterion) - parts, 0.0) / weight.sum())


def _checked(y: Any, criterion: str, sample_weight: Any) -> tuple[Array, Array]:
    """Return codes of classes or numbers, and weights."""
    if not isinstance(criterion, str) or criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}, got {criterion!r}")
    y = column_or_1d(np.asarray(y))
    if not len(y):
        raise ValueError("y is empty: there is no impurity of no rows")
    weight = np.ones(len(y))
    if sample_weight is not None:
        weight = column_or_1d(np.asarray(sample_weight, dtype=np.float64))
        check_consistent_length(y, weight)
        wrong = weight[~((weight >= 0) & np.isfinite(weight))]
        if len(wrong) or not weight.any():
            what = f"{wrong[0]:.6g}" if len(wrong) else "0 everywhere"
            raise ValueError(f"sample_weight must hold numbers >= 0, not all of them 0, got {what}")
        require_moderate("sample_weight", weight)
    if criterion in CLASS_CRITERIA:
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("y holds NaN or infinity, which is no class; leave such rows out")
        return np.unique(y, return_inverse=True)[1].astype(np.float64), weight
    y = y.astype(np.float64)
    if not np.isfinite(y).all():
        raise ValueError("y must be finite for a criterion of numbers; leave such rows out")
    require_moderate("y", y)
    if criterion == "poisson" and (y < 0).any():
        raise ValueError(f"y must hold counts >= 0 for 'poisson', got {y.min():.6g}")
    return y, weight


def _risk(y: Array, weight: Array, criterion: str) -> float:
    """Return N Q."""
    if not weight.sum() > 0:
        return 0.0
    if criterion in CLASS_CRITERIA:
        sums = np.bincount(y.astype(np.int64), weights=weight)
        return max(float(node_risks(CRITERIA[criterion], (0.0,), sums[None])[0]), 0.0)
    centre = weight @ y / weight.sum() if criterion == "variance" else 0.0
    about = y - centre  # the variance keeps its digits
    sums = np.array([weight.sum(), weight @ about, weight @ about**2])
    known = 2.0 * float(weight @ xlogy(y, y)) if criterion == "poisson" else 0.0
    return max(float(node_risks(CRITERIA[criterion], (0.0,), sums[None])[0]) + known, 0.0)
