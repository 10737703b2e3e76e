"""What counting all namings adds to a bound: permanents against all permutations."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest

from posteriori import NormalWishart
from posteriori.inference.latent.namings import symmetry_gain
from posteriori.inference.mixtures.normal_beliefs import learn_belief, normal_affinities
from posteriori.inference.mixtures.normal_maximum import NormalPrior
from posteriori.inference.mixtures.normal_scores import NormalStatistics


@pytest.mark.parametrize("k", [1, 2, 3, 5, 7])
def test_permanents_are_sums_over_all_permutations(k):
    rng = np.random.default_rng(k)
    b = rng.uniform(0, 1, size=(k, k))
    b = np.sqrt(b * b.T)
    np.fill_diagonal(b, 1.0)
    permanent = sum(
        np.prod([b[i, j] for i, j in enumerate(order)]) for order in permutations(range(k))
    )
    assert symmetry_gain(np.log(b)) == pytest.approx(np.log(factorial(k) / permanent), rel=1e-12)


def test_beyond_twelve_components_the_gain_is_a_lower_bound():
    rng = np.random.default_rng(0)
    far = np.full((13, 13), -50.0) * (1 - np.eye(13))
    assert symmetry_gain(far) == pytest.approx(np.log(float(factorial(13))), rel=1e-9)
    near = np.log(rng.uniform(0.1, 1.0, size=(12, 12)))
    near = 0.5 * (near + near.T) * (1 - np.eye(12))
    rows = np.log(factorial(12)) - np.log(np.exp(near).sum(axis=1)).sum()
    assert symmetry_gain(near) >= max(rows, 0.0)


def test_affinities_are_those_of_the_distribution():
    """∫ √(q_j q_k), from the log normaliser of the family as ``distributions`` has it."""
    rng = np.random.default_rng(1)
    k, d = 3, 2
    prior = NormalPrior(
        np.zeros((k, d)), np.full(k, 0.5), np.full(k, 4.0), np.tile(np.eye(d), (k, 1, 1))
    )
    x = rng.normal(size=(30, d)) + 2 * rng.integers(0, 2, size=(30, 1))
    shares = rng.dirichlet(np.ones(k), size=30).T
    sums = NormalStatistics(
        shares.sum(axis=1), shares @ x, np.einsum("kn,ni,nj->kij", shares, x, x)
    )
    belief = learn_belief(sums, prior)
    q = NormalWishart(belief.means, belief.strength, belief.dof, belief.scale)
    a = q.log_normalizer()
    found = normal_affinities(belief)
    for i in range(k):
        for j in range(k):
            half = [0.5 * (part[i] + part[j]) for part in q.natural]
            middle = NormalWishart.from_natural(*half).log_normalizer()
            assert found[i, j] == pytest.approx(middle - 0.5 * (a[i] + a[j]), abs=1e-9)
