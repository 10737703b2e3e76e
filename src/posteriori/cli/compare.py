"""The command ``compare``: from a table to a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd
from rich.console import Console

from posteriori.analysis.analyzing import Analysis, analyze
from posteriori.analysis.densities.describing import TableDensity
from posteriori.analysis.report.ranking_tables import (
    detailed_table,
    explanations,
    failures_of,
    fit_columns,
    ranking_table,
    warnings_of,
)
from posteriori.analysis.saved.model_files import save_model
from posteriori.analysis.table.reading import reading_code
from posteriori.analysis.warming.compiling_ahead import compiling_ahead
from posteriori.analysis.warming.recipes import grown_recipes
from posteriori.cli.output import PatientConsole, plain, print_indented, print_notes
from posteriori.cli.ranking_as_it_fills import told_outcomes
from posteriori.cli.results import read_and_tell
from posteriori.numerics.record_files import write_whole

__all__ = ["Choices", "print_analysis", "run_compare", "tell_comparison"]


class Choices(NamedTuple):
    """The options of the command."""

    data: str
    target: str | None = None
    task: str = "auto"
    models: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    html: Path | None = None
    save: Path | None = None
    seed: int = 0
    jobs: int | None = None
    time_limit: float | None = None
    max_rows: int | None = None
    loss: str = "squared"
    details: bool = False
    verbose: bool = False
    thorough: bool = False


def run_compare(choices: Choices) -> None:
    """Read, compare, print, and write what was asked for."""
    written = choices.html is not None or choices.save is not None
    console = (PatientConsole if written else Console)(highlight=False)
    table = read_and_tell(console, choices.data, choices.max_rows)
    loading = reading_code(choices.data, choices.max_rows)
    asked = table.frame, choices.target, choices.task, choices.models
    with compiling_ahead(lambda: grown_recipes(*asked)):
        tell_comparison(console, table.frame, choices, loading)


def tell_comparison(console: Console, frame: pd.DataFrame, choices: Choices, loading: str) -> None:
    """Compare models of a table, print the ranking, and write what was asked for.

    Parameters
    ----------
    console : Console
    frame : DataFrame
    choices : Choices
    loading : str
        Python code that makes ``table`` of the data, for the report.

    Raises
    ------
    KeyboardInterrupt
        When Ctrl-C was pressed: after the ranking of what is done, with nothing written.
    ValueError
        When no model is left.
    """
    analysis = _analyze_with_progress(console, frame, choices)
    print_notes(console, analysis.notes)
    print_analysis(console, analysis, details=choices.details)
    if analysis.interrupted:
        raise KeyboardInterrupt
    if analysis.ranking.rows[0].failure:
        raise ValueError(f"no model was fitted: {analysis.ranking.rows[0].failure}")
    if choices.save is not None:  # first: no figure of the report may cost the model
        save_model(analysis.model, choices.save)
        kept = analysis.words(analysis.kept)
        console.print(plain(f"“{kept}” saved to {choices.save}"), markup=False, soft_wrap=True)
    if choices.html is not None:
        title = "standard input" if choices.data == "-" else Path(choices.data).name
        page = analysis.html(title, loading)
        write_whole(choices.html, page.encode(errors="replace"))
        console.print(plain(f"Report written to {choices.html}"), markup=False, soft_wrap=True)


def print_analysis(
    console: Console, analysis: Analysis | TableDensity, *, details: bool = False
) -> None:
    """Print the ranking, with evidences if details are asked for, what failed, and the verdict."""
    header, rows = (detailed_table if details else ranking_table)(analysis)
    lines, hidden = fit_columns(header, rows, console.width)
    remarks = (
        ("dim", explanations(analysis, header, hidden)),
        ("yellow", failures_of(analysis)),
        ("dim", warnings_of(analysis)),
    )
    verdict = analysis.verdict
    console.print()
    for line, style in zip(lines, ("dim", "bold", *[""] * len(rows)), strict=False):
        console.print(plain(line), style=style, markup=False, soft_wrap=True)
    for style, texts in remarks:
        for text in texts:
            print_indented(console, text, style)
    console.print()
    console.print(plain(verdict), style="green", markup=False)
    console.print()


def _analyze_with_progress(
    console: Console, frame: pd.DataFrame, choices: Choices
) -> Analysis | TableDensity:
    with told_outcomes(console, times=choices.verbose) as hear:
        return analyze(
            frame,
            choices.target,
            task=choices.task,
            models=choices.models,
            drop=choices.drop,
            jobs=choices.jobs,
            time_limit=choices.time_limit,
            seed=choices.seed,
            loss=choices.loss,
            thorough=choices.thorough,
            on_outcome=hear,
        )
