"""Rows as partitions are drawn from them: priors of several widths, and gaps filled in where that is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.classes.column_checks import places_of
from posteriori.inference.mixtures.columns.class_model import class_model
from posteriori.inference.mixtures.columns.class_partitions import class_clusters
from posteriori.inference.mixtures.columns.partition_classes import draw_classes
from posteriori.inference.mixtures.partitions.cluster_kernels import ClusterModel
from posteriori.inference.mixtures.partitions.conjugate_clusters import cluster_parts, join_parts
from posteriori.inference.mixtures.partitions.parameter_draws import normals_given_partitions
from posteriori.inference.mixtures.summits.density_ridges import MixtureParts
from posteriori.inference.mixtures.wishart_priors import default_prior, table_spread
from posteriori.mixture.latent_classes import LatentClasses
from posteriori.mixture.normal.bayesian_gaussian_mixture import BayesianGaussianMixture
from posteriori.numerics.types import Array

__all__ = ["RowsToDraw", "rows_to_draw"]

#: Variances that components are expected to have, as parts of those of the columns.
_WIDTHS = (1.0, 0.3, 0.1, 0.03)

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
        A NormalWishart, or priors by kind, of each width.
    models : sequence of C sequences of M ClusterModel
    """

    kind: str
    kinds: tuple[str, ...]
    places: Mapping[str, Any]
    at: Any
    tables: Sequence[Array]
    priors: Sequence[Any]
    models: Sequence[Sequence[ClusterModel]]

    def numbers(self, chain: int) -> Array:
        """Return the columns of numbers, (N, D'), NaN at gaps of latent classes."""
        return self.tables[chain][:, self.at]

    def draw_parts(
        self, labels: Any, model: int, chain: int, rng: np.random.Generator
    ) -> MixtureParts:
        """Draw the components of a partition (N,)."""
        x, prior = self.tables[chain], self.priors[model]
        if self.kind == "latent classes":
            return draw_classes(self.places, x, prior, labels, 1.0, rng)
        sizes = np.bincount(labels)
        weights = rng.standard_gamma(1.0 + sizes)
        beliefs = normals_given_partitions(x, labels[None], prior, len(sizes))
        drawn: Any = beliefs.sample(rng=rng)
        return MixtureParts(np.log(weights / weights.sum()), drawn.mean[0], drawn.precision[0])

    def mixture(self, components: int, model: int, shares: Array) -> Any:
        """Return the estimator that climbs from shares (N, K) of rows."""
        options: dict[str, Any] = {
            "weight_concentration_prior": 1.0,
            "responsibilities_init": shares,
            "split_merge": False,
            "tol": 1e-3,
            "random_state": 0,
        }
        prior = self.priors[model]
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
        NormalWishart(usual.location, usual.mean_strength, usual.dof, usual.scale / width)
        for width in _WIDTHS
    ]
    models = [
        [join_parts(cluster_parts(prior, MvNormal, table)) for prior in priors] for table in tables
    ]
    return RowsToDraw(kind, tuple(kinds), places, at, tables, priors, models)


def _filled(x: Array, chains: int, rng: np.random.Generator) -> Sequence[Array]:
    if not np.isnan(x).any():
        return [x] * chains
    seed = int(rng.integers(2**31))
    mixture = BayesianGaussianMixture(_FILLING, tol=1e-2, random_state=seed).fit(x)
    return list(mixture.impute(x, draws=chains, rng=rng))


def _class_priors(places: Mapping[str, Any], x: Array) -> list[dict[str, Any]]:
    """Return the default priors of all kinds, those of normal columns in several widths."""
    parts = class_model(places, x, None, {}, integrate=True).parts
    usual = {kind: part.prior for kind, part in parts.items()}
    if "normal" not in usual:
        return [usual]
    wide = usual["normal"]
    return [
        usual
        | {
            "normal": NormalInverseGamma(
                wide.location, wide.mean_strength, wide.shape, wide.scale * width
            )
        }
        for width in _WIDTHS
    ]
