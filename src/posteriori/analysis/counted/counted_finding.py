"""What results that count something have in common: how probable each number is, and words for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from posteriori.analysis.table.wording import counted, probability_words
from posteriori.analysis.tasks.contract import TaskResult
from posteriori.inference.weighing.number_weights import WeighedNumbers
from posteriori.numerics.types import Array

__all__ = ["CountWords", "CountedFinding"]

#: Probability from which one group is said without reserve.
_SURE = 0.9


class CountedFinding(TaskResult):
    """Groups or states of a table."""

    found: WeighedNumbers

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers that were tried."""
        return self.found.numbers

    @property
    def number_probabilities(self) -> Array:
        """p(number | table), all numbers equally probable before."""
        return self.found.probabilities

    def number_data(self) -> dict[str, Any]:
        """Return how probable each number is, and what was tried, as data."""
        tried = [
            {name: value for name, value in one._asdict().items() if name != "model"}
            for one in self.found.tried
        ]
        shares = dict(zip(self.numbers, self.number_probabilities.tolist(), strict=True))
        return {"probabilities": shares, "tried": tried}


class _SaysDoubt(Protocol):
    """A group or a state."""

    @property
    def in_doubt(self) -> int: ...


class CountWords(NamedTuple):
    """How a verdict tells a number.

    Attributes
    ----------
    noun : str
        What is counted.
    link : str
        Between that and the rows.
    one : str
        What rows do where there is but one.
    chance : str
        The probability of one.
    """

    noun: str
    link: str
    one: str
    chance: str

    def answer(self, number: int, rows: str, probability: float | None) -> str:
        """Say how many there are; the probability is None where the number was asked for."""
        if probability is None:
            return f"As asked, {rows} are told apart as {counted(number, self.noun)}."
        said = probability_words(probability)
        if number == 1 and probability < _SURE:
            return f"Most probably {rows} {self.one} ({self.chance} {said})."
        if number == 1:
            return f"{rows[0].upper()}{rows[1:]} {self.one}: nothing speaks for more ({self.chance} {said})."
        perhaps = " perhaps" if probability < 0.5 else ""
        return f"There are{perhaps} {number} {self.noun}s {self.link} {rows} (probability {said})."

    def larger(self) -> str:
        """Say that the largest number is the most probable one."""
        return f" No larger number was tried, and there may be more {self.noun}s: raise the limit."

    def doubts(self, parts: Sequence[_SaysDoubt], rows: int) -> str:
        """Say how many rows are in doubt."""
        doubtful = sum(part.in_doubt for part in parts)
        if not doubtful:
            return "No row is in doubt."
        verb = "is" if doubtful == 1 else "are"
        share = f" ({doubtful / rows:.0%})" if doubtful >= 0.01 * rows else ""
        return f"{counted(doubtful, 'row')}{share} {verb} in doubt: no {self.noun} has a probability of 0.9."
