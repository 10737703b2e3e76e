r"""Draws of the exact posterior: the sweeps of an ascent, with values drawn in place of expectations.

Each group of unknowns has a belief in closed form given the others. Where these have values, that
belief is the conditional posterior, and drawing each group in turn,

.. math:: \theta_g \sim p(\theta_g \mid \theta_{\setminus g}, \text{data}),

is Gibbs sampling, or data augmentation where one group are the classes of rows. Many walks, one for
each start of the ascent's problem, begin at draws of the fitted beliefs and take all steps together.
They are taken twice as many steps at a time, until numbers at the end of the last ones have forgotten
those half-way: only the last ones, half of all, are kept.

Reference: M. Tanner & W. Wong, "The calculation of posterior distributions by data augmentation", 1987.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling.binding.labelled import Axis
from posteriori.modeling.variational.ascent.approximation import Approximation
from posteriori.modeling.variational.ascent.problem import Problem
from posteriori.modeling.variational.augmentation.namings import Namings
from posteriori.modeling.variational.nodes.node import Node
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.types import Array

__all__ = ["FORGOTTEN", "Walks", "sample_by_gibbs"]

#: Sweeps of the first part, and how often their number is doubled at most.
_SWEEPS, _DOUBLINGS = 32, 4

#: Sweeps whose conditional posteriors are kept.
_KEPT = 8

#: Correlation of numbers half a part from one another, above which walks remember where they began.
FORGOTTEN = 0.2


class Walks(NamedTuple):
    """The last part of many walks.

    Attributes
    ----------
    draws : mapping to arrays (sweeps, walks, *shape)
    conditionals : mapping to sequences of distributions
        Of each variable given all others, a batch over walks and its own axes, at some sweeps.
    memory : mapping to float
        Largest correlation of a number with itself half the sweeps later, of unknowns that rows share.
    refused : mapping to float
        Share of draws of states that another naming would agree better with.
    """

    draws: Mapping[str, Array]
    conditionals: Mapping[str, Sequence[Any]]
    memory: Mapping[str, float]
    refused: Mapping[str, float]

    @property
    def size(self) -> int:
        """How many draws there are."""
        some = next(iter(self.draws.values()))
        return int(some.shape[0] * some.shape[1])


def sample_by_gibbs(
    approximation: Approximation,
    fitted: Problem,
    namings: Mapping[str, Namings],
    walks: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Walks:
    """Walk from draws of fitted beliefs until these are forgotten.

    Raises
    ------
    ValueError, LinAlgError
        Where draws leave the range of floating point.
    """
    walk = _Walk(approximation, fitted, namings, walks, rng, progress or Progress(False))
    count = _SWEEPS
    walk.go(count)
    for _ in range(_DOUBLINGS):
        found = walk.go(count)
        if max(found.memory.values(), default=0.0) <= FORGOTTEN:
            break
        count *= 2
    return found


class _Walk:
    """Nodes at draws, one for each walk."""

    def __init__(
        self,
        approximation: Approximation,
        fitted: Problem,
        namings: Mapping[str, Namings],
        walks: int,
        rng: np.random.Generator,
        progress: Progress,
    ) -> None:
        self.progress = progress
        self.problem = approximation.problem(Axis("restart", walks))
        self.namings, self.rng = namings, rng
        self.shared = {name for node in self.problem.shared for name in node.names}
        for node in self.problem.nodes:
            node.resume(fitted.owner[node.names[0]])
            self._begin(node)

    def _begin(self, node: Node) -> None:
        """Draw from the fitted belief; where another naming agrees better, the best states stand in."""
        best = {name: node.centre(name) for name in node.names if name in self.namings}
        drawn = node.draw_given_others(self.rng)
        for name, p in best.items():
            assert p is not None
            kept = self.namings[name].are_kept(drawn[name])
            highest = np.equal.outer(p.argmax(axis=-1), np.arange(p.shape[-1])).astype(float)
            self._replace(node, name, kept, highest)

    def go(self, sweeps: int) -> Walks:
        """Take some sweeps, and return where they led."""
        draws: dict[str, list[Array]] = {}
        conditionals: dict[str, list[Any]] = {}
        refused: dict[str, list[float]] = {name: [] for name in self.namings}
        at = set(np.linspace(0, sweeps - 1, _KEPT).round().astype(int).tolist())
        for sweep in range(sweeps):
            self.progress.say(f"draws that correct beliefs: sweep {sweep} of {sweeps}")
            self.problem.reduce()
            for node in (*self.problem.shared, *self.problem.local):
                drawn = self._draw(node, conditionals if sweep in at else None, refused)
                for name, values in drawn.items():
                    draws.setdefault(name, []).append(values)
        whole = {name: _whole(name, parts) for name, parts in draws.items()}
        memory = {name: _memory(whole[name]) for name in whole if name in self.shared}
        return Walks(
            whole, conditionals, memory, {n: float(np.mean(r)) for n, r in refused.items()}
        )

    def _draw(
        self,
        node: Node,
        conditionals: dict[str, list[Any]] | None,
        refused: dict[str, list[float]],
    ) -> dict[str, Array]:
        """Draw a node given all others, and note what it was drawn from."""
        before = {name: node.centre(name) for name in node.names if name in self.namings}
        self.problem.update(node)
        if conditionals is not None:
            for name in node.names:
                conditionals.setdefault(name, []).append(node.conditional(name))
        drawn = node.draw_given_others(self.rng)
        for name, old in before.items():
            kept = self.namings[name].are_kept(drawn[name])
            refused[name].append(1.0 - float(kept.mean()))
            drawn[name] = self._replace(node, name, kept, old)
        return drawn

    @staticmethod
    def _replace(node: Node, name: str, kept: Array, old: Any) -> Array:
        """Let walks whose draw is not kept stay at their states, and return the codes of all."""
        new = node.centre(name)
        assert new is not None
        wide = kept.reshape(-1, *(1,) * (new.ndim - 1))
        states = np.where(wide, new, old)
        if not kept.all():
            node.set_centre(name, states)
        return np.asarray(states.argmax(axis=-1))


def _whole(name: str, parts: Sequence[Array]) -> Array:
    """Return all draws in one array, codes in a byte each where they fit."""
    values = np.array(parts)
    if values.dtype.kind in "iu":
        return values.astype(np.int8 if values.max() < 128 else np.int32)
    if not np.isfinite(values).all():
        raise ValueError(f"draws of {name} leave the range of floating point")
    return values


def _memory(draws: Array) -> float:
    """Return the largest correlation of a number with itself half the sweeps later."""
    half = len(draws) // 2
    numbers = draws.reshape(len(draws), draws.shape[1], -1).astype(np.float64)
    apart = numbers - numbers.mean(axis=(0, 1))
    spread = np.square(apart).mean(axis=(0, 1))
    together = (apart[:half] * apart[half : 2 * half]).mean(axis=(0, 1))
    return float(np.max(together / np.where(spread > 0.0, spread, 1.0), initial=0.0))
