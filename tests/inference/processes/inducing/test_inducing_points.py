"""Points that tell a function: the least known ones, whatever the order of rows."""

import numpy as np

from posteriori.inference.processes.inducing.inducing_points import choose_points
from posteriori.kernels import RBF, Linear

X = np.random.default_rng(0).integers(0, 4, size=(30, 3)).astype(float)


def test_each_next_point_is_where_least_is_known():
    kernel = RBF(2.0) + Linear()
    points = choose_points(kernel, X, 6)
    for m in range(1, 6):
        seen = points[:m]
        through = np.linalg.solve(kernel(seen), kernel(seen, X))
        left = np.diagonal(kernel(X)) - np.sum(kernel(seen, X) * through, axis=0)
        at = kernel(points[m : m + 1]) - kernel(points[m : m + 1], seen) @ np.linalg.solve(
            kernel(seen), kernel(seen, points[m : m + 1])
        )
        assert np.isclose(at[0, 0], left.max(), rtol=1e-8)


def test_neither_order_nor_repeated_rows_matter():
    """Under a stationary kernel all rows are equally unknown at first, and corners of a grid after that."""
    first = choose_points(RBF(1.5), X, 8)
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(
            np.repeat(np.arange(30), 1 + np.arange(30) % 3)
        )
        assert np.array_equal(choose_points(RBF(1.5), X[rows], 8), first)


def test_no_point_beyond_what_there_is_to_tell():
    assert len(choose_points(Linear(), X, 20)) == 3
