r"""What all models of normal factors answer, :math:`x = \mu + Wz + \varepsilon`, :math:`z\sim N(0, \Phi)`.

Scores are expectations of the factors given the entries that are seen of a row; what is known of them
is a normal distribution, wider where there are gaps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from posteriori.decomposition.moment_stream import MomentStream
from posteriori.decomposition.spectra import with_positive_peaks
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_gappy_inputs, column_names
from posteriori.estimators.parameters import NOT_NEGATIVE, WHOLE, check_parameters
from posteriori.estimators.row_density import RowDensity
from posteriori.inference.components.factor_posteriors import FactorPosteriors, factor_posteriors
from posteriori.inference.gaps.gap_beliefs import GapBelief, number_gaps
from posteriori.numerics.random import as_generator
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import require_moderate

__all__ = ["FactorEstimator", "FactorUnits", "canonical_loadings", "factor_units", "units_from"]


class FactorUnits(NamedTuple):
    """Mean and scale of each column, (D,): factors are learned from (x − mean)/scale."""

    mean: Array
    scale: Array


class FactorEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RowDensity, BaseEstimator):
    """Rows that a few normal factors and independent noise have made."""

    n_components: Any
    mean_: Array
    components_: Array
    noise_variance_: Any
    n_components_: int
    _constraints = {"n_components": WHOLE, "max_iter": WHOLE, "tol": NOT_NEGATIVE}

    _loadings: Array
    _noise: Array
    _turn: Array
    _stream: MomentStream

    def transform(self, X: Any) -> Array:
        """Return expectations of the factors given what is seen of rows, (N, k)."""
        return self._posteriors(X)[1].means @ self._turn.T

    def transform_dist(self, X: Any) -> MvNormal:
        """Return what is known of the factors of each row: a batch of N normal distributions."""
        found = self._posteriors(X)[1]
        return MvNormal(found.means @ self._turn.T, cov=self._turn @ found.covs @ self._turn.T)

    def inverse_transform(self, Z: Any) -> Array:
        """Return the rows (N, D) that factors (N, k) stand for, without noise."""
        check_is_fitted(self)
        z = check_array(Z, dtype=np.float64, input_name="Z")
        if z.shape[1] != len(self.components_):
            raise ValueError(f"Z must have {len(self.components_)} columns, got {z.shape[1]}")
        return z @ self.components_ + self.mean_

    def impute(self, X: Any) -> Array:
        """Fill in the gaps (NaN) of rows by their expectations given what is seen, (N, D)."""
        x, found = self._posteriors(X)
        return np.where(np.isnan(x), found.means @ self._loadings.T + self.mean_, x)

    def gap_beliefs(self, X: Any) -> tuple[GapBelief, ...]:
        """Return what is believed of the gaps (NaN) of rows, given what is seen of them.

        Returns
        -------
        tuple of NumberGaps
            ``column``, ``rows``, ``mean`` and ``variance``, for each column with gaps.
        """
        x, found = self._posteriors(X)
        mean = found.means @ self._loadings.T + self.mean_
        spread = np.einsum("ndk,dk->nd", self._loadings @ found.covs, self._loadings)
        return number_gaps(x, mean, spread + self._noise)

    def log_prob(self, X: Any) -> Array:
        """Return ln p(row) of the seen entries, (N,)."""
        return self._posteriors(X)[1].log_density

    def sample(self, size: int = 1, rng: Seed = None) -> Array:
        """Draw rows, (S, D)."""
        check_is_fitted(self)
        generator = as_generator(rng)
        k, d = self.components_.shape
        drawn = generator.standard_normal((size, k)) @ self._loadings.T + self.mean_
        return drawn + generator.standard_normal((size, d)) * np.sqrt(self._noise)

    @property
    def model_(self) -> MvNormal:
        """The distribution of a row, N(μ, W Wᵀ + Ψ)."""
        check_is_fitted(self)
        return MvNormal(self.mean_, cov=self._loadings @ self._loadings.T + np.diag(self._noise))

    def _stream_with(self, X: Any) -> MomentStream:
        """Return the moments of these complete rows and of those that came before."""
        check_parameters(self)
        first = "_stream" not in self.__dict__
        x = check_gappy_inputs(self, X, reset=first)
        if np.isnan(x).any():
            raise ValueError("partial_fit takes rows without NaN: with gaps fit all rows at once")
        return MomentStream.of(x) if first else self._stream.add(x)

    def _require_fewer(self, k: int, d: int) -> None:
        """Refuse as many factors as columns: the noise would have none."""
        if k >= d:
            raise ValueError(
                f"n_components={k} leaves no column for the noise (n_features={d}): ask for fewer, or "
                "give more columns"
            )

    def _posteriors(self, X: Any) -> tuple[Array, FactorPosteriors]:
        """Return checked rows, and what they tell of the factors before these are turned."""
        check_is_fitted(self)
        x = check_gappy_inputs(self, X)
        scale = np.sqrt(self._noise)  # in which noise has variance 1
        d = (x - self.mean_) / scale
        found = factor_posteriors(d, self._loadings / scale[:, None], np.ones(len(scale)))
        return x, found._replace(log_density=found.log_density - ~np.isnan(x) @ np.log(scale))

    def _keep_factors(
        self, loadings: Array, noise: Array, units: FactorUnits, turn: Array | None = None
    ) -> None:
        """Set loadings (D, K) and noise (D,), given in units, in those of the data."""
        self.mean_ = units.mean
        self._noise = noise * units.scale**2
        self._loadings = loadings * units.scale[:, None]
        self._turn = np.eye(loadings.shape[1]) if turn is None else turn
        self.components_ = np.linalg.solve(self._turn.T, self._loadings.T)
        self.n_components_ = loadings.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def canonical_loadings(loadings: Array, noise: Array) -> Array:
    """Return loadings (D, K) turned so that WᵀΨ⁻¹W is diagonal, the strongest factor first.

    The largest loading of each factor is positive.
    """
    turn = np.linalg.svd(loadings / np.sqrt(noise)[:, None], full_matrices=False)[2]
    return with_positive_peaks((loadings @ turn.T).T).T


def factor_units(estimator: Any, x: Array, *, shared: bool) -> FactorUnits:
    """Return the units of rows with gaps, one scale for all columns if ``shared``; or refuse them."""
    names = column_names(estimator)
    require_moderate("X", x)
    if len(x) < 2:
        raise ValueError("X has 1 sample, which has no directions: give more rows")
    empty = np.isnan(x).all(axis=0)
    if empty.any():
        raise ValueError(f"{names[int(np.argmax(empty))]} of X has no entry: leave it out")
    mean = np.nanmean(x, axis=0)
    mean = mean + np.nanmean(x - mean, axis=0)  # what the first sum rounded off
    return units_from(names, mean, np.nanmean((x - mean) ** 2, axis=0), shared=shared)


def units_from(names: list[str], mean: Array, variance: Array, *, shared: bool) -> FactorUnits:
    """Return units by means and variances of columns, or refuse columns without spread."""
    constant = ~exceeds_rounding(np.sqrt(variance), np.abs(mean))
    if constant.all():
        raise ValueError("every column of X is constant, so that rows have no density")
    if shared:
        return FactorUnits(mean, np.full(len(mean), np.sqrt(variance.mean())))
    if constant.any():
        told = ", ".join(names[j] for j in np.flatnonzero(constant))
        raise ValueError(f"{told} of X is constant, so that rows have no density: leave it out")
    return FactorUnits(mean, np.sqrt(variance))
