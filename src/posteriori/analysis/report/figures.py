"""The figures of the report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from posteriori.analysis.analyzing import Analysis
from posteriori.analysis.report.effects import Effects
from posteriori.distributions.batches import has_atoms
from posteriori.numerics.types import Array
from posteriori.plotting.page_figures import FIRST, INK, MUTED, SECOND, render_svg
from posteriori.selection.held_out import predictive_of

__all__ = [
    "draw_association",
    "draw_calibration",
    "draw_confusion",
    "draw_density",
    "draw_effects",
    "draw_predictions",
    "draw_ranking",
    "draw_residuals",
    "draw_sensitivity",
    "draw_spark",
]

_MOST_POINTS = 800
_MOST_BARS = 20
#: Sizes in inches: texts of all figures come out about as large as those of the page.
_BROAD = 5.6
_SMALL = (4.0, 2.8)
_CENTRED: dict[str, Any] = {"ha": "center", "va": "center", "color": INK}


def draw_ranking(analysis: Analysis) -> str:
    """Draw how far each model is behind the best, with two standard errors."""
    rows = [r for r in analysis.ranking.rows if not r.failure and np.isfinite(r.elpd_difference)]
    per_row = len(analysis.problem.y)

    def paint(axes: Axes) -> None:
        places = np.arange(len(rows))[::-1]
        gap = np.array([r.elpd_difference for r in rows]) / per_row
        error = 2.0 * np.nan_to_num([r.elpd_difference_se for r in rows]) / per_row
        axes.axvline(0.0, color=MUTED, lw=1)
        marks: dict[str, Any] = {"fmt": "o", "color": FIRST, "lw": 1.6, "ms": 6}
        axes.set_yticks(places, [r.name for r in rows])
        axes.set(xlabel="log density per row, behind the best")
        far = _far_below(gap, error)
        if far.any():  # they would squeeze the others
            left, right = (gap - error)[~far].min(), (gap + error)[~far].max()
            edge = left - 0.1 * (right - left)
            axes.set_xlim(left=edge - 0.04 * (right - left), right=right + 0.05 * (right - left))
            axes.plot(np.full(far.sum(), edge), places[far], "<", color=FIRST, ms=7)
            axes.errorbar(gap[~far], places[~far], xerr=error[~far], **marks)
        else:
            axes.errorbar(gap, places, xerr=error, **marks)
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.locator_params(axis="x", nbins=6)
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")

    size = (_BROAD, 0.9 + 0.3 * len(rows))
    return render_svg("ranking", "How far each model is behind the best", paint, size)


def _far_below(gap: Array, error: Array) -> Array:
    """Tell which differences lie several times as far down as the bars of all smaller ones."""
    order = np.argsort(-gap)
    reach = np.maximum.accumulate((error - gap)[order])
    for k in range(2, len(gap)):
        if -gap[order[k]] > 4.0 * reach[k - 1] > 0.0:
            far = np.zeros(len(gap), dtype=bool)
            far[order[k:]] = True
            return far
    return np.zeros(len(gap), dtype=bool)


def draw_predictions(analysis: Analysis) -> str:
    """Draw targets against predictions of unseen rows."""
    unseen = analysis.outcomes[analysis.ranking.best].unseen
    assert unseen is not None
    rows = _some_rows(len(analysis.problem.y))
    predicted, actual = unseen.prediction[rows], analysis.problem.y[rows]

    def paint(axes: Axes) -> None:
        low, high = min(predicted.min(), actual.min()), max(predicted.max(), actual.max())
        axes.plot([low, high], [low, high], color=SECOND, lw=1.5, ls="--")
        axes.plot(predicted, actual, "o", color=FIRST, ms=3.2, alpha=0.5, mew=0)
        axes.locator_params(nbins=6)
        axes.set(xlabel="predicted without the row", ylabel=_short(analysis.target.column.name))

    return render_svg("predictions", "Targets against predictions of unseen rows", paint, _SMALL)


def draw_density(analysis: Analysis) -> str:
    """Draw the targets with the predictive density of another one."""
    y = analysis.problem.y
    predictive = predictive_of(analysis.best, analysis.problem.X.iloc[:1])

    def paint(axes: Axes) -> None:
        low, high = np.quantile(y, [0.001, 0.999])
        axes.hist(y[(y >= low) & (y <= high)], bins=40, density=True, color=MUTED, alpha=0.5)
        whole = has_atoms(predictive)
        grid = np.arange(np.floor(low), high + 1) if whole else np.linspace(low, high, 300)
        density = np.exp([float(np.squeeze(predictive.log_prob(value))) for value in grid])
        axes.plot(grid, density, "o" if whole else "-", color=FIRST, lw=2, ms=4)
        axes.set(xlabel=_short(analysis.target.column.name), ylabel="density")

    return render_svg("density", "Targets and the predictive density of another one", paint, _SMALL)


def draw_residuals(analysis: Analysis) -> str:
    """Draw residuals of unseen rows against predictions."""
    unseen = analysis.outcomes[analysis.ranking.best].unseen
    assert unseen is not None
    rows = _some_rows(len(analysis.problem.y))
    predicted = unseen.prediction[rows]
    residual = analysis.problem.y[rows] - predicted

    def paint(axes: Axes) -> None:
        axes.axhline(0.0, color=SECOND, lw=1.5, ls="--")
        axes.plot(predicted, residual, "o", color=FIRST, ms=3.2, alpha=0.5, mew=0)
        axes.locator_params(nbins=6)
        axes.set(xlabel="predicted without the row", ylabel="residual")

    return render_svg("residuals", "Residuals of unseen rows against predictions", paint, _SMALL)


def draw_calibration(analysis: Analysis) -> str:
    """Draw whether stated probabilities came true: levels of numbers, or shares of classes."""
    unseen = analysis.outcomes[analysis.ranking.best].unseen
    assert unseen is not None
    classes = analysis.problem.classes
    if classes is None:
        return _draw_levels(unseen.level)
    codes = np.searchsorted(classes, analysis.problem.y)
    truth = (codes[:, None] == np.arange(len(classes))).astype(float)
    if len(classes) == 2:  # the other class says the same again
        return _draw_reliability(unseen.prediction[:, 1], truth[:, 1])
    return _draw_reliability(unseen.prediction.ravel(), truth.ravel())


def _draw_levels(level: Array) -> str:
    def paint(axes: Axes) -> None:
        bins = 10
        expected = len(level) / bins
        spread = 2.0 * np.sqrt(expected * (1 - 1 / bins))
        axes.axhspan(expected - spread, expected + spread, color=MUTED, alpha=0.25, lw=0)
        axes.hist(level, bins=np.linspace(0, 1, bins + 1).tolist(), color=FIRST, rwidth=0.9)
        axes.set(xlabel="predictive probability of less than what came", ylabel="rows", xlim=(0, 1))

    return render_svg(
        "levels", "Levels of the targets in their predictive distributions", paint, _SMALL
    )


def _draw_reliability(stated: Array, came: Array) -> str:
    edges = np.unique(np.quantile(stated, np.linspace(0, 1, 11)))
    cell = np.clip(np.searchsorted(edges, stated, side="right") - 1, 0, max(len(edges) - 2, 0))
    count = np.bincount(cell)
    kept = count > 0
    count = count[kept]
    x = (np.bincount(cell, weights=stated)[kept]) / count
    y = (np.bincount(cell, weights=came)[kept]) / count
    error = 2.0 * np.sqrt(np.maximum(x * (1 - x), 0.25 / count) / count)

    def paint(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=MUTED, lw=1)
        axes.errorbar(x, y, yerr=error, fmt="o-", color=FIRST, lw=1.4, ms=5)
        axes.set(xlabel="stated probability", ylabel="share that came true")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))

    return render_svg(
        "reliability", "Stated probabilities against shares that came true", paint, _SMALL
    )


def draw_confusion(analysis: Analysis) -> str:
    """Draw how many rows of each class are predicted to be of which."""
    unseen = analysis.outcomes[analysis.ranking.best].unseen
    assert unseen is not None
    classes = analysis.problem.classes[:_MOST_BARS]
    codes = np.searchsorted(analysis.problem.classes, analysis.problem.y)
    table = np.zeros((len(classes), len(classes)), dtype=int)
    chosen = unseen.prediction.argmax(axis=1)
    inside = (codes < len(classes)) & (chosen < len(classes))
    np.add.at(table, (codes[inside], chosen[inside]), 1)
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1)

    def paint(axes: Axes) -> None:
        _shade(axes, share)
        for (i, j), number in np.ndenumerate(table):
            if len(classes) <= 10 and number:
                axes.text(j, i, f"{number:,}", **_CENTRED, fontsize=10)
        labels = [_short(str(label), 14) for label in classes]
        crowded = sum(map(len, labels)) > 24
        axes.set_xticks(range(len(classes)), labels, rotation=30 if crowded else 0)
        axes.set_yticks(range(len(classes)), labels)
        axes.set(xlabel="predicted", ylabel="true")

    size = (max(_SMALL[0], 0.4 * len(classes) + 1.6), max(_SMALL[1], 0.34 * len(classes) + 1.2))
    return render_svg("confusion", "True and predicted classes of unseen rows", paint, size)


def draw_effects(effects: Effects, label: str) -> str:
    """Draw means and intervals, one line each."""
    shown = slice(0, _MOST_BARS)
    names = [_short(name, 26) for name in effects.names[shown]]

    def paint(axes: Axes) -> None:
        places = np.arange(len(names))[::-1]
        axes.axvline(0.0, color=MUTED, lw=1)
        axes.hlines(places, effects.low[shown], effects.high[shown], color=FIRST, lw=2.2, alpha=0.7)
        axes.plot(effects.mean[shown], places, "o", color=FIRST, ms=5)
        axes.set_yticks(places, names)
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.set(xlabel=label)
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")

    return render_svg("effects", label, paint, (_BROAD, 0.9 + 0.26 * len(names)))


def draw_sensitivity(analysis: Analysis) -> str:
    """Draw the log evidence against the scale of the prior."""
    curves = {name: dict(sorted(c.items())) for name, c in analysis.sensitivity.items() if c}

    def paint(axes: Axes) -> None:
        for (name, curve), colour, dash in zip(
            curves.items(), (FIRST, SECOND), ("-", "--"), strict=False
        ):
            scales = np.array(list(curve))
            value = np.array(list(curve.values()))
            axes.plot(scales, value, "o" + dash, color=colour, lw=1.8, ms=5, label=name)
        axes.set_xscale("log", base=2)
        axes.set_xticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "1", "2", "4"])
        axes.set(xlabel="scale of the prior, times", ylabel="log evidence")
        axes.legend()

    return render_svg("sensitivity", "Log evidence against the scale of the prior", paint, _SMALL)


def draw_association(names: list[str], matrix: Array) -> str:
    """Draw the associations of columns."""

    def paint(axes: Axes) -> None:
        _shade(axes, matrix)
        labels = [_short(name, 16) for name in names]
        axes.set_xticks(range(len(names)), labels, rotation=60, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(names)), labels)
        if len(names) <= 12:
            for (i, j), value in np.ndenumerate(matrix):
                if i != j:
                    axes.text(j, i, f"{value:.1f}".lstrip("0"), **_CENTRED, fontsize=8)

    size = (2.2 + 0.36 * len(names), 1.8 + 0.3 * len(names))
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


def _shade(axes: Axes, table: Array) -> None:
    """Paint cells darker the larger they are, in a colour that follows the page."""
    for (i, j), value in np.ndenumerate(table):
        axes.fill_between(
            [j - 0.48, j + 0.48], i - 0.48, i + 0.48, color=FIRST, alpha=float(value) * 0.75, lw=0
        )
    axes.set(xlim=(-0.5, table.shape[1] - 0.5), ylim=(table.shape[0] - 0.5, -0.5))
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(length=0)


def _some_rows(count: int) -> Any:
    step = max(1, count // _MOST_POINTS)
    return slice(None, None, step)


def _short(text: str, limit: int = 24) -> str:
    """Cut a long text in the middle: names of columns begin, and levels end, each in its own way."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    end = (limit - 1) // 3
    return line[: limit - 1 - end] + "…" + line[-end:]
