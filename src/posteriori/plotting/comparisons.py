"""Models side by side: how far each is behind the best on rows held out, and by its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.numerics.types import Array
from posteriori.plotting.evidences import draw_behind, probability_text
from posteriori.plotting.parts.frame import place_legend
from posteriori.plotting.parts.part_names import number_text
from posteriori.plotting.parts.style import Axes, color_of, panels_for

__all__ = ["plot_comparison"]


def plot_comparison(comparison: Any, ax: Any = None) -> Any:
    """Draw how far each model is behind the best, on rows held out and by evidence, in nats.

    Differences on rows held out have their standard errors; beside evidences stand the probabilities
    of models that were equally probable before. Models that do not compare, as their evidences are of
    different data or one has probabilities where another has densities, have colours of their own:
    each is compared with the best of its colour.

    Parameters
    ----------
    comparison : Comparison
        From :func:`posteriori.selection.rank_models`.
    ax : Axes, or as many as there are panels, optional
        Where to draw; a new figure if None.

    Returns
    -------
    array of Axes
        Rows held out, then evidence; each where there is one.
    """
    rows = comparison.rows
    held = _column(rows, "elpd_difference")
    evidence = _column(rows, "log_bayes_factor")
    paints = [(held, _paint_held), (evidence, _paint_evidence)]
    shown = [paint for values, paint in paints if np.any(np.isfinite(values))]
    if not shown:
        raise ValueError("no model has an evidence or rows held out: there is nothing to plot")
    size = (0.8 + 4.2 * len(shown), min(12.0, 1.2 + 0.42 * len(rows)))
    with panels_for(ax, (1, len(shown)), len(shown), size, sharey=True) as panels:
        for axes, paint in zip(panels, shown, strict=True):
            paint(axes, rows)
    return np.array(panels)


def _paint_held(axes: Axes, rows: Sequence[Any]) -> None:
    behind, errors = _column(rows, "elpd_difference"), _column(rows, "elpd_difference_se")
    texts = [_with_error(x, e) for x, e in zip(behind, errors, strict=True)]
    _paint(axes, rows, behind, errors, texts, [row.measure for row in rows])
    axes.set_xlabel("ln p(rows held out) less that of the best")


def _paint_evidence(axes: Axes, rows: Sequence[Any]) -> None:
    behind = _column(rows, "log_bayes_factor")
    texts = ["" if np.isnan(row.probability) else probability_text(row.probability) for row in rows]
    groups = [f"{row.of} {row.measure}".strip() if row.of else "" for row in rows]
    _paint(axes, rows, behind, np.zeros(len(rows)), texts, groups)
    axes.set_xlabel("log evidence less that of the best; at right: probability")


def _paint(
    axes: Axes,
    rows: Sequence[Any],
    behind: Array,
    errors: Array,
    texts: Sequence[str],
    groups: Sequence[str],
) -> None:
    """Draw the models, each group in a colour, which a legend tells where there are several."""
    names = [f"{row.name} (failed)" if row.failure else row.name for row in rows]
    present = [g for g, x in zip(groups, behind, strict=True) if np.isfinite(x)]
    colors = {group: color_of(k) for k, group in enumerate(dict.fromkeys([*present, *groups]))}
    draw_behind(axes, behind, np.nan_to_num(errors), names, texts, [colors[g] for g in groups])
    if len(set(present)) > 1:
        for group in dict.fromkeys(present):
            axes.plot([], [], "o", color=colors[group], label=f"of {group}")
        place_legend(axes, above=True)


def _column(rows: Sequence[Any], name: str) -> Array:
    return np.array([getattr(row, name) for row in rows], dtype=np.float64)


def _with_error(difference: float, error: float) -> str:
    """Return a difference with its standard error, ``best`` without one, nothing for none."""
    if np.isnan(difference):
        return ""
    if difference == 0:
        return "best"
    text = number_text(float(f"{difference:.3g}"))
    return text if np.isnan(error) else f"{text} ± {number_text(float(f'{error:.2g}'))}"
