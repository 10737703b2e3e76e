"""Whether clusters are what k-means takes them for: round, alike in spread and size, free of outliers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.validation import require_moderate, unmasked

__all__ = ["ClusterDiagnosis", "diagnose_clusters"]

#: Ratios beyond these are worth a word: of columns' scales, of axes, of spreads, of sizes.
_SCALES, _ELONGATION, _SPREADS, _SIZES = 10.0, 2.0, 3.0, 5.0

#: Tukey's "far out": beyond the upper quartile of distances by this many times their range.
_FAR_OUT = 3.0

#: Clusters of fewer rows have no quartiles worth the name.
_ENOUGH = 8

#: A cluster this much smaller than all are on average holds outliers alone.
_LONELY = 0.02


class ClusterDiagnosis(NamedTuple):
    """What clusters look like.

    Attributes
    ----------
    clusters : (K,)
        Their labels, sorted.
    sizes : (K,)
        Rows of each.
    scales : (D,)
        Standard deviation of each column over all rows: columns of large scale decide about distances.
    elongation : (K,)
        Standard deviation along the longest axis by that of the others together (their root mean
        square); 1 is round. NaN of clusters with fewer than D + 1 rows, and of one column.
    spread : (K,)
        Root mean square distance from the centre, by √D.
    outliers : (M,)
        Rows far out in their cluster, or with hardly another in it.
    remedies : tuple of str
        What to do about it, in words; none where nothing is amiss.
    """

    clusters: Any
    sizes: IntArray
    scales: Array
    elongation: Array
    spread: Array
    outliers: IntArray
    remedies: tuple[str, ...]


def diagnose_clusters(X: Any, labels: Any) -> ClusterDiagnosis:
    """Tell how clusters differ from the round ones of one size that k-means expects, and what helps.

    Parameters
    ----------
    X : array_like (N, D)
        Finite numbers.
    labels : array_like (N,)
        Cluster of each row, from k-means or anywhere else.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate(
    ...     [rng.normal(size=(90, 2)) * [9, 1], rng.normal(size=(90, 2)) * [9, 1] + [0, 8]]
    ... )
    >>> found = diagnose_clusters(X, np.repeat([0, 1], 90))
    >>> found.remedies[0].split(":")[0]
    'clusters 0, 1 are 2 times as long as wide or more'
    """
    x = check_array(unmasked("X", X), dtype=np.float64, input_name="X")
    require_moderate("X", x)
    labels = column_or_1d(labels)
    check_consistent_length(x, labels)
    clusters, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    elongation, spread = np.empty(len(clusters)), np.empty(len(clusters))
    far = np.zeros(len(x), dtype=bool)
    for k in range(len(clusters)):
        members = np.flatnonzero(codes == k)
        centred = x[members] - x[members].mean(axis=0)
        distance = np.sqrt(np.mean(centred**2, axis=1))
        spread[k] = np.sqrt(np.mean(distance**2))
        elongation[k] = _elongation(centred)
        far[members] = _far_out(distance, len(x) / len(clusters))
    made = ClusterDiagnosis(
        clusters, sizes, x.std(axis=0), elongation, spread, np.flatnonzero(far), ()
    )
    return made._replace(remedies=tuple(_remedies(made)))


def _elongation(centred: Array) -> float:
    n, d = centred.shape
    if n < d + 1 or d == 1:
        return np.nan
    values = np.maximum(np.linalg.eigvalsh(centred.T @ centred), 0.0)
    others = np.sqrt(np.mean(values[:-1]))
    if values[-1] == 0.0:
        return np.nan
    return float(np.sqrt(values[-1]) / others) if others > 0 else np.inf


def _far_out(distance: Array, expected: float) -> Array:
    """Tell which rows of a cluster lie far out."""
    if len(distance) <= _LONELY * expected:
        return np.ones(len(distance), dtype=bool)
    if len(distance) < _ENOUGH:
        return np.zeros(len(distance), dtype=bool)
    low, high = np.quantile(distance, [0.25, 0.75])
    return distance > high + _FAR_OUT * (high - low)


def _remedies(found: ClusterDiagnosis) -> list[str]:
    words = []
    scales = found.scales[found.scales > 0]
    if scales.size and scales.max() > _SCALES * scales.min():
        words.append(
            f"column {int(np.argmax(found.scales))} varies {scales.max() / scales.min():.3g} times as much as "
            "another and decides about distances: standardise the columns "
            "(sklearn.preprocessing.StandardScaler)"
        )
    long = found.clusters[np.nan_to_num(found.elongation) >= _ELONGATION]
    if len(long):
        words.append(
            f"clusters {', '.join(map(str, long))} are {_ELONGATION:g} times as long as wide or more: k-means "
            "cuts such clusters across; a mixture of normals with full covariances (GaussianMixture), or "
            "other columns (a change of basis), follows them"
        )
    several = found.spread[found.spread > 0]
    if several.size > 1 and several.max() > _SPREADS * several.min():
        words.append(
            f"one cluster is {several.max() / several.min():.3g} times as wide as another: k-means gives rows "
            "of wide clusters to narrow neighbours; a mixture of normals (GaussianMixture) has a "
            "covariance for each"
        )
    if len(found.sizes) > 1 and found.sizes.max() > _SIZES * found.sizes.min():
        words.append(
            f"one cluster has {found.sizes.max()} rows, another {found.sizes.min()}: k-means prefers clusters of "
            "like size; a mixture (GaussianMixture) has weights"
        )
    if len(found.outliers):
        words.append(
            f"{len(found.outliers)} rows lie far out and pull their means: medians (KMedians) or medoids "
            "(KMedoids) hold against them"
        )
    return words
