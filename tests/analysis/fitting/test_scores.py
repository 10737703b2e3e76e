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
