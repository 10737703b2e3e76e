"""Densities of one or two columns that were learned without a form: histograms and kernel densities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from posteriori.numerics.types import Array
from posteriori.plotting.parts.frame import place_legend
from posteriori.plotting.parts.named_points import named_points, seen_names
from posteriori.plotting.parts.style import COLORS, INK, Axes, axes_for
from posteriori.plotting.pictures.contours import MASSES, check_box, draw_levels, mass_levels

__all__ = ["plot_adaptive_histogram", "plot_histogram", "plot_kernel_density"]

Names = Sequence[str] | None

#: Bandwidths that a curve reaches beyond the rows.
_REACH = 3.5
#: More rows than this are drawn as bars: marks would run into one.
_MARKS = 200
#: Rows of two columns that are drawn at most.
_DOTS = 4000
#: Cells along a side.
_CELLS = 180
#: An edge is marked where the density jumps more probably than not.
_LIKELY = 0.5


def plot_histogram(
    model: Any, X: Any = None, ax: Any = None, *, between: Any = None, names: Names = None
) -> Axes:
    """Draw the steps of a fitted :class:`Histogram`, over the rows ``X`` that it describes."""
    return _plot_density(model, X, ax, between, names, _draw_steps)


def plot_adaptive_histogram(
    model: Any, X: Any = None, ax: Any = None, *, between: Any = None, names: Names = None
) -> Axes:
    """Draw the steps of a fitted :class:`AdaptiveHistogram`, with dotted lines at probable edges."""
    return _plot_density(model, X, ax, between, names, _draw_steps_and_edges)


def plot_kernel_density(
    model: Any,
    X: Any = None,
    ax: Any = None,
    *,
    between: Any = None,
    names: Names = None,
    mass: Any = MASSES,
) -> Axes:
    """Draw a fitted :class:`KernelDensity`: the curve of one column, contours of two.

    Parameters
    ----------
    model : KernelDensity
    X : array_like (N, D), or (N,) of one column, optional
        Rows: of one column marks, or bars where they are many; of two dots.
    ax : matplotlib Axes, optional
    between : pair of float, or a pair of pairs, optional
        The range of each column.
    names : sequence of str, optional
        Names of the columns.
    mass : float or sequence of float
        Shares of the probability that contours hold.
    """
    if model.n_features_in_ != 2:
        return _plot_density(model, X, ax, between, names, _draw_curve)
    given = names or seen_names(model, ("x₀", "x₁"))
    with axes_for(ax, (4.8, 4.0)) as axes:
        if X is not None:
            _draw_dots(axes, np.asarray(X, dtype=np.float64))
        low, high = _corners(model) if between is None else check_box(between)
        _draw_masses(axes, model, low, high, np.atleast_1d(mass))
        axes.set(xlabel=given[0], ylabel=given[1], xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        place_legend(axes, above=True)
    return axes


def _plot_density(
    model: Any, X: Any, ax: Any, between: Any, names: Names, draw: Callable[[Axes, Any, Any], None]
) -> Axes:
    if model.n_features_in_ != 1:
        raise TypeError(
            f"a density of {model.n_features_in_} columns has no plot; plot takes those of one or two"
        )
    given = names or seen_names(model, ("x",))
    with axes_for(ax, (5.4, 3.1)) as axes:
        if X is not None:
            _draw_rows(axes, np.asarray(X, dtype=np.float64).reshape(-1))
        draw(axes, model, between)
        if between is not None:
            axes.set_xlim(*map(float, between))
        axes.set_ylim(bottom=0.0)
        axes.set(xlabel=given[0], ylabel="density")
        place_legend(axes)
    return axes


def _draw_curve(axes: Axes, model: Any, between: Any) -> None:
    low, high = map(float, np.ravel(_corners(model)) if between is None else between)
    x = np.linspace(low, high, 801)
    log_density = model.score_samples(named_points(model, x[:, None]))
    axes.plot(x, np.exp(log_density), color=COLORS[0], label="kernel density")


def _corners(model: Any) -> tuple[Array, Array]:
    """Return the ends of each column, (D,): where kernels end, or the bounds."""
    spread = model.bandwidth_ if model.bandwidth_.ndim == 1 else np.sqrt(np.diag(model.bandwidth_))
    low, high = model.low_ - _REACH * spread, model.high_ + _REACH * spread
    if model.bounds is None:
        return low, high
    pairs = list(model.bounds)
    pairs = [pairs] if len(low) == 1 and len(pairs) == 2 else pairs
    each = [(None, None) if pair is None else tuple(pair) for pair in pairs]
    bounds = np.array(each, dtype=np.float64)  # None becomes NaN, which fmax and fmin pass over
    return np.fmax(low, bounds[:, 0]), np.fmin(high, bounds[:, 1])


def _draw_masses(axes: Axes, model: Any, low: Array, high: Array, masses: Array) -> None:
    """Draw the contours that hold shares of the probability."""
    edges = [np.linspace(a, b, _CELLS + 1) for a, b in zip(low, high, strict=True)]
    x, y = np.meshgrid(*(0.5 * (e[1:] + e[:-1]) for e in edges), indexing="ij")
    cell = float(np.prod([e[1] - e[0] for e in edges]))
    points = named_points(model, np.stack([x.ravel(), y.ravel()], axis=1))
    p = np.exp(model.score_samples(points)).reshape(x.shape)
    draw_levels(axes, (x, y), p, mass_levels(p, cell, masses), 0, filled=True)
    axes.plot([], [], color=COLORS[0], lw=1.4, label="kernel density")


def _draw_dots(axes: Axes, rows: Array) -> None:
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"X must hold rows of 2 columns, got shape {rows.shape}")
    some = rows[:: -(-len(rows) // _DOTS)]
    label = "rows" if len(some) == len(rows) else f"{len(some)} of {len(rows)} rows"
    alpha = 0.6 if len(some) <= 5 * _MARKS else 0.25
    axes.plot(*some.T, "o", color=INK, ms=2.5, mew=0, alpha=alpha, label=label)


def _draw_rows(axes: Axes, rows: Array) -> None:
    if len(rows) > _MARKS:
        axes.hist(rows, bins=60, density=True, color=INK, alpha=0.25, label="rows")
    else:
        axes.plot(rows, np.zeros(len(rows)), "|", color=INK, ms=8, clip_on=False, label="rows")


def _draw_steps(axes: Axes, model: Any, between: Any) -> None:
    del between  # steps end where the histogram does
    heights = model.masses_ / np.diff(model.edges_)
    axes.stairs(heights, model.edges_, color=COLORS[0], lw=2, label="averaged histogram")


def _draw_steps_and_edges(axes: Axes, model: Any, between: Any) -> None:
    _draw_steps(axes, model, between)
    likely = model.edges_[1:-1][model.edge_probabilities_ > _LIKELY]
    for place, edge in enumerate(likely):
        label = "probable edges" if place == 0 else "_"
        axes.axvline(edge, color=COLORS[1], lw=1, ls=":", label=label)
