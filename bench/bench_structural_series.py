"""Structural series against statsmodels, Matérn processes against celerite2: equal answers, then ratios.

Likelihoods are maximised from each library's own start; starts of states are exact diffuse ones.
"""

from __future__ import annotations

import warnings

import celerite2
import numpy as np
from celerite2 import terms
from harness import compare, report
from statsmodels.tsa.statespace.structural import UnobservedComponents

from posteriori.datasets import load_air_passengers
from posteriori.inference import filter_scalar
from posteriori.sequence import StructuralSeries
from posteriori.sequence.series.series_form import join_parts
from posteriori.sequence.series.series_parts import matern_part

#: Nats that our maximum may lie below theirs.
CLOSE = 1e-6


def most_likely(y, **parts) -> StructuralSeries:
    return StructuralSeries(scales="maximum-likelihood", initial="diffuse", **parts).fit(y)


def statsmodels_fit(y, **parts):
    model = UnobservedComponents(y, use_exact_diffuse=True, **parts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(disp=False, maxiter=500, pgtol=1e-6, cov_type="none")


def check_maxima(ours: StructuralSeries, theirs, close: float = 1e-6) -> None:
    """Both give our scales one likelihood, and none is found that is higher."""
    there = theirs.model.loglike(np.array([sd**2 for sd in ours.scales_.values()]))
    print(
        f"    log-likelihoods: our maximum {ours.log_likelihood_:.6f} (theirs there {there:.6f}), "
        f"their maximum {theirs.llf:.6f}"
    )
    np.testing.assert_allclose(there, ours.log_likelihood_, rtol=close)
    assert ours.log_likelihood_ > theirs.llf - CLOSE


def monthly_row():
    y = np.log(np.asarray(load_air_passengers()["passengers"], dtype=float))

    def ours():
        return most_likely(y, trend="trend", seasons=(12,))

    def theirs():
        return statsmodels_fit(y, level="lltrend", seasonal=12)

    check_maxima(ours(), theirs())
    return compare("trend + season 12, T = 144", ours, theirs, bar=8.0, faster=True, rounds=5)


def daily_series(steps: int = 1500) -> np.ndarray:
    rng = np.random.default_rng(0)
    t = np.arange(steps)
    week = np.array([0.0, 0.3, 0.5, 0.4, 0.2, -0.6, -0.8])[t % 7]
    year = 3.0 * np.cos(2 * np.pi * t / 365.25) + 1.0 * np.sin(4 * np.pi * t / 365.25)
    return week + year + np.cumsum(rng.normal(0, 0.1, steps)) + rng.normal(0, 0.5, steps)


def daily_row():
    y = daily_series()

    def ours():
        return most_likely(y, trend="level", seasons=(7, 365.25))

    waves = ours().harmonics_[365.25]
    year = [{"period": 365.25, "harmonics": waves}]

    def theirs():
        return statsmodels_fit(y, level="llevel", seasonal=7, freq_seasonal=year)

    print(f"    waves of the year, chosen by evidence within our time: {waves}")
    # a wave of a year is hardly seen in the first days: their diffuse phase loses digits that dense
    # generalised least squares confirms of ours
    check_maxima(ours(), theirs(), close=1e-4)
    name = "level + seasons 7 and 365.25, T = 1,500"
    return compare(name, ours, theirs, bar=8.0, faster=True, rounds=3)


def matern_row(count: int = 10**5):
    rng = np.random.default_rng(1)
    times = np.sort(rng.uniform(0, count / 10, count))
    y = np.sin(times) + rng.normal(0, 0.3, count)
    steps, variances = np.append(np.diff(times), 1.0), np.array([0.09, 0.5])

    def ours() -> float:
        chain = join_parts([matern_part(1.5, 2.0, steps)], ["matern"], diffuse=False)
        return filter_scalar(chain, variances, y).log_likelihood

    def theirs() -> float:
        kernel = terms.Matern32Term(sigma=np.sqrt(0.5), rho=2.0)
        process = celerite2.GaussianProcess(kernel)
        process.compute(times, diag=np.full(count, 0.09))
        return process.log_likelihood(y)

    np.testing.assert_allclose(ours(), theirs(), rtol=1e-3)  # theirs approximates the kernel
    return compare("Matérn-3/2, 100,000 irregular times", ours, theirs, bar=1.0, faster=True)


if __name__ == "__main__":
    report("Structural series", [monthly_row(), daily_row(), matern_row()])
