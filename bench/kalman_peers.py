"""Smoothers of other libraries for the benchmarks of chains and of linear systems."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother

from posteriori.inference import LinearGaussianChain

__all__ = ["statsmodels_smoother"]


def statsmodels_smoother(chain: LinearGaussianChain, y: np.ndarray) -> Callable[[], object]:
    """Return a function that filters and smooths with statsmodels: D = 4, P = 2."""

    def run() -> object:
        model = KalmanSmoother(k_endog=2, k_states=4, k_posdef=4)
        model.bind(y.copy())
        model["transition"], model["state_cov"] = chain.transition, chain.transition_cov
        model["design"], model["obs_cov"] = chain.emission, chain.emission_cov
        model["selection"] = np.eye(4)
        model.initialize_known(chain.initial_mean, chain.initial_cov)
        return model.smooth()

    return run
