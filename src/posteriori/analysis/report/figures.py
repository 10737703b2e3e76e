"""Figures of the report: predictions, weights, priors and columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from posteriori.analysis.fitting.findings import Findings
from posteriori.analysis.fitting.importance import Effects
from posteriori.analysis.report.what_if import EffectCurve
from posteriori.analysis.table.wording import short_number
from posteriori.distributions.batches import has_atoms
from posteriori.estimators.contract import predictive_of
from posteriori.numerics.types import Array
from posteriori.plotting.page_figures import (
    BROAD,
    FIRST,
    INK,
    MUTED,
    SECOND,
    SMALL,
    render_svg,
    shade,
    short_text,
)
from posteriori.plotting.parts.frame import place_legend

__all__ = [
    "draw_association",
    "draw_added",
    "draw_curve",
    "draw_density",
    "draw_effects",
    "draw_levels",
    "draw_predictions",
    "draw_residuals",
    "draw_sensitivity",
    "draw_spark",
]

#: About as many points of a cloud are drawn; of more rows, every k-th.
_MOST_POINTS = 800

#: Bars of a figure, the largest first.
_MOST_BARS = 20


def draw_predictions(found: Findings) -> str:
    """Draw targets against predictions of unseen rows."""
    unseen = found.outcomes[found.kept].unseen
    assert unseen is not None
    rows = _some_rows(len(found.problem.y))
    predicted, actual = unseen.prediction[rows], found.problem.y[rows]
    name = short_text(found.target.column.name)

    def paint(axes: Axes) -> None:
        low, high = min(predicted.min(), actual.min()), max(predicted.max(), actual.max())
        axes.plot([low, high], [low, high], color=SECOND, lw=1.5, ls="--")
        axes.plot(predicted, actual, "o", color=FIRST, ms=3.2, alpha=0.5, mew=0)
        number_ticks(axes)
        axes.set(xlabel="predicted without the row", ylabel=name)

    return render_svg("predictions", "Targets against predictions of unseen rows", paint, SMALL)


def draw_density(found: Findings) -> str:
    """Draw the targets with the predictive density of another one."""
    y = found.problem.y
    predictive = predictive_of(found.outcomes[found.kept].model, found.problem.X.iloc[:1])

    def paint(axes: Axes) -> None:
        low, high = np.quantile(y, [0.001, 0.999])
        axes.hist(y[(y >= low) & (y <= high)], bins=40, density=True, color=MUTED, alpha=0.5)
        whole = has_atoms(predictive)
        grid = np.arange(np.floor(low), high + 1) if whole else np.linspace(low, high, 300)
        density = np.exp([float(np.squeeze(predictive.log_prob(value))) for value in grid])
        axes.plot(grid, density, "o" if whole else "-", color=FIRST, lw=2, ms=4)
        axes.set(xlabel=short_text(found.target.column.name), ylabel="density")

    return render_svg("density", "Targets and the predictive density of another one", paint, SMALL)


def draw_residuals(found: Findings) -> str:
    """Draw residuals of unseen rows against predictions."""
    unseen = found.outcomes[found.kept].unseen
    assert unseen is not None
    rows = _some_rows(len(found.problem.y))
    predicted = unseen.prediction[rows]
    residual = found.problem.y[rows] - predicted

    def paint(axes: Axes) -> None:
        axes.axhline(0.0, color=SECOND, lw=1.5, ls="--")
        axes.plot(predicted, residual, "o", color=FIRST, ms=3.2, alpha=0.5, mew=0)
        number_ticks(axes)
        axes.set(xlabel="predicted without the row", ylabel="residual")

    return render_svg("residuals", "Residuals of unseen rows against predictions", paint, SMALL)


def draw_levels(level: Array) -> str:
    """Draw how many targets lie at which level of their predictive distributions."""

    def paint(axes: Axes) -> None:
        bins = 10
        expected = len(level) / bins
        spread = 2.0 * np.sqrt(expected * (1 - 1 / bins))
        axes.axhspan(expected - spread, expected + spread, color=MUTED, alpha=0.25, lw=0)
        axes.hist(level, bins=np.linspace(0, 1, bins + 1).tolist(), color=FIRST, rwidth=0.9)
        axes.set(xlabel="level in its predictive distribution", ylabel="rows", xlim=(0, 1))
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))

    return render_svg(
        "levels", "Levels of the targets in their predictive distributions", paint, SMALL
    )


def draw_effects(effects: Effects, label: str) -> str:
    """Draw means and intervals, one line each."""
    shown = slice(0, _MOST_BARS)
    names = [short_text(name, 26) for name in effects.names[shown]]

    def paint(axes: Axes) -> None:
        places = np.arange(len(names))[::-1]
        axes.axvline(0.0, color=MUTED, lw=1)
        axes.hlines(places, effects.low[shown], effects.high[shown], color=FIRST, lw=2.2, alpha=0.7)
        axes.plot(effects.mean[shown], places, "o", color=FIRST, ms=5)
        axes.set_yticks(places, names)
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.set_xlabel(label, loc="right")  # the names leave little room below the axis
        axes.locator_params(axis="x", nbins=5)
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")

    return render_svg(f"effects: {label}", label, paint, (BROAD, 0.9 + 0.26 * len(names)))


def draw_added(curve: EffectCurve, target: str, ends: tuple[float, float]) -> str:
    """Draw what a column adds to the prediction, with its band, on a scale that figures share."""
    assert curve.low is not None  # what is added is a number
    assert curve.high is not None
    low, high = curve.low, curve.high

    def paint(axes: Axes) -> None:
        axes.axhline(0.0, color=MUTED, lw=1)
        axes.fill_between(curve.at, low, high, color=FIRST, alpha=0.2, lw=0)
        axes.plot(curve.at, curve.lines[""], color=FIRST, lw=2)
        axes.set_ylim(*ends)
        number_ticks(axes)
        axes.set(xlabel=short_text(curve.name), ylabel=f"adds to {short_text(target, 14)}")

    return render_svg(f"added: {curve.name}", f"What {curve.name} adds to {target}", paint, SMALL)


def draw_curve(curve: EffectCurve, target: str) -> str:
    """Draw what is predicted as one number of a typical row changes."""

    def paint(axes: Axes) -> None:
        if curve.low is not None and curve.high is not None:
            axes.fill_between(curve.at, curve.low, curve.high, color=MUTED, alpha=0.25, lw=0)
        for k, (label, line) in enumerate(curve.lines.items()):
            style = ("-", "--", ":", "-.", (0, (1, 3)))[k]
            axes.plot(curve.at, line, color=FIRST, lw=2, ls=style, label=short_text(label, 12))
        number_ticks(axes)
        classes = curve.low is None
        name = f"P({short_text(target, 12)} = {short_text(next(iter(curve.lines)), 10)})"
        single = name if classes and len(curve.lines) == 1 else short_text(target)
        axes.set(
            xlabel=short_text(curve.name), ylabel="probability" if len(curve.lines) > 1 else single
        )
        if classes:
            axes.set_ylim(-0.03, 1.03)
        if len(curve.lines) > 1:
            axes.legend(frameon=False)

    return render_svg(f"curve: {curve.name}", f"{target} as {curve.name} changes", paint, SMALL)


def draw_sensitivity(curves: dict[str, dict[float, float]]) -> str:
    """Draw by how much the log evidence changes with the scale of the prior."""

    def paint(axes: Axes) -> None:
        looks = zip(curves.items(), (FIRST, SECOND), ("-", "--"), strict=False)
        for (name, curve), colour, dash in looks:
            scales = sorted(curve)
            change = [curve[scale] - curve[1.0] for scale in scales]
            axes.plot(scales, change, "o" + dash, color=colour, lw=1.8, ms=5, label=name)
        axes.set_xscale("log", base=2)
        axes.set_xticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "1", "2", "4"])
        axes.set(xlabel="scale of the prior, times", ylabel="change of log evidence")
        axes.locator_params(axis="y", nbins=5)
        place_legend(axes, above=True)

    return render_svg(
        "sensitivity", "Change of the log evidence with the scale of the prior", paint, SMALL
    )


def draw_association(names: list[str], matrix: Array) -> str:
    """Draw the associations of columns."""

    def paint(axes: Axes) -> None:
        shade(axes, matrix)
        labels = [short_text(name, 16) for name in names]
        axes.set_xticks(range(len(names)), labels, rotation=60, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(names)), labels)
        for (i, j), value in np.ndenumerate(matrix):
            if i != j:
                text = f"{value:.1f}".lstrip("0")
                axes.text(j, i, text, ha="center", va="center", color=INK, fontsize=9)

    size = (max(1.5 + 0.28 * len(names), 3.4), 1.5 + 0.27 * len(names))
    return render_svg("association", "Association of columns", paint, size)


def draw_spark(name: str, series: pd.Series, key: int) -> str:
    """Draw the distribution of one column, small."""

    def paint(axes: Axes) -> None:
        axes.set_axis_off()
        if pd.api.types.is_numeric_dtype(series.dtype):
            values = series.dropna().to_numpy(float)
            low, high = np.quantile(values, [0.005, 0.995]) if len(values) else (0.0, 1.0)
            axes.hist(np.clip(values, low, high), bins=24, color=FIRST)
            return
        counts = series.value_counts().to_numpy()[:24]
        axes.bar(range(len(counts)), counts, color=SECOND)

    return render_svg(f"spark{key}", f"Distribution of {name}", paint, (1.5, 0.42))


def number_ticks(axes: Axes) -> None:
    """Write the numbers of both axes as the page does, few enough to stand side by side."""
    for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        axis.set_major_locator(MaxNLocator(3 if max(map(abs, limits)) >= 1e4 else 5))
        axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))


def _some_rows(count: int) -> Any:
    step = max(1, count // _MOST_POINTS)
    return slice(None, None, step)
