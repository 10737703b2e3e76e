r"""Slopes and Fisher information of log densities, row by row, in compiled loops.

With a predictor f of a row and its log density l, the slope is :math:`g = \partial l/\partial f` and the
information :math:`F = E[g^2] = -E[\partial^2 l/\partial f^2]`, an expectation over targets that the model
itself expects: it is never negative, whatever the target is.
"""

from __future__ import annotations

import math
from typing import Any

from posteriori.numerics.compilation import kernel

__all__ = [
    "COUNTS",
    "LOGISTIC",
    "SOFTMAX",
    "STUDENT",
    "count_slopes",
    "fill_slopes",
    "location_slopes",
    "log_scale_slopes",
    "logistic_slopes",
    "sum_classes",
    "softmax_slopes",
]

#: Log densities by numbers.
STUDENT, COUNTS, LOGISTIC, SOFTMAX = range(4)


@kernel(allocates=False)
def fill_slopes(
    rows: Any,
    y: Any,
    weight: Any,
    f: Any,
    k: int,
    shape: float,
    slope: Any,
    information: Any,
    loss: int,
) -> None:
    """Fill in those of predictor k of any log density; parameters as of the functions below."""
    if loss == STUDENT and k == 0:
        location_slopes(rows, y, weight, f, k, shape, slope, information)
    elif loss == STUDENT:
        log_scale_slopes(rows, y, weight, f, k, shape, slope, information)
    elif loss == COUNTS:
        count_slopes(rows, y, weight, f, k, shape, slope, information)
    elif loss == LOGISTIC:
        logistic_slopes(rows, y, weight, f, k, shape, slope, information)
    else:
        softmax_slopes(rows, y, weight, f, k, shape, slope, information)


@kernel(allocates=False)
def location_slopes(
    rows: Any, y: Any, weight: Any, f: Any, k: int, tail: float, slope: Any, information: Any
) -> None:
    """Fill in those of the location of Student's t, with t = 1/ν and z = (y − m)/σ.

    Parameters
    ----------
    rows : (n,)
        Which rows.
    y : (N,)
    weight : (N,) or (0,)
        Empty: 1 for all.
    f : (P, N)
        Predictors: location m and log scale ln σ.
    k : int
        Which predictor; here 0.
    tail : float
        t; 0 is the normal distribution.
    slope, information : (N,)
    """
    expected = (1.0 + tail) / (1.0 + 3.0 * tail)
    for i in range(len(rows)):
        n = rows[i]
        w = weight[n] if len(weight) else 1.0
        precision = math.exp(-f[1, n])
        z = (y[n] - f[0, n]) * precision
        slope[n] = w * precision * z * (1.0 + tail) / (1.0 + tail * z * z)
        information[n] = w * precision * precision * expected  # (ν + 1)/((ν + 3)σ²)


@kernel(allocates=False)
def log_scale_slopes(
    rows: Any, y: Any, weight: Any, f: Any, k: int, tail: float, slope: Any, information: Any
) -> None:
    """Fill in those of the log scale; parameters as of :func:`location_slopes`, k is 1."""
    expected = 2.0 / (1.0 + 3.0 * tail)
    for i in range(len(rows)):
        n = rows[i]
        w = weight[n] if len(weight) else 1.0
        z = (y[n] - f[0, n]) * math.exp(-f[1, n])
        slope[n] = w * (z * z - 1.0) / (1.0 + tail * z * z)
        information[n] = w * expected  # 2ν/(ν + 3)


@kernel(allocates=False)
def count_slopes(
    rows: Any, y: Any, weight: Any, f: Any, k: int, spread: float, slope: Any, information: Any
) -> None:
    """Fill in those of the log mean of counts, whose variance is μ + sμ².

    Parameters are those of :func:`location_slopes`, but ``spread`` is s = 1/r; 0 is the Poisson
    distribution.
    """
    for i in range(len(rows)):
        n = rows[i]
        w = weight[n] if len(weight) else 1.0
        mean = math.exp(f[0, n])
        share = w / (1.0 + spread * mean)
        slope[n] = share * (y[n] - mean)  # r(y − μ)/(r + μ)
        information[n] = share * mean  # rμ/(r + μ)


@kernel(allocates=False)
def logistic_slopes(
    rows: Any, y: Any, weight: Any, f: Any, k: int, unused: float, slope: Any, information: Any
) -> None:
    """Fill in those of the log odds of class 1; y is the class, 0 or 1."""
    for i in range(len(rows)):
        n = rows[i]
        w = weight[n] if len(weight) else 1.0
        small = math.exp(-abs(f[0, n]))
        p = (1.0 if f[0, n] > 0.0 else small) / (1.0 + small)
        slope[n] = w * (y[n] - p)
        information[n] = w * small / ((1.0 + small) * (1.0 + small))  # p(1 − p)


@kernel(allocates=False)
def softmax_slopes(
    rows: Any, y: Any, weight: Any, f: Any, k: int, unused: float, slope: Any, information: Any
) -> None:
    """Fill in those of the score of class k; the last predictor is ln Σ exp f, of :func:`sum_classes`.

    As scores are known up to a common number, that of one class may move by K/(K − 1) less.
    """
    classes = f.shape[0] - 1
    share = classes / (classes - 1.0)
    for i in range(len(rows)):
        n = rows[i]
        w = weight[n] if len(weight) else 1.0
        p = math.exp(f[k, n] - f[classes, n])
        slope[n] = w * ((1.0 if y[n] == k else 0.0) - p)
        information[n] = w * share * p * (1.0 - p)


@kernel(allocates=False)
def sum_classes(f: Any) -> None:
    """Write ln Σ exp f of the classes to the last predictor of all rows."""
    classes = f.shape[0] - 1
    for n in range(f.shape[1]):
        largest = f[0, n]
        for k in range(1, classes):
            largest = max(largest, f[k, n])
        total = 0.0
        for k in range(classes):
            total += math.exp(f[k, n] - largest)
        f[classes, n] = largest + math.log(total)
