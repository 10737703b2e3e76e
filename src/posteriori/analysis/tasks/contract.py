"""What a task is: a question to a table, and an answer that is printed, shown as a page, written and saved.

A task is a function of a table, whose signature and docstring state its options once, for Python and for the
command; what it returns is a :class:`TaskResult`. All else is made from these two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from posteriori.analysis.tasks.sections import (
    Beside,
    Figure,
    Finding,
    Grid,
    Items,
    Part,
    Printed,
    Section,
    Words,
    framed,
    render_page,
)

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
    seed : int
        Of what was drawn.
    interrupted : bool
        Whether Ctrl-C ended the work before all was done.
    """

    notes: Any
    model: Any
    seed: Any
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
    def heading(self, data: str) -> tuple[str, str]:
        """Return what the report is called, and what was asked of how many rows; ``data`` is what they are called."""

    @abstractmethod
    def findings(self) -> Iterable[Finding]:
        """Yield what was found, each once, in the order of the report: words, tables, figures, and their places."""

    def printed(self, *, details: bool = False) -> Iterator[Printed]:
        """Yield what is printed above the verdict; details are for statisticians."""
        for heading, content, place in self.findings():
            if place == "details" and details:
                yield Words(heading, "bold")
            if place in ("terminal", "both") or (place == "details" and details):
                yield from _in_text(content())

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
        sections = _as_sections(self.findings())
        picture, reasons = self.picture, self.reasons
        why = Section("For statisticians", [Items(reasons)] if reasons else [])
        drawn = [] if picture is None else [picture]
        answer: list[Part] = [Words(self.verdict, "answer"), *drawn, why]
        return render_page(self.heading(title), answer, sections, self.code(loading), self.seed)

    def _repr_html_(self) -> str:
        return framed(self.html())

    def __repr__(self) -> str:
        return self.verdict


def _as_sections(findings: Iterable[Finding]) -> list[Section]:
    """Return what pages show of findings."""
    sections: list[tuple[str, list[Part]]] = []
    for heading, content, place in findings:
        if place == "details":
            sections[-1][1].append(Section(heading, content()))
        elif sections and sections[-1][0] == heading and place != "terminal":
            sections[-1][1].extend(content())
        elif place != "terminal":
            sections.append((heading, list(content())))
    return [Section(*section) for section in sections]


def _in_text(content: Iterable[Part]) -> Iterator[Printed]:
    for part in content:
        if isinstance(part, Words | Grid):
            yield part
        elif isinstance(part, Items):
            yield from (Words(text, "dim") for text in part.texts)
        elif isinstance(part, Beside):
            yield from _in_text([*part.left, *part.right])
