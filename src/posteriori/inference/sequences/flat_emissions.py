r"""Emissions as vectors without constraints, with the gradient of their log densities.

By Fisher's identity :math:`∂\ln p(x)/∂θ = E[∂\ln p(x, z)/∂θ\mid x]`, so that the gradient follows from the
shares of rows in states, whatever their signs.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import gammaln

from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.counts.poisson import Poisson
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.gaps.completed_rows import normals_from_precisions
from posteriori.inference.gaps.normal_gaps import expected_moments, integrated_scores
from posteriori.inference.mixtures.columns.latent_ascent import sums_of_shares
from posteriori.inference.mixtures.likelihood_ascent import (
    PartsShape,
    flat_gradient,
    pack_parts,
    unpack_parts,
)
from posteriori.inference.mixtures.mixture_rows import (
    CompleteRows,
    MixtureRows,
    about_origin,
    full_precisions,
)
from posteriori.inference.mixtures.normal_maximum import NormalParts, scores_of
from posteriori.inference.mixtures.normal_scores import (
    NormalFeatures,
    NormalStatistics,
    theta_of,
    unpack_sums,
)
from posteriori.inference.mixtures.normal_units import Units
from posteriori.inference.sequences.emissions.feature_emissions import feature_scores
from posteriori.numerics.logspace import log_softmax
from posteriori.numerics.types import Array, IntArray

__all__ = ["FlatCounts", "FlatEmission", "FlatNormals", "FlatSymbols"]

#: ln 0 that can be raised again.
_LEAST = -30.0


class FlatEmission(Protocol):
    """Rows, and emissions of K states as a vector."""

    def pack(self, emission: Any) -> Array:
        """Return the vector of an emission."""

    def scores(self, flat: Array) -> Array:
        """Return ln p(x_t | z_t = k), (T, K)."""

    def gradient(self, flat: Array, shares: Array) -> Array:
        """Return Σ_tk r_tk ∂ ln p(x_t | θ_k)/∂θ of shares (T, K) of any sign."""

    def unpack(self, flat: Array) -> Any:
        """Return the emission of a vector."""


class FlatNormals(NamedTuple):
    """Normal rows of K states.

    Attributes
    ----------
    rows : MixtureRows
        With gaps or without; missing entries are integrated out.
    shape : PartsShape
        With "diagonal" or "full" covariances.
    """

    rows: MixtureRows
    shape: PartsShape

    @property
    def units(self) -> Units:
        """Of the rows."""
        return self.rows.units

    def pack(self, emission: Any) -> Array:
        """Return means and roots of covariances, in units."""
        k, d, kind = self.shape
        means = self.units.means_of(np.asarray(emission.mean).reshape(k, d))
        if kind == "diagonal":
            covs = np.asarray(emission.variance).reshape(k, d) / np.diag(self.units.root) ** 2
        else:
            covs = self.units.covs_of(np.asarray(emission.cov))
        return pack_parts(NormalParts(np.ones(k), means, covs), self.shape, np.eye(d))[k:]

    def scores(self, flat: Array) -> Array:
        """Return ln N(x | m, Σ), (T, K)."""
        kind, rows = self.shape.kind, self.rows
        scores = scores_of(self._parts(flat)[1], kind)
        if isinstance(rows, CompleteRows):
            found = feature_scores(self._features, rows.x, theta_of(scores, kind))
            return found - self.units.log_scale
        normals = normals_from_precisions(scores.means, full_precisions(scores, kind))
        found = integrated_scores(rows.z, rows.patterns, normals, scores.log_norm)
        seen = rows.z == rows.z
        return found - (seen @ np.log(np.diag(self.units.root)))[:, None]

    def gradient(self, flat: Array, shares: Array) -> Array:
        """Return the gradient from sums over rows."""
        whole, parts = self._parts(flat)
        kind = self.shape.kind
        scores = scores_of(parts, kind)
        precisions = full_precisions(scores, kind)
        statistics = self._statistics(scores.means, precisions, shares)
        return flat_gradient(whole, self.shape, parts, statistics, precisions)[self.shape.k :]

    def _statistics(self, means: Array, precisions: Array, shares: Array) -> NormalStatistics:
        """Return sums over rows, completed by each state, of shares of any sign."""
        kind, rows = self.shape.kind, self.rows
        if isinstance(rows, CompleteRows):
            sums = sums_of_shares(self._features, rows.x, None, shares.T)
            return unpack_sums(sums, kind, np.eye(self.shape.d))
        normals = normals_from_precisions(means, precisions)
        both = [
            about_origin(expected_moments(rows.z, rows.patterns, normals, part), means, kind)
            for part in (np.maximum(shares, 0.0), np.maximum(-shares, 0.0))
        ]
        return NormalStatistics(*(a - b for a, b in zip(*both, strict=True)))

    def unpack(self, flat: Array) -> Any:
        """Return normals, in the units of the rows."""
        parts = self._parts(flat)[1]
        means = self.units.raw_means(parts.means)
        if self.shape.kind == "full":
            return MvNormal(means, cov=self.units.raw_covs(parts.covs))
        variance = parts.covs * np.diag(self.units.root) ** 2
        if self.shape.d == 1:
            return Normal(means[:, 0], variance=variance[:, 0])
        return Normal(means, variance=variance)

    @property
    def _features(self) -> NormalFeatures:
        return NormalFeatures(self.shape.kind, self.units)

    def _parts(self, flat: Array) -> tuple[Array, NormalParts]:
        whole = np.concatenate([np.zeros(self.shape.k), flat])
        parts = unpack_parts(whole, self.shape, np.eye(self.shape.d))
        return whole, parts._replace(weights=np.ones(self.shape.k))


class FlatSymbols(NamedTuple):
    """Symbols: codes (T,), −1 where one is missing, and logits (K, L) of the vector.

    ``labels`` are their names, or None for codes.
    """

    codes: IntArray
    size: int
    labels: Any

    def pack(self, emission: Any) -> Array:
        """Return the logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(emission.probabilities), _LEAST).ravel()

    def scores(self, flat: Array) -> Array:
        """Return ln p(symbol), (T, K)."""
        logs = log_softmax(flat.reshape(-1, self.size), axis=1).T[self.codes]
        return np.where(self.codes[:, None] < 0, 0.0, logs)

    def gradient(self, flat: Array, shares: Array) -> Array:
        """Return counts less what is expected of them."""
        p = np.exp(log_softmax(flat.reshape(-1, self.size), axis=1))
        seen = self.codes >= 0
        codes, some = self.codes[seen], shares[seen]
        counts = np.stack([np.bincount(codes, share, self.size) for share in some.T])
        return (counts - counts.sum(axis=1, keepdims=True) * p).ravel()

    def unpack(self, flat: Array) -> Any:
        """Return the categoricals."""
        p = np.exp(log_softmax(flat.reshape(-1, self.size), axis=1))
        return Categorical(p, labels=self.labels)


class FlatCounts(NamedTuple):
    """Poisson counts (T, D), NaN where one is missing, with the logarithms of the rates (K, D) for a vector."""

    x: Array

    @property
    def _seen(self) -> Array:
        return (self.x == self.x).astype(np.float64)

    def pack(self, emission: Any) -> Array:
        """Return the logarithms of the rates."""
        return np.log(np.maximum(np.asarray(emission.rate), np.exp(_LEAST))).ravel()

    def scores(self, flat: Array) -> Array:
        """Return x ln λ − λ − ln x!, (T, K)."""
        logs, x = flat.reshape(-1, self.x.shape[1]), np.nan_to_num(self.x)
        carrier = gammaln(x + 1.0).sum(axis=1)  # 0 of what is missing
        return x @ logs.T - self._seen @ np.exp(logs).T - carrier[:, None]

    def gradient(self, flat: Array, shares: Array) -> Array:
        """Return Σ r (x − λ)."""
        rates = np.exp(flat.reshape(-1, self.x.shape[1]))
        return (shares.T @ np.nan_to_num(self.x) - (shares.T @ self._seen) * rates).ravel()

    def unpack(self, flat: Array) -> Any:
        """Return the Poisson distributions."""
        rates = np.exp(flat.reshape(-1, self.x.shape[1]))
        return Poisson(rates[:, 0] if rates.shape[1] == 1 else rates)
