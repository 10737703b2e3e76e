r"""Means and shares of groups over drawn partitions, so that intervals know who may belong where.

Given a partition, the mean of a group of n rows is Student's t about their mean, and the share of a level
Beta(½ + inside, ½ + outside). Over all partitions these are mixtures, from which some are drawn for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.analysis.counted.profiles import (
    TAIL,
    ClusterProfile,
    Trait,
    level_names,
    sort_traits,
)
from posteriori.analysis.fitting.preparation import CodeColumns
from posteriori.analysis.table.columns import Column
from posteriori.inference.mixtures.partitions.parameter_draws import sum_members
from posteriori.numerics.types import Array

__all__ = ["with_drawn_intervals"]

#: Draws of a mean for each partition.
_EACH = 10

#: Part of the partitions that must give a group the rows which an interval needs.
_ENOUGH = 0.5


def with_drawn_intervals(
    profiles: Sequence[ClusterProfile],
    columns: Sequence[Column],
    encoder: CodeColumns,
    codes: Array,
    labels: Any,
    seed: int,
) -> tuple[ClusterProfile, ...]:
    """Return the profiles with means, shares and intervals over partitions.

    Parameters
    ----------
    profiles : sequence of G ClusterProfile
    columns : sequence of D Column
    encoder : CodeColumns
    codes : (N, D)
        What it made of the rows; NaN for gaps.
    labels : (S, N)
        Drawn groups, numbered as the profiles are.
    seed : int
    """
    rng = np.random.default_rng(seed)
    places = {column.name: place for place, column in enumerate(columns)}
    groups = len(profiles)
    told: list[ClusterProfile] = []
    for g, profile in enumerate(profiles):
        traits = []
        for trait in profile.traits:
            place = places[trait.column]
            column, values = columns[place], codes[:, place]
            if not trait.level:
                drawn = _draw_means(values, labels, groups, g, rng)
            else:
                level = level_names(column, encoder).index(trait.level)
                drawn = _draw_shares(values, level, labels, groups, g, rng)
            traits.append(_with_draws(trait, drawn, len(labels)))
        told.append(profile._replace(traits=sort_traits(traits)))
    return tuple(told)


def _with_draws(trait: Trait, drawn: Array, partitions: int) -> Trait:
    if drawn.size < _ENOUGH * _EACH * partitions:
        return trait
    low, high = np.quantile(drawn, [TAIL, 1.0 - TAIL]).tolist()
    return trait._replace(mean=float(np.mean(drawn)), low=low, high=high)


def _draw_means(values: Array, labels: Any, groups: int, g: int, rng: np.random.Generator) -> Array:
    """Draw means of a group from partitions that give it two different rows."""
    known = ~np.isnan(values)
    centre = values[known].mean()  # from which squares lose no digits
    z, labels = values[known] - centre, labels[:, known]
    sums = sum_members(np.stack([np.ones(len(z)), z, z**2], axis=1), labels, groups)[:, g]
    n, mean = sums[:, 0], sums[:, 1] / np.maximum(sums[:, 0], 1.0)
    square = sums[:, 2] - n * mean**2
    sound = (n > 1.0) & (square > 0.0)
    dof = n[sound] - 1.0
    error = np.sqrt(square[sound] / dof / n[sound])
    noise = rng.standard_t(dof, size=(_EACH, len(dof)))
    return centre + mean[sound] + error * noise


def _draw_shares(
    codes: Array, level: int, labels: Any, groups: int, g: int, rng: np.random.Generator
) -> Array:
    known = ~np.isnan(codes)
    inside = codes[known] == level
    both = np.stack([inside, ~inside], axis=1).astype(np.float64)
    counts = sum_members(both, labels[:, known], groups)[:, g]
    return rng.beta(0.5 + counts[:, 0], 0.5 + counts[:, 1], size=(_EACH, len(counts)))
