"""To which step numbers were recorded: what lies between two steps was not seen."""

from __future__ import annotations

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["recording_step", "repeated_value"]

#: Rows, and share of them, from which on one value counts as repeated.
_FEWEST_REPEATED, _SHARE_REPEATED = 5, 0.1

#: Steps below this share of the spread are as good as none.
_FINEST = 1e-8


def recording_step(y: Array) -> float:
    """Return the step h to which numbers are recorded, or 0 where they show none.

    It is 1 for whole numbers, and otherwise that of the last decimal place in use. Where a value
    repeats among others of all digits, it is the difference by which these typically lie apart.

    Examples
    --------
    >>> import numpy as np
    >>> recording_step(np.array([3.0, 4.0, 8.0])), recording_step(np.array([9.99, 20.0]))
    (1.0, 0.01)
    >>> recording_step(np.append(np.zeros(9), np.pi)), recording_step(np.array([0.0, np.pi]))
    (3.141592653589793, 0.0)
    """
    values = np.unique(y)
    if len(values) == 1:  # of one number: where it ends, if it does
        return next((10.0**-d for d in range(16) if np.round(values[0], d) == values[0]), 0.0)
    finest = _FINEST * float(values[-1] - values[0])
    for decimals in range(16):
        step = 10.0**-decimals
        if decimals and step < finest:
            break
        if (np.round(values, decimals) == values).all():
            return step
    return float(np.median(np.diff(values))) if repeated_value(y) is not None else 0.0


def repeated_value(y: Array) -> tuple[float, float] | None:
    """Return the most frequent number and its share of the rows, if that is large."""
    values, counts = np.unique(y, return_counts=True)
    most = int(counts.argmax())
    if counts[most] < max(_FEWEST_REPEATED, _SHARE_REPEATED * len(y)):
        return None
    return float(values[most]), float(counts[most] / len(y))
