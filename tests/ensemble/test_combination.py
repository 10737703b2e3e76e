"""Errors of committees, and the two likelihoods of combined models."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

from posteriori.ensemble import (
    committee_errors,
    log_likelihood_of_average,
    log_likelihood_of_combination,
)

numbers = st.floats(-100.0, 100.0)
LOGS = np.log([[0.8, 0.2, 0.5], [0.3, 0.6, 0.5], [0.1, 0.7, 0.5]])
PRIOR = np.array([0.5, 0.3, 0.2])


@pytest.mark.topic("000/K1", "000/K5")
@given(arrays.arrays(float, (6, 4), elements=numbers), arrays.arrays(float, 6, elements=numbers))
def test_a_committee_is_never_worse_than_its_members_on_average(predictions, y):
    found = committee_errors(predictions, y)
    one_by_one = [np.mean((predictions[:, l] - y) ** 2) for l in range(4)]
    assert found.individual == pytest.approx(np.mean(one_by_one), rel=1e-12, abs=1e-300)
    assert found.committee <= found.individual * (1 + 1e-12)
    gain = predictions.var(axis=1).mean()  # the variance around the mean is what is gained
    np.testing.assert_allclose(found.individual - found.committee, gain, atol=1e-9)


@pytest.mark.topic("000/K5")
def test_uncorrelated_errors_are_divided_by_the_number_of_models():
    rng = np.random.default_rng(0)
    errors = rng.normal(size=(20_000, 20))
    found = committee_errors(errors, np.zeros(20_000))
    ratio = found.individual / found.committee
    assert ratio == pytest.approx(20.0, abs=5 * 20.0 * np.sqrt(2.0 / 20_000))


@pytest.mark.topic("000/K5", "002/K13")
def test_what_all_models_miss_alike_stays():
    rng = np.random.default_rng(0)
    predictions = 3.0 + rng.normal(size=(1000, 50))
    found = committee_errors(predictions, np.zeros(1000))
    assert found.committee > 9.0 - 5 * 6.0 / np.sqrt(50 * 1000)
    assert found.individual > found.committee


@pytest.mark.topic("000/K3")
def test_one_model_for_all_data_is_a_sum_over_models():
    density = np.exp(LOGS)
    expected = sum(p * np.prod(density[:, h]) for h, p in enumerate(PRIOR))
    assert np.exp(log_likelihood_of_average(LOGS, PRIOR)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.topic("000/K3")
def test_a_model_for_each_datum_is_a_sum_over_all_assignments():
    density, rows = np.exp(LOGS), np.arange(3)
    expected = sum(
        np.prod(PRIOR[list(z)] * density[rows, list(z)])
        for z in itertools.product(range(3), repeat=3)
    )
    found = log_likelihood_of_combination(LOGS, PRIOR)
    assert np.exp(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.topic("000/K3")
def test_both_agree_for_one_datum_and_differ_for_more():
    one = LOGS[:1]
    assert log_likelihood_of_average(one, PRIOR) == pytest.approx(
        log_likelihood_of_combination(one, PRIOR), rel=1e-14
    )
    assert abs(log_likelihood_of_average(LOGS) - log_likelihood_of_combination(LOGS)) > 0.1


def test_impossible_data_have_no_likelihood():
    logs = np.array([[-np.inf, -1.0], [-1.0, -np.inf]])
    assert log_likelihood_of_average(logs) == -np.inf
    assert log_likelihood_of_combination(logs) == pytest.approx(-2.0 - 2 * np.log(2.0))
    assert log_likelihood_of_average(logs[:1], [1.0, 0.0]) == -np.inf


@pytest.mark.parametrize("wrong", [[1.0, 2.0], [[np.nan]], [[np.inf]], np.zeros((0, 2))])
def test_log_densities_are_a_table(wrong):
    with pytest.raises(ValueError, match=r"log_densities must be .* of shape \(N, H\)"):
        log_likelihood_of_average(wrong)


def test_shapes_must_fit():
    with pytest.raises(ValueError, match="prior has shape"):
        log_likelihood_of_combination(LOGS, [0.5, 0.5])
    with pytest.raises(ValueError, match="predictions must have shape"):
        committee_errors([[1.0, 2.0]], [1.0, 2.0])
