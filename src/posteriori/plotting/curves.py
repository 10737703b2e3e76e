"""Distributions of one number: densities as curves, masses as stems, certainty as a spike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions import PointMass
from posteriori.numerics.types import Array
from posteriori.plotting.members import Member, Range, number_text
from posteriori.plotting.style import COLORS, color_of, dashes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_curve", "draw_curves", "grid_of", "make_room", "place_legend"]

#: More stems than this are drawn as a line.
_MAX_STEMS = 120
#: More curves than this are told apart by shade, and not named one by one.
_MAX_NAMED = 10
_MARKERS = "osD^vP"


def draw_curves(
    axes: Axes,
    members: Mapping[str, Member],
    *,
    mass: float = 0.95,
    between: Any = None,
    color: Any = None,
) -> None:
    """Draw distributions of one number: one in detail, several beside each other."""
    if len(members) == 1:
        ((label, member),) = members.items()
        _draw_one(axes, member, label, mass, between, color or COLORS[0])
    else:
        _draw_several(axes, members, mass, between)
    axes.set_xlabel(axes.get_xlabel() or "x")
    if len(members) <= _MAX_NAMED:
        place_legend(axes)


def _draw_one(
    axes: Axes, member: Member, label: str, mass: float, between: Any, color: Any
) -> None:
    if isinstance(member.batch, PointMass):
        _draw_spike(axes, member, label, color)
    elif member.is_discrete:
        _draw_stems(axes, member, label, color, mass=mass, between=between)
        _mark_centre(axes, member, color)
    else:
        where = range_of([member], mass, between)
        x, _ = draw_curve(axes, member, label, color, where=where)
        _shade_interval(axes, member, mass, x, color)
        _mark_centre(axes, member, color)


def _draw_several(axes: Axes, members: Mapping[str, Member], mass: float, between: Any) -> None:
    smooth = [m for m in members.values() if _has_density(m)]
    where = range_of(smooth, mass, between) if smooth else None
    colors = _colors(len(members))
    for position, (label, member) in enumerate(members.items()):
        color, dashes = colors[position], dashes_of(position)
        if isinstance(member.batch, PointMass):
            _draw_spike(axes, member, label, color, dashes=dashes, alone=False)
        elif member.is_discrete:
            place = (position, len(members))
            _draw_stems(axes, member, label, color, mass=mass, between=between, place=place)
        else:
            assert where is not None
            x, p = draw_curve(axes, member, label, color, where=where, dashes=dashes)
            if len(members) <= 3:
                axes.fill_between(x, p, color=color, alpha=0.12, lw=0)


# -- densities -----------------------------------------------------------------------------


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


def range_of(members: Any, mass: float, between: Any) -> Range:
    """Return the range that shows all members, or the one asked for."""
    if between is not None:
        low, high = map(float, between)
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise ValueError(f"between must be two finite numbers in order, got {between!r}")
        return low, high
    reaches = [m.reach(mass) for m in members]
    return min(low for low, _ in reaches), max(high for _, high in reaches)


def _shade_interval(axes: Axes, member: Member, mass: float, x: Array, color: Any) -> None:
    low, high = member.interval(mass)
    inside = np.union1d(x[(x > low) & (x < high)], np.clip([low, high], x[0], x[-1]))
    p = member.density(inside)
    keep = np.isfinite(p)
    axes.fill_between(
        inside[keep],
        p[keep],
        color=color,
        alpha=0.22,
        lw=0,
        label=f"{100 * mass:.4g}%: {number_text(low)} to {number_text(high)}",
    )


def _mark_centre(axes: Axes, member: Member, color: Any) -> None:
    """Mark the mean, or the median where there is no mean within the range."""
    low, high = axes.get_xlim()
    for name in ("mean", "median"):
        at = member.value(name)
        if at is None and name == "median":
            at = member.quantile([0.5])[0]
        if at is not None and low <= at <= high:
            label = f"{name} {number_text(at)}"
            if member.is_discrete:
                axes.plot(
                    at,
                    0.0,
                    marker="^",
                    ms=9,
                    color=color,
                    ls="none",
                    clip_on=False,
                    zorder=5,
                    label=label,
                )
            else:
                height = member.density([at])[0]
                top = min(height, axes.get_ylim()[1]) if np.isfinite(height) else axes.get_ylim()[1]
                axes.plot([at, at], [0.0, top], color=color, lw=1.2, ls=(0, (3, 2)), label=label)
            return


# -- masses --------------------------------------------------------------------------------


def _draw_stems(
    axes: Axes,
    member: Member,
    label: str,
    color: Any,
    *,
    mass: float,
    between: Any,
    place: tuple[int, int] = (0, 1),
) -> None:
    x = member.atoms(mass)
    if between is not None:
        where = range_of([], mass, between)
        x = x[(x >= where[0]) & (x <= where[1])]
    p = member.density(x)
    position, count = place
    gap = float(np.diff(x).min()) if len(x) > 1 else 1.0
    shift = 0.6 * gap * (position - 0.5 * (count - 1)) / count
    make_room(axes, (x[0] - 0.6 * gap, x[-1] + 0.6 * gap), float(p.max()))
    if len(x) > _MAX_STEMS:
        axes.plot(x, p, color=color, label=label, ls=dashes_of(position))
        axes.fill_between(x, p, color=color, alpha=0.15, lw=0)
    else:
        marker = _MARKERS[position % len(_MARKERS)]
        axes.vlines(x + shift, 0.0, p, color=color, lw=2.2 if count == 1 else 1.6)
        axes.plot(
            x + shift, p, marker=marker, ms=6 if len(x) < 40 else 4, color=color, ls="none",
            label=label,
        )  # fmt: skip
    axes.set_ylabel(axes.get_ylabel() or "probability")
    if np.all(x == np.floor(x)):
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _draw_spike(
    axes: Axes, member: Member, label: str, color: Any, *, dashes: Any = "-", alone: bool = True
) -> None:
    """Draw certainty: all probability at one point."""
    at = float(member.value("mean"))
    if not alone:  # a density beside it sets the scale: its own height would say nothing
        axes.axvline(at, color=color, ls=dashes, label=label)
        return
    width = max(1.0, 0.5 * abs(at))
    make_room(axes, (at - width, at + width), 1.0)
    axes.vlines([at], 0.0, 1.0, color=color, lw=2.2)
    axes.plot([at], [1.0], marker="o", ms=7, color=color, ls="none", label=label)
    axes.set_ylabel(axes.get_ylabel() or "probability")


# -- the frame -----------------------------------------------------------------------------


def make_room(axes: Axes, x: Range, top: float) -> None:
    """Set the limits that show a curve, before it is drawn; beside others, widen theirs."""
    low, high = x
    top = 1.1 * top
    if axes.has_data():
        low, high = min(low, axes.get_xlim()[0]), max(high, axes.get_xlim()[1])
        top = max(top, axes.get_ylim()[1])
    axes.set_xlim(low, high)
    axes.set_ylim(0.0, top)


def place_legend(axes: Axes) -> None:
    """Show the labels where they hide least."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend()


def _has_density(member: Member) -> bool:
    return not isinstance(member.batch, PointMass) and not member.is_discrete


def _colors(count: int) -> list[Any]:
    if count <= len(COLORS):
        return [color_of(i) for i in range(count)]
    from matplotlib import colormaps

    shades = colormaps["viridis"](np.linspace(0.12, 0.82, count))
    return list(shades)
