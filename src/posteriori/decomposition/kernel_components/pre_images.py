r"""Pre-images: points whose features are nearest to a combination :math:`\sum_n g_n\phi(x_n)`.

.. math:: \min_x\ k(x, x) - 2\sum_ng_nk(x, x_n).

For a radial kernel f(s), :math:`s = |x - x_n|^2` in units of its scales, the slope vanishes where

.. math:: x = \frac{\sum_ng_nf'(s_n)x_n}{\sum_ng_nf'(s_n)},

which is iterated; for others a general descent goes there. Both begin at the nearest of the points, and
their answer is kept where it is nearer.

Reference: S. Mika, B. Schölkopf, A. Smola, K.-R. Müller, M. Scholz & G. Rätsch, "Kernel PCA and de-noising
in feature spaces", 1999.
"""

from __future__ import annotations

import numpy as np

from posteriori.kernels.kernel import Kernel
from posteriori.kernels.radial import RadialKernel
from posteriori.numerics.lazy import optimize
from posteriori.numerics.types import Array

__all__ = ["find_pre_images"]

#: Steps of the fixed point at most, and the move in units of the scales that ends them.
_MOST_STEPS, _SETTLED = 200, 1e-10


def find_pre_images(kernel: Kernel, points: Array, weights: Array) -> Array:
    """Return points (M, D) whose features are nearest to combinations of those of points.

    Parameters
    ----------
    kernel : Kernel
    points : (N, D)
    weights : (M, N)
        g, a combination in each row.
    """
    across = weights @ kernel(points, points)
    start = points[np.argmin(kernel.diagonal(points) - 2.0 * across, axis=1)]
    if isinstance(kernel, RadialKernel):
        found = _fixed_point(kernel, points, weights, start)
    else:
        found = np.stack(
            [_descend(kernel, points, g, x) for g, x in zip(weights, start, strict=True)]
        )
    nearer = _losses(kernel, points, weights, found) < _losses(kernel, points, weights, start)
    return np.where(nearer[:, None], found, start)


def _losses(kernel: Kernel, points: Array, weights: Array, x: Array) -> Array:
    """Return k(x, x) − 2 Σ gₙk(x, xₙ) of each row, (M,)."""
    return kernel.diagonal(x) - 2.0 * np.einsum("mn,mn->m", weights, kernel(x, points))


def _fixed_point(kernel: RadialKernel, points: Array, weights: Array, x: Array) -> Array:
    """Iterate means of the points by the slopes of the kernel; rows whose slopes cancel stay."""
    for _ in range(_MOST_STEPS):
        pull = weights * kernel.slopes(x, points)
        total = pull.sum(axis=1, keepdims=True)
        clear = np.abs(total) > 1e-8 * np.abs(pull).sum(axis=1, keepdims=True)
        new = np.where(clear, pull @ points / np.where(clear, total, 1.0), x)
        moved = float(np.abs((new - x) / kernel.scale).max(initial=0.0))
        x = new
        if moved <= _SETTLED:
            break
    return x


def _descend(kernel: Kernel, points: Array, weights: Array, start: Array) -> Array:
    def loss(x: Array) -> float:
        return float(_losses(kernel, points, weights[None], x[None])[0])

    return optimize.minimize(loss, start, method="BFGS").x
