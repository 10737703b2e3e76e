"""How far probabilities and choices of a classifier can be trusted: reliability and confusion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.numerics.lazy import mpl_colors
from posteriori.plotting.parts.frame import place_legend
from posteriori.plotting.parts.part_names import number_text
from posteriori.plotting.parts.style import (
    COLORS,
    INK,
    Axes,
    axes_for,
    color_of,
    dashes_of,
    marker_of,
)

__all__ = ["plot_confusion", "plot_reliability"]

#: Share of the height that the longest bar of a histogram takes.
_BAR = 0.16


def plot_reliability(curves: Any, ax: Any = None, *, mass: float = 0.9) -> Axes:
    """Draw how often a class occurred against the probability it was given.

    The bars are central intervals of the true share in each bin, given its rows and a flat prior:
    a calibrated classifier has its diagonal inside about ``mass`` of them. Along the bottom stands
    how many rows each bin has, for a single curve.

    Parameters
    ----------
    curves : ReliabilityCurve, or mapping from names to ReliabilityCurve
        From :func:`posteriori.decision.reliability`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    mass : float
        Probability of the intervals.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from posteriori.decision import reliability
    >>> curve = reliability([0, 1, 1, 1], [[0.25, 0.75]] * 4, label=1)
    >>> plot_reliability(curve).get_legend_handles_labels()[1]
    ['calibrated', 'average error 0', '90% intervals', 'rows of a bin, at most 4']
    """
    several = isinstance(curves, Mapping)
    named = dict(curves) if several else {None: curves}
    if not 0.0 < mass < 1.0:
        raise ValueError(f"mass must lie between 0 and 1, got {mass!r}")
    with axes_for(ax, (4.6, 4.2)) as axes:
        axes.plot([0, 1], [0, 1], color=INK, lw=1.2, ls="--", label="calibrated")
        for position, (name, curve) in enumerate(named.items()):
            shift = 0.006 * (position - 0.5 * (len(named) - 1))
            _draw_curve(axes, curve, name, position, shift, mass)
        text = f"{100 * mass:.4g}% intervals"
        axes.errorbar([], [], yerr=[], fmt="none", ecolor=INK, elinewidth=1.2, label=text)
        if not several:
            _draw_counts(axes, curves)
        axes.set(xlabel="probability given", ylabel="share that occurred")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        place_legend(axes, above=True)
    return axes


def plot_confusion(table: Any, ax: Any = None) -> Axes:
    """Draw how many rows of each class were given which class.

    Cells are shaded by their share of the row's class: a good classifier is dark on the diagonal.

    Parameters
    ----------
    table : Confusion
        From :func:`posteriori.decision.confusion`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from posteriori.decision import confusion
    >>> ax = plot_confusion(confusion(["a", "a", "b"], ["a", "b", "b"]))
    >>> ax.get_title()
    '66.67% right'
    """
    counts = np.asarray(table.table)
    size = len(counts)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ramp = mpl_colors.LinearSegmentedColormap.from_list("ramp", [f"{COLORS[0]}00", COLORS[0]])
    side = 1.6 + 0.55 * size
    with axes_for(ax, (min(side + 0.4, 9.0), min(side, 8.6))) as axes:
        axes.imshow(share, cmap=ramp, vmin=0.0, vmax=1.0)
        for row, column in np.ndindex(counts.shape):
            color = "white" if share[row, column] > 0.55 else INK
            axes.text(column, row, f"{counts[row, column]}", ha="center", va="center", color=color)
        ticks = np.arange(size)
        names = [str(label) for label in table.labels]
        turn = 45.0 if max(map(len, names)) > 6 else 0.0
        axes.set_xticks(ticks, names, rotation=turn)
        axes.set_yticks(ticks, names)
        axes.set(xlabel="chosen", ylabel="true")
        axes.set_title(f"{number_text(100 * table.accuracy)}% right")
    return axes


def _draw_curve(
    axes: Axes, curve: Any, name: Any, position: int, shift: float, mass: float
) -> None:
    low, high = curve.belief.interval(mass)
    x, color = curve.predicted + shift, color_of(position)
    axes.vlines(x, low, high, color=color, lw=1.2, alpha=0.7)
    text = f"average error {number_text(curve.expected_error)}"
    axes.plot(
        x,
        curve.observed,
        color=color,
        ls=dashes_of(position),
        lw=1.4,
        marker=marker_of(position),
        ms=5,
        label=text if name is None else f"{name}: {text}",
    )


def _draw_counts(axes: Axes, curve: Any) -> None:
    most = int(np.max(curve.counts))
    axes.bar(
        curve.predicted,
        _BAR * curve.counts / most,
        width=0.03,
        bottom=-0.02,
        color=INK,
        alpha=0.35,
        label=f"rows of a bin, at most {most}",
        zorder=0,
    )
