r"""Where the parameters of a kernel are looked for, from the data that it is to explain.

Lengths are measured in ranges of the columns, periods likewise, and sizes so that the variance
:math:`k(x, x)` of each summand is compared with the mean square of the targets. What is outside is told
from its end by no data: functions that turn within a tenth of the gap between neighbours are noise, and
those that turn over a thousand ranges are straight lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.kernels.coregion import Coregion
from posteriori.kernels.inner_products import Polynomial, White
from posteriori.kernels.kernel import Constant, Kernel, OnColumns, Power, Product, Sum, Warped
from posteriori.kernels.periodic import Cosine, Periodic
from posteriori.kernels.radial import (
    RBF,
    InverseMultiquadric,
    InverseQuadratic,
    Matern,
    RationalQuadratic,
)
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["SearchBounds", "default_bounds", "log_prior"]

#: Share of the variance that noise begins at.
_NOISE = 0.1

#: Standard deviations of logarithms: a factor of about 4, or of 10, is nothing unusual.
_CLOSE, _VAGUE = 1.5, 2.3


#: Loadings of outputs whose correlation is 1 − 1e-4.
_STEEP = 100.0


class SearchBounds(NamedTuple):
    """Logarithms of parameters, each (P,).

    Attributes
    ----------
    low, high : (P,)
        The least and the largest that are looked at.
    center, spread : (P,)
        What is usual for such data, and how far it is from it: mean and standard deviation of a normal
        belief. A search may begin there, and an integral over the parameters has it as prior.
    """

    low: Array
    high: Array
    center: Array
    spread: Array


class _Seen(NamedTuple):
    """What a kernel sees: points, how often each counts, the variance to explain, and each point's share in it."""

    X: Array
    weight: Array
    variance: float
    share: Array

    @property
    def number(self) -> float:
        """How many points there are; bounds of fewer than ten are those of ten."""
        return max(float(self.weight.sum()), 10.0)

    @property
    def ranges(self) -> Array:
        """Largest less least of each column; 1 of a column that does not vary."""
        ranges = np.ptp(self.X, axis=0)
        return np.where(ranges > 0, ranges, 1.0)

    def variance_of_categories(self, count: int) -> Array:
        """Return what is to be explained of each category, whose codes are the only column, (Q,)."""
        of = [self.X[:, 0] == code for code in range(count)]
        shares = [_mean(self.share[at], self.weight[at]) if at.any() else 0.0 for at in of]
        # of targets that are all 0, or not there, nothing is known
        return self.variance * np.array([share or 1.0 for share in shares])


#: Least, usual and largest logarithm of a value, and the standard deviation of that logarithm.
_Told = tuple[Any, Any, Any, float]


def default_bounds(
    kernel: Kernel, X: Array, y: Array, frequency: Array | None = None
) -> SearchBounds:
    """Return bounds from the data, wide enough to hold what the kernel says itself.

    Parameters
    ----------
    kernel : Kernel
    X : (N, D)
    y : (N,) or (N, Q)
        Targets around 0, or numbers of the size of a function that is not seen; NaN is left out.
    frequency : (N,), optional
        How often each row counts.

    Examples
    --------
    >>> from posteriori.kernels import RBF, White
    >>> bounds = default_bounds(RBF() + White(), np.array([[0.0], [4.0]]), np.array([-1.0, 1.0]))
    >>> np.exp(bounds.low), np.exp(bounds.high)
    (array([4.e-02, 1.e-08]), array([4000.,  100.]))
    """
    weight = np.ones(len(X)) if frequency is None else frequency
    squares = np.square(np.asarray(y, dtype=np.float64)).reshape(len(X), -1)
    there = np.isfinite(squares)
    times = (there.T * weight).T
    square = _mean(squares[there], times[there]) if there.any() else 0.0
    variance = square if square > 0 else 1.0
    each = squares.mean(axis=1) / variance
    x = np.asarray(X, dtype=np.float64)
    seen = _Seen(x, weight, variance, np.where(np.isnan(each), 1.0, each))
    low, center, high, spread = np.array(_walk(kernel, seen)).reshape(-1, 4).T
    own = kernel.log_parameters
    return SearchBounds(np.minimum(low, own), np.maximum(high, own), center, spread)


def log_prior(bounds: SearchBounds, free: Array) -> Callable[[Array], tuple[float, Array]]:
    """Return ln p(ln θ) of the parameters that are free, with its gradient (P,): normal around what is usual."""
    weight = free / bounds.spread**2
    constant = -float((np.log(bounds.spread) + 0.5 * LOG_2PI) @ free)

    def density(log_parameters: Array) -> tuple[float, Array]:
        away = log_parameters - bounds.center
        return constant - 0.5 * float(weight @ away**2), -weight * away

    return density


def _walk(kernel: Kernel, seen: _Seen) -> list[_Told]:
    """Return what is told of each parameter, in their order."""
    match kernel:
        case Sum(members):
            return [one for member in members for one in _walk(member, seen)]
        case Product(members):
            sizes = [_size(member, seen) for member in members]
            told = []
            for i, member in enumerate(members):
                others = float(np.prod(sizes[:i] + sizes[i + 1 :]))
                told += _walk(member, seen._replace(variance=seen.variance / others))
            return told
        case Power(base, power):
            return _walk(base, seen._replace(variance=seen.variance ** (1.0 / power)))
        case OnColumns(base, columns):
            return _walk(base, seen._replace(X=seen.X[:, list(columns)]))
        case Warped(base, function):
            return _walk(base, seen._replace(X=np.asarray(function(seen.X))))
        case Coregion():
            variances = _in_logs(_by_category(seen, kernel.variance.size), kernel.variance.size)
            return variances + [(-_STEEP, w, _STEEP, 1.0) for w in kernel.loadings.flat]
    return [one for name in kernel._learned for one in _simple(kernel, name, seen)]


def _size(kernel: Kernel, seen: _Seen) -> float:
    """Return the mean of k(x, x) over some points, 1 where it is 0."""
    return _mean(kernel.diagonal(seen.X[:1000]), seen.weight[:1000]) or 1.0


def _mean(values: Array, weight: Array) -> float:
    return float(np.average(values, weights=weight))


def _simple(kernel: Kernel, name: str, seen: _Seen) -> list[_Told]:
    """Return what is told of each number of one parameter of a simple kernel."""
    rule = _RULES.get((type(kernel), name))
    value = np.ravel(getattr(kernel, name))
    if rule is None:  # a user's kernel: around what it says
        return _in_logs((1e-5 * value, value, 1e5 * value, _VAGUE), value.size)
    return _in_logs(rule(seen, value.size), value.size)


def _in_logs(told: _Told, count: int) -> list[_Told]:
    """Return what a rule tells of values as logarithms, one by one."""
    *values, spread = told
    each = (np.broadcast_to(np.log(value), count) for value in values)
    return [(*logs, spread) for logs in zip(*each, strict=True)]


def _length(seen: _Seen, count: int) -> _Told:
    """Functions turn over a tenth of the mean gap, half the points' spread, a thousand ranges."""
    columns = seen.X.shape[1]
    ranges = seen.ranges if count > 1 or columns == 1 else np.linalg.norm(seen.ranges)
    # distances between points grow with √D: so does what is usual
    usual = 0.25 * ranges * (np.sqrt(columns) if count > 1 else 1.0)
    return 0.1 * ranges / seen.number, usual, 1e3 * ranges, _CLOSE


def _period(seen: _Seen, _: int) -> _Told:
    """Two gaps at least; the usual one is seen three times."""
    reach = float(np.ptp(seen.X.sum(axis=1))) or 1.0
    return 2.0 * reach / seen.number, reach / 3.0, 10.0 * reach, _CLOSE


def _sum_of_squares(seen: _Seen, _: int) -> _Told:
    """An offset of xᵀz is as large as that is."""
    usual = _mean(np.einsum("nd,nd->n", seen.X, seen.X), seen.weight) or 1.0
    return 1e-6 * usual, usual, 1e6 * usual, _VAGUE


def _variance(seen: _Seen, _: int) -> _Told:
    return 1e-6 * seen.variance, seen.variance, 1e4 * seen.variance, _CLOSE


def _by_category(seen: _Seen, count: int) -> _Told:
    variance = seen.variance_of_categories(count)
    return 1e-6 * variance, variance, 1e4 * variance, _CLOSE


def _noise(seen: _Seen, count: int) -> _Told:
    variance: Any = seen.variance if count == 1 else seen.variance_of_categories(count)
    return 1e-8 * variance, _NOISE * variance, 1e2 * variance, _VAGUE


def _shape(_: _Seen, __: int) -> _Told:
    return 1e-2, 1.0, 1e3, _CLOSE


_RULES: dict[tuple[type[Kernel], str], Callable[[_Seen, int], _Told]] = {
    (RBF, "scale"): _length,
    (Matern, "scale"): _length,
    (RationalQuadratic, "scale"): _length,
    (RationalQuadratic, "mixing"): _shape,
    (InverseMultiquadric, "offset"): _length,
    (InverseQuadratic, "offset"): _length,
    (Periodic, "period"): _period,
    (Periodic, "scale"): _shape,
    (Cosine, "period"): _period,
    (Polynomial, "offset"): _sum_of_squares,
    (Constant, "value"): _variance,
    (White, "variance"): _noise,
}
