"""The prior precision of weights that has the highest evidence by Laplace's method."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from posteriori.classification.linear.linear_mode import density_mode
from posteriori.inference.predictors.generalized_linear import LinearPredictor
from posteriori.inference.predictors.mode_finding import Mode
from posteriori.inference.predictors.softmax_predictor import SoftmaxPredictor
from posteriori.inference.predictors.weight_belief import evidence_at
from posteriori.numerics.lazy import optimize
from posteriori.numerics.types import Array

__all__ = ["likely_precision"]

#: How far from the given one the logarithm of the prior precision is looked for.
_WIDEST = 9.0

#: How near to the best one it is found: the evidence is flat there.
_NEAR = 0.02

#: Modes on the way are found to so many standard deviations.
_TOL = 1e-5


def likely_precision(
    density_of: Callable[[Array], LinearPredictor | SoftmaxPredictor],
    size: int,
    around: float,
    *,
    max_iter: int,
) -> float:
    """Return the prior precision α of highest Laplace evidence.

    Each mode begins at the last one, with its curvature under the new prior, A + (α' − α)I.

    Parameters
    ----------
    density_of : callable
        From the prior precisions of weights (P,) to their log posterior.
    size : int
        P.
    around : float
        The precision that is looked around.
    max_iter : int
        Most steps to each mode.
    """
    before: tuple[float, Mode] | None = None

    def minus_evidence(log_alpha: float) -> float:
        nonlocal before
        alpha, near = float(np.exp(log_alpha)), None
        if before is not None:
            shift = (alpha - before[0]) * np.eye(size)
            near = before[1]._replace(precision=before[1].precision + shift)
        precision = np.full(size, alpha)
        mode = density_mode(density_of(precision), tol=_TOL, max_iter=max_iter, near=near)
        before = alpha, mode
        return -evidence_at(mode, precision)

    middle = float(np.log(around))
    found = optimize.minimize_scalar(
        minus_evidence,
        bounds=(middle - _WIDEST, middle + _WIDEST),
        method="bounded",
        options={"xatol": _NEAR},
    )
    return float(np.exp(found.x))
