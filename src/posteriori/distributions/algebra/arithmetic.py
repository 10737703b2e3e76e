r"""Arithmetic of independent random variables: affine maps, sums, products, powers.

Where a family is closed the answer is a member of it (the sum of two normals, of gammas with an
equal rate, the product of log-normals); elsewhere it is a table with its error, from
:math:`p_{x+y}(z) = \int p_x(x)\,p_y(z-x)\,dx` or
:math:`p_{xy}(z) = \int p_x(x)\,p_y(z/x)\,|x|^{-1}dx`. The density of a sum is not the sum of the
densities, which is a mixture.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.algebra.closed_arithmetic import (
    closed_affine,
    closed_product,
    closed_sum,
)
from posteriori.distributions.algebra.convolution import (
    convolve,
    convolve_counts,
    counts_of,
    fold,
    multiply_counts,
    multiply_densities,
)
from posteriori.distributions.algebra.expectations import expect
from posteriori.distributions.algebra.maps import AffineMap, LinearMap, PowerMap
from posteriori.distributions.algebra.transformed import Transformed
from posteriori.distributions.base import Distribution, Univariate, has_atoms
from posteriori.distributions.composites.numeric import NumericCounts
from posteriori.distributions.composites.point_mass import PointMass
from posteriori.distributions.numbers.log_normal import LogNormal
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real

__all__ = ["CentralLimit", "affine", "central_limit", "power_of", "product_of", "sum_of"]

_BERRY_ESSEEN = 0.4748  # I. Shevtsova, 2011


class CentralLimit(NamedTuple):
    """A standardised sum of independent copies, and its distance to the normal.

    Attributes
    ----------
    n : int
        Number of terms.
    standardised : distribution
        Law of (x₁ + … + xₙ − nμ)/(σ√n).
    distance : float
        Largest difference of its cdf and the normal one.
    bound : float
        What Berry and Esseen promise: 0.4748 E|x − μ|³/(σ³√n).
    """

    n: int
    standardised: Any
    distance: float
    bound: float


def affine(p: Any, gain: Any, offset: Any = 0.0) -> Any:
    """Return the distribution of gain·x + offset, or of A x + b for vectors.

    Families that are closed answer with a member, others with a change of variables.

    Parameters
    ----------
    p : distribution
        Of a number or a vector.
    gain : float, or array (M, D) for vectors
        Factor; 0 makes the result certain.
    offset : float, or array (M,)
        What is added.

    Examples
    --------
    >>> from posteriori import Gamma, Normal
    >>> affine(Normal(1.0, variance=4.0), -0.5, 3.0), affine(Gamma(2.0, 3.0), 2.0)
    (Normal(2.5, variance=1), Gamma(2, rate=1.5))
    >>> affine(Gamma(2.0, 3.0), -1.0)
    UnivariateTransformed(Gamma(2, rate=3), AffineMap(gain=-1.0, offset=0.0))
    """
    _require_distributions(p)
    factor, shift = real("gain", gain), real("offset", offset)
    if isinstance(p, Univariate) and not factor.ndim and factor == 0:
        return PointMass(np.broadcast_to(shift, np.broadcast_shapes(shift.shape, p.batch_shape)))
    made = closed_affine(p, factor, shift)
    if made is not None:
        return made
    if p.event_shape:
        matrix = factor if factor.ndim else factor * np.eye(p.event_shape[0])
        return Transformed(p, LinearMap(matrix, shift))
    return Transformed(p, AffineMap(gain, offset))


def sum_of(p: Any, q: Any, *, points: int = 100_000) -> Any:
    """Return the distribution of x + y for independent x and y.

    Parameters
    ----------
    p, q : distributions
        Of numbers, or of vectors where the family is closed.
    points : int
        Nodes of the table, where no family holds the sum.

    Returns
    -------
    distribution
        A member of a family; else :class:`Numeric`, or :class:`NumericCounts` for whole
        numbers, with ``error``.

    Examples
    --------
    >>> from posteriori import Exponential, Gamma, Normal
    >>> sum_of(Normal(2.0, scale=1.0), Normal(2.0, scale=0.5))
    Normal(4, variance=1.25)
    >>> sum_of(Gamma(2.0, 3.0), Exponential(3.0))
    Gamma(3, rate=3)
    >>> z = sum_of(Gamma(2.0, 3.0), Normal(1.0, variance=0.25))
    >>> z.mean.round(6), z.variance.round(6), bool(z.error < 1e-6)
    (np.float64(1.666667), np.float64(0.472222), True)
    """
    _require_distributions(p, q)
    for certain, other in ((p, q), (q, p)):
        if isinstance(certain, PointMass) and not isinstance(other, PointMass):
            return affine(other, 1.0, certain.location)
    if isinstance(p, PointMass):
        return PointMass(p.location + q.location, p.event_ndim)
    made = closed_sum(p, q)
    if made is not None:
        return made
    _require_numbers(p, q, "sum")
    if not (has_atoms(p) and has_atoms(q)):
        return convolve(p, q, points)
    _require_whole(p, q)
    return convolve_counts(p, q)


def product_of(p: Any, q: Any, *, points: int = 1 << 18) -> Any:
    """Return the distribution of x·y for independent numbers x and y.

    Parameters
    ----------
    p, q : distributions of numbers
        Both with a density, or both of whole numbers.
    points : int
        Nodes of the table on either side of 0, where no family holds the product.

    Examples
    --------
    >>> from posteriori import Normal
    >>> z = product_of(Normal(0.0, variance=1.0), Normal(0.0, variance=1.0))
    >>> np.exp(z.log_prob([0.5, 1.0])).round(6)  # K₀(|z|)/π
    array([0.294252, 0.134016])
    """
    _require_distributions(p, q)
    for certain, other in ((p, q), (q, p)):
        if isinstance(certain, PointMass) and not certain.event_shape:
            return affine(other, certain.location)
    made = closed_product(p, q)
    if made is not None:
        return made
    _require_numbers(p, q, "product")
    if has_atoms(p) and has_atoms(q):
        _require_whole(p, q)
        return multiply_counts(p, q)
    if has_atoms(p) or has_atoms(q):
        raise TypeError(
            "the product of a discrete and a continuous variable is a mixture of scaled ones: "
            "Mixture(probabilities, affine(p, values))"
        )
    return multiply_densities(p, q, points)


def power_of(p: Any, exponent: float) -> Any:
    """Return the distribution of x raised to a power.

    Examples
    --------
    >>> from posteriori.distributions import LogNormal
    >>> power_of(LogNormal(0.5, variance=1.0), 2.0).logarithm
    Normal(1, variance=4)
    """
    _require_distributions(p)
    if isinstance(p, LogNormal):
        inner = p.logarithm.affine(exponent)
        return LogNormal(inner.mean, scale=inner.scale)
    if isinstance(p, PointMass):
        return PointMass(p.location**exponent, p.event_ndim)
    return Transformed(p, PowerMap(exponent))


def central_limit(p: Any, n: int) -> CentralLimit:
    """Return the standardised sum of ``n`` independent copies of x, and how normal it is.

    Parameters
    ----------
    p : distribution of a number
        With a finite variance.
    n : int
        Number of terms.

    Examples
    --------
    >>> from posteriori import Exponential
    >>> for n in (4, 16, 64):
    ...     print(n, round(central_limit(Exponential(1.0), n).distance, 4))
    4 0.0667
    16 0.0333
    64 0.0166
    """
    _require_distributions(p)
    _require_numbers(p, p, "central limit")
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise ValueError(f"n must be a whole number >= 1, got {n!r}")
    if not (hasattr(p, "mean") and hasattr(p, "variance")):
        raise ValueError(f"the central limit needs a finite variance; {p!r} has none")
    mean, std = float(p.mean), float(np.sqrt(p.variance))
    if not np.isfinite(std) or std == 0:
        raise ValueError(f"the central limit needs a finite, positive variance, got {std**2}")
    third = float(expect(p, lambda x: np.abs(x - mean) ** 3))
    bound = _BERRY_ESSEEN * third / (std**3 * np.sqrt(n))
    gain = 1.0 / (std * np.sqrt(n))
    total = _fold_counts(p, int(n)) if _whole(p) else fold(p, int(n))
    standardised = affine(total, gain, -n * mean * gain)
    return CentralLimit(int(n), standardised, _distance_to_normal(total, standardised), bound)


def _distance_to_normal(total: Any, standardised: Any) -> float:
    if isinstance(total, NumericCounts):
        z = standardised.map.forward(total.points)
        above = np.cumsum(total.masses)
        ends = np.stack([above, above - total.masses])
        return float(np.abs(ends - special.ndtr(z)).max())
    z = standardised.nodes
    return float(np.abs(standardised.cdf(z) - special.ndtr(z)).max())


def _fold_counts(p: Any, n: int) -> NumericCounts:
    """Return the sum of n copies, by squaring."""
    table = counts_of(p)
    power = NumericCounts(table.start, table.masses, table.error)
    total: Any = None
    while n:
        if n % 2:
            total = power if total is None else convolve_counts(total, power)
        n //= 2
        power = convolve_counts(power, power) if n else power
    return total


def _whole(p: Any) -> bool:
    """Tell whether x is a whole number."""
    if not has_atoms(p) or (hasattr(p, "points") and not isinstance(p, NumericCounts)):
        return False
    middle: Array = np.asarray(p.median)
    return bool(np.all(middle == np.floor(middle)))


def _require_whole(*ps: Any) -> None:
    for p in ps:
        if not _whole(p):
            raise TypeError(
                f"tables of discrete sums and products are for whole numbers, which {p!r} is "
                "not; draw from it instead"
            )


def _require_distributions(*ps: Any) -> None:
    for p in ps:
        if not isinstance(p, Distribution):
            raise TypeError(f"random variables are given by distributions, got {p!r}")


def _require_numbers(p: Any, q: Any, what: str) -> None:
    for d in (p, q):
        if not isinstance(d, Univariate):
            raise TypeError(
                f"no closed {what} of {type(p).__name__} and {type(q).__name__} is known, and "
                f"numeric ones are for numbers with a cdf, which {type(d).__name__} is not"
            )
