"""Confusion, proper scores and reliability, against sums by hand."""

import numpy as np
import pytest

from posteriori import Categorical
from posteriori.decision import confusion, proper_scores, reliability


@pytest.mark.topic("000/G3")
def test_the_confusion_matrix_of_the_notes():
    table = np.array([[6, 1, 0], [4, 2, 3], [1, 0, 5]])
    y = np.repeat([0, 1, 2], table.sum(axis=1))
    chosen = np.concatenate([np.repeat([0, 1, 2], row) for row in table])
    found = confusion(y, chosen)
    np.testing.assert_array_equal(found.table, table)
    assert found.accuracy == pytest.approx(13 / 22)


def test_scores_equal_their_definitions():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 50)
    y = rng.integers(0, 3, 50)
    labels = ("a", "b", "c")
    found = proper_scores(np.array(labels)[y], Categorical(p, labels=labels))
    assert found["log_loss"] == pytest.approx(-np.log(p[np.arange(50), y]).mean(), rel=1e-9)
    assert found["brier"] == pytest.approx(((p - np.eye(3)[y]) ** 2).sum(axis=1).mean(), rel=1e-12)


def test_the_true_probabilities_score_best():
    p, q = np.array([0.2, 0.5, 0.3]), np.array([0.3, 0.3, 0.4])
    y = np.repeat([0, 1, 2], [20, 50, 30])
    honest, other = (proper_scores(y, np.tile(one, (100, 1))) for one in (p, q))
    assert honest["log_loss"] < other["log_loss"]
    assert honest["brier"] < other["brier"]


def test_two_classes_score_by_the_same_definition():
    found = proper_scores([0, 1], [[0.9, 0.1], [0.2, 0.8]])
    assert found["brier"] == pytest.approx((0.01 + 0.01 + 0.04 + 0.04) / 2)


def test_reliability_of_two_bins():
    p1 = np.array([0.2] * 10 + [0.9] * 10)
    y = np.array([1] * 3 + [0] * 7 + [1] * 8 + [0] * 2)
    curve = reliability(y, np.stack([1 - p1, p1], axis=1), label=1)
    np.testing.assert_allclose(curve.predicted, [0.2, 0.9])
    np.testing.assert_allclose(curve.observed, [0.3, 0.8])
    assert curve.expected_error == pytest.approx(0.1)


def test_wrong_labels_are_refused():
    with pytest.raises(ValueError, match="none of the labels"):
        proper_scores(["z"], [[0.5, 0.5]], labels=["a", "b"])
    with pytest.raises(ValueError, match="name the 2 columns"):
        proper_scores([0], [[0.5, 0.5]], labels=["a"])
    with pytest.raises(ValueError, match="label must be one of"):
        reliability([0], [[0.5, 0.5]], label=3)
    with pytest.raises(ValueError, match=r"shape \(N, K\)"):
        proper_scores([0], [0.5, 0.5])
