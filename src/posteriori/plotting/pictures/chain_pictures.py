"""Hidden chains: how probable each state is along a series, and how states follow one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.numerics.lazy import mpl_patches
from posteriori.numerics.types import Array
from posteriori.plotting.parts.style import Axes, axes_for, group_colors, panels_for

__all__ = [
    "paint_ribbons",
    "paint_series",
    "paint_transitions",
    "plot_factorial",
    "plot_hidden_model",
    "plot_state_posterior",
    "plot_transitions",
]

#: Of longer series neighbours are averaged.
_MOST_STEPS = 800

#: How strong ribbons are behind a series, and alone.
_BEHIND, _ALONE = 0.35, 0.8

#: Moves of a smaller share of all that leave a state are not drawn: of a few states, and of more.
_LEAST, _LEAST_OF_MANY = 0.05, 0.18

#: Up to here states are a few; and so few that numbers stand beside arrows.
_FEW, _LABELLED = 3, 5

#: Radius of the circle of the states, and of the largest and the smallest state.
_LARGE, _SMALL = 0.36, 0.16


def plot_state_posterior(posterior: Any, ax: Any = None, *, names: Any = None) -> Axes:
    """Draw P(state | data) of every step as ribbons that fill the height."""
    p = np.asarray(posterior.probabilities)
    if p.ndim != 2:
        raise TypeError(f"plot takes the posterior of one series, got probabilities {p.shape}")
    with axes_for(ax, (6.4, 2.4)) as axes:
        paint_ribbons(axes, p, (0.0, 1.0), alpha=_ALONE, names=_names(names, p.shape[1]))
        axes.set(xlabel="step", ylabel="probability")
        _name_states(axes, p.shape[1])
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
        _name_states(axes, p.shape[1])
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
            _name_states(axes, p.shape[1])
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
    p, x = _thinned(probabilities, places)
    low, high = between
    edges = np.concatenate([np.zeros((len(p), 1)), np.cumsum(p, axis=1)], axis=1)
    edges = low + (high - low) * np.minimum(edges, 1.0)
    if len(x) == 1:  # a single step has no width of its own
        x, edges = np.array([x[0] - 0.5, x[0] + 0.5]), np.repeat(edges, 2, axis=0)
    for k, color in enumerate(group_colors(p.shape[1])):
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
    k = len(transition)
    ink = axes.xaxis.label.get_color() if ink is None else ink
    angles = 0.5 * np.pi - 2.0 * np.pi * np.arange(k) / k
    centers = np.stack([np.cos(angles), np.sin(angles)], axis=1) * (k > 1)
    radii = np.full(k, min(_LARGE, 1.1 / k + 0.1))
    if shares is not None:
        radii = np.clip(_LARGE * np.sqrt(shares / max(float(shares.max()), 1e-300)), _SMALL, None)
        radii = np.minimum(radii, 2.2 / max(k, 4))
    labels = _names(names, k)
    for j, color in enumerate(group_colors(k)):
        axes.add_patch(mpl_patches.Circle(centers[j], radii[j], color=color, alpha=0.8, lw=0))
        _write_state(axes, centers[j], radii[j], labels[j], float(transition[j, j]), ink)
    for j, i in np.argwhere(_moves(transition) >= (_LEAST if k <= _FEW else _LEAST_OF_MANY)):
        _draw_move(
            axes, centers[[j, i]], radii[[j, i]], float(transition[j, i]), ink, k <= _LABELLED
        )
    axes.set(xlim=(-1.75, 1.75), ylim=(-1.6, 1.6), aspect="equal")
    axes.set_axis_off()


def _moves(transition: Array) -> Array:
    """Return the share of each move among those that leave a state."""
    moves = np.array(transition, dtype=np.float64)
    np.fill_diagonal(moves, 0.0)
    totals = moves.sum(axis=1, keepdims=True)
    return np.where(totals > 1e-12, moves / np.where(totals > 0, totals, 1.0), 0.0)


def _write_state(
    axes: Axes, center: Array, radius: float, name: str, stay: float, ink: Any
) -> None:
    """Write the name into a disc, and beside it how probably the state stays."""
    x, y = center.tolist()
    axes.text(x, y, name, ha="center", va="center", color="white", fontweight="bold")
    away = center / max(float(np.hypot(*center)), 1e-9) if center.any() else np.array([0.0, -1.0])
    x, y = (center + away * (radius + 0.12)).tolist()
    side = "left" if away[0] > 0.3 else "right" if away[0] < -0.3 else "center"
    level = "bottom" if away[1] > 0.3 else "top" if away[1] < -0.3 else "center"
    axes.text(x, y, f"stays {_percent(stay)}", ha=side, va=level, color=ink, fontsize=9)


def _draw_move(
    axes: Axes, ends: Array, radii: Array, probability: float, ink: Any, labelled: bool
) -> None:
    """Draw an arrow that bends to the side, so that the way back has a place of its own."""
    along = ends[1] - ends[0]
    length = float(np.hypot(*along))
    unit = along / length
    side = np.array([unit[1], -unit[0]])
    start = ends[0] + radii[0] * (0.95 * unit + 0.3 * side)
    stop = ends[1] - (radii[1] + 0.03) * (0.95 * unit - 0.3 * side)
    width = 0.8 + 3.0 * min(1.0, probability)
    axes.annotate(
        "",
        stop,
        start,
        arrowprops={
            "arrowstyle": "-|>,head_width=0.25,head_length=0.5",
            "connectionstyle": "arc3,rad=0.18",
            "color": ink,
            "lw": width,
            "shrinkA": 0,
            "shrinkB": 0,
        },
    )
    if labelled:
        early = 0.74 * start + 0.26 * stop + (0.06 * length + 0.09) * side  # apart from other ways
        x, y = early.tolist()
        axes.text(x, y, _percent(probability), ha="center", va="center", color=ink, fontsize=9)


def _percent(p: float) -> str:
    if 0.0 < p < 0.001:
        return "<0.1%"
    return f"{p:.1%}" if p < 0.1 or 0.9 < p < 1.0 else f"{p:.0%}"


def _thinned(probabilities: Array, places: Array | None) -> tuple[Array, Array]:
    """Return no more than so many steps, averages of their neighbours, and where they are."""
    n = len(probabilities)
    x = np.arange(n, dtype=np.float64) if places is None else np.asarray(places, dtype=np.float64)
    if n <= _MOST_STEPS:
        return probabilities, x
    starts = np.unique(np.linspace(0, n, _MOST_STEPS + 1).astype(np.int64))[:-1]
    counts = np.diff(np.append(starts, n))
    p = np.add.reduceat(probabilities, starts, axis=0) / counts[:, None]
    middle = np.add.reduceat(x, starts) / counts
    middle[0], middle[-1] = x[0], x[-1]
    return p, middle


def _names(names: Any, count: int) -> list[str]:
    return [str(k) for k in range(count)] if names is None else [str(name) for name in names]


def _name_states(axes: Axes, count: int) -> None:
    if count > 1:
        axes.legend(title="state", loc="center left", bbox_to_anchor=(1.01, 0.5), borderaxespad=0.0)


def _column_of(X: Any, column: Any) -> tuple[Array, str]:
    """Return one column of rows as numbers, and its name."""
    if hasattr(X, "columns"):
        name = column if isinstance(column, str) else list(X.columns)[column]
        return np.asarray(X[name], dtype=np.float64), str(name)
    x = np.asarray(X, dtype=np.float64)
    return (x if x.ndim == 1 else x[:, column]), f"column {column}"
