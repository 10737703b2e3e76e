r"""Faster ascent by extrapolation: a few sweeps say where a hundred would lead.

Sweeps map the parameters φ of the shared nodes to F(φ). From the last sweeps, with residuals
:math:`f_i = F(φ_i) - φ_i`, the jump goes to

.. math:: F(φ_n) - \sum_i γ_i\,[F(φ_{i+1}) - F(φ_i)], \qquad
          γ = \arg\min |f_n - \sum_i γ_i (f_{i+1} - f_i)|,

the fixed point of the linear map that fits them all. It is kept only if the next sweep ends above
where it began.

References: D. G. Anderson, "Iterative procedures for nonlinear integral equations", 1965;
N. C. Henderson & R. Varadhan, "Damped Anderson acceleration with restarts and monotonicity control
for accelerating EM and EM-like algorithms", 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from posteriori.modeling.variational.ascent.problem import Problem, Snapshot, restore
from posteriori.numerics.types import Array

__all__ = ["Jump"]

#: Sweeps that a jump looks back on.
_MEMORY = 6

#: Directions in which the residuals differ by less than this part are left out.
_RANK = 1e-6

#: Parameters of all shared nodes, a list of arrays.
Point = list[Array]


class Jump:
    """Watches an ascent, jumps after a sweep, and takes back what was no gain.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        nodes = problem.shared
        self.possible = bool(nodes) and all(node.moves_freely for node in nodes)
        self._sweeps: list[tuple[Point, Point]] = []  # where they began and ended
        self._began: Point | None = None
        self._before: tuple[Snapshot, float] | None = None

    @property
    def is_pending(self) -> bool:
        """Whether the next sweep begins with a jump."""
        return self._before is not None

    def consider(self, bound: float) -> None:
        """Remember the state after a sweep, and jump from the third one."""
        if not self.possible:
            return
        ended = self._point()
        if self._began is not None:
            self._sweeps = [*self._sweeps[1 - _MEMORY :], (self._began, ended)]
        self._began = ended
        if len(self._sweeps) < 2:
            return
        kept = self.problem.snapshot()
        target = _extrapolate(self._sweeps)
        if self._move_to(target):
            self._began, self._before = target, (kept, bound)
        else:
            restore(kept)
            self._sweeps = []

    def failed(self, bound: float) -> bool:
        """Tell whether the sweep after a jump ended too low; then the jump is taken back."""
        if self._before is None:
            return False
        kept, before = self._before
        self._before = None
        if bound >= before:
            return False
        restore(kept)
        self._began, self._sweeps = self._point(), []
        return True

    def forget(self) -> None:
        """Begin anew: what follows has nothing to do with earlier sweeps."""
        self._began, self._sweeps = None, []

    def _point(self) -> Point:
        return [part for node in self.problem.shared for part in node.coordinates()]

    def _move_to(self, target: Point) -> bool:
        """Set the shared nodes and let the local ones follow; False where one would be improper.

        Sweeps that nearly agree can lead so far that local beliefs have no digits left.
        """
        rest = list(target)
        for node in self.problem.shared:
            count = len(node.coordinates())
            if not node.set_coordinates(rest[:count]):
                return False
            rest = rest[count:]
        try:
            for node in self.problem.local:
                self.problem.update(node)
        except (ValueError, np.linalg.LinAlgError):
            return False
        return True


def _extrapolate(sweeps: Sequence[tuple[Point, Point]]) -> Point:
    """Return the fixed point of the linear map through some sweeps."""
    residuals = [[b - a for a, b in zip(*sweep, strict=True)] for sweep in sweeps]
    sizes = [float(np.linalg.norm(part)) or 1.0 for part in residuals[-1]]  # units do not matter
    flat = [
        np.concatenate([p.ravel() / s for p, s in zip(f, sizes, strict=True)]) for f in residuals
    ]
    changes = np.stack([b - a for a, b in pairwise(flat)], axis=1)
    weights = np.linalg.lstsq(changes, flat[-1], rcond=_RANK)[0]
    ends = [end for _, end in sweeps]
    jumped = list(ends[-1])
    for weight, (early, late) in zip(weights, pairwise(ends), strict=True):
        jumped = [p - weight * (b - a) for p, a, b in zip(jumped, early, late, strict=True)]
    return jumped
