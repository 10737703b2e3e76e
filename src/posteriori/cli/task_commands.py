"""Commands made of tasks: every keyword of the function is an option, with its type, default and words.

To these come what all commands have: the table, how much of it is read, and where results are written.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from posteriori.analysis.tasks.listed import Task
from posteriori.cli.output import fail, told_errors
from posteriori.cli.signatures import REQUIRED, Parameter, read_signature

__all__ = ["add_task"]

#: Annotations of keywords that are lists of names, and that are lists of numbers.
_NAMES = ("Sequence[str]", "Iterable[str]")
_NUMBERS = "Sequence[float]"

#: Annotation of keywords that give numbers to names, each told as name=number.
_NUMBERED = "Mapping["

#: Annotations of keywords that are tables, which commands read from files.
_TABLE = "Table"

#: A name with its number, and what comes behind the comma.
_NAMED_NUMBER = re.compile(
    r"\s*(\S.*?)=\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(?:,|$)(.*)", re.I
)

#: Opposites that are called otherwise than "no".
_OPPOSITES = {"day_first": "--day-first/--month-first"}

_DATA = typer.Argument(
    help="CSV, TSV, JSON lines or Parquet, compressed or not; - reads standard input."
)
_CTRL_C = (
    "Ctrl-C ends the work with what is done; then nothing is written, and the exit code is 130."
)


def add_task(app: typer.Typer, task: Task) -> None:
    """Add the command of a task."""
    signature = read_signature(task.function)
    asked = [p for p in signature.parameters if "Callable" not in p.kind]
    places = ["html", "save", "json", *(["out"] if task.labels or task.written else [])]

    def command(data: str, **given: Any) -> None:
        options = {p.name: _value(p, given.pop(p.name)) for p in asked}
        written = [given.get(name) for name in places if name != "json"]
        tables = [
            options[p.name] for p in asked if _TABLE in p.kind and options[p.name] is not None
        ]
        with told_errors(task.name, read=[data, *tables], written=written):
            from posteriori.cli.running_tasks import Places, run_task

            run_task(task, data, options, Places(**given))

    parameters = [_positional("data", Annotated[str, _DATA]), *map(_option, asked)]
    parameters += [_keyword(name, kind, None) for name, kind in _places(task).items()]
    parameters += [_keyword(name, kind, False) for name, kind in _FLAGS.items()]
    command.__doc__ = f"{signature.summary}\n\n{_CTRL_C}"
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    app.command(task.name)(command)


def _places(task: Task) -> dict[str, Any]:
    """Return what is written where, and how much is read."""
    told = {"html": "Write a report to this file.", "save": "Save the model to this file."}
    if task.labels:
        told["out"] = f"Write the table with the {task.written} of its rows, as CSV."
    elif task.written:
        told["out"] = f"Write the {task.written} to this file, as CSV."
    files = {name: typer.Option(help=words, dir_okay=False) for name, words in told.items()}
    kept: dict[str, Any] = {name: Annotated[Path | None, file] for name, file in files.items()}
    most = typer.Option(help="Read no more than so many rows.", min=1)
    return {**kept, "max_rows": Annotated[int | None, most]}


#: Whether the answer is told as data, and with its reasons.
_FLAGS: dict[str, Any] = {
    "json": Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")],
    "verbose": Annotated[
        bool, typer.Option("--verbose", help="Print what statisticians ask for, too.")
    ],
}


def _option(parameter: Parameter) -> inspect.Parameter:
    """Return the option of a keyword."""
    name, default = parameter.name, parameter.default
    if name in _OPPOSITES:
        option = typer.Option(_OPPOSITES[name], help=parameter.words)
        return _keyword(name, Annotated[bool | None, option], default)
    if parameter.kind == "bool":
        option = typer.Option(f"--{name.replace('_', '-')}", help=parameter.words)
        return _keyword(name, Annotated[bool, option], default)
    number = {"int": int, "float": float}.get(parameter.kind.removesuffix(" | None"))
    if number is not None:
        option = typer.Option(
            help=parameter.words, min=1 if number is int and default is None else 0
        )
        return _keyword(name, Annotated[number | None, option], default)
    if _TABLE in parameter.kind:
        option = typer.Option(help=f"{parameter.words} A file.", dir_okay=False)
        return _keyword(name, Annotated[Path | None, option], default)
    if parameter.kind.startswith(_NUMBERED):
        words = f"{parameter.words} Several are separated by commas."
        option = typer.Option(f"--{name.removesuffix('s')}", help=words, metavar="NAME=NUMBER")
        return _keyword(name, Annotated[list[str] | None, option], None)
    listed = parameter.kind.startswith(_NAMES) or _NUMBERS in parameter.kind
    words = f"{parameter.words.rstrip('.')}; separated by commas." if listed else parameter.words
    option = typer.Option(help=words, metavar="|".join(parameter.choices) or None)
    kind: Any = str if default is REQUIRED else str | None
    return _keyword(name, Annotated[kind, option], _as_text(default))


def _as_text(default: Any) -> Any:
    """Return a default as one would type it; nothing for none."""
    if default is REQUIRED or default is None or isinstance(default, str):
        return default
    if isinstance(default, tuple | list) and all(isinstance(d, int) for d in default) and default:
        return "-".join(map(str, default))
    return ",".join(map(str, default)) if isinstance(default, tuple | list) and default else None


def _value(parameter: Parameter, given: Any) -> Any:
    """Return what the function is to be given for what was typed."""
    if parameter.kind.startswith(_NUMBERED):
        return _numbered(parameter.name.removesuffix("s"), given or ())
    if not isinstance(given, str):
        return parameter.default if given is None else given
    if parameter.kind.startswith(_NAMES):
        names = _split(given)
        if not names:
            fail(
                f"--{parameter.name.replace('_', '-')} names no {parameter.name.removesuffix('s')}; "
                "leave it out to try all that suit"
            )
        return names
    if _NUMBERS in parameter.kind and parameter.choices == ():
        return _split(given) if "," in given else given
    if "tuple[int, int]" in parameter.kind:
        return _range(parameter.name, given)
    return given


def _split(text: str) -> tuple[str, ...]:
    """Return the names between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _numbered(name: str, texts: Sequence[str]) -> dict[str, float] | None:
    """Return the numbers that names were given; names may hold commas and equals signs.

    Examples
    --------
    >>> _numbered("cost", ["yes:no=10,no:yes=0.5"])
    {'yes:no': 10.0, 'no:yes': 0.5}
    """
    found: dict[str, float] = {}
    for text in texts:
        rest = text
        while told := _NAMED_NUMBER.match(rest):
            entry, number, rest = told[1].strip(), float(told[2]), told[3]
            if entry in found:
                fail(f"--{name} tells of {entry!r} twice")
            found[entry] = number
        if rest:
            fail(f"--{name} takes names with numbers such as yes:no=10, got {rest!r}")
    return found or None


def _range(name: str, text: str) -> int | tuple[int, int]:
    """Return a whole number, or the smallest and the largest one.

    Examples
    --------
    >>> _range("states", "1-8"), _range("states", "3")
    ((1, 8), 3)
    """
    parts = [part.strip() for part in text.split("-")]
    if len(parts) > 2 or not all(part.isdecimal() for part in parts):
        fail(f"--{name} takes a number or a range such as 1-8, got {text!r}")
    numbers = [int(part) for part in parts]
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _positional(name: str, kind: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)


def _keyword(name: str, kind: Any, default: Any) -> inspect.Parameter:
    known = inspect.Parameter.empty if default is REQUIRED else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=known)
