r"""Kernels :math:`k(u) \ge 0`, :math:`\int k = 1`, of rows in units of the bandwidth.

.. math:: \mathcal N(u\mid 0, I), \qquad [|u_i| \le \tfrac12 \;\forall i], \qquad
   \frac{D + 2}{2 V_D}\,(1 - |u|^2)_+

with :math:`V_D` the volume of the unit ball; or any function of u.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from posteriori.density.grid_sums import grid_pays, grid_sums
from posteriori.density.leaf_sums import Leaves, ball_sums, cube_sums, normal_sums
from posteriori.density.local_balls import log_ball_volume
from posteriori.numerics.lazy import stats
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array, IntArray

__all__ = ["KERNELS", "GivenKernel", "SmoothingKernel", "as_kernel"]

#: Pairs of rows and points that a given function is asked about at once.
_PAIRS = 2**18
#: Points of a rule that integrates a given function, and how many rules tell its error.
_POINTS, _RULES = 2**14, 8
#: How far from 1 the integral of a given function may be, beside five standard errors.
_INTEGRAL = 1e-3


class SmoothingKernel(ABC):
    """A density around 0 that rows are spread by."""

    #: Bandwidths beyond which nothing, or nothing that counts, is left of the kernel.
    reach: float

    @abstractmethod
    def log_sums(self, leaves: Leaves, points: Array, own: IntArray | None = None) -> Array:
        """Return ln Σ_n w_n k(q − x_n), (Q,); the row at place ``own`` of each point is left out."""

    @abstractmethod
    def sample(self, count: int, columns: int, rng: np.random.Generator) -> Array:
        """Draw u, (count, columns)."""

    def log_bound(self, leaves: Leaves, points: Array) -> Array:
        """Return numbers that the log sums at points do not exceed, (Q,)."""
        return np.full(len(points), np.inf)


class NormalKernel(SmoothingKernel):
    """The standard normal density."""

    reach = 6.5

    def log_sums(self, leaves: Leaves, points: Array, own: IntArray | None = None) -> Array:
        constant = -0.5 * points.shape[1] * np.log(2.0 * np.pi)
        if own is not None:
            return normal_sums(leaves, points, own)[0] + constant
        log_sums, rest = np.empty(len(points)), np.ones(len(points), dtype=bool)
        if grid_pays(leaves.rows, len(points)):
            log_sums, good = grid_sums(leaves.rows, leaves.weights, points)
            rest = ~good
        log_sums[rest] = normal_sums(leaves, points[rest], _none(int(rest.sum())))[0]
        return log_sums + constant

    def log_bound(self, leaves: Leaves, points: Array) -> Array:
        low, high = leaves.low.min(axis=0), leaves.high.max(axis=0)
        beside = np.maximum(np.maximum(low - points, points - high), 0.0)
        return np.log(leaves.weights.sum()) - 0.5 * (beside**2).sum(axis=1)

    def sample(self, count: int, columns: int, rng: np.random.Generator) -> Array:
        return rng.standard_normal((count, columns))


class CubeKernel(SmoothingKernel):
    """1 in the unit cube around 0 (Parzen's window)."""

    reach = 0.5

    def log_sums(self, leaves: Leaves, points: Array, own: IntArray | None = None) -> Array:
        return _log(cube_sums(leaves, points, _none(len(points)) if own is None else own))

    def sample(self, count: int, columns: int, rng: np.random.Generator) -> Array:
        return rng.uniform(-0.5, 0.5, (count, columns))


class EpanechnikovKernel(SmoothingKernel):
    """A paraboloid over the unit ball."""

    reach = 1.0

    def log_sums(self, leaves: Leaves, points: Array, own: IntArray | None = None) -> Array:
        columns = points.shape[1]
        constant = np.log(0.5 * (columns + 2)) - log_ball_volume(columns, 1.0)
        return (
            _log(ball_sums(leaves, points, _none(len(points)) if own is None else own)) + constant
        )

    def sample(self, count: int, columns: int, rng: np.random.Generator) -> Array:
        # |u|² is Beta(D/2, 2): the density of the radius is proportional to r^(D−1) (1 − r²)
        direction = rng.standard_normal((count, columns))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return direction * np.sqrt(rng.beta(0.5 * columns, 2.0, count))[:, None]


class GivenKernel(SmoothingKernel):
    """A function of u, (…, D), that answers the density (…)."""

    reach = 40.0

    def __init__(self, function: Callable[[Array], Any]) -> None:
        self._function = function

    def log_sums(self, leaves: Leaves, points: Array, own: IntArray | None = None) -> Array:
        made = np.empty(len(points))
        step = max(1, _PAIRS // len(leaves.rows))
        log_weights = np.log(leaves.weights)
        for start in range(0, len(points), step):
            here = slice(start, start + step)
            terms = _log(self._values(points[here, None, :] - leaves.rows)) + log_weights
            if own is not None:
                terms[np.arange(len(terms)), own[here]] = -np.inf
            made[here] = log_sum_exp(terms, axis=1)
        return made

    def sample(self, count: int, columns: int, rng: np.random.Generator) -> Array:
        raise TypeError(
            "a kernel that is given as a function cannot be drawn from; take 'gaussian', 'cube' or "
            "'epanechnikov', or draw u yourself and add bandwidth times u to rows"
        )

    def _values(self, u: Array) -> Array:
        values = np.asarray(self._function(u), dtype=np.float64)
        if values.shape != u.shape[:-1]:
            raise ValueError(
                f"kernel must answer an array {u.shape[:-1]} to u of shape {u.shape}, one number for each "
                f"vector; got shape {values.shape}"
            )
        wrong = ~((values >= 0) & np.isfinite(values))
        if wrong.any():
            where = tuple(np.argwhere(wrong)[0])
            raise ValueError(
                f"kernel must be finite and >= 0, got {values[where]:.6g} at u = {u[where].tolist()}"
            )
        return values

    def require_unit_integral(self, columns: int) -> None:
        """Refuse what does not integrate to 1, by rules that are shifted at random."""
        found = []
        even = stats.qmc.Sobol(columns, scramble=False).random(_POINTS)
        for shift in np.random.default_rng(0).random((_RULES, columns)):
            t = np.clip((even + shift) % 1.0, 1e-12, 1.0 - 1e-12)  # no infinities
            u = np.tan(np.pi * (t - 0.5))
            log_slope = np.log(np.pi * (1.0 + u**2)).sum(axis=1)
            found.append(np.exp(_log(self._values(u)) + log_slope).mean())
        integral, error = np.mean(found), np.std(found) / np.sqrt(_RULES - 1)
        if not abs(integral - 1.0) <= _INTEGRAL + 5.0 * error:
            raise ValueError(
                f"kernel must integrate to 1 over u of {columns} columns, its integral is {integral:.6g}; "
                "divide it by that"
            )


#: Kernels by name.
KERNELS: dict[str, type[SmoothingKernel]] = {
    "gaussian": NormalKernel,
    "cube": CubeKernel,
    "epanechnikov": EpanechnikovKernel,
}


def as_kernel(kernel: Any) -> SmoothingKernel:
    """Return the kernel of a name, or of a function."""
    if isinstance(kernel, str) and kernel in KERNELS:
        return KERNELS[kernel]()
    if callable(kernel):
        return GivenKernel(kernel)
    raise ValueError(
        f"kernel must be one of {', '.join(map(repr, KERNELS))}, or a function of u (…, D); got {kernel!r}"
    )


def _none(count: int) -> IntArray:
    return np.full(count, -1, dtype=np.int64)


def _log(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(values)
