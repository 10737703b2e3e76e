r"""How far beliefs that are cut apart would go along with one another: what their spreads leave out.

At the end of an ascent a belief about x is moved a little and held there, by δ of its mean, until all
others have settled; then it may follow again, and goes back only part of the way, to r δ. A belief with
the variance v knows of x given the others, and they leave

.. math:: \operatorname{Var}[x] \approx \frac{v}{1 - r} ,

exactly where all are normal. So its intervals have the share :math:`\sqrt{1 - r}` of their length. This
takes a few sweeps for each node, fewer than the ascent has taken. Members of a vector are moved to either side.

Reference: R. Giordano, T. Broderick & M. Jordan, "Linear response methods for accurate covariance estimates
from mean field variational Bayes", 2015; X.-L. Meng & D. Rubin, "Using EM to obtain asymptotic
variance-covariance matrices: the SEM algorithm", 1991.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.inference.weighing.reliability import NARROW
from posteriori.modeling.variational.ascent.coordinate_ascent import Ascent
from posteriori.modeling.variational.ascent.problem import Problem, restore
from posteriori.modeling.variational.nodes.node import Node
from posteriori.numerics.types import Array

__all__ = ["find_responding", "shares_of_length"]

#: Sweeps in which the others settle: of more, most only say by how much.
_SWEEPS = 5

#: How far a belief is moved, in its standard deviations; the first step, and how many are tried.
_MOVED, _FIRST, _TRIALS = 0.1, 1e-6, 5

Moments = Mapping[str, tuple[Array, Array]]


def find_responding(problem: Problem, ascent: Ascent) -> set[str]:
    """Return unknowns whose intervals are too narrow, as far as that takes fewer sweeps than the ascent."""
    return {n for n, share in shares_of_length(problem, ascent).items() if share < NARROW}


def shares_of_length(problem: Problem, ascent: Ascent) -> dict[str, float]:
    """Return the share of the true length that intervals have, by unknown that rows share.

    An ascent that ended after very few sweeps, has not converged, or looks at its rows part by part tells nothing.
    """
    nodes = [node for node in problem.shared if node.moves_freely]
    sweeps = min(_SWEEPS, len(ascent.trace) // max(len(nodes), 1) - 1)
    if sweeps < 1 or not ascent.converged or problem.streamed is not None:
        return {}
    found: dict[str, float] = {}
    for node in nodes:
        found |= _probed(problem, node, sweeps, np.random.default_rng(0))
    return found


def _probed(
    problem: Problem, node: Node, sweeps: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return the shares of a node; a vector that is moved where all others go with it is moved elsewhere."""
    first = _undone(problem, node, sweeps, rng)
    sizes = {name: np.size(node.marginal(name).mean) for name in first}
    if not any(share < NARROW and sizes[name] > 1 for name, share in first.items()):
        return first
    second = _undone(problem, node, sweeps, rng)
    return {name: max(share, second.get(name, 1.0)) for name, share in first.items()}


def _undone(
    problem: Problem, node: Node, sweeps: int, rng: np.random.Generator
) -> dict[str, float]:
    kept = problem.snapshot()
    try:
        with np.errstate(all="ignore"):
            return _shares(problem, node, sweeps, rng)
    except (ValueError, np.linalg.LinAlgError):
        return {}  # moved, it leads beyond what is proper: nothing is known of it
    finally:
        restore(kept)
        problem.reduce()


def _shares(
    problem: Problem, node: Node, sweeps: int, rng: np.random.Generator
) -> dict[str, float]:
    before = _moments(node)
    if not _move(node, before, rng):
        return {}
    held = _shifts(node, before)
    for _ in range(sweeps):
        _update(problem, problem.local)
        _update(problem, (other for other in problem.shared if other is not node))
    _update(problem, problem.local)
    _update(problem, (node,))
    after = _shifts(node, before)
    kept = {name: float(held[name] @ after[name]) / float(held[name] @ held[name]) for name in held}
    return {name: float(np.sqrt(np.clip(1.0 - r, 0.0, 1.0))) for name, r in kept.items()}


def _update(problem: Problem, nodes: Iterable[Node]) -> None:
    problem.reduce()
    for node in nodes:
        problem.update(node)


def _moments(node: Node) -> Moments:
    """Return means and standard deviations of all numbers of a node."""
    found = {}
    for name in node.names:
        belief = node.marginal(name)
        mean, spread = np.ravel(belief.mean), np.sqrt(np.ravel(belief.variance))
        found[name] = mean, np.where(spread > 0.0, spread, np.inf)
    return found


def _shifts(node: Node, before: Moments) -> dict[str, Array]:
    """Return how far means have moved, in standard deviations."""
    return {n: (np.ravel(node.marginal(n).mean) - m) / sd for n, (m, sd) in before.items()}


def _move(node: Node, before: Moments, rng: np.random.Generator) -> bool:
    """Move the means by a part of a standard deviation, to either side; False where that fails."""
    natural, start = node.natural(), node.state()
    for i in (*range(len(natural)), *range(len(natural))):
        sides = rng.choice([-1.0, 1.0], natural[i].shape)
        direction = sides * np.where(natural[i] == 0.0, 1.0, np.abs(natural[i]))
        step = _FIRST
        for _ in range(_TRIALS):
            moved = [*natural[:i], natural[i] + step * direction, *natural[i + 1 :]]
            far = _distance(node, before) if node.set_natural(moved) else np.inf
            if 0.2 * _MOVED < far < 5.0 * _MOVED:
                return True
            node.set_state(start)
            step *= np.clip(_MOVED / max(far, 1e-9), 0.1, 1e3)
    return False


def _distance(node: Node, before: Moments) -> float:
    """Return how far the means have moved; a belief that is no longer one, infinitely far."""
    if any(not isinstance(node.marginal(name), Distribution) for name in node.names):
        return np.inf
    shifts = np.concatenate(list(_shifts(node, before).values()))
    return float(np.sqrt(np.mean(shifts**2)))
