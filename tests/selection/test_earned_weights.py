"""Which models earn a place in the average, against all subsets of them."""

from itertools import combinations

import numpy as np
import pytest

from posteriori.selection.averaging import stacking_weights
from posteriori.selection.earned_weights import earned_weights


def score(logs, weights) -> float:
    return float(np.log(np.exp(logs) @ weights).sum())


def made(seed: int, rows: int = 200) -> np.ndarray:
    """Return log densities of rows of two kinds, under a model of each, a poor one and a copy."""
    rng = np.random.default_rng(seed)
    kind = rng.random(rows) < 0.5
    one = np.where(kind, -0.5, -3.0) + 0.3 * rng.normal(size=rows)
    other = np.where(kind, -3.0, -0.5) + 0.3 * rng.normal(size=rows)
    poor = -4.0 + rng.normal(size=rows)
    return np.column_stack([one, other, poor, one + 0.01 * rng.normal(size=rows)])


@pytest.mark.parametrize("seed", range(6))
def test_no_subset_is_better_by_akaikes_count(seed):
    logs = made(seed)
    best = -np.inf
    for size in range(1, 5):
        for some in map(list, combinations(range(4), size)):
            best = max(best, score(logs[:, some], stacking_weights(logs[:, some])) - (size - 1))
    weights = earned_weights(logs)
    assert weights.sum() == pytest.approx(1.0)
    assert score(logs, weights) - (np.count_nonzero(weights) - 1) == pytest.approx(best, abs=1e-6)


def test_what_is_needed_stays_and_what_hardly_helps_goes():
    weights = earned_weights(made(0))
    assert weights[1] > 0.3
    assert weights[0] + weights[3] > 0.3
    assert weights[2] == 0.0
    assert np.count_nonzero(weights) == 2  # one of the two that are alike is enough


def test_of_many_rows_the_weights_are_those_of_stacking():
    logs = made(1, rows=20_000)[:, :2]
    np.testing.assert_array_equal(earned_weights(logs), stacking_weights(logs))


def test_a_model_that_alone_allows_a_row_stays():
    logs = np.array([[-1.0, -np.inf]] * 3 + [[-np.inf, -0.1]])
    assert (earned_weights(logs) > 0.0).all()
