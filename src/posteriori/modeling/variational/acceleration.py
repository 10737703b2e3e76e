r"""Faster ascent by extrapolation: three sweeps say where a hundred would lead.

Sweeps map the parameters φ of the shared nodes to F(φ). With :math:`r = F(φ) - φ` and
:math:`v = F(F(φ)) - 2F(φ) + φ`, the step :math:`φ - 2αr + α^2 v`, :math:`α = -|r|/|v|`, jumps along the slow
direction. It is kept only if the next sweep ends above where plain sweeps would be.

Reference: R. Varadhan & C. Roland, "Simple and globally convergent methods for accelerating the
convergence of any EM algorithm", 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.modeling.variational.problem import Problem
from posteriori.modeling.variational.snapshots import restore, snapshot
from posteriori.numerics.types import Array

__all__ = ["Jump"]


class Jump:
    """Watches an ascent, jumps after every second sweep, and takes back what was no gain.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.possible = all(hasattr(type(node), "set_coordinates") for node in problem.shared)
        self._states: list[list[list[Array]]] = []
        self._before: tuple[Any, float] | None = None

    def consider(self, bound: float) -> None:
        """Remember the state after a sweep, and jump from the third one."""
        if not self.possible:
            return
        self._states.append([node.coordinates() for node in self.problem.shared])
        if len(self._states) < 3:
            return
        kept = snapshot(self.problem)
        if _extrapolate(self.problem, self._states):
            for node in self.problem.local:
                node.update(self.problem.messages(node))
            self._before = (kept, bound)
        else:
            restore(kept)
        self._states = []

    def failed(self, bound: float) -> bool:
        """Tell whether the sweep after a jump ended too low; then the jump is taken back."""
        if self._before is None:
            return False
        kept, before = self._before
        self._before = None
        if bound >= before:
            return False
        restore(kept)
        return True


def _extrapolate(problem: Problem, states: Sequence[list[list[Array]]]) -> bool:
    """Set the shared nodes to the jump from three states; False where it leaves the domain."""
    first, second, third = states
    r = [[b - a for a, b in zip(p, q, strict=True)] for p, q in zip(first, second, strict=True)]
    v = [
        [c - 2.0 * b + a for a, b, c in zip(p, q, s, strict=True)]
        for p, q, s in zip(first, second, third, strict=True)
    ]
    ratio = _bend(r, v)
    if not 0.0 < ratio < 1.0:
        return False
    alpha = -1.0 / ratio
    for node, start, slope, curve in zip(problem.shared, first, r, v, strict=True):
        jumped = [
            p - 2.0 * alpha * a + alpha**2 * b for p, a, b in zip(start, slope, curve, strict=True)
        ]
        if not node.set_coordinates(jumped):
            return False
    return True


def _bend(r: list[list[Array]], v: list[list[Array]]) -> float:
    """Return |v|/|r|, each array measured by its own change, so that units do not matter."""
    squares = []
    for steps, bends in zip(r, v, strict=True):
        for a, b in zip(steps, bends, strict=True):
            moved = float(np.sum(a * a))
            if moved > 0.0:
                squares.append(float(np.sum(b * b)) / moved)
    return float(np.sqrt(np.mean(squares))) if squares else 0.0
