"""Parameters given partitions against conjugate learning of each cluster's rows alone."""

import numpy as np
import pytest
from scipy.stats import kstest

from posteriori import bayes
from posteriori.distributions import MvNormal, NormalWishart
from posteriori.inference.mixtures.partitions.parameter_draws import (
    draw_normals,
    normals_given_partitions,
)

PRIOR = NormalWishart([1.0, -1.0], 0.3, 4.0, [[0.5, 0.1], [0.1, 0.4]])


def rows_and_labels() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = 1e4 + rng.normal(size=(30, 2)) @ [[2.0, 1.0], [0.0, 0.5]]
    return x, rng.integers(3, size=(5, 30))


def test_beliefs_are_those_of_the_rows_of_a_cluster() -> None:
    x, labels = rows_and_labels()
    labels[4] = 0  # all others are empty
    found = normals_given_partitions(x, labels, PRIOR, 4)
    assert found.batch_shape == (5, 4)
    for s, k in np.ndindex(5, 4):
        mine = x[labels[s] == k]
        alone = bayes(PRIOR, MvNormal, mine).posterior if len(mine) else PRIOR
        for name in ("location", "mean_strength", "dof", "inverse_scale"):
            told = np.asarray(getattr(found, name))[s, k]
            np.testing.assert_allclose(told, getattr(alone, name), rtol=1e-7)


@pytest.mark.parametrize("component", [0, 2])
def test_draws_have_the_laws_of_the_beliefs(component: int) -> None:
    """Means are Student's t, weights Beta; the last component has no row."""
    x, labels = rows_and_labels()
    labels = np.repeat(labels[:1] % 2, 2000, axis=0)
    drawn = draw_normals(x - 1e4, labels, PRIOR, 0.5, 3, np.random.default_rng(1))
    belief = normals_given_partitions(x - 1e4, labels[:1], PRIOR, 3).marginal_mean()
    n = (labels[0] == component).sum()
    scale = np.sqrt(belief.scale[0, component, 0, 0])
    z = (drawn.means[:, component, 0] - belief.location[0, component, 0]) / scale
    assert kstest(z, "t", args=(belief.dof[0, component],)).pvalue > 1e-3
    share = drawn.weights[:, component]
    assert kstest(share, "beta", args=(0.5 + n, 1.0 + 30 - n)).pvalue > 1e-3
    np.testing.assert_allclose(drawn.weights.sum(axis=1), 1.0)
