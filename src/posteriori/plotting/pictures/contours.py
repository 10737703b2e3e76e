r"""Distributions of two numbers: contours that hold a stated share of the probability.

The contour of mass m bounds the smallest region that holds m: the level is the density such that
what lies above it sums to m over a grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.numerics.types import Array
from posteriori.plotting.parts.frame import place_legend
from posteriori.plotting.parts.members import Member
from posteriori.plotting.parts.style import INK, Axes, color_of, dashes_of

__all__ = ["MASSES", "check_box", "draw_contours", "draw_levels", "draw_simplex", "mass_levels"]

#: Probabilities inside the curves: half, most, nearly all.
MASSES = (0.5, 0.8, 0.95)

#: Cells along a side of the square.
_CELLS = 180

#: Cells along a side of the triangle.
_SIMPLEX_CELLS = 120

#: Of a triangle with sides of length 1.
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def draw_contours(
    axes: Axes,
    members: Mapping[str, Member],
    *,
    mass: Any = MASSES,
    between: Any = None,
    names: Sequence[str] | None = None,
) -> None:
    """Draw densities of two numbers; one is filled, several are told apart by colour and dashes."""
    masses = np.atleast_1d(mass)
    low, high = _box(list(members.values()), between)
    edges = [np.linspace(a, b, _CELLS + 1) for a, b in zip(low, high, strict=True)]
    x, y = np.meshgrid(*(0.5 * (e[1:] + e[:-1]) for e in edges), indexing="ij")
    cell = np.prod([e[1] - e[0] for e in edges])
    for position, (label, member) in enumerate(members.items()):
        p = member.density(_points(member, x, y)).reshape(x.shape)
        p = np.where(np.isfinite(p), p, np.max(p, where=np.isfinite(p), initial=0.0))
        levels = mass_levels(p, cell, masses)
        draw_levels(axes, (x, y), p, levels, position, filled=len(members) == 1)
        _finish(axes, member, label, position)
    given = names or _coordinate_names(next(iter(members.values())))
    axes.set(xlabel=given[0], ylabel=given[1], xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    place_legend(axes, above=True)


def draw_simplex(
    axes: Axes,
    members: Mapping[str, Member],
    *,
    mass: Any = MASSES,
    names: Sequence[str] | None = None,
) -> None:
    """Draw densities of three probabilities on the triangle whose corners are certainties."""
    n = _SIMPLEX_CELLS
    i, j = (part.ravel() for part in np.mgrid[0:n, 0:n])
    keep = i + j < n
    first, second = (i[keep] + 1.0 / 3.0) / n, (j[keep] + 1.0 / 3.0) / n
    point = np.stack([first, second, 1.0 - first - second], axis=-1)
    x, y = (point @ _CORNERS).T
    axes.plot(*np.vstack([_CORNERS, _CORNERS[:1]]).T, color=INK, lw=1.2)
    for position, (label, member) in enumerate(members.items()):
        p = member.density(point)
        levels = mass_levels(p, 1.0 / p.sum(), np.atleast_1d(mass))
        draw_levels(axes, (x, y), p, levels, position, filled=len(members) == 1)
        shares = ", ".join(_percent(m) for m in sorted(levels.values()))
        _finish(axes, member, f"{label}: {shares}", position, corners=_CORNERS)
    shifts = ((-6, -4, "right", "top"), (6, -4, "left", "top"), (0, 6, "center", "bottom"))
    for corner, name, (dx, dy, ha, va) in zip(
        _CORNERS, names or ("x₀ = 1", "x₁ = 1", "x₂ = 1"), shifts, strict=True
    ):
        axes.annotate(
            name, tuple(corner), xytext=(dx, dy), textcoords="offset points", ha=ha, va=va
        )
    axes.set(xlim=(-0.16, 1.16), ylim=(-0.12, 1.0), aspect="equal")
    axes.set_axis_off()
    place_legend(axes, above=True)


def mass_levels(p: Array, cell: float, masses: Array) -> dict[float, float]:
    """Return the densities above which the given masses lie, in rising order, with the masses.

    Parameters
    ----------
    p : array
        Densities on a grid.
    cell : float
        Area of a cell; masses that the grid does not reach are left out.
    masses : array (M,)
        Shares of the probability.
    """
    ranked = np.sort(p.ravel())[::-1]
    held = np.cumsum(ranked) * cell
    reached = np.sort(masses[masses <= held[-1]])[::-1]
    levels = ranked[np.minimum(held.searchsorted(reached), len(held) - 1)]
    return {float(v): float(m) for v, m in zip(levels, reached, strict=True) if v > 0}


def draw_levels(
    axes: Axes,
    grid: tuple[Array, Array],
    p: Array,
    levels: dict[float, float],
    position: int,
    *,
    filled: bool,
    labelled: bool = True,
) -> None:
    """Draw curves of the same density, as :func:`mass_levels` has found them, with their masses if filled."""
    if not levels or np.ptp(p) == 0:  # flat: no contour
        return
    flat = p.ndim == 1
    lines, fill = (axes.tricontour, axes.tricontourf) if flat else (axes.contour, axes.contourf)
    color, heights = color_of(position), list(levels)
    if filled:
        for level in heights:
            fill(*grid, p, levels=[level, 1.001 * float(p.max())], colors=[color], alpha=0.2)
    drawn = lines(
        *grid, p, levels=heights, colors=[color], linewidths=1.4, linestyles=[dashes_of(position)]
    )
    if filled and labelled and not flat:
        axes.clabel(drawn, fmt={v: _percent(m) for v, m in levels.items()}, fontsize=8)


def _finish(
    axes: Axes, member: Member, label: str, position: int, corners: Array | None = None
) -> None:
    """Mark the mean, and give the legend a handle."""
    color = color_of(position)
    axes.plot([], [], color=color, lw=1.4, ls=dashes_of(position), label=label)
    mean = _mean_of(member)
    if mean is not None:
        x, y = mean if corners is None else mean @ corners
        axes.plot([x], [y], marker="+", ms=9, mew=1.8, color=color, ls="none")


def _percent(mass: float) -> str:
    return f"{100 * mass:.4g}%"


def _mean_of(member: Member) -> Any:
    if isinstance(member.draws, tuple):
        try:
            parts = [np.asarray(part)[member.index] for part in member.batch.mean]
        except (AttributeError, TypeError, ValueError):
            return None
        return np.array(parts) if np.all(np.isfinite(parts)) else None
    return member.value("mean")


def _points(member: Member, x: Array, y: Array) -> Any:
    if isinstance(member.draws, tuple):
        return x.ravel(), y.ravel()
    return np.stack([x.ravel(), y.ravel()], axis=-1)


def _coordinate_names(member: Member) -> Sequence[str]:
    fields: Sequence[str] = getattr(member.draws, "_fields", ("x₀", "x₁"))
    return fields


def check_box(between: Any) -> tuple[Array, Array]:
    """Return the lower and the upper corner of ((low, high), (low, high))."""
    box = np.asarray(between, dtype=np.float64)
    if box.shape != (2, 2) or not np.all(np.isfinite(box)) or np.any(box[:, 0] >= box[:, 1]):
        raise ValueError(
            f"between must be ((low, high), (low, high)), one pair per axis, got {between!r}"
        )
    return box[:, 0], box[:, 1]


def _box(members: list[Member], between: Any) -> tuple[Array, Array]:
    """Return the corners of a box that shows the bodies of all members."""
    if between is not None:
        return check_box(between)
    reaches = np.array([_reach(m) for m in members])
    return reaches[:, 0].min(axis=0), reaches[:, 1].max(axis=0)


def _reach(member: Member) -> tuple[Array, Array]:
    draws = np.stack(member.draws, -1) if isinstance(member.draws, tuple) else member.draws
    low, q1, q3, high = np.quantile(draws, [0.01, 0.25, 0.75, 0.99], axis=0)
    margin, body = 0.22 * (high - low), q3 - q1
    least, most = draws.min(axis=0), draws.max(axis=0)
    bottom = np.maximum(low - margin, q1 - 6.0 * body)
    # a support that starts where the draws do is not left far behind
    bottom = np.where((least > 0) & (bottom < 0) & (least < 0.02 * most), 0.0, bottom)
    return bottom, np.minimum(high + margin, q3 + 6.0 * body)
