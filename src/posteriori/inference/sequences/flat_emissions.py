r"""Emissions as vectors without constraints, with the gradient of their log densities.

By Fisher's identity :math:`∂\ln p(x)/∂θ = E[∂\ln p(x, z)/∂θ\mid x]`, so that the gradient follows from the
shares of rows in states, whatever their signs.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.counts.poisson import Poisson
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.mixtures.columns.latent_ascent import sums_of_shares
from posteriori.inference.mixtures.likelihood_ascent import (
    PartsShape,
    flat_gradient,
    pack_parts,
    unpack_parts,
)
from posteriori.inference.mixtures.mixture_rows import full_precisions
from posteriori.inference.mixtures.normal_maximum import NormalParts, scores_of
from posteriori.inference.mixtures.normal_scores import NormalFeatures, theta_of, unpack_sums
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
    x : (T, D)
        Without gaps.
    units : Units
    shape : PartsShape
        With "diag" or "full" covariances.
    """

    x: Array
    units: Units
    shape: PartsShape

    def pack(self, emission: Any) -> Array:
        """Return means and roots of covariances, in units."""
        k, d, kind = self.shape
        means = self.units.means_of(np.asarray(emission.mean).reshape(k, d))
        if kind == "diag":
            covs = np.asarray(emission.variance).reshape(k, d) / np.diag(self.units.root) ** 2
        else:
            covs = self.units.covs_of(np.asarray(emission.cov))
        return pack_parts(NormalParts(np.ones(k), means, covs), self.shape, np.eye(d))[k:]

    def scores(self, flat: Array) -> Array:
        """Return ln N(x | m, Σ), (T, K)."""
        theta = theta_of(scores_of(self._parts(flat)[1], self.shape.kind), self.shape.kind)
        return feature_scores(self._features, self.x, theta) - self.units.log_scale

    def gradient(self, flat: Array, shares: Array) -> Array:
        """Return the gradient from sums over rows."""
        whole, parts = self._parts(flat)
        kind = self.shape.kind
        sums = sums_of_shares(self._features, self.x, None, shares.T)
        statistics = unpack_sums(sums, kind, np.eye(self.shape.d))
        precisions = full_precisions(scores_of(parts, kind), kind)
        return flat_gradient(whole, self.shape, parts, statistics, precisions)[self.shape.k :]

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
    """Symbols: codes (T,), and logits (K, L) of the vector; ``labels`` or None for codes."""

    codes: IntArray
    size: int
    labels: Any

    def pack(self, emission: Any) -> Array:
        """Return the logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(emission.probabilities), _LEAST).ravel()

    def scores(self, flat: Array) -> Array:
        """Return ln p(symbol), (T, K)."""
        return log_softmax(flat.reshape(-1, self.size), axis=1).T[self.codes]

    def gradient(self, flat: Array, shares: Array) -> Array:
        """Return counts less what is expected of them."""
        p = np.exp(log_softmax(flat.reshape(-1, self.size), axis=1))
        counts = np.stack([np.bincount(self.codes, share, self.size) for share in shares.T])
        return (counts - counts.sum(axis=1, keepdims=True) * p).ravel()

    def unpack(self, flat: Array) -> Any:
        """Return the categoricals."""
        p = np.exp(log_softmax(flat.reshape(-1, self.size), axis=1))
        return Categorical(p, labels=self.labels)


class FlatCounts(NamedTuple):
    """Poisson counts (T, D) with the logarithms of the rates (K, D) for a vector; ``carrier`` (T,) is −ln x!."""

    x: Array
    carrier: Array

    def pack(self, emission: Any) -> Array:
        """Return the logarithms of the rates."""
        return np.log(np.maximum(np.asarray(emission.rate), np.exp(_LEAST))).ravel()

    def scores(self, flat: Array) -> Array:
        """Return x ln λ − λ − ln x!, (T, K)."""
        logs = flat.reshape(-1, self.x.shape[1])
        return self.x @ logs.T - np.exp(logs).sum(axis=1) + self.carrier[:, None]

    def gradient(self, flat: Array, shares: Array) -> Array:
        """Return Σ r (x − λ)."""
        rates = np.exp(flat.reshape(-1, self.x.shape[1]))
        return (shares.T @ self.x - shares.sum(axis=0)[:, None] * rates).ravel()

    def unpack(self, flat: Array) -> Any:
        """Return the Poisson distributions."""
        rates = np.exp(flat.reshape(-1, self.x.shape[1]))
        return Poisson(rates[:, 0] if rates.shape[1] == 1 else rates)
