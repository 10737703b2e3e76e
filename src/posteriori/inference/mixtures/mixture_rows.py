r"""Rows that mixtures of normals are learned from, with or without gaps, in units of their own.

Complete rows pass as features; rows with gaps (NaN) pattern by pattern, completed under every
component. Both give the same sums, so that nothing above asks which it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.gaps.completed_rows import (
    normals_from_covariances,
    normals_from_precisions,
)
from posteriori.inference.gaps.gap_patterns import GapPatterns, gap_patterns
from posteriori.inference.gaps.normal_gaps import ExpectedMoments, expected_moments, respond_to_rows
from posteriori.inference.mixtures.feature_pass import (
    pass_over_rows,
    read_blocks_of_rows,
    responsibilities,
)
from posteriori.inference.mixtures.normal_scores import (
    NormalFeatures,
    NormalScores,
    NormalStatistics,
    theta_of,
    unpack_sums,
)
from posteriori.inference.mixtures.normal_units import RowMoments, Units, table_moments, units_of
from posteriori.numerics.types import Array

__all__ = [
    "CompleteRows",
    "GappyRows",
    "NormalExpectations",
    "MixtureRows",
    "about_origin",
    "full_precisions",
    "project",
]


class NormalExpectations(NamedTuple):
    """What a pass over rows has found.

    Attributes
    ----------
    statistics : NormalStatistics
    log_likelihood : float
        Σ w ln Σ_k exp s_k(z), of z.
    """

    statistics: NormalStatistics
    log_likelihood: float


class CompleteRows(NamedTuple):
    """Rows without gaps.

    Attributes
    ----------
    x : (N, D)
    frequency : (N,) or None
    kind : {"full", "shared", "diagonal", "spherical"}
    moments : RowMoments
    units : Units
    """

    x: Array
    frequency: Array | None
    kind: str
    moments: RowMoments
    units: Units

    @classmethod
    def of(
        cls, x: Array, frequency: Array | None, kind: str, wider: RowMoments | None = None
    ) -> CompleteRows:
        """Return rows in the units of their kind: those of their moments, or of wider ones."""
        moments = table_moments(x, frequency)
        return cls(x, frequency, kind, moments, units_of(wider or moments, kind))

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return len(self.x)

    @property
    def total(self) -> float:
        """How many rows there are, by frequency."""
        return self.moments.total

    @property
    def spread(self) -> Array:
        """Covariance of z."""
        return self.units.covs_of(self.moments.cov)

    @property
    def squares(self) -> Array:
        """Σ w zzᵀ."""
        mean = self.units.means_of(self.moments.mean)
        return self.total * (self.spread + np.outer(mean, mean))

    @property
    def log_scale(self) -> float:
        """By how much the log likelihood of z exceeds that of x."""
        return self.total * self.units.log_scale

    def take(self, index: Array) -> CompleteRows:
        """Return some of the rows, in the same units."""
        x = self.x[index]
        frequency = None if self.frequency is None else self.frequency[index]
        return self._replace(x=x, frequency=frequency, moments=table_moments(x, frequency))

    def expected_sums(self, shares: Array) -> NormalStatistics:
        """Return the sums of components that rows belong to by shares (K, N)."""
        features = NormalFeatures(self.kind, self.units)
        total = np.zeros((len(shares), features.size))
        for rows in read_blocks_of_rows(len(self.x), features.size):
            part = (
                shares[:, rows]
                if self.frequency is None
                else shares[:, rows] * self.frequency[rows]
            )
            total += part @ features.of(self.x[rows]).T
        return unpack_sums(total, self.kind, self.squares)

    def read(self, rows: slice | Array) -> Array:
        """Return z of some rows, (B, D)."""
        return self.units.of(self.x[rows]).T

    def filled(self) -> Array:
        """Return z of all rows, (N, D), made block by block."""
        z = np.empty_like(self.x)
        for rows in read_blocks_of_rows(len(z), self.x.shape[1]):
            z[rows] = self.read(rows)
        return z

    def expect(self, scores: NormalScores, *, hard: bool = False) -> NormalExpectations:
        """Share rows out among components."""
        features = NormalFeatures(self.kind, self.units)
        theta = theta_of(scores, self.kind)
        found = pass_over_rows(features, theta, self.x, self.frequency, hard=hard)
        square = self.squares
        value = found.log_likelihood
        if self.kind == "shared":  # the square −½ zᵀPz, of all rows at once
            value -= 0.5 * float(np.vdot(scores.precisions, square))
        statistics = unpack_sums(found.statistics, self.kind, square)
        return NormalExpectations(statistics, value)


class GappyRows(NamedTuple):
    """Rows with gaps.

    Attributes
    ----------
    z : (N, D)
        Rows in units of the standard deviations of their seen entries; NaN is a gap.
    frequency : (N,) or None
    kind : {"full", "shared", "diagonal", "spherical"}
    units : Units
        Of columns.
    patterns : GapPatterns
    spread : (D, D)
        Covariance of z under one normal.
    """

    z: Array
    frequency: Array | None
    kind: str
    units: Units
    patterns: GapPatterns
    spread: Array

    @classmethod
    def of(
        cls, x: Array, frequency: Array | None, kind: str, wider: Array | None = None
    ) -> GappyRows:
        """Return rows in the units of their columns, whose variances ``wider`` (D,) is added to.

        Their covariance is taken as that of independent columns until it is known better.
        """
        weight = np.ones(len(x)) if frequency is None else frequency
        counted = np.where(np.isnan(x), 0.0, weight[:, None])
        seen = counted.sum(axis=0)
        mean = (counted * np.nan_to_num(x)).sum(axis=0) / seen
        deviation = np.nan_to_num(x - mean)
        variance = (counted * deviation**2).sum(axis=0) / seen
        if wider is not None:
            variance = variance + wider
        if kind == "spherical":  # one unit for all columns
            variance = np.full_like(variance, variance.max())
        units = units_of(RowMoments(float(weight.sum()), mean, np.diag(variance)), "diagonal")
        z = (x - mean) * np.diag(units.inverse)
        return cls(z, frequency, kind, units, gap_patterns(x), np.eye(x.shape[1]))

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return len(self.z)

    @property
    def total(self) -> float:
        """How many rows there are, by frequency."""
        return float(len(self.z) if self.frequency is None else self.frequency.sum())

    @property
    def log_scale(self) -> float:
        """By how much the log likelihood of z exceeds that of x."""
        weight = np.ones(len(self.z)) if self.frequency is None else self.frequency
        return float((weight @ ~np.isnan(self.z)) @ np.log(np.diag(self.units.root)))

    def read(self, rows: slice | Array) -> Array:
        """Return z of some rows, (B, D)."""
        return self.z[rows]

    def filled(self) -> Array:
        """Return z of all rows, (N, D), with gaps at the centre of the data."""
        return np.nan_to_num(self.z)

    def take(self, index: Array) -> GappyRows:
        """Return some of the rows, in the same units."""
        z = self.z[index]
        frequency = None if self.frequency is None else self.frequency[index]
        return self._replace(z=z, frequency=frequency, patterns=gap_patterns(z))

    def expected_sums(self, shares: Array) -> NormalStatistics:
        """Return the sums of components that rows, completed by one normal, belong to by shares (K, N)."""
        k, d = len(shares), self.z.shape[1]
        covs = np.broadcast_to(self.spread, (k, d, d))
        normals = normals_from_covariances(np.zeros((k, d)), covs)
        weights = shares if self.frequency is None else shares * self.frequency
        found = expected_moments(self.z, self.patterns, normals, weights.T)
        return NormalStatistics(found.total, found.first, project(found.second, self.kind))

    def expect(self, scores: NormalScores, *, hard: bool = False) -> NormalExpectations:
        """Share rows out among components, each of which completes them."""
        precisions = full_precisions(scores, self.kind)
        total = 0.0

        def respond(values: Array, rows: Array) -> Array:
            nonlocal total
            shares, log_sums = responsibilities(np.ascontiguousarray(values.T), hard=hard)
            counted = shares
            if self.frequency is not None:
                counted = shares * self.frequency[rows]
                log_sums *= self.frequency[rows]
            total += float(log_sums.sum())
            return counted.T

        normals = normals_from_precisions(scores.means, precisions)
        found = respond_to_rows(self.z, self.patterns, normals, scores.log_norm, respond)
        return NormalExpectations(about_origin(found, scores.means, self.kind), total)


MixtureRows = CompleteRows | GappyRows


def about_origin(found: ExpectedMoments, means: Array, kind: str) -> NormalStatistics:
    """Return sums of completed rows about 0, given those about the means (K, D) that completed them."""
    cross = found.first[:, :, None] * means[:, None, :]
    moved = cross + np.swapaxes(cross, 1, 2)
    moved += found.total[:, None, None] * means[:, :, None] * means[:, None, :]
    sums = found.first + found.total[:, None] * means
    return NormalStatistics(found.total, sums, project(found.second + moved, kind))


def full_precisions(scores: NormalScores, kind: str) -> Array:
    """Return precisions of any kind as matrices (K, D, D)."""
    k, d = scores.means.shape
    if kind == "full":
        return scores.precisions
    if kind == "shared":
        return np.broadcast_to(scores.precisions, (k, d, d))
    diagonal = scores.precisions if kind == "diagonal" else scores.precisions[:, None]
    return np.eye(d) * np.broadcast_to(diagonal, (k, d))[:, None]


def project(squares: Array, kind: str) -> Array:
    """Return the part of matrices (K, D, D) that a kind needs; of all components for "shared"."""
    if kind == "full":
        return squares
    if kind == "shared":
        return squares.sum(axis=0)
    diagonal = np.diagonal(squares, axis1=1, axis2=2)
    return diagonal.copy() if kind == "diagonal" else diagonal.sum(axis=1)
