r"""Which factor only describes noise, perhaps: the weakest one that is not off.

Where every column of the data has its own noise, a factor that only one of them needs is noise by another
name, :math:`w_{dk}^2 + 1/\tau_d`, and ascents exchange the two very slowly. So its loadings are made
negligible, and the beliefs are kept if an ascent from there ends higher.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["NEGLIGIBLE", "OFF", "weakest_factor"]

#: What scores and loadings of a dropped factor are multiplied by.
NEGLIGIBLE = 1e-8

#: Loadings whose mean is a smaller part of their second moment are off already.
OFF = 0.1


def weakest_factor(squares: Array, moments: Array, sizes: Array) -> int | None:
    """Return the number of the weakest factor that is not off; None where all are.

    Parameters
    ----------
    squares, moments : (K,)
        Sums over the columns of data of E[w]² and of E[w²].
    sizes : (K,)
        Sums over the rows of E[z²].
    """
    there = squares > OFF * moments
    return int(np.argmin(np.where(there, sizes * squares, np.inf))) if there.any() else None
