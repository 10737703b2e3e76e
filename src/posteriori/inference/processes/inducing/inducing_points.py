r"""Points that tell most about a function: each next one where the function is least known.

.. math:: u_{m+1} = \arg\max_x\ \mathrm{Var}[f(x) \mid f(u_1), \dots, f(u_m)]

These are the pivots of a pivoted Cholesky factorisation, one column at a time.

Reference: D. Burt, C. Rasmussen & M. van der Wilk, "Convergence of sparse variational inference in Gaussian
processes regression", 2020, §4.2.
"""

from __future__ import annotations

import numpy as np

from posteriori.kernels.kernel import Kernel
from posteriori.numerics.blocks.block_sizes import IN_MEMORY, rows_per_block
from posteriori.numerics.types import Array

__all__ = ["choose_points"]

#: A variance that is so small a share of the largest is rounding.
_KNOWN = 1e-10

#: Variances that differ by less than this share of the largest are equal: their last digits hang on the order
#: of rows.
_TIED = 1e-12

#: So many times the numbers that are held at a time are candidates' columns.
_HELD = 8


def choose_points(signal: Kernel, X: Array, number: int) -> Array:
    """Return rows of X at which a function is told best, (M, D); fewer where these tell all of it.

    Of rows that are equally unknown the first in the order of their columns is taken: the choice hangs neither
    on the order of rows nor on repeated ones. Of tables so long that columns of the factor would fill memory,
    rows at equal steps of that order are looked at.

    Parameters
    ----------
    signal : Kernel
        Of the function, without noise.
    X : (N, D)
    number : int
        M.

    Notes
    -----
    Costs O(N M²).

    Examples
    --------
    >>> from posteriori.kernels import RBF
    >>> choose_points(RBF(), np.array([[0.0], [0.1], [5.0], [2.5]]), 3)[:, 0]
    array([0. , 5. , 2.5])
    """
    most = max(rows_per_block(number, _HELD * IN_MEMORY), number)
    x = X[np.lexsort(X.T[::-1])[:: -(-len(X) // most)]]
    number = min(number, len(x))
    left = np.array(signal.traced_diagonal(x).value)  # Var[f | what is chosen]
    known, tied = _KNOWN * float(left.max()), _TIED * float(left.max())
    columns, places = np.zeros((number, len(x))), []
    for m in range(number):
        place = int(np.argmax(left >= left.max() - tied))
        if m and left[place] <= known:
            break
        column = signal.evaluate(x, x[place : place + 1])[:, 0]
        column -= columns[:m, place] @ columns[:m]
        column /= np.sqrt(left[place])
        columns[m] = column
        left -= column * column
        left[place] = -np.inf  # chosen once
        places.append(place)
    return x[places].copy()
