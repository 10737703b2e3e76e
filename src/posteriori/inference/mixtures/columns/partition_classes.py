"""Parameters of latent classes given drawn partitions: columns are independent in a class, gaps left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.inference.mixtures.partitions.parameter_draws import count_members, sum_members
from posteriori.inference.mixtures.summits.density_ridges import MixtureParts
from posteriori.numerics.types import Array

__all__ = ["draw_classes"]


def draw_classes(
    places: Mapping[str, Any],
    x: Array,
    priors: Mapping[str, Any],
    labels: Any,
    concentration: float,
    rng: np.random.Generator,
) -> MixtureParts:
    """Draw the classes of one partition from their conjugate posterior.

    Parameters
    ----------
    places : mapping
        Columns of the kinds "normal", "bernoulli" and "categorical".
    x : (N, D)
    priors : mapping
        By kind.
    labels : (N,)
        Codes below K.
    concentration : float
        Of the weights.
    rng : Generator
    """
    k = int(labels.max()) + 1
    weights = rng.standard_gamma(concentration + count_members(labels[None], k)[0])
    at = places.get("normal", np.empty(0, dtype=np.int64))
    means, variances = (
        _draw_columns(x[:, at], priors["normal"], labels, k, rng)
        if len(at)
        else (np.empty((k, 0)),) * 2
    )
    precisions = np.zeros((k, len(at), len(at)))
    precisions[:, np.arange(len(at)), np.arange(len(at))] = 1.0 / variances
    tables = [
        _draw_levels(x[:, column], alpha, labels, k, rng)
        for column, alpha in _level_priors(places, priors)
    ]
    return MixtureParts(np.log(weights / weights.sum()), means, precisions, tables)


def _draw_columns(
    x: Array, prior: Any, labels: Any, k: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw means and variances (K, D) from normal-inverse-gamma posteriors."""
    known = ~np.isnan(x)
    z = np.where(known, x - prior.location, 0.0)
    n = sum_members(known * 1.0, labels[None], k)[0]
    mean = sum_members(z, labels[None], k)[0] / np.maximum(n, 1.0)
    left = np.where(known, z - mean[labels], 0.0)
    scatter = sum_members(left**2, labels[None], k)[0]
    kappa = prior.mean_strength + n
    scale = prior.scale + 0.5 * (scatter + prior.mean_strength * n / kappa * mean**2)
    variances = scale / rng.standard_gamma(np.broadcast_to(prior.shape + 0.5 * n, scale.shape))
    centre = prior.location + n * mean / kappa
    return rng.normal(centre, np.sqrt(variances / kappa)), variances


def _level_priors(places: Mapping[str, Any], priors: Mapping[str, Any]) -> list[tuple[int, Array]]:
    """Return the columns of codes with the concentrations of their levels."""
    found: list[tuple[int, Array]] = []
    if "bernoulli" in places:
        count = len(places["bernoulli"])
        a, b = (
            np.broadcast_to(part, count) for part in (priors["bernoulli"].a, priors["bernoulli"].b)
        )
        found += [(int(j), np.array([b[i], a[i]])) for i, j in enumerate(places["bernoulli"])]
    if "categorical" in places:
        each = zip(places["categorical"], priors["categorical"], strict=True)
        found += [(int(j), np.asarray(prior.concentration)) for j, prior in each]
    return found


def _draw_levels(
    codes: Array, alpha: Array, labels: Any, k: int, rng: np.random.Generator
) -> Array:
    """Draw probabilities of levels, (K, L)."""
    seen = codes[:, None] == np.arange(len(alpha))
    counts = sum_members(seen * 1.0, labels[None], k)[0]
    drawn = np.maximum(rng.standard_gamma(alpha + counts), np.finfo(float).tiny)
    return drawn / drawn.sum(axis=1, keepdims=True)
