r"""Weights, means and covariances given drawn partitions: a drawn partition gives a drawn mixture.

Given who belongs where, beliefs are conjugate. With :math:`n` rows of mean :math:`\bar x` and scatter
:math:`S` in a cluster,

.. math:: \kappa' = \kappa + n, \quad \nu' = \nu + n, \quad m' = \frac{\kappa m + n\bar x}{\kappa'}, \quad
   V'^{-1} = V^{-1} + S + \frac{\kappa n}{\kappa'}(\bar x - m)(\bar x - m)^\top,

and the weights are Dirichlet(α + n). A cluster without rows is as the prior expects.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.types import Array

__all__ = [
    "PartitionNormals",
    "count_members",
    "draw_normals",
    "normals_given_partitions",
    "sum_members",
]


class PartitionNormals(NamedTuple):
    """Mixtures of normals, one for each drawn partition.

    Attributes
    ----------
    weights : (S, K)
    means, covs : (S, K, D), (S, K, D, D)
    """

    weights: Array
    means: Array
    covs: Array


def draw_normals(
    x: Array,
    labels: Any,
    prior: NormalWishart,
    concentration: float,
    components: int,
    rng: np.random.Generator,
) -> PartitionNormals:
    """Draw the parameters of K components given drawn partitions.

    Parameters
    ----------
    x : (N, D)
        Rows without gaps.
    labels : (S, N)
        Codes below K.
    prior : NormalWishart
        Of mean and precision of every component.
    concentration : float
        Of the Dirichlet of the weights, for each component.
    components : int
        K, those without rows among them.
    rng : Generator

    Examples
    --------
    >>> prior = NormalWishart([0.0], 0.1, 3.0, [[1.0]])
    >>> drawn = draw_normals(
    ...     np.arange(4.0)[:, None],
    ...     np.array([[0, 0, 1, 1]]),
    ...     prior,
    ...     1.0,
    ...     3,
    ...     np.random.default_rng(0),
    ... )
    >>> drawn.means.shape, drawn.covs.shape, float(drawn.weights.sum().round(6))
    ((1, 3, 1), (1, 3, 1, 1), 1.0)
    """
    beliefs = normals_given_partitions(x, labels, prior, components)
    shares = rng.standard_gamma(concentration + count_members(labels, components))
    drawn: Any = beliefs.sample(rng=rng)
    white = triangular_inverse(np.linalg.cholesky(drawn.precision))
    covs = np.swapaxes(white, -1, -2) @ white
    return PartitionNormals(shares / shares.sum(axis=1, keepdims=True), drawn.mean, covs)


def normals_given_partitions(
    x: Array, labels: Any, prior: NormalWishart, components: int
) -> NormalWishart:
    """Return the beliefs about K components given partitions (S, N), a batch (S, K)."""
    centre = x.mean(axis=0)  # from which sums of squares lose no digits
    z, m = x - centre, prior.location - centre
    n = count_members(labels, components)[..., None]
    mean = sum_members(z, labels, components) / np.maximum(n, 1.0)
    products = np.einsum("ni,nj->nij", z, z).reshape(len(z), -1)
    second = sum_members(products, labels, components).reshape(*mean.shape, -1)
    scatter = second - n[..., None] * mean[..., :, None] * mean[..., None, :]
    shift = mean - m
    kappa = prior.mean_strength + n
    apart = (prior.mean_strength * n / kappa)[..., None] * shift[..., :, None] * shift[..., None, :]
    root = np.linalg.cholesky(prior.inverse_scale + scatter + apart)  # LLᵀ = V'⁻¹
    white = triangular_inverse(root)
    location = centre + m + (n / kappa) * shift
    scale = np.swapaxes(white, -1, -2) @ white
    return NormalWishart(location, kappa[..., 0], prior.dof + n[..., 0], scale)


def count_members(labels: Any, components: int) -> Array:
    """Return how many rows clusters have in each partition, (S, K)."""
    flat, size = _flat(labels, components)
    return np.bincount(flat, minlength=size).reshape(-1, components).astype(np.float64)


def sum_members(values: Array, labels: Any, components: int) -> Array:
    """Return the sums of columns of values (N, F) over the rows of clusters in each partition, (S, K, F)."""
    flat, size = _flat(labels, components)
    sums = [np.bincount(flat, np.tile(column, len(labels)), size) for column in values.T]
    return np.stack(sums, axis=-1).reshape(len(labels), components, -1)


def _flat(labels: Any, components: int) -> tuple[Any, int]:
    draws = len(labels)
    return (labels + components * np.arange(draws)[:, None]).ravel(), draws * components
