"""What a target column is taken for."""

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis.targets import read_target


def target_of(values: object, task: str = "auto") -> object:
    return read_target(pd.DataFrame({"y": values}), "y", task)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (np.repeat([0, 1, 2], 20), "classification"),
        (np.repeat([1, 2, 3, 4, 5], 12), "classification"),
        (np.repeat([3.5, 8.0], 20), "classification"),
        (["yes", "no"] * 10, "classification"),
        (["red", "green", "blue"] * 10, "classification"),
        (np.repeat([0, 1, 2, 3], [40, 30, 20, 2]), "regression"),  # counts: large ones are rare
        (np.repeat([2, 3, 4], 20), "regression"),  # amounts: no names begin at 2
        (np.repeat([0, 1, 3], 20), "regression"),
        (np.linspace(0, 1, 30), "regression"),
        (["1,5", "2,5", "7,25"] * 10, "regression"),
    ],
)
def test_task_is_guessed_from_the_values(values, task):
    found = target_of(values)
    assert found.task == task
    assert any(task in note for note in found.notes)


def test_notes_on_how_the_target_is_read_name_it():
    assert target_of(["1,5", "2,5", "7,25"] * 10).notes[0].startswith("'y': numbers stored as text")


def test_labels_stay_as_they_stand_in_the_table():
    assert target_of(["no", "yes"] * 10).classes.tolist() == ["no", "yes"]
    assert target_of(np.repeat([1.0, 2.0], 20)).classes.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([np.nan] * 20, "missing in every row"),
        ([4.0] * 20, "nothing to predict"),
        ([1.0, 2.0, 3.0] + [np.nan] * 20, "known in 3 rows only"),
        ([f"person {k}" for k in range(30)], "a text of its own"),
    ],
)
def test_targets_that_cannot_be_predicted_are_refused(values, words):
    with pytest.raises(ValueError, match=words):
        target_of(values)


def test_traits_that_candidates_ask_for():
    assert target_of(np.arange(30) // 2, "regression").traits == ("counts",)
    assert target_of(1 + np.arange(30) // 2, "regression").traits == ("counts", "positive")
    assert target_of(np.linspace(-1, 1, 30)).traits == ()
    assert target_of(["a", "b"] * 10).traits == ("two classes",)


def test_a_misspelt_target_is_answered_by_the_nearest_column():
    with pytest.raises(ValueError, match="did you mean 'yield'"):
        read_target(pd.DataFrame({"yield": [1.0, 2.0], "x": [1.0, 2.0]}), "yeild")
