"""What a model has learned: marginals side by side, members of a plate in rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions import Categorical, PointMass
from posteriori.distributions.entries import Labels, entries_of, place_names
from posteriori.numerics.lazy import mpl_ticker
from posteriori.plotting.parts.members import Member
from posteriori.plotting.parts.style import Axes, group_colors, panels_for
from posteriori.plotting.pictures.bars import draw_bars
from posteriori.plotting.pictures.chain_pictures import name_states
from posteriori.plotting.pictures.density_curves import draw_curves
from posteriori.plotting.pictures.forest import draw_intervals

__all__ = ["plot_marginals"]

#: So many entries of an unknown have a panel each; more share one.
_APART = 3
#: Panels beside each other, and the size of one in inches.
_COLUMNS, _WIDTH, _HEIGHT = 3, 3.2, 2.6
#: Higher panels stand below the others.
_TALL = 1.5 * _HEIGHT
#: Of more rows than this only some are named.
_MOST_NAMED = 40


class _Panel(NamedTuple):
    paint: Callable[[Axes], None]
    height: float = _HEIGHT


def plot_marginals(
    posterior: Any, ax: Any = None, *, names: str | Sequence[str] = (), mass: float = 0.9
) -> Any:
    """Draw what is believed of each of the unknowns of a model.

    Unknowns of up to three numbers have a panel for each: a density with its interval and mean, or the
    probabilities of states. Of more, the panel shows mean and intervals of each number in a row, or
    the probabilities of the states of each member on top of each other. Tall panels stand last.

    Parameters
    ----------
    posterior : Posterior
        From ``Model.infer``.
    ax : Axes, or as many as there are panels, optional
        Where to draw; a new figure if None.
    names : str or sequence of str
        Unknowns; by default all that the data tell something of.
    mass : float
        Probability of the intervals.

    Returns
    -------
    array of Axes, one for each panel
    """
    asked = (names,) if isinstance(names, str) else names
    beliefs = posterior.marginals(*asked)
    known = posterior._place_names
    found = [
        panel
        for name, belief in beliefs.items()
        for panel in _panels(name, belief, mass, known.get(name, ()))
    ]
    if not found:
        raise ValueError("nothing is unknown in this model: there is no marginal to plot")
    tall = [panel for panel in found if panel.height > _TALL]
    others = [panel for panel in found if panel.height <= _TALL]
    most = max(len(tall), len(others))
    columns = -(-most // -(-most // _COLUMNS))  # as few as leave the number of rows
    rows = [*_rows(others, columns), *_rows(tall, columns)]
    heights = [max(panel.height for panel in row if panel) for row in rows]
    cells = [panel for row in rows for panel in row] if ax is None else [*others, *tall]
    shape, size = (len(rows), columns), (_WIDTH * columns, sum(heights))
    with panels_for(ax, shape, len(cells), size, height_ratios=heights) as panels:
        for axes, panel in zip(panels, cells, strict=True):
            axes.set_axis_off() if panel is None else panel.paint(axes)
    return np.array([axes for axes, panel in zip(panels, cells, strict=True) if panel])


def _rows(panels: list[_Panel], columns: int) -> Iterator[list[_Panel | None]]:
    """Yield panels in rows, the last of which is filled up with None."""
    for start in range(0, len(panels), columns):
        row = panels[start : start + columns]
        yield [*row, *[None] * (columns - len(row))]


def _panels(name: str, belief: Any, mass: float, known: Labels) -> Iterator[_Panel]:
    """Yield the panels of one unknown."""
    shape = belief.batch_shape + belief.event_shape
    is_state = isinstance(belief, Categorical)
    entries = belief if is_state else entries_of(belief)
    if np.prod(shape) <= _APART:
        for place, text in zip(np.ndindex(shape), place_names(name, shape, known), strict=True):
            draw = draw_bars if is_state else partial(draw_curves, mass=mass, components=False)
            yield _Panel(partial(_draw_one, draw=draw, member=Member(entries, place), name=text))
    elif is_state:
        yield _Panel(partial(_draw_states, states=belief, name=name))
    else:
        height = float(np.clip(1.0 + 0.24 * np.prod(shape), _HEIGHT, 10.0))
        texts = [*place_names(name, shape, known)]
        yield _Panel(partial(_draw_rows, entries=entries, texts=texts, mass=mass), height)


def _draw_one(axes: Axes, *, draw: Callable[..., None], member: Member, name: str) -> None:
    axes.set_xlabel(name)
    draw(axes, {"_": member})


def _draw_states(axes: Axes, *, states: Categorical, name: str) -> None:
    """Draw the probabilities of the states of every member."""
    count = states.n_categories
    p = states.probabilities.reshape(-1, count)
    edges = np.arange(len(p) + 1) - 0.5
    tops = np.cumsum(p, axis=1)
    colors = group_colors(count)
    for k, label in enumerate(states.labels or range(count)):
        axes.stairs(
            tops[:, k],
            edges,
            baseline=tops[:, k] - p[:, k],
            fill=True,
            color=colors[k],
            alpha=0.8,
            lw=0,
            label=str(label),
        )
    axes.set(xlabel=f"member of {name}", ylabel="probability", xlim=edges[[0, -1]], ylim=(0, 1))
    axes.xaxis.set_major_locator(mpl_ticker.MaxNLocator(integer=True))
    name_states(axes, count)


def _draw_rows(axes: Axes, *, entries: Any, texts: Sequence[str], mass: float) -> None:
    """Draw mean and intervals of every entry, the first one at the top."""
    count = int(np.prod(entries.batch_shape))
    rows = np.arange(count)
    means = Member(entries).value("mean")
    centres = None if means is None else np.ravel(means)
    draw_intervals(axes, rows, partial(_intervals, entries), centres, mass)
    step = -(-count // _MOST_NAMED)
    axes.set_yticks(rows[::step], texts[::step])
    axes.set_ylim(count - 0.4, -0.6)
    axes.set_xlabel(f"mean, 50% and {100 * mass:.4g}% intervals")


def _intervals(entries: Any, mass: float) -> Any:
    if isinstance(entries, PointMass):
        return np.ravel(entries.location), np.ravel(entries.location)
    return tuple(map(np.ravel, entries.interval(mass)))
