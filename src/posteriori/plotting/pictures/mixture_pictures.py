r"""Mixtures of one or two columns: weighted components, and rows in the colours of those they belong to.

.. math:: p(x) = \sum_k \pi_k\,p_k(x), \qquad p(k\mid x) = \frac{\pi_k\,p_k(x)}{p(x)}.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.composites.mixture import MixtureFamily
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.estimators.contract import NamesColumns, offers
from posteriori.numerics.lazy import mpl_colors
from posteriori.numerics.types import Array
from posteriori.plotting.parts.frame import place_legend
from posteriori.plotting.parts.style import COLORS, INK, Axes, axes_for, color_of, dashes_of, shades
from posteriori.plotting.pictures.contours import check_box

__all__ = ["draw_components", "plot_mixture"]

#: A component of a smaller share is left out where there are no rows to count.
_EMPTY = 0.005

#: More components than this are not named.
_MAX_NAMED = 6

#: Standard deviations that ellipses and ranges reach.
_ELLIPSES, _REACH = (1.0, 2.0), 3.5


class _Shapes(NamedTuple):
    """Components that are not empty.

    Attributes
    ----------
    which : (C,)
        Their numbers.
    weights : (C,)
    means : (C, D)
    covs : (C, D, D)
    colors : list of K
        Of all components.
    """

    which: Any
    weights: Array
    means: Array
    covs: Array
    colors: list[Any]


def plot_mixture(
    thing: Any,
    X: Any = None,
    ax: Any = None,
    *,
    between: Any = None,
    names: Sequence[str] | None = None,
) -> Axes:
    """Draw a mixture of one or two columns, with the rows that it describes.

    One column: the density and its weighted components over the rows. Two columns: rows in the colours
    of the components that they belong to, mixed by responsibility, and one and two standard deviations
    of each component. Components that hold less than half a row are left out.

    Parameters
    ----------
    thing : fitted mixture, or Mixture
    X : array_like (N, D) or (N,), optional
        Rows; those with gaps are not drawn.
    ax : matplotlib Axes, optional
    between : pair of float, or a pair of pairs
        The range of each column.
    names : sequence of str, optional
        Names of the columns.
    """
    mixture = thing if isinstance(thing, MixtureFamily) else thing.model_
    width = _width(mixture)
    rows = None if X is None else _check_rows(X, width)
    shapes = _shapes(mixture, width, None if rows is None else len(rows))
    given: Any = names or (thing.feature_names_in_ if offers(thing, NamesColumns) else None)
    seen = None if rows is None else rows[np.isfinite(rows).all(axis=1)]
    with axes_for(ax, (5.4, 3.1) if width == 1 else (4.8, 4.0)) as axes:
        if width == 1:
            _draw_density(axes, mixture, seen, shapes, between)
            height = "probability" if mixture._has_atoms else "density"
            axes.set(xlabel="x" if given is None else given[0], ylabel=height)
            place_legend(axes)
        else:
            if seen is not None:
                share = _shares(thing, seen, len(shapes.colors))
                _draw_rows(axes, seen, share, shapes.colors)
            _draw_ellipses(axes, shapes)
            if between is not None:
                low, high = check_box(between)
                axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
            xlabel, ylabel = ("x₀", "x₁") if given is None else given
            axes.set(xlabel=xlabel, ylabel=ylabel)
            place_legend(axes, above=True)
    return axes


def draw_components(axes: Axes, mixture: Any, x: Array, count: int | None = None) -> None:
    """Draw weighted densities of components at points (n,) of one column, for ``count`` rows."""
    parts = mixture.components
    which, colors = _filled(mixture, count), _colors(mixture.n_components)
    points = x[:, None] if parts.event_shape == () else x[:, None, None]
    with np.errstate(divide="ignore", under="ignore"):
        each = mixture.probabilities * np.exp(parts.log_prob(points))
    for place, k in enumerate(which):
        label = f"component {k}: {mixture.probabilities[k]:.3g}"
        name = label if len(which) <= _MAX_NAMED else "_"
        axes.plot(x, each[:, k], color=colors[k], ls=dashes_of(place + 1), lw=1.4, label=name)


def _width(mixture: Any) -> int:
    """Return the number of columns: one or two."""
    shape = (*mixture.batch_shape, *mixture.event_shape)
    width = 1 if shape == () else shape[0] if len(shape) == 1 else 0
    if width not in (1, 2):
        raise TypeError(
            f"a mixture of shape {shape} has no plot; plot takes those of one or two columns"
        )
    return int(width)


def _check_rows(X: Any, width: int) -> Array:
    rows = np.asarray(X, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 and width == 1 else rows
    if rows.ndim != 2 or rows.shape[1] != width:
        raise ValueError(f"X must hold rows of {width} columns, got shape {rows.shape}")
    return rows


def _shapes(mixture: Any, width: int, count: int | None) -> _Shapes:
    weights, which = _weights(mixture), _filled(mixture, count)
    parts, colors = mixture.components, _colors(len(weights))
    if mixture.batch_shape:  # columns are independent in a component: (D, K)
        means, covs = parts.mean.T, parts.variance.T[..., None] * np.eye(width)
    elif parts.event_shape == ():
        means, covs = parts.mean[:, None], parts.variance[:, None, None]
    else:
        means, covs = _moments(parts)
    return _Shapes(which, weights[which], means[which], covs[which], colors)


def _weights(mixture: Any) -> Array:
    """Return the weights (K,), which columns share where these are a batch."""
    return np.asarray(mixture.probabilities).reshape(-1, mixture.n_components)[0]


def _filled(mixture: Any, count: int | None) -> Any:
    """Return which components hold a row, or half of one."""
    return np.flatnonzero(_weights(mixture) >= (_EMPTY if count is None else 0.5 / count))


def _colors(k: int) -> list[Any]:
    return [color_of(i) for i in range(k)] if k <= len(COLORS) else shades(k)


def _moments(parts: Any) -> tuple[Array, Array]:
    """Return means and covariances of vectors; the scale of tails so heavy that there are none."""
    if not isinstance(parts, MvStudentT):
        return parts.mean, parts.cov
    spare = np.where(parts.dof > 2.0, parts.dof - 2.0, parts.dof)
    return parts.location, (parts.dof / spare)[..., None, None] * parts.scale


def _shares(thing: Any, rows: Array, k: int) -> Array:
    if isinstance(thing, MixtureFamily):
        return np.asarray(thing.responsibilities(rows)).reshape(len(rows), -1)
    return np.asarray(thing.predict_proba(rows)).reshape(len(rows), k)


def _draw_density(
    axes: Axes, mixture: Any, rows: Array | None, shapes: _Shapes, between: Any
) -> None:
    low, high = _range(rows, shapes) if between is None else map(float, between)
    discrete = bool(mixture.components._has_atoms)
    x = np.arange(np.ceil(low), np.floor(high) + 1.0) if discrete else np.linspace(low, high, 801)
    density = np.exp(mixture.log_prob(x if mixture.event_shape == () else x[:, None]))
    if discrete:
        x, density = x[density > 0], density[density > 0]
        low = x[0] - 0.6
    if rows is not None:
        bins: Any = np.append(x - 0.5, x[-1] + 0.5) if discrete else _bins(rows[:, 0])
        axes.hist(rows[:, 0], bins=bins, density=True, color=INK, alpha=0.25, label="rows")
        if len(rows) <= 200:  # more marks run into one
            axes.plot(rows[:, 0], np.zeros(len(rows)), "|", color=INK, ms=8, clip_on=False)
    axes.plot(x, density, color=INK, marker="o" if discrete else None, ms=4, label="mixture")
    draw_components(axes, mixture, x, None if rows is None else len(rows))
    axes.set_xlim(low, high)
    axes.set_ylim(bottom=0.0)


def _range(rows: Array | None, shapes: _Shapes) -> tuple[float, float]:
    spread = np.sqrt(shapes.covs[:, 0, 0])
    low = float(np.min(shapes.means[:, 0] - _REACH * spread))
    high = float(np.max(shapes.means[:, 0] + _REACH * spread))
    if rows is None:
        return low, high
    least, most = float(rows.min()), float(rows.max())
    margin = 0.08 * (most - least)
    return min(least - margin, max(low, least - 3.0 * margin)), max(
        most + margin, min(high, most + 3.0 * margin)
    )


def _bins(x: Array) -> Any:
    """Return a number of bins by the rule of Freedman and Diaconis, between 10 and 60."""
    low, high = np.quantile(x, [0.25, 0.75])
    width = 2.0 * (high - low) * len(x) ** (-1.0 / 3.0)
    return int(np.clip(np.ptp(x) / width, 10, 60)) if width > 0 else 10


def _draw_rows(axes: Axes, rows: Array, share: Array, colors: list[Any]) -> None:
    mixed = np.clip(share @ np.array([mpl_colors.to_rgb(color) for color in colors]), 0.0, 1.0)
    axes.scatter(rows[:, 0], rows[:, 1], c=mixed, s=12, alpha=0.75, lw=0)


def _draw_ellipses(axes: Axes, shapes: _Shapes) -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    for k, weight, mean, cov in zip(*shapes[:4], strict=True):
        edge = np.linalg.cholesky(cov) @ circle
        label = f"component {k}: {weight:.3g}" if len(shapes.which) <= _MAX_NAMED else "_"
        for deviations in _ELLIPSES:
            x, y = mean[:, None] + deviations * edge
            first = deviations == _ELLIPSES[0]
            width = 1.8 if first else 0.9
            axes.plot(x, y, color=shapes.colors[k], lw=width, label=label if first else "_")
        axes.plot(*mean, "+", color=shapes.colors[k], ms=8)
