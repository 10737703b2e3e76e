"""The commands ``predict``, ``update`` and ``show``: saved models at work."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from posteriori.analysis.saved.model_files import load_model, save_model
from posteriori.analysis.table.reading import read_table
from posteriori.analysis.table.wording import counted
from posteriori.cli.output import plain
from posteriori.numerics.record_files import write_whole

__all__ = ["run_predict", "run_show", "run_update"]


def run_predict(model: Path, data: str, out: Path | None, mass: float) -> None:
    """Append predictions to a table, and print or write it as CSV."""
    learned = load_model(model)
    table = read_table(data)
    predictions = learned.predict(table.frame, mass)
    for note in learned.notes_on(table.frame):
        print(plain(f"note: {note}"), file=sys.stderr)
    text = pd.concat([table.frame, predictions], axis=1).to_csv(index=False)
    if out is None:
        sys.stdout.buffer.write(text.encode(errors="replace"))  # data, whatever the terminal shows
        sys.stdout.buffer.flush()
        return
    write_whole(out, text.encode(errors="replace"))
    made = counted(len(predictions), "prediction")
    said = plain(f"{made} of {learned.told} written to {out}")
    Console(highlight=False).print(said, markup=False)


def run_update(model: Path, data: str, save: Path) -> None:
    """Let a saved model learn from the rows of a table as well, and write it."""
    learned, table = load_model(model), read_table(data)
    updated = learned.updated(table.frame)
    for note in learned.notes_on(table.frame):
        print(plain(f"note: {note}"), file=sys.stderr)
    save_model(updated, save)
    added = int(updated.facts["added"] - learned.facts.get("added", 0))
    said = f"“{learned.name}” has learned from {counted(added, 'further row')}: saved to {save}"
    Console(highlight=False).print(plain(said), markup=False, soft_wrap=True)


def run_show(model: Path) -> None:
    """Describe a saved model."""
    learned = load_model(model)
    console = Console(highlight=False)
    console.print(_plain(learned.title), style="bold")
    for line in learned.describe():
        console.print(_plain(f"  {line}"), soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in ("column", "kind", "note"):
        table.add_column(heading)
    for column in learned.columns:
        table.add_row(*map(_plain, (column.name, column.kind, column.note)))
    console.print()
    console.print(table)


def _plain(text: str) -> Text:
    """Return text as it is: no markup, and no control codes for the terminal."""
    return Text(plain(text))
