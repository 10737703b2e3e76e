r"""Which clusters may be one, by the rows that they share: :math:`\sum_n r_{nj}\,r_{nk}`."""

from __future__ import annotations

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["merge_order", "shared_parts"]

#: Clusters that share less than this part of the largest possible value are not merged.
_LEAST = 0.01

#: Nor are clusters with so few rows, by the root of Σ r².
_FEW = 0.5


def merge_order(overlap: Array) -> list[tuple[int, int]]:
    """Return pairs (source, target) that may be one cluster, those that share most first.

    Parameters
    ----------
    overlap : (K, K)
        Σ r_j r_k over all rows.

    Examples
    --------
    >>> merge_order(np.array([[9.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 5.0]]))
    [(1, 0)]
    """
    parts = shared_parts(overlap)
    return sorted(parts, key=lambda pair: (-parts[pair], pair))


def shared_parts(overlap: Array) -> dict[tuple[int, int], float]:
    """Return what pairs (source, target) share, in parts of the most possible; the source is the smaller."""
    own = np.sqrt(np.maximum(np.diag(overlap), np.finfo(np.float64).tiny))
    found: dict[tuple[int, int], float] = {}
    for a, b in zip(*np.triu_indices(len(own), 1), strict=True):
        source, target = (a, b) if own[a] < own[b] else (b, a)
        part = float(overlap[a, b] / (own[a] * own[b]))
        if part >= _LEAST and own[source] > _FEW:
            found[int(source), int(target)] = part
    return found
