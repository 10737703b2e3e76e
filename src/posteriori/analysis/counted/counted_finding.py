"""What results that count something have in common: how probable each number is."""

from __future__ import annotations

from typing import Any

from posteriori.analysis.counted.number_weights import Found
from posteriori.analysis.tasks.contract import TaskResult
from posteriori.numerics.types import Array

__all__ = ["CountedFinding"]


class CountedFinding(TaskResult):
    """Groups or states of a table."""

    found: Found

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
