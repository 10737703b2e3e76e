"""Log likelihoods that others have printed."""

import numpy as np
import pytest

from posteriori.datasets import load_air_passengers, load_nile
from posteriori.inference import LinearGaussianChain, filter_chain


def test_nile_as_in_statsmodels():
    """Local level, N(0, 10⁶) before the first value, which is left out: −632.5376 at 15078 and 1478.8."""
    y = np.asarray(load_nile()["flow"], dtype=float)
    level = LinearGaussianChain(0.0, 1e6, 1.0, 0.0, 1478.8, 1.0, 0.0, 15078.0)
    all_of_it, first = (filter_chain(level, part).log_evidence for part in (y, y[:1]))
    assert float(all_of_it - first) == pytest.approx(-632.5376, abs=5e-4)


def test_the_airline_model_as_in_r():
    """``arima(log(AirPassengers), c(0, 1, 1), c(0, 1, 1))``: −0.4018, −0.5569, 0.001348, log likelihood 244.70."""
    w = np.diff(np.log(np.asarray(load_air_passengers()["passengers"], dtype=float)))
    w = w[12:] - w[:-12]
    weights = np.zeros(14)  # w_t = (1 − θB)(1 − ΘB¹²) e_t, with the last fourteen e for a state
    weights[[0, 1, 12, 13]] = 1.0, -0.4018, -0.5569, 0.4018 * 0.5569
    noise = np.zeros((14, 14))
    noise[0, 0] = 0.001348
    airline = LinearGaussianChain(
        np.zeros(14),
        0.001348 * np.eye(14),
        np.eye(14, k=-1),
        np.zeros(14),
        noise,
        weights[None],
        np.zeros(1),
        np.zeros((1, 1)),
    )
    assert float(filter_chain(airline, w[:, None]).log_evidence) == pytest.approx(244.70, abs=5e-3)
