"""The evidence of hidden Markov models by annealing, against sums over all partitions of short series."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.distributions import NormalInverseGamma
from posteriori.sequence import HiddenMarkovModel
from tests.sequence.exact_evidence import exact_normal_evidence

#: Location and strength of means, shape and scale of variances.
PRIOR = (0.0, 0.5, 2.0, 1.0)


def _series(kind: str) -> np.ndarray:
    noise = np.random.default_rng(1).normal(size=8)
    return noise + 5.0 * (np.arange(8) > 4) * (kind == "two levels")


def _fitted(x: np.ndarray, k: int) -> HiddenMarkovModel:
    prior = NormalInverseGamma(*PRIOR)
    return HiddenMarkovModel(k, emission_prior=prior, random_state=0).fit(x[:, None])


@pytest.mark.parametrize("kind", ["noise", "two levels"])
@pytest.mark.parametrize("k", [2, 7])
def test_evidence_is_the_sum_over_partitions(kind, k):
    """Also where more states than rows can tell apart stand empty, and where these are more than six."""
    x = _series(kind)
    exact = exact_normal_evidence(x, [k], PRIOR)[k]
    drawn = _fitted(x, k).estimate_evidence(300)
    assert abs(float(drawn) - exact) < 4 * drawn.error
    assert drawn.error < 1.0


def test_states_that_no_row_visits_lower_the_evidence():
    x = np.random.default_rng(2).normal(size=(100, 1))
    models = (HiddenMarkovModel(k, n_init=1, random_state=0).fit(x) for k in (1, 8))
    one, many = (m.estimate_evidence(100) for m in models)
    assert float(many) < float(one) - many.error


@pytest.mark.slow  # six hundred estimates
@pytest.mark.parametrize("kind", ["noise", "two levels"])
def test_errors_of_evidence_are_as_large_as_they_say(kind):
    """Of 100 estimates for each number of states, about two thirds are off by less than their error."""
    x = _series(kind)
    exact = exact_normal_evidence(x, range(2, 9), PRIOR)
    for k in (2, 5, 8):
        m = _fitted(x, k)
        found = [m.estimate_evidence(150, rng=seed) for seed in range(100)]
        z = np.array([(float(one) - exact[k]) / one.error for one in found])
        assert (np.abs(z) < 1.0).mean() > 0.55, k
        assert (np.abs(z) > 2.0).mean() < 0.12, k
        values = np.exp([float(one) - exact[k] for one in found])
        assert abs(values.mean() - 1.0) < 5 * values.std() / 10.0, k
