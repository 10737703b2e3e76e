"""Whether a classifier's probabilities came true, and which classes it takes for which."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from posteriori.numerics.types import Array
from posteriori.plotting.page_figures import FIRST, INK, MUTED, SMALL, render_svg, shade, short_text

__all__ = [
    "MOST_CLASSES",
    "Bins",
    "confusion_counts",
    "draw_confusion",
    "draw_reliability",
    "frequent_confusions",
    "reliability_bins",
]

#: With more classes a list of the confusions says more than a figure.
MOST_CLASSES = 10

#: A group of stated probabilities holds one in so many rows,
_BINS = 10

#: or fewer, where their probabilities would differ by more than this.
_WIDEST_BIN = 0.1

#: Confusions that are listed, the most frequent first.
_MOST_LISTED = 12


class Bins(NamedTuple):
    """Rows with similar stated probabilities.

    Attributes
    ----------
    stated, came, error : (B,)
        Mean stated probability, share that came true, and two standard errors of it.
    rows : (B,) of int
    """

    stated: Array
    came: Array
    error: Array
    rows: Any


def reliability_bins(stated: Array, came: Array) -> Bins:
    """Cut the range of stated probabilities where a tenth of the rows, or of the range, is full.

    Equal probabilities stay together.

    Parameters
    ----------
    stated : (N,)
        Probabilities.
    came : (N,)
        One where the event came true, zero elsewhere.
    """
    order = np.argsort(stated, kind="stable")
    p, true = stated[order], came[order]
    starts = [0]
    while starts[-1] < len(p):
        start = starts[-1]
        by_rows = min(start + max(len(p) // _BINS, 1), len(p)) - 1
        last = min(p[by_rows], p[start] + _WIDEST_BIN)
        starts.append(int(np.searchsorted(p, last, side="right")))
    count = np.diff(starts)
    x, y = (np.add.reduceat(values, starts[:-1]) / count for values in (p, true))
    # no bin is surer than one row of it that could have come otherwise
    error = 2.0 * np.sqrt(np.maximum(x * (1.0 - x), 0.25 / count) / count)
    return Bins(x, y, error, count)


def draw_reliability(bins: Bins, label: str) -> str:
    """Draw shares that came true against stated probabilities, on the range that these have."""
    low, high = _range(bins)
    size = 36.0 * np.clip(bins.rows / 20.0, 0.2, 1.0)  # of few rows the points are small

    def paint(axes: Axes) -> None:
        axes.plot([low, high], [low, high], color=MUTED, lw=1)
        bars = np.stack([np.minimum(bins.error, bins.came), np.minimum(bins.error, 1 - bins.came)])
        axes.errorbar(bins.stated, bins.came, yerr=bars, fmt="none", color=FIRST, lw=1.2, alpha=0.6)
        axes.scatter(bins.stated, bins.came, s=size, color=FIRST, lw=0, zorder=3)
        axes.set(xlabel=label, ylabel="share that came true", xlim=(low, high), ylim=(low, high))
        axes.locator_params(nbins=5)

    return render_svg(
        "reliability", "Stated probabilities against shares that came true", paint, SMALL
    )


def _range(bins: Bins) -> tuple[float, float]:
    """Return limits that hold all bins and their bars; from 0 to 1 where they fill most of it."""
    low = float(np.minimum(bins.stated, bins.came - bins.error).min())
    high = float(np.maximum(bins.stated, bins.came + bins.error).max())
    low, high = max(low, 0.0), min(high, 1.0)
    if high - low > 0.6:
        low, high = 0.0, 1.0
    margin = 0.04 * max(high - low, 0.01)
    return low - margin, high + margin


def confusion_counts(codes: Any, chosen: Any, classes: int) -> Any:
    """Return how many rows of each class (first index) were predicted to be of which, (K, K)."""
    table = np.zeros((classes, classes), dtype=int)
    np.add.at(table, (codes, chosen), 1)
    return table


def draw_confusion(table: Any, classes: Any) -> str:
    """Draw counts, in a colour that is the stronger the larger their share of the true class."""
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    few = len(classes) <= 4

    def paint(axes: Axes) -> None:
        shade(axes, share)
        for (i, j), number in np.ndenumerate(table):
            if number:
                text = f"{number:,}\n{share[i, j]:.0%}" if few else f"{number:,}"
                axes.text(j, i, text, ha="center", va="center", color=INK, fontsize=10)
        labels = [short_text(str(label), 14) for label in classes]
        turn: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        axes.set_xticks(range(len(classes)), labels, **(turn if sum(map(len, labels)) > 24 else {}))
        axes.set_yticks(range(len(classes)), labels)
        axes.set(xlabel="predicted", ylabel="true")

    size = (max(SMALL[0], 0.36 * len(classes) + 1.6), max(SMALL[1], 0.34 * len(classes) + 1.2))
    return render_svg("confusion", "True and predicted classes of unseen rows", paint, size)


def frequent_confusions(table: Any, classes: Any) -> list[tuple[str, str, str, str]]:
    """List the most frequent mistakes: true class, predicted class, rows, share of the true class."""
    wrong = table - np.diag(np.diag(table))
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_LISTED]
    pairs = [divmod(int(place), len(classes)) for place in order]
    return [
        (
            short_text(str(classes[i])),
            short_text(str(classes[j])),
            f"{wrong[i, j]:,}",
            f"{wrong[i, j] / table[i].sum():.0%}",
        )
        for i, j in pairs
        if wrong[i, j]
    ]
