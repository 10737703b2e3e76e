r"""Rotations of loadings towards few large entries: varimax, quartimax, promax.

.. math:: \max_R \sum_k\Bigl[\sum_d b_{dk}^4 - \frac\gamma D\bigl(\sum_d b_{dk}^2\bigr)^2\Bigr], \qquad B = WR,

with γ = 1 for varimax and 0 for quartimax. Promax lets the factors correlate: the varimax solution is
mapped by least squares to its entries' fourth powers, which drives small ones to 0.

References: H. Kaiser, "The varimax criterion for analytic rotation in factor analysis", 1958;
A. Hendrickson & P. White, "Promax: a quick method for rotation to oblique simple structure", 1964.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["ROTATIONS", "rotate_loadings"]

ROTATIONS = ("varimax", "quartimax", "promax")

#: Sweeps at most, and the gain of the criterion, relative to its size, that ends them.
_SWEEPS, _SETTLED = 1000, 1e-12

#: To which power promax raises the entries of its target, as its authors do.
_POWER = 4


def rotate_loadings(loadings: Array, kind: str) -> Array:
    """Return T (K, K) by which loadings (D, K) become W T; orthogonal but for promax.

    Factors become T⁻¹z, each with variance 1.
    """
    if loadings.shape[1] < 2:
        return np.eye(loadings.shape[1])
    if kind != "promax":
        return _orthomax(loadings, 1.0 if kind == "varimax" else 0.0)
    turn = _orthomax(loadings, 1.0)
    simple = loadings @ turn
    target = np.sign(simple) * np.abs(simple) ** _POWER
    oblique = np.linalg.lstsq(simple, target, rcond=None)[0]
    _, roots, right = np.linalg.svd(oblique)
    variances = np.sum((right / roots[:, None]) ** 2, axis=0)  # the diagonal of (UᵀU)⁻¹
    return turn @ (oblique * np.sqrt(variances))


def _orthomax(loadings: Array, gamma: float) -> Array:
    """Return the rotation of highest criterion, by ascents to the nearest orthogonal matrix."""
    k = loadings.shape[1]
    turn, before = np.eye(k), 0.0
    for _ in range(_SWEEPS):
        b = loadings @ turn
        slope = loadings.T @ (b**3 - gamma * b * np.mean(b**2, axis=0))
        left, sizes, right = np.linalg.svd(slope)
        turn, now = left @ right, float(sizes.sum())
        if now <= before * (1.0 + _SETTLED):
            break
        before = now
    return turn
