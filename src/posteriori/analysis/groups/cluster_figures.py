"""Figures of groups: their number, a map of the rows, who belongs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colors as mpl_colors
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from posteriori.analysis.groups.cluster_map import ClusterMap
from posteriori.analysis.groups.cluster_profiles import IN_DOUBT
from posteriori.drawing.measures import short_text
from posteriori.numerics.types import Array
from posteriori.plotting.page_figures import BROAD, FIRST, INK, SMALL, number_ticks, render_svg
from posteriori.plotting.parts.style import COLORS, group_colors

__all__ = ["draw_map", "draw_numbers", "draw_similarity"]

#: About as many rows are drawn; of more, every k-th.
_MOST_POINTS = 1500

#: Cells of a side of the picture of similarities; of more rows, neighbours are averaged.
_MOST_CELLS = 250

#: Standard deviations that ellipses reach.
_REACH = 2.0


def draw_numbers(numbers: Sequence[int], probabilities: Array, noun: str = "groups") -> str:
    """Draw the probability of each number of groups, or of what else is counted."""

    def paint(axes: Axes) -> None:
        axes.bar(list(numbers), probabilities, color=FIRST, width=0.7)
        axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
        axes.set(xlabel=noun, ylabel="probability", ylim=(0.0, 1.03))

    return render_svg("numbers", f"Probability of each number of {noun}", paint, SMALL)


def draw_map(found: ClusterMap, shares: Array) -> str:
    """Draw rows in the colours of their clusters, those in doubt as rings, with an ellipse for each."""
    colors = group_colors(shares.shape[1])
    step = max(1, len(shares) // _MOST_POINTS)
    places, share = found.places[::step], shares[::step]
    cluster, sure = share.argmax(axis=1), share.max(axis=1) >= IN_DOUBT

    def paint(axes: Axes) -> None:
        for k, color in enumerate(colors):
            mine = cluster == k
            axes.plot(*places[mine & sure].T, "o", color=color, ms=3.2, alpha=0.6, mew=0)
            axes.plot(*places[mine & ~sure].T, "o", mec=color, mfc="none", ms=5, mew=1.2)
            if mine.any():
                _draw_ellipse(axes, found.means[k], found.covs[k], color)
                _write_number(axes, str(k + 1), found.means[k])
        number_ticks(axes)
        axes.set_xlabel(short_text(found.names[0], 44))
        axes.set_ylabel(short_text(found.names[1], 32))

    return render_svg("map", "Map of the rows, by group", paint, (BROAD, 3.6))


def _draw_ellipse(axes: Axes, mean: Array, cov: Array, color: Any) -> None:
    values, vectors = np.linalg.eigh(cov)
    angle = np.linspace(0.0, 2.0 * np.pi, 91)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    edge = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle)
    axes.plot(*(mean[:, None] + _REACH * edge), color=color, lw=1.6)


def _write_number(axes: Axes, text: str, mean: Array) -> None:
    axes.text(
        float(mean[0]), float(mean[1]), text, color=INK, ha="center", va="center", fontweight="bold"
    )


def draw_similarity(similarity: Array, labels: Any) -> str:
    """Draw how probably two rows belong together; rows of a group stand beside one another."""
    order = np.argsort(labels, kind="stable")
    cells = _averaged(similarity[np.ix_(order, order)])
    ends = np.cumsum(np.bincount(labels)[1:])[:-1] * len(cells) / len(labels)

    def paint(axes: Axes) -> None:
        paint_over = np.empty((*cells.shape, 4))  # see-through where 0: it follows the page
        paint_over[..., :3] = mpl_colors.to_rgb(COLORS[0])
        paint_over[..., 3] = cells
        axes.imshow(paint_over, interpolation="nearest", extent=(0, len(cells), len(cells), 0))
        for end in ends:
            axes.axhline(end, color=INK, lw=0.6)
            axes.axvline(end, color=INK, lw=0.6)
        axes.set(xticks=[], yticks=[], xlabel="rows, by group")
        axes.grid(visible=False)

    return render_svg("similarity", "Probability that two rows belong together", paint, (3.6, 3.6))


def _averaged(matrix: Array) -> Array:
    """Average blocks of a square matrix, so that no more than so many are left."""
    n = len(matrix)
    edges = np.unique(np.linspace(0, n, min(n, _MOST_CELLS) + 1).astype(np.int64))
    sums = np.add.reduceat(np.add.reduceat(matrix, edges[:-1], axis=0), edges[:-1], axis=1)
    width = np.diff(edges)
    return np.clip(sums / np.outer(width, width), 0.0, 1.0)
