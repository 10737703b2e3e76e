"""Thresholds against a slow scan of all of them, judged on rows that they were not chosen by."""

import numpy as np
import pytest

from posteriori.analysis.targets.class_costs import Stakes, cost_matrix, say_classes, threshold_of
from posteriori.analysis.targets.decided_classes import (
    Decided,
    against_next,
    best_threshold,
    decide_unseen,
)
from posteriori.numerics.types import Array


def f1(score: Array, came: Array, threshold: float) -> float:
    said = score >= threshold
    return 2.0 * float((said & came).sum()) / float(said.sum() + came.sum())


def drawn(rows: int, seed: int, digits: int = 9) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    score = rng.beta(1.0, 6.0, rows).round(digits)
    came = rng.random(rows) < score
    came[0] = True
    return score, came


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("digits", [9, 1])  # with one digit most scores are equal
def test_no_threshold_balances_better(seed: int, digits: int) -> None:
    score, came = drawn(60, seed, digits)
    chosen = best_threshold(score, came)
    tried = [*np.unique(score), 1.1]
    assert f1(score, came, chosen) == max(f1(score, came, t) for t in tried)
    assert chosen not in score or chosen == 0.0  # amid a gap: nothing hangs on the last bit


def two(score: Array) -> Array:
    return np.stack([1.0 - score, score], axis=1)


def folds(rows: int) -> list[tuple[Array, Array]]:
    part = np.arange(rows) % 5
    return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(5)]


def test_each_fold_is_judged_by_the_threshold_of_the_others() -> None:
    score, came = drawn(400, 0)
    splits = folds(400)
    found = decide_unseen(two(score), came.astype(int), splits, Stakes(1))
    for others, fold in splits:
        expected = score[fold] >= best_threshold(score[others], came[others])
        assert (found.said[fold] == expected).all()
    assert found.rule is not None
    assert threshold_of(found.rule, 1) == pytest.approx(best_threshold(score, came))
    # what is true of a fold has no say in what is said of it
    changed = came.copy()
    changed[splits[0][1]] = ~changed[splits[0][1]]
    again = decide_unseen(two(score), changed.astype(int), splits, Stakes(1))
    assert (again.said[splits[0][1]] == found.said[splits[0][1]]).all()


def test_counts() -> None:
    found = Decided(1, None, False, np.array([1, 1, 1, 0, 0, 0]), np.array([1, 1, 0, 1, 0, 2]))
    assert (found.rows, found.found, found.alarms) == (3, 2, 1)
    assert found.recall == pytest.approx(2 / 3)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall_belief.mean == pytest.approx(3 / 5)  # (1 + 2)/(2 + 3)
    nothing = found._replace(said=np.zeros(6, dtype=int))
    assert (nothing.recall, nothing.precision) == (0.0, 0.0)


def test_chance_has_no_threshold() -> None:
    rng = np.random.default_rng(2)
    score, came = rng.random(300), np.arange(300) < 10
    found = decide_unseen(two(score), came.astype(int), folds(300), Stakes(1))
    assert found.rule is None
    assert (found.said == (score > 0.5)).all()
    same = decide_unseen(two(np.full(300, 0.03)), came.astype(int), folds(300), Stakes(1))
    assert same.rule is None


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_hardly_any_row_of_the_class(rows: int) -> None:
    codes = (np.arange(50) < rows).astype(int)
    score = np.where(np.arange(50) < rows, 0.9, np.linspace(0.01, 0.2, 50))
    found = decide_unseen(two(score), codes, folds(50), Stakes(1))
    assert (found.rule is not None) == (rows == 2)  # one row above all others may be so by chance
    assert found.rows == rows


def test_told_costs_need_no_choice() -> None:
    score, came = drawn(200, 3)
    costs = cost_matrix({"yes:no": 10}, ["no", "yes"])
    codes = came.astype(int)
    found = decide_unseen(two(score), codes, folds(200), Stakes(1, costs))
    assert (found.said == (score > 1.0 / 11.0)).all()
    slow = [
        10.0 if c and not s else float(s and not c) for c, s in zip(came, found.said, strict=True)
    ]
    assert found.spent.tolist() == slow
    assert found.spent_alike.mean(axis=0) == pytest.approx([10.0 * came.mean(), 1.0 - came.mean()])


def test_one_of_several_classes_is_said_by_its_odds_against_the_next() -> None:
    rng = np.random.default_rng(4)
    p = rng.dirichlet([4.0, 4.0, 0.6], 500)
    codes = np.array([rng.choice(3, p=row) for row in p])
    found = decide_unseen(p, codes, folds(500), Stakes(2))
    assert found.rule is not None
    threshold = best_threshold(against_next(p, 2), codes == 2)
    said = say_classes(p, found.rule)
    assert ((said == 2) == (against_next(p, 2) > threshold)).all()
    assert (said[said != 2] == p[said != 2, :2].argmax(axis=1)).all()
