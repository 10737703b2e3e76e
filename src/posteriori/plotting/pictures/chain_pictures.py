"""Hidden chains: how probable each state is along a series, and how states follow one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.numerics.lazy import mpl_patches
from posteriori.numerics.types import Array
from posteriori.plotting.parts.style import Axes, axes_for, group_colors, panels_for
from posteriori.plotting.pictures.chain_layout import (
    Move,
    percent,
    place_moves,
    place_states,
    ribbon_edges,
)

__all__ = [
    "name_states",
    "paint_ribbons",
    "paint_series",
    "paint_transitions",
    "plot_factorial",
    "plot_hidden_model",
    "plot_state_posterior",
    "plot_transitions",
]

#: How strong ribbons are behind a series, and alone.
_BEHIND, _ALONE = 0.35, 0.8


def plot_state_posterior(posterior: Any, ax: Any = None, *, names: Any = None) -> Axes:
    """Draw P(state | data) of every step as ribbons that fill the height."""
    p = np.asarray(posterior.probabilities)
    if p.ndim != 2:
        raise TypeError(f"plot takes the posterior of one series, got probabilities {p.shape}")
    with axes_for(ax, (6.4, 2.4)) as axes:
        paint_ribbons(axes, p, (0.0, 1.0), alpha=_ALONE, names=_names(names, p.shape[1]))
        axes.set(xlabel="step", ylabel="probability")
        name_states(axes, p.shape[1])
    return axes


def plot_transitions(chain: Any, ax: Any = None) -> Axes:
    """Draw the states of a chain, and where each of them leads."""
    transition = np.asarray(chain.transition)
    if transition.ndim != 2:
        raise TypeError("plot draws chains of order 1; take chain.to_first_order()")
    names = _names(getattr(chain, "states", None), len(transition))
    with axes_for(ax, (4.2, 4.0)) as axes:
        paint_transitions(axes, transition, names=names)
    return axes


def plot_hidden_model(model: Any, ax: Any = None, *, X: Any = None, column: Any = 0) -> Axes:
    """Draw how states follow one another; with rows ``X``, one of their columns over the states."""
    if X is None:
        return plot_transitions(model.model_, ax)
    values, name = _column_of(X, column)
    p = np.asarray(model.predict_proba(X))
    with axes_for(ax, (6.4, 3.0)) as axes:
        paint_series(axes, values, p)
        axes.set(xlabel="row", ylabel=name)
        name_states(axes, p.shape[1])
    return axes


def plot_factorial(model: Any, ax: Any = None, *, X: Any) -> list[Axes]:
    """Draw P(state | X) of every chain, a panel each."""
    chains = model.predict_proba(X)
    size = (6.4, 1.2 + 1.1 * len(chains))
    with panels_for(ax, (len(chains), 1), len(chains), size, sharex=True) as panels:
        for m, (axes, p) in enumerate(zip(panels, chains, strict=True)):
            names = [str(k) for k in range(p.shape[1])]
            paint_ribbons(axes, p, (0.0, 1.0), alpha=_ALONE, names=names)
            axes.set(ylabel=f"chain {m}", yticks=[0.0, 1.0])
            name_states(axes, p.shape[1])
        panels[-1].set_xlabel("row")
    return panels


def paint_ribbons(
    axes: Axes,
    probabilities: Array,
    between: tuple[float, float],
    *,
    places: Array | None = None,
    alpha: float = _BEHIND,
    names: Sequence[str] | None = None,
) -> None:
    """Fill a band with the states, each as high as it is probable.

    Parameters
    ----------
    axes : Axes
    probabilities : (T, K)
    between : pair of float
        Lower and upper edge.
    places : (T,), optional
        Where the steps are; 0, 1, … by default.
    alpha : float
    names : sequence of K str, optional
        For a legend.
    """
    x, edges = ribbon_edges(probabilities, places)
    low, high = between
    edges = low + (high - low) * edges
    for k, color in enumerate(group_colors(edges.shape[1] - 1)):
        label = None if names is None else names[k]
        axes.fill_between(
            x, edges[:, k], edges[:, k + 1], color=color, alpha=alpha, lw=0, label=label
        )
    axes.set(xlim=(x[0], x[-1]), ylim=between)


def paint_series(
    axes: Axes, values: Array, probabilities: Array, places: Array | None = None, color: Any = None
) -> None:
    """Draw a series, NaN where it is missing, over the ribbons of its states."""
    seen = values[~np.isnan(values)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
    room = 0.06 * (high - low) or 0.5
    names = [str(k) for k in range(probabilities.shape[1])]
    paint_ribbons(axes, probabilities, (low - room, high + room), places=places, names=names)
    x = np.arange(len(values)) if places is None else places
    alone = ~np.isnan(values) & np.isnan(np.append(values[1:], np.nan))
    alone &= np.isnan(np.append(np.nan, values[:-1]))
    ink = axes.xaxis.label.get_color() if color is None else color
    axes.plot(x, values, color=ink, lw=1.0)
    axes.plot(np.asarray(x)[alone], values[alone], ".", color=ink, ms=3)  # between two gaps


def paint_transitions(
    axes: Axes,
    transition: Array,
    shares: Array | None = None,
    names: Sequence[str] | None = None,
    ink: Any = None,
) -> None:
    """Draw states as discs and moves as arrows, the wider the more probable.

    Parameters
    ----------
    axes : Axes
    transition : (K, K)
    shares : (K,), optional
        How much of the time each state has: its area.
    names : sequence of K str, optional
    ink : color, optional
        Of arrows and texts.
    """
    ink = axes.xaxis.label.get_color() if ink is None else ink
    states = place_states(len(transition), shares)
    labels = _names(names, len(transition))
    for j, color in enumerate(group_colors(len(transition))):
        center, radius = states.centers[j], float(states.radii[j])
        axes.add_patch(mpl_patches.Circle(center, radius, color=color, alpha=0.8, lw=0))
        axes.text(
            float(center[0]),
            float(center[1]),
            labels[j],
            ha="center",
            va="center",
            color="white",
            fontweight="bold",
        )
        _write_stay(axes, states.beside[j], states.away[j], float(transition[j, j]), ink)
    for move in place_moves(transition, states):
        _draw_move(axes, move, ink)
    axes.set(xlim=(-1.75, 1.75), ylim=(-1.6, 1.6), aspect="equal")
    axes.set_axis_off()


def _write_stay(axes: Axes, place: Array, away: Array, stay: float, ink: Any) -> None:
    """Write beside a disc how probably the state stays."""
    x, y = place.tolist()
    side = "left" if away[0] > 0.3 else "right" if away[0] < -0.3 else "center"
    level = "bottom" if away[1] > 0.3 else "top" if away[1] < -0.3 else "center"
    axes.text(x, y, f"stays {percent(stay)}", ha=side, va=level, color=ink, fontsize=9)


def _draw_move(axes: Axes, move: Move, ink: Any) -> None:
    """Draw an arrow that bends to the side."""
    axes.annotate(
        "",
        move.stop.tolist(),
        move.start.tolist(),
        arrowprops={
            "arrowstyle": "-|>,head_width=0.25,head_length=0.5",
            "connectionstyle": "arc3,rad=0.18",
            "color": ink,
            "lw": 0.8 + 3.0 * min(1.0, move.probability),
            "shrinkA": 0,
            "shrinkB": 0,
        },
    )
    if move.label is not None:
        x, y = move.label.tolist()
        axes.text(x, y, percent(move.probability), ha="center", va="center", color=ink, fontsize=9)


def _names(names: Any, count: int) -> list[str]:
    return [str(k) for k in range(count)] if names is None else [str(name) for name in names]


def name_states(axes: Axes, count: int) -> None:
    """Put the names of several states to the right of the axes."""
    if count > 1:
        axes.legend(title="state", loc="center left", bbox_to_anchor=(1.01, 0.5), borderaxespad=0.0)


def _column_of(X: Any, column: Any) -> tuple[Array, str]:
    """Return one column of rows as numbers, and its name."""
    if hasattr(X, "columns"):
        name = column if isinstance(column, str) else list(X.columns)[column]
        return np.asarray(X[name], dtype=np.float64), str(name)
    x = np.asarray(X, dtype=np.float64)
    return (x if x.ndim == 1 else x[:, column]), f"column {column}"
