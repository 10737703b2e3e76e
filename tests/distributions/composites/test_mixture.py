"""Mixtures of any family against sums of densities."""

import numpy as np
import pytest
from scipy import stats

from posteriori.distributions import (
    Beta,
    Categorical,
    Exponential,
    Gamma,
    MatrixNormal,
    Mixture,
    MvNormal,
    Normal,
    NormalWishart,
    Poisson,
    UnivariateMixture,
)
from posteriori.distributions.base import has_atoms
from posteriori.distributions.batches import take_members

TWO = Mixture([0.3, 0.7], Normal([0.0, 3.0], variance=[1.0, 2.0]))


def test_a_mixture_adds_densities():
    x = np.linspace(-4.0, 8.0, 50)
    slow = 0.3 * stats.norm(0, 1).pdf(x) + 0.7 * stats.norm(3, 2**0.5).pdf(x)
    np.testing.assert_allclose(np.exp(TWO.log_prob(x)), slow, rtol=1e-13)
    assert TWO.log_prob(-60.0) == pytest.approx(np.log(0.7) + Normal(3, variance=2).log_prob(-60))
    assert Mixture(Categorical([0.3, 0.7]), TWO.components) == TWO
    assert TWO.mean == pytest.approx(2.1)
    assert TWO.variance == pytest.approx(0.3 * 1 + 0.7 * 2 + 0.3 * 2.1**2 + 0.7 * 0.9**2)
    r = TWO.responsibilities(x)
    np.testing.assert_allclose(r.sum(axis=-1), 1.0)
    np.testing.assert_allclose(r[:, 0], 0.3 * stats.norm(0, 1).pdf(x) / slow, rtol=1e-12)
    with pytest.raises(ValueError, match="no component"):
        Mixture([0.5, 0.5], Exponential([1.0, 2.0])).responsibilities(-1.0)


@pytest.mark.parametrize(
    "components",
    [Gamma([1.0, 5.0], [1.0, 2.0]), Poisson([2.0, 9.0]), Beta([1.0, 8.0], [3.0, 2.0])],
    ids=lambda d: type(d).__name__,
)
def test_mixtures_of_any_family(components):
    d = Mixture([0.4, 0.6], components)
    assert isinstance(d, UnivariateMixture)
    assert has_atoms(d) == isinstance(components, Poisson)
    draws = d.sample(40_000, rng=1)
    assert abs(draws.mean() - d.mean) < 5 * d.std / 200
    q = np.array([0.05, 0.4, 0.9])
    x = d.quantile(q)
    assert np.all(d.cdf(x) >= q - 1e-12)
    assert np.all(d.cdf(np.nextafter(x, -np.inf)) <= q + 1e-12)


def test_marginals_and_conditionals_of_a_mixture_of_normals():
    means = [[0.0, 1.0, -1.0], [2.0, 0.0, 1.0]]
    covs = [np.eye(3) + 0.3, np.diag([1.0, 2.0, 0.5]) + 0.2]
    d = Mixture([0.25, 0.75], MvNormal(means, cov=covs))
    x = np.array([0.7, -0.2, 0.4])
    known = d.marginal([0, 2]).log_prob(x[[0, 2]])
    rest = d.condition([0, 2], x[[0, 2]])
    assert isinstance(rest, Mixture)
    assert known + rest.log_prob(x[[1]]) == pytest.approx(d.log_prob(x), rel=1e-12)
    assert d.condition([1], 0.3).event_shape == (2,)
    draws = d.sample(50_000, rng=3)
    np.testing.assert_allclose(np.cov(draws.T), d.cov, atol=0.06)
    matrices = MatrixNormal(np.zeros((2, 2, 3)), np.eye(2), np.eye(3))
    with pytest.raises(TypeError, match="MvNormal"):
        Mixture([0.5, 0.5], matrices).marginal([0])


def test_a_batch_of_mixtures_conditions_member_by_member():
    means = np.random.default_rng(2).normal(size=(3, 2, 2))
    d = Mixture([0.5, 0.5], MvNormal(means, cov=np.eye(2) + 0.4))
    together = d.condition([0], [0.5])
    for i in range(3):
        one = take_members(d, i).condition([0], [0.5])
        np.testing.assert_allclose(together.probabilities[i], one.probabilities)
        np.testing.assert_allclose(together.mean[i], one.mean)


def test_mixtures_refuse_bad_input():
    with pytest.raises(TypeError, match="one distribution"):
        Mixture([0.5, 0.5], [Normal(0, variance=1), Normal(1, variance=1)])
    with pytest.raises(ValueError, match="last axis"):
        Mixture([0.5, 0.5], Normal(0.0, variance=1.0))
    with pytest.raises(ValueError, match="last axis"):
        Mixture([0.2, 0.3, 0.5], TWO.components)
    with pytest.raises(ValueError, match="sum to 1"):
        Mixture([0.5, 0.6], TWO.components)
    with pytest.raises(TypeError, match="pairs"):
        Mixture([0.5, 0.5], NormalWishart([[0.0], [1.0]], 1.0, 3.0, [[1.0]]))
