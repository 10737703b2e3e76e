"""Trees in files: they answer as before; a forged one is refused before compiled code sees it."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from posteriori.analysis import load_model, save_model
from posteriori.analysis.saved.object_tree import from_tree, to_tree
from posteriori.inference.trees.flat_trees import Trees
from posteriori.tree import DecisionTreeClassifier, DecisionTreeRegressor, cost_complexity_path
from tests.analysis.tables import analysis_of, mixed_table
from tests.tampering import damaged, forged
from tests.test_tampered_files import faults, show_model
from tests.tree.cases import CASES, answers, over, rows_of


def again(value):
    tree, blocks = to_tree(value)
    return from_tree(tree, b"".join(blocks))


@over(CASES)
def test_saved_trees_answer_as_before(case):
    x, y = rows_of(case)
    model = clone(case.model).fit(x, y)
    other = again(model)
    np.testing.assert_array_equal(answers(other, x), answers(model, x))
    assert str(other.tree_) == str(model.tree_)
    assert cost_complexity_path(other).n_leaves.tolist() == (
        cost_complexity_path(model).n_leaves.tolist()
    )


@cache
def tree_models():
    """Return models of a table that end in a tree instead of what the command would take."""
    made = []
    for target, task, name, tree in (
        ("count", "regression", "linear", DecisionTreeRegressor(max_leaves=6)),
        ("two", "classification", "logistic", DecisionTreeClassifier(max_leaves=6)),
    ):
        model, table = analysis_of(target, task, name).table_model(name), mixed_table()
        before = model.pipeline[:-1]
        y = table[target].to_numpy()
        seen = np.array([value == value and value is not None for value in y])
        rows = before.transform(model.read(table[seen]))
        steps = [*before.steps, ("model", tree.fit(rows, y[seen]))]
        made.append(
            replace(model, pipeline=Pipeline(steps), classes=getattr(tree, "classes_", None))
        )
    return made


def test_models_that_end_in_a_tree_are_saved(tmp_path):
    for model in tree_models():
        save_model(model, tmp_path / "m.po")
        found, new = load_model(tmp_path / "m.po"), mixed_table(8, seed=1)
        assert found.predict(new).equals(model.predict(new))


@pytest.mark.parametrize("tamper", [damaged, forged])
def test_tampered_trees_are_refused_by_the_name_of_the_file(tamper, tmp_path):
    files = []
    for model in tree_models():
        save_model(model, tmp_path / "m.po")
        files.append((tmp_path / "m.po").read_bytes())
    assert not faults(show_model, files, tamper, tmp_path / "file", range(120))


def small_tree():
    model = DecisionTreeRegressor(max_leaves=4)
    return model.fit(np.arange(8.0)[:, None], np.arange(8.0) ** 2)


def with_array(model, name, array):
    """Return what a file with another array of its tree comes back as."""
    other = again(model)
    object.__setattr__(other.trees_, name, array)
    return other


FORGERIES = [
    ("left", lambda t: t.left + 100, "must come before its children"),
    ("left", lambda t: np.minimum(t.left, 0), "must come before its children"),
    ("right", lambda t: np.minimum(t.right, -5), "must come before its children"),
    ("column", lambda t: t.column + 7, "asks for a column beyond the 1"),
    ("column", lambda t: t.column.astype(float), "column of a tree must be a plain array of int32"),
    ("threshold", lambda t: t.threshold[:2], "one entry for each node"),
    ("subset", lambda t: np.zeros_like(t.subset) + 3, "asks for levels that are not there"),
    ("roots", lambda t: np.array([5]), "trees must begin at node 0"),
    ("roots", lambda t: 0, "roots of a tree must be a plain array of int64"),
    ("n_levels", lambda t: t.n_levels - 4, "asks for a column beyond"),
    ("levels", lambda t: np.zeros((1, 1), dtype=bool), "levels of a tree must be a plain array"),
]


@pytest.mark.parametrize(("name", "change", "words"), FORGERIES)
def test_forged_trees_are_refused_in_words(name, change, words):
    model = with_array(small_tree(), name, change(small_tree().trees_))
    with pytest.raises(ValueError, match=words):
        model.predict([[1.0]])


@pytest.mark.parametrize("sums", [np.ones((2, 3)), np.ones((7, 1)), np.full((7, 3), np.nan)])
def test_forged_sums_are_refused_where_they_are_compiled_over(sums):
    model = again(small_tree())
    model.sums_ = sums
    with pytest.raises(ValueError, match="sums"):
        cost_complexity_path(model)


def test_cached_parts_are_left_out_of_files():
    trees = small_tree().trees_
    assert trees.arrays[0] is trees.column
    assert trees.depth.max() > 0
    assert isinstance(again(trees), Trees)
    assert "arrays" not in vars(again(trees))
