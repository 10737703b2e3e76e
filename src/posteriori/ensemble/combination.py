r"""What combining models gains: errors of committees, and two ways to combine densities.

.. math:: E_\mathrm{COM} = \frac1N\sum_n\Big(\frac1L\sum_l \hat y_l(x_n) - y_n\Big)^2 \le
          E_\mathrm{AV} = \frac1{LN}\sum_l\sum_n\big(\hat y_l(x_n) - y_n\big)^2

since squares are convex; the gain is the variance of the predictions around their mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array
from posteriori.numerics.validation import probability_vector, real

__all__ = [
    "CommitteeErrors",
    "committee_errors",
    "log_likelihood_of_average",
    "log_likelihood_of_combination",
]


class CommitteeErrors(NamedTuple):
    """Mean squared errors of models one by one, and together.

    Attributes
    ----------
    individual : float
        E_AV, the mean of the models' errors.
    committee : float
        E_COM, the error of their mean; never above ``individual``.
    """

    individual: float
    committee: float


def committee_errors(predictions: Any, y: Any) -> CommitteeErrors:
    """Compare the error of a mean of models with the mean of their errors.

    Parameters
    ----------
    predictions : (N, L)
        Of L models for N rows.
    y : (N,)

    Returns
    -------
    CommitteeErrors

    Notes
    -----
    E_AV − E_COM is the variance of the predictions around their mean. Errors of L models that have mean 0
    and are uncorrelated give E_COM = E_AV/L; what all models miss alike (bias) stays.

    Examples
    --------
    >>> committee_errors([[1.0, 3.0], [4.0, 4.0]], [2.0, 3.0])  # the first row's errors cancel
    CommitteeErrors(individual=1.0, committee=0.5)
    """
    predicted, targets = real("predictions", predictions), real("y", y)
    if predicted.ndim != 2 or not predicted.size or targets.shape != predicted.shape[:1]:
        raise ValueError(
            "predictions must have shape (N, L) and y (N,), got "
            f"{predicted.shape} and {targets.shape}"
        )
    errors = predicted - targets[:, None]
    return CommitteeErrors(
        individual=float(np.mean(errors**2)), committee=float(np.mean(errors.mean(axis=1) ** 2))
    )


def log_likelihood_of_average(log_densities: Any, prior: Any = None) -> float:
    r"""Return :math:`\ln\sum_h p(h)\prod_n p(x_n\mid h)`: one model has made all data.

    Which one is not known (Bayesian model averaging). With more data one model takes it all.

    Parameters
    ----------
    log_densities : (N, H)
        ln p(x_n | h) of N data under H models.
    prior : (H,), optional
        Probabilities of the models; equal by default.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> p = np.log([[0.8, 0.2], [0.2, 0.8]])
    >>> round(math.exp(log_likelihood_of_average(p)), 6)  # ½·0.8·0.2 + ½·0.2·0.8
    0.16
    >>> round(math.exp(log_likelihood_of_combination(p)), 6)  # (½·0.8 + ½·0.2)²
    0.25
    """
    logs, shares = _check_densities(log_densities, prior)
    return float(log_sum_exp(logs.sum(axis=0) + shares, axis=0))


def log_likelihood_of_combination(log_densities: Any, prior: Any = None) -> float:
    r"""Return :math:`\sum_n\ln\sum_h p(h)\,p(x_n\mid h)`: each datum has a model of its own.

    A mixture of the models; with a single datum it is the same as :func:`log_likelihood_of_average`,
    where there is an example.

    Parameters
    ----------
    log_densities : (N, H)
        ln p(x_n | h) of N data under H models.
    prior : (H,), optional
        Probabilities of the models; equal by default.
    """
    logs, shares = _check_densities(log_densities, prior)
    return float(np.sum(log_sum_exp(logs + shares, axis=1)))


def _check_densities(log_densities: Any, prior: Any) -> tuple[Array, Array]:
    """Return log densities (N, H) and log prior probabilities (H,)."""
    logs = np.asarray(log_densities, dtype=np.float64)
    if logs.ndim != 2 or not logs.size or np.isnan(logs).any() or np.isposinf(logs).any():
        raise ValueError(
            "log_densities must be logarithms of finite densities of shape (N, H), got "
            f"{'NaN or infinity' if logs.ndim == 2 and logs.size else f'shape {logs.shape}'}"
        )
    count = logs.shape[1]
    p = np.full(count, 1.0 / count) if prior is None else probability_vector("prior", prior)
    if p.shape != (count,):
        raise ValueError(f"prior has shape {p.shape} for {count} models")
    with np.errstate(divide="ignore"):  # a model of probability 0 has a logarithm of −∞
        return logs, np.log(p)
