r"""Stochastic ascent: steps of the shared beliefs along natural gradients estimated from some rows.

With the local beliefs of B of N rows, the sums of all rows are estimated by N/B times those of the
batch, and every shared node moves towards its update,

.. math:: \eta \leftarrow (1 - \rho_t)\,\eta + \rho_t\,\hat\eta_t, \qquad \rho_t = (t + d)^{-\kappa}.

At the end one sweep over all rows takes the noise of the last steps away, and its bound is exact.
Products of unknowns are turned before the first step and after the last one: small steps creep along
directions that only their priors tell apart.

Reference: Hoffman, Blei, Wang and Paisley (2013), Stochastic variational inference, figure 4.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from posteriori.modeling.contract.costs import counted
from posteriori.modeling.contract.options import Options
from posteriori.modeling.variational.ascent.coordinate_ascent import Ascent, ascend, sweep
from posteriori.modeling.variational.ascent.dropping import drop_weakest
from posteriori.modeling.variational.ascent.grouping import Bilinear
from posteriori.modeling.variational.ascent.problem import Problem, restore
from posteriori.modeling.variational.ascent.rotation import rotate
from posteriori.modeling.variational.stream.streamed_node import StreamedProblem
from posteriori.modeling.variational.stream.streaming import Part
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.types import IntArray
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["ascend_in_batches", "settle"]

#: d and κ: how much the first steps count, and how fast later ones become shorter.
DELAY, FORGETTING = 1.0, 0.7

#: Steps whose bounds are averaged, at least.
_WINDOW = 20

#: Sweeps over the rows of a trial, at most.
_SETTLING = 60


def ascend_in_batches(
    problem: StreamedProblem,
    options: Options,
    rng: np.random.Generator,
    pairs: Sequence[Bilinear] = (),
    progress: Progress | None = None,
) -> Ascent:
    """Step until the average bound stands still or Ctrl-C, then sweep over all rows once.

    The trace has the estimated bound of each step, and at the end the bound itself. The ascent
    ends when the average over a window rises by less than ``tol`` or than its standard error.
    """
    for node in problem.shared:
        if not node.moves_freely:
            raise TypeError(
                f"batch_size cannot be used here: the belief about {', '.join(node.names)} cannot "
                "be moved in small steps; leave batch_size out"
            )
    stream = problem.streamed.stream
    tol, max_iter, callback = options.tol, options.max_iter, options.callback
    count, size = stream.plate.size, options.batch_size or stream.plate.size
    window = max(_WINDOW, math.ceil(count / size))
    part = Part(stream, problem.shared, problem.restart, size)
    trace: list[float] = []
    message, converged = f"stopped after {counted(max_iter, 'step')}", False
    reporter, kept = progress or Progress(False), problem.snapshot()
    try:
        for t, rows in zip(range(1, max_iter + 1), _batches(count, size, rng), strict=False):
            problem.estimates = stream.estimates(size, rows)
            problem.streamed.estimate(part, rows, count / size)
            trace.append(_step(problem, (t + DELAY) ** -FORGETTING))
            kept = problem.snapshot()
            reporter.say(f"step {t}: bound about {trace[-1]:.6g}")
            if callback is not None and callback(t, trace[-1]):
                message = "stopped by the callback"
                break
            if t % window == 0 and _stands_still(trace, window, tol):
                converged, message = True, f"converged after {counted(t, 'step')}"
                break
    except KeyboardInterrupt:
        if not trace:
            raise
        restore(kept)
        message = f"interrupted after {counted(len(trace), 'step')}"
    if message.startswith("stopped after"):
        warnings.warn(
            f"variational inference {message}; raise max_iter or batch_size",
            ConvergenceWarning,
            stacklevel=2,
        )
    problem.estimates = {}
    problem.streamed.forget()
    bounds = sweep(problem)
    for pair in pairs:
        bounds = rotate(problem, pair, bounds)
    return Ascent((*trace, float(bounds[0])), converged, message)


def settle(problem: Problem, pairs: Sequence[Bilinear], *, tol: float) -> None:
    """Ascend with the rows of a trial, and turn: small steps would take long to get there.

    What creeps even so has a factor that only describes noise: without it the end is near.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dropped = True
        while dropped:
            ascent = ascend(problem, tol=tol, max_iter=_SETTLING, pairs=pairs)
            slow = not ascent.converged
            dropped = slow and drop_weakest(problem, pairs, ascent.trace[-1])


def _step(problem: StreamedProblem, rate: float) -> float:
    """Move all shared nodes; return the bound before, estimated from the batch."""
    bound = float(problem.bound(problem.streamed)[0])
    for shared in problem.shared:
        old = shared.natural()
        problem.update(shared)
        new = shared.natural()
        mixed = [(1.0 - rate) * a + rate * b for a, b in zip(old, new, strict=True)]
        shared.set_natural(mixed)
    return bound


def _batches(count: int, size: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """Yield rows: all of them in random order, again and again; what is left of a round waits."""
    while True:
        order = rng.permutation(count)
        for start in range(0, count - size + 1, size):
            yield np.sort(order[start : start + size])


def _stands_still(trace: list[float], window: int, tol: float) -> bool:
    """Tell whether the last window of bounds is no higher than the one before, but for noise."""
    if len(trace) < 2 * window:
        return False
    before, last = np.array(trace[-2 * window :]).reshape(2, window)
    noise = last.std() / math.sqrt(window)
    return bool(last.mean() - before.mean() < max(tol, noise))
