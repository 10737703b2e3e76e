"""What is to be predicted, guessed from the target column."""

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis.comparisons.table_problem import TASKS, read_target


def read(values, task="auto", name="y"):
    return read_target(pd.DataFrame({name: values}), name, task)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (np.linspace(0, 1, 30), "regression"),
        (np.arange(30), "regression"),
        ([3.0, 4.0] * 15, "classification"),
        ([0, 1, 2] * 10, "classification"),
        ([1, 2, 3] * 10, "classification"),
        ([2, 3, 4] * 10, "regression"),
        ([0, 1, 3] * 10, "regression"),
        ([0, 1, 2] * 3, "regression"),
        ([0] * 40 + [1] * 20 + [2], "regression"),  # a rare large one: counts
        (["a", "b", "c"] * 10, "classification"),
        (["yes", "no"] * 10, "classification"),
        ([True, False] * 10, "classification"),
        (["1.5", "2.5", "3.5", "7"] * 5, "regression"),
        ([f"2020-01-{d:02d}" for d in range(1, 31)], "regression"),
        (pd.Categorical([5, 6, 7] * 10), "classification"),
    ],
)
def test_tasks_are_guessed_and_said(values, task):
    target = read(values)
    assert target.task == task
    assert any(note.startswith(f"{task}: 'y'") for note in target.notes)


def test_labels_stand_as_they_do_in_the_table():
    assert list(read(["yes", "no", " yes"] * 3).classes) == ["no", "yes"]
    assert list(read([True, False] * 5).classes) == [False, True]
    assert read([True, False] * 5).classes.dtype == bool
    whole = read([2.0, 7.0] * 5)
    assert list(whole.classes) == [2, 7]
    assert whole.classes.dtype == np.int64
    assert list(read([0.5, 1.5] * 5).classes) == ["0.5", "1.5"]  # scikit-learn takes no fractions


@pytest.mark.parametrize("values", [["No", "Yes"] * 10, [f"class {k % 40}" for k in range(400)]])
def test_classes_have_no_notes_about_words_as_inputs(values):
    assert read(values).notes == (f"classification: 'y' names {len(set(values))} classes",)


def test_words_that_become_numbers_are_said():
    assert "'y': 'yes' is 1, the other word 0" in read(["no", "yes"] * 10, "regression").notes


def test_rows_without_target_are_left_out():
    target = read([1.5, None, 2.5, 3.5, np.inf, 4.5, 5.5])
    np.testing.assert_array_equal(target.values, [1.5, 2.5, 3.5, 4.5, 5.5])
    np.testing.assert_array_equal(target.known, [1, 0, 1, 1, 0, 1, 1])
    assert "the target is missing in 2 of 7 rows (left out)" in target.notes


def test_the_task_may_be_asked_for():
    assert read([0, 1] * 10, "regression").classes is None
    assert read([0, 1] * 10, "density").task == "density"
    assert list(read(np.arange(6) % 3 + 10, "classification").classes) == [10, 11, 12]


@pytest.mark.parametrize(
    ("values", "traits"),
    [
        ([0, 1, 5, 9, 30], ("counts",)),
        ([0] * 60 + [5] * 25, ("counts", "many zeros")),
        ([0] * 60 + [5] * 15, ("counts",)),  # too few to learn their size
        (np.random.default_rng(0).poisson(1.0, 200), ("counts",)),  # as many as there must be
        ([1, 4, 5, 9, 30], ("counts", "positive", "skewed")),
        ([0.5, 1, 5, 9, 30], ("positive", "skewed")),
        (np.exp(np.linspace(-2.0, 2.0, 9)), ("positive", "skewed")),
        (np.exp(-np.exp(np.linspace(-2.0, 2.0, 9))), ("positive",)),  # the logarithms are more so
        (30.0 + np.linspace(-2.0, 2.0, 9), ("positive",)),
        ([1e18, 1.5e18, 1.6e18, 1.7e18, 1.8e18], ("positive",)),
        ([-1, 1, 5, 9, 30], ()),
        ([0.0, 0.5, 5, 9, 30], ()),
        (["a", "b", "a", "b", "a"], ("two classes",)),
        (["a", "b", "c", "b", "a"], ()),
    ],
)
def test_traits(values, traits):
    task = "auto" if isinstance(values[0], str) else "regression"
    assert read(values, task).traits == traits


@pytest.mark.parametrize(
    ("values", "task", "message"),
    [
        ([1.0, 2.0, 3.0], "guess", "task must be one of auto, regression, classification, density"),
        ([None] * 9, "auto", "'y' is missing in every row; choose another column"),
        (["?", "n/a", ""] * 3, "auto", "'y' is missing in every row"),
        ([7.0] * 9, "auto", "'y' is always 7.0: with one value there is nothing to predict"),
        (["a"] * 9, "auto", "'y' is always a: with one value"),
        ([1.0, 2.0, None, None, None], "auto", "known in 2 rows only; at least 5 are needed"),
        ([f"name {k}" for k in range(30)], "auto", "a text of its own in nearly every row"),
        (["a", "b", "c"] * 4, "regression", "texts such as 'a': it can be classified, but regress"),
        (["a", "b", "c"] * 4, "density", "but density needs numbers"),
        ([f"l{k % 101}" for k in range(303)], "auto", "has 101 classes; group them into at most 100"),
        (np.arange(300.0), "classification", "300 different numbers; classes are at most 100"),
    ],
)  # fmt: skip
def test_targets_that_cannot_be_predicted(values, task, message):
    with pytest.raises(ValueError, match=message):
        read(values, task)


def test_an_unknown_column_is_told_with_those_that_exist():
    frame = pd.DataFrame({f"c{k}": [1.0, 2.0] for k in range(14)} | {"price": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"'none'; there are 'c0', 'c1'.* and 3 more"):
        read_target(frame, "none")
    with pytest.raises(ValueError, match="no column 'prize'; did you mean 'price'"):
        read_target(frame, "prize")


def test_all_tasks_are_known():
    assert TASKS == ("auto", "regression", "classification", "density")


def test_integers_that_number_rows_can_be_predicted():
    assert read(np.arange(1, 31), name="row").task == "regression"


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        (1e300, r"the target 'y' must lie within ±1e\+120, got 2e\+300; divide it"),
        (1e-300, "the target 'y' has no number beyond 2e-300, whose square is 0; divide it"),
    ],
)
def test_targets_whose_squares_cannot_be_computed_are_refused(scale, said):
    with pytest.raises(ValueError, match=said):
        read_target(pd.DataFrame({"y": scale * np.linspace(-1.5, 2.0, 30)}), "y")


@pytest.mark.parametrize("scale", [1e100, 1e-100])
def test_far_units_are_taken(scale):
    table = pd.DataFrame({"y": scale * np.linspace(-1.5, 2.0, 30)})
    assert read_target(table, "y").task == "regression"


def test_a_value_that_repeats_is_said():
    amounts = np.append(np.zeros(50), np.linspace(0.5, 9.7, 50))
    assert any(note.startswith("'y' is 0 in 50% of the rows") for note in read(amounts).notes)
    assert not any("of the rows" in note for note in read(np.ceil(2 * amounts)).notes)  # counts
    assert not any("of the rows" in note for note in read(amounts[50:]).notes)
