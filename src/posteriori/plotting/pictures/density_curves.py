"""Distributions of one number: densities as curves with their interval and mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.distributions import PointMass
from posteriori.distributions.composites.mixture import MixtureFamily
from posteriori.numerics.types import Array
from posteriori.plotting.parts.frame import make_room, place_legend
from posteriori.plotting.parts.members import Member, Range
from posteriori.plotting.parts.part_names import interval_text, number_text
from posteriori.plotting.parts.style import COLORS, Axes, color_of, dashes_of, shades
from posteriori.plotting.pictures.mixture_pictures import draw_components
from posteriori.plotting.pictures.stems import draw_spike, draw_stems

__all__ = ["check_between", "draw_curve", "draw_curves", "grid_of", "range_of"]

#: Of more curves than this only some are named.
_MAX_NAMED = 9


def draw_curves(
    axes: Axes,
    members: Mapping[str, Member],
    *,
    mass: float = 0.95,
    between: Any = None,
    color: Any = None,
    components: bool = True,
) -> None:
    """Draw distributions of one number: one in detail, a mixture with its components, several beside each other."""
    if not 0 < mass < 1:
        raise ValueError(f"mass must lie strictly between 0 and 1, got {mass!r}")
    asked = None if between is None else check_between(between)
    if len(members) == 1:
        ((label, member),) = members.items()
        parted = components and isinstance(member.batch, MixtureFamily) and not member.index
        _draw_one(axes, member, label, mass, asked, color or COLORS[0], parted)
    else:
        _draw_several(axes, members, mass, asked)
    axes.set_xlabel(axes.get_xlabel() or "x")
    place_legend(axes)


def _draw_one(
    axes: Axes,
    member: Member,
    label: str,
    mass: float,
    between: Range | None,
    color: Any,
    parted: bool,
) -> None:
    if isinstance(member.batch, PointMass):
        draw_spike(axes, member, label, color)
    elif member.is_discrete:
        draw_stems(axes, member, label, color, mass=mass, between=between)
    else:
        where = range_of([member], mass, between)
        x, _ = draw_curve(axes, member, label, color, where=where)
        if parted:
            draw_components(axes, member.batch, x)
        _shade_interval(axes, member, mass, x, color)
        _mark_centre(axes, member, color)


def _draw_several(
    axes: Axes, members: Mapping[str, Member], mass: float, between: Range | None
) -> None:
    count = len(members)
    points = [isinstance(m.batch, PointMass) for m in members.values()]
    smooth = [m for m, is_point in zip(members.values(), points, strict=True) if not is_point]
    where = range_of([m for m in smooth if not m.is_discrete], mass, between)
    colors = [color_of(i) for i in range(count)] if count <= len(COLORS) else shades(count)
    for position, (label, member) in enumerate(members.items()):
        color = colors[position]
        dashes = dashes_of(position) if count <= len(COLORS) else "-"
        name = label if position % -(-count // _MAX_NAMED) == 0 else "_"
        if points[position]:
            draw_spike(axes, member, name, color, dashes=dashes, through=bool(smooth))
        elif member.is_discrete:
            place = (position, count)
            draw_stems(axes, member, name, color, mass=mass, between=between, place=place)
        else:
            x, p = draw_curve(axes, member, name, color, where=where, dashes=dashes)
            if count <= 3:
                axes.fill_between(x, p, color=color, alpha=0.12, lw=0)


def draw_curve(
    axes: Axes, member: Member, label: str, color: Any, *, where: Range, dashes: Any = "-"
) -> tuple[Array, Array]:
    """Draw a density over a range and return the points of the curve."""
    x, p, top = grid_of(member, where)
    make_room(axes, where, top)
    axes.plot(x, p, color=color, ls=dashes, label=label)
    axes.set_ylabel(axes.get_ylabel() or "density")
    return x, p


def grid_of(member: Member, where: Range) -> tuple[Array, Array, float]:
    """Return points, finite densities, and a height that shows them even where unbounded."""
    low, high = where
    levels = member.quantile(np.linspace(0.002, 0.998, 250))  # dense where the density is high
    x = np.union1d(np.linspace(low, high, 401), levels[(levels > low) & (levels < high)])
    unbounded = []
    for end, outward in zip(member.support, (-1.0, 1.0), strict=True):
        if not low <= end <= high:
            continue
        if member.log_prob([end])[0] == np.inf:
            unbounded.append(end)
            near = end - outward * (high - low) * np.geomspace(1e-5, 2e-3, 20)
            x = np.union1d(x[outward * (end - x) > 0], near)
        else:
            x = np.union1d(x, [end, np.nextafter(end, outward * np.inf)])  # an upright edge
    p = member.density(x)
    x, p = x[np.isfinite(p)], p[np.isfinite(p)]
    shown = np.ones(len(x), dtype=bool)
    for end in unbounded:
        shown &= np.abs(x - end) > 0.01 * (high - low)
    return x, p, float(p[shown].max())


def range_of(members: list[Member], mass: float, between: Any) -> Range:
    """Return the range that shows all members, or the one asked for."""
    if between is not None:
        return check_between(between)
    if not members:
        return 0.0, 1.0
    reaches = [m.reach(mass) for m in members]
    return min(low for low, _ in reaches), max(high for _, high in reaches)


def check_between(between: Any) -> Range:
    """Return both ends of the range that was asked for."""
    try:
        low, high = map(float, between)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"between must be two finite numbers in order, got {between!r}")
    return low, high


def _shade_interval(axes: Axes, member: Member, mass: float, x: Array, color: Any) -> None:
    low, high = member.interval(mass)
    inside = np.union1d(x[(x > low) & (x < high)], np.clip([low, high], x[0], x[-1]))
    p = member.density(inside)
    keep = np.isfinite(p)
    label = interval_text(member, mass)
    axes.fill_between(inside[keep], p[keep], color=color, alpha=0.22, lw=0, label=label)


def _mark_centre(axes: Axes, member: Member, color: Any) -> None:
    """Mark the mean, or the median where there is no mean within the range."""
    low, high = axes.get_xlim()
    median = member.quantile([0.5])[0]
    for name, at in (("mean", member.value("mean")), ("median", median)):
        if at is not None and low <= at <= high:
            top = axes.get_ylim()[1]
            height = np.fmin(member.density([at])[0], top)
            label = f"{name} {number_text(at)}"
            axes.plot([at, at], [0.0, height], color=color, lw=1.2, ls=(0, (3, 2)), label=label)
            return
