r"""A sum of curves, lines and a level: evidence, its slope in the kernel, and the posterior of all weights.

With features Φ of rows, prior covariance :math:`C = RR^\top` of their weights, of which the block of a column is
:math:`k_d(u, u)` of its points, noise :math:`\sigma^2`, :math:`G = \Phi^\top\Phi` and :math:`g = \Phi^\top r`,

.. math:: B = I + R^\top GR/\sigma^2,\qquad w = RB^{-1}R^\top g/\sigma^2,\qquad
          \ln p = -\tfrac12\{N\ln 2\pi\sigma^2 + \ln|B| + (r^\top r - g^\top w)/\sigma^2\},

.. math:: \frac{\partial\ln p}{\partial C} = \tfrac12(aa^\top - Q),\quad a = (g - Gw)/\sigma^2,\quad
          Q = (G - GRB^{-1}R^\top G/\sigma^2)/\sigma^2 .

The sums G and g are made once, so that an evaluation costs nothing for rows.

Reference: C. Rasmussen & C. Williams, "Gaussian processes for machine learning", 2006, §2.7 and 5.4.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from posteriori.inference.processes.additive.curve_features import CurveFeatures
from posteriori.inference.processes.process_rows import ProcessRows
from posteriori.kernels.inner_products import Linear, White
from posteriori.kernels.kernel import Kernel, Sum, Traced
from posteriori.kernels.radial import RBF
from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.linalg import whiten_above_one
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "AdditiveSums",
    "AdditiveWeights",
    "add_up",
    "additive_kernel",
    "column_kernels",
    "score_additive",
    "solve_additive",
]


class AdditiveSums(NamedTuple):
    """Sums over rows.

    Attributes
    ----------
    gram : (P, P)
        G.
    pull : (P,)
        g, of targets less their mean.
    square : float
        Sum of the squares of these.
    rows : float
        How many there are.
    center, spread : float
        Mean and standard deviation of the targets: a level is N(center, spread²).
    """

    gram: Array
    pull: Array
    square: float
    rows: float
    center: float
    spread: float


class AdditiveWeights(NamedTuple):
    """The posterior of the weights of features.

    Attributes
    ----------
    mean : (P,)
    root : (P, P)
        H with HᵀH their covariance.
    noise : float
        σ².
    log_evidence : float
    """

    mean: Array
    root: Array
    noise: float
    log_evidence: float


def additive_kernel(features: CurveFeatures) -> Kernel:
    """Return the kernel of the curves, lines and noise of standardised columns, as a search may begin with it."""
    curves = [(1.0 * RBF(1.0)).on([int(d)]) for d in features.curved]
    return Sum((*curves, 1.0 * Linear(), White(0.1)))


def column_kernels(kernel: Kernel, features: CurveFeatures) -> list[Kernel]:
    """Return the kernels of what each of D columns adds: its curve, if it has one, and its line."""
    curves = dict(zip(features.curved.tolist(), kernel.parts, strict=False))
    line = _parameters(kernel)[0] * Linear()
    return [
        (_base(curves[d]) + line if d in curves else line).on([d])
        for d in range(len(features.center))
    ]


def add_up(features: CurveFeatures, rows: ProcessRows) -> AdditiveSums:
    """Return the sums over rows, in blocks of them, in O(N P²)."""
    x, y, f = rows.X, rows.y[:, 0], rows.weight
    center = float(np.average(y, weights=f))
    residual = y - center
    square = float(f @ residual**2 + rows.scatter.sum())
    step = rows_per_block(len(features.shift) + 1)
    parts = []
    for first in range(0, len(x), step):
        part = slice(first, first + step)
        phi = features.of(x[part])
        weighed = phi * f[part, None]
        parts.append((weighed.T @ phi, weighed.T @ residual[part]))
    gram, pull = reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]), parts)
    total = float(f.sum())
    spread = float(np.sqrt(square / total)) or abs(center) or 1.0
    return AdditiveSums(gram, pull, square, total, center, spread)


def solve_additive(kernel: Kernel, features: CurveFeatures, sums: AdditiveSums) -> AdditiveWeights:
    """Return the posterior of the weights under a kernel, in O(P³)."""
    curves = _trace_curves(kernel, features)
    return _solve(_prior_root(kernel, curves, features, sums), _parameters(kernel)[1], sums)


def score_additive(
    kernel: Kernel, features: CurveFeatures, sums: AdditiveSums
) -> tuple[float, Array]:
    """Return ln p(y) and its gradient in the logarithms of the kernel's parameters, in O(P³)."""
    curves, (lines, noise) = _trace_curves(kernel, features), _parameters(kernel)
    solved = _solve(_prior_root(kernel, curves, features, sums), noise, sums)
    a = (sums.pull - sums.gram @ solved.mean) / noise
    seen = solved.root @ sums.gram / noise
    slopes, first = [], 0
    for curve in curves:
        block = slice(first, first + len(curve.value))
        Q = sums.gram[block, block] / noise - seen[:, block].T @ seen[:, block]
        slopes.append(curve.pull(0.5 * (np.outer(a[block], a[block]) - Q)))
        first = block.stop
    block = slice(first, first + len(features.center))
    shrunk = sums.gram.diagonal()[block] / noise - np.einsum(
        "pd,pd->d", seen[:, block], seen[:, block]
    )
    slopes.append(np.array([0.5 * lines * float(np.sum(a[block] ** 2 - shrunk))]))
    # E|r − Φw|²/σ² − N
    fit = sums.square - 2.0 * float(sums.pull @ solved.mean) + solved.mean @ sums.gram @ solved.mean
    spread = noise * float(np.vdot(solved.root, seen))
    slopes.append(np.array([0.5 * ((fit + spread) / noise - sums.rows)]))
    return solved.log_evidence, np.concatenate(slopes)


def _solve(root: Array, noise: float, sums: AdditiveSums) -> AdditiveWeights:
    """Return the posterior of weights with the prior covariance RRᵀ."""
    std = np.sqrt(noise)
    scaled = root / std
    inner = scaled.T @ sums.gram @ scaled
    whitening, log_det = whiten_above_one(0.5 * (inner + inner.T))
    half = whitening @ root.T  # HᵀH = RB⁻¹Rᵀ
    mean = half.T @ ((half / std) @ (sums.pull / std))
    misfit = sums.square / noise - float((sums.pull / std) @ (mean / std))
    value = -0.5 * (sums.rows * (LOG_2PI + np.log(noise)) + log_det + misfit)
    return AdditiveWeights(mean, half, noise, float(value))


def _trace_curves(kernel: Kernel, features: CurveFeatures) -> list[Traced]:
    """Return the covariances of curves at their points, and how these move with the kernel."""
    pairs = zip(kernel.parts, features.points, strict=False)
    return [_base(part).traced(u, u) for part, u in pairs]


def _base(part: Kernel) -> Kernel:
    """Return the kernel of one column's curve as a function of that column alone."""
    return part.parts[0]


def _parameters(kernel: Kernel) -> tuple[float, float]:
    """Return the variances of slopes and of noise."""
    lines, noise = (float(np.exp(part.log_parameters[0])) for part in kernel.parts[-2:])
    return lines, noise


def _prior_root(
    kernel: Kernel, curves: list[Traced], features: CurveFeatures, sums: AdditiveSums
) -> Array:
    """Return R with RRᵀ the prior covariance of all weights."""
    size = len(features.shift) + 1
    root, first = np.zeros((size, size)), 0
    for lower in _curve_roots([curve.value for curve in curves]):
        end = first + len(lower)
        root[first:end, first:end] = lower
        first = end
    places = np.arange(first, size - 1)
    root[places, places] = np.sqrt(_parameters(kernel)[0])
    root[-1, -1] = sums.spread
    return root


def _curve_roots(covs: list[Array]) -> list[Array]:
    """Return a root of each covariance, VΛ^½, which may be singular; those of as many points together."""
    roots: list[Array] = [np.zeros((0, 0))] * len(covs)
    for size in {len(cov) for cov in covs}:
        places = [i for i, cov in enumerate(covs) if len(cov) == size]
        values, vectors = np.linalg.eigh(np.stack([covs[i] for i in places]))
        made = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        for i, root in zip(places, made, strict=True):
            roots[i] = root
    return roots
