"""A page as a notebook.

The prose becomes text, an example a cell that ends where something is shown, a figure the code that
draws it. Nothing has run: the notebook has no results until its reader makes them.
"""

import ast
import doctest
import re
from typing import Any

from page_examples import Block, split_page

__all__ = ["PRELUDE", "notebook_of"]

#: What the code of figures takes for granted, and the style of the pages.
PRELUDE = """\
import matplotlib.pyplot as plt
import numpy as np

from posteriori.plotting import STYLE

plt.rcParams.update(STYLE)
"""

Cell = dict[str, Any]


def notebook_of(text: str) -> dict[str, Any]:
    """Return a page as the JSON of a notebook (nbformat 4.4)."""
    blocks = split_page(text)
    cells = [cell for block in blocks for cell in cells_of(block)]
    if any(block.kind == "plot" for block in blocks):
        cells.insert(1, code_cell(PRELUDE))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}


def cells_of(block: Block) -> list[Cell]:
    if block.kind == "text":
        return [{"cell_type": "markdown", "metadata": {}, "source": lines_of(prose(block.source))}]
    if block.kind == "plot":
        return [code_cell(quiet(block.source))]
    return [code_cell(code, raises) for code, raises in shown_together(block.source)]


def shown_together(source: str) -> list[tuple[str, bool]]:
    """Divide examples after each that shows something; tell of each part whether it raises."""
    parts, code = [], ""
    for example in doctest.DocTestParser().get_examples(source):
        code += example.source
        if example.want:
            parts.append((code, example.exc_msg is not None))
            code = ""
    return [*parts, (code, False)] if code else parts


def quiet(code: str) -> str:
    """End the code of a figure such that its last value is not printed above it."""
    shows = isinstance(ast.parse(code).body[-1], ast.Expr)
    return code.rstrip() + (";\n" if shows else "\n")


def prose(text: str) -> str:
    """Leave out what only these pages can follow: links to other pages, and roles."""
    text = re.sub(r"\[([^\]]+)\]\((?!\w+:)[^)\s]+\.(?:md|rst)(?:#[^)]*)?\)", r"\1", text)
    return re.sub(r"\{py:\w+\}`~?(?:[^`]*\.)?([^`.]+)`", r"`\1`", text)


def code_cell(code: str, raises: bool = False) -> Cell:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"tags": ["raises-exception"]} if raises else {},
        "outputs": [],
        "source": lines_of(code),
    }


def lines_of(text: str) -> list[str]:
    return text.strip("\n").splitlines(keepends=True)
