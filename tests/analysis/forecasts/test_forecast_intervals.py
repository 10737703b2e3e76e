"""Intervals of forecasts hold what they promise, for series of known processes with many futures each."""

import numpy as np
import pandas as pd
import pytest

from posteriori import forecast
from posteriori.numerics.types import Array

HORIZON, FUTURES, PASTS = 12, 100, 30


def moving(z: Array) -> Array:
    """ARIMA(0, 1, 1): sums of ε_t − ½ ε_{t−1}."""
    steps = z.copy()
    steps[:, 1:] -= 0.5 * z[:, :-1]
    return np.cumsum(steps, axis=1)


def cycle(z: Array) -> Array:
    """An autoregression of second order with a period of 20 steps."""
    y = z.copy()
    for t in range(2, z.shape[1]):
        y[:, t] += 1.9 * np.cos(np.pi / 10.0) * y[:, t - 1] - 0.9025 * y[:, t - 2]
    return y


@pytest.mark.slow
@pytest.mark.parametrize("process", [moving, cycle])
def test_intervals_hold_what_they_promise(process: object) -> None:
    """Shares of futures that lie inside, averaged over pasts, are within five standard errors of the mass."""
    shares = []
    for seed in range(PASTS):
        rng = np.random.default_rng(seed)
        steps = 50 + int(rng.integers(60, 121))
        z = np.repeat(rng.standard_normal((1, steps + HORIZON)), FUTURES, axis=0)
        z[:, steps:] = rng.standard_normal((FUTURES, HORIZON))
        y = process(z)[:, 50:]  # type: ignore[operator]
        table = pd.DataFrame({"time": np.arange(steps - 50), "value": y[0, :-HORIZON]})
        found = forecast(table, time="time", value="value", horizon=HORIZON, jobs=1).frame
        later = y[:, -HORIZON:]
        ends = ((found[f"lower_{m}"].to_numpy(), found[f"upper_{m}"].to_numpy()) for m in (80, 95))
        shares.append([((low <= later) & (later <= high)).mean() for low, high in ends])
    mean, error = np.mean(shares, axis=0), np.std(shares, axis=0) / np.sqrt(PASTS)
    assert mean[0] >= 0.75
    assert (np.abs(mean - [0.8, 0.95]) <= 5.0 * error).all()
