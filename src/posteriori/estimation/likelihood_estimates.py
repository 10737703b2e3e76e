r"""Maximum likelihood and MAP estimates for any log density.

.. math:: \hat\theta_{ML} = \arg\max_\theta \sum_n \ln p(x_n\mid\theta),\qquad
          \hat\theta_{MAP} = \arg\max_\theta \sum_n \ln p(x_n\mid\theta) + \ln p(\theta).

The logarithm keeps the maximiser, turns products that underflow into sums, and is what makes most
likelihoods concave. The evidence does not depend on θ and may be left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posteriori.distributions.base import Distribution
from posteriori.distributions.conjugate.bayes_rule import bayes
from posteriori.distributions.coordinates import flatten_statistics
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.estimation.estimate_ascent import (
    Bounds,
    EstimateReport,
    climb,
    judge_curvature,
    standard_errors_of,
)
from posteriori.numerics.calculus.derivatives import (
    gradient as numeric_gradient,
    hessian as numeric_hessian,
)
from posteriori.numerics.types import Array

__all__ = ["map_estimate", "maximum_likelihood"]


def maximum_likelihood(
    log_density: type[Distribution] | Callable[[Any, Any], Any],
    data: Any,
    start: ArrayLike | None = None,
    *,
    gradient: Callable[[Any, Any], Any] | None = None,
    bounds: Bounds | None = None,
    max_iter: int = 500,
    **fit_options: Any,
) -> EstimateReport:
    """Maximise the likelihood of data.

    Parameters
    ----------
    log_density : family or callable
        A family (``Normal``) is fitted in closed form. A function ``log_density(x, theta)``
        returns the log density of every datum, or their sum.
    data : array_like (N, ...)
        Rows are data points; handed to the function as it is.
    start : float or array
        First guess of θ, needed for a function.
    gradient : callable, optional
        ``gradient(x, theta)``: derivative of the total log likelihood; numeric by default.
    bounds : sequence of (lower, upper), optional
        One pair per coordinate of θ; None stands for no bound.
    max_iter : int
        Most steps of the optimiser.
    **fit_options
        Handed to the family's ``fit``, such as ``trials=10``.

    Returns
    -------
    EstimateReport
        With the estimate, the log likelihood, gradient, Hessian, a verdict on concavity and
        standard errors.

    Warns
    -----
    ConvergenceWarning
        When the maximum was not reached.

    Examples
    --------
    >>> from posteriori import Normal
    >>> x = [0.2, 1.9, -0.4, 2.0]
    >>> found = maximum_likelihood(lambda x, mu: Normal(mu, variance=1.0).log_prob(x), x, 0.0)
    >>> found.estimate.round(6), found.hessian.round(4), found.concavity
    (np.float64(0.925), array([[-4.]]), 'strictly concave')
    >>> maximum_likelihood(Normal, x).estimate
    Normal(0.925, variance=1.096875)
    """
    if isinstance(log_density, type):
        return _fit_family(log_density, data, fit_options)
    if fit_options:
        raise TypeError(f"only families take {', '.join(fit_options)}")
    if start is None:
        raise TypeError("a log density needs start, a first guess of its parameters")
    x = _as_data(data)
    return climb(
        lambda theta: np.sum(log_density(x, theta)),
        start,
        gradient=None if gradient is None else lambda theta: gradient(x, theta),
        bounds=bounds,
        max_iter=max_iter,
    )


def map_estimate(
    log_density: Any,
    log_prior: Distribution | Callable[[Any], Any],
    data: Any,
    start: ArrayLike | None = None,
    *,
    gradient: Callable[[Any, Any], Any] | None = None,
    bounds: Bounds | None = None,
    max_iter: int = 500,
) -> EstimateReport:
    """Maximise likelihood times prior: maximum likelihood with ln p(θ) as a penalty.

    Parameters
    ----------
    log_density : callable, or likelihood of a conjugate pair
        A function ``log_density(x, theta)`` with a ``start``; or, without one, what
        :func:`~posteriori.bayes` takes: a family or a function of the unknown. The latter has
        the mode of the posterior as its closed form.
    log_prior : distribution or callable
        The prior, or ``log_prior(theta)`` up to a constant.
    data : array_like (N, ...)
        Rows are data points.
    start : float or array, optional
        First guess of θ.
    gradient : callable, optional
        ``gradient(x, theta)``: derivative of log likelihood plus log prior; numeric by default.
    bounds : sequence of (lower, upper), optional
        One pair per coordinate of θ; None stands for no bound.
    max_iter : int
        Most steps of the optimiser.

    Examples
    --------
    >>> from posteriori import Bernoulli, Beta
    >>> map_estimate(Bernoulli, Beta(2, 2), [1, 0, 1, 1]).estimate  # (3 + 1)/(4 + 2)
    np.float64(0.6666666666666666)
    """
    if start is None:
        if not isinstance(log_prior, Distribution):
            raise TypeError("a log density needs start, a first guess of its parameters")
        return _conjugate_mode(log_prior, log_density, data)
    x = _as_data(data)
    prior = log_prior.log_prob if isinstance(log_prior, Distribution) else log_prior
    return climb(
        lambda theta: np.sum(log_density(x, theta)) + np.sum(prior(theta)),
        start,
        gradient=None if gradient is None else lambda theta: gradient(x, theta),
        bounds=bounds,
        max_iter=max_iter,
    )


def _as_data(data: Any) -> Any:
    """Turn lists into arrays; leave records, frames and tuples of arrays to the log density."""
    return np.asarray(data) if isinstance(data, list) else data


def _fit_family(family: Any, data: Any, options: dict[str, Any]) -> EstimateReport:
    if not hasattr(family, "fit"):
        raise TypeError(f"{family.__name__} has no fit; give a function log_density(x, theta)")
    x = list(data) if hasattr(data, "__next__") else data
    if hasattr(data, "__next__"):
        x = np.concatenate([np.asarray(chunk) for chunk in x])
    estimate = family.fit(x, **options)
    log_likelihood = np.asarray(estimate.log_prob(x))
    if not isinstance(estimate, ExponentialFamily) or estimate.batch_shape:
        return EstimateReport(
            estimate, float(log_likelihood.sum()), 0.0, None, "unknown", None, 0, True, "fit"
        )
    hessian = _hessian_of(estimate, log_likelihood.size)
    return EstimateReport(
        estimate,
        float(log_likelihood.sum()),
        _gradient_norm(estimate, x),
        hessian,
        judge_curvature(hessian),
        standard_errors_of(hessian),
        0,
        True,
        "closed form",
    )


def _hessian_of(estimate: ExponentialFamily, count: int) -> Array | None:
    """Return −N ∇²A: the log likelihood is N(⟨η, mean T⟩ − A(η)), concave by construction."""
    with np.errstate(all="ignore"):
        try:
            hessian = -count * estimate.fisher_information()
        except (TypeError, ValueError):
            return None
    return hessian if np.all(np.isfinite(hessian)) else None


def _gradient_norm(estimate: ExponentialFamily, x: Any) -> float:
    """Return |Σ T(x) − N E[T]|, what moment matching leaves."""
    ndims = estimate._natural_ndims
    try:
        flat = flatten_statistics(estimate.sufficient(x), ndims)
        rows = flat.reshape(-1, flat.shape[-1])
        gap = rows.sum(axis=0) - len(rows) * flatten_statistics(estimate.mean_params, ndims)
    except (TypeError, ValueError):
        return 0.0  # statistics of labels are matched by counting
    return float(np.linalg.norm(gap))


def _conjugate_mode(prior: Distribution, likelihood: Any, data: Any) -> EstimateReport:
    result = bayes(prior, likelihood, data)
    posterior = result.posterior
    mode = posterior.mode
    constant = float(result.log_evidence) if result.prior._all_proper else 0.0
    height = float(posterior.log_prob(mode)) + constant
    hessian, slope = _posterior_curvature(posterior, mode)
    return EstimateReport(
        mode,
        height,
        slope,
        hessian,
        judge_curvature(hessian),
        standard_errors_of(hessian),
        0,
        True,
        "closed form",
    )


def _posterior_curvature(posterior: Any, mode: Any) -> tuple[Array | None, float]:
    """Differentiate at the mode where the density is defined all around it."""
    if isinstance(mode, tuple) or np.ndim(mode) > 1:
        return None, 0.0
    flat = np.atleast_1d(np.asarray(mode, dtype=np.float64))

    def log_prob(theta: Array) -> Any:
        return posterior.log_prob(theta if np.ndim(mode) else theta[0])

    with np.errstate(all="ignore"):
        slope, curvature = numeric_gradient(log_prob, flat), numeric_hessian(log_prob, flat)
    if not (np.all(np.isfinite(slope)) and np.all(np.isfinite(curvature))):
        return None, 0.0
    return curvature, float(np.linalg.norm(slope))
