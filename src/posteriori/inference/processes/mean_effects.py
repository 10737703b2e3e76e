r"""The mean of a process: a level, or a level and lines, integrated out under a proper prior.

.. math:: m(x) = c + \sum_d w_d\frac{x_d - \bar x_d}{s_d},\qquad c \sim N(\bar y, s_y^2),\qquad
          w_d \sim N(0, s_y^2),

with means and standard deviations of the data: what one row says, on standardised columns. So the mean
adds :math:`HH^\top` to the covariance of the targets, with the columns :math:`H = s_y(1, (x-\bar x)/s)`.
Outputs whose codes are the last column have a mean each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["MeanEffects", "NO_MEAN", "mean_effects", "output_means"]


class MeanEffects(NamedTuple):
    """Columns of a mean, whose weights are N(0, 1) a priori.

    Attributes
    ----------
    center : (Q,) or float
        What is taken from the targets.
    spread : float
        s_y; 0 without a mean.
    input_center, input_scale : (D,) or None
        Of columns that have lines.
    output_spread : (Q,) or None
        s_y of each output in units of ``spread``, where the codes of outputs are the last column.
    """

    center: Array | float
    spread: float
    input_center: Array | None = None
    input_scale: Array | None = None
    output_spread: Array | None = None

    def columns(self, X: Array) -> Array:
        """Return H, (N, P)."""
        if self.output_spread is None:
            return self._columns(X)
        each = np.diag(self.output_spread)[X[:, -1].astype(np.int64)]
        columns = self._columns(X[:, :-1])
        return (each[:, :, None] * columns[:, None, :]).reshape(len(X), -1)

    def _columns(self, X: Array) -> Array:
        if self.spread == 0.0:
            return np.zeros((len(X), 0))
        level = np.full((len(X), 1), self.spread)
        if self.input_center is None or self.input_scale is None:
            return level
        return np.column_stack([level, self.spread * (X - self.input_center) / self.input_scale])


#: Targets around 0.
NO_MEAN = MeanEffects(0.0, 0.0)


def mean_effects(kind: str, X: Array, y: Array, frequency: Array | None = None) -> MeanEffects:
    """Return the mean of a process on the scale of rows (N, D), (N, Q).

    Parameters
    ----------
    kind : {"zero", "constant", "linear"}
    X, y : (N, D), (N, Q)
    frequency : (N,), optional

    Examples
    --------
    >>> mean_effects("constant", np.zeros((2, 1)), np.array([[1.0], [5.0]]))
    MeanEffects(center=array([3.]), spread=2.0, input_center=None, input_scale=None, output_spread=None)
    """
    if kind == "zero":
        return NO_MEAN
    f = np.ones(len(X)) if frequency is None else frequency
    center = np.average(y, axis=0, weights=f)
    variance = float(np.mean(np.average((y - center) ** 2, axis=0, weights=f)))
    spread = np.sqrt(variance) or float(np.abs(center).max()) or 1.0
    if kind == "constant":
        return MeanEffects(center, float(spread))
    return MeanEffects(center, float(spread), *_units(X, f))


def output_means(
    kind: str, X: Array, y: Array, frequency: Array | None = None
) -> tuple[Array, MeanEffects]:
    """Return the centers of outputs, (Q,), and a mean around them for rows that end in the code of an output.

    Parameters
    ----------
    kind : {"zero", "constant", "linear"}
    X, y : (N, D), (N, Q)
        NaN is a missing target.
    frequency : (N,), optional

    Examples
    --------
    >>> center, mean = output_means(
    ...     "constant", np.zeros((2, 1)), np.array([[1.0, 4.0], [5.0, np.nan]])
    ... )
    >>> center, mean.columns(np.array([[0.3, 0.0], [0.3, 1.0]]))
    (array([3., 4.]), array([[2., 0.],
           [0., 4.]]))
    """
    if kind == "zero":
        return np.zeros(y.shape[1]), NO_MEAN
    f = np.ones(len(X)) if frequency is None else frequency
    each = []
    for column in y.T:
        seen = ~np.isnan(column)
        each.append(mean_effects("constant", X[seen], column[seen, None], f[seen]))
    center = np.array([np.ravel(one.center)[0] for one in each])
    spread = np.array([one.spread for one in each])
    means = MeanEffects(0.0, 1.0) if kind == "constant" else MeanEffects(0.0, 1.0, *_units(X, f))
    return center, means._replace(output_spread=spread)


def _units(X: Array, f: Array) -> tuple[Array, Array]:
    """Return means and standard deviations of columns."""
    middle = np.average(X, axis=0, weights=f)
    scale = np.sqrt(np.average((X - middle) ** 2, axis=0, weights=f))
    return middle, np.where(scale > 0, scale, 1.0)
