"""The record itself: valid once constructed, locked, and the same after a copy."""

import copy
import pickle

import numpy as np
import pytest

from posteriori.datasets import Dataset


def make_table(**changes):
    given = {
        "data": [[1.0, 10.0, 0.0], [2.0, 20.0, 1.0]],
        "names": ["a", "b", "c"],
        "description": "Numbers.",
        "index": [7, 8],
        "index_name": "day",
        "target": "c",
        "classes": ["no", "yes"],
        "truth": {"mean": np.array([1.0, 2.0]), "weights": [0.5, 0.5], "slope": 3.0},
    }
    return Dataset(**{**given, **changes})


def test_a_target_splits_the_columns():
    table = make_table()
    assert repr(table) == "Dataset(2 rows; a, b -> c by day)"
    assert table.X.tolist() == [[1, 10], [2, 20]]
    assert table.y.tolist() == [0, 1]
    assert table.y.dtype.kind == "i"
    assert table["day"].tolist() == [7, 8]
    assert table.frame["c"].dtype.kind == "i"


def test_a_target_that_is_no_class_stays_a_float():
    assert make_table(classes=()).y.dtype == np.float64


def test_without_a_target_all_columns_are_inputs():
    table = make_table(target=None, classes=())
    assert table.X is table.data
    assert not hasattr(table, "y")
    with pytest.raises(AttributeError, match="no target; take a column by its name: a, b, c"):
        table.y  # noqa: B018


def test_everything_is_locked_and_copied():
    data = np.ones((2, 3))
    table = make_table(data=data)
    data[:] = 5
    assert table.data.max() == 1
    for array in (table.data, table.X, table.y, table.index, table["a"], *_arrays(table.truth)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9
    with pytest.raises(TypeError):
        table.truth["slope"] = 4
    with pytest.raises(AttributeError):
        table.data = data


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_a_copy_is_the_same_and_locked_too(clone):
    table, twin = make_table(), clone(make_table())
    assert repr(twin) == repr(table)
    np.testing.assert_array_equal(twin.data, table.data)
    assert twin.truth.keys() == table.truth.keys()
    assert twin.classes == table.classes
    with pytest.raises(ValueError, match="read-only"):
        twin.data[0] = 9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": [1.0, 2.0]}, r"shape \(N, 3\).*got shape \(2,\)"),
        ({"names": ["a", "b"], "target": "b"}, r"shape \(N, 2\).*a, b; got shape \(2, 3\)"),
        ({"names": ["a", "a", "c"]}, "names must differ, got a twice"),
        ({"index_name": "a"}, "names must differ, got a twice"),
        ({"index": None}, "index and index_name must be given together"),
        ({"index": [1, 2, 3]}, r"index must have shape \(2,\), got \(3,\)"),
        ({"target": "a"}, "target must be the last column, 'c'; got 'a'"),
        ({"target": None}, "classes name the values of a target"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        make_table(**changes)


def _arrays(truth):
    return [value for value in truth.values() if isinstance(value, np.ndarray)]
