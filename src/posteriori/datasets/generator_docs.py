"""What the docstrings of all generators share, written once: size, randomness, errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from inspect import cleandoc
from typing import Any, TypeVar

__all__ = ["generator"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_ORDER = ("Parameters", "Returns", "Raises", "References", "Examples")
_HEADER = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
_RAISES = """\
ValueError, TypeError
    If an argument lies outside its range or is of another type; the message names it."""
#: Parameters of several generators; a docstring that says more about one has its own entry.
_SHARED = (
    "n_samples : int\n    How many points, N.",
    "intercept, slope : float\n    The line.",
    "noise_variance : float\n    The variance of ε, not negative.",
    "low, high : float\n    The ends of the interval of x.",
    "rng : None, int or Generator\n    The source of randomness; the same seed gives the same data.",
)


def generator(function: _Function) -> _Function:
    """Complete the docstring of a generator.

    Parameters that it does not describe are described as everywhere in the room; what it raises is
    added, and the import to its examples. ``help()`` and the reference show the whole text.
    """
    if function.__doc__ is None:  # docstrings are switched off
        return function
    summary, *parts = _HEADER.split(cleandoc(function.__doc__))
    sections = {
        title: text.strip("\n") for title, text in zip(parts[::2], parts[1::2], strict=True)
    }
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    sections["Parameters"] = _describe(names, sections.get("Parameters", ""))
    sections["Raises"] = _RAISES
    first = rf">>> \1from posteriori.datasets import {function.__name__}\n>>> "
    sections["Examples"] = re.sub(
        r">>> (import numpy as np\n>>> )?", first, sections["Examples"], count=1
    )
    whole = [
        f"{title}\n{'-' * len(title)}\n{sections[title]}" for title in _ORDER if title in sections
    ]
    function.__doc__ = "\n\n".join([summary.strip("\n"), *whole]) + "\n"
    return function


def _describe(names: Sequence[str], own: str) -> str:
    """Return an entry for every parameter, in the order of the signature."""
    entry_of = {
        name: entry
        for entry in (*_SHARED, *re.split(r"\n(?=\S)", own))
        for name in entry.split(" : ")[0].split(", ")
    }
    return "\n".join(dict.fromkeys(entry_of[name] for name in names))
