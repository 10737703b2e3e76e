"""The parameters that estimators of modes share, and what to say when an ascent did not end."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from posteriori.inference.predictors.mode_finding import Mode
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["check_ascent", "warn_unless_converged"]


def check_ascent(estimator: Any) -> None:
    """Check the parameters that all Laplace posteriors have."""
    for name in ("prior_precision", "tol"):
        value = getattr(estimator, name)
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a positive number, got {value!r}")
    if not estimator.max_iter >= 1:
        raise ValueError(f"max_iter must be at least 1, got {estimator.max_iter!r}")


def warn_unless_converged(estimator: Any, mode: Mode) -> None:
    """Say how far from the mode an ascent has ended."""
    if not mode.converged:
        warnings.warn(
            f"{type(estimator).__name__} did not converge in {mode.n_iter} passes: the Newton step "
            f"is {mode.gradient_norm:.2g} standard deviations. Raise max_iter or prior_precision.",
            ConvergenceWarning,
            stacklevel=3,
        )
