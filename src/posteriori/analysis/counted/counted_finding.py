"""What results that count something have in common: how probable each number is, and words for it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

from posteriori.analysis.table.wording import counted, listed, probability_words
from posteriori.analysis.tasks.contract import TaskResult
from posteriori.inference.weighing.number_weights import WeighedNumbers
from posteriori.numerics.types import Array

__all__ = ["CountedFinding", "NumberWords"]

#: Probabilities from which a number is hardly in doubt, likely, and possible.
_SURE, _LIKELY, _POSSIBLE = 0.95, 0.75, 0.1


class CountedFinding(TaskResult):
    """Groups or states of a table."""

    found: WeighedNumbers
    asked: bool

    @property
    @abstractmethod
    def larger(self) -> str:
        """How larger numbers are asked for; empty where the rows cannot tell so many apart."""

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        return self.found.interrupted

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers that were tried."""
        return self.found.numbers

    @property
    def number_probabilities(self) -> Array:
        """p(number | table), all numbers equally probable before."""
        return self.found.probabilities

    def number_words(self, noun: str) -> NumberWords:
        """Return what is said of the number."""
        chances = dict(zip(self.numbers, self.number_probabilities.tolist(), strict=True))
        return NumberWords(noun, chances, self.asked, self.interrupted, self.larger)

    def number_data(self) -> dict[str, Any]:
        """Return how probable each number is, and what was tried, as data."""
        tried = [
            {name: value for name, value in one._asdict().items() if name != "model"}
            for one in self.found.tried
        ]
        shares = dict(zip(self.numbers, self.number_probabilities.tolist(), strict=True))
        return {"probabilities": shares, "tried": tried}


class NumberWords(NamedTuple):
    """How a verdict tells a number.

    Attributes
    ----------
    noun : str
        What is counted.
    chances : dict
        How probable each number is.
    asked : bool
        Whether the number was given.
    interrupted : bool
        Whether Ctrl-C ended the search.
    larger : str
        How larger numbers are asked for; empty where the rows cannot tell so many apart.
    """

    noun: str
    chances: dict[int, float]
    asked: bool = False
    interrupted: bool = False
    larger: str = ""

    @property
    def best(self) -> int:
        """The most probable number."""
        return max(self.chances, key=lambda number: self.chances[number])

    def one(self, rows: str, are: str, more: str = "more") -> str:
        """Say that there is but one, how surely, and what nothing speaks for."""
        if self.asked:
            return f"As asked, {rows} {are}."
        if self.interrupted:
            return f"As far as was tried, {rows} {are}."
        if self.chances[1] < _SURE:
            return f"Most likely {rows} {are}."
        return f"{rows[0].upper()}{rows[1:]} {are}: nothing speaks for {more}."

    def sure(self, *, ask: bool = True) -> str:
        """Say how sure the number is, and where it may be larger, and whether to ask for that: a clause of a sentence."""
        if self.interrupted:
            return "the search was stopped: larger numbers were not tried"
        if self.asked:
            return ""
        if self.best == max(self.chances):
            untried = f"no larger number was tried, and there may be more {self.noun}s"
            if not self.larger:
                return f"so few rows cannot tell more {self.noun}s apart"
            return f"{untried}: ask for {self.larger}" if ask else untried
        return self._open() if self._others() else self._sure()

    def _others(self) -> list[str]:
        """Return further numbers that are possible."""
        others = [n for n, p in self.chances.items() if p >= _POSSIBLE and n != self.best]
        return [str(n) for n in sorted(others, key=lambda n: -self.chances[n])]

    def _open(self) -> str:
        others = listed(self._others(), "or")
        if self.best == 1:
            return f"there may be {others} as well"
        if self.chances[self.best] < _LIKELY:
            return f"how many there are is open: there may be {others} as well"
        return f"that number is likely, not certain: there may be {others}"

    def _sure(self) -> str:
        if self.best == 1:
            return ""
        if self.chances[self.best] < _SURE:
            return "that number is likely, not certain"
        return "there is hardly any doubt about that number"

    def reasons(self, doubtful: int) -> list[str]:
        """Return how probable each number is, and how many rows have no part of which they surely are."""
        shares = ", ".join(f"{n}: {probability_words(p)}" for n, p in self.chances.items())
        told = [
            f"probability of each number of {self.noun}s, all equally probable before: {shares}"
        ]
        verb = "is" if doubtful == 1 else "are"
        doubt = (
            f"{counted(doubtful, 'row')} {verb} in doubt: no {self.noun} has a probability of 0.9"
        )
        return [*([] if self.asked else told), *([doubt] if doubtful else [])]
