"""How many components, and which of them make a cluster."""

from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp, softmax, xlogy
from sklearn.base import clone

from posteriori import bayes
from posteriori.datasets import load_old_faithful
from posteriori.distributions import MvNormal, NormalWishart
from posteriori.mixture import (
    BayesianGaussianMixture,
    GaussianMixture,
    LatentClasses,
    choose_components,
    join_components,
)


def faithful():
    return np.array(load_old_faithful().data, dtype=float)


@pytest.mark.topic("004/9.17")
def test_two_components_of_old_faithful_by_every_criterion():
    for estimator, criterion, most in (
        (BayesianGaussianMixture(random_state=0), "evidence", 4),
        (GaussianMixture(random_state=0), None, 3),
        (GaussianMixture(random_state=0), "bic", 4),
        (GaussianMixture(random_state=0), "icl", 4),
    ):
        found = choose_components(estimator, faithful(), range(1, most + 1), criterion)
        assert found.best == 2, found
        assert found.scores.shape == (most,)
        assert (found.probabilities is not None) == (criterion == "evidence")


def test_probabilities_are_those_of_the_evidence():
    found = choose_components(
        BayesianGaussianMixture(random_state=0), faithful(), [2, 1], "evidence"
    )
    assert found.numbers == (2, 1)
    gap = float(found.models[0].log_evidence_ - found.models[1].log_evidence_)
    assert np.log(found.probabilities[0] / found.probabilities[1]) == pytest.approx(gap, abs=1e-9)
    assert all(m.weight_concentration_prior == 1.0 for m in found.models)
    given = choose_components(
        BayesianGaussianMixture(weight_concentration_prior=0.3, random_state=0), faithful(), [1]
    )
    assert given.models[0].weight_concentration_prior == 0.3


def evidences(x, numbers, prior, concentration):
    """ln p(X | K), a sum over all ways to give rows to K components, written out."""
    rows = len(x)
    sums = []
    for k in numbers:
        terms = []
        for labels in product(range(k), repeat=rows):
            sizes = np.bincount(labels, minlength=k)
            log = gammaln(k * concentration) - gammaln(rows + k * concentration)
            log += (gammaln(sizes + concentration) - gammaln(concentration)).sum()
            for c in set(labels):
                log += float(bayes(prior, MvNormal, x[np.array(labels) == c]).log_evidence)
            terms.append(float(log))
        sums.append(logsumexp(terms))
    return np.array(sums)


def test_draws_have_the_probabilities_of_all_ways_to_give_rows_to_components():
    """Numbers that leave one out, in any order; of six rows in up to three components."""
    x = np.array([[-1.2], [-0.6], [-0.4], [0.5], [0.8], [1.1]])
    prior, numbers = NormalWishart([0.0], 0.3, 3.0, [[2.0]]), (3, 1)
    estimator = BayesianGaussianMixture(prior=prior, weight_concentration_prior=0.8, random_state=0)
    exact = softmax(evidences(x, numbers, prior, 0.8))
    assert 0.1 < exact[1] < 0.9
    found = choose_components(estimator, x, numbers, "draws")
    assert (found.numbers, found.criterion) == (numbers, "draws")
    np.testing.assert_allclose(found.probabilities, exact, atol=0.03)
    np.testing.assert_allclose(found.scores, np.log(found.probabilities))
    assert [model.n_components for model in found.models] == list(numbers)


def test_draws_agree_with_sums_over_partitions_of_eight_rows():
    x = np.array(
        [[0.1, 3.0], [0.4, 2.6], [0.3, 3.3], [2.2, 0.5], [2.0, 0.1], [2.5, 0.4], [5, 5], [1, 1]]
    )
    numbers = range(1, 6)
    for estimator in (BayesianGaussianMixture(random_state=1), LatentClasses(random_state=1)):
        estimator.set_params(weight_concentration_prior=1.0)
        exact = softmax(
            [
                float(
                    clone(estimator).set_params(n_components=k).enumerate_partitions(x).log_evidence
                )
                for k in numbers
            ]
        )
        told = estimator.number_probabilities(x, numbers, draws=8000, rng=0)
        np.testing.assert_allclose(told, exact, atol=0.02)


def test_draws_are_refused_where_there_are_none():
    x = faithful()[:60]
    x[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3 has a gap"):
        choose_components(BayesianGaussianMixture(random_state=0), x, [1, 2], "draws")
    process = BayesianGaussianMixture(
        random_state=0, weight_concentration_prior_type="dirichlet_process"
    )
    with pytest.raises(ValueError, match="a dirichlet_process has no number of components"):
        choose_components(process, faithful()[:60], [1, 2], "draws")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:chains of partitions")
def test_draws_do_not_claim_more_than_is_right_and_the_bound_does():
    """Normals in two columns, 2.5 to 4 sd apart, where components overlap."""
    told = {"evidence": [], "draws": []}
    for seed in range(24):
        rng = np.random.default_rng(900 + seed)
        k, apart = 2 + seed % 3, rng.uniform(2.5, 4.0)
        corners = apart * np.array(
            [[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)], [1.5, np.sqrt(0.75)]]
        )
        x = corners[rng.choice(k, size=120)] + rng.normal(size=(120, 2))
        for criterion, each in told.items():
            found = choose_components(
                BayesianGaussianMixture(random_state=seed), x, range(1, 6), criterion
            )
            each.append((found.probabilities.max(), found.best == k))
    over = {}
    for criterion, each in told.items():
        claimed, right = np.array(each).T
        spread = np.sqrt((claimed * (1.0 - claimed)).sum())
        over[criterion] = (claimed.sum() - right.sum()) / spread
    assert over["draws"] < 2.5 < over["evidence"], over


def test_criteria_by_their_formulas():
    x = faithful()
    found = choose_components(GaussianMixture(random_state=0), x, [2], "bic")
    model = found.models[0]
    bic = model.log_likelihood_ - 0.5 * 11 * np.log(272)
    assert found.scores[0] == pytest.approx(bic, abs=1e-6)
    icl = choose_components(GaussianMixture(random_state=0), x, [2], "icl").scores[0]
    p = model.predict_proba(x)
    assert icl == pytest.approx(bic + xlogy(p, p).sum(), abs=1e-6)


def test_noise_has_one_component():
    x = np.random.default_rng(0).normal(size=(100, 2))
    assert choose_components(BayesianGaussianMixture(random_state=0), x, range(1, 4)).best == 1


def test_a_bent_cluster_is_joined_from_components():
    """A ring sector needs several normals; they are joined before the far blob is."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(0.2, 2.9, size=300)
    arc = 5 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.3 * rng.normal(size=(300, 2))
    blob = np.array([0.0, -6.0]) + 0.4 * rng.normal(size=(100, 2))
    x = np.concatenate([arc, blob])
    model = GaussianMixture(5, random_state=0).fit(x)
    path = join_components(model, x)
    labels = path.labels(model.predict_proba(x), 2)
    assert len(set(labels[:300])) == 1
    assert set(labels[300:]) == {1 - labels[0]}
    assert path.entropies[0] == pytest.approx(0.0, abs=1e-9)
    p = model.predict_proba(x)
    assert path.entropies[-1] == pytest.approx(-xlogy(p, p).sum())


@pytest.mark.parametrize("seed", range(4))
def test_pairs_are_joined_that_take_most_of_the_entropy_away(seed):
    """Of all ways to join two of the clusters none leaves less, at every step of the path."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(rng.permutation([0.2, 0.4, 0.6, 0.8, 1.0]), size=60)
    path = join_components(SimpleNamespace(predict_proba=lambda X: p), p)
    for before, entropy in zip(path.groups[1:], path.entropies, strict=False):
        shares = [p[:, list(group)].sum(axis=1) for group in before]
        left = [
            sum(-xlogy(s, s).sum() for i, s in enumerate(shares) if i not in pair)
            - xlogy(joined := shares[pair[0]] + shares[pair[1]], joined).sum()
            for pair in combinations(range(len(before)), 2)
        ]
        assert entropy == pytest.approx(min(left), rel=1e-12)


def test_bad_questions_are_named():
    with pytest.raises(ValueError, match="criterion must be one of"):
        choose_components(GaussianMixture(), faithful(), [1], "aic")
    with pytest.raises(ValueError, match="numbers must be"):
        choose_components(GaussianMixture(), faithful(), [])
    with pytest.raises(TypeError, match="draws no partitions"):
        choose_components(GaussianMixture(), faithful(), [1, 2], "draws")
    with pytest.raises(TypeError, match="has no evidence"):
        choose_components(GaussianMixture(), faithful(), [1], "evidence")
