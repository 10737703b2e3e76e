"""What is asked of the words of a verdict."""

import re

__all__ = ["FOR_STATISTICIANS", "MOST", "count_sentences", "without_numbers"]

#: What everybody reads of a verdict.
MOST = 3

#: What nobody else understands.
FOR_STATISTICIANS = re.compile(
    r"\b(nats?|evidence|posterior|prior|log|density|variance|RMSE|MAE|R²|standard error|held out|±)\b"
)


def count_sentences(text: str) -> int:
    """Return the number of sentences: each ends with a stop, and another begins with a capital, a quote or a number.

    >>> count_sentences("“x” is 3.7. It ends in 1985-10-02. “y” too; 2 more do.")
    3
    """
    return len(re.split(r"(?<=[.?!])\s+(?=[A-Z“\d−#{])", text.strip()))


def without_numbers(text: str) -> str:
    """Return a text with # in the place of numbers.

    >>> without_numbers("−1.5 to 2,000, in 9%")
    '# to #, in #'
    """
    return re.sub(r"−?\d[\d,.]*\d%?|\d%?", "#", text)
