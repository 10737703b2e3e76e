"""What a task is: a question to a table, and an answer that is printed, shown as a page, written and saved.

A task is a function of a table, whose signature and docstring state its options once, for Python and for the
command; what it returns is a :class:`TaskResult`. All else is made from these two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from posteriori.analysis.tasks.rendering import framed, render_page
from posteriori.analysis.tasks.sections import Figure, Items, Page, Part, Printed, Section, Words

__all__ = ["Table", "TaskResult"]

#: A DataFrame of pandas or polars, or a mapping of columns; commands read it from a file.
Table: TypeAlias = Any


class TaskResult(ABC):
    """What a task has found.

    Attributes
    ----------
    notes : tuple of str
        What was guessed and done.
    model : ColumnReader
        What was learned, as a model of tables that can be saved.
    interrupted : bool
        Whether Ctrl-C ended the work before all was done.
    """

    notes: Any
    model: Any
    interrupted: Any = False

    @property
    @abstractmethod
    def verdict(self) -> str:
        """The answer in two or three sentences that need no statistics, in the units of the data."""

    @property
    def reasons(self) -> Sequence[str]:
        """What the answer rests on, for statisticians: nats, evidences, tests."""
        return ()

    @property
    def picture(self) -> Figure | None:
        """What stands beside the verdict at the top of the report."""
        return None

    @property
    def model_words(self) -> str:
        """What the model is called where it is shown."""
        return str(self.model.name)

    @property
    def failure(self) -> str:
        """Why there is no answer; empty where there is one."""
        return ""

    @abstractmethod
    def printed(self, *, details: bool = False) -> Iterator[Printed]:
        """Yield what is printed above the verdict; details are tables for statisticians."""

    @abstractmethod
    def page(self, title: str) -> Page:
        """Return the report, title and sections; the title given is what the data are called."""

    @abstractmethod
    def code(self, loading: str = "") -> str:
        """Return Python code that finds the same again."""

    @abstractmethod
    def data(self) -> Mapping[str, Any]:
        """Return numbers and names of the answer, for other programs."""

    def html(self, title: str = "the table", loading: str = "") -> str:
        """Return the report: one HTML page that needs no network.

        Parameters
        ----------
        title : str
            What the data are called.
        loading : str
            Python code that makes ``table``, for those who want to repeat it.
        """
        answer = self._first_screen()
        return render_page(self.page(title), answer, self.code(loading))

    def _first_screen(self) -> list[Part]:
        """Return the answer, its picture, and the reasons folded below them."""
        drawn = [] if self.picture is None else [self.picture]
        why = [Items(self.reasons)] if self.reasons else []
        return [Words(self.verdict, "answer"), *drawn, Section("For statisticians", why)]

    def _repr_html_(self) -> str:
        return framed(self.html())

    def __repr__(self) -> str:
        return self.verdict
