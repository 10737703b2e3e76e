r"""How wide kernels are: given, by a rule, or such that rows predict one another best.

The rules take kernels for normal and the data, too (W is the number of rows):

.. math:: h_d = \sigma_d\,W^{-1/(D+4)}\ \text{(Scott)}, \qquad
   h_d = \sigma_d\,\Big(\frac{W (D+2)}{4}\Big)^{-1/(D+4)}\ \text{(Silverman)};

the likelihood asks how probable each row is when it and its equals are left out:

.. math:: \sum_n w_n \ln\frac{\sum_{m:\,x_m\ne x_n} w_m\,k_h(x_n - x_m)}{W - w_n}.

References: D. Scott, "Multivariate density estimation", 1992, eq. 6.42; R. Duin, "On the choice of
smoothing parameters for Parzen estimators", 1976.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import KDTree

from posteriori.density.leaf_sums import make_leaves, normal_sums
from posteriori.density.reflection import Box
from posteriori.density.smoothing_kernels import NormalKernel, SmoothingKernel
from posteriori.numerics.lazy import optimize
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.validation import positive, positive_definite

__all__ = [
    "RULES",
    "WeightedRows",
    "check_bandwidth",
    "likely_bandwidths",
    "rule_bandwidths",
]

#: Names of rules.
RULES = ("likelihood", "scott", "silverman")
#: Distinct rows whose likelihood is maximised: of more, so many are drawn, as pairs are counted.
_MOST_ROWS = 5000
#: Factors of Silverman's bandwidth that a search begins at, as logarithms: clusters want less.
_STARTS = (0.0, -1.4, -2.8)
#: Ends of the search.
_LEAST, _MOST = -9.0, 3.0
#: Factors of other kernels that are tried, and then around the best of these.
_TRIED = 40


class WeightedRows(NamedTuple):
    """Distinct rows about their mean, and how often each is there.

    Attributes
    ----------
    x : (N, D)
    weights : (N,)
    """

    x: Array
    weights: Array


def check_bandwidth(bandwidth: Any, columns: int) -> str | Array:
    """Return a rule, bandwidths (D,) or a matrix (D, D)."""
    if isinstance(bandwidth, str):
        if bandwidth in RULES:
            return bandwidth
        raise ValueError(
            f"bandwidth must be one of {', '.join(map(repr, RULES))}, or numbers; got {bandwidth!r}"
        )
    if np.ndim(bandwidth) == 2:
        matrix = positive_definite("bandwidth", bandwidth)
        if matrix.shape != (columns, columns):
            raise ValueError(
                f"bandwidth must be a {columns} x {columns} matrix, got shape {matrix.shape}"
            )
        return matrix
    widths = positive("bandwidth", bandwidth)
    if np.shape(widths) not in ((), (columns,)):
        raise ValueError(
            f"bandwidth must be a number or hold one for each of the {columns} columns, got shape "
            f"{np.shape(widths)}"
        )
    return np.broadcast_to(widths, (columns,)).copy()


def rule_bandwidths(rows: WeightedRows, rule: str, names: list[str]) -> Array:
    """Return Scott's or Silverman's bandwidths, (D,)."""
    total, columns = rows.weights.sum(), rows.x.shape[1]
    mean = rows.weights @ rows.x / total
    spread = np.sqrt(rows.weights @ (rows.x - mean) ** 2 / total)
    flat = np.ptp(rows.x, axis=0) == 0
    if flat.any():
        name = names[int(np.argmax(flat))]
        said = "n_samples=1 is a single row" if total == 1.0 else f"{name} of X is constant"
        raise ValueError(f"{said}, so no bandwidth follows from it; give bandwidth= as numbers")
    size = total if rule == "scott" else total * (columns + 2) / 4
    return spread * size ** (-1.0 / (columns + 4))


def likely_bandwidths(
    rows: WeightedRows, kernel: SmoothingKernel, box: Box | None, start: Array
) -> Array:
    """Return the bandwidths (D,) under which rows that are left out are most probable.

    Of more than 5000 distinct rows so many are drawn, and the bandwidths that suit these shrink by
    (share of rows)^(1/(D + 4)), as those of every density with second derivatives do.
    """
    count, columns = rows.x.shape
    if count > _MOST_ROWS:
        drawn = np.sort(np.random.default_rng(0).choice(count, _MOST_ROWS, replace=False))
        few = WeightedRows(rows.x[drawn], rows.weights[drawn])
        shrink = (few.weights.sum() / rows.weights.sum()) ** (1.0 / (columns + 4))
        return shrink * likely_bandwidths(few, kernel, box, start / shrink)
    search = _Search(rows, kernel, box, start)
    return start * np.exp(
        search.of_normal() if isinstance(kernel, NormalKernel) else search.of_any()
    )


class _Search:
    """Leave-one-out likelihoods of bandwidths, as logarithms of their factors of the first ones."""

    def __init__(
        self, rows: WeightedRows, kernel: SmoothingKernel, box: Box | None, start: Array
    ) -> None:
        self._kernel, self._box, self._start = kernel, box, start
        self._leaves = make_leaves(rows.x / start, rows.weights)
        self._x, self._weights = rows
        self._own: IntArray = self._leaves.places
        self._others = np.log(rows.weights.sum() - rows.weights)

    def of_normal(self) -> Array:
        """Return the best factors of all columns, by the gradient."""
        columns = self._x.shape[1]
        starts = [np.full(columns, shift) for shift in _STARTS]
        best = min(starts, key=lambda one: self._value_and_slope(one)[0])
        found = optimize.minimize(
            self._value_and_slope,
            best,
            jac=True,
            method="L-BFGS-B",
            bounds=[(_LEAST, _MOST)] * columns,
            options={"maxiter": 50, "ftol": 1e-9, "gtol": 1e-6},
        )
        return np.asarray(found.x)

    def of_any(self) -> Array:
        """Return the best common factor, by trying many: likelihoods may jump or be 0."""
        farthest = 2.2 * self._largest_gap() / (2.0 * self._kernel.reach)
        tried = np.linspace(-3.0, np.log(max(8.0, farthest)), _TRIED)
        values = [self._value(t) for t in tried]
        best = int(np.argmin(values))
        if not np.isfinite(values[best]):
            raise ValueError(
                "no bandwidth lets the rows predict one another: some lie too far from all others; give "
                "bandwidth= as numbers"
            )
        finer = np.linspace(tried[max(best - 1, 0)], tried[min(best + 1, _TRIED - 1)], _TRIED)
        return np.asarray(finer[int(np.argmin([self._value(t) for t in finer]))])

    def _points(self, widths: Array) -> Any:
        """Return the rows and their images, in units of the bandwidth."""
        if self._box is None:
            return [self._x / widths]
        return (x / widths for x in self._box.images(self._x, self._kernel.reach * widths))

    def _value_and_slope(self, log_factors: Array) -> tuple[float, Array]:
        widths = self._start * np.exp(log_factors)
        leaves = self._leaves.scaled(np.exp(-log_factors))
        total, squares = np.full(len(self._x), -np.inf), np.zeros_like(self._x)
        for points in self._points(widths):
            log_sums, here = normal_sums(leaves, points, self._own)
            new = np.logaddexp(total, log_sums)
            share = np.exp(log_sums - new)[:, None]
            total, squares = new, (1.0 - share) * squares + share * here
        value = self._weights @ (total - np.log(widths).sum() - self._others)
        slope = self._weights @ (squares - 1.0)  # d ln k_h / d ln h = u² − 1
        unit = self._weights.sum()
        return -float(value) / unit, -slope / unit

    def _value(self, log_factor: float) -> float:
        widths = self._start * np.exp(log_factor)
        leaves = self._leaves.scaled(np.full(len(self._start), np.exp(-log_factor)))
        total = np.full(len(self._x), -np.inf)
        for points in self._points(widths):
            total = np.logaddexp(total, self._kernel.log_sums(leaves, points, self._own))
        value = self._weights @ (total - np.log(widths).sum() - self._others)
        return -float(value) / float(self._weights.sum())

    def _largest_gap(self) -> float:
        """Return the largest distance of a row to its nearest, in first bandwidths."""
        distance, _ = KDTree(self._leaves.rows).query(self._leaves.rows, k=2)
        return float(distance[:, 1].max())
