"""What Bayesian mixtures answer about partitions of their rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import BaseEstimator

from posteriori import Gamma, MvNormal, NormalWishart, Poisson
from posteriori.datasets import load_galaxies
from posteriori.distributions import Categorical
from posteriori.inference.mixtures.partitions import partition_draws
from posteriori.inference.mixtures.partitions.conjugate_clusters import cluster_parts, join_parts
from posteriori.inference.mixtures.partitions.partition_draws import PartitionDraws
from posteriori.mixture import (
    BayesianGaussianMixture,
    EnumeratedPartitions,
    PartitionPosterior,
    SampledPartitions,
    partition_questions,
)
from posteriori.mixture.partition_questions import AsksForPartitions
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.warnings import ConvergenceWarning
from tests.inference.mixtures.partition_oracles import Family, brute_force


class SmallMixture(AsksForPartitions, BaseEstimator):
    """The least that a mixture must state."""

    def __init__(
        self,
        family,
        n_components=1,
        prior=None,
        weight_concentration_prior=None,
        weight_concentration_prior_type="dirichlet_distribution",
    ):
        self.family = family
        self.n_components = n_components
        self.prior = prior
        self.weight_concentration_prior = weight_concentration_prior
        self.weight_concentration_prior_type = weight_concentration_prior_type

    def _cluster_model(self, x):
        return join_parts(cluster_parts(self.prior, self.family, x))


WISHART = NormalWishart([0.0, 0.0], 0.1, 4.0, np.eye(2) / 4)
COUNTS = SmallMixture(Poisson, 3, Gamma(1.0, rate=0.2))
VECTORS = SmallMixture(MvNormal, 6, WISHART, 0.05)


def two_groups(rows, seed=0):
    x = np.random.default_rng(seed).normal(size=(rows, 2))
    x[rows // 2 :] += 5.0
    return x


@pytest.mark.parametrize("kind", ["dirichlet_distribution", "dirichlet_process"])
@pytest.mark.parametrize("concentration", [None, 0.7])
def test_the_prior_of_partitions_is_that_of_the_weights(kind, concentration):
    x = np.array([[0.0], [1.0], [9.0], [12.0], [2.0]])
    mixture = SmallMixture(Poisson, 3, Gamma(1.0, rate=0.2), concentration, kind)
    components, default = (3, 1 / 3) if kind == "dirichlet_distribution" else (None, 1.0)
    alpha = concentration or default
    expected = brute_force(Family(mixture.prior, Poisson, None), x, components, alpha)
    found = mixture.enumerate_partitions(x)
    assert found.log_evidence.kind == "exact"
    assert float(found.log_evidence) == pytest.approx(expected.log_evidence, rel=1e-10)
    np.testing.assert_allclose(found.similarity, expected.similarity, atol=1e-9)
    assert isinstance(found.n_clusters, Categorical)
    assert found.n_clusters.labels[0] == 1
    for c, p in enumerate(expected.number[: len(found.n_clusters.labels)], start=1):
        assert np.exp(found.n_clusters.log_prob(c)) == pytest.approx(p, abs=1e-9)


def test_both_answers_are_of_one_kind_and_agree():
    x = two_groups(10)
    exact, drawn = VECTORS.enumerate_partitions(x), VECTORS.sample_partitions(x, 2000, 0)
    assert isinstance(exact, EnumeratedPartitions)
    assert isinstance(drawn, SampledPartitions)
    for found in (exact, drawn):
        assert isinstance(found, PartitionPosterior)
        assert found.n_rows == 10
        np.testing.assert_array_equal(found.representative(), np.repeat([0, 1], 5))
        assert found.n_clusters.mode == 2
        assert "n_clusters=2 with probability" in repr(found)
    np.testing.assert_array_equal(exact.most_probable, np.repeat([0, 1], 5))
    size = min(drawn.effective_sample_size)
    assert size > 200
    np.testing.assert_allclose(drawn.similarity, exact.similarity, atol=2.5 / np.sqrt(size))
    assert drawn.labels.shape == (2000, 10)
    assert drawn.log_joint.shape == (2000,)
    assert max(drawn.r_hat) < 1.05
    assert drawn.log_evidence.kind == "estimate"
    assert exact.log_evidence.comparable(drawn.log_evidence)
    difference = drawn.log_evidence - exact.log_evidence
    assert abs(difference) < 5.0 * drawn.log_evidence.error
    assert "r_hat=1" in repr(drawn)


def test_draws_are_repeatable_whatever_the_threads(monkeypatch):
    x = two_groups(30)
    first = VECTORS.sample_partitions(x, 40, rng=3, warm_up=5)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    again = VECTORS.sample_partitions(x, 40, rng=3, warm_up=5)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert float(first.log_evidence) == float(again.log_evidence)
    other = VECTORS.sample_partitions(x, 40, rng=4, warm_up=5)
    assert not np.array_equal(first.log_joint, other.log_joint)


def test_gaps_are_left_out_where_columns_are_independent():
    x = np.array([[0.0, 1.0], [np.nan, 2.0], [9.0, np.nan], [np.nan, np.nan], [12.0, 20.0]])
    expected = brute_force(Family(COUNTS.prior, Poisson, None), x, 3, 1 / 3)
    found = COUNTS.enumerate_partitions(x)
    np.testing.assert_allclose(found.similarity, expected.similarity, atol=1e-9)
    drawn = COUNTS.sample_partitions(x, 2000, 0)
    np.testing.assert_allclose(drawn.similarity, expected.similarity, atol=0.08)
    with pytest.raises(ValueError, match="complete rows"):
        VECTORS.sample_partitions(x)


def test_a_fit_is_neither_needed_nor_changed():
    before = dict(vars(COUNTS))
    COUNTS.enumerate_partitions([[1], [2], [30]])
    assert vars(COUNTS) == before


def test_answers_travel():
    x = two_groups(6)
    for found in (VECTORS.enumerate_partitions(x), VECTORS.sample_partitions(x, 20, 0, warm_up=2)):
        copy = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(copy.similarity, found.similarity)
        assert float(copy.log_evidence) == float(found.log_evidence)


def interrupt_at(monkeypatch, words):
    def say(self, text):
        if words in text:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "say", say)


def test_ctrl_c_keeps_what_was_drawn(monkeypatch):
    x = two_groups(40)
    monkeypatch.setattr(partition_draws, "_ROWS_AT_ONCE", 80)
    interrupt_at(monkeypatch, "draw 4 of 6")
    mixture = SmallMixture(MvNormal, 2, WISHART, 1.0)
    with pytest.warns(UserWarning, match="stopped with 4 of 6 draws"):
        found = mixture.sample_partitions(x, 6, 0, chains=1, warm_up=2)
    assert found.labels.shape == (4, 40)
    monkeypatch.undo()
    np.testing.assert_array_equal(
        mixture.sample_partitions(x, 4, 0, chains=1, warm_up=2).labels, found.labels
    )


def test_ctrl_c_before_the_first_draw_ends_it(monkeypatch):
    interrupt_at(monkeypatch, "warming up")
    with pytest.raises(KeyboardInterrupt):
        VECTORS.sample_partitions(two_groups(10), 8, 0)


def test_chains_that_disagree_warn(monkeypatch):
    def apart(model, prior, **options):
        """Two chains, each of which has stayed where it began."""
        labels = np.zeros((2, 8, 4), dtype=np.int32)
        labels[1, :, 2:] = 1
        joint = np.random.default_rng(0).normal(size=(2, 8))
        return PartitionDraws(labels, joint, labels.max(axis=2) + np.int64(1))

    monkeypatch.setattr(partition_questions, "draw_partitions", apart)
    with pytest.warns(ConvergenceWarning, match=r"chains of partitions disagree \(R̂ = inf\)"):
        found = VECTORS.sample_partitions(two_groups(4), 16, 0, chains=2)
    assert found.r_hat.n_clusters == np.inf
    assert found.r_hat.log_joint < 2.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 0}, "draws must be a whole number >= 1, got 0"),
        ({"draws": 1.5}, "draws must be a whole number >= 1, got 1.5"),
        ({"chains": 0}, "chains must be"),
        ({"warm_up": -1}, "warm_up must be a whole number >= 0, got -1"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        VECTORS.sample_partitions(two_groups(4), **options)


def test_rows_and_priors_that_cannot_be():
    with pytest.raises(ValueError, match="at most 15 rows, got 16; sample_partitions takes"):
        VECTORS.enumerate_partitions(two_groups(16))
    with pytest.raises(ValueError, match="infinity"):
        VECTORS.enumerate_partitions([[np.inf, 0.0]])
    with pytest.raises(ValueError, match="each datum must have shape"):
        VECTORS.enumerate_partitions([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="support of Poisson"):
        COUNTS.enumerate_partitions([[-1.0]])
    with pytest.raises(ValueError, match="n_components must be"):
        SmallMixture(Poisson, 0, COUNTS.prior).enumerate_partitions([[1.0]])
    with pytest.raises(ValueError, match="weight_concentration_prior must be a positive number"):
        SmallMixture(Poisson, 2, COUNTS.prior, -1.0).enumerate_partitions([[1.0]])


def test_one_row():
    for found in (
        COUNTS.enumerate_partitions([[4.0]]),
        COUNTS.sample_partitions([[4.0]], 8, 0),
    ):
        assert found.n_clusters.mode == 1
        np.testing.assert_array_equal(found.similarity, [[1.0]])
        np.testing.assert_array_equal(found.representative(), [0])
        # ∫ Poisson(4 | λ) Gamma(λ | 1, 0.2) dλ = 0.2 / 1.2⁵
        assert float(found.log_evidence) == pytest.approx(np.log(0.2) - 5 * np.log(1.2), rel=1e-12)


@pytest.mark.slow
def test_partitions_are_calibrated():
    """Partitions drawn from the prior have uniform ranks among posterior draws (S. Talts et al. 2018)."""
    rng = np.random.default_rng(6)
    prior = NormalWishart([0.0, 0.0], 0.2, 5.0, np.eye(2) / 2)
    mixture = SmallMixture(MvNormal, 4, prior, 1.0)
    ranks = {"log_joint": [], "n_clusters": [], "together": []}
    kept = 31
    for simulation in range(200):
        weights = rng.dirichlet(np.ones(4))
        z = rng.choice(4, size=30, p=weights)
        means, precisions = prior.sample(4, rng=rng)
        x = np.array(
            [
                rng.multivariate_normal(means[k], np.linalg.solve(precisions[k], np.eye(2)))
                for k in z
            ]
        )
        found = mixture.sample_partitions(x, kept * 10, simulation, chains=1, warm_up=20)
        truth = _statistics(mixture, x, z[None])
        draws = _statistics(mixture, x, found.labels[::10])
        for name, values in draws.items():
            below = np.sum(values < truth[name][0])
            equal = np.sum(values == truth[name][0])
            ranks[name].append(below + rng.integers(equal + 1))
    for found in ranks.values():
        counts = np.bincount(np.array(found) * 8 // (kept + 1), minlength=8)
        chi = ((counts - 25.0) ** 2 / 25.0).sum()
        assert chi < 7 + 5 * np.sqrt(14)  # five standard deviations of χ² with 7 degrees of freedom


def _statistics(mixture, x, labels):
    from posteriori.inference.mixtures.partitions.conjugate_clusters import log_marginal

    model, prior = mixture._cluster_model(x), mixture._partition_prior(len(x))
    joint, number, together = [], [], []
    for z in labels:
        codes = np.unique(z, return_inverse=True)[1]
        sizes = np.bincount(codes)
        joint.append(
            prior.log_number[len(sizes)]
            + prior.log_size[sizes].sum()
            + sum(log_marginal(model, np.flatnonzero(codes == k)) for k in range(len(sizes)))
        )
        number.append(len(sizes))
        together.append((codes[:, None] == codes).sum())
    joint = np.round(joint, 6)  # equal partitions are equal
    return {"log_joint": joint, "n_clusters": np.array(number), "together": np.array(together)}


@pytest.mark.slow
def test_galaxies_have_the_published_evidence() -> None:
    """Three normals with the priors of S. Chib 1995: R. Neal 1999 has −226.79 by long runs, 0.089 of error.

    There means are N(20, 100) and variances InverseGamma(3, 20), independent of one another. Draws under a conjugate
    prior are weighed by the ratio of the two marginals of each cluster, one of them by a sum over the mean. The
    velocity of the 78th galaxy is 26.96, as published first.
    """
    x = np.sort(load_galaxies().data, axis=0)
    x = (x / 1000.0 if x.max() > 100.0 else x.copy()).reshape(-1, 1)
    x[np.isclose(x, 26.69)] = 26.96
    strength = 0.05
    prior = NormalWishart([20.0], strength, 6.0, [[1.0 / 40.0]])
    mixture = BayesianGaussianMixture(3, prior=prior, weight_concentration_prior=1.0)
    drawn = mixture.sample_partitions(x, 2000, 0)
    mean = np.linspace(-40.0, 80.0, 6001)
    log_prior = -0.5 * (mean - 20.0) ** 2 / 100.0 - 0.5 * np.log(200.0 * np.pi)

    def log_ratio(rows: np.ndarray) -> float:
        n, centre = len(rows), rows.mean()
        power = 3.0 + 0.5 * n
        squares = ((rows[:, None] - mean) ** 2).sum(axis=0)
        first = logsumexp(log_prior - power * np.log(20.0 + 0.5 * squares)) + np.log(
            mean[1] - mean[0]
        )
        shrunk = strength * n / (strength + n) * (centre - 20.0) ** 2
        scatter = ((rows - centre) ** 2).sum() + shrunk
        second = 0.5 * np.log(strength / (strength + n)) - power * np.log(20.0 + 0.5 * scatter)
        return float(first - second)

    weights = [
        sum(log_ratio(x[labels == k, 0]) for k in range(labels.max() + 1))
        for labels in drawn.labels[::4]
    ]
    value = float(drawn.log_evidence) + logsumexp(weights) - np.log(len(weights))
    error = np.hypot(drawn.log_evidence.error, 0.089)
    assert value == pytest.approx(-226.79, abs=3.0 * error)
