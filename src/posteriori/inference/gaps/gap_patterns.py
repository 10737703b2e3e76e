"""Which entries rows miss (NaN): rows of one pattern, and patterns of one size, are worked on together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from posteriori.numerics.blocks.block_sizes import WITH_COPY, rows_per_block
from posteriori.numerics.types import Array, IntArray

__all__ = ["GapPart", "GapPatterns", "few_parts_of", "gap_patterns", "parts_of"]

#: Bits of a word that entries of a pattern are packed into.
_WORD = 64

#: Up to so many numbers, of rows or of their gaps squared, are looked at in one piece.
_FEW_NUMBERS = 20_000


class GapPart(NamedTuple):
    """G patterns with M gaps each, and n rows of each.

    Attributes
    ----------
    rows : (G, n)
    missing : (G, M)
        Columns of the gaps.
    padded : bool
        Whether some patterns have fewer gaps: D stands for none.
    """

    rows: IntArray
    missing: IntArray
    padded: bool = False


class GapPatterns(NamedTuple):
    """Rows grouped by the entries that they miss.

    Attributes
    ----------
    seen : (P, D) bool
        The patterns, those of equally many gaps and rows beside each other.
    order : (N,)
        Numbers of the rows, pattern by pattern.
    offsets : (P + 1,)
        Where the rows of each pattern begin in ``order``.
    whole : GapPart or None
        All rows, where they are few.
    """

    seen: Array
    order: IntArray
    offsets: IntArray
    whole: GapPart | None = None


def gap_patterns(x: Array) -> GapPatterns:
    """Group the rows of (N, D) by their gaps, in O(N D + N log N).

    Examples
    --------
    >>> patterns = gap_patterns(np.array([[1.0, np.nan], [2.0, 3.0], [4.0, np.nan]]))
    >>> patterns.seen.tolist(), patterns.order.tolist(), patterns.offsets.tolist()
    ([[True, True], [True, False]], [1, 0, 2], [0, 1, 3])
    """
    seen = ~np.isnan(x)
    code = np.zeros(len(x), dtype=np.int64)
    for first in range(0, x.shape[1], _WORD):
        word = _packed(seen[:, first : first + _WORD])
        if np.all(word == word[:1]):
            continue
        levels, level = np.unique(word, return_inverse=True)
        code = np.unique(code * len(levels) + level, return_inverse=True)[1]
    sizes = np.bincount(code)
    patterns = np.empty((len(sizes), x.shape[1]), dtype=bool)
    patterns[code] = seen
    like = np.lexsort((sizes, -patterns.sum(axis=1)))
    place = np.empty_like(like)
    place[like] = np.arange(len(like))
    order = np.argsort(place[code], kind="stable")
    found = GapPatterns(patterns[like], order, np.append(0, np.cumsum(sizes[like])))
    return found._replace(whole=_joined(found))


def parts_of(patterns: GapPatterns) -> Iterator[GapPart]:
    """Yield patterns of equally many gaps and rows, as many at a time as the cache holds twice."""
    seen, order, offsets, _ = patterns
    sizes, gaps = np.diff(offsets), (~seen).sum(axis=1)
    changes = np.flatnonzero(np.diff(sizes) | np.diff(gaps)) + 1
    bounds = [0, *changes.tolist(), len(seen)] if len(seen) else []
    for first, last in pairwise(bounds):
        size, gap, width = int(sizes[first]), int(gaps[first]), seen.shape[1]
        rows = order[offsets[first] : offsets[last]].reshape(last - first, size)
        missing = np.nonzero(~seen[first:last])[1].reshape(last - first, gap)
        down = min(size, rows_per_block(width, WITH_COPY))
        along = rows_per_block(max(width * down, gap * gap), WITH_COPY)
        for g in range(0, last - first, along):
            for n in range(0, size, down):
                yield GapPart(rows[g : g + along, n : n + down], missing[g : g + along])


def few_parts_of(patterns: GapPatterns) -> Iterable[GapPart]:
    """Return parts as :func:`parts_of` does, but one of all rows where these are few."""
    return parts_of(patterns) if patterns.whole is None else (patterns.whole,)


def _joined(patterns: GapPatterns) -> GapPart | None:
    """Return few rows as one part: calls of NumPy, not numbers, cost time there.

    Each row is a pattern of its own, and those of fewer gaps than others have places beyond the last column.
    """
    gaps = (~patterns.seen).sum(axis=1)
    most, width = int(gaps.max(initial=0)), patterns.seen.shape[1]
    if len(patterns.order) * max(most * most, width) > _FEW_NUMBERS or (gaps == most).all():
        return None
    missing = np.full((len(gaps), most), width)
    missing[np.arange(most) < gaps[:, None]] = np.nonzero(~patterns.seen)[1]
    times = np.diff(patterns.offsets)
    return GapPart(patterns.order[:, None], np.repeat(missing, times, axis=0), padded=True)


def _packed(seen: Array) -> Array:
    """Return up to 64 bits of each row as a number."""
    bits = np.zeros((len(seen), _WORD // 8), dtype=np.uint8)
    bytes_ = np.packbits(seen, axis=1)
    bits[:, : bytes_.shape[1]] = bytes_
    return bits.view(np.uint64)[:, 0]
