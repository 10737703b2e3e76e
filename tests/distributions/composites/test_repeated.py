"""Equal copies answer as a batch of them does."""

import pickle

import numpy as np
import pytest

from posteriori.distributions import Mixture, Normal, Poisson
from posteriori.distributions.base import has_atoms
from posteriori.distributions.composites.repeated import Repeated

BASE = Mixture([0.3, 0.7], Normal([0.0, 3.0], variance=[1.0, 2.0]))


def test_copies_answer_as_a_batch_does():
    n = 1500  # more than are asked about at a time
    copies, batch = Repeated(BASE, n), BASE.iid(n)
    assert copies.batch_shape == batch.batch_shape == (n,)
    x = np.linspace(-3.0, 8.0, 2 * n).reshape(2, n)
    for name in ("log_prob", "cdf"):
        for at in (x, x[0], 1.5):
            np.testing.assert_allclose(getattr(copies, name)(at), getattr(batch, name)(at))
    np.testing.assert_allclose(copies.mean, batch.mean)
    np.testing.assert_allclose(copies.variance, batch.variance)
    few, same = Repeated(BASE, 3), BASE.iid(3)
    for q in (0.2, [0.1, 0.5, 0.9]):
        np.testing.assert_allclose(few.quantile(q), same.quantile(q), rtol=1e-9)
    np.testing.assert_allclose(few.interval(0.8), same.interval(0.8), rtol=1e-9)


def test_copies_are_drawn_independently():
    draws = Repeated(BASE, 4).sample(2000, rng=0)
    assert draws.shape == (2000, 4)
    error = float(BASE.std) / np.sqrt(2000)
    np.testing.assert_allclose(draws.mean(axis=0), BASE.mean, atol=5.0 * error)
    assert np.abs(np.corrcoef(draws.T) - np.eye(4)).max() < 5.0 / np.sqrt(2000)


def test_copies_are_values():
    copies = Repeated(BASE, 4)
    assert pickle.loads(pickle.dumps(copies)) == copies != Repeated(BASE, 5)
    assert has_atoms(Repeated(Poisson(2.0), 3))
    assert not has_atoms(copies)
    assert Repeated(BASE, 0).log_prob(np.empty(0)).shape == (0,)


@pytest.mark.parametrize("base", [Normal([0.0, 1.0], variance=1.0), 3.0])
def test_only_one_number_is_repeated(base):
    with pytest.raises(TypeError, match="base must be one distribution of a number"):
        Repeated(base, 2)
