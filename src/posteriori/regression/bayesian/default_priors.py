r"""What the parameters of the prior are where none are given: the data's scales say.

The default prior is unit information on standardised columns: with the standard deviations s of
the columns and the variance of the targets,

.. math:: w_js_j\mid\sigma^2 \sim N(0, \sigma^2),\qquad c\mid\sigma^2 \sim N(\bar y, \sigma^2),\qquad
          \sigma^2 \sim \mathrm{InvGamma}(1, \tfrac1{200}\mathrm{var}\,y),

where c is the value at the means of the columns. Where the scale of the weights is integrated for want
of rows, so is the noise, under the vaguer :math:`\sigma^2\sim\mathrm{InvGamma}(\tfrac14,
\tfrac1{800}\mathrm{var}\,y)`: a quarter of that row. There c is uniform within two standard deviations of
the targets around their mean: a normal of the noise's own width around the mean that the same rows have
told would count one row twice, and with few rows the noise would be taken as too small. Beside weights whose prior is given as flat the
other defaults are flat as well: the reference prior :math:`p(w, c, \sigma^2) \propto 1/\sigma^2`,
whose posterior has the intervals of least squares.

Where K of the D columns are apart, such as what bends beside straight lines, each part has a scale: of the
variance :math:`\tau^2\sigma^2` that all columns add to a target a priori those have a share ρ,

.. math:: w_js_j\mid\sigma^2 \sim N\Bigl(0,\ \frac{\rho}{K}\tau^2\sigma^2\Bigr)\ \text{apart},\qquad
          N\Bigl(0,\ \frac{1-\rho}{D-K}\tau^2\sigma^2\Bigr)\ \text{otherwise},

of which a few values are equally likely, among them 0. The total is treated as that of all columns is.

Reference: G. Box & G. Tiao, "Bayesian Inference in Statistical Analysis", 1973, section 2.7; G. Fuglstad et al.,
"Intuitive joint priors for variance parameters", Bayesian Analysis 15, 2020 (a total, and how it is shared).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics.least_squares.regression_statistics import RegressionStatistics
from posteriori.numerics.types import Array
from posteriori.regression.bayesian.priors import LinearPrior
from posteriori.regression.bayesian.scales.weight_evidence import InterceptPrior

__all__ = [
    "column_scales",
    "intercept_prior",
    "noise_scale",
    "noise_shape",
    "scaled_prior",
    "scales_by_share",
]


#: Shares of columns that are apart: none, and from hardly any to most.
_SHARES = (0.0, 1 / 64, 1 / 16, 1 / 4, 1 / 2, 3 / 4)

#: Ways of treating hyper-parameters that integrate them for want of rows.
_INTEGRATED = ("integrated", "few columns")

#: Standard deviations of the targets within which the level is uniform there.
_REACH = 2.0

#: Of the row's worth that the noise is known by, where the scale of the weights is integrated.
_VAGUE = 0.25


def column_scales(statistics: RegressionStatistics, prior: LinearPrior) -> Array:
    """Return the units of the columns in which the default prior speaks, (D,)."""
    d = statistics.n_inputs
    return statistics.safe_scales[:d] if prior.standardize else np.ones(d)


def scales_by_share(statistics: RegressionStatistics, prior: LinearPrior) -> list[Array]:
    """Return for each share of the columns apart the units in which all weights have one scale, (D,).

    Infinite units fix weights at their prior mean. Where no columns are apart there is one entry.
    """
    scales = column_scales(statistics, prior)
    if prior.apart is None:
        return [scales]
    d, k = len(scales), int(prior.apart.sum())
    with np.errstate(divide="ignore"):
        return [
            scales / np.sqrt(np.where(prior.apart, share * d / k, (1.0 - share) * d / (d - k)))
            for share in _SHARES
        ]


def noise_shape(prior: LinearPrior) -> float:
    """Return a₀ unless it is given: 1, ¼ beside an integrated scale, or 0 beside flat weights."""
    if prior.noise_shape is not None:
        return prior.noise_shape
    return 0.0 if prior.is_flat else _worth(prior)


def noise_scale(statistics: RegressionStatistics, prior: LinearPrior) -> float:
    """Return b₀ unless it is given: var(y)/200 for each of a₀, or 0 beside flat weights.

    A target without spread counts by its size, or 1.
    """
    if prior.noise_scale is not None:
        return prior.noise_scale
    if prior.is_flat:
        return 0.0
    return 0.005 * _worth(prior) * _target_unit(statistics) ** 2


def _target_unit(statistics: RegressionStatistics) -> float:
    """Return the spread of the targets, or their size, or 1."""
    spread, size = statistics.scales[-1], abs(statistics.mean[-1])
    return float(spread if spread > 0 else size if size > 0 else 1.0)


def _worth(prior: LinearPrior) -> float:
    return _VAGUE if prior.hyperparameters in _INTEGRATED else 1.0


def intercept_prior(
    statistics: RegressionStatistics, prior: LinearPrior, unit: float
) -> InterceptPrior | None:
    """Return the prior of the value at the column means; precisions in units of the noise.

    The uniform one is flat: normal tails beyond its ends hold nothing, which are 2√N standard errors
    of the mean away.
    """
    if not prior.fit_intercept:
        return None
    if _level_is_uniform(prior):
        log_height = -np.log(2.0 * _REACH * _target_unit(statistics))
        return InterceptPrior(float(statistics.mean[-1]), 0.0, float(log_height))
    mean = statistics.mean[-1] if prior.intercept_mean is None else prior.intercept_mean
    return InterceptPrior(float(mean), _intercept_precision(prior, unit) / unit)


def _level_is_uniform(prior: LinearPrior) -> bool:
    """Tell whether the level has no prior of its own beside hyper-parameters that are integrated."""
    stated = (prior.intercept_mean, prior.intercept_precision) != (None, None)
    return prior.hyperparameters in _INTEGRATED and not stated


def scaled_prior(
    statistics: RegressionStatistics, prior: LinearPrior, factor: float
) -> dict[str, Any]:
    """Return the parameters of an estimator whose prior's standard deviations are ``factor`` times.

    Precisions that the data have set are written out, so that other data do not change them.
    """
    beta = prior.noise_precision
    unit, shrink = 1.0 if beta is None else beta, float(factor) ** -2
    found: dict[str, Any] = {}
    if prior.fit_intercept and not _level_is_uniform(prior.for_rows(statistics.rows)):
        found["intercept_precision"] = _intercept_precision(prior, unit) * shrink
    if prior.hyperparameters == "grid":  # α, a precision, is divided: its rate multiplied
        rate = prior.precision_rate
        found["precision_rate"] = (
            noise_scale(statistics, prior) if rate is None else rate
        ) / shrink
    elif prior.hyperparameters == "fixed" and prior.root is None:
        found["prior_precision"] = unit * shrink * column_scales(statistics, prior) ** 2
    elif prior.hyperparameters == "fixed" and prior.root is not None and not prior.free.all():
        precision = np.full(len(prior.free), np.inf)
        precision[prior.free] = shrink * prior.root**2
        found["prior_precision"] = precision
    elif prior.hyperparameters == "fixed" and prior.root is not None:
        root = prior.root
        found["prior_precision"] = shrink * (root**2 if root.ndim == 1 else root.T @ root)
    return found


def _intercept_precision(prior: LinearPrior, unit: float) -> float:
    """Return its precision unless it is given: one row's worth, or 0 beside flat weights."""
    if prior.intercept_precision is not None:
        return prior.intercept_precision
    return 0.0 if prior.is_flat else unit
