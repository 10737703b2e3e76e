r"""Clusters whose parameters are integrated out: what rows must be for the compiled loops.

Rows in one cluster share a parameter with a conjugate prior, so that data add to the prior's parameters,

.. math:: \ln p(x_1,\dots,x_n) = A\Bigl(\eta + \sum_i t(x_i)\Bigr) - A(\eta) + \sum_i c(x_i),

and a cluster is known by its sums. :func:`cluster_parts` takes any pair of ``distributions.conjugate``
whose prior is one of those in its table; parts of several kinds of columns are joined by
:func:`join_parts`::

    model = join_parts(
        [*cluster_parts(prior, Poisson, counts), *cluster_parts(other, Normal, sizes)]
    )

Columns are independent in a cluster, those of a normal vector excepted. NaN is a gap, which is left out of
all sums: that integrates over it. A normal vector takes none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.conjugate.pair import NaturalPair, Pair, find_pair
from posteriori.distributions.coordinates import inner
from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.joint.normal_gamma import NormalGamma
from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.joint.normal_inverse_wishart import NormalInverseWishart
from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.numbers.beta import Beta
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.distributions.numbers.log_normal import LogNormal
from posteriori.distributions.statistics import Sums
from posteriori.distributions.unknown import trace_likelihood
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.inference.mixtures.partitions.cluster_kernels import (
    CATEGORY,
    COUNTS,
    GAMMA,
    NORMAL,
    WIDTH,
    ClusterModel,
    rows_log_marginal,
)
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.lazy import scipy_linalg, special
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_squares

__all__ = [
    "ClusterPart",
    "cluster_parts",
    "cluster_room",
    "join_parts",
    "log_marginal",
]


class ClusterPart(NamedTuple):
    """Columns that share a statistic.

    Attributes
    ----------
    kind : int
        One of ``cluster_kernels``.
    width : int
        Number of features; of a code, how many it can be.
    features : (N, F)
        What rows add; NaN in the first one is a gap.
    constants : (C,)
        Of the prior.
    n_statistics : int
        Length of a cluster's statistics.
    log_carrier : float
        Σ c(x), which no partition changes.
    """

    kind: int
    width: int
    features: Array
    constants: Array
    n_statistics: int
    log_carrier: float


def cluster_parts(prior: Any, likelihood: Any, x: Array) -> list[ClusterPart]:
    """Return the parts of rows that a conjugate pair describes.

    Parameters
    ----------
    prior : distribution
        Proper; of a column's parameters its batch shape is () or (D,), of a vector's ().
    likelihood : family or function
        As of :func:`posteriori.bayes`: ``Poisson``, or ``lambda v: Normal(0.0, variance=v)``.
    x : (N, D)
        Rows. Vectors (``MvNormal``, ``Multinomial``) take all columns together.

    Raises
    ------
    TypeError
        When the two are not conjugate, or clusters of the pair have no compiled form.
    ValueError
        When rows lie outside the support, or the prior is improper or of another shape.
    """
    family = isinstance(likelihood, type) and issubclass(likelihood, Distribution)
    pair = find_pair(prior, likelihood if family else trace_likelihood(likelihood))
    make = _PARTS.get(type(prior))
    if make is None:
        raise TypeError(
            f"partitions need a prior among {', '.join(f.__name__ for f in _PARTS)}; "
            f"got {type(prior).__name__}"
        )
    if not prior._all_proper:
        raise ValueError("an improper prior gives clusters no evidence; use a proper prior")
    size = () if pair.event_ndim else (x.shape[1],)
    if prior.batch_shape not in ((), size):
        raise ValueError(
            f"the prior must be one for all clusters, of batch shape () or {size}; "
            f"got {prior.batch_shape}"
        )
    _check_rows(pair, x)
    return make(pair, x)


def join_parts(parts: Sequence[ClusterPart]) -> ClusterModel:
    """Return the model of all parts."""
    feature = state = constant = 0
    table = []
    for part in parts:
        table.append([part.kind, feature, part.width, state, constant])
        feature += part.features.shape[1]
        state += part.n_statistics
        constant += len(part.constants)
    return ClusterModel(
        as_kernel_input(np.concatenate([part.features for part in parts], axis=1)),
        np.array(table, dtype=np.int64),
        as_kernel_input(np.concatenate([part.constants for part in parts])),
        state,
        float(sum(part.log_carrier for part in parts)),
    )


def cluster_room(model: ClusterModel, clusters: int) -> tuple[Array, Array]:
    """Return room for the statistics of clusters (K, S) and for a vector; memory not used is not taken."""
    return np.empty((clusters, model.n_statistics)), np.empty(int(model.parts[:, WIDTH].max()))


def log_marginal(model: ClusterModel, rows: Any) -> float:
    """Return ln p(rows) of one cluster that holds them, but for their carriers."""
    statistics, room = cluster_room(model, 1)
    return float(rows_log_marginal(model, statistics, room, np.asarray(rows, dtype=np.int64)))


def _check_rows(pair: Pair, x: Array) -> None:
    """Refuse what the likelihood cannot produce."""
    gaps = np.isnan(x)
    if pair.event_ndim and gaps.any():
        raise ValueError(
            f"row {int(np.argwhere(gaps)[0, 0])} has a gap: partitions of {pair.likelihood_family.__name__} "
            "vectors need complete rows; fill them in (impute), leave them out, or take independent columns"
        )
    if gaps.all(axis=0).any():
        column = int(np.argmax(gaps.all(axis=0)))
        raise ValueError(f"column {column} is missing in all rows; leave it out")
    pair.check(_filled(pair, x), 0)


def _filled(pair: Pair, x: Array) -> Array:
    """Return the table with an entry of the same column, one that can be, in each gap."""
    gaps = np.isnan(x)
    if not gaps.any():
        return x
    wrong = gaps | pair.off_support(x)
    return np.where(gaps, x[np.argmin(wrong, axis=0), np.arange(x.shape[1])], x)


# -- normal vectors and columns ----------------------------------------------------------------


def _vector_part(pair: Pair, x: Array) -> list[ClusterPart]:
    prior = pair.prior
    spread = prior.scale if isinstance(prior, NormalInverseWishart) else prior.inverse_scale
    root = np.linalg.cholesky(spread)
    with np.errstate(over="ignore"):
        z = scipy_linalg.solve_triangular(root, (x - prior.location).T, lower=True).T
    return [_normal_part(z, prior.mean_strength, prior.dof, np.diagonal(root))]


def _normal_column_parts(pair: Pair, x: Array) -> list[ClusterPart]:
    """A column is a vector of length 1 with ν = 2a and Ψ = 2b."""
    prior = pair.prior
    logs = pair.likelihood_family is LogNormal
    x = np.log(x) if logs else x
    rate = prior.rate if isinstance(prior, NormalGamma) else prior.scale
    with np.errstate(over="ignore"):
        z = (x - prior.location) / np.sqrt(2.0 * rate)
    size = x.shape[1:]
    given = (prior.mean_strength, 2.0 * prior.shape, np.sqrt(2.0 * rate))
    strength, dof, root = (np.broadcast_to(value, size) for value in given)
    parts = [
        _normal_part(z[:, d, None], strength[d], dof[d], root[d, None]) for d in range(x.shape[1])
    ]
    if logs:  # the density of x is that of ln x, over x
        jacobian = np.nansum(x, axis=0)
        parts = [
            part._replace(log_carrier=part.log_carrier - jacobian[d])
            for d, part in enumerate(parts)
        ]
    return parts


def _normal_part(z: Array, strength: Array, dof: Array, root: Array) -> ClusterPart:
    """Return the part of rows in units of the prior: m = 0, Ψ = I."""
    require_squares("X, measured from the prior's mean in units of its scale,", z)
    d, n = z.shape[1], np.arange(len(z) + 1.0)
    # what depends on n alone: ln Γ_D((ν + n)/2)/Γ_D(ν/2) − (nD/2) ln π + (D/2) ln κ/(κ + n)
    seen = z.shape[0] - int(np.isnan(z[:, 0]).sum())
    gamma = sum(
        special.gammaln(0.5 * (dof + n - j)) - special.gammaln(0.5 * (dof - j)) for j in range(d)
    )
    fixed = gamma - 0.5 * n * d * (LOG_2PI - np.log(2.0)) - 0.5 * d * np.log1p(n / strength)
    constants = np.concatenate([[strength, dof], fixed])
    carrier = -seen * float(np.log(root).sum())
    return ClusterPart(NORMAL, d, z, constants, 2 + d + d * (d + 1) // 2, carrier)


# -- rates -------------------------------------------------------------------------------------


def _rate_parts(pair: NaturalPair, x: Array) -> list[ClusterPart]:
    """Rows add t₁ to the shape and t₂ to the rate."""
    prior = pair.prior
    inverse = isinstance(prior, InverseGamma)
    (first, second), carriers = _increments(pair, x)
    sign, rate = (-1.0, prior.scale) if inverse else (1.0, prior.rate)
    size = x.shape[1:]
    a, b = np.broadcast_to(prior.shape, size), np.broadcast_to(rate, size)
    start = special.gammaln(a) - a * np.log(b)
    return [
        ClusterPart(
            GAMMA,
            2,
            np.stack([sign * first[:, d], -second[:, d]], axis=1),
            np.array([a[d], b[d], start[d]]),
            3,
            carriers[d],
        )
        for d in range(x.shape[1])
    ]


# -- probabilities -----------------------------------------------------------------------------


def _beta_parts(pair: NaturalPair, x: Array) -> list[ClusterPart]:
    size = x.shape[1:]
    a, b = np.broadcast_to(pair.prior.a, size), np.broadcast_to(pair.prior.b, size)
    if pair.likelihood_family is Bernoulli:
        return [_code_part(x[:, d], np.array([b[d], a[d]])) for d in range(x.shape[1])]
    (ones, zeros), carriers = _increments(pair, x)
    return [
        _count_part(
            np.stack([ones[:, d], zeros[:, d]], axis=1), np.array([a[d], b[d]]), carriers[d]
        )
        for d in range(x.shape[1])
    ]


def _dirichlet_parts(pair: NaturalPair, x: Array) -> list[ClusterPart]:
    alpha = pair.prior.concentration
    if pair.likelihood_family is Categorical:
        alpha = np.broadcast_to(alpha, (x.shape[1], alpha.shape[-1]))
        return [_code_part(x[:, d], alpha[d]) for d in range(x.shape[1])]
    (counts,), carriers = _increments(pair, x)
    return [_count_part(counts, alpha, float(carriers))]


def _code_part(codes: Array, alpha: Array) -> ClusterPart:
    constants = np.concatenate([[alpha.sum()], alpha])
    return ClusterPart(CATEGORY, len(alpha), codes[:, None], constants, len(alpha) + 1, 0.0)


def _count_part(counts: Array, alpha: Array, carrier: float) -> ClusterPart:
    constants = np.concatenate([[alpha.sum()], alpha])
    return ClusterPart(COUNTS, len(alpha), counts, constants, len(alpha) + 1, float(carrier))


def _increments(pair: NaturalPair, x: Array) -> tuple[list[Array], Array]:
    """Return what each entry adds to the natural parameters, NaN in gaps, and Σ c(x) of the columns.

    A batch of N data sets of one row each is a table of N rows.
    """
    gaps = np.isnan(x)
    statistics = pair.summarize(_filled(pair, x)[None])
    if isinstance(statistics, Sums):
        carrier = statistics.log_carrier
    else:  # of large counts: what is left of the log likelihood at some parameter
        theta = pair.prior._interior()
        family = pair.prior_family
        exponent = inner(statistics.sums, family.sufficient(theta), family._natural_ndims)
        carrier = pair.log_likelihood(theta, statistics) - exponent
    shape = x.shape[: x.ndim - pair.event_ndim]
    seen = ~gaps if shape == x.shape else np.ones(shape, dtype=bool)
    sums = [np.where(gaps, np.nan, part) for part in statistics.sums]
    return sums, np.where(seen, carrier, 0.0).sum(axis=0)


#: Priors whose clusters have a compiled form.
_PARTS: dict[type, Callable[[Any, Array], list[ClusterPart]]] = {
    NormalWishart: _vector_part,
    NormalInverseWishart: _vector_part,
    NormalGamma: _normal_column_parts,
    NormalInverseGamma: _normal_column_parts,
    Gamma: _rate_parts,
    InverseGamma: _rate_parts,
    Beta: _beta_parts,
    Dirichlet: _dirichlet_parts,
}
