"""Whether predictions hold what they promise, in words, as far as so many rows can tell."""

from __future__ import annotations

import numpy as np

from posteriori.analysis.table.wording import counted
from posteriori.numerics.types import Array

__all__ = ["classes_in_words", "intervals_in_words"]

#: Standard errors up to which a share is as was promised.
_FAR = 2.0


def intervals_in_words(level: Array) -> str:
    """Say whether intervals of 90 % hold what came.

    Parameters
    ----------
    level : (N,)
        Of what came in its predictive distribution.
    """
    held, count = int(np.sum(np.abs(level - 0.5) <= 0.45)), len(level)
    apart = (held / count - 0.9) / np.sqrt(0.09 / count)
    judged = "as they promise: they can be taken at their word"
    if abs(apart) > _FAR:
        judged = (
            "more than promised: they are wider than they need to be"
            if apart > 0
            else "less than promised: they are too narrow"
        )
    return (
        f"Intervals of 90% held what came in {held:,} of {counted(count, 'unseen row')} "
        f"({held / count:.0%}), {judged}."
    )


def classes_in_words(p: Array, codes: Array) -> str:
    """Say whether the most probable classes come as often as their probabilities promise.

    Parameters
    ----------
    p : (N, K)
    codes : (N,)
        Classes that came.
    """
    sure, right = p.max(axis=1), int(np.sum(p.argmax(axis=1) == codes))
    count, expected = len(codes), float(sure.sum())
    error = float(np.sqrt((sure * (1.0 - sure)).sum()))  # of independent rows
    judged = "as often as promised: probabilities can be taken at their word"
    if abs(right - expected) > max(_FAR * error, 1.0):  # one row is no reason
        judged = (
            "more often than promised: probabilities are too cautious"
            if right > expected
            else "less often than promised: probabilities are too sure of themselves"
        )
    return (
        f"The most probable class came in {right:,} of {counted(count, 'unseen row')} "
        f"({right / count:.1%}), where its probabilities promise {expected / count:.1%}; {judged}."
    )
