"""Variables of which only the best value is wanted: a node whose belief has no width.

With the unknowns of some nodes at a point, coordinate ascent is expectation maximisation; with all of
them there, it climbs to a mode of the joint density.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from posteriori.distributions.composites.point_mass import PointMass
from posteriori.distributions.coordinates import inner
from posteriori.modeling.binding.labelled import Table
from posteriori.modeling.variational.densities.addressing import seen
from posteriori.numerics.types import Array

__all__ = ["PointNode"]


class PointNode:
    """A node at the mode of what its messages say.

    Parameters
    ----------
    node
        The node that would hold the whole belief.
    """

    def __init__(self, node: Any) -> None:
        self.node = node
        self._log_total = np.zeros(node.restart.size)
        self._tables: list[Table] = []

    def __getattr__(self, name: str) -> Any:
        if name == "node":
            raise AttributeError(name)
        return getattr(self.node, name)

    def update(self, messages: Iterable[tuple[tuple[Any, ...], Table]]) -> None:
        """Move to the mode."""
        self.node.update(messages)
        if self.node.kind == "discrete":
            self._choose_states()
        elif self.node.kind == "conjugate":
            self._move_to_mode()
        else:
            self._log_total = 0.5 * self.node.fit  # h·m − ½ mᵀJm at Jm = h

    def _choose_states(self) -> None:
        starts = self.node.restart.size
        self._log_total = np.array(self.node.log_total())
        if self.node.is_joined:
            raise TypeError(
                f"states of {', '.join(self.names)} depend on one another and have no single best "
                'value here: leave them out of form={...: "point"}'
            )
        for name in self.names:
            p = self.node.probabilities(name)
            best = p.argmax(axis=-1)[..., None]
            logs = np.log(np.take_along_axis(p, best, axis=-1))
            self._log_total += logs.reshape(starts, -1).sum(axis=1)
            self.node.set(name, (best == np.arange(p.shape[-1])).astype(np.float64))

    def _move_to_mode(self) -> None:
        belief = self.node.belief
        family = type(belief)
        mode, statistics = _best_value(belief)
        if mode is None and not self._tables:  # before any data, a flat prior has no best value
            mode = np.asarray(belief.mean)
            statistics = family.sufficient(mode)
        if mode is None:
            raise ValueError(
                f"{self.names[0]} has no best value inside its domain: the density is highest at "
                "the border; choose a prior that falls there, or keep the whole belief"
            )
        self.mode = mode
        lead = (self.node.restart,)
        self._tables = [
            Table(np.asarray(part), lead + self.node.axes(k)) for k, part in enumerate(statistics)
        ]
        height = np.asarray(inner(belief.natural, statistics, family._natural_ndims))
        self._log_total = height.reshape(self.node.restart.size, -1).sum(axis=1)

    def expect(self, accesses: Sequence[Any]) -> list[tuple[Table, ...]]:
        """Return the product of the statistics at the point."""
        if self.node.kind == "conjugate":
            (stat,) = accesses
            table, axes = self._tables[stat.component], self.node.axes(stat.component)
            return [(seen(table, axes, stat.places),)]
        return [tuple([table for a in accesses for table in self.node.expect([a])[0]])]

    def log_total(self) -> Array:
        """Log of the joint density at the point, for each start."""
        return self._log_total

    def entropy(self) -> Array:
        """0: a point has no width."""
        return np.zeros(self.node.restart.size)

    def select(self, start: int) -> None:
        """Keep one start."""
        self.node.select(start)
        self._log_total = self._log_total[start : start + 1]
        self._tables = [Table(t.values[start : start + 1], t.axes) for t in self._tables]
        if self.node.kind == "conjugate":
            self.mode = self.mode[start : start + 1]

    def marginal(self, name: str) -> Any:
        """Return the point."""
        if self.node.kind == "discrete":
            return self.node.marginal(name)
        if self.node.kind == "conjugate":
            return PointMass(self.mode[0], event_ndim=self.node.family._event_ndim)
        belief = self.node.marginal(name)
        return PointMass(belief.mean, event_ndim=len(belief.event_shape))


def _best_value(belief: Any) -> tuple[Array | None, Any]:
    """Return the mode and its statistics; None where it lies at the border of the domain."""
    try:
        mode = np.asarray(belief.mode)
        with np.errstate(divide="ignore"):
            statistics = type(belief).sufficient(mode)
    except ValueError:
        return None, ()
    inside = all(np.all(np.isfinite(part)) for part in statistics)
    return (mode, statistics) if inside else (None, ())
