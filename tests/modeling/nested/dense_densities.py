"""Normal densities of one row of data under many dense covariances."""

import numpy as np


def log_densities(y: np.ndarray, cov: np.ndarray) -> np.ndarray:
    """Return ln N(y | 0, Σ) for covariances (..., N, N)."""
    squares = np.linalg.solve(cov, y[:, None])[..., 0] @ y
    return -0.5 * (squares + np.linalg.slogdet(2.0 * np.pi * cov)[1])
