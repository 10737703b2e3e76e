r"""Rows as partitions are drawn from them: priors whose scale is learned, and gaps filled in where that is needed.

How alike the covariances of components are is not known before: they have D + 2 degrees of freedom about a scale
that all share, which leaves them free, or 2D + 12. Then the variance of a column differs among components by half of
itself or less (its sd is :math:`\sqrt{2/(D + 9)}` of its mean), and a few rows of one group are hardly a component of
their own; no fewer than twice D, as else among many columns some combination hardly varies by chance. Both expect the same
precisions of the same scale, so that the scale fits when a chain passes from one to the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.classes.column_checks import places_of
from posteriori.inference.latent.units import table_spread
from posteriori.inference.mixtures.columns.class_model import class_model
from posteriori.inference.mixtures.columns.class_partitions import class_clusters
from posteriori.inference.mixtures.columns.partition_classes import draw_classes
from posteriori.inference.mixtures.partitions.cluster_kernels import ClusterModel
from posteriori.inference.mixtures.partitions.conjugate_clusters import cluster_parts, join_parts
from posteriori.inference.mixtures.partitions.parameter_draws import normals_given_partitions
from posteriori.inference.mixtures.partitions.scale_draws import log_scale_gain
from posteriori.inference.mixtures.summits.density_ridges import MixtureParts
from posteriori.inference.mixtures.wishart_priors import default_prior
from posteriori.mixture.latent_classes import LatentClasses
from posteriori.mixture.normal.bayesian_gaussian_mixture import BayesianGaussianMixture
from posteriori.numerics.types import Array

__all__ = ["WIDTH", "RowsToDraw", "rows_to_draw"]

#: Part of a column's variance that components are expected to have: the middle of what can be.
WIDTH = 0.5

#: Components of the mixture that fills in gaps.
_FILLING = 6


class RowsToDraw(NamedTuple):
    """A table with what may be believed of its components before.

    Attributes
    ----------
    kind : {"normal mixture", "latent classes"}
    kinds : tuple of D str
    places : mapping
        Columns of each kind.
    at : (D',)
        Columns of numbers.
    tables : sequence of C (N, D)
        Rows as each chain sees them.
    priors : sequence of M
        A NormalWishart, or priors by kind, of components as wide as the columns, for each M degrees of freedom.
    models : sequence of C sequences of M ClusterModel
    """

    kind: str
    kinds: tuple[str, ...]
    places: Mapping[str, Any]
    at: Any
    tables: Sequence[Array]
    priors: Sequence[Any]
    models: Sequence[Sequence[ClusterModel]]

    def scaled_prior(self, rival: int, scales: Array) -> Any:
        """Return a prior whose normal columns have scales (D',), in units of those that they have."""
        prior = self.priors[rival]
        if self.kind == "normal mixture":
            return _with_scales(prior, scales)
        if "normal" not in prior:
            return prior
        return prior | {"normal": _with_scales(prior["normal"], scales)}

    def log_evidence(self, mixture: Any, rival: int, scales: Array) -> float:
        """Return the bound of a mixture that was fitted with such scales as one where they and ν are unknown."""
        bound, beliefs = float(mixture.log_evidence_), mixture.posterior_.components
        prior = self.priors[rival]
        if self.kind == "latent classes":
            if "normal" not in prior:
                return bound
            beliefs, prior = beliefs["normal"], prior["normal"]
        dof, units = _spread(prior)
        precisions = _expected_precisions(beliefs) * units
        return bound + log_scale_gain(scales, dof, precisions, WIDTH) - math.log(len(self.priors))

    def numbers(self, chain: int) -> Array:
        """Return the columns of numbers, (N, D'), NaN at gaps of latent classes."""
        return self.tables[chain][:, self.at]

    def draw_parts(
        self, labels: Any, rival: int, scales: Array, chain: int, rng: np.random.Generator
    ) -> MixtureParts:
        """Draw the components of a partition (N,)."""
        x, prior = self.tables[chain], self.scaled_prior(rival, scales)
        if self.kind == "latent classes":
            return draw_classes(self.places, x, prior, labels, 1.0, rng)
        sizes = np.bincount(labels)
        weights = rng.standard_gamma(1.0 + sizes)
        beliefs = normals_given_partitions(x, labels[None], prior, len(sizes))
        drawn: Any = beliefs.sample(rng=rng)
        return MixtureParts(np.log(weights / weights.sum()), drawn.mean[0], drawn.precision[0])

    def mixture(self, components: int, rival: int, scales: Array, shares: Array) -> Any:
        """Return the estimator that climbs from shares (N, K) of rows."""
        options: dict[str, Any] = {
            "weight_concentration_prior": 1.0,
            "responsibilities_init": shares,
            "split_merge": False,
            "tol": 1e-3,
            "random_state": 0,
        }
        prior = self.scaled_prior(rival, scales)
        if self.kind == "normal mixture":
            return BayesianGaussianMixture(components, prior=prior, **options)
        given = {"normal": prior["normal"]} if "normal" in prior else None
        return LatentClasses(components, list(self.kinds), priors=given, n_init=1, **options)


def rows_to_draw(
    x: Array, kinds: Sequence[str], kind: str, chains: int, rng: np.random.Generator
) -> RowsToDraw:
    """Return the rows for so many chains.

    Latent classes leave gaps out of their sums. Normal vectors cannot: each chain sees other draws of what is
    missing, from a mixture that was fitted to what is seen.
    """
    places = places_of(tuple(kinds))
    at = places.get("normal", np.empty(0, dtype=np.int64))
    if kind == "latent classes":
        classes = _class_priors(places, x)
        rivals = [class_clusters(places, x, prior) for prior in classes]
        return RowsToDraw(kind, tuple(kinds), places, at, [x] * chains, classes, [rivals] * chains)
    tables = _filled(x, chains, rng)
    _, mean, variance = table_spread(x, None)
    usual = default_prior(mean, variance)
    priors = [
        NormalWishart(usual.location, usual.mean_strength, dof, usual.scale / dof)  # E[Λ] = 1/v
        for dof in _degrees(len(mean))
    ]
    models = [
        [join_parts(cluster_parts(prior, MvNormal, table)) for prior in priors] for table in tables
    ]
    return RowsToDraw(kind, tuple(kinds), places, at, tables, priors, models)


def _degrees(size: int) -> tuple[float, float]:
    """Return the degrees of freedom of covariances that are free, and of such that are alike."""
    return size + 2.0, 2.0 * size + 12.0


def _filled(x: Array, chains: int, rng: np.random.Generator) -> Sequence[Array]:
    if not np.isnan(x).any():
        return [x] * chains
    seed = int(rng.integers(2**31))
    mixture = BayesianGaussianMixture(_FILLING, tol=1e-2, random_state=seed).fit(x)
    return list(mixture.impute(x, draws=chains, rng=rng))


def _class_priors(places: Mapping[str, Any], x: Array) -> list[dict[str, Any]]:
    """Return the default priors of all kinds, that of normal columns with several degrees of freedom."""
    parts = class_model(places, x, None, {}, integrate=True).parts
    usual = {kind: part.prior for kind, part in parts.items()}
    if "normal" not in usual:
        return [usual]
    wide = usual["normal"]
    variance = wide.scale / (wide.shape - 1.0)
    return [
        usual
        | {
            "normal": NormalInverseGamma(
                wide.location, wide.mean_strength, 0.5 * dof, 0.5 * dof * variance
            )
        }
        for dof in _degrees(1)
    ]


def _with_scales(prior: Any, scales: Array) -> Any:
    if isinstance(prior, NormalInverseGamma):
        return NormalInverseGamma(
            prior.location, prior.mean_strength, prior.shape, prior.scale * scales
        )
    root = np.sqrt(scales)
    return NormalWishart(
        prior.location, prior.mean_strength, prior.dof, prior.scale / np.outer(root, root)
    )


def _spread(prior: Any) -> tuple[Any, Array]:
    """Return degrees of freedom, and the diagonal of the inverse scale of precisions."""
    if isinstance(prior, NormalInverseGamma):
        return 2.0 * prior.shape, 2.0 * prior.scale
    return prior.dof, np.diagonal(prior.inverse_scale)


def _expected_precisions(beliefs: Any) -> Array:
    """Return the diagonals of E[Λ], (K, D)."""
    if isinstance(beliefs, NormalInverseGamma):
        return np.asarray(beliefs.shape / beliefs.scale)
    return np.asarray(beliefs.dof[:, None] * np.diagonal(beliefs.scale, axis1=1, axis2=2))
