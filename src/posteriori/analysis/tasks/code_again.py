"""Python code that finds the same again, as a report shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["CodeAgain", "Name"]


class Name(str):
    """What the code calls a value."""

    def __repr__(self) -> str:
        return str(self)


class CodeAgain(NamedTuple):
    """How an answer is found again.

    Attributes
    ----------
    task : str
        The function.
    name : str
        What the answer is called.
    done : str
        What became of the data.
    lines : sequence of str
        What may be asked of the answer.
    """

    task: str
    name: str
    done: str
    lines: Sequence[str]

    def code(self, options: Mapping[str, Any], loading: str = "") -> str:
        """Return the code; options that are None, empty or False are left out.

        Parameters
        ----------
        options : mapping
            By name, in the order of the call.
        loading : str
            Code that makes ``table``; without it the code says what is needed.
        """
        asked = [f"{n}={v!r}" for n, v in options.items() if v or (v == 0 and v is not False)]
        told = [
            f"from posteriori import {self.task}",
            loading or f"# table: the data that were {self.done}",
            "",
            f"{self.name} = {self.task}(table, {', '.join(asked)})",
            *self.lines,
        ]
        return "\n".join(told) + "\n"
