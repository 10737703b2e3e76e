"""The demonstration: analyse the coal-mining disasters, show tables, write the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from posteriori import Gamma
from posteriori.cli.coal import CoalAnalysis, analyse_counts
from posteriori.cli.report import Section, make_report, tell_analysis
from posteriori.datasets import load_coal_disasters, yearly_counts
from posteriori.numerics.record_files import write_whole

__all__ = ["analyse_coal", "run_demo"]

FIRST_YEAR, LAST_YEAR = 1851, 1962


def run_demo(html: Path, seed: int) -> None:
    """Analyse, write the report to ``html``, then print the tables and the report's path."""
    analysis = analyse_coal(seed)
    write_whole(html, make_report(analysis).encode())
    console = Console(highlight=False)
    console.print()
    console.print("[bold]Did British coal mines become safer?[/bold]")
    for section in tell_analysis(analysis):
        _print_section(console, section)
    console.print()
    console.print("[bold]Report with figures[/bold]")
    console.print(f"  {html.resolve()}", soft_wrap=True, markup=False)


def analyse_coal(seed: int) -> CoalAnalysis:
    """Analyse the yearly counts 1851–1962 under a Gamma(2, 1) prior on any yearly rate."""
    years, counts = yearly_counts(load_coal_disasters()["date"], FIRST_YEAR, LAST_YEAR)
    return analyse_counts(years, counts, Gamma(2.0, 1.0), rng=np.random.default_rng(seed))


def _print_section(console: Console, section: Section) -> None:
    console.print()
    console.print(section.title, style="bold cyan", markup=False)
    console.print(Padding(section.text, (0, 0, 0, 2)), markup=False)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    for position, heading in enumerate(section.header):
        table.add_column(heading, justify="left" if position == 0 else "right")
    for row in section.rows:
        table.add_row(*row)
    console.print()
    console.print(Padding(table, (0, 0, 0, 2)))
    if section.verdict:
        console.print()
        console.print(Padding(section.verdict, (0, 0, 0, 2)), style="green", markup=False)
