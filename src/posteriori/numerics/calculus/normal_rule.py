r"""Nodes for means of analytic functions under a standard normal distribution.

With the nearest singularity of f at a distance a from the real line, and n nodes,

* Gauss–Hermite rules err by about :math:`n!/a^{2n}`, the best where a is large (f is nearly straight);
* the trapezoid rule of step h errs by about :math:`e^{a^2/2 - 2\pi a/h}` for :math:`a < 2\pi/h` and
  :math:`e^{-2\pi^2/h^2}` else, the best where a is small.

References: L. Trefethen & J. Weideman, "The exponentially convergent trapezoidal rule", 2014;
P. Davis & P. Rabinowitz, "Methods of numerical integration", 1984, sec. 4.6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from posteriori.numerics.blocks.block_sizes import NODES, rows_per_block
from posteriori.numerics.types import Array

__all__ = ["normal_rule", "rules_by_width"]

#: Most nodes; functions that turn so sharply are nearly linear on both sides of the turn.
_MOST = 301

#: Most nodes of a Gauss–Hermite rule.
_MOST_HERMITE = 30

#: Added to the exponents above for the factors that these leave out, of 2 to 4.
_MARGIN = math.log(4.0)

#: Standard deviations up to this share a rule.
_NARROWEST = 1.0 / 16.0


def normal_rule(distance: float, digits: float) -> tuple[Array, Array]:
    """Return nodes and weights (Q,) with the fewest nodes that give so many digits.

    Parameters
    ----------
    distance : float
        From the real line to the nearest singularity, in standard deviations.
    digits : float
        Decimal digits that are asked for.

    Examples
    --------
    >>> z, w = normal_rule(np.pi / 0.1, 9.0)  # for σ(0.1 z), with poles at ±πi/0.1
    >>> len(z), round(float(w @ z**2), 12)
    (5, 1.0)
    """
    tail = digits * math.log(10.0) + _MARGIN
    step = math.pi * math.sqrt(2.0 / tail)
    if distance < math.sqrt(2.0 * tail):
        step = 2.0 * math.pi * distance / (tail + 0.5 * distance**2)
    half = min(_MOST // 2, math.ceil(math.sqrt(2.0 * tail) / step))
    for n in range(1, min(2 * half, _MOST_HERMITE) + 1):
        if math.lgamma(n + 1.0) - 2.0 * n * math.log(distance) <= -tail:
            return _hermite(n + 1)
    return _trapezoid(half, math.sqrt(2.0 * tail))


def rules_by_width(
    std: Array, singularity: float, digits: float
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield rows of similar standard deviations with nodes and weights for them.

    One wide row would else give its many nodes to all others.

    Parameters
    ----------
    std : (N,)
    singularity : float
        Distance from the real line to the nearest singularity of the function.
    digits : float

    Yields
    ------
    rows : (n,)
        Places in ``std``; each comes once.
    z, weights : (Q,)
    """
    octave = np.ceil(np.log2(np.maximum(std, _NARROWEST)))
    for level in np.unique(octave):
        z, weights = normal_rule(singularity / float(np.exp2(level)), digits)
        rows, step = np.flatnonzero(octave == level), rows_per_block(len(z), NODES)
        for first in range(0, len(rows), step):
            yield rows[first : first + step], z, weights


@lru_cache(maxsize=64)
def _hermite(n: int) -> tuple[Array, Array]:
    z, w = np.polynomial.hermite_e.hermegauss(n)
    return z, w / w.sum()


@lru_cache(maxsize=512)
def _trapezoid(half: int, reach: float) -> tuple[Array, Array]:
    z = reach * np.arange(-half, half + 1) / half
    w = np.exp(-0.5 * z * z)
    return z, w / w.sum()
