"""Vectors: the marginal of each coordinate as a point with its intervals, one row each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from posteriori.distributions import (
    Beta,
    Binomial,
    Dirichlet,
    Multinomial,
    MvNormal,
    MvStudentT,
    Normal,
    StudentT,
)
from posteriori.numerics.types import Array
from posteriori.plotting.parts.frame import place_legend
from posteriori.plotting.parts.members import Member
from posteriori.plotting.parts.style import Axes, color_of, marker_of

__all__ = ["draw_forest", "draw_intervals", "marginals_of"]

#: More rows than this are drawn with thin lines.
_CROWDED = 80


def draw_forest(
    axes: Axes,
    members: Mapping[str, Member],
    *,
    mass: float = 0.95,
    names: Sequence[str] | None = None,
) -> None:
    """Draw the interval of ``mass`` (thin), of one half (thick) and the mean of each coordinate."""
    (size,) = next(iter(members.values())).batch.event_shape
    if names is not None and len(names) != size:
        raise ValueError(f"names has {len(names)} entries for {size} coordinates")
    rows = np.arange(size, dtype=np.float64)
    for position, (label, member) in enumerate(members.items()):
        shift = 0.5 * (position - 0.5 * (len(members) - 1)) / len(members)
        intervals = partial(_intervals, member)
        centres = member.value("mean")
        draw_intervals(axes, rows + shift, intervals, centres, mass, label=label, position=position)
    axes.set_yticks(rows, [f"x{_subscript(i)}" for i in range(size)] if names is None else names)
    axes.set_ylim(size - 0.4, -0.6)
    axes.set_xlabel(f"mean, 50% and {100 * mass:.4g}% intervals")
    if len(members) > 1:
        place_legend(axes, above=True)


def draw_intervals(
    axes: Axes,
    rows: Array,
    intervals: Callable[[float], tuple[Array, Array]],
    centres: Any,
    mass: float,
    *,
    label: str | None = None,
    position: int = 0,
) -> None:
    """Draw intervals that hold ``mass`` and one half, and centres, medians by default, in rows."""
    color, marker = color_of(position), marker_of(position)
    thin, thick, size = (1.4, 4.0, 6.0) if len(rows) <= _CROWDED else (0.6, 1.6, 2.5)
    axes.hlines(rows, *intervals(mass), color=color, lw=thin)
    axes.hlines(rows, *intervals(0.5), color=color, lw=thick, alpha=0.55)
    if centres is None:
        centres = intervals(1e-9)[0]
    axes.plot(centres, rows, marker=marker, ms=size, color=color, ls="none", label=label)


def marginals_of(d: Any) -> Any:
    """Return the marginals of a vector as a batch of numbers; None where no family is known."""
    if isinstance(d, MvNormal) and np.all(d.variance > 0):
        return Normal(d.mean, variance=d.variance)
    if isinstance(d, MvStudentT):
        spread = np.sqrt(np.diagonal(d.scale, axis1=-2, axis2=-1))
        return StudentT(d.dof[..., None], d.location, scale=spread)
    if isinstance(d, Dirichlet):
        alpha = d.concentration
        return Beta(alpha, alpha.sum(axis=-1, keepdims=True) - alpha)
    if isinstance(d, Multinomial):
        return Binomial(np.asarray(d.trials)[..., None], d.probabilities)
    return None


def _intervals(member: Member, mass: float) -> tuple[Array, Array]:
    """Return the ends (D,) of the central intervals."""
    marginals = marginals_of(member.batch)
    if marginals is None:
        tail = 0.5 * (1.0 - mass)
        low, high = np.quantile(member.draws, [tail, 1.0 - tail], axis=0)
        return low, high
    low, high = marginals.interval(mass)
    return low[member.index], high[member.index]


def _subscript(i: int) -> str:
    return str(i).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
