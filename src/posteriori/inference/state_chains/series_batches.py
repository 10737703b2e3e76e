"""Series that do not share their transitions, one call of a pass for those that do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["run_series"]


def run_series(
    method: Callable[[Array, Array, Array], Iterable[Any]], transition: Array, likelihood: Array
) -> list[Array]:
    """Run a method on all series, at once where they share their transitions.

    Parameters
    ----------
    method : callable
        From ln π (K,), ln A and ln likelihoods (..., T, K) to arrays (..., *shape).
    transition : array (*series, T − 1 or 1, K, K)
        Of length 1 along series that share it.
    likelihood : array (*series, T, K)
        The weights of the first states included.

    Returns
    -------
    list of arrays (*series, *shape)
    """
    initial, wide = np.zeros(likelihood.shape[-1]), transition.shape[:-3]
    found: list[Array] = []
    for index in np.ndindex(*wide):
        where = tuple(i if n > 1 else slice(None) for i, n in zip(index, wide, strict=True))
        part = likelihood[where]
        answers = [np.asarray(a) for a in method(initial, transition[index], part)]
        if math.prod(wide) == 1:
            return answers
        if not found:
            lead, depth = likelihood.shape[:-2], part.ndim - 2
            found = [np.empty(lead + a.shape[depth:], a.dtype) for a in answers]
        for out, answer in zip(found, answers, strict=True):
            out[where] = answer
    return found
