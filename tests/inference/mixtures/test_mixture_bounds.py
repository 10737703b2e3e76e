"""Bound + gap = log likelihood, gradients by finite differences, and Jensen's inequality."""

import numpy as np
import pytest
from scipy.special import digamma

from posteriori import Gamma, MvNormal, Normal, Poisson
from posteriori.distributions import Mixture
from posteriori.inference import evidence_bound, jensen_gap, log_likelihood_gradient


def mixture_of_vectors(means, covs, weights):
    return Mixture(weights, MvNormal(means, cov=covs))


@pytest.mark.topic("000/S3", "002/M9", "003/U.4", "003/U.5", "002/M10")
@pytest.mark.parametrize(
    ("mixture", "x"),
    [
        (Mixture([0.3, 0.7], Normal([-1.0, 2.0], variance=[1.0, 0.5])), [-2.0, 0.1, 3.0]),
        (Mixture([0.2, 0.3, 0.5], Poisson([1.0, 4.0, 9.0])), [0.0, 3.0, 12.0, 5.0]),
        (
            mixture_of_vectors([[0.0, 0.0], [3.0, 1.0]], [np.eye(2), 2 * np.eye(2)], [0.5, 0.5]),
            [[0.1, 1.0], [2.0, 2.0]],
        ),
    ],
)
def test_bound_and_gap_make_the_log_likelihood(mixture, x):
    x = np.array(x)
    rng = np.random.default_rng(0)
    total = mixture.log_prob(x).sum()
    for _ in range(5):
        q = rng.dirichlet(np.ones(mixture.n_components), size=len(x))
        found = evidence_bound(mixture, x, q)
        assert found.log_likelihood == pytest.approx(total, abs=1e-10)
        assert found.bound + found.kl == pytest.approx(total, abs=1e-10)
        assert found.energy + found.entropy == pytest.approx(found.bound, abs=1e-12)
        assert found.kl > 0
    tight = evidence_bound(mixture, x, mixture.responsibilities(x))
    assert tight.kl == pytest.approx(0.0, abs=1e-10)
    hard = np.eye(mixture.n_components)[mixture.responsibilities(x).argmax(axis=1)]
    assert evidence_bound(mixture, x, hard).entropy == 0.0


@pytest.mark.topic("003/U.2", "000/I7")
def test_gradients_of_numbers_by_finite_differences():
    x = np.array([-1.3, 0.2, 0.9, 2.5])
    logits, means, variances = np.array([0.2, -0.4]), np.array([-1.0, 1.5]), np.array([0.7, 1.2])

    def value(a, m, v):
        weights = np.exp(a) / np.exp(a).sum()
        return float(Mixture(weights, Normal(m, variance=v)).log_prob(x).sum())

    weights = np.exp(logits) / np.exp(logits).sum()
    found = log_likelihood_gradient(Mixture(weights, Normal(means, variance=variances)), x)
    h = 1e-6
    for k in range(2):
        step = h * np.eye(2)[k]
        for place, part in enumerate(found):
            up, down = [logits, means, variances], [logits, means, variances]
            up[place], down[place] = up[place] + step, down[place] - step
            assert part[k] == pytest.approx((value(*up) - value(*down)) / (2 * h), abs=1e-7)


@pytest.mark.topic("003/U.2", "000/I7")
def test_gradients_of_vectors_by_finite_differences():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(7, 2))
    means = np.array([[0.0, 1.0], [1.0, -1.0]])
    covs = np.array([[[1.0, 0.3], [0.3, 0.8]], [[0.6, -0.1], [-0.1, 1.5]]])
    weights = [0.4, 0.6]
    found = log_likelihood_gradient(mixture_of_vectors(means, covs, weights), x)
    h = 1e-6
    for k in range(2):
        for i in range(2):
            up, down = means.copy(), means.copy()
            up[k, i] += h
            down[k, i] -= h
            rise = mixture_of_vectors(up, covs, weights).log_prob(x).sum()
            fall = mixture_of_vectors(down, covs, weights).log_prob(x).sum()
            assert found.means[k, i] == pytest.approx((rise - fall) / (2 * h), abs=1e-7)
            for j in range(i, 2):
                up, down = covs.copy(), covs.copy()
                for sign, moved in ((h, up), (-h, down)):
                    moved[k, i, j] += sign
                    if i != j:
                        moved[k, j, i] += sign
                rise = mixture_of_vectors(means, up, weights).log_prob(x).sum()
                fall = mixture_of_vectors(means, down, weights).log_prob(x).sum()
                both = found.covs[k, i, j] + (found.covs[k, j, i] if i != j else 0.0)
                assert both == pytest.approx((rise - fall) / (2 * h), abs=1e-6)


@pytest.mark.topic("002/M10")
def test_jensen():
    assert jensen_gap(np.log, Gamma(3.0, rate=2.0)) == pytest.approx(
        np.log(3.0) - digamma(3.0), abs=1e-8
    )
    assert jensen_gap(lambda x: 2 * x + 1, Normal(1.0, variance=4.0)) == pytest.approx(
        0.0, abs=1e-9
    )
    assert jensen_gap(np.square, Normal(1.0, variance=4.0)) == pytest.approx(-4.0, abs=1e-8)


def test_what_is_no_share_is_refused():
    mixture = Mixture([0.5, 0.5], Normal([0.0, 1.0], variance=1.0))
    with pytest.raises(ValueError, match="sum to 1"):
        evidence_bound(mixture, [0.0], [[0.5, 0.6]])
    with pytest.raises(ValueError, match="shape"):
        evidence_bound(mixture, [0.0], [[1.0]])
    with pytest.raises(TypeError, match="Normal or MvNormal"):
        log_likelihood_gradient(Mixture([0.5, 0.5], Poisson([1.0, 2.0])), [1.0])
