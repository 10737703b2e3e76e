r"""Shrinkage: estimators that are biased on purpose and closer to the truth on average.

With :math:`\hat\mu\sim N(\mu, v I_D)` and D >= 3, the James–Stein estimator

.. math:: \hat\mu_{JS} = c + \Bigl(1 - \frac{(D-2)\,v}{\|\hat\mu-c\|^2}\Bigr)(\hat\mu - c)

has a smaller mean squared error than :math:`\hat\mu` whatever μ is; keeping the factor from
becoming negative (the positive part) lowers it further. A covariance estimated from few rows gains
in the same way from a step towards a multiple of the identity.

Reference: B. Efron & C. Morris, "Stein's estimation rule and its competitors", 1973;
O. Ledoit & M. Wolf, "A well-conditioned estimator for large-dimensional covariance matrices", 2004.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.lazy import covariance
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation, positive, real, real_vector

__all__ = [
    "JamesStein",
    "ShrinkageCovariance",
    "james_stein",
    "james_stein_means",
    "shrinkage_covariance",
]


class JamesStein(NamedTuple):
    """A shrunken estimate.

    Attributes
    ----------
    estimate : (..., D)
        The estimate after shrinkage.
    shrinkage : (...)
        Share of the distance to the centre that was removed: 0 leaves the means, 1 the centre.
    centre : (..., D)
        Where the means were pulled to.
    """

    estimate: Array
    shrinkage: Array
    centre: Array


class ShrinkageCovariance(NamedTuple):
    """A covariance between the sample's and a multiple of the identity.

    Attributes
    ----------
    distribution : MvNormal
        Normal with the sample mean and the shrunken covariance.
    shrinkage : float
        Weight of the multiple of the identity, between 0 and 1.
    cov : (D, D)
        The shrunken covariance.
    """

    distribution: MvNormal
    shrinkage: float
    cov: Array


def james_stein(
    x: Any,
    variance: Any = 1.0,
    *,
    centre: Any = 0.0,
    positive_part: bool = True,
) -> JamesStein:
    """Shrink D measured means towards a centre.

    Parameters
    ----------
    x : array (..., D)
        Measured means, independent and of equal variance; D >= 3.
    variance : float or array (...)
        Variance of each measured mean: σ²/N for the average of N data.
    centre : array, or "mean"
        Where to shrink to, chosen before looking at ``x``; "mean" takes the average of the D
        means, which costs one degree of freedom, so D >= 4.
    positive_part : bool
        Never shrink beyond the centre.

    Examples
    --------
    >>> james_stein([3.0, -1.0, 2.0, 1.0], variance=1.0).estimate.round(6)  # factor 1 − 2/15
    array([ 2.6     , -0.866667,  1.733333,  0.866667])
    """
    means = np.asarray(real_vector("x", x))
    v = np.asarray(positive("variance", variance))
    return _shrink(means, v, 1.0, centre, positive_part)


def james_stein_means(
    x: Any,
    variance: float | None = None,
    *,
    centre: Any = 0.0,
    positive_part: bool = True,
) -> JamesStein:
    """Shrink the column means of data (N, D).

    Parameters
    ----------
    x : array (N, D)
        Rows are data points; the D coordinates are independent with one variance σ².
    variance : float, optional
        σ² of one datum. If None it is estimated from all columns with ν = D (N − 1) degrees of
        freedom and the factor ν/(ν + 2), with which shrinkage still never loses.
    centre : array, or "mean"
        Where to shrink to.
    positive_part : bool
        Never shrink beyond the centre.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(20, 6))
    >>> found = james_stein_means(x)
    >>> bool(np.linalg.norm(found.estimate) < np.linalg.norm(x.mean(axis=0)))
    True
    """
    rows = np.asarray(real("x", x))
    if rows.ndim != 2:
        raise ValueError(f"x must be rows of vectors (N, D), got shape {rows.shape}")
    count, size = rows.shape
    factor = 1.0
    if variance is None:
        if count < 2:
            raise ValueError("one row tells nothing of the variance; give variance")
        dof = size * (count - 1)
        variance = float(np.var(rows, axis=0, ddof=1).mean())
        factor = dof / (dof + 2.0)
    v = np.asarray(positive("variance", variance)) / count
    return _shrink(rows.mean(axis=0), v, factor, centre, positive_part)


def shrinkage_covariance(
    x: Any, method: Literal["ledoit-wolf", "oas"] = "ledoit-wolf"
) -> ShrinkageCovariance:
    """Estimate mean and covariance of rows (N, D), invertible also where N < D.

    Parameters
    ----------
    x : array (N, D)
        Rows are data points.
    method : {"ledoit-wolf", "oas"}
        How the weight of the multiple of the identity is chosen; "oas" (oracle approximating
        shrinkage) is the better one for normal data.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(10, 30))  # fewer rows than columns
    >>> found = shrinkage_covariance(x)
    >>> bool(np.linalg.eigvalsh(found.cov).min() > 0.1)
    True
    """
    rows = np.asarray(real("x", x))
    if rows.ndim != 2 or len(rows) < 2:
        raise ValueError(f"x must be at least two rows of vectors (N, D), got shape {rows.shape}")
    estimators = {"ledoit-wolf": covariance.ledoit_wolf, "oas": covariance.oas}
    if method not in estimators:
        raise ValueError(f'method must be "ledoit-wolf" or "oas", got {method!r}')
    cov, shrinkage = estimators[method](rows)
    return ShrinkageCovariance(MvNormal(rows.mean(axis=0), cov=cov), float(shrinkage), cov)


def _shrink(
    means: Array, variance: Array, factor: float, centre: Any, positive_part: bool
) -> JamesStein:
    size = means.shape[-1]
    if isinstance(centre, str):
        if centre != "mean":
            raise ValueError(f'centre must be an array or "mean", got {centre!r}')
        middle, spare = np.broadcast_to(means.mean(axis=-1, keepdims=True), means.shape), 3
    else:
        middle, spare = np.broadcast_to(as_observation(centre, "centre"), means.shape), 2
    if size <= spare:
        raise ValueError(
            f"James–Stein shrinkage gains nothing for fewer than {spare + 1} means, got {size}"
        )
    shift = means - middle
    distance = np.einsum("...i,...i->...", shift, shift)
    with np.errstate(divide="ignore"):
        removed = factor * (size - spare) * variance / distance
    if positive_part:
        removed = np.minimum(removed, 1.0)
    estimate = middle + (1.0 - np.asarray(removed)[..., None]) * shift
    return JamesStein(np.where(distance[..., None] > 0, estimate, middle), removed[()], middle)
