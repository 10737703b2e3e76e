r"""How many groups, and who belongs to which: partitions drawn from their posterior, components without a dip joined.

A drawn partition z of a mixture with an unknown number of components gives a drawn density, and its components
are joined where rows show no dip of the density between them. Then

.. math:: p(G\mid X) = \frac1S\sum_s [G(z_s) = G].

What depth a dip must have is not one number: it differs from draw to draw, as it does among people.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.mixtures.partitions.partition_matching import (
    MatchedPartitions,
    match_partitions,
)
from posteriori.inference.mixtures.partitions.partition_prior import unknown_number_partitions
from posteriori.inference.mixtures.partitions.scale_draws import (
    ScaleChain,
    ScaleDraws,
    draw_with_scales,
)
from posteriori.inference.mixtures.summits.density_ridges import Ridges, join_over_dips
from posteriori.inference.mixtures.summits.row_valleys import seen_ridges
from posteriori.mixture.groups.drawn_rows import WIDTH, RowsToDraw, rows_to_draw
from posteriori.numerics.types import Array, IntArray

__all__ = ["DEEPEST", "SHALLOWEST", "DrawnGroups", "can_be_drawn", "draw_groups", "fewest_rows"]

#: Chains, draws of each, and steps before the first.
_CHAINS, _DRAWS, _WARM_UP = 4, 45, 20

#: Two summits are two groups where the density between them falls below this part of the lower one, if all dips
#: are seen: the least and the most that is asked for. Chosen by simulation, see bench/bench_groups_calibration.py.
DEEPEST, SHALLOWEST = 0.5, 1.0

#: The same of classes in tables of codes alone, whose summits are no places: of half of the draws no two
#: classes are one group.
_CODES = (0.7, 1.3)

#: Components that a table is described by, if its rows can tell them apart.
_MOST_COMPONENTS = 12

#: Rows, and rows times squared columns, up to which partitions are drawn: some seconds.
_MOST_ROWS, _MOST_WORK = 2000, 150_000

#: Rows of a group: fewer are outliers of another; of many rows this part of them.
_FEWEST, _SHARE = 5.0, 0.01

#: Draws that must have as many groups as were asked for.
_ENOUGH = 20


class DrawnGroups(NamedTuple):
    """Drawn partitions.

    Attributes
    ----------
    rows : RowsToDraw
        What was drawn from.
    partitions : ScaleDraws
        The component of each row, and the scales of components.
    groups : (S, N)
        Its group.
    """

    rows: RowsToDraw
    partitions: ScaleDraws
    groups: IntArray

    @property
    def components(self) -> Any:
        """The component of each row, (S, N)."""
        return self.partitions.labels

    @property
    def n_groups(self) -> IntArray:
        """Groups of each draw, (S,)."""
        return self.groups.max(axis=1) + 1

    @property
    def n_components(self) -> IntArray:
        """Components of each draw, (S,)."""
        return np.asarray(self.components.max(axis=1) + 1, dtype=np.int64)

    def chances(self, most: int) -> Array:
        """Return p(1), …, p(most) groups; a draw more is shared out evenly among them."""
        counts = np.bincount(self.n_groups, minlength=most + 1)[1 : most + 1] + 1.0 / most
        return counts / counts.sum()

    def with_number(self, groups: int) -> tuple[IntArray, MatchedPartitions]:
        """Return which draws have so many groups, and these with common names."""
        chosen = np.flatnonzero(self.n_groups == groups)
        return chosen, match_partitions(self.groups[chosen], groups)


def can_be_drawn(x: Array, kinds: Sequence[str]) -> bool:
    """Tell whether partitions of a table can be drawn in a few seconds."""
    work = x.shape[0] * x.shape[1] ** (2 if set(kinds) == {"normal"} else 1)
    return x.shape[0] <= _MOST_ROWS and work <= _MOST_WORK


def fewest_rows(rows: int) -> float:
    """Return how many rows make a group."""
    return max(min(_FEWEST, 0.1 * rows), _SHARE * rows)


def draw_groups(
    x: Array, kinds: Sequence[str], kind: str, most: int, asked: int | None, seed: int
) -> DrawnGroups | None:
    """Draw partitions and join their components.

    Parameters
    ----------
    x : (N, D)
        Numbers and codes; NaN is missing.
    kinds : sequence of D str
    kind : {"normal mixture", "latent classes"}
    most : int
        Groups; the shallowest dips of more do not count.
    asked : int, optional
        So many groups there are. None is returned where hardly any draw can be divided so.
    seed : int
    """
    rng = np.random.default_rng(seed)
    rows = rows_to_draw(x, kinds, kind, _CHAINS, rng)
    sensible = int(np.ceil(np.sqrt(len(x))))
    components = min(max(_MOST_COMPONENTS, most), max(sensible, asked or 1))
    prior = unknown_number_partitions(len(x), range(asked or 1, components + 1), 1.0)
    chain = ScaleChain(prior, width=WIDTH, draws=_DRAWS, warm_up=_WARM_UP)
    drawn = draw_with_scales(rows.models, chain, rng=rng)
    ends = (DEEPEST, SHALLOWEST) if "normal" in kinds else _CODES
    dips = rng.permutation(np.linspace(*ends, len(drawn.labels)))
    ridges = [
        _ridges(rows, labels, rival, scales, s // _DRAWS, rng)
        for s, (labels, scales, rival) in enumerate(zip(*drawn, strict=True))
    ]
    found = DrawnGroups(rows, drawn, _join(ridges, drawn.labels, dips, most))
    if asked is None:
        return found
    kept = found.n_groups == asked
    if kept.sum() < _ENOUGH:  # there are no such dips: every component of some rows is a group …
        fewest = np.array([np.bincount(labels).min() for labels in drawn.labels])
        kept = (found.n_components == asked) & (fewest >= fewest_rows(len(x)))
        found = found._replace(groups=drawn.labels.astype(np.int64))
    if kept.sum() < _ENOUGH:  # … or those with the shallowest dips are one
        found = found._replace(
            groups=_join(ridges, drawn.labels, np.full_like(dips, np.inf), asked)
        )
        kept = found.n_groups == asked
    if kept.sum() < _ENOUGH:
        return None
    return DrawnGroups(rows, ScaleDraws(*(each[kept] for each in drawn)), found.groups[kept])


def _join(ridges: Sequence[Ridges], labels: Any, dips: Array, most: int) -> IntArray:
    """Return the groups (S, N) of rows, with what each draw asks of a dip."""
    groups = np.empty(labels.shape, dtype=np.int64)
    least = fewest_rows(labels.shape[1])
    for s, (one, dip) in enumerate(zip(ridges, dips.tolist(), strict=True)):
        sizes = np.bincount(labels[s]).astype(np.float64)
        groups[s] = join_over_dips(one, sizes, dip=dip, least=least, most=most)[labels[s]]
    return groups


def _ridges(
    rows: RowsToDraw, labels: Any, rival: int, scales: Array, chain: int, rng: np.random.Generator
) -> Ridges:
    """Return the ridges of a drawn density."""
    parts = rows.draw_parts(labels, rival, scales, chain, rng)
    numbers = rows.numbers(chain)
    holes = np.isnan(numbers)
    numbers = np.where(holes, parts.means[labels], numbers) if holes.any() else numbers
    return seen_ridges(parts, numbers, labels, np.bincount(labels).astype(np.float64))
