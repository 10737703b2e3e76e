"""Rows that are made when they are read: the same numbers as of the whole table."""

import numpy as np
import pytest

from posteriori.numerics.blocks.row_blocks import RowBlocks

TABLE = np.random.default_rng(0).normal(size=(70_000, 3))  # more than one block
MEAN, FACTOR = np.array([0.5, -1.0, 2.0]), np.array([2.0, 0.0, 0.25])


def lazy() -> RowBlocks:
    return RowBlocks(lambda rows: TABLE[rows], TABLE.shape)


TABLES = {
    "plain": (lazy, TABLE),
    "some columns": (lambda: lazy()[:, 1:], TABLE[:, 1:]),
    "beside others": (lambda: lazy().beside(TABLE[:, :1]), TABLE[:, [0, 1, 2, 0]]),
    "standardised": (
        lambda: lazy().standardized(MEAN, FACTOR, ones=False),
        (TABLE - MEAN) * FACTOR,
    ),
    "with ones": (
        lambda: lazy().standardized(MEAN, FACTOR, ones=True),
        np.column_stack([np.ones(len(TABLE)), (TABLE - MEAN) * FACTOR]),
    ),
    "of some of several": (
        lambda: lazy().beside(TABLE[:, :2])[:, :4].standardized(np.ones(4), np.ones(4), ones=True),
        np.column_stack([np.ones(len(TABLE)), TABLE[:, [0, 1, 2, 0]] - 1.0]),
    ),
}


@pytest.fixture(params=TABLES)
def pair(request) -> tuple[RowBlocks, np.ndarray]:
    make, table = TABLES[request.param]
    return make(), table


def test_products_are_those_of_the_table(pair):
    found, table = pair
    rng = np.random.default_rng(1)
    right, left = rng.normal(size=(table.shape[1], 2)), rng.normal(size=(2, len(table)))
    assert found.shape == table.shape
    assert len(found) == len(table)
    np.testing.assert_allclose(found @ right, table @ right, atol=1e-12)
    np.testing.assert_allclose(found @ right[:, 0], table @ right[:, 0], atol=1e-12)
    np.testing.assert_allclose(left @ found, left @ table, atol=1e-9)
    np.testing.assert_allclose(left[0] @ found, left[0] @ table, atol=1e-9)


@pytest.mark.parametrize("rows", [slice(5, 9), slice(None, None, 8), np.array([7, 3])])
def test_rows_and_columns_are_picked_as_from_an_array(pair, rows):
    found, table = pair
    np.testing.assert_allclose(found[rows], table[rows], atol=1e-15)
    np.testing.assert_allclose(found[rows, 1:], table[rows, 1:], atol=1e-15)
    np.testing.assert_allclose(found[:, 1], table[:, 1], atol=1e-15)


def test_blocks_are_all_rows_in_turn(pair):
    found, table = pair
    parts = list(found.blocks())
    assert len(parts) > 1
    np.testing.assert_allclose(np.concatenate([block for _, block in parts]), table, atol=1e-15)


def test_no_more_than_a_block_is_made_at_a_time():
    longest = 0

    def make(rows):
        nonlocal longest
        found = TABLE[rows]
        longest = max(longest, len(found))
        return found

    _ = RowBlocks(make, TABLE.shape) @ np.ones(3)
    assert 0 < longest < len(TABLE)
