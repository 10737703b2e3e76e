"""Nodes of several normal variables: what they integrate exactly, and which rows they are for."""

import numpy as np
import pytest

from posteriori.inference.predictors.product_nodes import FINE, ROUGH, nodes_by_width

pytestmark = pytest.mark.blas


def both_signs(nodes):
    return np.concatenate([nodes.z, -nodes.z], axis=1), np.concatenate([nodes.weights] * 2)


@pytest.mark.parametrize("fineness", [FINE, ROUGH])
@pytest.mark.parametrize(
    ("d", "std"), [(1, 0.1), (2, 0.1), (2, 3.0), (3, 0.02), (9, 2.0), (99, 1.0)]
)
def test_nodes_have_the_moments_of_standard_normal_variables(d, std, fineness):
    (nodes,) = nodes_by_width(np.full((1, d), std), np.pi, fineness)
    z, w = both_signs(nodes)
    near = 10.0 ** (1.0 - fineness.digits[-1])
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose((z * w) @ z.T, np.eye(d), atol=near)
    np.testing.assert_allclose(z @ w, 0.0, atol=1e-12)


def test_products_of_even_and_odd_rules_are_halved_alike():
    """E exp(a·z) = exp(|a|²/2), which only sums over all nodes give."""
    for std in ([0.1, 0.1], [0.1, 0.5], [0.5, 0.5], [1.0, 0.01]):
        (nodes,) = nodes_by_width(np.array([std]), np.pi)
        z, w = both_signs(nodes)
        a = 0.2 * np.array(std)
        assert np.exp(a @ z) @ w == pytest.approx(np.exp(0.5 * a @ a), rel=1e-8)


def test_each_row_comes_once_with_the_nodes_of_its_own_widths():
    std = np.random.default_rng(0).lognormal(-1.0, 1.5, size=(60, 3))
    seen = np.concatenate([nodes.rows for nodes in nodes_by_width(std, np.pi)])
    np.testing.assert_array_equal(np.sort(seen), np.arange(60))
    for nodes in nodes_by_width(std, np.pi):
        for row in nodes.rows:
            (alone,) = nodes_by_width(std[[row]], np.pi)
            np.testing.assert_array_equal(alone.z, nodes.z)
            np.testing.assert_array_equal(alone.weights, nodes.weights)
