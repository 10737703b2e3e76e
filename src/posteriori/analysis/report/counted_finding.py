"""What findings that count something have in common: how probable each number is, a verdict, a report."""

from __future__ import annotations

from abc import ABC, abstractmethod

from posteriori.analysis.fitting.number_weights import Found
from posteriori.analysis.report.html_pieces import framed
from posteriori.numerics.types import Array

__all__ = ["CountedFinding"]


class CountedFinding(ABC):
    """Groups or states of a table; shown as the verdict, and in notebooks as the report."""

    found: Found

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers that were tried."""
        return self.found.numbers

    @property
    def number_probabilities(self) -> Array:
        """p(number | table), all numbers equally probable before."""
        return self.found.probabilities

    @property
    @abstractmethod
    def verdict(self) -> str:
        """How many there are, how surely, what each is like, and how many rows are in doubt."""

    @abstractmethod
    def html(self, title: str = "the table", loading: str = "") -> str:
        """Return the report: one HTML page that needs no network.

        Parameters
        ----------
        title : str
            What the data are called.
        loading : str
            Python code that makes ``table``, for those who want to repeat it.
        """

    def _repr_html_(self) -> str:
        return framed(self.html())

    def __repr__(self) -> str:
        return self.verdict
