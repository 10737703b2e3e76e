"""The command ``cluster``: from a table to its groups."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from posteriori.analysis.groups.cluster_words import number_rows, profile_rows
from posteriori.analysis.groups.clustering import Clustering, cluster
from posteriori.analysis.groups.number_search import Tried
from posteriori.analysis.saved.cluster_model import LABELS
from posteriori.analysis.table.wording import counted
from posteriori.cli.output import PatientConsole, plain, print_notes
from posteriori.cli.results import print_table, read_and_tell, require_new_names, write_results

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
    table = read_and_tell(console, choices.data, choices.max_rows)
    if choices.out is not None:
        require_new_names(table.frame, LABELS)
    found = _cluster_with_progress(console, table.frame, choices)
    print_notes(console, found.notes)
    _print_clustering(console, found)
    write_results(console, table.frame, found, choices, "clusters")


def _cluster_with_progress(
    console: Console, frame: pd.DataFrame, choices: ClusterChoices
) -> Clustering:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("looking for groups")

        def show(tried: Tried) -> None:
            parts = counted(tried.number, "component")
            progress.update(bar, description=f"looking for groups: {tried.kind} of {parts} done")

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
        print_table(console, *number_rows(found.found, found.drawn))
        console.print()
    for profile in found.profiles if found.n_clusters > 1 else ():
        doubt = f", {profile.in_doubt:,} in doubt" if profile.in_doubt else ""
        size = counted(profile.rows, "row")
        console.print(f"group {profile.cluster}: {size}{doubt}", style="bold", markup=False)
        header = ("column", "mean or share", "90% interval", "all rows", "apart")
        print_table(console, header, profile_rows(profile, _TRAITS))
        console.print()
    console.print(plain(found.verdict), style="green", markup=False)
    console.print()
