"""Features that are remembered against those made anew in each pass."""

import numpy as np

from posteriori.inference.mixtures.feature_pass import pass_over_rows, remember_features


class Squares:
    """1, x and x² of one column, which count how often they are asked for."""

    size = 3

    def __init__(self) -> None:
        self.asked = 0

    def of(self, x):
        self.asked += 1
        return np.stack([np.ones(len(x)), x[:, 0], x[:, 0] ** 2])


def test_few_rows_have_their_features_made_once() -> None:
    """Passes find the same; of many rows nothing is kept."""
    rng = np.random.default_rng(0)
    x, theta = rng.normal(size=(50, 1)), rng.normal(size=(2, 3))
    plain, asked = Squares(), Squares()
    kept = remember_features(asked, x)
    for weights in (None, rng.integers(1, 4, 50).astype(float)):
        expected, found = (pass_over_rows(f, theta, x, weights) for f in (plain, kept))
        np.testing.assert_array_equal(found.statistics, expected.statistics)
        assert found.log_likelihood == expected.log_likelihood
    assert (plain.asked, asked.asked) == (2, 1)
    assert remember_features(plain, np.zeros((10_000_000, 1))) is plain
