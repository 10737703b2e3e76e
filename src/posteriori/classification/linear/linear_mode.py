"""Modes of class weights on a design matrix: one linear predictor for two classes, contrasts for more."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.inference.predictors.class_curves import logistic_curve
from posteriori.inference.predictors.generalized_linear import (
    Likelihood,
    LinearPredictor,
    posterior_mode,
)
from posteriori.inference.predictors.mode_finding import Mode, find_mode
from posteriori.inference.predictors.normal_bound import averaged_likelihood
from posteriori.inference.predictors.softmax_averages import contrasts
from posteriori.inference.predictors.softmax_predictor import SoftmaxPredictor
from posteriori.inference.predictors.weight_belief import contrast_moments, row_moments
from posteriori.numerics.types import Array

__all__ = [
    "class_basis",
    "class_signs",
    "class_weights",
    "density_mode",
    "logistic_density",
    "n_predictors",
    "single_density",
    "turn_weights",
]


def n_predictors(classes: int) -> int:
    """Return how many weight vectors are learned: 1 for two classes, the K − 1 contrasts for K."""
    return max(1, classes - 1)


def class_basis(classes: int) -> Array:
    """Return how the predictors of K classes are made of those that are learned, (K, K − 1)."""
    return np.array([[0.0], [1.0]]) if classes == 2 else contrasts(classes)


def class_signs(rows: LabelledRows) -> Array:
    """Return −1 for the first class and +1 for the second, (N,)."""
    return np.where(rows.codes == 1, 1.0, -1.0)


def class_weights(point: Array, classes: int) -> Array:
    """Return the weights of the only predictor (1, P), or of those of K classes, which sum to 0."""
    rows = point.reshape(n_predictors(classes), -1)
    return rows if classes == 2 else contrasts(classes) @ rows


def turn_weights(cov: Array, basis: Array, turn: Array) -> Array:
    """Return (B ⊗ T) C (B ⊗ T)ᵀ, of weights of all columns class by class, (K P, K P).

    Parameters
    ----------
    cov : (M P, M P)
        Of M weight vectors.
    basis : (K, M)
        B, how those of classes are made of them.
    turn : (P, P)
        T, how those of raw columns are made of those of standardised ones.
    """
    (k, m), p = basis.shape, len(turn)

    def turn_rows(c: Array) -> Array:
        return (basis @ (turn @ c.reshape(m, p, -1)).reshape(m, -1)).reshape(k * p, -1)

    return turn_rows(turn_rows(cov).T)


def logistic_density(
    design: Array,
    rows: LabelledRows,
    prior_precision: Array,
    prior_mean: Array,
    cov: Array | None = None,
) -> LinearPredictor | SoftmaxPredictor:
    """Return the log posterior of logistic or softmax weights under independent normal priors.

    Parameters
    ----------
    design : (N, P)
    rows : LabelledRows
        Their classes and frequencies.
    prior_precision, prior_mean : (P,), or ((K − 1) P,) for K > 2 classes
    cov : square matrix, optional
        Of the weights: each log likelihood is then its mean over predictors that vary so.
    """
    k = len(rows.classes)
    if k > 2:
        spread = None if cov is None else contrast_moments(design, prior_mean, cov, k - 1)[1]
        return SoftmaxPredictor(
            design, rows.codes, k, prior_precision, prior_mean, rows.frequency, spread
        )
    likelihood = logistic_curve(class_signs(rows))
    return single_density(design, likelihood, rows, prior_precision, prior_mean, cov)


def single_density(
    design: Array,
    likelihood: Likelihood,
    rows: LabelledRows,
    prior_precision: Array,
    prior_mean: Array,
    cov: Array | None = None,
) -> LinearPredictor:
    """Return the log posterior of the weights of one predictor, as ``logistic_density`` does."""
    if cov is not None:
        likelihood = averaged_likelihood(likelihood, row_moments(design, prior_mean, cov)[1])
    return LinearPredictor(design, likelihood, np.diag(prior_precision), prior_mean, rows.frequency)


def density_mode(
    density: LinearPredictor | SoftmaxPredictor,
    *,
    tol: float,
    max_iter: int,
    curvature_at_mode: bool = True,
    near: Mode | None = None,
) -> Mode:
    """Return the mode of the weights, from their prior mean or a mode that is near, as ``find_mode``."""
    limits: Any = {"tol": tol, "max_iter": max_iter, "curvature_at_mode": curvature_at_mode}
    if near is not None:
        return find_mode(density, near.point, near=near, **limits)
    climb: Any = posterior_mode if isinstance(density, LinearPredictor) else find_mode
    mode: Mode = climb(density, density.prior_mean, **limits)
    return mode
