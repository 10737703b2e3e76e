r"""How many ways there are to divide n things into k groups: Stirling numbers of the second kind.

.. math:: S(n, k) = \frac1{k!} \sum_{i=0}^{k} (-1)^{k-i} \binom ki i^n
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

__all__ = ["count_partitions"]


def count_partitions(n: int, k: int) -> int:
    """Return in how many ways n things can be divided into k groups, none of them empty.

    So many clusterings would have to be compared for the best one of all.

    Parameters
    ----------
    n, k : int
        Not negative.

    Returns
    -------
    int
        Exact.

    Examples
    --------
    >>> count_partitions(4, 2)
    7
    >>> f"{count_partitions(100, 5):.4e}"
    '6.5738e+67'
    """
    n, k = _whole("n", n), _whole("k", k)
    terms = ((-1) ** (k - i) * math.comb(k, i) * i**n for i in range(k + 1))
    return sum(terms) // math.factorial(k)


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} must be a whole number >= 0, got {value!r}")
    return int(value)
