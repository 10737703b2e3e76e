"""What counting all namings of states adds: affinities by draws, exact evidence, labels, partial symmetry."""

from __future__ import annotations

from itertools import permutations
from math import factorial, log

import numpy as np
import pytest

from posteriori.distributions import Gamma, Normal, NormalInverseGamma
from posteriori.mixture import BayesianGaussianMixture
from posteriori.sequence import HiddenMarkovModel
from posteriori.sequence.learning.chain_fit import build_emission, build_paths
from tests.sequence.exact_evidence import exact_normal_evidence

#: Emissions whose states overlap a little, and whether what is said of them is exact.
EMISSIONS = {
    "columns": {"emission": "normal"},
    "rows": {"emission": "mvnormal"},
    "shared": {"emission": "mvnormal", "covariance": "shared"},
    "spherical": {"emission": "mvnormal", "covariance": "spherical"},
    "separate": {"emission_prior": (Normal(0.0, variance=9.0), Gamma(2.0, rate=2.0))},
    "counts": {"emission": "poisson"},
    "codes": {"emission": "categorical"},
    "kinds": {"emission": {0: "normal", 1: "poisson"}},
    "regressions": {"emission": "normal", "lags": 1},
    "mixtures": {"emission": "mixture"},
}


def overlapping(name, k, rows=4):
    """Return counts that are much the same in all states, so that beliefs about these have much in common."""
    rng = np.random.default_rng(3)
    alike = np.tile(rng.poisson(4.0, (rows, 2)), (k, 1))
    few = 1 if name == "regressions" else 2  # what rows regress on differs as well
    return alike + rng.integers(0, few, alike.shape) * 1.0, np.repeat(np.arange(k), rows)


def drawn_affinities(emission, sums, k, size=4000):
    """Return Σ_σ E_q √(q(σθ)/q(θ)) over all orders of the states, and its standard error."""
    beliefs = emission.draw(sums, size, np.random.default_rng(0)).log_beliefs(sums)
    states = np.arange(k)
    own = beliefs[:, states, states].sum(axis=1)
    each = sum(
        np.exp(0.5 * (beliefs[:, order, states].sum(axis=1) - own))
        for order in permutations(range(k))
    )
    return each.mean(), each.std() / np.sqrt(size)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", [name for name in EMISSIONS if name != "mixtures"])
def test_affinities_are_those_of_draws(name, k):
    """Of a covariance that all of three states share they are a bound from above."""
    x, levels = overlapping(name, k)
    model = HiddenMarkovModel(k, random_state=0, **EMISSIONS[name]).fit(x, states=levels)
    data, rows, sums = model._training
    paths, emission = build_paths(model, data, rows), build_emission(model, data, rows)
    log_b = emission.log_affinities(sums[paths.n_sums :])
    states = np.arange(k)
    told = sum(np.exp(log_b[states, order].sum()) for order in permutations(range(k)))
    drawn, error = drawn_affinities(emission, sums[paths.n_sums :], k)
    assert told > drawn - 5 * error
    if name != "shared" or k == 2:
        assert told == pytest.approx(drawn, abs=5 * error + 1e-9)


def test_one_state_that_emits_a_mixture_is_a_mixture():
    x = np.random.default_rng(0).normal(size=(60, 2)) + 4.0 * (np.arange(60) % 3 == 0)[:, None]
    chain = HiddenMarkovModel(1, "mixture", mixture_components=2, tol=1e-13, random_state=0)
    mixture = BayesianGaussianMixture(2, tol=1e-13, random_state=0).fit(x)
    chain.fit(x, lengths=np.ones(60, dtype=int))
    assert float(chain.log_evidence_) == pytest.approx(float(mixture.log_evidence_), abs=1e-9)


@pytest.mark.parametrize("levels", [0.0, 5.0])
def test_the_bound_of_all_namings_is_below_the_sum_over_partitions(levels):
    prior = (0.0, 0.5, 2.0, 1.0)
    x = np.random.default_rng(1).normal(size=8) + levels * (np.arange(8) > 4)
    exact = exact_normal_evidence(x, [2, 3], prior)
    for k in (2, 3):
        prior_of = NormalInverseGamma(*prior)
        model = HiddenMarkovModel(k, emission_prior=prior_of, random_state=0).fit(x[:, None])
        assert float(model.log_evidence_) < exact[k]
        if levels:  # else beliefs about the path and about states know too little of one another
            assert exact[k] - float(model.log_evidence_) < 2.5


def test_labels_and_priors_give_states_their_names():
    rng = np.random.default_rng(2)
    z = np.repeat([0, 1, 2], 20)
    x = rng.normal(20.0 * z)[:, None]
    options = {"random_state": 0, "n_init": 2}
    assert HiddenMarkovModel(3, **options).fit(x).symmetry_gain_ == pytest.approx(log(factorial(3)))
    one = np.where(np.arange(60) < 3, 0, -1)  # two states are without a name
    assert HiddenMarkovModel(3, **options).fit(x, states=one).symmetry_gain_ == pytest.approx(
        log(2)
    )
    assert HiddenMarkovModel(3, **options).fit(x, states=z).symmetry_gain_ == 0.0
    ordered = HiddenMarkovModel(3, transitions="left-to-right", **options).fit(x)
    assert ordered.symmetry_gain_ == 0.0
    first = HiddenMarkovModel(3, initial_concentration=[5.0, 1.0, 1.0], **options).fit(x)
    assert first.symmetry_gain_ == pytest.approx(log(2))  # the prior tells one of three apart
