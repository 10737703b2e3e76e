"""The ``posteriori`` command."""

from pathlib import Path
from typing import Annotated

import typer

from posteriori import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    help="Probabilistic machine learning: posterior, evidence and predictions from one call.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    rich_markup_mode="rich",
)


def main() -> None:
    """Run the command with the arguments of the process."""
    app(prog_name="posteriori")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"posteriori {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    html: Annotated[
        Path, typer.Option(help="Where to write the report with its figures.", dir_okay=False)
    ] = Path("posteriori-demo.html"),
    seed: Annotated[int, typer.Option(help="Seed of the random draws.", min=0)] = 0,
) -> None:
    """Work through a Bayesian analysis of built-in data and write a report with figures."""
    from posteriori.cli.demo import run_demo

    try:
        run_demo(html, seed)
    except OSError as error:
        typer.echo(f"Cannot write {html}: {error.strerror or error}", err=True)
        raise typer.Exit(1) from error
