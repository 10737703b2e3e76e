"""The tasks of the library, a row each; commands are made of them before anything heavy is loaded."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["TASKS", "Task"]


class Task(NamedTuple):
    """A row of the list of tasks.

    Attributes
    ----------
    name : str
        Of the command.
    function : str
        Where it is: "package.module:name".
    progress : {"ranking", "count", "tries"}
        How work under way is shown: a ranking that fills, a bar, or what was tried last.
    doing : str
        What is under way, in words.
    labels : tuple of str
        Columns that ``--out`` appends to the rows of the table; none where it writes a table of its own.
    written : str
        What ``--out`` writes, in words.
    ahead : str
        Where a function is that names what to compile meanwhile, from the table and the options.
    """

    name: str
    function: str
    progress: str
    doing: str
    labels: tuple[str, ...] = ()
    written: str = ""
    ahead: str = ""


TASKS = (
    Task(
        "compare",
        "posteriori.analysis.comparisons.comparing:compare",
        "ranking",
        "comparing models",
        ahead="posteriori.analysis.warming.compiling_ahead:grown_recipes",
    ),
    Task(
        "cluster",
        "posteriori.analysis.groups.clustering:cluster",
        "tries",
        "looking for groups",
        ("cluster", "cluster_probability", "log_density"),
        "clusters",
    ),
    Task(
        "segment",
        "posteriori.analysis.segments.segmenting:segment",
        "tries",
        "looking for states",
        ("state", "state_probability"),
        "states",
    ),
    Task(
        "forecast",
        "posteriori.analysis.forecasts.forecasting:forecast",
        "count",
        "forecasting",
        written="steps ahead",
    ),
)
