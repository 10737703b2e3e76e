"""Reading sequences of symbols: which are sequences, which symbols there are, what came before."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.inference.state_chains.chain_weights import as_starts
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.validation import nonnegative
from posteriori.sequence.chain_parameters import encode_states

__all__ = [
    "CodedSequences",
    "code_sequences",
    "context_numbers",
    "list_sequences",
    "symbols_of",
]


class CodedSequences(NamedTuple):
    """Sequences as numbers of symbols, and how often each counts."""

    sequences: list[IntArray]
    weights: Array


def list_sequences(x: Any, lengths: ArrayLike | None = None) -> list[list[Any]]:
    """Return sequences of symbols as a list of them.

    A text is a sequence of its letters; a list of lists or arrays holds a sequence each; an array (T,)
    or (T, 1), a column of a table, or a list of symbols is one sequence, or several by ``lengths``.
    Tuples are symbols.

    Examples
    --------
    >>> list_sequences([["a", "b"], ["b"]]), list_sequences("ab"), list_sequences("aba", [2, 1])
    ([['a', 'b'], ['b']], [['a', 'b']], [['a', 'b'], ['a']])
    """
    if isinstance(x, list | tuple) and len(x) and isinstance(x[0], list | np.ndarray):
        found = [list(one) for one in x]
    else:
        one = list(x) if isinstance(x, str | list | tuple) else _column(x)
        starts = [0, len(one)] if lengths is None else as_starts(lengths, len(one)).tolist()
        found = [one[a:b] for a, b in pairwise(starts)]
    for s, sequence in enumerate(found):
        if not len(sequence):
            raise ValueError(f"sequence {s} is empty; leave sequences without symbols out")
    return found


def symbols_of(sequences: list[list[Any]]) -> tuple[Hashable, ...]:
    """Return the different symbols, in order where they have one, else as they come."""
    seen = dict.fromkeys(symbol for sequence in sequences for symbol in sequence)
    if any(symbol is None or symbol != symbol for symbol in seen):
        raise ValueError("sequences hold missing symbols (None or NaN); cut sequences there")
    try:
        return tuple(sorted(seen))
    except TypeError:  # of different kinds
        return tuple(seen)


def code_sequences(
    sequences: list[list[Any]],
    states: tuple[Hashable, ...],
    sequence_weight: ArrayLike | None = None,
) -> CodedSequences:
    """Return sequences as numbers of their symbols, with checked weights."""
    codes = [encode_states(list(one), states, len(states)) for one in sequences]
    if sequence_weight is None:
        return CodedSequences(codes, np.ones(len(codes)))
    weights = np.asarray(nonnegative("sequence_weight", sequence_weight))
    if weights.shape != (len(codes),):
        raise ValueError(
            f"sequence_weight must have shape ({len(codes)},), one per sequence, got {weights.shape}"
        )
    return CodedSequences(codes, weights)


def context_numbers(codes: IntArray, size: int, order: int) -> IntArray:
    """Return the number of the ``order`` symbols before each that has so many, oldest first.

    Examples
    --------
    >>> context_numbers(np.array([0, 1, 1, 0]), 2, 2)
    array([1, 3])
    """
    count = max(len(codes) - order, 0)
    numbers = np.zeros(count, dtype=np.int64)
    for m in range(order):
        numbers = numbers * size + codes[m : m + count]
    return numbers


def _column(x: Any) -> list[Any]:
    array = np.asarray(x)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"sequences must be a column of symbols, or a list of sequences; got shape {array.shape}"
        )
    return list(array.tolist())
