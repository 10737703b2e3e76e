"""Partitions drawn with their models, and the prior of an unknown number, against sums over all partitions."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp, softmax

from posteriori.distributions import MvNormal, NormalWishart
from posteriori.inference.mixtures.partitions.conjugate_clusters import cluster_parts, join_parts
from posteriori.inference.mixtures.partitions.partition_matching import match_partitions
from posteriori.inference.mixtures.partitions.partition_prior import unknown_number_partitions
from posteriori.inference.mixtures.partitions.partition_sums import sum_partitions
from posteriori.inference.mixtures.partitions.rival_draws import draw_with_rivals


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


def test_partitions_and_models_have_their_posterior() -> None:
    x = np.array([-2.1, -1.7, -1.9, 0.3, 1.6, 2.0, 2.3])[:, None]
    priors = [NormalWishart([0.0], 0.2, 3.0, [[scale]]) for scale in (0.3, 3.0, 30.0)]
    models = [join_parts(cluster_parts(prior, MvNormal, x)) for prior in priors]
    partitions = unknown_number_partitions(len(x), range(1, 5), 1.0)
    sums = [sum_partitions(model, partitions) for model in models]
    chance = softmax([one.log_evidence for one in sums])
    number = sum(p * one.number for p, one in zip(chance, sums, strict=True))
    rng = np.random.default_rng(0)
    found = draw_with_rivals([models] * 2, partitions, draws=1200, warm_up=20, rng=rng)
    assert found.labels.shape == (2400, 7)
    told = np.bincount(found.models, minlength=3) / 2400
    np.testing.assert_allclose(told, chance, atol=0.06)  # draws are worth some hundreds
    counts = np.bincount(found.labels.max(axis=1) + 1, minlength=5)[1:] / 2400
    np.testing.assert_allclose(counts, number[:4], atol=0.06)


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
