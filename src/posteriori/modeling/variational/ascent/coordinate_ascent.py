"""Coordinate ascent: update one node after another until the bound stands still.

At its slow end an ascent is helped three times: it jumps where its last sweeps lead to (Anderson
acceleration, :class:`Acceleration`), it merges classes that describe one cluster (:class:`Merger`), and it
gives classes that priors tell apart the names that fit them best (:class:`Relabeller`). What ends lower is
taken back, so the bound never falls.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.ascent.anderson import FALL, MEMORY, SLOW, Point, Step, extrapolate
from posteriori.inference.clusters.merges import shared_parts
from posteriori.modeling.contract.costs import counted
from posteriori.modeling.variational.ascent.grouping import Bilinear
from posteriori.modeling.variational.ascent.linear_systems import LinearSystem
from posteriori.modeling.variational.ascent.problem import Problem, Snapshot, restore
from posteriori.modeling.variational.ascent.rotation import rotate
from posteriori.modeling.variational.ascent.state_rotation import rotate_states
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = [
    "Acceleration",
    "Ascent",
    "Merger",
    "Relabeller",
    "ascend",
    "best_start",
    "rises_above",
    "sweep",
]

#: Passes over the shared nodes in a slow sweep of a model with products of unknowns.
_PASSES = 4

#: A fall below ``tol`` and this is no fall: terms far larger than their sum, as those of sharp data
#: about wide unknowns are, round by more than the sum does.
_ROUNDING = 1e-6

#: After so many sweeps that gain less than this, in nats, merges of classes are tried.
_PATIENCE, _LITTLE = 10, 1.0

#: Names of so many classes are tried in all orders, of more in those that exchange two.
_ALL_ORDERS = 4

#: Merges that are tried at a time, and the sweeps that each trial is given at most.
_MERGES, _SWEEPS = 3, 10


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
    pairs: Sequence[Bilinear] = (),
    systems: Sequence[LinearSystem] = (),
    classes: Sequence[str] = (),
    named: Sequence[str] = (),
    progress: Progress | None = None,
) -> Ascent:
    """Repeat sweeps of the first start until the bound rises by less than ``tol`` nats.

    The beliefs are those of the last whole sweep: of the best one, should the bound fall, and of
    the last before an interrupt.
    """
    trace: list[float] = []
    message, converged = f"stopped after {counted(max_iter, 'sweep')}", False
    reporter = progress or Progress(False)
    kept = problem.snapshot()
    try:
        jump, merger, passes = Acceleration(problem), Merger(problem, classes), 1
        relabeller = Relabeller(problem, named)
        for i in range(1, max_iter + 1):
            bounds = sweep(problem, passes)
            for pair in pairs:
                bounds = rotate(problem, pair, bounds)
            for system in systems:
                bounds = rotate_states(problem, system, bounds)
            bound = float(bounds[0])
            jumped = jump.is_pending
            if jump.failed(bound):
                continue
            rise = bound - trace[-1] if trace else np.inf
            if rise < -max(FALL * max(1.0, abs(bound)), min(tol, _ROUNDING)):
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
                jump = Acceleration(problem)
                continue
            if i < max_iter and rise < tol and relabeller.raised(bound):
                jump = Acceleration(problem)
                continue
            if rise < tol and jumped:  # perhaps a poor jump: a plain sweep decides
                jump.forget()
                continue
            if rise < tol:
                converged, message = True, f"converged after {counted(i, 'sweep')}"
                break
            passes = _PASSES if (pairs or systems) and rise < SLOW else 1
            if i < max_iter and rise < SLOW:
                jump.consider(bound)
            else:
                jump.forget()
    except KeyboardInterrupt:
        if not trace:
            raise
        restore(kept)
        message = f"interrupted after {counted(len(trace), 'sweep')}"
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


# -- jumps -----------------------------------------------------------------------------------


class Acceleration:
    """Watches an ascent, jumps after a sweep to where the last ones lead, and takes back what was no gain.

    Sweeps map the parameters of the shared nodes. A jump is kept only if the next sweep ends above
    where it began.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        nodes = problem.shared
        self.possible = bool(nodes) and all(node.moves_freely for node in nodes)
        self._sweeps: list[Step] = []  # where they began and ended
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
            self._sweeps = [*self._sweeps[1 - MEMORY :], (self._began, ended)]
        self._began = ended
        if len(self._sweeps) < 2:
            return
        kept = self.problem.snapshot()
        target = extrapolate(self._sweeps)
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


# -- merges ----------------------------------------------------------------------------------


class _Merge(NamedTuple):
    """A class that gives its members to another one, of one variable."""

    name: str
    source: int
    target: int


class Merger:
    r"""Watches an ascent, and merges classes when it has become slow.

    Two classes that describe one cluster part with their members so slowly that an ascent ends before
    it has emptied one of them. When sweeps gain little, one class is given the members of another,

    .. math:: q'(z = b) = q(z = a) + q(z = b), \qquad q'(z = a) = 0,

    and the beliefs are kept if a few sweeps from there end higher. Classes are tried in the order of
    :math:`\sum_n q(z_n = a)\, q(z_n = b)`, in parts of the largest possible value.

    Reference: Ueda, Nakano, Ghahramani and Hinton (2000), SMEM algorithm for mixture models.

    Parameters
    ----------
    problem : Problem
    names : iterable of str
        Indices of unknown parameters.
    """

    def __init__(self, problem: Problem, names: Iterable[str]) -> None:
        self.problem = problem
        self.names = list(names)
        self._slow, self._patience = 0, _PATIENCE
        self._refused: set[_Merge] = set()

    def is_due(self, rise: float) -> bool:
        """Tell whether sweeps have been slow for long, given what the last one gained."""
        self._slow += rise < _LITTLE
        return bool(self.names) and self._slow >= self._patience

    def raised(self, bound: float) -> bool:
        """Merge the first of some pairs that ends above a bound; else change nothing."""
        for merge in self._merges()[:_MERGES]:
            if self._is_kept(merge, bound):
                self._refused.clear()
                return True
            self._refused.add(merge)
        self._slow, self._patience = 0, 2 * self._patience
        return False

    def _merges(self) -> list[_Merge]:
        """Return pairs that may be one class, those that share most first."""
        found: dict[_Merge, float] = {}
        for name in self.names:
            overlap = self.problem.owner[name].overlaps(name)
            found |= {_Merge(name, *pair): part for pair, part in shared_parts(overlap).items()}
        return sorted(found.keys() - self._refused, key=lambda p: (-found[p], p))

    def _is_kept(self, merge: _Merge, bound: float) -> bool:
        """Merge two classes and sweep; where that ends no higher, take it back."""
        kept = self.problem.snapshot()
        node = self.problem.owner[merge.name]
        matrix = np.eye(len(node.overlaps(merge.name)))
        matrix[merge.target, merge.source], matrix[merge.source, merge.source] = 1.0, 0.0
        node.map_states(merge.name, matrix)
        if rises_above(bound, self.problem):
            return True
        restore(kept)
        self.problem.reduce()  # sums of the local nodes as they were
        return False


# -- names -----------------------------------------------------------------------------------


class Relabeller:
    """Gives classes that priors tell apart other names at the end of an ascent.

    A start finds clusters, and names them at random. Where priors differ between classes, the ascent
    cannot exchange two names by small steps: each order is tried, and the best one kept.

    Parameters
    ----------
    problem : Problem
    names : iterable of str
        Indices of unknown parameters whose priors differ.
    """

    def __init__(self, problem: Problem, names: Iterable[str]) -> None:
        self.problem = problem
        self.names = list(names)

    def raised(self, bound: float) -> bool:
        """Take the order of classes that ends highest, if it is above a bound; else change nothing."""
        best, found = bound, self.problem.snapshot()
        for name in self.names:
            kept = self.problem.snapshot()
            node = self.problem.owner[name]
            for order in _orders(len(node.overlaps(name))):
                node.map_states(name, np.eye(len(order))[order])
                if rises_above(best, self.problem):
                    best, found = float(sweep(self.problem)[0]), self.problem.snapshot()
                restore(kept)
        restore(found)
        self.problem.reduce()  # sums of the local nodes as they were, or as they are now
        return best > bound


def _orders(size: int) -> list[list[int]]:
    """Return orders of classes: all others than the present one, or all that exchange two."""
    first = list(range(size))
    if size <= _ALL_ORDERS:
        return [list(order) for order in permutations(first)][1:]
    found = []
    for i, j in combinations(first, 2):
        order = list(first)
        order[i], order[j] = j, i
        found.append(order)
    return found


def rises_above(bound: float, problem: Problem) -> bool:
    """Tell whether a few sweeps end above a bound."""
    before = -np.inf
    for left in reversed(range(_SWEEPS)):
        now = float(sweep(problem)[0])
        if exceeds_rounding(now - bound, abs(bound)):  # else a way back would count as a rise
            return True
        if now + left * (now - before) <= bound:  # sweeps gain less and less
            return False
        before = now
    return False
