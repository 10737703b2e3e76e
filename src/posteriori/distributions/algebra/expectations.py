r"""Expectations of functions of random variables: by quadrature, by draws, and through lines.

.. math:: E[f(x)] = \int f(x)\,p(x)\,dx \approx \tfrac1S\sum_s f(x_s),\qquad
          z = Ax+b:\ \mu_z = A\mu+b,\ \Sigma_z = A\Sigma A^\top.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.algebra.integrals import integrate_against, trusted
from posteriori.distributions.batches import take_members
from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import as_observation

__all__ = [
    "Estimate",
    "MeanAndCov",
    "cross_covariance",
    "expect",
    "expect_by_draws",
    "linear_moments",
    "sum_moments",
]


class Estimate(NamedTuple):
    """A mean over draws and its standard error."""

    value: Array
    error: Array


class MeanAndCov(NamedTuple):
    """First and second moments of a vector."""

    mean: Array
    cov: Array


def expect(p: Any, f: Callable[[Array], Any]) -> Array:
    """Return E[f(x)] for a number x, by a sum or by adaptive quadrature.

    Parameters
    ----------
    p : univariate distribution
        Members of a batch are taken one by one.
    f : callable
        Elementwise; it may have kinks, jumps and poles, but changes in steps of the size at
        which p does: what is narrower than all scales of p is not found.

    Raises
    ------
    ValueError
        When the integral does not reach six digits of E|f(x)|: it is undefined, f overflows
        where p still counts, or f changes where floating-point numbers are too coarse for p, as ln x does within the
        probability that Gamma(0.001, 1) has below the least number.

    Examples
    --------
    >>> from posteriori import Gamma
    >>> expect(Gamma(2.0, 3.0), lambda x: x**2).round(10)  # a(a + 1)/b²
    np.float64(0.6666666667)
    """
    out = np.empty(p.batch_shape)
    for index in np.ndindex(*p.batch_shape):
        member = take_members(p, index)
        out[index] = trusted(integrate_against(member, f), f"E[f(x)] under {member!r}")
    return out[()]


def expect_by_draws(
    p: Any, f: Callable[[Array], Any], n: int = 10_000, *, rng: Seed = None
) -> Estimate:
    """Return the mean of f over ``n`` draws, (n, ...) → (n, ...), with its standard error."""
    values = np.asarray(f(p.sample(n, rng=rng)), dtype=np.float64)
    return Estimate(values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(n))


def linear_moments(mean: Any, cov: Any, matrix: Any, offset: Any = 0.0) -> MeanAndCov:
    """Return mean A μ + b and covariance A Σ Aᵀ of A x + b, whatever the distribution of x.

    Examples
    --------
    >>> linear_moments([1.0, 2.0], [[1.0, 0.5], [0.5, 2.0]], [[1.0, -1.0]], [3.0])
    MeanAndCov(mean=array([2.]), cov=array([[2.]]))
    """
    m, c, a = (
        as_observation(value, name)
        for value, name in ((mean, "mean"), (cov, "cov"), (matrix, "matrix"))
    )
    image = np.matmul(a, m[..., None])[..., 0] + as_observation(offset, "offset")
    return MeanAndCov(image, symmetrize(a @ c @ np.swapaxes(a, -1, -2)))


def sum_moments(x: MeanAndCov, y: MeanAndCov, cross: Any = None) -> MeanAndCov:
    r"""Return the moments of x + y, :math:`\Sigma_z = \Sigma_x+\Sigma_y+\Sigma_{xy}+\Sigma_{xy}^\top`.

    Parameters
    ----------
    x, y : pairs (mean, cov)
        Moments of the two vectors (D,), of any distribution.
    cross : array (..., D, D), optional
        Σ_xy = E[xyᵀ] − μ_x μ_yᵀ, not symmetric in general; 0 if None, as for independent x, y.
    """
    (mean_x, cov_x), (mean_y, cov_y) = (map(np.asarray, pair) for pair in (x, y))
    total = cov_x + cov_y
    if cross is not None:
        between = as_observation(cross, "cross")
        if between.shape[-2:] != total.shape[-2:]:
            raise ValueError(f"cross must have shape {total.shape[-2:]}, got {between.shape}")
        total = total + between + np.swapaxes(between, -1, -2)
    return MeanAndCov(mean_x + mean_y, total)


def cross_covariance(x: Any, y: Any, weights: Any = None) -> Array:
    """Return Σ_xy = E[xyᵀ] − E[x]E[y]ᵀ over joint draws, rows (N, D) and (N, E).

    Parameters
    ----------
    x, y : array (N, D) and (N, E)
        Draws, or the cells of a joint table.
    weights : array (N,), optional
        Probabilities of the rows; equal if None.
    """
    a, b = as_observation(x, "x"), as_observation(y, "y")
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b):
        raise ValueError(f"x and y must be rows of vectors side by side, got {a.shape}, {b.shape}")
    w = np.ones(len(a)) if weights is None else as_observation(weights, "weights")
    w = w / w.sum()
    return np.einsum("n,ni,nj->ij", w, a - w @ a, b - w @ b)
