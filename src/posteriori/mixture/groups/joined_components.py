"""Components of a fitted mixture that form one group: those between which its density has no dip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.inference.classes.column_checks import places_of
from posteriori.inference.mixtures.summits.density_ridges import MixtureParts, join_over_dips
from posteriori.inference.mixtures.summits.row_valleys import seen_ridges
from posteriori.mixture.groups.drawn_groups import DEEPEST, SHALLOWEST, fewest_rows
from posteriori.mixture.normal.bayesian_gaussian_mixture import BayesianGaussianMixture
from posteriori.numerics.linalg import inverse_from_factor
from posteriori.numerics.types import Array, IntArray

__all__ = ["group_components"]

#: Depths of dips that are asked for.
_DEPTHS = 10

#: Rows that show whether there is a dip; of more, every k-th.
_LOOKED_AT = 2000


def group_components(model: Any, x: Array, kinds: Sequence[str], most: int) -> list[IntArray]:
    """Return the group of each component, once for every depth that a dip must have.

    Parameters
    ----------
    model : BayesianGaussianMixture or LatentClasses
        That was fitted.
    x : (N, D)
        Numbers and codes; NaN is missing.
    kinds : sequence of D str
    most : int
        Groups.
    """
    x = x[:: max(1, len(x) // _LOOKED_AT)]
    labels = model.predict(x)
    sizes = np.bincount(labels, minlength=model.n_components).astype(np.float64)
    parts = _parts_of(model)
    at = places_of(tuple(kinds)).get("normal", np.empty(0, dtype=np.int64))
    numbers = np.where(np.isnan(x[:, at]), parts.means[labels], x[:, at])
    ridges = seen_ridges(parts, numbers, labels, sizes)
    least = fewest_rows(len(x))
    depths = np.linspace(DEEPEST, SHALLOWEST, _DEPTHS) if "normal" in kinds else np.full(1, np.inf)
    return [join_over_dips(ridges, sizes, dip=dip, least=least, most=most) for dip in depths]


def _parts_of(model: Any) -> MixtureParts:
    """Return the expected components of a fitted mixture."""
    log_weights = np.log(np.maximum(model.weights_, np.finfo(float).tiny))
    if isinstance(model, BayesianGaussianMixture):
        return MixtureParts(
            log_weights, model.means_, inverse_from_factor(np.linalg.cholesky(model.covariances_))
        )
    beliefs = model.posterior_.components
    k, tables = model.n_components, []
    means, precisions = np.empty((k, 0)), np.empty((k, 0, 0))
    if "normal" in beliefs:
        means = np.asarray(beliefs["normal"].location)
        each = np.asarray(beliefs["normal"].shape / beliefs["normal"].scale)
        precisions = each[:, :, None] * np.eye(each.shape[1])
    if "bernoulli" in beliefs:
        ones = np.asarray(beliefs["bernoulli"].mean)
        tables += [np.stack([1.0 - share, share], axis=1) for share in ones.T]
    tables += [np.asarray(belief.mean) for belief in beliefs.get("categorical", ())]
    return MixtureParts(log_weights, means, precisions, tables)
