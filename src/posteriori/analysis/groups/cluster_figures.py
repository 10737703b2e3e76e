r"""Figures of groups: their number, a map of the rows, who belongs together.

The map shows the two directions in which groups lie farthest apart. Columns are standardised and levels of
categories are columns of zeros and ones. With means :math:`m_k` of :math:`n_k` rows, directions are those of

.. math:: \sum_k n_k\,m_k m_k^\top,

then, where groups lie on a line or are one, those in which rows vary most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.counted.profiles import IN_DOUBT
from posteriori.analysis.fitting.preparation import OTHER, CodeColumns
from posteriori.drawing.charts.chart import BROAD, Axis, Chart
from posteriori.drawing.charts.marks import Bars, Curve, Dots, Mark, Segments, Texts
from posteriori.drawing.charts.raster import Raster
from posteriori.drawing.charts.ticks import whole_ticks
from posteriori.drawing.measures import short_text
from posteriori.numerics.blocks.block_sizes import WITH_COPY, rows_per_block
from posteriori.numerics.types import Array
from posteriori.plotting.parts.style import COLORS, group_colors

__all__ = ["ClusterMap", "draw_map", "draw_numbers", "draw_similarity", "make_map"]

#: About as many rows are drawn; of more, every k-th.
_MOST_POINTS = 1500

#: Cells of a side of the picture of similarities; of more rows, neighbours are averaged.
_MOST_CELLS = 250

#: Width and height that leave a square above a label.
_SQUARE = (259.0, 274.0)

#: Standard deviations that ellipses reach.
_REACH = 2.0


#: Share of the largest spread below which a direction is none.
_FLAT = 1e-9


def draw_numbers(numbers: Sequence[int], probabilities: Array, noun: str = "groups") -> str:
    """Draw the probability of each number of groups, or of what else is counted."""
    places = np.asarray(numbers, dtype=np.float64)
    return Chart(
        f"Probability of each number of {noun}",
        [Bars(places - 0.35, places + 0.35, probabilities)],
        Axis(noun, most=10, ticks=whole_ticks),
        Axis("probability", 0.0, 1.03, grid=True),
    ).svg()


def draw_map(found: ClusterMap, shares: Array) -> str:
    """Draw rows in the colours of their clusters, those in doubt as rings, with an ellipse for each."""
    step = max(1, len(shares) // _MOST_POINTS)
    (x, y), share = found.places[::step].T, shares[::step]
    cluster, sure = share.argmax(axis=1), share.max(axis=1) >= IN_DOUBT
    marks: list[Mark] = []
    for k, color in enumerate(group_colors(shares.shape[1])):
        mine = cluster == k
        marks += [
            Dots(x[mine & sure], y[mine & sure], color, 1.6, 0.6),
            Dots(x[mine & ~sure], y[mine & ~sure], color, 2.5, hollow=True),
        ]
        if mine.any():
            marks.append(_ellipse(found.means[k], found.covs[k], color))
    there = [k for k in range(shares.shape[1]) if (cluster == k).any()]
    across, up = found.means[there].T
    marks.append(Texts(across, up, [str(k + 1) for k in there], 11.0, bold=True))
    return Chart(
        "Map of the rows, by group",
        marks,
        Axis(short_text(found.names[0], 44)),
        Axis(short_text(found.names[1], 32), grid=True),
        (BROAD, 259.0),
    ).svg()


def _ellipse(mean: Array, cov: Array, color: str) -> Curve:
    values, vectors = np.linalg.eigh(cov)
    angle = np.linspace(0.0, 2.0 * np.pi, 91)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    edge = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle)
    x, y = mean[:, None] + _REACH * edge
    return Curve(x, y, color, 1.6)


def draw_similarity(similarity: Array, labels: Any) -> str:
    """Draw how probably two rows belong together; rows of a group stand beside one another."""
    order = np.argsort(labels, kind="stable")
    cells = _averaged(similarity[np.ix_(order, order)])
    size = float(len(cells))
    ends = np.cumsum(np.bincount(labels)[1:])[:-1] * size / len(labels)
    far = np.full(len(ends), np.inf)
    return Chart(
        "Probability that two rows belong together",
        [
            Raster(cells, COLORS[0]),
            Segments((-far, far), (ends, ends), "ink", 0.6),
            Segments((ends, ends), (-far, far), "ink", 0.6),
        ],
        Axis("rows, by group", 0.0, size, places=()),
        Axis(low=size, high=0.0, places=()),
        _SQUARE,
        bare=True,
    ).svg()


def _averaged(matrix: Array) -> Array:
    """Average blocks of a square matrix, so that no more than so many are left."""
    n = len(matrix)
    edges = np.unique(np.linspace(0, n, min(n, _MOST_CELLS) + 1).astype(np.int64))
    sums = np.add.reduceat(np.add.reduceat(matrix, edges[:-1], axis=0), edges[:-1], axis=1)
    width = np.diff(edges)
    return np.clip(sums / np.outer(width, width), 0.0, 1.0)


# -- places of rows --------------------------------------------------------------------------


class ClusterMap(NamedTuple):
    """Places of rows.

    Attributes
    ----------
    places : (N, 2)
    means, covs : (K, 2), (K, 2, 2)
        Of the clusters, rows weighted by their probabilities.
    names : pair of str
        What the directions are.
    """

    places: Array
    means: Array
    covs: Array
    names: tuple[str, str]


def make_map(encoder: CodeColumns, codes: Array, shares: Array) -> ClusterMap:
    """Place rows on a plane.

    Parameters
    ----------
    encoder : CodeColumns
    codes : (N, D)
        What it made of the rows; NaN for gaps.
    shares : (N, K)
        p(cluster | row).
    """
    kinds = list(encoder.kinds.values())
    if len(kinds) == 2 and not np.isnan(codes).any() and set(kinds) <= {"number", "date"}:
        first, second = encoder.kinds
        return _with_ellipses(codes, shares, (first, second))
    rows = _StandardRows.of(encoder, codes)
    means = rows.cluster_means(shares)
    axes = _directions(rows.scatter(shares, means), means, shares.sum(axis=0))
    told = tuple(f"{'→↑'[k]} {_in_words(axis, rows.names)}" for k, axis in enumerate(axes.T))
    places = np.concatenate([z @ axes for z in rows.filled(shares, means)])
    return _with_ellipses(places, shares, (told[0], told[1]))


class _StandardRows(NamedTuple):
    """Columns with mean 0 and variance 1, levels as indicators, made in blocks of rows when they are read."""

    codes: Array
    sources: list[
        tuple[int, int | None]
    ]  # the place of a column, and of a category's level its code
    names: list[str]
    mean: Array
    spread: Array

    @classmethod
    def of(cls, encoder: CodeColumns, codes: Array) -> _StandardRows:
        """Learn means and spreads of what is seen."""
        sources: list[tuple[int, int | None]] = []
        names = []
        for place, (name, kind) in enumerate(encoder.kinds.items()):
            if kind != "category":
                sources.append((place, None))
                names.append(name)
                continue
            for code, level in enumerate((OTHER, *encoder.levels_[name])):
                if (codes[:, place] == code).any():
                    sources.append((place, code))
                    names.append(f"{name} = {level}")
        moments = [_seen_moments(_column(codes, *source)) for source in sources]
        mean, spread = np.array(moments).T
        return cls(codes, sources, names, mean, np.where(spread > 0.0, spread, 1.0))

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Return z of some rows, NaN at gaps, one block after the other."""
        step = rows_per_block(len(self.sources), WITH_COPY)
        for first in range(0, len(self.codes), step):
            here = slice(first, first + step)
            z = np.stack([_column(self.codes[here], *s) for s in self.sources], axis=1)
            yield here, (z - self.mean) / self.spread

    def cluster_means(self, shares: Array) -> Array:
        """Return the means of clusters, (K, D)."""
        total, sums = (np.zeros((shares.shape[1], len(self.sources))) for _ in range(2))
        for here, z in self.blocks():
            total += shares[here].T @ ~np.isnan(z)
            sums += shares[here].T @ np.nan_to_num(z)
        return sums / np.maximum(total, np.finfo(float).tiny)

    def filled(self, shares: Array, means: Array) -> Iterator[Array]:
        """Return z with the means of the clusters at gaps, block by block."""
        for here, z in self.blocks():
            yield np.where(np.isnan(z), shares[here] @ means, z)

    def scatter(self, shares: Array, means: Array) -> Array:
        """Return Σ z zᵀ, (D, D)."""
        return sum((z.T @ z for z in self.filled(shares, means)), np.zeros((len(self.mean),) * 2))


def _column(codes: Array, place: int, code: int | None) -> Array:
    """Return a column of numbers, or where a category has a level."""
    column = codes[:, place]
    return column if code is None else np.where(np.isnan(column), np.nan, column == code)


def _seen_moments(column: Array) -> tuple[float, float]:
    return float(np.nanmean(column)), float(np.nanstd(column))


def _directions(scatter: Array, means: Array, sizes: Array) -> Array:
    """Return two orthogonal directions, (D, 2); the second is 0 where there is only one column."""
    count = sizes.sum()
    apart = np.linalg.svd(np.sqrt(sizes)[:, None] * means, full_matrices=False)
    rest = apart[2][apart[1] > _FLAT * np.sqrt(count)][:2]
    if len(rest) < 2:
        across = np.eye(len(scatter)) - rest.T @ rest
        spread = np.linalg.eigh(across @ scatter @ across)
        kept = spread[1].T[::-1][spread[0][::-1] > _FLAT * count][: 2 - len(rest)]
        rest = np.concatenate([rest, kept])
    axes = np.zeros((len(scatter), 2))
    axes[:, : len(rest)] = rest.T
    turn = np.sign(
        axes[np.abs(axes).argmax(axis=0), [0, 1]]
    )  # the largest weight points right or up
    return axes * np.where(turn == 0.0, 1.0, turn)


def _in_words(axis: Array, names: list[str]) -> str:
    """Name the columns of largest weight."""
    order = np.argsort(-np.abs(axis))[:2]
    told = [f"{'−' if axis[j] < 0 else '+'} {names[j]}" for j in order if abs(axis[j]) > _FLAT]
    return ", ".join(told).removeprefix("+ ")


def _with_ellipses(places: Array, shares: Array, names: tuple[str, str]) -> ClusterMap:
    total = np.maximum(shares.sum(axis=0), np.finfo(float).tiny)
    means = shares.T @ places / total[:, None]
    covs = np.stack(
        [
            (share[:, None] * (places - mean)).T @ (places - mean) / n
            for share, mean, n in zip(shares.T, means, total, strict=True)
        ]
    )
    return ClusterMap(places, means, covs, names)
