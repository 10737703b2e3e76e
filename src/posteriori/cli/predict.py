"""The commands ``predict`` and ``show``: saved models at work."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from posteriori.analysis.forecasts.dated.series_calendar import name_steps, time_words
from posteriori.analysis.saved.cluster_model import ClusterModel
from posteriori.analysis.saved.column_reader import ColumnReader
from posteriori.analysis.saved.density_model import DensityModel
from posteriori.analysis.saved.forecast_model import ForecastModel
from posteriori.analysis.saved.model_files import load_model
from posteriori.analysis.saved.segment_model import SegmentModel
from posteriori.analysis.saved.table_model import TableModel
from posteriori.analysis.table.reading import read_table
from posteriori.analysis.table.wording import counted, fixed_number, short_number
from posteriori.cli.output import plain
from posteriori.numerics.record_files import write_whole

__all__ = ["run_predict", "run_show"]

#: Series that are described.
_MOST_SERIES = 24


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


def run_show(model: Path) -> None:
    """Describe a saved model."""
    learned = load_model(model)
    console = Console(highlight=False)
    console.print(_plain(_title(learned)), style="bold")
    for line in describe_model(learned):
        console.print(_plain(f"  {line}"), soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in ("column", "kind", "note"):
        table.add_column(heading)
    for column in learned.columns:
        table.add_row(*map(_plain, (column.name, column.kind, column.note)))
    console.print()
    console.print(table)


def _title(model: ColumnReader) -> str:
    if isinstance(model, ClusterModel):
        return f"{model.name}: tells {counted(model.facts['clusters'], 'cluster')} apart"
    if isinstance(model, DensityModel):
        return f"{model.name}: describes {counted(len(model.columns), 'column')} together"
    if isinstance(model, ForecastModel):
        count = counted(model.facts["series"], "series", "series")
        return f"{model.name}: forecasts {model.value.name!r} of {count}"
    if isinstance(model, SegmentModel):
        return f"{model.name}: tells {counted(model.facts['states'], 'state')} of series"
    return f"{model.name}: predicts {model.told}"


def describe_model(model: ColumnReader) -> list[str]:
    """Say in lines what is known about a saved model."""
    facts = model.facts
    lines = [f"learned from {counted(facts['rows'], 'row')} with posteriori {facts['version']}"]
    if isinstance(model, TableModel) and model.classes is not None:
        lines.append(f"classes: {', '.join(str(label) for label in model.classes[:20])}")
    if isinstance(model, SegmentModel):
        told = (("rows are ordered by", model.time), ("series are told by", model.by))
        lines += [f"{words} {column.name!r}" for words, column in told if column is not None]
    if isinstance(model, ForecastModel):
        lines += _series_lines(model)
    if facts.get("prior"):
        lines.append(f"prior: {facts['prior']}")
    if facts.get("log_evidence") is not None:
        lines.append(
            f"log evidence: {fixed_number(facts['log_evidence'], 2)} ({facts.get('kind')})"
        )
    if isinstance(model, DensityModel):
        each = fixed_number(facts["held_out"] / facts["rows"], 2)
        lines.append(f"log density of an unseen row: {each} on average")
    errors = [f"{name} {short_number(value)}" for name, value in facts.get("metrics", {}).items()]
    if errors:
        lines.append(f"on unseen rows: {', '.join(errors)}")
    return lines


def _series_lines(model: ForecastModel) -> list[str]:
    """Say when the series are, and what the first of them is forecast by."""
    lines = [f"series are told by {model.by.name!r}"] if model.by is not None else []
    lines += [f"holidays of {model.holidays}"] if model.holidays else []
    for name, one in list(model.series.items())[:_MOST_SERIES]:
        last = time_words(one.clock, one.clock.times(np.array([one.last]))[0])
        label = f"{name}: " if name else ""
        lines.append(f"{label}{name_steps(one.clock).steps} up to {last}")
    return lines


def _plain(text: str) -> Text:
    """Return text as it is: no markup, and no control codes for the terminal."""
    return Text(plain(text))
