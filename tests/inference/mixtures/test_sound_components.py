"""Which components have rows enough, against covariances written out."""

import numpy as np
import pytest

from posteriori.inference.mixtures.columns.sound_components import Shrinkable, are_sound

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2)) * [1.0, 100.0]


def shares(*groups):
    found = np.zeros((len(groups) + 1, len(X)))
    for k, rows in enumerate(groups):
        found[k, rows] = 1.0
    found[-1] = 1.0 - found[:-1].sum(axis=0)
    return found


@pytest.mark.parametrize("together", [False, True])
def test_a_component_of_a_single_row_is_not_sound(together):
    both = Shrinkable([0, 1], together)
    assert are_sound(X, shares(range(15)), both)
    assert not are_sound(X, shares([3]), both)
    assert are_sound(X, shares([3]), Shrinkable([]))


def test_equal_entries_of_one_column_are_enough():
    x = X.copy()
    x[:10, 1] = x[0, 1]
    assert not are_sound(x, shares(range(10)), Shrinkable([0, 1]))
    assert are_sound(x, shares(range(10)), Shrinkable([0]))


def test_a_vector_can_shrink_across_its_columns():
    x = X.copy()
    x[:10, 1] = 3.0 * x[:10, 0]
    assert are_sound(x, shares(range(10)), Shrinkable([0, 1]))
    assert not are_sound(x, shares(range(10)), Shrinkable([0, 1], together=True))


def test_the_floor_is_a_millionth_of_the_variance_of_all_rows():
    x = X[:, :1].copy()
    part = x[:10, 0] - x[:10, 0].mean()
    for ratio, sound in ((1.1e-6, True), (0.9e-6, False)):
        moved = x.copy()
        for _ in range(50):  # the variance of all rows moves with that of the part
            moved[:10, 0] = part * np.sqrt(ratio * moved.var() / part.var())
        assert are_sound(moved, shares(range(10)), Shrinkable([0])) is sound


def test_gaps_and_weights():
    x = X.copy()
    x[1:10, 0] = np.nan
    assert not are_sound(x, shares(range(10)), Shrinkable([0]))
    assert are_sound(x, shares(range(10)), Shrinkable([1]))
    assert not are_sound(X, 0.04 * shares(range(30)), Shrinkable([0]))  # 1.2 rows
