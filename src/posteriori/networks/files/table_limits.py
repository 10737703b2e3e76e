"""Tables that a file declares: refused with their bytes before memory is taken for them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from posteriori.numerics.blocks.memory import free_memory

__all__ = ["require_room"]

#: Bytes of a float64.
_DOUBLE = 8

#: How many times their bytes tables take while they are read, laid out for the network and asked.
_TAKEN = 7

#: Binary digits of a number of cells that is multiplied out; larger ones are told as powers of two.
_DIGITS = 60

#: Axes that an array of NumPy has at most.
_MOST_AXES = 64


def require_room(
    path: object, scopes: Iterable[Sequence[str]], sizes: Mapping[str, int], limit: int | None
) -> None:
    """Refuse a file whose tables together need more memory than a limit.

    Parameters
    ----------
    path : object
        The file, for messages.
    scopes : iterable of sequence of str
        The axes of each table, by name.
    sizes : mapping of str to int
        How many states each variable has.
    limit : int, optional
        Bytes of tables; None is what reading and asking them may take, half of free memory.

    Raises
    ------
    MemoryError
        That says how many bytes are needed.
    ValueError
        When a table has more axes than an array can have.
    """
    if limit is None:
        free = free_memory()
        limit = 1 << _DIGITS if free is None else free // (2 * _TAKEN)
    needed = 0
    for scope in scopes:
        needed += _table_bytes(path, scope, sizes, limit)
        if needed > limit:
            raise MemoryError(
                f"{path} declares tables of at least {needed} bytes, and {limit} may be used; "
                f"the table of {_target(scope)} is the first that does not fit"
            )


def _table_bytes(path: object, scope: Sequence[str], sizes: Mapping[str, int], limit: int) -> int:
    """Return the bytes of one table, 8 Π_i K_i."""
    digits = sum(math.log2(sizes[name]) for name in scope)
    if digits > _DIGITS:
        raise MemoryError(
            f"{path} declares a table of {_target(scope)} with 2**{digits + 3:.0f} bytes, and {limit} "
            "may be used"
        )
    if len(scope) > _MOST_AXES:
        raise ValueError(
            f"{path}: the table of {_target(scope)} has {len(scope)} variables, an array at most "
            f"{_MOST_AXES}; leave out those with one state"
        )
    return _DOUBLE * math.prod(sizes[name] for name in scope)


def _target(scope: Sequence[str]) -> str:
    """Name a table by its last variable; a constant factor has none."""
    return repr(scope[-1]) if scope else "no variables"
