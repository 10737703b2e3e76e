r"""How many: models with 1, 2, … parts, weighed by their evidence.

.. math:: p(K\mid X) \propto \sum_{\text{kinds}} p(X\mid K, \text{kind}),

all numbers and kinds equally probable before. Every kind is a density of the same table in the same units.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.logspace import softmax
from posteriori.numerics.types import Array

__all__ = ["WeighedNumbers", "NumberSearch", "heard_interrupts", "try_numbers", "weigh_numbers"]

#: Nats below the best from which a number is as good as excluded, e⁻²⁰ is 2e-9, and how many of these in a
#: row end the search.
_HOPELESS, _IN_A_ROW = 20.0, 3


class WeighedNumbers(NamedTuple):
    """All models that were fitted, and what they say together.

    Attributes
    ----------
    tried : tuple of records
        With ``kind``, ``number``, ``log_evidence`` and ``model``.
    numbers : tuple of int
        From the smallest on.
    probabilities : array
        p(number | table).
    best : record
        Of the most probable number the kind of higher evidence.
    notes : tuple of str
        Where the search ended early, and what could not be fitted.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    tried: tuple[Any, ...]
    numbers: tuple[int, ...]
    probabilities: Array
    best: Any
    notes: tuple[str, ...]
    interrupted: bool = False


class NumberSearch(NamedTuple):
    """How models of one kind are searched.

    Attributes
    ----------
    name : str
    failed : str
        What is said where one could not be fitted.
    fit : callable
        From a number to what was tried.
    without_empty : callable
        From what was tried to the model of those of its parts that have rows, where some have none and their
        number is one to try: a start that others may miss.
    """

    name: str
    failed: str
    fit: Callable[[int], Any]
    without_empty: Callable[[Any], Any | None]


def try_numbers(
    kinds: Sequence[NumberSearch],
    numbers: Sequence[int],
    on_tried: Callable[[Any], None] | None = None,
) -> tuple[list[Any], list[str], bool]:
    """Fit each kind with rising numbers, until more are as good as excluded.

    Returns
    -------
    tried : list of records
    notes : list of str
    interrupted : bool
        Whether Ctrl-C ended the search: what was fitted before counts.

    Raises
    ------
    ValueError
        When nothing could be fitted.
    KeyboardInterrupt
        When Ctrl-C was pressed before anything was fitted, also where an ascent would end with what it has.
    """
    tried: list[Any] = []
    notes: list[str] = []
    try:
        with heard_interrupts() as pressed:
            for kind in kinds:
                best = max((one.log_evidence for one in tried), default=-np.inf)
                try:
                    for one in _climb(kind, numbers, best):
                        if pressed:
                            raise KeyboardInterrupt
                        tried.append(one)
                        if on_tried is not None:
                            on_tried(one)
                except ValueError as error:
                    notes.append(f"{kind.failed}: {error}")
    except KeyboardInterrupt:
        if not tried:
            raise
        return tried, notes, True
    if not tried:
        raise ValueError("; ".join(notes))
    notes += [note for kind in kinds if (note := _early_end(tried, kind.name, numbers))]
    return tried, notes, False


def _climb(kind: NumberSearch, numbers: Sequence[int], rival: float) -> Iterator[Any]:
    values: list[float] = []
    for number in numbers:
        one = kind.fit(number)
        values.append(one.log_evidence)
        yield one
        if (fewer := kind.without_empty(one)) is not None:
            yield fewer
        if _is_over(values, len(numbers) - len(values), rival):
            return


def weigh_numbers(
    tried: Sequence[Any], notes: Sequence[str], interrupted: bool = False
) -> WeighedNumbers:
    """Return p(number | X) ∝ Σ over kinds of p(X | number, kind), each by its highest evidence."""
    highest: dict[tuple[str, int], Any] = {}
    for one in sorted(tried, key=lambda one: one.log_evidence):
        highest[one.kind, one.number] = one
    tried = sorted(highest.values(), key=lambda one: (one.kind, one.number))
    numbers = tuple(sorted({one.number for one in tried}))
    each = softmax(np.array([one.log_evidence for one in tried]))
    place = [numbers.index(one.number) for one in tried]
    probabilities = np.bincount(place, weights=each, minlength=len(numbers))
    most = numbers[int(probabilities.argmax())]
    best = max((one for one in tried if one.number == most), key=lambda one: one.log_evidence)
    return WeighedNumbers(tuple(tried), numbers, probabilities, best, tuple(notes), interrupted)


def _is_over(values: Sequence[float], left: int, rival: float) -> bool:
    """Tell whether evidence has fallen for long, or rises too slowly to come near another kind's.

    Parameters
    ----------
    values : sequence of float
        Log evidences of one kind, number after number.
    left : int
        Numbers that are still to be tried.
    rival : float
        The highest evidence of another kind.
    """
    last = values[-_IN_A_ROW:]
    if len(last) == _IN_A_ROW and max(last) < max(values) - _HOPELESS:
        return True
    if len(values) < _IN_A_ROW:
        return False
    gain = max(max(values) - max(values[:-1]), values[-2] - values[-3], 0.0)
    return max(values) + left * gain < rival - _HOPELESS


def _early_end(tried: Sequence[Any], kind: str, numbers: Sequence[int]) -> str:
    """Say where the search for one kind ended; nothing if all numbers were tried."""
    last = max((one.number for one in tried if one.kind == kind), default=numbers[-1])
    if last == numbers[-1]:
        return ""
    return f"{kind}: more than {last} were not tried, as their evidence is far below the best"


@contextmanager
def heard_interrupts() -> Iterator[list[bool]]:
    """Remember that Ctrl-C was pressed, which ascents take as a wish to end with what they have."""
    pressed: list[bool] = []
    before: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield pressed
        return

    def hear(number: int, frame: Any) -> None:
        pressed.append(True)
        before(number, frame)

    signal.signal(signal.SIGINT, hear)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
