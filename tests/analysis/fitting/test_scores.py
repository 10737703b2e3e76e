"""Errors that people know agree with scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from posteriori.selection.cross_validation import Unseen, metrics_of


def said(p):
    return Unseen(np.zeros(len(p)), p, np.full(len(p), np.nan))


def test_two_classes():
    rng = np.random.default_rng(0)
    p = rng.random(50)
    y = np.where(rng.random(50) < p, "yes", "no")
    found = metrics_of(said(np.stack([1 - p, p], axis=1)), y, np.array(["no", "yes"]))
    assert found["Brier"] == pytest.approx(brier_score_loss(y == "yes", p), rel=1e-12)
    assert found["log loss"] == pytest.approx(log_loss(y == "yes", p), rel=1e-12)
    assert found["accuracy"] == accuracy_score(y == "yes", p > 0.5)


def test_more_classes():
    """The Brier score is then the squares of all classes, as Brier had it."""
    p = np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])
    found = metrics_of(said(p), np.array(["b", "c"]), np.array(["a", "b", "c"]))
    assert found["Brier"] == pytest.approx((0.04 + 0.25 + 0.09 + 2.0) / 2)


def pairs_in_order(score, came):
    """Return the share of pairs of one row that came and one that did not whose scores are in order."""
    pairs = [(a > b) + 0.5 * (a == b) for a in score[came] for b in score[~came]]
    return sum(pairs) / len(pairs)


def mean_precision(score, came):
    """Return the mean over rows that came of the share, among rows of no smaller score, of those that came."""
    return np.mean([came[score >= s].mean() for s in score[came]])


@pytest.mark.parametrize("digits", [9, 1])  # with one digit many scores are equal
def test_order_of_two_classes(digits):
    rng = np.random.default_rng(1)
    p = rng.beta(1, 3, 70).round(digits)
    came = rng.random(70) < p
    two = said(np.stack([1 - p, p], axis=1))
    y, classes = np.where(came, "yes", "no"), np.array(["no", "yes"])
    found = metrics_of(two, y, classes)  # of the rarer class
    assert found["AUC"] == pytest.approx(pairs_in_order(p, came))
    assert found["average precision"] == pytest.approx(mean_precision(p, came))
    other = metrics_of(two, y, classes, positive=0)
    assert other["AUC"] == pytest.approx(found["AUC"])
    assert other["average precision"] == pytest.approx(mean_precision(1 - p, ~came))


def test_order_of_more_classes():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), 60)
    codes = np.array([rng.choice(3, p=row) for row in p])
    y, classes = np.array(list("abc"))[codes], np.array(list("abc"))
    areas = [pairs_in_order(p[:, k], codes == k) for k in range(3)]
    means = [mean_precision(p[:, k], codes == k) for k in range(3)]
    every = metrics_of(said(p), y, classes)
    assert every["AUC"] == pytest.approx(np.mean(areas))
    assert every["average precision"] == pytest.approx(np.mean(means))
    one = metrics_of(said(p), y, classes, positive=1)
    assert (one["AUC"], one["average precision"]) == (
        pytest.approx(areas[1]),
        pytest.approx(means[1]),
    )


def test_a_class_without_rows_orders_nothing():
    p = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.8, 0.1]])
    found = metrics_of(said(p), np.array(["a", "b", "b"]), np.array(["a", "b", "c"]))
    assert found["AUC"] == 1.0
    only = metrics_of(said(p), np.array(["a", "b", "b"]), np.array(["a", "b", "c"]), positive=2)
    assert np.isnan(only["AUC"])
