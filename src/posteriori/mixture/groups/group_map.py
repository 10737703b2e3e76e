r"""Rows on a plane: the two directions in which groups lie farthest apart.

Columns are standardised and levels of categories are columns of zeros and ones. With means :math:`m_k` of
:math:`n_k` rows, directions are those of

.. math:: \sum_k n_k\,m_k m_k^\top,

then, where groups lie on a line or are one, those in which rows vary most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from posteriori.numerics.blocks.block_sizes import WITH_COPY, rows_per_block
from posteriori.numerics.types import Array

__all__ = ["GroupMap", "map_groups"]

#: Share of the largest spread below which a direction is none.
_FLAT = 1e-9


class GroupMap(NamedTuple):
    """Places of rows.

    Attributes
    ----------
    places : (N, 2)
    means, covs : (K, 2), (K, 2, 2)
        Of the groups, rows weighted by their probabilities.
    names : pair of str
        What the directions are.
    """

    places: Array
    means: Array
    covs: Array
    names: tuple[str, str]


def map_groups(
    columns: Mapping[str, Sequence[str]], codes: Array, shares: Array, *, numbers: bool
) -> GroupMap:
    """Place rows on a plane.

    Parameters
    ----------
    columns : mapping from name to sequence of str
        The levels of each category; none of other columns.
    codes : (N, D)
        Numbers, and places of levels; NaN for gaps.
    shares : (N, K)
        p(group | row).
    numbers : bool
        Whether all columns hold numbers: two of these without gaps are the plane.
    """
    if numbers and len(columns) == 2 and not np.isnan(codes).any():
        first, second = columns
        return _with_ellipses(codes, shares, (first, second))
    rows = _StandardRows.of(columns, codes)
    means = rows.group_means(shares)
    axes = _directions(rows.scatter(shares, means), means, shares.sum(axis=0))
    told = tuple(f"{'→↑'[k]} {_in_words(axis, rows.names)}" for k, axis in enumerate(axes.T))
    places = np.concatenate([z @ axes for z in rows.filled(shares, means)])
    return _with_ellipses(places, shares, (told[0], told[1]))


class _StandardRows(NamedTuple):
    """Columns with mean 0 and variance 1, levels as indicators, made in blocks of rows when they are read."""

    codes: Array
    sources: list[
        tuple[int, int | None]
    ]  # the place of a column, and of a category's level its code
    names: list[str]
    mean: Array
    spread: Array

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[str]], codes: Array) -> _StandardRows:
        """Learn means and spreads of what is seen."""
        sources: list[tuple[int, int | None]] = []
        names = []
        for place, (name, levels) in enumerate(columns.items()):
            if not levels:
                sources.append((place, None))
                names.append(name)
            for code, level in enumerate(levels):
                if (codes[:, place] == code).any():
                    sources.append((place, code))
                    names.append(f"{name} = {level}")
        moments = [_seen_moments(_column(codes, *source)) for source in sources]
        mean, spread = np.array(moments).T
        return cls(codes, sources, names, mean, np.where(spread > 0.0, spread, 1.0))

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Return z of some rows, NaN at gaps, one block after the other."""
        step = rows_per_block(len(self.sources), WITH_COPY)
        for first in range(0, len(self.codes), step):
            here = slice(first, first + step)
            z = np.stack([_column(self.codes[here], *s) for s in self.sources], axis=1)
            yield here, (z - self.mean) / self.spread

    def group_means(self, shares: Array) -> Array:
        """Return the means of groups, (K, D)."""
        total, sums = (np.zeros((shares.shape[1], len(self.sources))) for _ in range(2))
        for here, z in self.blocks():
            total += shares[here].T @ ~np.isnan(z)
            sums += shares[here].T @ np.nan_to_num(z)
        return sums / np.maximum(total, np.finfo(float).tiny)

    def filled(self, shares: Array, means: Array) -> Iterator[Array]:
        """Return z with the means of the groups at gaps, block by block."""
        for here, z in self.blocks():
            yield np.where(np.isnan(z), shares[here] @ means, z)

    def scatter(self, shares: Array, means: Array) -> Array:
        """Return Σ z zᵀ, (D, D)."""
        return sum((z.T @ z for z in self.filled(shares, means)), np.zeros((len(self.mean),) * 2))


def _column(codes: Array, place: int, code: int | None) -> Array:
    """Return a column of numbers, or where a category has a level."""
    column = codes[:, place]
    return column if code is None else np.where(np.isnan(column), np.nan, column == code)


def _seen_moments(column: Array) -> tuple[float, float]:
    return float(np.nanmean(column)), float(np.nanstd(column))


def _directions(scatter: Array, means: Array, sizes: Array) -> Array:
    """Return two orthogonal directions, (D, 2); the second is 0 where there is only one column."""
    count = sizes.sum()
    apart = np.linalg.svd(np.sqrt(sizes)[:, None] * means, full_matrices=False)
    rest = apart[2][apart[1] > _FLAT * np.sqrt(count)][:2]
    if len(rest) < 2:
        across = np.eye(len(scatter)) - rest.T @ rest
        spread = np.linalg.eigh(across @ scatter @ across)
        kept = spread[1].T[::-1][spread[0][::-1] > _FLAT * count][: 2 - len(rest)]
        rest = np.concatenate([rest, kept])
    axes = np.zeros((len(scatter), 2))
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


def _with_ellipses(places: Array, shares: Array, names: tuple[str, str]) -> GroupMap:
    total = np.maximum(shares.sum(axis=0), np.finfo(float).tiny)
    means = shares.T @ places / total[:, None]
    covs = np.stack(
        [
            (share[:, None] * (places - mean)).T @ (places - mean) / n
            for share, mean, n in zip(shares.T, means, total, strict=True)
        ]
    )
    return GroupMap(places, means, covs, names)
