r"""Where two elliptical classes are equally probable, in closed form where there is one.

Normal classes: the log odds are a polynomial. Student classes with equal degrees of freedom c,

.. math:: \ln p(x, C_k) = \alpha_k - h\ln(1 + q_k(x)), \qquad h = \tfrac12(c + D),
   \quad q_k(x) = \frac{(x-m_k)^\top\Psi_k^{-1}(x-m_k)}{c},

are equal on a quadric too, for :math:`\alpha_b - \alpha_a = h\ln\frac{1+q_b}{1+q_a}` says
:math:`\sqrt\gamma(1+q_a) - (1+q_b)/\sqrt\gamma = 0` with
:math:`\gamma = e^{(\alpha_b-\alpha_a)/h}`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from posteriori.inference.classes.class_densities import ColumnwiseClasses, EllipticClasses
from posteriori.mathematics.geometry import Hyperplane, Quadric
from posteriori.numerics.rank import without_rounding
from posteriori.numerics.types import Array

__all__ = ["closed_boundary"]


def closed_boundary(
    densities: Any, log_prior: Array, a: int, b: int
) -> Hyperplane | Quadric | None:
    """Return where classes a and b are equally probable, b on the positive side; None for no conic.

    Between normal classes the value is the log odds; between Student classes it has their sign.
    """
    odds = float(log_prior[b] - log_prior[a])
    if isinstance(densities, ColumnwiseClasses):
        if not np.isinf(densities.dof).all():
            return None
        return _normal_quadric(_columns(densities, a), _columns(densities, b), odds)
    if np.isinf(densities.dof).all():
        if len(densities.roots) == 1:
            weights, offsets = densities.linear()
            return Hyperplane(weights[b] - weights[a], offsets[b] - offsets[a] + odds)
        return _normal_quadric(_ellipse(densities, a), _ellipse(densities, b), odds)
    if densities.dof[a] != densities.dof[b]:
        return None
    return _student_quadric(densities, a, b, odds)


def _normal_quadric(
    first: tuple[Array, Array, float], second: tuple[Array, Array, float], odds: float
) -> Quadric:
    """Return the difference of −½(x − m)ᵀP(x − m) + ½ ln|P| of two classes."""
    (pa, ma, log_a), (pb, mb, log_b) = first, second
    constant = 0.5 * (log_b - log_a + ma @ pa @ ma - mb @ pb @ mb)
    return Quadric(0.5 * _difference(pa, pb), pb @ mb - pa @ ma, float(constant) + odds)


def _student_quadric(
    densities: EllipticClasses, a: int, b: int, odds: float
) -> Hyperplane | Quadric:
    c, d = float(densities.dof[a]), densities.means.shape[1]
    (pa, ma, log_a), (pb, mb, log_b) = (_ellipse(densities, k) for k in (a, b))
    half = np.exp((odds + 0.5 * (log_b - log_a)) / (c + d))  # √γ
    pa, pb = half * pa / c, pb / (half * c)
    bias = float(half - 1.0 / half + ma @ pa @ ma - mb @ pb @ mb)
    matrix, weights = _difference(pa, pb), 2.0 * (pb @ mb - pa @ ma)
    if not matrix.any():
        return Hyperplane(weights, bias)
    return Quadric(matrix, weights, bias)


def _difference(a: Array, b: Array) -> Array:
    """Return A − B without the rounding errors of directions that both see alike."""
    return without_rounding(a - b, np.diagonal(a) + np.diagonal(b))


def _ellipse(densities: EllipticClasses, k: int) -> tuple[Array, Array, float]:
    """Return the inverse scale matrix of a class, its mean, and the log determinant of the former."""
    root, stretch = densities.roots[k % len(densities.roots)], float(densities.stretch[k])
    d = len(root)
    precision = cho_solve((root, True), np.eye(d)) / stretch
    log_det = -2.0 * np.log(np.diagonal(root)).sum() - d * np.log(stretch)
    return 0.5 * (precision + precision.T), densities.means[k], float(log_det)


def _columns(densities: ColumnwiseClasses, k: int) -> tuple[Array, Array, float]:
    scales = densities.scales[k]
    return np.diag(scales**-2.0), densities.means[k], -2.0 * float(np.log(scales).sum())
