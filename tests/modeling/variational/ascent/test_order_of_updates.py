"""Means are updated before precisions, so that a start is not lost as noise."""

import numpy as np
import pytest

from posteriori import Gamma, Model, MvNormal, Normal


@pytest.mark.parametrize("seed", [1, 2, 10])
def test_weak_factors_are_found(seed: int) -> None:
    """Of six columns three are kept, as many as made the data; the third is weak for two seeds."""
    rng = np.random.default_rng(seed)
    loadings, noise = rng.normal(size=(10, 3)), rng.uniform(0.2, 0.6, 10)
    x = rng.normal(size=(150, 3)) @ loadings.T + noise * rng.normal(size=(150, 10))
    x[rng.random(x.shape) < 0.2] = np.nan
    m = Model()
    m.alpha = Gamma(0.01, rate=0.01).iid(6)
    m.W = Normal(0, precision=m.alpha).iid(10)
    m.tau = Gamma(1, rate=0.1).iid(10)
    m.z = MvNormal(np.zeros(6), cov=np.eye(6)).iid("n")
    m.x = Normal(m.W @ m.z, precision=m.tau)
    size = np.sqrt((m.infer(x=x).W.mean ** 2).mean(axis=0))
    assert np.sum(size > 0.1) == 3
    assert np.sum(size < 1e-3) == 3


def test_the_plan_says_the_order_of_updates() -> None:
    m = Model()
    m.mu = Normal(0, variance=4)
    m.tau = Gamma(1, rate=1)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    assert m.plan(y=[1.0, 2.0]).blocks[0].order == ("mu", "tau")
