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
    "MISSING",
    "CodedSequences",
    "code_sequences",
    "context_numbers",
    "encode_symbols",
    "is_missing",
    "list_sequences",
    "symbols_of",
    "touched_steps",
    "trim_gaps",
]

#: Number of a symbol that is missing.
MISSING = -1


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
    every = (symbol for sequence in sequences for symbol in sequence)
    seen = dict.fromkeys(symbol for symbol in every if not is_missing(symbol))
    if not seen:
        raise ValueError("sequences hold no symbol that is not missing (None or NaN)")
    try:
        return tuple(sorted(seen))
    except TypeError:  # of different kinds
        return tuple(seen)


def code_sequences(
    sequences: list[list[Any]],
    states: tuple[Hashable, ...],
    sequence_weight: ArrayLike | None = None,
) -> CodedSequences:
    """Return sequences as numbers of their symbols, −1 where one is missing, with checked weights."""
    codes = [encode_symbols(one, states, len(states)) for one in sequences]
    if sequence_weight is None:
        return CodedSequences(codes, np.ones(len(codes)))
    weights = np.asarray(nonnegative("sequence_weight", sequence_weight))
    if weights.shape != (len(codes),):
        raise ValueError(
            f"sequence_weight must have shape ({len(codes)},), one per sequence, got {weights.shape}"
        )
    return CodedSequences(codes, weights)


def encode_symbols(sequence: list[Any], states: tuple[Hashable, ...] | None, size: int) -> IntArray:
    """Return the numbers of symbols, −1 where one is missing (None or NaN)."""
    gaps = np.array([is_missing(symbol) for symbol in sequence], dtype=bool)
    if not gaps.any():
        return encode_states(list(sequence), states, size)
    codes = np.full(len(sequence), MISSING, dtype=np.int64)
    seen = [symbol for symbol in sequence if not is_missing(symbol)]
    if seen:
        codes[~gaps] = encode_states(seen, states, size)
    return codes


def is_missing(symbol: Any) -> bool:
    """Tell whether a symbol is missing: None, or a number that is not equal to itself."""
    return symbol is None or (isinstance(symbol, float) and symbol != symbol)


def trim_gaps(coded: CodedSequences) -> CodedSequences:
    """Return sequences without the missing symbols at their ends, whose probabilities sum to 1."""
    kept = []
    for codes, weight in zip(coded.sequences, coded.weights, strict=True):
        seen = np.flatnonzero(codes != MISSING)
        if len(seen):
            kept.append((codes[: seen[-1] + 1], weight))
    return CodedSequences([codes for codes, _ in kept], np.array([weight for _, weight in kept]))


def touched_steps(codes: IntArray, order: int) -> Array:
    """Return which symbols (T,) are missing, or depend on a missing one among the ``order`` before.

    The law of the first symbols is one: if one of these is missing, all are touched.

    Examples
    --------
    >>> touched_steps(np.array([0, 1, 1, -1, 0, 0, 1]), 2)
    array([False, False, False,  True,  True,  True, False])
    """
    gaps = codes == MISSING
    if not gaps.any():
        return gaps
    touched = gaps.copy()
    for lag in range(1, order + 1):
        touched[lag:] |= gaps[:-lag]
    touched[:order] |= gaps[:order].any()
    return touched


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
