"""The command ``cluster``: from a table to its groups."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from posteriori.analysis.fitting.cluster_model import LABELS
from posteriori.analysis.fitting.model_files import save_model
from posteriori.analysis.groups.cluster_words import number_rows, profile_rows
from posteriori.analysis.groups.clustering import Clustering, cluster
from posteriori.analysis.groups.number_search import Tried
from posteriori.analysis.report.ranking_tables import fit_columns
from posteriori.analysis.table.reading import read_table, reading_code
from posteriori.analysis.table.wording import counted
from posteriori.cli.output import PatientConsole, plain, print_notes
from posteriori.numerics.record_files import write_whole

__all__ = ["ClusterChoices", "run_cluster"]

#: Columns of each cluster that are printed, those that set it apart most.
_TRAITS = 5


class ClusterChoices(NamedTuple):
    """The options of the command."""

    data: str
    max_clusters: int = 10
    clusters: int | None = None
    drop: tuple[str, ...] = ()
    html: Path | None = None
    out: Path | None = None
    save: Path | None = None
    seed: int = 0
    max_rows: int | None = None


def run_cluster(choices: ClusterChoices) -> None:
    """Read, find groups, print, and write what was asked for.

    Raises
    ------
    KeyboardInterrupt
        When Ctrl-C was pressed: nothing is written before all is made.
    """
    written = any((choices.html, choices.out, choices.save))
    console = (PatientConsole if written else Console)(highlight=False)
    table = read_table(choices.data, choices.max_rows)
    rows, columns = table.frame.shape
    size = f"{counted(rows, 'row')}, {counted(columns, 'column')}"
    console.print(plain(f"{choices.data}: {size}"), markup=False)
    print_notes(console, table.notes)
    if choices.out is not None:
        _require_new_names(table.frame)
    found = _cluster_with_progress(console, table.frame, choices)
    print_notes(console, found.notes)
    _print_clustering(console, found)
    _write(console, table.frame, found, choices)


def _require_new_names(frame: pd.DataFrame) -> None:
    taken = [name for name in LABELS if name in frame.columns]
    if taken:
        raise ValueError(
            f"the table has a column {taken[0]!r} already, which --out would append: rename it"
        )


def _cluster_with_progress(
    console: Console, frame: pd.DataFrame, choices: ClusterChoices
) -> Clustering:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("looking for groups")

        def show(tried: Tried) -> None:
            groups = counted(tried.number, "group")
            progress.update(bar, description=f"looking for groups: {tried.kind} of {groups} done")

        return cluster(
            frame,
            max_clusters=choices.max_clusters,
            clusters=choices.clusters,
            drop=choices.drop,
            seed=choices.seed,
            on_tried=show,
        )


def _print_clustering(console: Console, found: Clustering) -> None:
    """Print how probable each number is, what sets each cluster apart, and the verdict."""
    console.print()
    if not found.asked:
        _print_table(console, *number_rows(found.found))
        console.print()
    for profile in found.profiles if found.n_clusters > 1 else ():
        doubt = f", {profile.in_doubt:,} in doubt" if profile.in_doubt else ""
        size = counted(profile.rows, "row")
        console.print(f"group {profile.cluster}: {size}{doubt}", style="bold", markup=False)
        header = ("column", "mean or share", "90% interval", "all rows", "apart")
        _print_table(console, header, profile_rows(profile, _TRAITS))
        console.print()
    console.print(plain(found.verdict), style="green", markup=False)
    console.print()


def _print_table(console: Console, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    lines, _ = fit_columns(header, rows, console.width)
    for line, style in zip(lines, ("dim", *[""] * len(rows)), strict=False):
        console.print(plain(line), style=style, markup=False, soft_wrap=True)


def _write(
    console: Console, frame: pd.DataFrame, found: Clustering, choices: ClusterChoices
) -> None:
    """Write what was asked for; all of it is made before."""
    title = "standard input" if choices.data == "-" else Path(choices.data).name
    loading = reading_code(choices.data, choices.max_rows)
    page = "" if choices.html is None else found.html(title, loading)
    text = ""
    if choices.out is not None:
        told = found.model.predict(frame)
        text = pd.concat([frame, told], axis=1).to_csv(index=False)
    if choices.save is not None:
        save_model(found.model, choices.save)
        _say(console, f"“{found.model.name}” saved to {choices.save}")
    if choices.out is not None:
        write_whole(choices.out, text.encode(errors="replace"))
        _say(console, f"{counted(len(frame), 'row')} with their clusters written to {choices.out}")
    if choices.html is not None:
        write_whole(choices.html, page.encode(errors="replace"))
        _say(console, f"Report written to {choices.html}")


def _say(console: Console, text: str) -> None:
    console.print(plain(text), markup=False, soft_wrap=True)
