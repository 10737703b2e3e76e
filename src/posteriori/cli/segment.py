"""The command ``segment``: from a table to the states behind its rows."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from posteriori.analysis.saved.segment_model import SEGMENT_LABELS
from posteriori.analysis.segments.segment_words import regime_rows, state_rows, trait_table
from posteriori.analysis.segments.segmenting import Segmentation, segment
from posteriori.analysis.segments.state_search import TriedStates
from posteriori.analysis.table.wording import counted
from posteriori.cli.output import PatientConsole, plain, print_notes
from posteriori.cli.results import print_table, read_and_tell, require_new_names, write_results

__all__ = ["SegmentChoices", "parse_states", "run_segment"]


class SegmentChoices(NamedTuple):
    """The options of the command."""

    data: str
    columns: tuple[str, ...] = ()
    time: str | None = None
    by: str | None = None
    states: str = "1-8"
    html: Path | None = None
    out: Path | None = None
    save: Path | None = None
    seed: int = 0
    max_rows: int | None = None
    day_first: bool | None = None


def run_segment(choices: SegmentChoices) -> None:
    """Read, find states, print, and write what was asked for.

    Raises
    ------
    KeyboardInterrupt
        When Ctrl-C was pressed: nothing is written before all is made.
    """
    states = parse_states(choices.states)
    written = any((choices.html, choices.out, choices.save))
    console = (PatientConsole if written else Console)(highlight=False)
    table = read_and_tell(console, choices.data, choices.max_rows)
    if choices.out is not None:
        require_new_names(table.frame, SEGMENT_LABELS)
    found = _segment_with_progress(console, table.frame, choices, states)
    print_notes(console, found.notes)
    _print_segmentation(console, found)
    write_results(console, table.frame, found, choices, "states")


def parse_states(text: str) -> int | tuple[int, int]:
    """Return the number of states, or the smallest and the largest one.

    Examples
    --------
    >>> parse_states("1-8"), parse_states("3")
    ((1, 8), 3)
    """
    parts = [part.strip() for part in text.split("-")]
    if len(parts) > 2 or not all(part.isdecimal() for part in parts):
        raise ValueError(f"--states takes a number or a range such as 1-8, got {text!r}")
    numbers = [int(part) for part in parts]
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _segment_with_progress(
    console: Console,
    frame: pd.DataFrame,
    choices: SegmentChoices,
    states: int | tuple[int, int],
) -> Segmentation:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("looking for states")

        def show(tried: TriedStates) -> None:
            done = f"{counted(tried.number, 'state')} with {tried.kind} done"
            progress.update(bar, description=f"looking for states: {done}")

        return segment(
            frame,
            columns=choices.columns or None,
            time=choices.time,
            by=choices.by,
            states=states,
            seed=choices.seed,
            day_first=choices.day_first,
            on_tried=show,
        )


def _print_segmentation(console: Console, found: Segmentation) -> None:
    """Print how probable each number is, what each state is like, and the verdict."""
    console.print()
    print_table(console, *state_rows(found.found))
    console.print()
    if found.n_states > 1:
        print_table(console, *regime_rows(found.regimes))
        console.print()
        print_table(console, *trait_table(found.regimes))
        console.print()
    console.print(plain(found.verdict), style="green", markup=False)
    console.print()
