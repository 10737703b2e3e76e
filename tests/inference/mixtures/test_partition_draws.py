"""Chains of partitions against sums over all partitions, and what is made of draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from posteriori import Exponential, Gamma, MvNormal, NormalWishart
from posteriori.inference.mixtures.partitions.conjugate_clusters import (
    cluster_parts,
    join_parts,
    log_marginal,
)
from posteriori.inference.mixtures.partitions.partition_center import (
    count_together,
    nearest_to_draws,
    order_by_size,
)
from posteriori.inference.mixtures.partitions.partition_draws import draw_partitions
from posteriori.inference.mixtures.partitions.partition_evidence import (
    bennett_estimate,
    estimate_log_evidence,
)
from posteriori.inference.mixtures.partitions.partition_prior import (
    dirichlet_partitions,
    dirichlet_process_partitions,
)
from posteriori.inference.mixtures.partitions.partition_sums import sum_partitions
from posteriori.inference.weighing.chain_agreement import (
    effective_sample_size,
    potential_scale_reduction,
)
from posteriori.numerics.telling.progress import Progress
from tests.inference.mixtures.partition_oracles import FAMILIES, variation_of_information


def model_of(name, rows, seed):
    family = FAMILIES[name]
    x = family.draw(np.random.default_rng(seed), rows)
    return join_parts(cluster_parts(family.prior, family.likelihood, x))


def draw(model, prior, draws, seed=0, chains=4):
    return draw_partitions(
        model,
        prior,
        draws=draws,
        chains=chains,
        warm_up=50,
        rng=np.random.default_rng(seed),
        progress=Progress(False),
    )


def assert_drawn_from(draws, exact):
    """Probabilities of pairs and of numbers of clusters, within five Monte-Carlo errors."""
    rows = draws.labels.shape[2]
    events = [draws.labels[..., i] == draws.labels[..., j] for i in range(rows) for j in range(i)]
    expected = [exact.similarity[i, j] for i in range(rows) for j in range(i)]
    events += [draws.n_clusters == c + 1 for c in range(len(exact.number))]
    expected += list(exact.number)
    for event, p in zip(events, expected, strict=True):
        size = min(effective_sample_size(event), event.size)
        error = max(np.sqrt(p * (1.0 - p) / size), 1.0 / size)
        assert abs(event.mean() - p) < 5.0 * error


@pytest.mark.parametrize("name", FAMILIES)
def test_draws_are_of_the_posterior(name):
    model = model_of(name, 7, 1)
    for prior in (dirichlet_process_partitions(7, 1.0), dirichlet_partitions(7, 3, 0.6)):
        assert_drawn_from(draw(model, prior, 500), sum_partitions(model, prior))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["normal-wishart", "normal-gamma", "poisson", "categorical"])
def test_many_draws_are_of_the_posterior(name):
    model = model_of(name, 12, 2)
    for prior in (dirichlet_process_partitions(12, 2.0), dirichlet_partitions(12, 4, 1.0)):
        assert_drawn_from(draw(model, prior, 20_000), sum_partitions(model, prior))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_trace_is_the_log_joint_probability(name):
    """Rows have been moved in and out many times: statistics are still those of the rows."""
    model, prior = model_of(name, 40, 3), dirichlet_process_partitions(40, 1.0)
    drawn = draw(model, prior, 5)
    for labels, found, number in zip(
        drawn.labels.reshape(-1, 40), drawn.log_joint.ravel(), drawn.n_clusters.ravel(), strict=True
    ):
        sizes = np.bincount(labels)
        assert sizes.all()
        assert number == len(sizes)
        expected = prior.log_number[number] + prior.log_size[sizes].sum() + model.log_carrier
        expected += sum(log_marginal(model, np.flatnonzero(labels == k)) for k in range(number))
        assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("size", [1e3, 1e9])
def test_a_row_that_outweighs_its_cluster_can_be_taken_out(size):
    x = np.random.default_rng(4).normal(size=(8, 2))
    x[0] = size
    wide = NormalWishart([0.0, 0.0], 1e-3, 3.0, np.eye(2))
    times = np.abs(x[:, :1])
    for model in (
        join_parts(cluster_parts(wide, MvNormal, x)),
        join_parts(cluster_parts(Gamma(0.01, rate=1e-6), Exponential, times)),
    ):
        prior = dirichlet_partitions(8, 2, 5.0)
        assert_drawn_from(draw(model, prior, 1500), sum_partitions(model, prior))


def test_far_from_the_prior_chains_keep_their_digits():
    x = np.random.default_rng(5).normal(size=(60, 2)) + np.repeat(
        [[1e6, 0.0], [1e6, 9.0]], 30, axis=0
    )
    prior = NormalWishart([0.0, 0.0], 0.01, 4.0, np.eye(2))
    model, partitions = (
        join_parts(cluster_parts(prior, MvNormal, x)),
        dirichlet_partitions(60, 2, 1.0),
    )
    drawn = draw(model, partitions, 20)
    labels = drawn.labels.reshape(-1, 60)[-1]
    sizes = np.bincount(labels)
    expected = partitions.log_number[len(sizes)] + partitions.log_size[sizes].sum()
    expected += sum(log_marginal(model, np.flatnonzero(labels == k)) for k in range(len(sizes)))
    assert drawn.log_joint[-1, -1] == pytest.approx(expected + model.log_carrier, abs=1e-4)


def test_chains_find_clusters_from_few_rows_on():
    rng = np.random.default_rng(6)
    truth = rng.integers(8, size=600)
    x = rng.normal(size=(600, 2)) + 8.0 * np.stack([truth % 3, truth // 3], axis=1)
    prior = NormalWishart(x.mean(axis=0), 0.1, 4.0, np.eye(2) / 4)
    model = join_parts(cluster_parts(prior, MvNormal, x))
    drawn = draw(model, dirichlet_partitions(600, 8, 1.0), 10)
    found = nearest_to_draws(drawn.labels.reshape(-1, 600))
    assert variation_of_information(found, truth) < 0.1


def test_one_row_and_equal_rows():
    one = model_of("normal-wishart", 1, 7)
    drawn = draw(one, dirichlet_process_partitions(1, 1.0), 5)
    assert (drawn.labels == 0).all()
    assert (drawn.n_clusters == 1).all()
    family = FAMILIES["normal-wishart"]
    model = join_parts(cluster_parts(family.prior, MvNormal, np.ones((6, 2))))
    prior = dirichlet_process_partitions(6, 1.0)
    assert_drawn_from(draw(model, prior, 1500), sum_partitions(model, prior))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_evidence_of_two_rows_is_known_from_one_imputation(name):
    """The second row's cluster is summed over, and there is no earlier choice: no draw differs."""
    model = model_of(name, 2, 8)
    for prior in (dirichlet_process_partitions(2, 1.0), dirichlet_partitions(2, 3, 0.6)):
        value, error = estimate_log_evidence(
            model, prior, draw(model, prior, 5), np.random.default_rng(0)
        )
        assert value == pytest.approx(sum_partitions(model, prior).log_evidence, rel=1e-10)
        assert error < 1e-6


@pytest.mark.parametrize("name", ["normal-wishart", "poisson", "categorical"])
def test_the_evidence_is_estimated_within_its_error(name):
    for rows in (8, 13):
        model, prior = model_of(name, rows, 9), dirichlet_process_partitions(rows, 1.0)
        exact = sum_partitions(model, prior).log_evidence
        value, error = estimate_log_evidence(
            model, prior, draw(model, prior, 300), np.random.default_rng(0)
        )
        assert abs(value - exact) < 5.0 * error + 1e-9
        assert error < 0.3


@pytest.mark.parametrize(("count", "spread"), [(400, 1.0), (50, 2.0)])
def test_both_sides_give_the_evidence(count, spread):
    """Log weights N(F ∓ s²/2, s²) are those of two normal densities."""
    rng = np.random.default_rng(10)
    off = []
    for _ in range(50):
        below = rng.normal(-3.0 - spread**2 / 2, spread, 200)
        above = rng.normal(-3.0 + spread**2 / 2, spread, (4, count // 4))
        value, error = bennett_estimate(below, above)
        off.append((value + 3.0) / error)
    assert abs(np.mean(off)) < 5.0 / np.sqrt(50)
    assert 0.6 < np.std(off) < 1.5


def test_sides_that_do_not_meet_say_so():
    below, above = np.linspace(-50.0, -40.0, 20), np.linspace(-10.0, 0.0, 20)[None]
    value, error = bennett_estimate(below, above)
    assert -40.0 <= value <= -10.0
    assert error >= 30.0


def test_nearest_partition_is_no_farther_than_any_draw():
    rng = np.random.default_rng(11)
    for _ in range(5):
        labels = rng.integers(3, size=(40, 7))
        labels = np.array([order_by_size(z) for z in labels])

        def loss(z, labels=labels):
            return np.mean([variation_of_information(z, y) for y in labels])

        found = nearest_to_draws(labels)
        assert loss(found) <= min(map(loss, labels)) + 1e-9
        for i in range(7):  # no row can be moved to gain
            for k in range(4):
                moved = found.copy()
                moved[i] = k
                assert loss(found) <= loss(moved) + 1e-9


def test_similarity_is_the_share_of_draws():
    labels = np.array([[0, 0, 1], [0, 1, 1], [0, 1, 2], [0, 0, 0]], dtype=np.int32)
    expected = [[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]]
    np.testing.assert_array_equal(count_together(labels), expected)


def test_effective_sample_size_is_that_of_an_autoregression():
    rng = np.random.default_rng(12)
    noise = rng.normal(size=(4, 20_000))
    assert effective_sample_size(noise) == pytest.approx(80_000, rel=0.1)
    series = np.zeros_like(noise)
    for t in range(1, noise.shape[1]):
        series[:, t] = 0.8 * series[:, t - 1] + noise[:, t]
    assert effective_sample_size(series) == pytest.approx(80_000 * 0.2 / 1.8, rel=0.15)
    assert potential_scale_reduction(series) == pytest.approx(1.0, abs=0.01)


def test_chains_apart_and_constant_chains():
    rng = np.random.default_rng(13)
    apart = rng.normal(size=(2, 500)) + np.array([[0.0], [3.0]])
    # W = 1 and B = 3² · 4/12 = 3 for halves with means 0, 0, 3, 3
    assert potential_scale_reduction(apart) == pytest.approx(2.0, rel=0.1)
    assert effective_sample_size(apart) < 20
    drift = np.linspace(0.0, 1.0, 100)[None]
    assert potential_scale_reduction(drift) > 1.5
    constant = np.ones((2, 50))
    assert potential_scale_reduction(constant) == 1.0
    assert effective_sample_size(constant) == 100.0
    assert potential_scale_reduction(constant * [[1.0], [2.0]]) == np.inf
    assert np.isnan(potential_scale_reduction(np.ones((2, 3))))


def test_weights_of_imputations_average_to_the_evidence():
    """Unbiased: E_g[w] = p(X), for any order of rows."""
    from posteriori.inference.mixtures.partitions.gibbs_kernels import impute_rows
    from posteriori.inference.mixtures.partitions.partition_draws import new_chain

    model, prior = model_of("poisson", 6, 14), dirichlet_partitions(6, 3, 0.6)
    chain = new_chain(model, prior, np.random.default_rng(0))
    order = np.array([3, 1, 5, 0, 2, 4])
    logs = np.array([impute_rows(model, prior, chain, order, 0, True) for _ in range(20_000)])
    logs += model.log_carrier
    exact = sum_partitions(model, prior).log_evidence
    ratio = np.exp(logs - exact)
    assert abs(ratio.mean() - 1.0) < 5.0 * ratio.std() / np.sqrt(len(ratio))
    assert logsumexp(logs) - np.log(len(logs)) == pytest.approx(exact, abs=0.2)
