"""Beliefs about parts of a model that have their data, and no unknown, in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from posteriori.inference.weighing.approximate_beliefs import BeliefDraws, StatesDensity
from posteriori.numerics.types import Array

__all__ = ["JoinedBeliefs"]


class JoinedBeliefs(NamedTuple):
    """Independent parts by name: draws of all are weighed together."""

    parts: Mapping[str, StatesDensity]

    def draw_belief(self, size: int, rng: np.random.Generator) -> BeliefDraws:
        """Draw from every part; unknowns bear its name before their own."""
        drawn = {part: one.draw_belief(size, rng) for part, one in self.parts.items()}
        values = {f"{part} {n}": x for part, d in drawn.items() for n, x in d.values.items()}
        density = sum(np.asarray(d.log_density) for d in drawn.values())
        return BeliefDraws(values, np.asarray(density), drawn)

    def log_joint(self, drawn: BeliefDraws) -> Array:
        """Return the sum over parts."""
        return np.asarray(sum(one.log_joint(drawn.inner[part]) for part, one in self.parts.items()))

    def too_narrow(self) -> tuple[str, ...]:
        """Return what the parts name."""
        return tuple(f"{part} {n}" for part, one in self.parts.items() for n in one.too_narrow())
