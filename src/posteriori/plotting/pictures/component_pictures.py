"""Components: their variances, rows and columns along two of them, components as images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.estimators.estimator_rows import column_names
from posteriori.numerics.lazy import mpl_colors, mpl_ticker
from posteriori.numerics.types import Array
from posteriori.plotting.parts.style import COLORS, INK, Axes, axes_for, color_of, panels_for

__all__ = ["plot_components", "plot_principal"]

#: Of more rows than this a part is drawn, and dots are fainter.
_MOST_ROWS = 3000

#: Of more columns than this the longest arrows are named.
_MOST_NAMES = 12

#: Images side by side, and how many are drawn at most.
_ACROSS, _MOST_IMAGES = 5, 20


def plot_principal(model: Any, ax: Any = None, **options: Any) -> Any:
    """Draw principal components: their variances, or what ``X`` or ``shape`` ask for."""
    if options:
        return plot_components(model, ax=ax, **options)
    values = np.asarray(model.eigenvalues_)
    kept, numbers = model.n_components_, np.arange(1, len(values) + 1)
    with axes_for(ax) as axes:
        axes.plot(numbers, values, marker="o", ms=5, color=INK, lw=1.2, alpha=0.7)
        share = float(np.sum(model.explained_variance_ratio_))
        label = f"kept: {kept}, {share:.1%} of the variance"
        axes.plot(numbers[:kept], values[:kept], "o", ms=7, color=COLORS[0], label=label)
        axes.set_ylim(bottom=0.0)
        axes.xaxis.set_major_locator(mpl_ticker.MaxNLocator(integer=True))
        axes.set(xlabel="component", ylabel="variance (eigenvalue)")
        axes.legend(loc="upper right")
    return axes


def plot_components(
    model: Any,
    ax: Any = None,
    *,
    X: Any = None,
    y: Any = None,
    components: tuple[int, int] = (0, 1),
    names: Sequence[str] | None = None,
    shape: tuple[int, int] | None = None,
) -> Any:
    """Draw loadings; rows and columns along two components (a biplot); or components as images.

    Parameters
    ----------
    model : fitted PCA, ProbabilisticPCA, FactorAnalysis or ICA
    ax : matplotlib Axes, or several for images, optional
    X : (N, D), optional
        Rows, drawn by their scores, with an arrow for each column.
    y : (N,), optional
        Labels, which colour the rows.
    components : (int, int)
        Which two.
    names : sequence of str, optional
        Of the columns.
    shape : (int, int), optional
        Height and width of the image that a row is.
    """
    if shape is not None:
        return _draw_images(model, ax, shape)
    named = list(column_names(model)) if names is None else list(names)
    if X is None:
        return _draw_loadings(model, ax, named)
    i, j = components
    if len(model.components_) <= max(i, j):
        raise ValueError(f"components {i} and {j} need {max(i, j) + 1} components to be fitted")
    scores = np.asarray(model.transform(X))[:, [i, j]]
    with axes_for(ax, (5.4, 4.4)) as axes:
        _draw_rows(axes, scores, y)
        _draw_arrows(axes, np.asarray(model.components_)[[i, j]], scores, named)
        axes.axhline(0.0, color=INK, lw=0.6, alpha=0.5)
        axes.axvline(0.0, color=INK, lw=0.6, alpha=0.5)
        axes.set(xlabel=f"component {i + 1}", ylabel=f"component {j + 1}")
    return axes


def _draw_rows(axes: Axes, scores: Array, y: Any) -> None:
    step = -(-len(scores) // _MOST_ROWS)
    scores = scores[::step]
    labels = None if y is None else np.asarray(y)[::step]
    dots: dict[str, Any] = {"ls": "", "marker": "o", "ms": 4, "alpha": 0.45, "mew": 0}
    if labels is None:
        axes.plot(*scores.T, color=COLORS[0], **dots)
        return
    for position, level in enumerate(np.unique(labels)):
        axes.plot(*scores[labels == level].T, color=color_of(position), label=str(level), **dots)
    axes.legend(loc="best", markerscale=1.6)


def _draw_arrows(axes: Axes, loadings: Array, scores: Array, names: list[str]) -> None:
    """Draw the columns as arrows, which go no farther than the rows do."""
    lengths = np.hypot(*loadings)
    spans = np.abs(scores).max(axis=0) / np.maximum(
        np.abs(loadings).max(axis=1), 1e-300
    )  # not by 0
    reach = spans.min()
    shown = np.argsort(-lengths)[:_MOST_NAMES]
    for column in shown:
        tip = 0.9 * reach * loadings[:, column]
        arrow = {"arrowstyle": "->", "color": COLORS[1], "lw": 1.4}
        axes.annotate("", tip, (0.0, 0.0), arrowprops=arrow)
        axes.annotate(
            names[column], 1.08 * tip, color=COLORS[1], ha="center", va="center", fontsize=9
        )
    axes.margins(0.12)


def _draw_loadings(model: Any, ax: Any, names: list[str]) -> Axes:
    loadings = np.asarray(model.components_)
    k, d = loadings.shape
    with axes_for(ax, (min(2.4 + 0.45 * d, 9.0), 1.4 + 0.4 * k)) as axes:
        image = axes.imshow(loadings, cmap=_diverging(), norm=_centred(loadings), aspect="auto")
        axes.set_yticks(range(k), [str(i + 1) for i in range(k)])
        step = max(1, d // 20)
        axes.set_xticks(range(0, d, step), names[::step], rotation=30, ha="right")
        axes.set(ylabel="component")
        axes.figure.colorbar(image, ax=axes, label="loading")
    return axes


def _draw_images(model: Any, ax: Any, shape: tuple[int, int]) -> Any:
    loadings = np.asarray(model.components_)[:_MOST_IMAGES]
    k, d = loadings.shape
    if int(np.prod(shape)) != d:
        raise ValueError(f"shape {tuple(shape)} holds {int(np.prod(shape))} of {d} columns")
    across = min(k, _ACROSS)
    down = -(-k // across)
    with panels_for(ax, (down, across), k, (1.5 * across, 1.65 * down)) as panels:
        for position, (axes, loading) in enumerate(zip(panels, loadings, strict=True)):
            axes.imshow(loading.reshape(shape), cmap=_diverging(), norm=_centred(loading))
            axes.set_title(str(position + 1), fontsize=9)
            axes.set_axis_off()
    return np.array(panels)


def _diverging() -> Any:
    """Return colours from one sign to the other, with nothing in between."""
    ends = [COLORS[1], f"{COLORS[1]}00", f"{COLORS[0]}00", COLORS[0]]
    places = [0.0, 0.5, 0.5, 1.0]
    colours = list(zip(places, ends, strict=True))
    return mpl_colors.LinearSegmentedColormap.from_list("signs", colours)


def _centred(loadings: Array) -> Any:
    size = float(np.abs(loadings).max()) or 1.0
    return mpl_colors.Normalize(-size, size)
