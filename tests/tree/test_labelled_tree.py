"""Trees in words: rules, graphs and drawings that say the same as the predictions."""

import networkx
import numpy as np
import pandas as pd
import pytest

from posteriori.drawing.arrangement import place_shapes
from posteriori.tree import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor
from tests.tree.cases import CASES, over, rows_of

#: Cases of less than 64 leaves.
READABLE = [case for case in CASES if repr(case.model) != "DecisionTreeRegressor()"]


def follow(rules, row):
    """Return the answer that nested rules give to a row, by reading their text."""
    lines = rules.splitlines()
    depth, place = 0, 0
    while lines[place].strip().startswith("if "):
        condition = lines[place].strip()[3:-1]
        place += 1
        depth += 1
        if not holds(condition, row):
            end = next(
                i for i in range(place, len(lines)) if lines[i] == "    " * (depth - 1) + "else:"
            )
            place = end + 1
    return lines[place].strip()


def holds(condition, row):
    name, _, asked = condition.partition(" ")
    value = row[int(name[1:])]
    if np.isnan(value):
        return asked.endswith("or missing")
    asked = asked.removesuffix(" or missing")
    if asked == "is known":
        return True
    if asked.startswith("in "):
        return int(value) in {int(level) for level in asked[4:-1].split(",")}
    return value <= float(asked.removeprefix("<= "))


@pytest.mark.topic("002/K9", "000/K9")
@over(READABLE)
def test_rules_say_what_is_predicted(case):
    x, y = rows_of(case)
    model = case.model.fit(x, y)
    rules = model.rules()
    for row, predicted in zip(x, model.predict(x), strict=True):
        said = follow(rules, row).partition(" ")[0]
        if model.tree_.classes is None:
            assert float(said) == pytest.approx(predicted, rel=1e-4)
        else:
            assert said == predicted


@pytest.mark.topic("002/K9")
def test_columns_that_repeat_others_or_say_nothing_are_left_out():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    x[:, 2] = x[:, 0]
    x = np.column_stack([x, np.ones(200)])
    model = DecisionTreeRegressor(max_leaves=4).fit(x, np.sign(x[:, 0]) + (x[:, 1] > 0.5))
    assert model.feature_importances_[2:].tolist() == [0.0, 0.0]


@pytest.mark.topic("002/K9")
def test_missing_entries_have_a_side_of_their_own():
    x = np.array([[np.nan], [np.nan], [1.0], [2.0], [3.0]])
    model = DecisionTreeRegressor(max_depth=1).fit(x, [5.0, 5.0, 1.0, 1.0, 1.0])
    assert model.rules().splitlines()[0] == "if x0 is known:"
    model = DecisionTreeRegressor(max_depth=1).fit(x, [5.0, 5.0, 5.0, 1.0, 1.0])
    assert model.rules().splitlines()[0] == "if x0 <= 1.5 or missing:"


def test_rules_have_names_of_columns_and_labels():
    table = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "column 3": [0.0, 1.0, 0.0, 1.0]})
    model = DecisionStump().fit(table, ["young", "young", "old", "old"])
    assert model.rules() == (
        "if age <= 2.5:\n    young (83%, 2 rows)\nelse:\n    old (83%, 2 rows)"
    )
    assert str(model.tree_) == model.rules()
    assert repr(model.tree_) == "LabelledTree(2 leaves, depth 1)"


def test_the_graph_is_a_tree_with_yes_and_no():
    x, y = rows_of(CASES[1])
    tree = CASES[1].model.fit(x, y).tree_
    graph = tree.networkx()
    assert networkx.is_arborescence(graph)
    assert len(graph) == 2 * tree.n_leaves - 1
    assert {label for *_, label in graph.edges(data="label")} == {"yes", "no"}
    leaves = [node for node in graph if not graph.out_degree(node)]
    assert [graph.nodes[node]["label"] for node in leaves] == [tree.answer(n) for n in leaves]
    assert networkx.dag_longest_path_length(graph, weight=None) == tree.depth


def test_drawings_have_a_shape_for_each_node():
    x, y = rows_of(CASES[1])
    tree = CASES[1].model.fit(x, y).tree_
    drawing = tree.draw()
    assert len(drawing.shapes) == 2 * tree.n_leaves - 1
    for text in (drawing.svg(), drawing.dot(), drawing.mermaid()):
        assert text.count("yes") == tree.n_leaves - 1


def test_drawings_have_yes_on_the_left_and_no_crossings():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    tree = DecisionTreeRegressor(max_leaves=14).fit(x, x[:, 0] * x[:, 1]).tree_
    drawing = tree.draw()
    place = place_shapes(drawing).centres
    for node in np.flatnonzero(tree.trees.column >= 0):
        left, right = place[str(tree.trees.left[node])], place[str(tree.trees.right[node])]
        assert left[0] < right[0]
    levels = {}
    for node in map(int, (shape.key for shape in drawing.shapes)):  # from left to right
        levels.setdefault(tree.trees.depth[node], []).append(place[str(node)][0])
    assert all(places == sorted(places) for places in levels.values())


def test_trees_too_large_to_read_say_so():
    x = np.arange(70.0)[:, None]
    tree = DecisionTreeRegressor().fit(x, x[:, 0]).tree_
    for ask in (tree.rules, tree.draw):
        with pytest.raises(ValueError, match=r"a tree of 70 leaves cannot be read .*prune"):
            ask()
    assert str(tree).startswith("LabelledTree(70 leaves")
    assert len(tree.networkx()) == 139


def test_a_tree_without_questions_prints_its_answer():
    model = DecisionTreeClassifier().fit([[1.0], [1.0], [1.0]], ["a", "a", "b"])
    assert model.rules() == "a (62%, 3 rows)"
