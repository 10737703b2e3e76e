"""Groups of mixtures that were fitted, where no partitions are drawn: components joined where no dip lies between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.counted.number_weights import Found
from posteriori.analysis.groups.number_search import Tried
from posteriori.inference.classes.column_checks import places_of
from posteriori.inference.mixtures.summits.density_ridges import MixtureParts, join_over_dips
from posteriori.inference.mixtures.summits.row_valleys import seen_ridges
from posteriori.mixture.groups.drawn_groups import DEEPEST, SHALLOWEST, fewest_rows
from posteriori.numerics.linalg import inverse_from_factor
from posteriori.numerics.logspace import softmax
from posteriori.numerics.types import Array, IntArray

__all__ = ["JoinedMixtures", "join_tried"]

#: Depths of dips that are asked for.
_DEPTHS = 10

#: Rows that show whether there is a dip; of more, every k-th.
_LOOKED_AT = 2000

#: Weight below which a mixture is not looked at.
_HOPELESS = 1e-3


class JoinedMixtures(NamedTuple):
    """How probable each number of groups is, and the group of each component of the best mixture."""

    found: Found
    groups: tuple[int, ...]


def join_tried(found: Found, x: Array, kinds: Sequence[str], most: int) -> JoinedMixtures:
    """Weigh numbers of groups by the evidence of the mixtures whose components form them."""
    some = x[:: max(1, len(x) // _LOOKED_AT)]
    each = softmax(np.array([one.log_evidence for one in found.tried]))
    chances = np.zeros(most)
    best: dict[int, tuple[float, Tried, IntArray]] = {}
    depths = np.linspace(DEEPEST, SHALLOWEST, _DEPTHS) if "normal" in kinds else np.full(1, np.inf)
    for one, weight in zip(found.tried, each.tolist(), strict=True):
        if weight < _HOPELESS:
            continue
        for groups in _joined(one, some, kinds, depths, most):
            number = int(groups.max()) + 1
            chances[number - 1] += weight / len(depths)
            if number not in best or one.log_evidence > best[number][0]:
                best[number] = (one.log_evidence, one, groups)
    number = int(chances.argmax()) + 1
    _, told, groups = best[number]
    numbers = tuple(range(1, most + 1))
    joined = found._replace(numbers=numbers, probabilities=chances / chances.sum(), best=told)
    return JoinedMixtures(joined, tuple(groups.tolist()))


def _joined(one: Tried, x: Array, kinds: Sequence[str], depths: Array, most: int) -> list[IntArray]:
    """Return the groups of components, for each depth that a dip must have."""
    labels = one.model.predict(x)
    sizes = np.bincount(labels, minlength=one.number).astype(np.float64)
    parts = _parts_of(one, kinds)
    at = places_of(tuple(kinds)).get("normal", np.empty(0, dtype=np.int64))
    numbers = np.where(np.isnan(x[:, at]), parts.means[labels], x[:, at])
    ridges = seen_ridges(parts, numbers, labels, sizes)
    least = fewest_rows(len(x))
    return [join_over_dips(ridges, sizes, dip=dip, least=least, most=most) for dip in depths]


def _parts_of(one: Tried, kinds: Sequence[str]) -> MixtureParts:
    """Return the expected components of a fitted mixture."""
    model: Any = one.model
    log_weights = np.log(np.maximum(model.weights_, np.finfo(float).tiny))
    if one.kind == "normal mixture":
        return MixtureParts(
            log_weights, model.means_, inverse_from_factor(np.linalg.cholesky(model.covariances_))
        )
    beliefs = model.posterior_.components
    k, tables = one.number, []
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
