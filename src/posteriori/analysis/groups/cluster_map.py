r"""Rows on a plane: the two directions in which clusters lie farthest apart.

Columns are standardised and levels of categories are columns of zeros and ones. With means :math:`m_k` of
:math:`n_k` rows, directions are those of

.. math:: \sum_k n_k\,m_k m_k^\top,

then, where clusters lie on a line or are one, those in which rows vary most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.analysis.fitting.preparation import OTHER, CodeColumns
from posteriori.numerics.types import Array

__all__ = ["ClusterMap", "make_map"]

#: Share of the largest spread below which a direction is none.
_FLAT = 1e-9


class ClusterMap(NamedTuple):
    """Places of rows.

    Attributes
    ----------
    places : (N, 2)
    means, covs : (K, 2), (K, 2, 2)
        Of the clusters, rows weighted by their probabilities.
    names : pair of str
        What the directions are.
    """

    places: Array
    means: Array
    covs: Array
    names: tuple[str, str]


def make_map(encoder: CodeColumns, codes: Array, shares: Array) -> ClusterMap:
    """Place rows on a plane.

    Parameters
    ----------
    encoder : CodeColumns
    codes : (N, D)
        What it made of the rows; NaN for gaps.
    shares : (N, K)
        p(cluster | row).
    """
    kinds = list(encoder.kinds.values())
    if len(kinds) == 2 and not np.isnan(codes).any() and set(kinds) <= {"number", "date"}:
        first, second = encoder.kinds
        return _with_ellipses(codes, shares, (first, second))
    z, names = _standardised(encoder, codes)
    z, means = _filled(z, shares)
    axes = _directions(z, means, np.sqrt(shares.sum(axis=0)))
    told = tuple(f"{'→↑'[k]} {_in_words(axis, names)}" for k, axis in enumerate(axes.T))
    return _with_ellipses(z @ axes, shares, (told[0], told[1]))


def _standardised(encoder: CodeColumns, codes: Array) -> tuple[Array, list[str]]:
    """Return columns with mean 0 and variance 1, levels as indicators; NaN for gaps."""
    parts, names = [], []
    for place, (name, kind) in enumerate(encoder.kinds.items()):
        column = codes[:, place]
        if kind != "category":
            parts.append(column)
            names.append(name)
            continue
        for code, level in enumerate((OTHER, *encoder.levels_[name])):
            if (column == code).any():
                parts.append(np.where(np.isnan(column), np.nan, column == code))
                names.append(f"{name} = {level}")
    x = np.stack(parts, axis=1)
    spread = np.nanstd(x, axis=0)
    return (x - np.nanmean(x, axis=0)) / np.where(spread > 0.0, spread, 1.0), names


def _filled(z: Array, shares: Array) -> tuple[Array, Array]:
    """Fill gaps with the means of the clusters, and return these (K, D) too."""
    known = ~np.isnan(z)
    total = np.maximum(shares.T @ known, np.finfo(float).tiny)
    means = shares.T @ np.where(known, z, 0.0) / total
    return np.where(known, z, shares @ means), means


def _directions(z: Array, means: Array, root_sizes: Array) -> Array:
    """Return two orthogonal directions, (D, 2); the second is 0 where there is only one column."""
    apart = np.linalg.svd(root_sizes[:, None] * means, full_matrices=False)
    rest = apart[2][apart[1] > _FLAT * np.sqrt(len(z))][:2]
    left = z - z @ rest.T @ rest
    if len(rest) < 2:
        spread = np.linalg.eigh(left.T @ left)
        kept = spread[1].T[::-1][spread[0][::-1] > _FLAT * len(z)][: 2 - len(rest)]
        rest = np.concatenate([rest, kept])
    axes = np.zeros((z.shape[1], 2))
    axes[:, : len(rest)] = rest.T
    turn = np.sign(
        axes[np.abs(axes).argmax(axis=0), [0, 1]]
    )  # the largest weight points right or up
    return axes * np.where(turn == 0.0, 1.0, turn)


def _in_words(axis: Array, names: list[str]) -> str:
    """Name the columns of largest weight."""
    order = np.argsort(-np.abs(axis))[:2]
    told = [f"{'−' if axis[j] < 0 else '+'} {names[j]}" for j in order if abs(axis[j]) > _FLAT]
    return ", ".join(told).removeprefix("+ ")


def _with_ellipses(places: Array, shares: Array, names: tuple[str, str]) -> ClusterMap:
    total = np.maximum(shares.sum(axis=0), np.finfo(float).tiny)
    means = shares.T @ places / total[:, None]
    covs = np.stack(
        [
            (share[:, None] * (places - mean)).T @ (places - mean) / n
            for share, mean, n in zip(shares.T, means, total, strict=True)
        ]
    )
    return ClusterMap(places, means, covs, names)
