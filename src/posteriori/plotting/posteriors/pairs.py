"""What a model believes of numbers two by two: draws, and contours that hold a stated share of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.entries import Labels, entries_of, place_names
from posteriori.numerics.lazy import stats
from posteriori.numerics.types import Array
from posteriori.plotting.parts.members import Member
from posteriori.plotting.parts.style import COLORS, Axes, panels_for
from posteriori.plotting.pictures.contours import draw_levels, mass_levels
from posteriori.plotting.pictures.density_curves import draw_curves

__all__ = ["plot_pairs"]

#: Draws, of which some are shown as points.
_DRAWS, _SHOWN = 4000, 500
#: Cells along a side of a panel, and numbers that there are panels for.
_CELLS, _MOST = 60, 6
#: Size of a panel in inches: alone, and among others.
_ALONE, _SMALL = (4.6, 3.8), 2.3


class _Number(NamedTuple):
    """An entry of an unknown: its name, what is believed of it, and its draws."""

    name: str
    member: Member
    draws: Array


def plot_pairs(
    posterior: Any, pairs: str | Sequence[str], ax: Any = None, *, mass: Any = (0.5, 0.9)
) -> Any:
    """Draw the joint belief about each two of some numbers, and the belief about each.

    Parameters
    ----------
    posterior : Posterior
        From ``Model.infer``.
    pairs : sequence of str
        Unknowns, all of whose entries are meant, or entries such as ``"theta[2]"``: from two to six
        numbers. Two have one panel, more have a panel for each two, and for each below the diagonal.
    ax : Axes, or as many as there are panels, optional
        Where to draw; a new figure if None.
    mass : float or sequence of float
        Shares of the probability that the contours hold.

    Returns
    -------
    array of Axes, one for each panel, row by row
    """
    numbers = _numbers(posterior, [pairs] if isinstance(pairs, str) else list(pairs))
    masses = np.atleast_1d(np.asarray(mass, dtype=np.float64))
    if not np.all((masses > 0.0) & (masses < 1.0)):
        raise ValueError(f"mass must lie between 0 and 1, got {mass!r}")
    if len(numbers) == 2:
        with panels_for(ax, (1, 1), 1, _ALONE) as (axes,):
            _draw_pair(axes, numbers[0], numbers[1], masses, labelled=True)
            axes.set(xlabel=numbers[0].name, ylabel=numbers[1].name)
        return np.array([axes])
    k = len(numbers)
    places = [(i, j) for i in range(k) for j in range(k) if ax is None or j <= i]
    with panels_for(ax, (k, k), len(places), (_SMALL * k, _SMALL * k)) as panels:
        for axes, (i, j) in zip(panels, places, strict=True):
            if j > i:
                axes.set_axis_off()
                continue
            _draw_place(axes, numbers, i, j, masses)
    return np.array([axes for axes, (i, j) in zip(panels, places, strict=True) if j <= i])


def _draw_place(axes: Axes, numbers: list[_Number], i: int, j: int, masses: Array) -> None:
    """Draw the belief about one number on the diagonal, about two below it."""
    if i == j:
        draw_curves(axes, {"_": numbers[i].member}, mass=float(masses.max()), components=False)
        legend = axes.get_legend()
        if legend is not None:
            legend.remove()
        axes.set(xlim=_range(numbers[i].draws), ylabel="", yticks=[])
    else:
        _draw_pair(axes, numbers[j], numbers[i], masses, labelled=False)
    axes.set_xlabel(numbers[j].name if i == len(numbers) - 1 else "")
    axes.set_ylabel(numbers[i].name if j == 0 and i > 0 else "")


def _draw_pair(axes: Axes, x: _Number, y: _Number, masses: Array, *, labelled: bool) -> None:
    """Draw some of the draws, and contours of their smoothed density."""
    axes.plot(x.draws[:_SHOWN], y.draws[:_SHOWN], ".", ms=2.5, alpha=0.35, color=COLORS[0], mew=0)
    edges = [np.linspace(*_range(number.draws), _CELLS) for number in (x, y)]
    axes.set(xlim=edges[0][[0, -1]], ylim=edges[1][[0, -1]])
    try:
        smooth = stats.gaussian_kde(np.stack([x.draws, y.draws]))
    except (ValueError, np.linalg.LinAlgError):  # one of them is known, or tells the other
        return
    grid = np.meshgrid(*edges, indexing="ij")
    p = smooth(np.stack([part.ravel() for part in grid])).reshape(_CELLS, _CELLS)
    cell = float(np.prod([edge[1] - edge[0] for edge in edges]))
    levels = mass_levels(p, cell, masses)
    draw_levels(axes, (grid[0], grid[1]), p, levels, 0, filled=True, labelled=labelled)


def _range(draws: Array) -> tuple[float, float]:
    low, high = np.quantile(draws, [0.002, 0.998])
    margin = 0.1 * (high - low) or 0.5
    return float(low - margin), float(high + margin)


def _numbers(posterior: Any, asked: list[str]) -> list[_Number]:
    """Return the entries that are asked for, in that order, with joint draws."""
    names = dict.fromkeys(text.partition("[")[0] for text in asked)
    beliefs = posterior.marginals(*names) if names else {}
    drawn = posterior.sample(_DRAWS, rng=0)
    known = {
        number.name: number
        for name, belief in beliefs.items()
        for number in _entries(name, belief, drawn[name], posterior._place_names.get(name, ()))
    }
    chosen: dict[str, _Number] = {}
    for text in asked:
        found = [n for n in known if n == text or n.startswith(f"{text}[")]
        if not found:
            name = text.partition("[")[0]
            own = [n for n in known if n.partition("[")[0] == name]
            raise ValueError(f"{name} has no entry {text!r}; it has {own[0]} to {own[-1]}")
        chosen |= {name: known[name] for name in found}
    if not 2 <= len(chosen) <= _MOST:
        raise ValueError(
            f"pairs are of two to {_MOST} numbers, got {len(chosen)}: name unknowns or entries, as in "
            f'pairs=["a", "b"] or pairs=["theta[0]", "theta[1]"]'
        )
    return list(chosen.values())


def _entries(name: str, belief: Any, drawn: Array, known: Labels) -> Iterator[_Number]:
    if drawn.dtype.kind != "f":
        raise TypeError(
            f"pairs are of numbers, and {name} has states: plot(posterior, names={name!r})"
        )
    shape = belief.batch_shape + belief.event_shape
    entries = entries_of(belief)
    places = itertools.product(*map(range, shape))
    for place, text in zip(places, place_names(name, shape, known), strict=True):
        index: Any = (..., *place)
        yield _Number(text, Member(entries, place), drawn[index])
