"""Curves of a class that is to be found: each point is what a slow count of rows says."""

import numpy as np
import pytest

from posteriori.analysis.report.decision_figures import (
    draw_precision_recall,
    draw_thresholds,
    over_thresholds,
    precision_steps,
)
from posteriori.analysis.targets.class_costs import Stakes, cost_matrix
from posteriori.analysis.targets.decided_classes import Decided, decide_unseen
from posteriori.numerics.types import Array
from posteriori.selection.cross_validation import Unseen, metrics_of


def case(costs: dict[str, float], rows: int = 200) -> tuple[Decided, Array]:
    rng = np.random.default_rng(0)
    score = rng.beta(1.0, 8.0, rows)
    codes = (rng.random(rows) < score).astype(int)
    matrix = cost_matrix(costs, ["no", "yes"]) if costs else None
    part = np.arange(rows) % 5
    splits = [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(5)]
    p = np.stack([1.0 - score, score], axis=1)
    return decide_unseen(p, codes, splits, Stakes(1, matrix)), score


def test_points_are_counts_of_rows() -> None:
    decided, score = case({})
    thresholds = np.array([0.0, 0.05, score[7], 0.3, 1.0])
    found, alarms = over_thresholds(decided, score, thresholds)
    for t, some, false in zip(thresholds, found, alarms, strict=True):
        assert some == sum(s >= t and c == 1 for s, c in zip(score, decided.codes, strict=True))
        assert false == sum(s >= t and c == 0 for s, c in zip(score, decided.codes, strict=True))


def test_the_area_below_the_steps_is_the_average_precision() -> None:
    decided, score = case({})
    recall, precision = precision_steps(decided, score)
    area = float(np.diff(recall, prepend=0.0) @ precision)
    p = np.stack([1.0 - score, score], axis=1)
    nothing = np.zeros(len(p))
    told = metrics_of(Unseen(nothing, p, nothing), decided.codes, np.arange(2), positive=1)
    assert area == pytest.approx(told["average precision"])


@pytest.mark.parametrize("costs", [{}, {"yes:no": 10.0}, {"yes:no": 2.0, "yes:yes": 0.5}])
def test_drawings_name_what_they_show(costs: dict[str, float]) -> None:
    decided, score = case(costs)
    assert "share found of “yes”" in draw_precision_recall(decided, score, "yes")
    drawn = draw_thresholds(decided, score, np.array(["no", "yes"]))
    assert ("by threshold" in drawn) == bool(costs)
    assert ("true alarms" in drawn) != bool(costs)
    assert "nan" not in drawn


def test_one_row_and_certain_scores_are_drawn() -> None:
    codes = np.array([0, 0, 0, 1])
    decided = Decided(1, cost_matrix({"yes:no": 3}, ["no", "yes"]), True, codes, codes)
    for score in (np.array([0.0, 0.0, 0.0, 1.0]), np.full(4, 0.25)):
        for drawn in (
            draw_precision_recall(decided, score, "yes"),
            draw_thresholds(decided, score, np.array(["no", "yes"])),
        ):
            assert "nan" not in drawn
