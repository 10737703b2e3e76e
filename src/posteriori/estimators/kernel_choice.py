"""The kernel of an estimator: the one it is given, or one that suits the spread of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.kernels.kernel import Kernel
from posteriori.kernels.radial import RBF
from posteriori.numerics.types import Array

__all__ = ["choose_kernel"]


def choose_kernel(kernel: Any, x: Array, frequency: Array | None = None) -> Kernel:
    """Return a kernel as it is; for None a Gaussian one with ℓ² = D var(x)/2.

    That is scikit-learn's ``gamma="scale"``, with the variance of all entries about their common mean. Rows
    (N, D) count ``frequency`` (N,) times.

    Examples
    --------
    >>> choose_kernel(None, np.array([[0.0], [4.0]]))
    RBF(scale=1.41421)
    """
    if kernel is None:
        mean = np.average(x, axis=0, weights=frequency).mean()
        variance = float(np.average((x - mean) ** 2, axis=0, weights=frequency).mean())
        return RBF(scale=np.sqrt(0.5 * x.shape[1] * variance) if variance > 0 else 1.0)
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"kernel must be a kernel of posteriori.kernels or None, got {kernel!r}; "
            "posteriori.kernels.Function makes one of a function"
        )
    return kernel
