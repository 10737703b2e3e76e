"""Groups and states of hostile columns: refused in words, or told whole, and never more than text."""

import re
from collections.abc import Callable
from functools import cache
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from posteriori.analysis import cluster, segment
from posteriori.analysis.tasks.contract import TaskResult
from posteriori.cli.running_tasks import print_result
from tests.analysis.groups.test_cluster_page import Balanced

TASKS: dict[str, Callable[[Any], TaskResult]] = {
    "cluster": lambda table: cluster(table, max_clusters=3),
    "segment": lambda table: segment(table, states=(1, 2)),
}
NAMES = ("<script>alert(1)</script>", "[bold red]loud[/bold red]", "two\nlines", "\x1b[31mred")


def steps(scale: float = 1.0, seed: int = 0) -> np.ndarray:
    """Return 60 numbers, 30 about 0 and 30 about 8."""
    return 8.0 * scale * (np.arange(60) // 30) + np.random.default_rng(seed).normal(size=60)


@cache
def told(task: str) -> tuple[str, str]:
    """Return what is printed and shown of columns whose names and levels are code."""
    table = pd.DataFrame({name: steps(seed=k) for k, name in enumerate(NAMES)})
    table["[/]"] = np.where(steps() > 4.0, "[green]<i>&amp;\nup", "[green]<i>&amp;\ndown")
    found = TASKS[task](table)
    console = Console(file=StringIO(), width=200, highlight=False)
    print_result(console, found, verbose=True)
    return console.file.getvalue(), found.html("<img src=x onerror=alert(1)>")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"a": [1.0] * 20, "b": ["k"] * 20}, "no column is left to tell"),
        ({"never": [np.nan] * 20}, "no column is left to tell"),
        ({"a": [1.0, 2.0, 9.0]}, "3 rows with an entry; at least 5 are needed"),
        ({"a": [1.0]}, "no column is left to tell"),
        ({"a": []}, "the table has no rows"),
        ({}, "the table has no rows"),
    ],
)
def test_tables_that_tell_nothing_are_refused(task: str, table: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        TASKS[task](table)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("beside", "note"),
    [
        ({}, ""),
        ({"never": np.nan}, "'never': every entry is missing: left out"),
        ({"always": 7.0}, "'always': always 7.0: left out"),
    ],
)
def test_one_column_is_enough(task: str, beside: dict[str, float], note: str) -> None:
    found = TASKS[task](pd.DataFrame({"x": steps()}).assign(**beside))
    assert "2 groups" in found.verdict or "2 states" in found.verdict
    assert "x high, about 8" in found.verdict
    assert not note or note in found.notes
    Balanced().feed(found.html())


@pytest.mark.parametrize("task", TASKS)
def test_pages_escape_names_and_levels(task: str) -> None:
    _, page = told(task)
    assert not re.search(r"<(script|b|i|img)\b", page)
    assert "&lt;script&gt;alert(1)" in page
    assert "[green]&lt;i&gt;&amp;amp;" in page
    Balanced().feed(page)


@pytest.mark.parametrize("task", TASKS)
def test_terminals_take_names_and_levels_as_they_are(task: str) -> None:
    text, _ = told(task)
    assert "[bold red]loud[/bold red]" in text
    assert "[/]" in text
    assert re.search(r"\[green\]<i>&amp; (up|down)", text)
    assert "\x1b" not in text
    assert all("two lines" in line for line in text.splitlines() if "two" in line)
