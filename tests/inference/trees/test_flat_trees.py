"""Flat trees: forged ones are refused, joined ones answer as before."""

from dataclasses import replace

import numpy as np
import pytest

from posteriori.inference.trees.flat_trees import Trees, join_trees


def small_tree() -> Trees:
    """x0 <= 1, then (left) level of x1 in {0, 2}."""
    return Trees(
        column=np.array([0, 1, -1, -1, -1]),
        threshold=np.array([1.0, np.nan, np.nan, np.nan, np.nan]),
        left=np.array([1, 3, -1, -1, -1]),
        right=np.array([2, 4, -1, -1, -1]),
        missing_left=np.array([True, False, False, False, False]),
        subset=np.array([-1, 0, -1, -1, -1]),
        levels=np.array([True, False, True]),
        n_levels=np.array([0, 3]),
        roots=np.array([0]),
    )


ROWS = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [np.nan, 2.0], [0.0, 9.0], [0.0, np.nan]])
LEAVES = [3, 4, 2, 3, 4, 4]


def test_rows_go_their_way():
    np.testing.assert_array_equal(small_tree().find_leaves(ROWS)[:, 0], LEAVES)
    np.testing.assert_array_equal(small_tree().depth, [0, 1, 1, 2, 2])


def test_joined_trees_are_found_again():
    trees = join_trees([small_tree(), small_tree(), small_tree()])
    leaves = trees.find_leaves(ROWS)
    np.testing.assert_array_equal(leaves, np.array(LEAVES)[:, None] + [0, 5, 10])
    np.testing.assert_array_equal(trees.tree(2).find_leaves(ROWS)[:, 0], LEAVES)
    total = np.zeros((len(ROWS), 1))
    trees.add_values(np.arange(15.0)[:, None], ROWS, total)
    np.testing.assert_array_equal(total[:, 0], leaves.sum(axis=1))


@pytest.mark.parametrize(
    "forged",
    [
        {"left": np.array([1, 99, -1, -1, -1])},  # beyond the last node
        {"left": np.array([0, 3, -1, -1, -1])},  # a cycle of one
        {"right": np.array([2, 0, -1, -1, -1])},  # a cycle
        {"left": np.array([-5, 3, -1, -1, -1])},
        {"column": np.array([2, 1, -1, -1, -1])},  # a column that is not there
        {"subset": np.array([-1, 1, -1, -1, -1])},  # levels beyond the marks
        {"threshold": np.zeros(4)},
        {"roots": np.array([1])},
        {"roots": np.array([0, 0])},
        {"roots": np.array([0, 2])},  # children in the next tree
        {"roots": np.zeros(0, int)},
        {"n_levels": np.array([0, 10**12])},
    ],
)
def test_forged_trees_are_refused_before_rows_are_sent_through_them(forged):
    with pytest.raises(ValueError, match="tree"):
        replace(small_tree(), **forged).find_leaves(ROWS)


def test_inputs_of_another_width_are_refused():
    with pytest.raises(ValueError, match=r"x must be \(N, 2\)"):
        small_tree().find_leaves(np.zeros((3, 5)))


def test_shared_values_are_those_at_the_places_of_leaves():
    trees = join_trees([small_tree(), small_tree()])
    values = np.random.default_rng(0).normal(size=(4, 3))
    places = np.random.default_rng(1).integers(4, size=10)
    total = np.ones((len(ROWS), 3))
    trees.add_shared_values(places, values, ROWS, total)
    expected = 1.0 + values[places[trees.find_leaves(ROWS)]].sum(axis=1)
    np.testing.assert_allclose(total, expected, rtol=1e-15)


@pytest.mark.parametrize("places", [np.full(5, 4), np.full(5, -1), np.zeros(4, int)])
def test_places_without_values_are_refused(places):
    with pytest.raises(ValueError, match=r"leaf|do not fit"):
        small_tree().add_shared_values(places, np.zeros((4, 1)), ROWS, np.zeros((len(ROWS), 1)))


def test_more_nodes_than_can_be_counted_are_refused():
    with pytest.raises(ValueError, match="too many nodes"):
        replace(small_tree(), left=np.array([2**31, 3, -1, -1, -1]))
