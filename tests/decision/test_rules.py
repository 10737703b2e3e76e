"""Decisions of least expected loss, with the numbers of the notes and a slow loop as the oracle."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from posteriori import Categorical
from posteriori.decision import decide

CAR = [[100.0, 0.0], [-20.0, 0.0]]
CANCER = [[0.0, 1000.0], [1.0, 0.0]]


@pytest.mark.topic("002/A8")
def test_a_car_of_which_one_in_ten_is_defective_is_bought():
    choice = decide([0.1, 0.9], CAR, actions=("buy", "leave"))
    assert choice.action == "buy"
    np.testing.assert_allclose(choice.losses, [-8.0, 0.0])
    assert choice.loss == pytest.approx(-8.0)


@pytest.mark.topic("002/A8")
def test_the_car_is_left_from_one_defect_in_six():
    p = np.array([1 / 6 - 1e-9, 1 / 6 + 1e-9])
    assert decide(np.stack([p, 1 - p], axis=1), CAR).code.tolist() == [0, 1]


@pytest.mark.topic("000/G5", "003/D.2")
def test_cancer_is_treated_from_one_in_a_thousand_and_one():
    choice = decide([0.01, 0.99], CANCER)
    assert choice.code == 0
    np.testing.assert_allclose(choice.losses, [0.99, 10.0])
    p = 1 / 1001 + np.array([-1e-9, 1e-9])
    assert decide(np.stack([p, 1 - p], axis=1), CANCER).code.tolist() == [1, 0]


def some_probabilities(draw, rows=7, classes=3):
    weights = draw(arrays(np.float64, (rows, classes), elements=st.floats(0.01, 1.0)))
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.topic("000/G4", "002/A2", "002/A9", "003/D.1")
@given(st.data())
def test_without_a_loss_the_most_probable_class_is_chosen(data):
    p = some_probabilities(data.draw)
    plain = decide(p)
    np.testing.assert_array_equal(plain.code, p.argmax(axis=1))
    np.testing.assert_allclose(plain.loss, 1 - p.max(axis=1))
    for loss in (1.0 - np.eye(3), -np.eye(3)):
        other = decide(p, loss)
        chosen = np.take_along_axis(p, other.code[:, None], axis=1)[:, 0]
        np.testing.assert_allclose(chosen, p.max(axis=1))


@given(st.data())
def test_no_action_is_expected_to_cost_less_than_the_chosen_one(data):
    p = some_probabilities(data.draw)
    loss = data.draw(arrays(np.float64, (3, 4), elements=st.floats(-10, 10)))
    choice = decide(p, loss)
    for row, code in zip(p, choice.code, strict=True):
        costs = [sum(row[k] * loss[k, a] for k in range(3)) for a in range(4)]
        assert costs[code] == pytest.approx(min(costs), abs=1e-12)


@pytest.mark.topic("003/D.3")
def test_a_threshold_of_one_rejects_all_but_the_certain_and_a_low_one_nothing():
    p = [[1.0, 0.0], [0.999, 0.001], [0.5, 0.5]]
    assert decide(p, reject_loss=1 - 1.0).code.tolist() == [0, -1, -1]
    assert decide(p, reject_loss=1 - 0.49).code.tolist() == [0, 0, 0]
    assert decide(p, reject_loss=1 - 0.9).code.tolist() == [0, 0, -1]


@pytest.mark.topic("003/D.3")
def test_with_a_loss_matrix_the_expected_loss_is_what_rejects():
    choice = decide([[0.1, 0.9], [0.2, 0.8]], CANCER, actions=("treat", "leave"), reject_loss=0.85)
    assert choice.action.tolist() == [None, "treat"]
    np.testing.assert_allclose(choice.loss, [0.85, 0.8])


def test_labels_of_a_categorical_name_the_choice():
    batch = Categorical([[0.2, 0.8], [0.7, 0.3]], labels=("salmon", "bass"))
    assert decide(batch).action.tolist() == ["bass", "salmon"]


def test_a_loss_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match="one row for each of the 2 classes"):
        decide([0.5, 0.5], np.zeros((3, 2)))
    with pytest.raises(ValueError, match="actions must name each of the 2"):
        decide([0.5, 0.5], CAR, actions=("buy",))
    with pytest.raises(ValueError, match="sum to 1"):
        decide([0.5, 0.4])
