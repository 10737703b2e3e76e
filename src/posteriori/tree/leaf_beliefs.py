r"""Beliefs about the rows of a leaf: conjugate, so that each leaf predicts a distribution.

Numbers: the mean μ of a leaf is open, its precision τ is Gamma(a, rate b) beforehand, so that

.. math:: \mu\mid\tau \sim N\left(\bar y, \tfrac{1}{n\tau}\right),\qquad
          \tau \sim \mathrm{Gamma}\left(a + \tfrac{n-1}{2},\ b + \tfrac12\sum(y-\bar y)^2\right),

and a leaf predicts its mean, as least squares does, with Student's t around it. Counts have a Gamma
rate and predict a negative binomial, classes a Dirichlet belief and predict its mean.
"""

from __future__ import annotations

import numpy as np

from posteriori.distributions.counts.negative_binomial import NegativeBinomial
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.estimators.target_unit import TargetUnit
from posteriori.numerics.types import Array

__all__ = [
    "class_shares",
    "predict_counts",
    "predict_numbers",
    "prior_of_counts",
    "prior_of_numbers",
]


def prior_of_numbers(sums: Array) -> Array:
    """Return a = 2 and b = s², the variance of all rows, from the sums (3,) of the root."""
    n, total, squares = sums
    variance = max(squares / n - (total / n) ** 2, 0.0)
    return np.array([2.0, variance])


def prior_of_counts(sums: Array) -> Array:
    """Return a = 1 and b = 1/ȳ: one row that has the mean of all."""
    n, total, _ = sums
    return np.array([1.0, n / total if total > 0 else 1.0])


def predict_numbers(prior: Array, sums: Array, unit: TargetUnit) -> StudentT:
    """Return what leaves with sums (M, 3) in a unit predict, a batch."""
    n, total, squares = sums.T
    mean = total / n
    a = prior[0] + 0.5 * (n - 1.0)
    b = prior[1] + 0.5 * np.maximum(squares - total * mean, 0.0)
    scale = unit.size * np.sqrt(b / a * (1.0 + 1.0 / n))
    least = np.spacing(abs(unit.centre)) + np.finfo(np.float64).tiny  # all targets may be equal
    return StudentT(2.0 * a, unit.centre + unit.size * mean, scale=np.maximum(scale, least))


def predict_counts(prior: Array, sums: Array) -> NegativeBinomial:
    """Return what leaves with sums (M, 3) predict, a batch."""
    n, total, _ = sums.T
    shape, rate = prior[0] + total, prior[1] + n
    return NegativeBinomial(shape, rate / (1.0 + rate))


def class_shares(concentration: float, sums: Array) -> Array:
    """Return the class probabilities of leaves with sums (M, K)."""
    counts = sums + concentration
    return counts / counts.sum(axis=1, keepdims=True)
