"""How many sentences a text has."""

import re

__all__ = ["MOST", "count_sentences"]

#: What everybody reads of a verdict.
MOST = 3


def count_sentences(text: str) -> int:
    """Return the number of sentences: each ends with a stop, and another begins with a capital, a quote or a number.

    >>> count_sentences("“x” is 3.7. It ends in 1985-10-02. “y” too; 2 more do.")
    3
    """
    return len(re.split(r"(?<=[.?!])\s+(?=[A-Z“\d−#{])", text.strip()))
