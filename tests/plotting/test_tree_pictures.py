"""Pictures of trees: every node has its box, no two overlap, yes is on the left."""

from itertools import combinations

import numpy as np
import pytest

from posteriori import plot
from posteriori.tree import DecisionTreeClassifier, DecisionTreeRegressor


def grown(leaves, seed=0, classes=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 4))
    y = x[:, 0] * x[:, 1] + 0.3 * rng.normal(size=300)
    if classes:
        y = np.array(["an unusually long label", "b", "c"])[np.digitize(y, [-0.5, 0.5])]
        return DecisionTreeClassifier(max_leaves=leaves).fit(x, y).tree_
    return DecisionTreeRegressor(max_leaves=leaves).fit(x, y).tree_


def boxes(axes):
    axes.figure.draw_without_rendering()
    return [
        text.get_bbox_patch().get_window_extent() for text in axes.texts if text.get_bbox_patch()
    ]


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("leaves", [1, 2, 5, 16])
@pytest.mark.parametrize("seed", range(3))
def test_boxes_stand_apart_and_on_the_paper(leaves, seed, classes):
    tree = grown(leaves, seed, classes)
    axes = plot(tree)
    found = boxes(axes)
    assert len(found) == 2 * tree.n_leaves - 1
    assert not [pair for pair in combinations(found, 2) if pair[0].overlaps(pair[1])]
    width, height = axes.figure.canvas.get_width_height()
    assert all(b.x0 >= 0 and b.x1 <= width and b.y0 >= 0 and b.y1 <= height for b in found)


def test_text_shrinks_on_given_axes(ax):
    found = boxes(plot(grown(12), ax=ax))
    assert not [pair for pair in combinations(found, 2) if pair[0].overlaps(pair[1])]


def test_yes_is_on_the_left():
    tree = grown(5)
    axes = plot(tree)
    places = [t.get_position() for t in axes.texts if t.get_bbox_patch()]
    for node in np.flatnonzero(tree.trees.column >= 0):
        left, right = places[tree.trees.left[node]], places[tree.trees.right[node]]
        assert left[0] < places[node][0] < right[0]
        assert left[1] == right[1] > places[node][1]  # downwards
    words = {t.get_text(): t.get_position()[0] for t in axes.texts if not t.get_bbox_patch()}
    assert words["yes"] < words["no"]


def test_boxes_say_what_nodes_say():
    tree = grown(3, classes=True)
    said = [t.get_text() for t in plot(tree).texts if t.get_bbox_patch()]
    assert said[0].replace("\n", " ") == tree.question(0)
    leaf = int(np.flatnonzero(tree.trees.is_leaf)[0])
    first, second = said[leaf].split("\n")
    assert f"{first} ({second})" == tree.answer(leaf)


def test_wide_trees_are_refused():
    with pytest.raises(ValueError, match=r"a tree of 40 leaves is too wide .* prune it"):
        plot(grown(40))
