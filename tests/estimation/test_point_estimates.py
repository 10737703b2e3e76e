"""Point estimates are the minima of their losses."""

import numpy as np
import pytest

from posteriori.distributions import Beta, Dirichlet, Gamma, MvNormal, Normal, Poisson
from posteriori.estimation import point_estimate


@pytest.mark.topic("004/2.13")
@pytest.mark.parametrize("d", [Gamma(3.0, 2.0), Beta(2.0, 5.0), Normal(1.0, variance=4.0)])
def test_losses_and_their_estimates(d):
    assert point_estimate(d) == d.mean
    assert point_estimate(d, "absolute") == d.median
    assert point_estimate(d, "zero-one") == d.mode
    by_loss = point_estimate(d, lambda a, x: (x - a) ** 2)
    assert by_loss == pytest.approx(float(d.mean), abs=1e-6)
    by_loss = point_estimate(d, lambda a, x: np.abs(x - a))
    assert by_loss == pytest.approx(float(d.median), abs=1e-6)
    check = point_estimate(d, lambda a, x: np.where(x > a, 4.0 * (x - a), a - x))
    assert check == pytest.approx(float(d.quantile(0.8)), abs=1e-5)
    drawn = point_estimate(d, lambda a, x: (x - a) ** 2, n_draws=20_000, rng=0)
    assert abs(drawn - d.mean) < 5 * d.std / np.sqrt(20_000)


@pytest.mark.topic("004/2.13")
def test_point_estimates_of_counts_and_vectors():
    d = Poisson(4.2)
    stock = point_estimate(d, lambda a, x: np.where(x > a, 9.0 * (x - a), a - x))
    assert stock == pytest.approx(float(d.quantile(0.9)), abs=1e-4)
    joint = MvNormal([1.0, 2.0], cov=[[1.0, 0.3], [0.3, 2.0]])
    np.testing.assert_array_equal(point_estimate(joint, "absolute"), joint.mean)
    found = point_estimate(joint, lambda a, x: ((x - a) ** 2).sum(axis=-1), rng=1)
    np.testing.assert_allclose(found, joint.mean, atol=5 * np.sqrt(2.0 / 20_000) + 1e-3)
    simplex = Dirichlet([2.0, 3.0, 4.0])
    middle = point_estimate(simplex, "absolute", rng=2)
    exact = [Beta(a, 9 - a).median for a in (2.0, 3.0, 4.0)]
    np.testing.assert_allclose(middle, exact, atol=0.01)
    with pytest.raises(ValueError, match='"squared", "absolute", "zero-one"'):
        point_estimate(d, "huber")
    with pytest.raises(ValueError, match="single distribution"):
        point_estimate(Normal([0.0, 1.0], variance=1.0), lambda a, x: (x - a) ** 2)
