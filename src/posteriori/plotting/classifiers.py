r"""Where a classifier of two columns chooses what, and how sure it is.

A boundary is where the best class is as good as the next,

.. math:: a_k(x) = \max_{j\ne k} a_j(x), \qquad a_k = \ln p(C_k\mid x),

with the scores of the classifier in place of log probabilities where it states none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.estimators.contract import (
    Classifies,
    ScoresClasses,
    StatesLogProbabilities,
    StatesProbabilities,
    offers,
)
from posteriori.numerics.lazy import mpl_colors, mpl_patches
from posteriori.numerics.types import Array
from posteriori.plotting.parts.frame import place_legend
from posteriori.plotting.parts.named_points import named_points, seen_names
from posteriori.plotting.parts.part_names import number_text
from posteriori.plotting.parts.style import INK, Axes, axes_for, color_of, marker_of
from posteriori.plotting.pictures.contours import check_box

__all__ = ["plot_boundary"]

#: Cells along a side of a map of classes.
_CELLS = 240
#: Probabilities whose contours are drawn between two classes.
_LEVELS = (0.1, 0.25, 0.75, 0.9)


class _Field(NamedTuple):
    """What a classifier says on a grid of x (G,) and y (G,).

    ``scores`` (G, G, K) are largest for the chosen class; ``probabilities`` may be None.
    """

    x: Array
    y: Array
    scores: Array
    probabilities: Array | None


def plot_boundary(
    model: Any,
    X: Any,
    y: Any = None,
    ax: Any = None,
    *,
    reject_loss: float | None = None,
    between: Any = None,
    names: Sequence[str] | None = None,
) -> Axes:
    """Draw what a classifier of two columns chooses, its boundaries, and the rows.

    The background has the colour of the chosen class, stronger where its probability is larger.
    Between two classes thin lines show where the second has probability 0.1, 0.25, 0.75 and 0.9.

    Parameters
    ----------
    model : fitted classifier of two columns
        Any with ``predict``; shaded by probability where it has ``predict_proba``.
    X : array_like (N, 2)
        Rows, which also set the range.
    y : array_like (N,), optional
        Their classes; the rows are not drawn if None.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    reject_loss : float, optional
        Hatch where no class reaches probability 1 − ``reject_loss``, as in
        :func:`posteriori.decision.decide`.
    between : pair of pairs of float, optional
        ``((low, high), (low, high))``, one pair for each column.
    names : pair of str, optional
        Names of the columns; those that the classifier has seen, or x₀ and x₁.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from posteriori.classification import GaussianDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["apple", "peach"], 30)
    >>> X = rng.normal(size=(60, 2)) + 2.0 * (y == "peach")[:, None]
    >>> ax = plot_boundary(GaussianDiscriminant().fit(X, y), X, y, reject_loss=0.1)
    >>> ax.get_legend_handles_labels()[1]
    ['apple', 'peach', 'no class reaches 0.9']
    """
    rows = _check_rows(model, X)
    if reject_loss is not None and not offers(model, StatesProbabilities):
        raise TypeError(
            f"reject_loss needs probabilities, which {type(model).__name__} does not state"
        )
    field = _evaluate(model, *_range(rows, between))
    with axes_for(ax, (4.8, 4.0)) as axes:
        _shade(axes, field)
        _draw_lines(axes, field)
        if y is not None:
            _draw_rows(axes, rows, y, model.classes_)
        if reject_loss is not None:
            _hatch(axes, field, float(reject_loss))
        seen = seen_names(model, ("x₀", "x₁"))
        given: Any = names or seen
        axes.set(
            xlabel=given[0],
            ylabel=given[1],
            xlim=(field.x[0], field.x[-1]),
            ylim=(field.y[0], field.y[-1]),
        )
        place_legend(axes, above=True)
    return axes


def _check_rows(model: Any, X: Any) -> Array:
    if not offers(model, Classifies):
        raise TypeError(f"model must be a fitted classifier, got {model!r}")
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"X must hold rows of two columns, got shape {rows.shape}")
    return rows


def _range(rows: Array, between: Any) -> tuple[Array, Array]:
    if between is not None:
        low, high = check_box(between)
    else:
        low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
        margin = 0.08 * np.where(high > low, high - low, 1.0)
        low, high = low - margin, high + margin
    x, y = (np.linspace(a, b, _CELLS) for a, b in zip(low, high, strict=True))
    return x, y


def _evaluate(model: Any, x: Array, y: Array) -> _Field:
    """Ask the classifier on a grid; a row of the grid is one value of y."""
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    points = named_points(model, grid.reshape(-1, 2))
    shape = (len(y), len(x), len(model.classes_))
    if offers(model, StatesProbabilities):
        p = np.asarray(model.predict_proba(points)).reshape(shape)
        with np.errstate(divide="ignore"):
            if offers(model, StatesLogProbabilities):
                scores = np.asarray(model.predict_log_proba(points)).reshape(shape)
            else:
                scores = np.log(p)
        return _Field(x, y, np.maximum(scores, -1e6), p)
    if offers(model, ScoresClasses):
        scores = np.asarray(model.decision_function(points))
        if scores.ndim == 1:
            scores = np.stack([-scores, scores], axis=-1)
        return _Field(x, y, scores.reshape(shape), None)
    chosen = np.asarray(model.predict(points))[:, None] == model.classes_
    return _Field(x, y, chosen.astype(np.float64).reshape(shape), None)


def _shade(axes: Axes, field: _Field) -> None:
    chosen, size = field.scores.argmax(axis=-1), field.scores.shape[-1]
    colors = np.array([mpl_colors.to_rgb(color_of(k)) for k in range(size)])
    image = np.empty((*chosen.shape, 4))
    image[..., :3] = colors[chosen]
    image[..., 3] = 0.2
    if field.probabilities is not None:
        chance = 1.0 / size
        sure = (field.probabilities.max(axis=-1) - chance) / (1.0 - chance)
        image[..., 3] = 0.04 + 0.36 * np.clip(sure, 0.0, 1.0)
    extent = (field.x[0], field.x[-1], field.y[0], field.y[-1])
    axes.imshow(image, extent=extent, origin="lower", aspect="auto", zorder=0)


def _draw_lines(axes: Axes, field: _Field) -> None:
    scores = field.scores
    size = scores.shape[-1]
    for k in range(size if size > 2 else 1):
        lead = scores[..., k] - np.delete(scores, k, axis=-1).max(axis=-1)
        if lead.min() < 0 < lead.max():
            axes.contour(field.x, field.y, lead, levels=[0.0], colors=[INK], linewidths=1.8)
    if size == 2 and field.probabilities is not None:
        odds = scores[..., 1] - scores[..., 0]
        levels = {np.log(p / (1 - p)): number_text(p) for p in _LEVELS}
        inside = [v for v in levels if odds.min() < v < odds.max()]
        if inside:
            drawn = axes.contour(
                field.x, field.y, odds, levels=inside, colors=[INK], linewidths=0.7, linestyles="--"
            )
            axes.clabel(drawn, fmt=levels, fontsize=8)


def _draw_rows(axes: Axes, rows: Array, y: Any, classes: Any) -> None:
    labels = np.asarray(y)
    if labels.shape != (len(rows),):
        raise ValueError(f"y must hold one class for each of {len(rows)} rows, got {labels.shape}")
    for k, name in enumerate(classes):
        mine = labels == name
        axes.scatter(
            rows[mine, 0],
            rows[mine, 1],
            s=18,
            color=color_of(k),
            marker=marker_of(k),
            edgecolors="white",
            linewidths=0.4,
            label=str(name),
            zorder=3,
        )


def _hatch(axes: Axes, field: _Field, reject_loss: float) -> None:
    """Hatch where the decision is left to somebody else."""
    assert field.probabilities is not None
    best, least = field.probabilities.max(axis=-1), 1.0 - reject_loss
    if best.min() < least:
        drawn = axes.contourf(
            field.x, field.y, best, levels=[-1.0, least], colors="none", hatches=["////"]
        )
        drawn.set(edgecolor=INK, linewidth=0.0)
    corner = (float(field.x[0]), float(field.y[0]))
    text = f"no class reaches {number_text(least)}"
    axes.add_patch(
        mpl_patches.Rectangle(corner, 0, 0, fill=False, ec=INK, lw=0, hatch="////", label=text)
    )
