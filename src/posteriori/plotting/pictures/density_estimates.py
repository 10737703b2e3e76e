"""Densities of one column that were learned without a form: histograms and kernel densities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from posteriori.estimators.contract import NamesColumns, offers
from posteriori.numerics.types import Array
from posteriori.plotting.parts.frame import place_legend
from posteriori.plotting.parts.style import COLORS, INK, Axes, axes_for

__all__ = ["plot_adaptive_histogram", "plot_histogram", "plot_kernel_density"]

Names = Sequence[str] | None

#: Bandwidths that a curve reaches beyond the rows.
_REACH = 3.5
#: More rows than this are drawn as bars: marks would run into one.
_MARKS = 200
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
    model: Any, X: Any = None, ax: Any = None, *, between: Any = None, names: Names = None
) -> Axes:
    """Draw the curve of a fitted :class:`KernelDensity` of one column.

    Parameters
    ----------
    model : KernelDensity
    X : array_like (N,) or (N, 1), optional
        Rows: marks, or bars where they are many.
    ax : matplotlib Axes, optional
    between : pair of float, optional
        The range.
    names : sequence of one str, optional
        Name of the column.
    """
    return _plot_density(model, X, ax, between, names, _draw_curve)


def _plot_density(
    model: Any, X: Any, ax: Any, between: Any, names: Names, draw: Callable[[Axes, Any, Any], None]
) -> Axes:
    if model.n_features_in_ != 1:
        raise TypeError(
            f"a density of {model.n_features_in_} columns has no plot; plot takes those of one"
        )
    given: Any = names or (model.feature_names_in_ if offers(model, NamesColumns) else ["x"])
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
    low, high = _ends(model) if between is None else map(float, between)
    x = np.linspace(low, high, 801)
    axes.plot(x, np.exp(model.score_samples(x[:, None])), color=COLORS[0], label="kernel density")


def _ends(model: Any) -> tuple[float, float]:
    reach = _REACH * float(
        np.sqrt(model.bandwidth_[0, 0]) if model.bandwidth_.ndim == 2 else model.bandwidth_[0]
    )
    low, high = float(model.low_[0]) - reach, float(model.high_[0]) + reach
    shown = np.array([low, high])
    if model.bounds is not None:
        inside = np.isfinite(model.score_samples(shown[:, None]))
        bounds = np.ravel(np.array(model.bounds, dtype=np.float64))  # None becomes NaN
        shown = np.where(inside, shown, bounds)
    return float(shown[0]), float(shown[1])


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
