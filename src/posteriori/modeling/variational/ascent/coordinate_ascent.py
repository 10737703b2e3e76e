"""Coordinate ascent: update one node after another until the bound stands still."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling.contract.costs import counted
from posteriori.modeling.variational.ascent.acceleration import Jump
from posteriori.modeling.variational.ascent.class_merging import Merger
from posteriori.modeling.variational.ascent.problem import Problem, restore
from posteriori.modeling.variational.ascent.rotation import Pair, rotate
from posteriori.numerics.progress import Progress
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["Ascent", "ascend", "sweep"]

#: Jumps are for the slow end of an ascent, when a sweep gains less than this, in nats: before that
#: they could land near another, lower top.
_SLOW = 10.0

#: Passes over the shared nodes in a slow sweep of a model with products of unknowns.
_PASSES = 4

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


def sweep(problem: Problem, passes: int = 1) -> Array:
    """Update every node, local ones last; return the bound of each start.

    Several passes over the shared nodes cost little where rows are many, and let those agree that
    follow one another slowly: loadings and their precisions, as these grow without end.
    """
    problem.reduce()
    for node in (*problem.shared * passes, *problem.local):
        problem.update(node)
    return problem.bound(node)


def ascend(
    problem: Problem,
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[int, float], Any] | None = None,
    pairs: Sequence[Pair] = (),
    classes: Sequence[str] = (),
    progress: bool | None = False,
) -> Ascent:
    """Repeat sweeps of the first start until the bound rises by less than ``tol`` nats.

    The beliefs are those of the last whole sweep: of the best one, should the bound fall, and of
    the last before an interrupt.
    """
    trace: list[float] = []
    message, converged = f"stopped after {counted(max_iter, 'sweep')}", False
    reporter = Progress(progress)
    kept = problem.snapshot()
    try:
        jump, merger, passes = Jump(problem), Merger(problem, classes, sweep), 1
        for i in range(1, max_iter + 1):
            bounds = sweep(problem, passes)
            for pair in pairs:
                bounds = rotate(problem, pair, bounds)
            bound = float(bounds[0])
            jumped = jump.is_pending
            if jump.failed(bound):
                continue
            rise = bound - trace[-1] if trace else np.inf
            if rise < -_ROUNDING * max(1.0, abs(bound)):
                restore(kept)
                message = f"stopped because the bound fell by {-rise:.3g} nats in sweep {i}"
                break
            trace.append(bound)
            kept = problem.snapshot()
            reporter.show(i, bound)
            if callback is not None and callback(i, bound):
                message = "stopped by the callback"
                break
            if i < max_iter and (merger.is_due(rise) or rise < tol) and merger.raised(bound):
                jump = Jump(problem)
                continue
            if rise < tol and jumped:  # perhaps a poor jump: a plain sweep decides
                jump.forget()
                continue
            if rise < tol:
                converged, message = True, f"converged after {counted(i, 'sweep')}"
                break
            passes = _PASSES if pairs and rise < _SLOW else 1
            if i < max_iter and rise < _SLOW:
                jump.consider(bound)
            else:
                jump.forget()
    except KeyboardInterrupt:
        if not trace:
            raise
        restore(kept)
        message = f"interrupted after {counted(len(trace), 'sweep')}"
    finally:
        reporter.close()
    if message.startswith(("stopped after", "stopped because")):
        warnings.warn(
            f"variational inference {message}; raise max_iter or tol, or look at free_energy",
            ConvergenceWarning,
            stacklevel=2,
        )
    return Ascent(tuple(trace), converged, message)


def best_start(bounds: Array) -> int:
    """Return the start with the highest bound."""
    return int(np.argmax(np.where(np.isnan(bounds), -np.inf, bounds)))
