r"""Kernel densities: every row is spread by a kernel, and their mean is the density.

.. math:: p(x) = \frac1N\sum_n \frac{1}{h^D}\,k\!\Big(\frac{x - x_n}{h}\Big), \qquad
   k(u) \ge 0, \quad \int k(u)\,du = 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.density.bandwidths import (
    WeightedRows,
    check_bandwidth,
    likely_bandwidths,
    rule_bandwidths,
)
from posteriori.density.kernel_gaps import gap_moments, seen_log_density
from posteriori.density.leaf_sums import Leaves, make_leaves
from posteriori.density.line_rows import counted_inputs
from posteriori.density.reflection import Box, check_bounds
from posteriori.density.smoothing_kernels import GivenKernel, SmoothingKernel, as_kernel
from posteriori.distributions.composites.mixture import Mixture, MixtureFamily
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_gappy_inputs, check_inputs, column_names
from posteriori.estimators.row_density import RowDensity
from posteriori.inference.gaps.gap_beliefs import GapBelief, number_gaps
from posteriori.mathematics.least_widths import check_least_widths
from posteriori.numerics.lazy import scipy_linalg
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import require_squares

__all__ = ["KernelDensity"]

#: An image whose sum is so many nats below the others is left out: e^−40 < 1e-17.
_FAINT = 40.0


class KernelDensity(RowDensity, BaseEstimator):
    """A density that is a kernel around every row.

    Log densities are right to 1e-6 everywhere, also far from all rows, where every kernel underflows.
    Rows of one or two columns and points that are many are summed on a grid, in O(N + Q); others in
    boxes, of which those far away are passed over.

    Parameters
    ----------
    bandwidth : {"likelihood", "scott", "silverman"}, float, (D,) or (D, D)
        "likelihood" makes rows that are left out most probable; equal rows are left out together, and
        of more than 5000 distinct ones so many are drawn. The rules scale with the standard deviation of each
        column. A number, or one for each column, is h; a matrix H is that of a kernel k(L⁻¹ u)/|L| with
        H = L Lᵀ, the covariance of the normal kernel.
    kernel : {"gaussian", "cube", "epanechnikov"} or function
        "cube" is 1 for |u_i| <= ½ in all columns (Parzen's window). A function of u (…, D) returns (…):
        it is refused unless it is >= 0 and integrates to 1.
    bounds : pair of float, or D of them, optional
        Where rows can lie, with None for an open end or column: (0, None). What a kernel has beyond
        a bound is reflected.
    min_bandwidth : float or (D,)
        No narrower is chosen by a rule or by likelihood: say, δ/√12 of numbers that are rounded to steps δ.

    Attributes
    ----------
    bandwidth_ : (D,) or (D, D)
    low_, high_ : (D,)
        Ends of the rows.
    model_ : Mixture of MvNormal
        The density, of the normal kernel without bounds.

    Examples
    --------
    >>> model = KernelDensity(1.0).fit([[0.0], [1.0], [3.0]])
    >>> np.exp(model.log_prob([[0.0], [40.0]])).round(8)
    array([0.21511495, 0.        ])
    >>> model.log_prob([[40.0]]).round(6)  # the last digits of the tail
    array([-686.517551])
    >>> KernelDensity().fit([[0.0], [1.0], [3.0], [4.0]]).bandwidth_.round(3)
    array([1.966])
    """

    bandwidth_: Array
    low_: Array
    high_: Array
    _rows: Array
    _weights: Array
    _center: Array
    _low: Array | None
    _high: Array | None

    def __init__(
        self,
        bandwidth: Any = "likelihood",
        *,
        kernel: Any = "gaussian",
        bounds: Any = None,
        min_bandwidth: Any = 0.0,
    ) -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.bounds = bounds
        self.min_bandwidth = min_bandwidth

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the rows, and choose how wide kernels are.

        Parameters
        ----------
        X : (N, D)
        y : ignored
        sample_weight : (N,), optional
            Frequencies >= 0: equal to repeated rows.
        """
        x, frequency, places = counted_inputs(check_inputs(self, X, reset=True), sample_weight)
        require_squares("X", x)
        columns = x.shape[1]
        kernel, asked = as_kernel(self.kernel), check_bandwidth(self.bandwidth, columns)
        box = check_bounds(self.bounds, columns)
        if box is not None:
            self._require_inside(x, box, places)
        if isinstance(kernel, GivenKernel):
            kernel.require_unit_integral(columns)
        distinct, codes = np.unique(x + 0.0, axis=0, return_inverse=True)  # −0 is 0
        weights = np.bincount(codes.ravel(), frequency, len(distinct)).astype(np.float64)
        self.low_, self.high_ = x.min(axis=0), x.max(axis=0)
        self._center = weights @ distinct / weights.sum()
        self._rows, self._weights = distinct - self._center, weights
        self._low, self._high = (None, None) if box is None else box
        rows = WeightedRows(self._rows, weights)
        if isinstance(asked, str):
            rule = "silverman" if asked == "likelihood" else asked
            widths = rule_bandwidths(rows, rule, column_names(self))
            if asked == "likelihood":
                widths = likely_bandwidths(rows, kernel, self._box, widths)
            least = check_least_widths("min_bandwidth", self.min_bandwidth, columns)
            asked = np.maximum(widths, least)
        self.bandwidth_ = asked
        for name in ("_leaves", "model_"):
            self.__dict__.pop(name, None)
        return self

    def log_prob(self, X: Any) -> Array:
        """Return ln p(x) of each row, (N,): −inf out of bounds, or out of the reach of all kernels.

        NaN is an entry that is not seen: the density is that of the others. Normal kernels without bounds
        can tell it.
        """
        check_is_fitted(self)
        x = self._checked_rows(X)
        if np.isnan(x).any():
            return seen_log_density(self._rows, self._weights, self._square, x - self._center)
        x = x - self._center
        kernel, box = as_kernel(self.kernel), self._box
        if box is None:
            log_sums = kernel.log_sums(self._leaves, self._in_widths(x))
        else:
            reach = kernel.reach * np.sqrt(np.diag(self._square))
            log_sums = self._add_images(kernel, box.images(x, reach))
            log_sums[box.outside(x).any(axis=1)] = -np.inf
        return log_sums - self._log_volume - np.log(self._weights.sum())

    def gap_beliefs(self, X: Any) -> tuple[GapBelief, ...]:
        """Return what is believed of the gaps (NaN) of rows, given what is seen of them.

        Of normal kernels without bounds.

        Returns
        -------
        tuple of NumberGaps
            ``column``, ``rows``, ``mean`` and ``variance``, for each column with gaps.
        """
        check_is_fitted(self)
        x = self._checked_rows(X)
        mean, variance = gap_moments(self._rows, self._weights, self._square, x - self._center)
        return number_gaps(x, mean + self._center, variance)

    def _checked_rows(self, X: Any) -> Array:
        """Return rows, with gaps where these can be integrated over."""
        if self.kernel == "gaussian" and self._low is None:
            return check_gappy_inputs(self, X)
        return np.asarray(check_inputs(self, X))

    def sample(self, size: int = 1, rng: Seed = None) -> Array:
        """Draw rows (size, D)."""
        check_is_fitted(self)
        generator = as_generator(rng)
        chosen = generator.choice(len(self._rows), size, p=self._weights / self._weights.sum())
        u = as_kernel(self.kernel).sample(size, self._rows.shape[1], generator)
        spread = u * self.bandwidth_ if self.bandwidth_.ndim == 1 else u @ self._factor.T
        x = self._rows[chosen] + spread
        if self._box is None:
            return x + self._center
        given = check_bounds(self.bounds, x.shape[1])
        assert given is not None
        return np.clip(self._box.fold(x) + self._center, *given)

    @cached_property
    def model_(self) -> MixtureFamily:
        """The density as a distribution."""
        check_is_fitted(self)
        if self.kernel != "gaussian" or self._box is not None:
            raise AttributeError(
                "model_ is a mixture of normals: it exists for kernel='gaussian' without bounds"
            )
        cov = np.broadcast_to(self._square, (len(self._rows), *self._square.shape))
        return Mixture(
            self._weights / self._weights.sum(), MvNormal(self._rows + self._center, cov=cov)
        )

    def _add_images(self, kernel: SmoothingKernel, images: Iterable[Array]) -> Array:
        """Return the log sums of points and of all images that count beside them."""
        points = map(self._in_widths, images)
        total = kernel.log_sums(self._leaves, next(points))
        for image in points:
            counts = kernel.log_bound(self._leaves, image) > total - _FAINT
            if counts.any():
                more = kernel.log_sums(self._leaves, image[counts])
                total[counts] = np.logaddexp(total[counts], more)
        return total

    @cached_property
    def _leaves(self) -> Leaves:
        """Made on use: a model that comes from a file holds the rows alone."""
        return make_leaves(self._in_widths(self._rows), self._weights)

    @property
    def _box(self) -> Box | None:
        """The bounds about the center of rows."""
        if self._low is None or self._high is None:
            return None
        return Box(self._low - self._center, self._high - self._center)

    @property
    def _square(self) -> Array:
        """H, (D, D)."""
        return np.diag(self.bandwidth_**2) if self.bandwidth_.ndim == 1 else self.bandwidth_

    @property
    def _factor(self) -> Array:
        """L of H = L Lᵀ, (D, D)."""
        return np.linalg.cholesky(self._square)

    @property
    def _log_volume(self) -> float:
        """Ln |L|."""
        widths = self.bandwidth_ if self.bandwidth_.ndim == 1 else np.diag(self._factor)
        return float(np.log(widths).sum())

    def _in_widths(self, x: Array) -> Array:
        """Return L⁻¹ x of rows, (N, D)."""
        if self.bandwidth_.ndim == 1:
            return x / self.bandwidth_
        return scipy_linalg.solve_triangular(self._factor, x.T, lower=True).T

    def _require_inside(self, x: Array, box: Box, places: Any) -> None:
        wrong = box.outside(x)
        if wrong.any():
            n, d = np.argwhere(wrong)[0]
            row = n if places is None else places[n]
            raise ValueError(
                f"X holds {x[n, d]:.6g} in {column_names(self)[d]}, row {row}, outside bounds "
                f"({box.low[d]:.6g}, {box.high[d]:.6g}); widen them or leave the row out"
            )
