"""Coordinate ascent: update one node after another until the bound stands still."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling.variational.problem import Problem
from posteriori.modeling.variational.rotation import Pair, rotate
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["Ascent", "ascend", "sweep"]

#: A fall of the bound beyond this part of its size is an error, not rounding.
_ROUNDING = 1e-10


class Ascent(NamedTuple):
    """How an ascent went.

    Attributes
    ----------
    trace : tuple of float
        The bound after every sweep.
    converged : bool
    message : str
        How it ended.
    """

    trace: tuple[float, ...]
    converged: bool
    message: str


def sweep(problem: Problem) -> Array:
    """Update every node once, local ones last; return the bound of each start."""
    problem.reduce()
    for node in (*problem.shared, *problem.local):
        node.update(problem.messages(node))
    return problem.bound(node)


def ascend(
    problem: Problem,
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[int, float], Any] | None = None,
    pairs: Sequence[Pair] = (),
) -> Ascent:
    """Repeat sweeps of the first start until the bound rises by less than ``tol`` nats."""
    trace: list[float] = []
    message = f"stopped after {max_iter} sweeps"
    converged = False
    try:
        for i in range(max_iter):
            bounds = sweep(problem)
            for pair in pairs:
                bounds = rotate(problem, pair, bounds)
            bound = float(bounds[0])
            trace.append(bound)
            if callback is not None and callback(i, bound):
                message = "stopped by the callback"
                break
            if len(trace) < 2:
                continue
            rise = trace[-1] - trace[-2]
            if rise < -_ROUNDING * max(1.0, abs(bound)):
                message = f"the bound fell by {-rise:.3g} nats in sweep {i + 1}"
                break
            if rise < tol:
                converged, message = True, f"converged after {i + 1} sweeps"
                break
    except KeyboardInterrupt:
        if not trace:
            raise
        message = f"interrupted after {len(trace)} sweeps"
    if not converged and message.startswith(("stopped after", "the bound fell")):
        warnings.warn(f"variational inference {message}", ConvergenceWarning, stacklevel=2)
    return Ascent(tuple(trace), converged, message)


def best_start(bounds: Array) -> int:
    """Return the start with the highest bound."""
    return int(np.argmax(np.where(np.isnan(bounds), -np.inf, bounds)))
