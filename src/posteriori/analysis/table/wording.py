"""Words of messages that depend on a number."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 row", "1,200 rows", "2 entries".

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "entry", "entries")
    ('1 row', '1,200 rows', '2 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
