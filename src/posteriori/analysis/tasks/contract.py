"""What a task is: a question to a table, and an answer that is printed, shown as a page, written and saved.

A task is a function of a table, whose signature and docstring state its options once, for Python and for the
command; what it returns is a :class:`TaskResult`. All else is made from these two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from posteriori.analysis.tasks.rendering import framed, render_page
from posteriori.analysis.tasks.sections import Page, Printed

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
        """The answer in words, how sure it is, and what it rests on."""

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
        """Yield what is printed above the verdict; details are for statisticians."""

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
        return render_page(self.page(title), self.verdict, self.code(loading))

    def _repr_html_(self) -> str:
        return framed(self.html())

    def __repr__(self) -> str:
        return self.verdict
