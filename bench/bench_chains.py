"""Kalman chains against statsmodels: equal answers, then ratios.

Also how time grows with the length, how much memory a call holds, and what settled covariances
save. Needs no more than the compiled loops of ``posteriori.inference`` on our side.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from harness import compare, peak_memory, report, time_processes
from kalman_peers import statsmodels_smoother

from posteriori.inference import (
    LinearGaussianChain,
    simulate_chain,
    smooth_chain,
)

N_STEPS = 10**5


def tracking() -> LinearGaussianChain:
    """Position and velocity in the plane, positions observed: D = 4, P = 2."""
    dt, eye = 0.1, np.eye(2)
    step = np.block([[eye, dt * eye], [0 * eye, eye]])
    noise = np.block([[dt**3 / 3 * eye, dt**2 / 2 * eye], [dt**2 / 2 * eye, dt * eye]])
    start = np.zeros(4), 10.0 * np.eye(4)
    return LinearGaussianChain(*start, step, 0.0, noise, np.eye(2, 4), 0.0, 0.25 * eye)


def check_kalman(ours: object, theirs: object) -> None:
    np.testing.assert_allclose(ours.mean, theirs.smoothed_state.T, rtol=1e-6, atol=1e-7)
    cov = np.moveaxis(theirs.smoothed_state_cov, 2, 0)
    np.testing.assert_allclose(ours.cov, cov, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(float(ours.log_evidence), theirs.llf_obs.sum(), rtol=1e-9)


def kalman_rows() -> list:
    chain = tracking()
    y = simulate_chain(chain, N_STEPS, rng=0).observations
    gaps = y.copy()
    gaps[np.random.default_rng(1).random(N_STEPS) < 0.1] = np.nan
    rows = []
    for name, data in (("complete", y), ("10 % of the steps missing", gaps)):
        theirs = statsmodels_smoother(chain, data)
        check_kalman(smooth_chain(chain, data), theirs())
        rows.append(
            compare(
                f"Kalman, {name} (statsmodels)",
                lambda data=data: smooth_chain(chain, data),
                theirs,
                bar=3.0,
                faster=True,
            )
        )
    varying = chain._replace(transition=np.broadcast_to(chain.transition, (N_STEPS, 4, 4)))
    rows.append(
        compare(
            "settled gains (ours, a full step each time)",
            lambda: smooth_chain(chain, y),
            lambda: smooth_chain(varying, y),
            bar=1.0,
            faster=True,
        )
    )
    return rows


def cold_rows() -> list:
    ours = (
        "from posteriori.inference import LinearGaussianChain, smooth_chain;"
        "smooth_chain(LinearGaussianChain(0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0), [1.0, 2.0])"
    )
    return [
        time_processes(
            "cold process to a short chain (numpy, scipy.linalg)",
            ours,
            "import numpy, scipy.linalg",
            bar=1.5,
        )
    ]


def once(function: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def show_growth() -> None:
    print("\ntime per step and peak memory over the data, by length")
    level = LinearGaussianChain(0.0, 10.0, 1.0, 0.0, 0.1, 1.0, 0.0, 1.0)
    rng = np.random.default_rng(0)
    for n_steps in (10**4, 10**5, 10**6, 10**7):
        y = np.cumsum(0.3 * rng.normal(size=n_steps)) + rng.normal(size=n_steps)
        gaps = np.where(rng.random(n_steps) < 0.1, np.nan, y)
        for name, data in (("local level", y), ("local level, gaps", gaps)):
            seconds = once(lambda data=data: smooth_chain(level, data))
            memory = peak_memory(lambda data=data: smooth_chain(level, data)) / data.nbytes
            print(f"  {name:28} T={n_steps:<9} {seconds / n_steps * 1e9:7.0f} ns {memory:6.1f} x")
    chain = tracking()
    for n_steps in (10**4, 10**5, 10**6):
        y = simulate_chain(chain, n_steps, rng=0).observations
        for name, pairs in (("tracking, without pairs", False), ("tracking, with pairs", True)):
            seconds = once(lambda y=y, pairs=pairs: smooth_chain(chain, y, pairs=pairs))
            memory = peak_memory(lambda y=y, pairs=pairs: smooth_chain(chain, y, pairs=pairs))
            memory /= y.nbytes
            print(f"  {name:28} T={n_steps:<9} {seconds / n_steps * 1e9:7.0f} ns {memory:6.1f} x")


def main() -> None:
    report(f"linear-Gaussian chains, T={N_STEPS}, D=4, P=2", kalman_rows())
    report("start", cold_rows())
    show_growth()


if __name__ == "__main__":
    main()
