"""The compiled pass on series of textbooks: largest likelihoods, and where they are, as others publish them."""

import numpy as np
import pytest
from scipy import optimize

from posteriori.datasets import load_air_passengers, load_nile
from posteriori.inference.series.scalar_chain import (
    NO_ENTRIES,
    Entries,
    ScalarChain,
    filter_scalar,
)

FLOW = np.asarray(load_nile()["flow"], dtype=float)
ONE = Entries(np.zeros(1, int), np.zeros(1, int), np.ones((1, 1)))


def nile_log_likelihood(variances):
    """ln p(y_2 … y_T | y_1) of the local level, whose first level is N(0, 10⁶) as in statsmodels."""
    start = np.zeros(1), 1e6 * np.eye(1), NO_ENTRIES, np.zeros(0, int), np.zeros(1, bool)
    level = ScalarChain(np.ones((1, 1)), ONE, ONE, np.ones(1, int), *start)
    first = filter_scalar(level, variances, FLOW[:1]).log_likelihood
    return filter_scalar(level, variances, FLOW).log_likelihood - first


def test_the_local_level_of_nile_is_that_of_statsmodels():
    """UnobservedComponents(volume, "local level") of its documentation: −632.538 at 15 078 and 1 478.8.

    So flat is the top that the search there ends a hundredth beside it, and 10⁻⁴ nats below.
    """
    published = np.array([15078.0, 1478.8])
    there = nile_log_likelihood(published)
    assert there == pytest.approx(-632.538, abs=5e-4)
    best = optimize.minimize(
        lambda logs: -nile_log_likelihood(np.exp(logs)), np.log([1e4, 1e3]), tol=1e-6
    )
    assert 0.0 <= -best.fun - there < 2e-4
    np.testing.assert_allclose(np.exp(best.x), published, rtol=0.015)


def airline_log_likelihood(theta, seasonal, variance):
    """ln p(w) of w_t = (1 + θB)(1 + ΘB¹²) ε_t: the last 14 shocks are the state, and begin in equilibrium."""
    y = np.log(np.asarray(load_air_passengers()["passengers"], dtype=float))
    w = np.diff(y)
    w = w[12:] - w[:-12]
    emission = np.zeros((1, 14))
    emission[0, [0, 1, 12, 13]] = 1.0, theta, seasonal, theta * seasonal
    later = np.arange(1, 14)
    moves = Entries(later, later - 1, np.ones((1, 13)))
    start = np.zeros(14), variance * np.eye(14), NO_ENTRIES, np.zeros(0, int), np.zeros(14, bool)
    chain = ScalarChain(emission, moves, ONE, np.ones(1, int), *start)
    return filter_scalar(chain, np.array([0.0, variance]), w).log_likelihood


def test_the_airline_model_has_the_likelihood_that_everyone_finds():
    """R's arima(log(AirPassengers), c(0, 1, 1), c(0, 1, 1)): 244.7 at −0.4018, −0.5569 and 0.001348."""
    best = airline_log_likelihood(-0.4018, -0.5569, 0.001348)
    assert best == pytest.approx(244.70, abs=0.005)
    for theta, seasonal, factor in ((0.03, 0.0, 1.0), (0.0, 0.03, 1.0), (0.0, 0.0, 1.1)):
        for sign in (-1.0, 1.0):
            near = (
                -0.4018 + sign * theta,
                -0.5569 + sign * seasonal,
                0.001348 * factor**sign,
            )
            assert airline_log_likelihood(*near) < best
