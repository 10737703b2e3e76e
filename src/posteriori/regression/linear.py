r"""Least squares with an account of its rank, leave-one-out residuals and weighted noise.

.. math:: \hat w = \arg\min_w \sum_n \frac{f_n}{v_n}(y_n - b - w^Tx_n)^2 + \lambda|w|^2

Reference: Å. Björck, "Numerical methods for least squares problems", 1996.
"""

from __future__ import annotations

from sklearn.base import BaseEstimator, RegressorMixin

__all__ = ["LinearRegression"]


class LinearRegression(RegressorMixin, BaseEstimator):
    """Least squares."""
