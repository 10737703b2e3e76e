"""What a regression of one column predicts along it: the mean, and bands that hold new targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.estimators.contract import KeepsRows, offers
from posteriori.numerics.types import Array
from posteriori.plotting.parts.frame import place_legend
from posteriori.plotting.parts.members import Range
from posteriori.plotting.parts.named_points import named_points, seen_names
from posteriori.plotting.parts.style import COLORS, INK, Axes, axes_for
from posteriori.plotting.pictures.density_curves import check_between

__all__ = ["plot_prediction"]

#: Points of the curve.
_POINTS = 401
#: Share of the range of the rows that is shown beyond them on either side.
_MARGIN = 0.08


def plot_prediction(
    model: Any,
    X: Any = None,
    y: Any = None,
    ax: Any = None,
    *,
    between: Any = None,
    names: Sequence[str] | None = None,
    mass: Any = (0.5, 0.9),
) -> Axes:
    """Draw what a fitted regression of one column predicts, over the rows ``X`` and ``y``.

    Parameters
    ----------
    model : fitted regression of one column
        With ``predict_dist``.
    X : array_like (N, 1) or (N,), optional
        Rows, which also set the range; without them, those that a Gaussian process has seen do.
    y : array_like (N,), optional
        Their targets; the rows are not drawn if None.
    ax : matplotlib Axes, optional
    between : pair of float, optional
        The range; needed where there is no ``X`` and the model does not keep the rows that it saw.
    names : pair of str, optional
        Names of the column and of the target.
    mass : float or sequence of float
        Shares of new targets that the bands hold.
    """
    _check_model(model)
    rows = None if X is None else _check_column(X)
    targets = None if y is None else _check_targets(rows, y)
    seen = model.X_[:, 0] if rows is None and offers(model, KeepsRows) else rows
    x = np.linspace(*_range(seen, between), _POINTS)
    believed = model.predict_dist(named_points(model, x[:, None]))
    if np.shape(believed.mean) != x.shape:
        raise TypeError("a regression of several outputs has no plot; fit one for each output")
    given = names or (*seen_names(model, ("x",)), "y")
    with axes_for(ax) as axes:
        _draw_bands(axes, x, believed, np.atleast_1d(mass))
        if rows is not None and targets is not None:
            axes.plot(rows, targets, "o", color=INK, ms=3, mew=0, label="rows")
        axes.set(xlabel=given[0], ylabel=given[1], xlim=(x[0], x[-1]))
        place_legend(axes)
    return axes


def _check_model(model: Any) -> None:
    columns = getattr(model, "n_features_in_", None)
    if columns is None:
        raise TypeError(f"{type(model).__name__} is not fitted yet; call fit, then plot it")
    if columns != 1:
        raise TypeError(f"a regression of {columns} columns has no plot; plot takes those of one")


def _check_column(X: Any) -> Array:
    rows = np.asarray(X, dtype=np.float64)
    if rows.size == 0 or rows.shape not in ((len(rows),), (len(rows), 1)):
        raise ValueError(f"X must hold rows of one column, got shape {rows.shape}")
    return rows.reshape(-1)


def _check_targets(rows: Array | None, y: Any) -> Array:
    targets = np.asarray(y, dtype=np.float64)
    if rows is None:
        raise ValueError("y needs X: say where the targets were seen")
    if targets.shape != rows.shape:
        raise ValueError(f"y must hold a target for each of {len(rows)} rows, got {targets.shape}")
    return targets


def _range(rows: Array | None, between: Any) -> Range:
    if between is not None:
        return check_between(between)
    if rows is None:
        raise ValueError("say where to draw: X= gives the rows, between=(low, high) the range")
    low, high = float(np.nanmin(rows)), float(np.nanmax(rows))
    margin = _MARGIN * (high - low if high > low else 1.0)
    return low - margin, high + margin


def _draw_bands(axes: Axes, x: Array, believed: Any, masses: Array) -> None:
    """Draw the mean, and behind it the bands, narrow ones over wide ones."""
    for m in np.sort(masses)[::-1]:
        low, high = believed.interval(m)
        axes.fill_between(x, low, high, color=COLORS[0], alpha=0.2, lw=0, label=f"{100 * m:g}%")
    axes.plot(x, believed.mean, color=COLORS[0], label="mean")
