r"""Log likelihoods of the classes of rows, and their derivatives in the contrasts of the predictors.

.. math:: \ln p(y\mid v) = B_y\cdot v - \ln\sum_k e^{B_k\cdot v},\qquad
          \nabla = B^T(e_y - p),\qquad -\nabla^2 = B^T(\mathrm{diag}(p) - pp^T)B,

or the means of these over contrasts that vary.
"""

from __future__ import annotations

import numpy as np

from posteriori.inference.predictors.product_nodes import FINE, ROUGH, Fineness
from posteriori.inference.predictors.softmax_averages import (
    SoftmaxMoments,
    SpreadNodes,
    contrasts,
    known_moments,
)
from posteriori.numerics.types import Array

__all__ = ["SoftmaxLikelihood"]


class SoftmaxLikelihood:
    """The classes of rows as functions of contrasts v (N, K − 1).

    Means over nodes cost more than what is made of them: the last are kept.

    Parameters
    ----------
    codes : (N,) or (N, K)
        Class of each row, 0 to K − 1, or the share of each class in it; shares sum to 1.
    classes : int
        K.
    spread : (N, K − 1, K − 1), optional
        Covariances of the contrasts: all is then a mean over them.
    fineness : Fineness
        Of these means.

    Examples
    --------
    >>> likelihood = SoftmaxLikelihood(np.array([0]), 3)
    >>> value, slope = likelihood.value_and_slope(np.zeros((1, 2)))
    >>> np.exp(value).round(4), (slope @ contrasts(3).T).round(4)
    (array([0.3333]), array([[ 0.6667, -0.3333, -0.3333]]))
    """

    def __init__(
        self,
        codes: Array,
        classes: int,
        spread: Array | None = None,
        fineness: Fineness = FINE,
    ) -> None:
        self.codes = codes
        self.basis = contrasts(classes)
        self.spread = spread
        self._nodes = None if spread is None else SpreadNodes(spread, fineness)
        self._last: tuple[Array, SoftmaxMoments] | None = None

    @property
    def n_contrasts(self) -> int:
        """K − 1."""
        return self.basis.shape[1]

    def averaged(self, spread: Array, fineness: Fineness = FINE) -> SoftmaxLikelihood:
        """Return the means over contrasts that vary so."""
        return SoftmaxLikelihood(self.codes, len(self.basis), spread, fineness)

    def roughly(self) -> SoftmaxLikelihood:
        """Return the same with means over few nodes."""
        return self if self.spread is None else self.averaged(self.spread, ROUGH)

    def value_and_slope(self, centre: Array) -> tuple[Array, Array]:
        """Return log likelihoods (N,) and their slopes (N, K − 1)."""
        means = self.moments(centre)
        towards = -means.first
        if self.codes.ndim == 1:
            seen = self.basis[self.codes]
            towards[np.arange(len(towards)), self.codes] += 1.0  # t − p
        else:
            seen = self.codes @ self.basis
            towards += self.codes
        return (centre * seen).sum(axis=1) - means.log_sum, towards @ self.basis

    def curvature(self, centre: Array) -> Array:
        """Return minus the second derivatives, (N, K − 1, K − 1)."""
        return self.moments(centre).curvature()

    def moments(self, centre: Array) -> SoftmaxMoments:
        """Return means over the contrasts."""
        if self._last is None or not np.array_equal(self._last[0], centre):
            nodes = self._nodes
            means = known_moments(centre) if nodes is None else nodes.moments(centre)
            self._last = centre, means
        return self._last[1]
