"""What mixtures of normals share: how rows are read and refused, how gaps are filled in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.contract import NamesColumns, offers
from posteriori.estimators.estimator_rows import column_names
from posteriori.estimators.parameters import NOT_NEGATIVE, WHOLE
from posteriori.inference.classes.class_moments import blocks_of_rows
from posteriori.inference.gaps.completed_rows import Normals, normals_from_covariances
from posteriori.inference.gaps.gap_beliefs import GapBelief, number_gaps
from posteriori.inference.gaps.gap_patterns import GapPatterns, gap_patterns
from posteriori.inference.gaps.normal_gaps import (
    conditional_moments,
    draw_missing,
    seen_log_densities,
)
from posteriori.inference.mixtures.mixture_rows import CompleteRows, GappyRows, MixtureRows
from posteriori.inference.mixtures.normal_starts import with_known_spread
from posteriori.inference.mixtures.normal_units import RowMoments, dependent_columns, table_moments
from posteriori.mixture.mixture_estimator import MixtureEstimator
from posteriori.numerics.logspace import softmax
from posteriori.numerics.random import as_generator
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import require_moderate

__all__ = ["NormalDensities", "NormalMixture", "read_rows", "require_several", "require_spread"]


class NormalDensities(NamedTuple):
    """Components.

    Attributes
    ----------
    log_weights : (K,)
    means, covs : (K, D), (K, D, D)
        Locations and scales.
    dof : (K,) or None
        Degrees of freedom.
    """

    log_weights: Array
    means: Array
    covs: Array
    dof: Array | None = None

    @property
    def normals(self) -> Normals:
        """The components, ready for rows with gaps."""
        return normals_from_covariances(self.means, self.covs)


class NormalMixture(MixtureEstimator):
    """Mixtures whose components are normal, or Student's t where their parameters are uncertain."""

    n_components: int
    random_state: Any
    n_iter_: int
    converged_: bool
    trace_: Array
    _densities: NormalDensities

    _constraints = {
        "n_components": WHOLE,
        "n_init": WHOLE,
        "max_iter": WHOLE,
        "tol": NOT_NEGATIVE,
    }

    def _log_joint(self, x: Array) -> Array:
        d = self._densities
        return d.log_weights + seen_log_densities(x, gap_patterns(x), d.normals, d.dof)

    def impute(self, X: Any, *, draws: int | None = None, rng: Seed = None) -> Array:
        """Fill in the gaps (NaN) of rows, given what is seen of them.

        Parameters
        ----------
        X : (N, D)
        draws : int, optional
            How many times to draw the missing entries. By default they are their expectations.
        rng : int or Generator, optional

        Returns
        -------
        array, (N, D); with ``draws`` (S, N, D)
        """
        check_is_fitted(self)
        x = self._read(X)
        patterns = gap_patterns(x)
        if draws is None:
            shares = softmax(self._log_joint(x), axis=1)
            return conditional_moments(x, patterns, self._densities.normals, shares).mean
        if draws < 1:
            raise ValueError(f"draws must be at least 1, got {draws}")
        generator = as_generator(rng)
        drawn = (self._drawn(generator) for _ in range(draws))
        return np.stack([self._fill(x, patterns, one, generator) for one in drawn])

    def gap_beliefs(self, X: Any) -> tuple[GapBelief, ...]:
        """Return what is believed of the gaps (NaN) of rows, given what is seen of them.

        Returns
        -------
        tuple of NumberGaps
            ``column``, ``rows``, ``mean`` and ``variance``, for each column with gaps.
        """
        check_is_fitted(self)
        x = self._read(X)
        parts = self._densities
        shares = softmax(self._log_joint(x), axis=1)
        found = conditional_moments(x, gap_patterns(x), parts.normals, shares, parts.dof)
        return number_gaps(x, found.mean, found.variance)

    def _fill(
        self, x: Array, patterns: GapPatterns, parts: NormalDensities, rng: np.random.Generator
    ) -> Array:
        """Draw the missing entries under known normals."""
        normals = parts.normals
        joint = parts.log_weights + seen_log_densities(x, patterns, normals)
        labels = (joint + rng.gumbel(size=joint.shape)).argmax(axis=1)  # a fair draw
        return draw_missing(x, patterns, normals, labels, rng)

    def sample(self, size: int = 1, rng: Seed = None) -> tuple[Array, Any]:
        """Draw rows and their components: X (S, D) and codes (S,)."""
        check_is_fitted(self)
        generator = as_generator(rng)
        weights = np.exp(self._densities.log_weights)
        codes = generator.choice(len(weights), size=size, p=weights / weights.sum())
        return self._draw_rows(codes, generator), codes

    def _drawn(self, rng: np.random.Generator) -> NormalDensities:
        """Return normals as they may be: those that are known, or a draw from beliefs."""
        return self._densities

    def _draw_rows(self, codes: Any, rng: np.random.Generator) -> Array:
        _, means, covs, dof = self._densities
        roots = np.linalg.cholesky(covs)
        drawn = np.einsum(
            "nij,nj->ni", roots[codes], rng.standard_normal((len(codes), means.shape[1]))
        )
        if dof is not None:
            drawn /= np.sqrt(rng.chisquare(dof[codes]) / dof[codes])[:, None]
        return means[codes] + drawn


def read_rows(
    estimator: Any, x: Array, frequency: Array | None, kind: str, extra: Array | None = None
) -> MixtureRows:
    """Return rows in units of their own, or say which columns give them no density.

    Parameters
    ----------
    estimator : estimator
        That knows the names of the columns.
    x : (N, D)
    frequency : (N,) or None
    kind : {"full", "shared", "diagonal", "spherical"}
    extra : (D, D), optional
        Covariance that a prior adds: then rows need have no spread of their own.
    """
    names = column_names(estimator)
    require_moderate("X", x)
    if extra is None:
        require_several(x)
    if any(np.isnan(x[block]).any() for block in blocks_of_rows(x)):
        _refuse_empty(np.asarray(np.isnan(x).all(axis=0)), names)
        more = None if extra is None else np.diag(extra)
        rows = GappyRows.of(_spread_checked(x, names, kind, extra), frequency, kind, more)
        return with_known_spread(rows)
    moments = table_moments(x, frequency)
    if extra is not None:
        moments = RowMoments(moments.total, moments.mean, moments.cov + extra)
    columns = dependent_columns(moments, kind)
    if columns and len(x) <= x.shape[1] and kind in ("full", "shared") and _vary(x).all():
        raise ValueError(
            f"{len(x)} rows of X in {x.shape[1]} columns have no density: give more rows, fewer "
            'columns, or choose covariance="diagonal"'
        )
    _refuse_dependent(columns, names)
    return CompleteRows.of(x, frequency, kind, None if extra is None else moments)


def require_several(x: Array) -> None:
    """Refuse a single row, whose columns show no spread."""
    if len(x) == 1:
        raise ValueError("X has 1 sample, which shows no spread: give more rows")


def require_spread(estimator: Any, seen: Array, mean: Array, variance: Array) -> None:
    """Refuse columns without entries or spread, as a default prior takes its scale from theirs.

    An estimator that has not been fitted knows no names of columns.
    """
    known = offers(estimator, NamesColumns)
    names = column_names(estimator) if known else [f"column {j}" for j in range(len(mean))]
    _refuse_empty(seen == 0.0, names)
    constant = np.flatnonzero(~exceeds_rounding(np.sqrt(variance), np.abs(mean)))
    _refuse_dependent(constant.tolist(), names)


def _refuse_empty(empty: Array, names: list[str]) -> None:
    if empty.any():
        raise ValueError(f"{names[int(np.argmax(empty))]} of X has no entry: leave it out")


def _spread_checked(x: Array, names: list[str], kind: str, extra: Array | None) -> Array:
    """Refuse rows with gaps one of whose columns never varies."""
    spread = _vary(x)
    if kind == "spherical":
        spread = np.broadcast_to(spread.any(), spread.shape)
    if extra is None:
        _refuse_dependent(np.flatnonzero(~spread).tolist(), names)
    return x


def _vary(x: Array) -> Array:
    """Tell which columns have entries that differ."""
    return np.nanmax(x, axis=0) > np.nanmin(x, axis=0)


def _refuse_dependent(columns: list[int], names: list[str]) -> None:
    if not columns:
        return
    told = ", ".join(names[j] for j in columns)
    if len(columns) == 1:
        raise ValueError(f"{told} of X is constant, so that rows have no density: leave it out")
    raise ValueError(
        f"{told} of X are constant or depend on one another, so that rows have no density: leave "
        "some of them out"
    )
