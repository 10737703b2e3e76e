"""Partitions drawn with their scale, and the prior of an unknown number, against sums over all partitions."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp, softmax
from scipy.stats import expon

from posteriori.distributions import (
    Bernoulli,
    Beta,
    MvNormal,
    Normal,
    NormalInverseGamma,
    NormalWishart,
)
from posteriori.inference.mixtures.partitions.cluster_kernels import ClusterModel
from posteriori.inference.mixtures.partitions.conjugate_clusters import cluster_parts, join_parts
from posteriori.inference.mixtures.partitions.partition_matching import match_partitions
from posteriori.inference.mixtures.partitions.partition_prior import unknown_number_partitions
from posteriori.inference.mixtures.partitions.partition_sums import sum_partitions
from posteriori.inference.mixtures.partitions.scale_draws import (
    ScaleChain,
    draw_with_scales,
    scaled_model,
)


@pytest.mark.parametrize("fewest", [1, 3])
def test_the_prior_of_an_unknown_number_is_the_mean_of_known_ones(fewest: int) -> None:
    """p(z | K) = K!/(K − c)! Γ(Kα)/Γ(N + Kα) Π Γ(n + α)/Γ(α), written out."""
    rows, most, alpha, sizes = 9, 5, 0.7, [4, 3, 2]
    prior = unknown_number_partitions(rows, range(fewest, most + 1), alpha)
    each = []
    for k in range(fewest, most + 1):
        log = gammaln(k + 1) - gammaln(max(k - 3, 0) + 1) if k >= 3 else -np.inf
        log += gammaln(k * alpha) - gammaln(rows + k * alpha)
        each.append(log + sum(gammaln(n + alpha) - gammaln(alpha) for n in sizes))
    told = prior.log_number[3] + prior.log_size[sizes].sum()
    assert told == pytest.approx(logsumexp(each) - np.log(len(each)))
    assert prior.most_blocks == most
    assert np.log(np.arange(rows) + prior.total).sum() == pytest.approx(-prior.log_number[0])


def assert_drawn_from_the_posterior(
    rivals: list[ClusterModel], grid: np.ndarray, log_prior: np.ndarray, seed: int
) -> None:
    """Sum over all partitions, with the scales of a grid and each rival, and compare."""
    rows = len(rivals[0].features)
    partitions = unknown_number_partitions(rows, range(1, 5), 1.0)
    sums = [
        [sum_partitions(scaled_model(model, at), partitions) for model in rivals] for at in grid
    ]
    logs = np.array([[one.log_evidence for one in each] for each in sums]) + log_prior[:, None]
    chance = softmax(logs)
    number = np.einsum("gm,gmk->k", chance, [[one.number[:4] for one in each] for each in sums])
    rng = np.random.default_rng(seed)
    chain = ScaleChain(partitions, width=0.5, draws=1500, warm_up=20)
    found = draw_with_scales([rivals] * 2, chain, rng=rng)
    assert found.labels.shape == (3000, rows)
    counts = np.bincount(found.labels.max(axis=1) + 1, minlength=5)[1:] / 3000
    np.testing.assert_allclose(counts, number, atol=0.06)  # draws are worth some hundreds
    told = np.bincount(found.rivals, minlength=len(rivals)) / 3000
    np.testing.assert_allclose(told, chance.sum(axis=0), atol=0.06)
    for drawn, exact in zip(found.scales.T, grid.T, strict=True):
        for end in np.quantile(drawn, [0.2, 0.5, 0.8]):
            below = chance[exact <= end].sum()
            assert below == pytest.approx((drawn <= end).mean(), abs=0.08)


def test_partitions_scales_and_degrees_of_freedom_have_their_posterior() -> None:
    x = np.array([-2.1, -1.7, -1.9, 0.3, 1.6, 2.0, 2.3])[:, None]
    rivals = [
        join_parts(cluster_parts(NormalWishart([0.0], 0.2, dof, [[1.0 / spread]]), MvNormal, x))
        for dof, spread in ((3.0, 4.0), (14.0, 50.0))
    ]
    grid = np.exp(np.linspace(-9.0, 3.0, 200))
    log_prior = expon.logpdf(grid, scale=0.5) + np.log(grid)  # of ln φ
    assert_drawn_from_the_posterior(rivals, grid[:, None], log_prior, seed=0)


def test_scales_of_columns_that_go_together_have_their_posterior_beside_codes() -> None:
    """Scales from their prior, weighed by p(X | φ)."""
    x = np.array([[-2.0, -1.5], [-1.8, -1.9], [-0.2, 0.4], [1.5, 1.9], [2.2, 1.8], [1.9, 2.1]])
    prior = NormalWishart([0.0, 0.0], 0.2, 7.0, [[0.1, 0.05], [0.05, 0.4]])
    codes = np.array([0.0, 0.0, 1.0, 1.0, np.nan, 1.0])[:, None]
    model = join_parts(
        [*cluster_parts(Beta(1.0, 1.0), Bernoulli, codes), *cluster_parts(prior, MvNormal, x)]
    )
    grid = np.random.default_rng(4).exponential(0.5, size=(2000, 2))
    assert_drawn_from_the_posterior([model], grid, np.zeros(2000), seed=1)


def test_scales_of_columns_on_their_own_have_their_posterior_over_gaps() -> None:
    a = [-2.0, -1.8, -0.2, 1.5, np.nan, 1.9]
    b = [np.nan, 3.0, 2.0, -2.0, -1.5, -1.8]
    prior = NormalInverseGamma(0.0, 0.2, 4.0, np.array([3.0, 6.0]))
    model = join_parts(cluster_parts(prior, Normal, np.stack([a, b], axis=1)))
    grid = np.random.default_rng(5).exponential(0.5, size=(2000, 2))
    assert_drawn_from_the_posterior([model], grid, np.zeros(2000), seed=2)


def test_codes_alone_learn_no_scale() -> None:
    codes = np.array([0.0, 0.0, 1.0, 1.0, 1.0])[:, None]
    model = join_parts(cluster_parts(Beta(1.0, 1.0), Bernoulli, codes))
    partitions = unknown_number_partitions(5, range(1, 4), 1.0)
    rng = np.random.default_rng(0)
    chain = ScaleChain(partitions, width=0.5, draws=9, warm_up=1)
    found = draw_with_scales([[model]], chain, rng=rng)
    assert found.scales.shape == (9, 0)


def test_renamed_partitions_get_their_names_back() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(4, size=60)
    labels = np.stack([rng.permutation(4)[truth] for _ in range(20)])
    labels[7, :5] = (labels[7, :5] + 1) % 4
    found = match_partitions(labels, 4)
    other = np.delete(np.arange(20), 7)
    assert (found.labels[other] == found.labels[0]).all()
    assert (found.labels[7, 5:] == found.labels[0, 5:]).all()
    assert found.order[-1] == 7
    np.testing.assert_allclose(found.shares.sum(axis=1), 1.0)
