"""How many clusters there are, and which rows share one: choices and posteriors of partitions."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics.lazy import mpl_colors
from posteriori.plotting.parts.members import Member
from posteriori.plotting.parts.part_names import number_text
from posteriori.plotting.parts.style import COLORS, INK, Axes, axes_for, panels_for
from posteriori.plotting.pictures.bars import draw_bars

__all__ = ["plot_choice", "plot_partitions"]

#: Probabilities below this are not written.
_SMALL = 0.005

#: What scores are called, where not as their criterion.
_SCORES = {"evidence": "log evidence", "draws": "log probability"}


def plot_choice(choice: Any, ax: Any = None) -> Axes:
    """Draw what speaks for each number of components, in nats, and their probabilities.

    Parameters
    ----------
    choice : ComponentChoice
        From :func:`posteriori.mixture.choose_components`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    """
    numbers, scores = np.asarray(choice.numbers), np.asarray(choice.scores)
    order = np.argsort(numbers)
    numbers, behind = numbers[order], (scores - scores.max())[order]
    with axes_for(ax) as axes:
        axes.plot(numbers, behind, marker="o", ms=6, color=COLORS[0])
        best = int(np.argmax(behind))
        label = f"best: {choice.best}"
        axes.plot(
            numbers[best], behind[best], "o", ms=13, mfc="none", mew=1.8, c=COLORS[1], label=label
        )
        if choice.probabilities is not None:
            for number, y, p in zip(
                numbers, behind, np.asarray(choice.probabilities)[order], strict=True
            ):
                if p >= _SMALL:
                    above = (0, 10)
                    text = f"{p:.2f}"
                    axes.annotate(text, (number, y), above, textcoords="offset points", ha="center")
        axes.set_xticks(numbers)
        axes.margins(x=0.06, y=0.18)
        axes.set_xlabel("number of components")
        what = _SCORES.get(choice.criterion, choice.criterion)
        axes.set_ylabel(f"{what}\nless the best, {number_text(scores.max())}")
        axes.legend(loc="lower right")
    return axes


def plot_partitions(found: Any, ax: Any = None) -> Any:
    """Draw which rows share a cluster, and how many clusters there are.

    Rows stand in the order of the representative partition, whose clusters are framed.

    Parameters
    ----------
    found : PartitionPosterior
        From ``enumerate_partitions`` or ``sample_partitions``.
    ax : two matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    array of two Axes
    """
    labels = np.asarray(found.representative())
    order = np.argsort(labels, kind="stable")
    ramp = mpl_colors.LinearSegmentedColormap.from_list("ramp", [f"{COLORS[0]}00", COLORS[0]])
    with panels_for(ax, (1, 2), 2, (8.2, 3.6)) as panels:
        left, right = panels
        together = np.asarray(found.similarity)[np.ix_(order, order)]
        image = left.imshow(together, cmap=ramp, vmin=0.0, vmax=1.0, interpolation="nearest")
        start = 0
        for size in np.bincount(labels):
            box = np.array([0, size, size, 0, 0]) + start - 0.5
            turned = np.array([0, 0, size, size, 0]) + start - 0.5
            left.plot(box, turned, color=COLORS[1], lw=1.2)
            start += size
        left.figure.colorbar(image, ax=left, label="p(same cluster)")
        left.set(xlabel="rows, by cluster", ylabel="rows, by cluster")
        left.tick_params(color=INK)
        draw_bars(right, {"": Member(found.n_clusters)})
        right.set_xlabel("clusters")
    return np.array(panels)
