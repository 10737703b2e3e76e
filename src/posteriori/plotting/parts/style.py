"""One style for every plot: colours that read on light and on dark pages, for every kind of eye.

A plot that makes its own figure has a transparent background and ink of middle lightness; a plot
on given axes leaves their text, ticks and background as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:  # a name for annotations, which does not load matplotlib
    Axes = Any
import numpy as np

from posteriori.numerics.lazy import matplotlib, mpl_axes, pyplot

__all__ = [
    "COLORS",
    "DASHES",
    "INK",
    "MARKERS",
    "STYLE",
    "axes_for",
    "color_of",
    "dashes_of",
    "group_colors",
    "marker_of",
    "panels_for",
    "shades",
]

#: Contrast of at least 3 with white and with near-black; apart also for the colour-blind.
COLORS = ("#2b7fd4", "#e0701b", "#12a07f", "#c2569a", "#6a4fd0", "#8a7a3a")
#: Text and axes: the grey whose contrast with white and with near-black is the same.
INK = "#747b84"
#: What tells curves apart where colour does not.
DASHES = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 2)), (0, (2.5, 1)))
MARKERS = "osD^vP"

#: Settings of matplotlib: ``with matplotlib.rc_context(STYLE): ...``.
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.prop_cycle": f"cycler('color', {list(COLORS)})",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlesize": 11,
    "figure.constrained_layout.use": True,
    "figure.dpi": 110,
    "figure.facecolor": "none",
    "figure.figsize": (5.4, 3.1),
    "font.size": 10,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 2,
    "savefig.facecolor": "none",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def color_of(position: int) -> str:
    """Return the colour of the curve at ``position``, again from the first after the last."""
    return COLORS[position % len(COLORS)]


def group_colors(count: int) -> list[str]:
    """Return a colour for each of some groups: apart while there are few, in an order beyond."""
    return [color_of(k) for k in range(count)] if count <= len(COLORS) else shades(count)


def dashes_of(position: int) -> Any:
    """Return the dashes of the curve at ``position``."""
    return DASHES[position % len(DASHES)]


def marker_of(position: int) -> str:
    """Return the marker of the points at ``position``."""
    return MARKERS[position % len(MARKERS)]


def shades(count: int) -> list[str]:
    """Return colours in an order that the eye follows, all of middle lightness."""
    ramp = np.array([list(bytes.fromhex(COLORS[k][1:])) for k in (0, 3, 1)])
    share = np.linspace(0.0, 1.0, count)
    mixed = np.stack([np.interp(share, (0.0, 0.5, 1.0), part) for part in ramp.T], axis=1)
    return [f"#{bytes(row).hex()}" for row in np.round(mixed).astype(np.uint8)]


@contextmanager
def axes_for(ax: Any, size: tuple[float, float] = (5.4, 3.1)) -> Iterator[Axes]:
    """Yield the given axes, or those of a new figure while the style is in force."""
    if ax is not None:
        _check_axes(ax)
        yield ax
        return
    with matplotlib.rc_context(STYLE):
        yield pyplot.subplots(figsize=size)[1]


@contextmanager
def panels_for(
    ax: Any, shape: tuple[int, int], count: int, size: tuple[float, float], **subplots: Any
) -> Iterator[list[Axes]]:
    """Yield ``count`` given axes, or those of a new figure of ``shape`` panels."""
    if ax is not None:
        given = list(np.ravel(ax))
        for one in given:
            _check_axes(one)
        if len(given) != count:
            raise ValueError(f"ax must hold {count} Axes, one for each panel, got {len(given)}")
        yield given
        return
    with matplotlib.rc_context(STYLE):
        axes = pyplot.subplots(*shape, figsize=size, squeeze=False, **subplots)[1].ravel()
        for spare in axes[count:]:
            spare.set_axis_off()
        yield list(axes[:count])


def _check_axes(ax: Any) -> None:
    if not isinstance(ax, mpl_axes.Axes):
        raise TypeError(f"ax must be matplotlib Axes or None, got {type(ax).__name__}")
