"""The commands of ``network``: questions to a file, its picture, and what it holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from posteriori.cli.output import plain
from posteriori.networks import BayesianNetwork
from posteriori.networks.files.file_text import write_text
from posteriori.tables import JointTable

__all__ = ["run_draw", "run_query", "run_show_network"]


def run_query(path: Path, question: str, *, as_json: bool) -> None:
    """Print the answer to a question, a line a state, or as JSON."""
    answer = BayesianNetwork.read(path).query(question)
    rows = _rows(answer)
    if as_json:
        typer.echo(
            json.dumps(answer if isinstance(answer, float) else dict(rows), ensure_ascii=False)
        )
        return
    width = max(len(state) for state, _ in rows)
    for state, p in rows:
        typer.echo(f"{plain(state):<{width}}  {p:.6g}".strip())


def _rows(answer: Any) -> list[tuple[str, float]]:
    """Return states and their probabilities; those of several variables are joined by commas."""
    if isinstance(answer, float):
        return [("", answer)]
    if isinstance(answer, JointTable):
        frame = answer.to_frame()
        states = frame.drop(columns="probability").astype(str).agg(", ".join, axis=1)
        return list(zip(states, frame["probability"].tolist(), strict=True))
    return list(zip(map(str, answer.labels), answer.probabilities.tolist(), strict=True))


def run_draw(path: Path, given: str, out: Path | None) -> None:
    """Write a picture of a network, SVG, DOT or Mermaid by its suffix; print SVG without a file."""
    drawing = BayesianNetwork.read(path).draw(given or None)
    if out is None:
        typer.echo(drawing.svg())
        return
    writers = {".svg": drawing.svg, ".dot": drawing.dot, ".mmd": drawing.mermaid}
    if out.suffix not in writers:
        raise ValueError(f"{out} must end in one of {', '.join(writers)}")
    write_text(out, writers[out.suffix]())
    typer.echo(f"drawing written to {out}")


def _plan_words(bn: BayesianNetwork) -> str:
    """Say what all marginals take, also of networks that no machine has room for."""
    try:
        return f"all marginals by {bn.plan()}"
    except MemoryError as refused:
        return f"all marginals: {refused}"


def run_show_network(path: Path) -> None:
    """Print what a file holds, and what exact answers take."""
    bn = BayesianNetwork.read(path)
    typer.echo(plain(f"{len(bn.names)} variables, {bn.n_parameters:,} parameters"))
    typer.echo(plain(_plan_words(bn)))
    width = max(map(len, bn.names))
    for name in bn.names:
        states = ", ".join(map(str, bn.labels[name]))
        given = bn.conditionals[name].given
        bar = f"  given {', '.join(given)}" if given else ""
        typer.echo(plain(f"{name:<{width}}  {states}{bar}"))
    for note in bn.notes:
        typer.echo(plain(f"note: {note}"), err=True)
