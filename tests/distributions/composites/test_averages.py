"""Averages over an axis of a batch have the average of the densities, in whatever form they come."""

import numpy as np
import pytest

from posteriori.distributions import (
    Bernoulli,
    Categorical,
    Distribution,
    Gamma,
    Mixture,
    MvNormal,
    Normal,
    Poisson,
)
from posteriori.distributions.batches import take_members
from posteriori.distributions.composites.averages import (
    average,
    average_first,
    average_last,
    with_last,
)
from posteriori.distributions.composites.mixture import MixtureFamily

rng = np.random.default_rng(5)
WEIGHTS = np.array([0.2, 0.5, 0.3])
MEANS = rng.normal(size=(2, 3, 4))

#: Batches (2, 3), what they average to, and where their densities are compared.
CASES = {
    "normal": (Normal(MEANS[..., 0], variance=0.5), MixtureFamily, 0.3),
    "counts": (Poisson(np.exp(MEANS[..., 0])), MixtureFamily, 2),
    "one parameter for all": (Gamma(2.0, rate=np.exp(MEANS[..., 0])), MixtureFamily, 0.7),
    "vectors": (MvNormal(MEANS, cov=np.eye(4)), MixtureFamily, np.ones(4)),
    "events": (Bernoulli(1.0 / (1.0 + np.exp(MEANS[..., 0]))), Bernoulli, 1),
    "categories": (Categorical(np.exp(MEANS) / np.exp(MEANS).sum(-1)[..., None]), Categorical, 2),
    "mixtures": (Mixture(np.full(4, 0.25), Normal(MEANS, variance=0.5)), MixtureFamily, 0.3),
}


def densities(batch: Distribution, at: object) -> np.ndarray:
    return np.exp([[take_members(batch, (i, k)).log_prob(at) for k in range(3)] for i in range(2)])


@pytest.mark.parametrize("name", CASES)
def test_densities_are_averaged(name: str) -> None:
    batch, kind, at = CASES[name]
    expected = densities(batch, at) @ WEIGHTS
    columns = [take_members(batch, (slice(None), k)) for k in range(3)]
    first = with_last(batch, 0)  # (3, 2)
    parts = [take_members(first, slice(0, 1)), take_members(first, slice(1, 3))]
    answers = (
        average_last(WEIGHTS, batch),
        average(WEIGHTS, columns),
        average_first(WEIGHTS, parts),
    )
    for found in answers:
        assert isinstance(found, kind)
        np.testing.assert_allclose(np.exp(found.log_prob(at)), expected, rtol=1e-12)


def test_weights_may_differ_between_rows() -> None:
    batch, _, at = CASES["categories"]
    weights = np.array([[1.0, 0.0, 0.0], [0.1, 0.2, 0.7]])
    expected = np.sum(weights * densities(batch, at), axis=1)
    found = average_last(weights, batch)
    np.testing.assert_allclose(np.exp(found.log_prob(at)), expected, rtol=1e-12)


def test_labels_are_kept() -> None:
    sky = Categorical([[0.5, 0.5], [0.1, 0.9]], labels=["sun", "rain"])
    assert average_last(np.array([0.5, 0.5]), sky).labels == ("sun", "rain")
    assert average_first(np.array([1.0]), [take_members(sky, slice(0, 1))]).mode == "sun"


def test_what_is_the_same_everywhere_stays_and_families_do_not_mix() -> None:
    one = Normal(0.0, variance=1.0)
    assert average(np.array([0.3, 0.7]), [one, Normal(0.0, variance=1.0)]) is one
    with pytest.raises(TypeError, match="Gamma and Normal together have no form"):
        average(np.array([0.3, 0.7]), [one, Gamma(1.0, rate=1.0)])
