"""What a task is: a question to a table, and an answer that is printed, shown as a page, written and saved.

A task is a function of a table, whose signature and docstring state its options once, for Python and for the
command; what it returns is a :class:`TaskResult`. All else is made from these two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple, TypeAlias

from posteriori.analysis.report.html_pieces import framed, section
from posteriori.analysis.report.page_frame import fill_page, versions

__all__ = ["Grid", "Page", "Part", "Table", "TaskResult", "Words"]

#: A DataFrame of pandas or polars, or a mapping of columns; commands read it from a file.
Table: TypeAlias = Any


class Words(NamedTuple):
    """A line of text; how it is shown is one of "", "bold", "dim" and "yellow"."""

    text: str
    style: str = ""


class Grid(NamedTuple):
    """A table of texts, whose first row may be the answer.

    Attributes
    ----------
    header : tuple of str
    rows : list of tuple of str
    strong : bool
        Whether the first row stands out.
    remarks : callable, optional
        Lines below it, from the headings of columns that did not fit.
    """

    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    strong: bool = False
    remarks: Callable[[Sequence[str]], Sequence[str]] | None = None


Part: TypeAlias = Words | Grid


class Page(NamedTuple):
    """A report: what stands above, the sections in their order as HTML, and the seed."""

    title: str
    lede: str
    sections: Sequence[str]
    seed: int


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
    def printed(self, *, details: bool = False) -> Iterator[Part]:
        """Yield what is printed above the verdict; details are for statisticians."""

    @abstractmethod
    def page(self, title: str) -> Page:
        """Return the report but for its frame; the title is what the data are called."""

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
        made = self.page(title)
        again = section(
            "The same in Python", f"<pre><code>{escape(self.code(loading))}</code></pre>"
        )
        sections = [*made.sections, again]
        return fill_page(made.title, made.lede, self.verdict, sections, versions(made.seed))

    def _repr_html_(self) -> str:
        return framed(self.html())

    def __repr__(self) -> str:
        return self.verdict
