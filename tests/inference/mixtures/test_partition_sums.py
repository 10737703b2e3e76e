"""Clusters with parameters integrated out, and exact sums over all partitions of a few rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from posteriori import Bernoulli, Beta, Gamma, MvNormal, Normal, NormalWishart, Poisson, StudentT
from posteriori.distributions import Pareto, Uniform
from posteriori.inference.mixtures.partitions.conjugate_clusters import (
    cluster_parts,
    join_parts,
    log_marginal,
)
from posteriori.inference.mixtures.partitions.partition_prior import (
    dirichlet_partitions,
    dirichlet_process_partitions,
)
from posteriori.inference.mixtures.partitions.partition_sums import sum_partitions
from tests.inference.mixtures.partition_oracles import (
    FAMILIES,
    brute_force,
    log_partition_prior,
    rows_log_evidence,
    set_partitions,
    variation_of_information,
)

PRIORS = [(None, 0.8), (3, 0.5), (20, 0.1)]
NAMES = list(FAMILIES)


def prior_of(rows, components, alpha):
    if components is None:
        return dirichlet_process_partitions(rows, alpha)
    return dirichlet_partitions(rows, components, alpha)


def model_of(family, x):
    return join_parts(cluster_parts(family.prior, family.likelihood, x))


@pytest.mark.parametrize("name", NAMES)
def test_the_marginal_of_a_cluster_is_the_evidence_of_its_rows(name):
    family = FAMILIES[name]
    x = family.draw(np.random.default_rng(0), 12)
    model = model_of(family, x)
    expected = rows_log_evidence(family, x)
    assert log_marginal(model, range(12)) + model.log_carrier == pytest.approx(expected, rel=1e-9)
    part, alone = model_of(family, x[3:7]), log_marginal(model, [3, 4, 5, 6])
    expected = rows_log_evidence(family, x[3:7])
    assert alone + part.log_carrier == pytest.approx(expected, rel=1e-9)
    assert log_marginal(model, []) == 0.0


@pytest.mark.parametrize("name", [n for n in NAMES if not FAMILIES[n].vectors])
def test_gaps_in_independent_columns_are_left_out(name):
    family = FAMILIES[name]
    x = family.draw(np.random.default_rng(1), 9)
    x[0, 0] = x[2, 1] = x[5, 0] = np.nan
    x[7] = np.nan
    model = model_of(family, x)
    found = log_marginal(model, range(9)) + model.log_carrier
    assert found == pytest.approx(rows_log_evidence(family, x), rel=1e-9)


def test_parts_of_several_kinds_add_up():
    poisson, normal = FAMILIES["poisson"], FAMILIES["normal-wishart"]
    rng = np.random.default_rng(2)
    x, y = poisson.draw(rng, 6), normal.draw(rng, 6)
    parts = [
        *cluster_parts(poisson.prior, poisson.likelihood, x),
        *cluster_parts(normal.prior, normal.likelihood, y),
    ]
    model = join_parts(parts)
    expected = rows_log_evidence(poisson, x) + rows_log_evidence(normal, y)
    found = log_marginal(model, range(6)) + model.log_carrier
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("components", "alpha"), PRIORS)
def test_prior_probabilities_of_partitions_sum_to_one(components, alpha):
    prior = prior_of(6, components, alpha)
    total = 0.0
    for labels in set_partitions(6):
        sizes = np.bincount(labels)
        found = prior.log_number[len(sizes)] + prior.log_size[sizes].sum()
        expected = log_partition_prior(sizes.tolist(), components, alpha)
        assert found == pytest.approx(expected, abs=1e-12) or found == expected
        total += np.exp(found)
    assert total == pytest.approx(1.0, abs=1e-12)
    assert prior.most_blocks == min(6, components or 6)


@pytest.mark.parametrize("name", NAMES)
def test_sums_are_those_over_all_partitions(name):
    family = FAMILIES[name]
    x = family.draw(np.random.default_rng(3), 6)
    for components, alpha in PRIORS:
        expected = brute_force(family, x, components, alpha)
        found = sum_partitions(model_of(family, x), prior_of(6, components, alpha))
        assert found.log_evidence == pytest.approx(expected.log_evidence, rel=1e-10)
        most = prior_of(6, components, alpha).most_blocks
        np.testing.assert_allclose(found.number, expected.number[:most], atol=1e-9)
        np.testing.assert_allclose(found.similarity, expected.similarity, atol=1e-9)
        best = expected.labels[np.argmax(expected.probabilities)]
        same = np.all(expected.labels == _canonical(found.most_probable), axis=1)
        assert expected.probabilities[same] == pytest.approx(
            expected.probabilities.max(), rel=1e-8
        ), best


@pytest.mark.parametrize("rows", [7, 8])
def test_eight_rows_have_4140_partitions(rows):
    family = FAMILIES["normal-wishart"]
    x = family.draw(np.random.default_rng(4), rows)
    expected = brute_force(family, x, None, 1.0)
    assert len(expected.labels) == {7: 877, 8: 4140}[rows]
    found = sum_partitions(model_of(family, x), prior_of(rows, None, 1.0))
    assert found.log_evidence == pytest.approx(expected.log_evidence, rel=1e-11)
    np.testing.assert_allclose(found.similarity, expected.similarity, atol=1e-10)


def test_the_evidence_is_that_of_all_labellings_with_dirichlet_weights():
    family = FAMILIES["poisson"]
    x, k, alpha = family.draw(np.random.default_rng(5), 6), 3, 0.7
    terms = []
    for z in product(range(k), repeat=6):
        counts = np.bincount(z, minlength=k)
        labels = gammaln(k * alpha) - gammaln(6 + k * alpha)
        labels += (gammaln(counts + alpha) - gammaln(alpha)).sum()
        rows = [x[np.equal(z, j)] for j in range(k) if counts[j]]
        terms.append(labels + sum(rows_log_evidence(family, r) for r in rows))
    found = sum_partitions(model_of(family, x), dirichlet_partitions(6, k, alpha))
    assert found.log_evidence == pytest.approx(logsumexp(terms), rel=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_partition_has_the_least_expected_variation_of_information(seed):
    family = FAMILIES["normal-gamma"]
    x = family.draw(np.random.default_rng(seed), 5)
    posterior = brute_force(family, x, None, 1.0)
    found = sum_partitions(model_of(family, x), prior_of(5, None, 1.0)).nearest_partition()

    def loss(z):
        each = [variation_of_information(z, y) for y in posterior.labels]
        return np.dot(posterior.probabilities, each)

    assert loss(found) == pytest.approx(min(loss(z) for z in posterior.labels), abs=1e-10)


def test_rows_in_another_order_have_the_same_posterior():
    family = FAMILIES["normal-wishart"]
    x = family.draw(np.random.default_rng(6), 9)
    order = np.random.default_rng(7).permutation(9)
    one = sum_partitions(model_of(family, x), prior_of(9, None, 1.0))
    two = sum_partitions(model_of(family, x[order]), prior_of(9, None, 1.0))
    assert two.log_evidence == pytest.approx(one.log_evidence, rel=1e-12)
    np.testing.assert_allclose(two.similarity, one.similarity[np.ix_(order, order)], atol=1e-11)
    np.testing.assert_allclose(two.number, one.number, atol=1e-11)


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_affine_maps_of_rows_and_prior_change_the_evidence_by_the_unit(far):
    family = FAMILIES["normal-wishart"]
    x, p = family.draw(np.random.default_rng(8), 8), family.prior
    a, b = np.array([[1e-3, 0.0], [2e-4, 5e-3]]), np.array([far, -far])
    inverse = np.linalg.solve(a, np.eye(2))
    moved = NormalWishart(a @ p.location + b, p.mean_strength, p.dof, inverse.T @ p.scale @ inverse)
    one = sum_partitions(model_of(family, x), prior_of(8, None, 1.0))
    other = join_parts(cluster_parts(moved, MvNormal, x @ a.T + b))
    two = sum_partitions(other, prior_of(8, None, 1.0))
    tolerance = 1e-9 if far == 0 else 1e-5  # rows at 1e6 hold seven digits of their spread
    unit = 8 * np.log(np.linalg.det(a))
    assert two.log_evidence == pytest.approx(one.log_evidence - unit, abs=tolerance)
    np.testing.assert_allclose(two.similarity, one.similarity, atol=tolerance)


def test_rows_far_apart_do_not_underflow():
    x = np.repeat([[0.0, 0.0], [1e6, 0.0], [0.0, -1e7]], 5, axis=0)
    x += np.random.default_rng(9).normal(size=x.shape)
    prior = NormalWishart([0.0, 0.0], 1e-12, 4.0, np.eye(2))
    found = sum_partitions(join_parts(cluster_parts(prior, MvNormal, x)), prior_of(15, 3, 1.0))
    assert found.number[2] == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_array_equal(found.most_probable, np.repeat([0, 1, 2], 5))
    np.testing.assert_array_equal(found.nearest_partition(), np.repeat([0, 1, 2], 5))
    np.testing.assert_allclose(np.diag(found.similarity), 1.0, atol=1e-9)


def test_equal_partitions_go_to_fewer_blocks():
    """Rows without data: with two components of α → ∞ each labelling is as probable as any other."""
    x = np.full((4, 1), np.nan)
    x[0] = 1.0
    model = join_parts(cluster_parts(Beta(1.0, 1.0), Bernoulli, x))
    found = sum_partitions(model, dirichlet_partitions(4, 2, 1.0))
    np.testing.assert_array_equal(found.most_probable, [0, 0, 0, 0])


def test_one_row_is_one_cluster():
    family = FAMILIES["normal-wishart"]
    x = family.draw(np.random.default_rng(10), 1)
    found = sum_partitions(model_of(family, x), prior_of(1, 3, 1.0))
    assert found.log_evidence == pytest.approx(rows_log_evidence(family, x), rel=1e-12)
    np.testing.assert_allclose(found.number, [1.0])
    np.testing.assert_array_equal(found.nearest_partition(), [0])


def test_what_cannot_be_is_refused():
    rows = np.ones((4, 2))
    many = model_of(FAMILIES["poisson"], np.ones((16, 2)))
    with pytest.raises(ValueError, match="at most 15 rows, got 16; sample_partitions"):
        sum_partitions(many, prior_of(16, None, 1.0))
    with pytest.raises(TypeError, match="not conjugate"):
        cluster_parts(Gamma(1.0, rate=1.0), Bernoulli, rows)
    with pytest.raises(TypeError, match="partitions need a prior among"):
        cluster_parts(Pareto(1.0, 2.0), lambda high: Uniform(0.0, high), rows)
    with pytest.raises(TypeError, match="StudentT is not conjugate"):
        cluster_parts(StudentT(3.0, 0.0, scale=1.0), Normal, rows)
    with pytest.raises(ValueError, match=r"row 1 holds 0\.5"):
        cluster_parts(Gamma(1.0, rate=1.0), Poisson, np.array([[np.nan], [0.5]]))
    with pytest.raises(ValueError, match="column 1 is missing in all rows"):
        cluster_parts(Gamma(1.0, rate=1.0), Poisson, np.array([[1.0, np.nan]] * 3))
    wishart = FAMILIES["normal-wishart"].prior
    with pytest.raises(ValueError, match=r"row 2 has a gap.*impute"):
        cluster_parts(wishart, MvNormal, np.where(np.eye(4)[:, 2:] > 0, np.nan, 1.0))
    batch = NormalWishart(np.zeros((3, 2)), 1.0, 4.0, np.eye(2))
    with pytest.raises(ValueError, match="one for all clusters"):
        cluster_parts(batch, MvNormal, rows)
    with pytest.raises(ValueError, match="in units of its scale"):
        cluster_parts(wishart, MvNormal, np.full((3, 2), 1e200))


def _canonical(labels):
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes]
