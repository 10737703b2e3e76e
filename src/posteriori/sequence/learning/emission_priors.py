"""Priors of what states emit: as they are given, or by default on the scale of the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.distributions.joint.normal_inverse_wishart import NormalInverseWishart
from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.inference.classes.gaussian_learning import default_columns_prior
from posteriori.inference.latent.units import column_scale, table_spread
from posteriori.inference.mixtures.wishart_priors import default_prior
from posteriori.numerics.linalg import inverse_from_factor
from posteriori.numerics.types import Array

__all__ = [
    "are_separate",
    "columns_prior",
    "counts_prior",
    "prior_sizes",
    "rows_prior",
    "symbols_prior",
]


def are_separate(prior: Any) -> bool:
    """Tell whether mean and precision have priors of their own: a pair (Normal, Gamma)."""
    return isinstance(prior, tuple) and list(map(type, prior)) == [Normal, Gamma]


def columns_prior(prior: Any, x: Array, frequency: Array | None) -> Any:
    """Return the prior of mean and variance of each column, as of ``NaiveBayes`` by default."""
    if prior is None:
        _, mean, variance = table_spread(x, frequency)
        return default_columns_prior(mean, column_scale(mean, variance))
    return _proper(prior)


def rows_prior(prior: Any, x: Array, frequency: Array | None) -> NormalWishart:
    """Return the prior of mean and precision of rows, as of ``BayesianGaussianMixture`` by default."""
    if prior is None:
        _, mean, variance = table_spread(x, frequency)
        return default_prior(mean, column_scale(mean, variance))
    if isinstance(prior, NormalInverseWishart):
        inverse = inverse_from_factor(np.linalg.cholesky(prior.scale))
        return NormalWishart(prior.location, prior.mean_strength, prior.dof, inverse)
    if not isinstance(prior, NormalWishart):
        raise TypeError(
            f"emission_prior must be a NormalWishart or NormalInverseWishart, got {prior!r}"
        )
    return prior


def counts_prior(prior: Any, x: Array, frequency: Array | None) -> Any:
    """Return the prior of rates, by default exponential with the mean of the column."""
    if prior is None:
        _, mean, _ = table_spread(x, frequency)
        return Gamma(1.0, rate=1.0 / np.where(mean > 0, mean, 1.0))
    return _proper(prior)


def symbols_prior(prior: Any, sizes: list[int]) -> list[Array]:
    """Return the concentrations of each column's symbols, 1 by default."""
    if prior is None:
        return [np.ones(size) for size in sizes]
    given = list(prior) if isinstance(prior, list | tuple) else [prior] * len(sizes)
    if len(given) != len(sizes):
        raise ValueError(
            f"emission_prior must have a Dirichlet for each of the {len(sizes)} columns"
        )
    for one, size in zip(given, sizes, strict=True):
        if not isinstance(one, Dirichlet) or one.concentration.shape != (size,):
            raise ValueError(
                f"emission_prior must be a Dirichlet of the {size} symbols of each column, got {one!r}"
            )
    return [np.asarray(one.concentration) for one in given]


def prior_sizes(prior: Any, columns: int) -> list[int | None]:
    """Return how many symbols a prior speaks of in each column; None where it does not say."""
    given = prior.get("categorical") if isinstance(prior, Mapping) else prior
    each = list(given) if isinstance(given, list | tuple) else [given] * columns
    if len(each) != columns:
        return [None] * columns
    return [one.concentration.shape[-1] if isinstance(one, Dirichlet) else None for one in each]


def _proper(prior: Any) -> Any:
    if not getattr(prior, "_all_proper", False):
        raise ValueError(f"emission_prior must be a proper conjugate distribution, got {prior!r}")
    return prior
