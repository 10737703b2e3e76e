"""What a function takes, read from its source: names, types, defaults and what the docstring says of each.

A command is made of it without loading the function, which would load all that it needs.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["REQUIRED", "Parameter", "Signature", "read_signature"]

#: The default of what must be given.
REQUIRED: Any = ...


class Parameter(NamedTuple):
    """A keyword of a function.

    Attributes
    ----------
    name : str
    kind : str
        Its annotation, as it is written.
    default : object
        Or :data:`REQUIRED`.
    choices : tuple of str
        What it may be, where the docstring lists it.
    words : str
        What the docstring says of it.
    """

    name: str
    kind: str
    default: Any
    choices: tuple[str, ...]
    words: str


class Signature(NamedTuple):
    """A function: its docstring's first sentence, and its parameters but the first, the table."""

    summary: str
    parameters: tuple[Parameter, ...]


@cache
def read_signature(function: str) -> Signature:
    """Return what a function takes.

    Parameters
    ----------
    function : str
        "package.module:name"

    Examples
    --------
    >>> read = read_signature("posteriori.analysis.groups.clustering:cluster")
    >>> read.parameters[0][:3]
    ('max_clusters', 'int', 10)
    """
    module, _, name = function.partition(":")
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"function must name a module that has a source, got {function!r}")
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    defined = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name]
    if not defined:
        raise ValueError(f"{module} defines no function {name!r}")
    return _signature(defined[-1])  # after its overloads


def _signature(function: ast.FunctionDef) -> Signature:
    text = ast.get_docstring(function) or ""
    told = _described(text)
    arguments = function.args
    plain = arguments.args[1:]  # without the table
    defaults = [None] * (len(plain) - len(arguments.defaults)) + arguments.defaults[-len(plain) :]
    pairs = [*zip(plain, defaults, strict=False)] if plain else []
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    parameters = tuple(
        Parameter(
            argument.arg,
            ast.unparse(argument.annotation) if argument.annotation else "Any",
            REQUIRED if default is None else ast.literal_eval(default),
            *told.get(argument.arg, ((), "")),
        )
        for argument, default in pairs
    )
    return Signature(" ".join(text.split("\n\n")[0].split()), parameters)


def _described(text: str) -> dict[str, tuple[tuple[str, ...], str]]:
    """Return choices and words of each parameter of a docstring in numpydoc's form."""
    body = re.search(r"Parameters\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)", text, re.DOTALL)
    found: dict[str, tuple[tuple[str, ...], str]] = {}
    names: list[str] = []
    for line in body[1].split("\n") if body else ():
        if line and not line[0].isspace():
            head, _, kind = line.partition(" : ")
            names = [name.strip() for name in head.split(",")]
            listed = re.search(r"\{(.*?)\}", kind)
            choices = tuple(re.findall(r'"(.*?)"', listed[1])) if listed else ()
            found |= dict.fromkeys(names, (choices, ""))
        else:
            for name in names:
                choices, words = found[name]
                found[name] = choices, f"{words} {line.strip()}".replace("``", "").strip()
    return found
