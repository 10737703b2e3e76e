r"""Columns in two parts, such as straight lines and what bends beside them, each with a scale of its own.

Of the variance :math:`\tau^2\sigma^2` that the D standardised columns add to a target a priori, those that
stand apart have a share ρ, equal among them, and the others the rest:

.. math:: w_js_j\mid\sigma^2 \sim N\Bigl(0,\ \frac{\rho}{K}\tau^2\sigma^2\Bigr)\ \text{for K columns apart},
          \qquad N\Bigl(0,\ \frac{1-\rho}{D-K}\tau^2\sigma^2\Bigr)\ \text{otherwise}.

The total is treated as that of all columns is; a few shares are equally likely, among them 0: nothing bends.

Reference: G. Fuglstad et al., "Intuitive joint priors for variance parameters", Bayesian Analysis 15, 2020
(a total variance, and how it is shared).
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.least_squares.regression_statistics import RegressionStatistics
from posteriori.numerics.types import Array
from posteriori.regression.bayesian.default_priors import column_scales
from posteriori.regression.bayesian.priors import LinearPrior

__all__ = ["SHARES", "scales_by_share"]

#: Shares of the columns apart: none, and from hardly any to most.
SHARES = (0.0, 1 / 64, 1 / 16, 1 / 4, 1 / 2, 3 / 4)


def scales_by_share(statistics: RegressionStatistics, prior: LinearPrior) -> list[Array]:
    """Return for each share the units of columns in which all weights have one scale, (D,) each.

    Infinite units fix weights at their prior mean. Where no columns are apart there is one entry.
    """
    scales = column_scales(statistics, prior)
    if prior.apart is None:
        return [scales]
    d, k = len(scales), int(prior.apart.sum())
    with np.errstate(divide="ignore"):
        return [
            scales / np.sqrt(np.where(prior.apart, share * d / k, (1.0 - share) * d / (d - k)))
            for share in SHARES
        ]
