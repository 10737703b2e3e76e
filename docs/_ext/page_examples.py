"""What of a page is code: the examples in its ``{doctest}`` blocks, and its figures.

Pages are Markdown; a block may stand indented in a cell of a list table.
"""

import doctest
import re
from typing import NamedTuple

__all__ = ["Block", "examples_of", "split_page"]

_BLOCK = re.compile(
    r"^(?P<lead>[ \t]*(?:[*-] )*)(?P<fence>`{3,})\{(?P<kind>doctest|eval-rst)\}[ \t]*\n"
    r"(?P<body>.*?)^[ \t]*(?P=fence)[ \t]*$\n?",
    re.MULTILINE | re.DOTALL,
)
_PLOT = re.compile(r"\.\. plot::\n(?: {3}:.*\n)*\n?(?P<code>(?: {3}.*\n|\n)*)")


class Block(NamedTuple):
    """A stretch of a page: prose, examples or the code of a figure, and the line above it."""

    kind: str  # "text", "doctest", "plot"
    source: str
    line: int


def split_page(text: str) -> list[Block]:
    """Return the prose, the examples and the figures of a page in their order."""
    blocks, end = [], 0
    for found in _BLOCK.finditer(text):
        blocks.append(Block("text", text[end : found.start()], text.count("\n", 0, end)))
        blocks.append(_block(found, text.count("\n", 0, found.start("body"))))
        end = found.end()
    blocks.append(Block("text", text[end:], text.count("\n", 0, end)))
    return [block for block in blocks if block.source.strip()]


def examples_of(text: str) -> list[doctest.Example]:
    """Return all examples of a page; their line numbers are those of the page."""
    parse = doctest.DocTestParser().get_examples
    found = []
    for block in split_page(text):
        for example in parse(block.source) if block.kind == "doctest" else ():
            example.lineno += block.line
            found.append(example)
    return found


def _block(found: re.Match[str], line: int) -> Block:
    if found["kind"] == "doctest":
        return Block("doctest", _dedent(found["body"], len(found["lead"])), line)
    plot = _PLOT.match(found["body"])
    if plot is None:
        return Block("text", found["body"], line)
    return Block("plot", _dedent(plot["code"], 3).strip() + "\n", line)


def _dedent(code: str, width: int) -> str:
    return re.sub(rf"^[ ]{{{width}}}", "", code, flags=re.MULTILINE) if width else code
