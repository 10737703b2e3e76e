"""What is found of a class: precision against recall over all thresholds, and what each threshold costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posteriori.analysis.targets.class_costs import threshold_of
from posteriori.analysis.targets.decided_classes import Decided
from posteriori.analysis.tasks.sections import Figure
from posteriori.drawing.charts.chart import Axis, Chart
from posteriori.drawing.charts.marks import Curve, Dots, Mark, Segments
from posteriori.drawing.measures import short_text
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.analysis.comparisons.conclusions import Analysis

__all__ = [
    "class_picture",
    "draw_precision_recall",
    "draw_thresholds",
    "over_thresholds",
    "precision_steps",
    "threshold_figures",
]

#: Thresholds at which curves are drawn, at most, and between which probabilities.
_POINTS, _LEAST = 201, 1e-4

#: Where the axis of thresholds has ticks.
_TICKS = (0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)

#: Letters of a class in a legend.
_LONGEST = 12


def class_picture(found: Analysis) -> Figure | None:
    """Return precision against recall of a class that is to be found; nothing where there is none."""
    decided = found.decided.get(found.kept)
    if decided is None:
        return None
    p, classes = found.outcomes[found.kept].unseen.prediction, found.problem.classes
    label = str(classes[decided.positive])
    said = (
        "Share of true alarms against share found, from the highest threshold to the lowest, on unseen rows. "
        "The point is what is said, with intervals of 90%; the dashed line is chance."
    )
    return Figure(draw_precision_recall(decided, p[:, decided.positive], label), said)


def threshold_figures(found: Analysis) -> list[Figure]:
    """Return what each threshold costs, or finds where no costs were told; nothing where there is none."""
    decided, classes = found.decided.get(found.kept), found.problem.classes
    if decided is None or decided.rule is None or len(classes) > 2:
        return []
    p = found.outcomes[found.kept].unseen.prediction
    said = (
        "What a row costs at each threshold; dashed is the one that the costs tell."
        if decided.told
        else "What each threshold finds, and which share of its alarms is true; dashed is the one that balances both."
    )
    return [Figure(draw_thresholds(decided, p[:, decided.positive], classes), said)]


def precision_steps(decided: Decided, score: Array) -> tuple[Array, Array]:
    """Return the share found and the share of true alarms at the scores of rows of the class, highest first."""
    own = np.sort(score[decided.codes == decided.positive])[::-1]
    steps = np.unique(np.linspace(0, len(own) - 1, min(len(own), _POINTS)).round().astype(int))
    found, alarms = over_thresholds(decided, score, own[steps])
    return found / decided.rows, found / (found + alarms)


def draw_precision_recall(decided: Decided, score: Array, label: str) -> str:
    """Draw the share of true alarms against the share that is found, over all thresholds."""
    recall, precision = precision_steps(decided, score)
    chance = decided.rows / len(decided.codes)
    marks: list[Mark] = [
        Curve([0.0, 1.0], [chance, chance], "muted", 1.2, "4 3"),
        Curve(np.repeat(np.append(0.0, recall), 2)[1:-1], np.repeat(precision, 2)),
    ]
    highest = float(precision.max())
    if decided.found + decided.alarms:
        x, y = decided.recall, decided.precision
        across, up = (b.interval(0.9) for b in (decided.recall_belief, decided.precision_belief))
        highest = max(highest, float(up[1]))
        marks += [
            Segments(across, (y, y), "second", 1.2),
            Segments((x, x), up, "second", 1.2),
            Dots([x], [y], "second", 4.0),
        ]
    return Chart(
        f"Share of true alarms against share found of {label}",
        marks,
        Axis(f"share found of “{short_text(label, _LONGEST)}”", -0.02, 1.02),
        Axis("share of true alarms", 0.0, 1.05 * highest, grid=True),
    ).svg()


def draw_thresholds(decided: Decided, score: Array, classes: Array) -> str:
    """Draw what a row costs at each threshold of two classes; without costs, what is found and what is true."""
    assert decided.rule is not None
    chosen = threshold_of(decided.rule, decided.positive)
    ends = np.clip(np.append(np.quantile(score, [0.001, 0.999]), chosen), _LEAST, 1.0 - _LEAST)
    at = np.linspace(_log_odds(ends.min()) - 0.5, _log_odds(ends.max()) + 0.5, _POINTS)
    found, alarms = over_thresholds(decided, score, 1.0 / (1.0 + np.exp(-at)))
    if decided.told:
        drawn, label = _cost_curves(decided, found, alarms, at, classes), "cost of a row"
    else:
        shares = found / decided.rows, found / np.maximum(found + alarms, 1)
        shown = np.where(found + alarms > 0, shares[1], np.nan)
        drawn = [
            Curve(at, shares[0], label="found"),
            Curve(at, shown, "second", label="true alarms"),
        ]
        label = "share"
    place, top = _log_odds(chosen), max(float(np.nanmax(curve.y)) for curve in drawn)
    line = Segments((place, place), (0.0, top), "muted", 1.2, dashes="4 3")
    ticks = [t for t in _TICKS if at[0] <= _log_odds(t) <= at[-1]]
    name = short_text(str(classes[decided.positive]), _LONGEST)
    return Chart(
        f"{label} against the threshold".capitalize(),
        [line, *drawn],
        Axis(
            f"“{name}” is said from this probability on",
            float(at[0]),
            float(at[-1]),
            places=[_log_odds(t) for t in ticks],
            names=[f"{t:g}" for t in ticks],
        ),
        Axis(label, low=0.0, grid=True),
    ).svg()


def over_thresholds(decided: Decided, score: Array, thresholds: Array) -> tuple[Array, Array]:
    """Return how many rows of the class, and how many others, reach each threshold."""
    came = decided.codes == decided.positive
    reach = (np.sort(score[rows]) for rows in (came, ~came))
    found, alarms = (len(s) - np.searchsorted(s, thresholds) for s in reach)
    return found, alarms


def _cost_curves(
    decided: Decided, found: Array, alarms: Array, at: Array, classes: Array
) -> list[Curve]:
    assert decided.rule is not None
    k, other, rows = decided.positive, 1 - decided.positive, len(decided.codes)
    rule, rest = decided.rule, rows - decided.rows
    cost = found * rule[k, k] + (decided.rows - found) * rule[k, other]
    cost = cost + alarms * rule[other, k] + (rest - alarms) * rule[other, other]
    alike = decided.spent_alike.mean(axis=0)
    flat = [
        Curve(
            at[[0, -1]],
            [alike[j]] * 2,
            color,
            1.2,
            label=f"always {short_text(str(classes[j]), _LONGEST)}",
        )
        for j, color in ((other, "second"), (k, "ink"))
        if alike[j] <= 1.5 * alike.min()
    ]
    return [*flat, Curve(at, cost / rows, label="by threshold")]


def _log_odds(p: float) -> float:
    return float(np.log(p) - np.log1p(-p))
