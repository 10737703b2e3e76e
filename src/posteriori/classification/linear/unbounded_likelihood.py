r"""Whether the classes of a fit can be told apart along a direction, so that no fit is the best.

A direction d of the weights along which no row loses, :math:`(d_y - d_k)\cdot x \ge 0` for all rows
and classes k, and some row gains, raises the likelihood for ever. A fit with next to no ridge has
then followed such directions far out: rows that gain are certain, and rows that are not certain
do not vary along d. So d is the part of the weights that is orthogonal to all uncertain rows.

Reference: A. Albert & J. Anderson, "On the existence of maximum likelihood estimates in logistic
regression models", 1984.
"""

from __future__ import annotations

import numpy as np

from posteriori.classification.linear.linear_mode import class_basis
from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array

__all__ = ["separating_direction"]

#: Log odds from which on a row is certain of its class.
_CERTAIN = 14.0

#: Losses that are rounding beside the largest gain.
_LOSS = 1e-7


def separating_direction(design: Array, rows: LabelledRows, weights: Array) -> Array | None:
    """Return a direction of the weights along which the likelihood rises for ever, None for none.

    Parameters
    ----------
    design : (N, P)
        Columns of similar scales.
    rows : LabelledRows
    weights : (P,), or ((K − 1) P,) for K > 2 classes
        Of a fit with next to no ridge.
    """
    margins = _margins(design, rows, weights)
    if (margins > 0).sum() == len(margins) * (len(rows.classes) - 1):  # all rows are in their class
        return weights
    if margins.max(initial=0.0) < _CERTAIN:
        return None
    lengths, directions = np.linalg.eigh(_gram(design, rows, margins < _CERTAIN))
    flat = directions[:, ~exceeds_rounding(lengths, max(lengths[-1], 1.0))]
    direction = flat @ (flat.T @ weights)
    gains = _margins(design, rows, direction)
    gains = np.where(margins < _CERTAIN, 0.0, gains)
    most = gains.max()
    return direction if most > 1.0 and gains.min() >= -_LOSS * most else None


def _margins(design: Array, rows: LabelledRows, weights: Array) -> Array:
    """Return by how much the predictor of each row's class exceeds the others, (N, K)."""
    basis = class_basis(len(rows.classes))
    eta = design @ (basis @ weights.reshape(basis.shape[1], -1)).T
    return eta[np.arange(len(eta)), rows.codes][:, None] - eta


def _gram(design: Array, rows: LabelledRows, chosen: Array) -> Array:
    """Return the sum of squares Σ g gᵀ of chosen gains g = (b_y − b_k) ⊗ x."""
    basis = class_basis(len(rows.classes))
    size = basis.shape[1] * design.shape[1]
    total = np.zeros((size, size))
    for y in range(len(basis)):
        for k in range(len(basis)):
            if k != y:
                x = design[(rows.codes == y) & chosen[:, k]]
                step = basis[y] - basis[k]
                total += np.kron(np.outer(step, step), x.T @ x)
    return total
