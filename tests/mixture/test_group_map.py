"""The map of groups against plain algebra."""

import numpy as np
import pytest

from posteriori.mixture.groups.group_map import map_groups


def test_maps_show_groups_apart() -> None:
    """Along the first direction the means of groups vary more than along any other unit vector."""
    rng = np.random.default_rng(2)
    codes = rng.normal(size=(90, 5))
    truth = np.arange(90) % 3
    codes[:, 2] += 6 * truth
    shares = (truth[:, None] == np.arange(3)).astype(float)
    found = map_groups(dict.fromkeys("abcde", ()), codes, shares, numbers=True)
    z = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    means = np.stack([z[truth == k].mean(axis=0) for k in range(3)])
    other = rng.normal(size=(5, 1000))
    other /= np.linalg.norm(other, axis=0)
    assert found.means[:, 0].var() >= (means @ other).var(axis=0).max()
    assert found.names[0].startswith("→ c")
    for k in range(3):
        np.testing.assert_allclose(found.covs[k], np.cov(found.places[truth == k].T, bias=True))


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_maps_of_one_group_or_few_columns(columns: int) -> None:
    codes = np.random.default_rng(3).normal(size=(20, columns))
    codes[0, 0] = np.nan
    names = {f"x{j}": () for j in range(columns)}
    found = map_groups(names, codes, np.ones((20, 1)), numbers=True)
    assert found.places.shape == (20, 2)
    assert np.isfinite(found.places).all()
