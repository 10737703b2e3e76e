"""Whether a classifier's probabilities came true, and which classes it takes for which."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.report.figures import PICTURE, cell_chart
from posteriori.drawing.charts.chart import SMALL, Axis, Chart
from posteriori.drawing.charts.marks import Curve, Dots, Segments
from posteriori.drawing.measures import short_text
from posteriori.numerics.types import Array

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

#: Letters of a class at the axes.
_LONGEST = 14

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
    ends = _range(bins)
    radius = 3.0 * np.sqrt(np.clip(bins.rows / 20.0, 0.2, 1.0))  # of few rows the points are small
    bars = np.maximum(bins.came - bins.error, 0.0), np.minimum(bins.came + bins.error, 1.0)
    return Chart(
        "Stated probabilities against shares that came true",
        [
            Curve(ends, ends, "muted", 1.0),
            Segments((bins.stated, bins.stated), bars, width=1.2, opacity=0.6),
            Dots(bins.stated, bins.came, radius=radius),
        ],
        Axis(label, *ends),
        Axis("share that came true", *ends, grid=True),
        PICTURE,
    ).svg()


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
    texts = [
        [_cell_text(number, part, few) for number, part in zip(*row, strict=True)]
        for row in zip(table, share, strict=True)
    ]
    names = [str(label) for label in classes]
    wide = sum(min(len(name), _LONGEST) for name in names) > 24
    across = Axis("predicted", longest=_LONGEST, turned=45.0 if wide else 0.0)
    cell = max(len(line) for row in texts for text in row for line in text.split("\n")) * 8.0 + 6.0
    size = (max(SMALL[0], cell * len(classes) + 125.0), max(SMALL[1], 26.0 * len(classes) + 90.0))
    axes = across, Axis("true", longest=_LONGEST)
    title = "True and predicted classes of unseen rows"
    return cell_chart(title, share, texts, names, axes, size).svg()


def _cell_text(number: int, share: float, few: bool) -> str:
    if not number:
        return ""
    return f"{number:,}\n{share:.0%}" if few else f"{number:,}"


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
