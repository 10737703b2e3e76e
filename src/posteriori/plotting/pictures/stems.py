"""Discrete distributions of one number as stems, certainty as a spike."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics.lazy import mpl_ticker
from posteriori.numerics.types import Array
from posteriori.plotting.parts.frame import make_room
from posteriori.plotting.parts.members import Member
from posteriori.plotting.parts.part_names import interval_text, number_text
from posteriori.plotting.parts.style import Axes, dashes_of, marker_of

__all__ = ["draw_spike", "draw_stems"]

#: More stems than this are drawn as a line.
_MAX_STEMS = 120


def draw_stems(
    axes: Axes,
    member: Member,
    label: str,
    color: Any,
    *,
    mass: float,
    between: tuple[float, float] | None,
    place: tuple[int, int] = (0, 1),
) -> None:
    """Draw probabilities of single points; ``place`` is (position, count) among several."""
    x = member.atoms(mass)
    if between is not None:
        x = x[(x >= between[0]) & (x <= between[1])]
        if not len(x):
            raise ValueError(f"between {between} holds no point of {label}")
    if len(x) > _MAX_STEMS and np.any(x != np.floor(x)):
        _draw_histogram(axes, member, label, color, between)
        return
    p = member.density(x)
    gap = float(np.diff(x).min()) if len(x) > 1 else 1.0
    make_room(axes, (x[0] - 0.6 * gap, x[-1] + 0.6 * gap), float(p.max()))
    position, count = place
    if len(x) > _MAX_STEMS:
        axes.plot(x, p, color=color, ls=dashes_of(position), label=label)
        axes.fill_between(x, p, color=color, alpha=0.15, lw=0)
    else:
        shift = 0.6 * gap * (position - 0.5 * (count - 1)) / count
        low, high = member.interval(mass) if count == 1 else (-np.inf, np.inf)
        fade = np.where((x < low) | (x > high), 0.4, 1.0)
        axes.vlines(x + shift, 0.0, p, color=color, lw=2.2 if count == 1 else 1.6, alpha=fade)
        size = 6 if len(x) < 40 else 4
        axes.plot(
            x + shift, p, marker=marker_of(position), ms=size, color=color, ls="none", label=label
        )
    if count == 1:
        _tell(axes, member, mass, color)
    axes.set_ylabel(axes.get_ylabel() or "probability")
    _tick_whole_numbers(axes, x)


def _draw_histogram(
    axes: Axes, member: Member, label: str, color: Any, between: tuple[float, float] | None
) -> None:
    """Draw many scattered points, such as weighted draws, by their share in equal bins."""
    values = member.quantile((np.arange(4000) + 0.5) / 4000)
    low, high = member.reach(0.95) if between is None else between
    low, high = max(low, values[0]), min(high, values[-1])
    edges = np.histogram_bin_edges(values[(values >= low) & (values <= high)], bins=40)
    share = np.histogram(values, bins=edges)[0] / (len(values) * np.diff(edges))
    make_room(axes, (low, high), float(share.max()))
    axes.stairs(share, edges, fill=True, color=color, alpha=0.45, label=label)
    axes.set_ylabel(axes.get_ylabel() or "density")


def draw_spike(
    axes: Axes, member: Member, label: str, color: Any, *, dashes: Any = "-", through: bool = False
) -> None:
    """Draw certainty: all probability at one point.

    Beside a density its own height would say nothing: ``through`` draws a line of full height.
    """
    at = float(member.value("mean"))
    if through:
        axes.axvline(at, color=color, ls=dashes, label=label)
        return
    width = max(1.0, 0.5 * abs(at))
    make_room(axes, (at - width, at + width), 1.0)
    axes.vlines([at], 0.0, 1.0, color=color, lw=2.2)
    axes.plot([at], [1.0], marker="o", ms=7, color=color, ls="none", label=label)
    axes.set_ylabel(axes.get_ylabel() or "probability")


def _tell(axes: Axes, member: Member, mass: float, color: Any) -> None:
    """Mark the mean on the axis, and say where most of the probability lies."""
    axes.plot([], [], color=color, lw=2.2, label=interval_text(member, mass))
    at = member.value("mean")
    if at is not None:
        label = f"mean {number_text(at)}"
        axes.plot(
            at, 0.0, marker="^", ms=9, color=color, ls="none", clip_on=False, zorder=5, label=label
        )


def _tick_whole_numbers(axes: Axes, x: Array) -> None:
    if np.all(x == np.floor(x)):
        axes.xaxis.set_major_locator(mpl_ticker.MaxNLocator(integer=True))
