r"""Spectra of kernels that depend on x − z alone: random frequencies that stand for them.

.. math:: k(x, z) = h\,E_\omega\cos\omega^\top(x - z),\qquad \omega\sim p,

with the height h = k(x, x) (S. Bochner). A sum of kernels mixes their spectra, a product adds their
frequencies. A Gaussian kernel has normal frequencies, and other radial kernels those of Gaussian kernels
of random width: :math:`\omega\sim N(0, \tau/\ell^2)` with a law for τ.

Reference: A. Rahimi & B. Recht, "Random features for large-scale kernel machines", 2007.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.kernels.kernel import Constant, Kernel, OnColumns, Power, Product, Sum
from posteriori.kernels.periodic import Cosine
from posteriori.kernels.radial import (
    RBF,
    InverseMultiquadric,
    InverseQuadratic,
    Matern,
    RationalQuadratic,
)
from posteriori.numerics.types import Array

__all__ = ["Frequencies", "draw_frequencies"]


class Frequencies(NamedTuple):
    """Draws from the spectrum of a kernel.

    Attributes
    ----------
    height : float
        k(x, x).
    omega : (S, D)
    """

    height: float
    omega: Array


def draw_frequencies(
    kernel: Kernel, dimension: int, size: int, rng: np.random.Generator
) -> Frequencies:
    """Return frequencies that a kernel of points in so many columns is the mean cosine of.

    Raises
    ------
    TypeError
        For kernels that do not depend on x − z alone, or whose spectrum is not known.

    Examples
    --------
    >>> found = draw_frequencies(2.0 * RBF(scale=0.5), 1, 1000, np.random.default_rng(0))
    >>> found.height, found.omega.shape
    (2.0, (1000, 1))
    """
    match kernel:
        case Constant():
            return Frequencies(float(kernel.value), np.zeros((size, dimension)))
        case Cosine():
            turn = rng.choice([-2.0, 2.0], size=(size, 1)) * np.pi / kernel.period
            return Frequencies(1.0, np.repeat(turn, dimension, axis=1))
        case Sum():
            return _mix([draw_frequencies(k, dimension, size, rng) for k in kernel.members], rng)
        case Product():
            return _add([draw_frequencies(k, dimension, size, rng) for k in kernel.members])
        case Power():
            parts = [
                draw_frequencies(kernel.base, dimension, size, rng) for _ in range(kernel.power)
            ]
            return _add(parts)
        case OnColumns():
            some = draw_frequencies(kernel.base, len(kernel.columns), size, rng)
            omega = np.zeros((size, dimension))
            for place, column in enumerate(kernel.columns):  # which may stand there twice
                omega[:, column] += some.omega[:, place]
            return Frequencies(some.height, omega)
    return _draw_radial(kernel, dimension, size, rng)


def _draw_radial(kernel: Any, dimension: int, size: int, rng: np.random.Generator) -> Frequencies:
    """Return normal frequencies of random width."""
    height, scale = 1.0, getattr(kernel, "scale", 1.0)
    match kernel:
        case RBF():
            width = np.ones(size)
        case Matern():  # Student's t of 2ν degrees of freedom
            width = 1.0 / rng.gamma(kernel.nu, 1.0 / kernel.nu, size)
        case RationalQuadratic():  # E e^{−τs/2} = (1 + s/2α)^{−α} for τ ~ Gamma(α, α)
            width = rng.gamma(kernel.mixing, 1.0 / kernel.mixing, size)
        case InverseMultiquadric():  # (1/c)(1 + s/c²)^{−1/2}
            height, width = 1.0 / kernel.offset, rng.gamma(0.5, 2.0 / kernel.offset**2, size)
        case InverseQuadratic():  # (1/c²)(1 + s/c²)^{−1}
            height, width = kernel.offset**-2.0, rng.gamma(1.0, 2.0 / kernel.offset**2, size)
        case _:
            raise TypeError(
                f"the spectrum of {kernel!r} is not known; use KernelBasis with "
                'method="nystroem", which any kernel has'
            )
    normal = rng.standard_normal((size, dimension))
    return Frequencies(float(height), np.sqrt(width)[:, None] * normal / scale)


def _mix(parts: list[Frequencies], rng: np.random.Generator) -> Frequencies:
    """Return frequencies each from one part, chosen by their heights."""
    heights = np.array([part.height for part in parts])
    omega = np.stack([part.omega for part in parts])
    chosen = rng.choice(len(parts), size=omega.shape[1], p=heights / heights.sum())
    return Frequencies(float(heights.sum()), omega[chosen, np.arange(omega.shape[1])])


def _add(parts: list[Frequencies]) -> Frequencies:
    """Return sums of frequencies: their laws are symmetric, so the mean of cos(a + b) is that of cos a cos b."""
    height = float(np.prod([part.height for part in parts]))
    return Frequencies(height, np.sum([part.omega for part in parts], axis=0))
