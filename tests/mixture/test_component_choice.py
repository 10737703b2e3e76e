"""How many components, and which of them make a cluster."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import xlogy

from posteriori.datasets import load_old_faithful
from posteriori.mixture import (
    BayesianGaussianMixture,
    GaussianMixture,
    choose_components,
    join_components,
)


def faithful():
    return np.array(load_old_faithful().data, dtype=float)


@pytest.mark.topic("004/9.17")
def test_two_components_of_old_faithful_by_every_criterion():
    for estimator, criterion, most in (
        (BayesianGaussianMixture(random_state=0), None, 4),
        (GaussianMixture(random_state=0), None, 3),
        (GaussianMixture(random_state=0), "bic", 4),
        (GaussianMixture(random_state=0), "icl", 4),
    ):
        found = choose_components(estimator, faithful(), range(1, most + 1), criterion)
        assert found.best == 2, found
        assert found.scores.shape == (most,)
        assert (found.probabilities is not None) == (
            criterion is None and found.criterion == "evidence"
        )


def test_probabilities_are_those_of_the_evidence():
    found = choose_components(BayesianGaussianMixture(random_state=0), faithful(), [2, 1])
    assert found.numbers == (2, 1)
    gap = float(found.models[0].log_evidence_ - found.models[1].log_evidence_)
    assert np.log(found.probabilities[0] / found.probabilities[1]) == pytest.approx(gap, abs=1e-9)
    assert all(m.weight_concentration_prior == 1.0 for m in found.models)
    given = choose_components(
        BayesianGaussianMixture(weight_concentration_prior=0.3, random_state=0), faithful(), [1]
    )
    assert given.models[0].weight_concentration_prior == 0.3


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
    with pytest.raises(TypeError, match="has no evidence"):
        choose_components(GaussianMixture(), faithful(), [1], "evidence")
