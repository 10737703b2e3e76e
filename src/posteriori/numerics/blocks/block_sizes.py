"""How much is worked on at a time, each size with its reason; in numbers of 8 bytes.

Long tables pass block by block: what is computed of a block is used while it is in the processor's
cache, and what is large only in between never takes much memory. Sizes change no answer beyond
rounding.
"""

from __future__ import annotations

__all__ = [
    "IN_CACHE",
    "IN_MEMORY",
    "NODES",
    "ROWS_OF_ONE_THREAD",
    "TEMPORARIES",
    "WITH_COPY",
    "rows_per_block",
]

#: 1 MB, a block of a table that is read several times while it is in the cache.
IN_CACHE = 1 << 17

#: 512 kB, a block that is converted or centred as it is read: it lies in the cache twice.
WITH_COPY = 1 << 16

#: 256 kB, rows × nodes of a rule: several arrays of this size are made of each block.
NODES = 1 << 15

#: 64 kB, arguments of a formula that makes many temporaries of its size.
TEMPORARIES = 1 << 13

#: 8 MB, what is held at a time where all of it might not fit into memory.
IN_MEMORY = 1 << 20

#: So few rows that inner products start no threads, which would wait for busy cores.
ROWS_OF_ONE_THREAD = 1 << 13


def rows_per_block(width: int, size: int = IN_CACHE) -> int:
    """Return how many rows of so many numbers make a block; at least 1.

    Examples
    --------
    >>> rows_per_block(100), rows_per_block(0, size=4), rows_per_block(10**9)
    (1310, 4, 1)
    """
    return max(1, size // max(width, 1))
