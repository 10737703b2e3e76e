"""Where coordinate ascent begins: k-means++ for classes, singular vectors for factors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from posteriori.modeling.binding.bound import GAUSSIAN, Bound, BoundFactor
from posteriori.modeling.binding.labelled import Access, Switch
from posteriori.modeling.variational.ascent.features import Features, find_features
from posteriori.modeling.variational.nodes.discrete_node import soft_states
from posteriori.numerics.types import Array, IntArray

__all__ = ["class_counts", "class_start", "factor_start", "seeded_variables"]

#: Rows that seeds are chosen from.
_SAMPLE = 5000


def seeded_variables(bound: Bound, factors: Sequence[BoundFactor]) -> dict[str, str]:
    """Return the variables that need a start other than their prior: "classes" or "factors".

    These are indices of unknown parameters, and the longer one of normal variables that multiply.
    """
    found: dict[str, str] = {}
    for term in (term for factor in factors for term in factor.terms):
        switches = [a for a in term.accesses if isinstance(a, Switch)]
        if len(switches) < len(term.accesses):
            found |= {switch.name: "classes" for switch in switches}
        normal = [a.name for a in term.accesses if bound.families[a.name] in GAUSSIAN]
        if len(normal) > 1:
            longest = max(normal, key=lambda name: math.prod(bound.layouts[name].shape))
            found.setdefault(longest, "factors")
    return found


def class_start(
    name: str,
    size: int,
    bound: Bound,
    factors: Sequence[BoundFactor],
    starts: int,
    rng: np.random.Generator,
    rows: IntArray | None = None,
) -> Array:
    """Return first probabilities of a discrete variable, (starts, *axes, K).

    With ``rows``, only those of its first axis.

    Members are clustered by the data that depend on them, by k-means from k-means++ seeds: the
    first start uses all classes, others fewer, because classes that are not needed die out slowly.
    States of a single code fall into classes at random. Without such data the probabilities are
    random.
    """
    shape = bound.layouts[name].shape
    if rows is not None:
        shape = (len(rows), *shape[1:])
    features = find_features(name, bound, factors, Switch, rng, rows)
    count = math.prod(shape)
    found = np.empty((starts, count, size))
    used = class_counts(size, starts)
    for s in range(starts):
        if features is None:
            found[s] = rng.dirichlet(np.ones(size), size=count)
            continue
        found[s] = soft_states(_k_means(_of_one_start(features, rng), used[s], rng), size)
    return found.reshape(starts, *shape, size)


def class_counts(size: int, starts: int) -> list[int]:
    """Return how many classes each start uses: all, then fewer in equal ratios down to 2."""
    if starts == 1 or size <= 2:
        return [size] * starts
    ratios = np.geomspace(size, 2, min(starts, size - 1))
    counts = [round(float(r)) for r in ratios]
    return [counts[s % len(counts)] for s in range(starts)]


def factor_start(
    name: str,
    bound: Bound,
    factors: Sequence[BoundFactor],
    starts: int,
    rng: np.random.Generator,
    rows: IntArray | None = None,
) -> Array:
    """Return first means of a normal variable that another one multiplies, (starts, *axes).

    With ``rows``, only those of its first axis.

    The first start has the scores of the leading principal components of the data that depend
    on it; the others, and what lies beyond the rank, are random.
    """
    shape = bound.layouts[name].shape
    if rows is not None:
        shape = (len(rows), *shape[1:])
    found = rng.standard_normal((starts, *shape))
    features = find_features(name, bound, factors, Access, rng, rows)
    width = shape[-1] if shape else 1
    if features is None or len(features.columns) != math.prod(shape[:-1]) or len(shape) < 2:
        return found
    left, values, _ = np.linalg.svd(_sampled_columns(features.columns, rng), full_matrices=False)
    rank = min(width, int(np.sum(values > 1e-10 * values[0])))
    scores = left[:, :rank] * np.sqrt(len(left))
    first = found[0].reshape(-1, width)
    first[:, :rank] = scores + 0.01 * first[:, :rank]
    return found


def _sampled_columns(features: Array, rng: np.random.Generator) -> Array:
    """Return the features, or random mixtures of them where there are very many."""
    if features.shape[1] <= 300:
        return features
    return features @ rng.standard_normal((features.shape[1], 300)) / np.sqrt(300.0)


def _of_one_start(features: Features, rng: np.random.Generator) -> Array:
    """Return what is clustered: of a single code a random number for each of its states."""
    if not features.is_one_code:
        return features.columns
    return features.columns @ rng.standard_normal((features.columns.shape[1], 1))


def _k_means(x: Array, k: int, rng: np.random.Generator) -> Array:
    """Return the nearest of k centres for each row: k-means++ seeds, then Lloyd's steps."""
    sample = x if len(x) <= _SAMPLE else x[rng.choice(len(x), _SAMPLE, replace=False)]
    centers = sample[rng.integers(len(sample))][None]
    nearest = _distances(sample, centers)[:, 0]
    while len(centers) < k:
        total = nearest.sum()
        if total > 0:
            chosen = int(np.searchsorted(np.cumsum(nearest), rng.random() * total))
        else:
            chosen = int(rng.integers(len(sample)))
        new = sample[min(chosen, len(sample) - 1)][None]
        centers = np.concatenate([centers, new])
        nearest = np.minimum(nearest, _distances(sample, new)[:, 0])
    for _ in range(10):
        codes = _distances(sample, centers).argmin(axis=1)
        for j in range(k):
            members = sample[codes == j]
            if len(members):
                centers[j] = members.mean(axis=0)
    return _distances(x, centers).argmin(axis=1)


def _distances(x: Array, centers: Array) -> Array:
    """Return |x − c|² for all pairs."""
    squares = (x**2).sum(axis=1)[:, None] + (centers**2).sum(axis=1)
    return np.maximum(squares - 2.0 * (x @ centers.T), 0.0)
