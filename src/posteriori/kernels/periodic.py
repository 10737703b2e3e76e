r"""Kernels of functions that repeat.

Reference: D. MacKay, "Introduction to Gaussian processes", 1998; C. Rasmussen & C. Williams, "Gaussian
processes for machine learning", 2006, eq. 4.31.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posteriori.kernels.kernel import Kernel, Traced, check_points
from posteriori.numerics.types import Array
from posteriori.numerics.validation import positive

__all__ = ["Cosine", "Periodic"]


@dataclass(frozen=True, eq=False, repr=False)
class Periodic(Kernel):
    r"""Any function of period p: :math:`\exp\{-2\sum_d\sin^2(\pi(x_d - z_d)/p)/\ell^2\}`.

    Parameters
    ----------
    period : float
        p > 0.
    scale : float
        ℓ > 0, the smaller, the wilder a period.

    Examples
    --------
    >>> Periodic(period=2.0, scale=1.0)([[0.0]], [[1.0], [2.0]]).round(4)
    array([[0.1353, 1.    ]])
    """

    _learned = ("period", "scale")

    period: Any = 1.0
    scale: Any = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "period", positive("period", self.period)[()])
        object.__setattr__(self, "scale", positive("scale", self.scale)[()])

    def traced(self, X: Array, Z: Array) -> Traced:
        squares = np.zeros((len(X), len(Z)))
        for x, z in zip(X.T, Z.T, strict=True):
            squares += np.sin(np.pi * np.subtract.outer(x, z) / self.period) ** 2
        value = np.exp(-2.0 / self.scale**2 * squares)

        def pull(W: Array) -> Array:
            moved = (2.0 / self.scale**2) * W * value
            # ∂ sin²(πΔ/p)/∂ln p = −(πΔ/p) sin(2πΔ/p)
            turned = 0.0
            for x, z in zip(X.T, Z.T, strict=True):
                angle = np.pi * np.subtract.outer(x, z) / self.period
                turned += np.vdot(moved, angle * np.sin(2.0 * angle))
            return np.array([turned, 2.0 * np.vdot(moved, squares)])

        return Traced(value, pull)

    def traced_diagonal(self, X: Array) -> Traced:
        return Traced(np.ones(len(X)), lambda _: np.zeros(2))


@dataclass(frozen=True, eq=False, repr=False)
class Cosine(Kernel):
    r"""A wave of unknown height and phase: :math:`\cos(2\pi\sum_d(x_d - z_d)/p)`.

    Parameters
    ----------
    period : float
        p > 0.

    Examples
    --------
    >>> Cosine(period=2.0)([[0.0]], [[1.0], [2.0]])
    array([[-1.,  1.]])
    """

    _learned = ("period",)

    period: Any = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "period", positive("period", self.period)[()])

    def traced(self, X: Array, Z: Array) -> Traced:
        angle = 2.0 * np.pi * np.subtract.outer(X.sum(axis=1), Z.sum(axis=1)) / self.period
        return Traced(np.cos(angle), lambda W: np.array([np.vdot(W, angle * np.sin(angle))]))

    def traced_diagonal(self, X: Array) -> Traced:
        return Traced(np.ones(len(X)), lambda _: np.zeros(1))

    def features(self, X: Any) -> Array:
        """Return cosine and sine of the angle."""
        angle = 2.0 * np.pi * check_points("X", X).sum(axis=1) / self.period
        return np.column_stack([np.cos(angle), np.sin(angle)])

    def traced_features(self, X: Array) -> Traced:
        wave = self.features(X)
        # the angle falls as ln p grows
        moved = 2.0 * np.pi * X.sum(axis=1)[:, None] / self.period * wave[:, ::-1] * [1.0, -1.0]
        return Traced(wave, lambda W: np.array([np.vdot(W, moved)]))
