"""Data against what a model expects of them, once it has learned from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.modeling.posterior.pointwise import replicate
from posteriori.numerics.lazy import mpl_ticker
from posteriori.numerics.types import Array
from posteriori.plotting.parts.frame import place_legend
from posteriori.plotting.parts.style import COLORS, INK, Axes, panels_for

__all__ = ["plot_posterior_predictive"]

#: Tables that are drawn anew, each from other parameters.
_DRAWN = 400
#: Panels at most, and the size of one in inches.
_MOST, _SIZE = 6, (5.4, 3.1)
#: Values of counts that have a place each.
_MOST_VALUES = 60


def plot_posterior_predictive(
    posterior: Any, ax: Any = None, *, mass: float = 0.9, **seen: Any
) -> Any:
    """Draw how data are spread, and how tables would be that the model draws anew.

    The shares of the data in some intervals, or of each count, stand before those of tables of the same
    size, each drawn from other parameters of the posterior: their mean, and a band that holds ``mass`` of them.
    Where the data leave the band, the model does not describe them.

    Parameters
    ----------
    posterior : Posterior
        From ``Model.infer``.
    ax : Axes, or as many as vectors have coordinates, optional
        Where to draw; a new figure if None.
    mass : float
        Share of the tables that the band holds.
    **seen
        The data of one observed variable by its name: ``y=y``.

    Returns
    -------
    array of Axes, one, or one for each coordinate of vectors
    """
    if not 0.0 < mass < 1.0:
        raise ValueError(f"mass must be a number between 0 and 1, got {mass!r}")
    if len(seen) != 1:
        raise ValueError(
            'give the data of one observed variable by its name, as in plot(post, "predictive", y=y)'
        )
    ((name, values),) = seen.items()
    observed = list(posterior._solved.bound.observed)
    if name not in observed:
        raise ValueError(f"{name!r} was not observed; what was: {', '.join(observed) or 'nothing'}")
    drawn = replicate(posterior, name, _DRAWN, 0)
    data, labels = _read(posterior, name, values, drawn.shape[1:])
    events = len(posterior._solved.bound.layouts[name].events)
    columns = [*np.moveaxis(drawn, -1, 0)] if events else [drawn]
    own = [*np.moveaxis(data, -1, 0)] if events else [data]
    if len(columns) > _MOST:
        raise ValueError(f"{name} has {len(columns)} coordinates, more than {_MOST} panels")
    size = (_SIZE[0] * len(columns), _SIZE[1])
    with panels_for(ax, (1, len(columns)), len(columns), size) as panels:
        for k, (axes, one, all_drawn) in enumerate(zip(panels, own, columns, strict=True)):
            there = ~np.isnan(one)
            _draw(axes, one[there], all_drawn[:, there], mass, labels)
            axes.set_xlabel(f"{name}[{k}]" if events else name)
    return np.array(panels)


def _read(
    posterior: Any, name: str, values: Any, shape: tuple[int, ...]
) -> tuple[Array, list[str] | None]:
    """Return the data as numbers, states as codes, and the labels of these."""
    labels = posterior._solved.bound.labels.get(name)
    given = np.asarray(values)
    if labels is not None:
        codes = {label: k for k, label in enumerate(labels)}
        try:
            given = np.reshape([codes[label] for label in given.ravel()], given.shape)
        except KeyError as error:
            raise ValueError(
                f"{name} has no state {str(error.args[0])!r}; it has {labels}"
            ) from None
    data = given.astype(np.float64)
    if data.shape != shape:
        raise ValueError(
            f"{name} must be the data that the posterior was learned from, of shape {shape}, got "
            f"{data.shape}"
        )
    return data, None if labels is None else [str(label) for label in labels]


def _draw(axes: Axes, data: Array, drawn: Array, mass: float, labels: list[str] | None) -> None:
    values = np.unique(np.concatenate([data.ravel(), drawn.ravel()]))
    rows, tables = data.ravel(), drawn.reshape(len(drawn), -1)
    told = f"{len(rows)} data"
    if np.array_equal(values, np.round(values)) and np.ptp(values) < _MOST_VALUES:
        edges = np.arange(values[0], values[-1] + 2.0) - 0.5
        axes.set_ylabel("share")
        axes.xaxis.set_major_locator(mpl_ticker.MaxNLocator(integer=True))
    else:
        edges = _edges(rows, tables)
        axes.set_ylabel("density")
    whole = len(rows) * np.diff(edges)  # of counts, whose intervals are 1 wide, the number of rows
    seen, *shares = (np.histogram(x, edges)[0] / whole for x in (rows, *tables))
    low, high = np.quantile(shares, [0.5 - mass / 2, 0.5 + mass / 2], axis=0)
    band = f"{100 * mass:.4g}% of tables drawn anew"
    axes.stairs(high, edges, baseline=low, fill=True, color=COLORS[0], alpha=0.3, label=band)
    axes.stairs(
        np.mean(shares, axis=0), edges, color=COLORS[0], lw=1.6, ls="--", label="their mean"
    )
    axes.stairs(seen, edges, color=INK, lw=2.2, label=told)
    axes.set(xlim=edges[[0, -1]], ylim=(0.0, 1.3 * max(seen.max(), high.max())))
    if labels is not None:
        axes.set_xticks(range(len(labels)), labels)
    place_legend(axes, above=True)


def _edges(rows: Array, tables: Array) -> Array:
    """Return intervals as wide as suits the data, over all that is seen or mostly expected."""
    width = float(np.diff(np.histogram_bin_edges(rows, "auto"))[0])
    low = min(rows.min(), *np.quantile(tables, [0.005]))
    high = max(rows.max(), *np.quantile(tables, [0.995]))
    count = int(np.clip(np.ceil((high - low) / (width or 1.0)), 5, 60))
    return np.linspace(low, high, count + 1)
