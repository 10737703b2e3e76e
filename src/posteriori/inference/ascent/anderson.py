r"""Where a sequence of steps leads: Anderson's extrapolation of a fixed-point map.

Steps map a point φ to F(φ). From the last ones, with residuals :math:`f_i = F(φ_i) - φ_i`, a jump goes to

.. math:: F(φ_n) - \sum_i γ_i\,[F(φ_{i+1}) - F(φ_i)], \qquad
          γ = \arg\min |f_n - \sum_i γ_i (f_{i+1} - f_i)|,

the fixed point of the linear map that fits them all.

References: D. G. Anderson, "Iterative procedures for nonlinear integral equations", 1965;
N. C. Henderson & R. Varadhan, "Damped Anderson acceleration with restarts and monotonicity control
for accelerating EM and EM-like algorithms", 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["FALL", "MEMORY", "SLOW", "Point", "Step", "extrapolate"]

#: Jumps are for the slow end of an ascent, when a step gains less than this, in nats: before that
#: they could land near another, lower top.
SLOW = 10.0

#: Steps that a jump looks back on.
MEMORY = 6

#: A fall of the objective beyond this part of its size is an error, not rounding.
FALL = 1e-10

#: Directions in which the residuals differ by less than this part are left out.
_RANK = 1e-6

#: Arrays that are moved together.
Point = list[Array]

#: Where a step began and ended.
Step = tuple[Point, Point]


def extrapolate(steps: Sequence[Step]) -> Point:
    """Return the fixed point of the linear map through some steps, the last one last.

    Examples
    --------
    >>> points = [[np.array([2.0**-i])] for i in range(4)]  # each step halves the way to 0
    >>> abs(extrapolate(list(pairwise(points)))[0]).round(12)
    array([0.])
    """
    residuals = [[b - a for a, b in zip(*step, strict=True)] for step in steps]
    sizes = [_length(part) or 1.0 for part in residuals[-1]]  # units do not matter
    flat = [
        np.concatenate([p.ravel() / s for p, s in zip(f, sizes, strict=True)]) for f in residuals
    ]
    changes = np.stack([b - a for a, b in pairwise(flat)], axis=1)
    weights = np.linalg.lstsq(changes, flat[-1], rcond=_RANK)[0]
    ends = [end for _, end in steps]
    jumped = list(ends[-1])
    for weight, (early, late) in zip(weights, pairwise(ends), strict=True):
        jumped = [p - weight * (b - a) for p, a, b in zip(jumped, early, late, strict=True)]
    return jumped


def _length(part: Array) -> float:
    """Return the Euclidean length of numbers whose squares may overflow."""
    largest = float(np.abs(part).max(initial=0.0))
    if not 1e150 < largest < np.inf:
        return float(np.linalg.norm(part))
    return largest * float(np.linalg.norm(part / largest))
