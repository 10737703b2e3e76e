"""The ``posteriori`` command."""

from pathlib import Path
from typing import Annotated

import typer

from posteriori import __version__
from posteriori.analysis.tasks.listed import TASKS
from posteriori.cli.output import require_file, told_errors, tolerate_encodings
from posteriori.cli.task_commands import add_task

__all__ = ["app", "main"]

app = typer.Typer(
    help="Probabilistic machine learning: posterior, evidence and predictions from one call.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode="rich",
)


def main() -> None:
    """Run the command with the arguments of the process."""
    tolerate_encodings()
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
    """Compare models of built-in data and write a report with figures."""
    with told_errors("demo", written=[html]):
        from posteriori.cli.demo import run_demo

        run_demo(html, seed)


for _task in TASKS:
    add_task(app, _task)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model saved with --save.")],
    data: Annotated[str, typer.Argument(help="A table with the same columns.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Write CSV to this file instead of printing it.", dir_okay=False),
    ] = None,
    mass: Annotated[float, typer.Option(help="Probability of the predicted interval.")] = 0.9,
) -> None:
    """Append predictions with their uncertainty to a table."""
    with told_errors(read=[model, data], written=[out]):
        from posteriori.cli.predict import run_predict

        run_predict(model, data, out, mass)


@app.command()
def update(
    model: Annotated[Path, typer.Argument(help="A model saved with --save.")],
    data: Annotated[str, typer.Argument(help="A table of further rows, with the same columns.")],
    save: Annotated[
        Path | None,
        typer.Option(help="Save the model to this file; by default to its own.", dir_okay=False),
    ] = None,
) -> None:
    """Let a saved model go on with the rows of a further table: forecasts and groups of numbers."""
    require_file(model)  # which may be written over
    with told_errors(read=[data], written=[save]):
        from posteriori.cli.predict import run_update

        run_update(model, data, save or model)


@app.command()
def show(
    model: Annotated[Path, typer.Argument(help="A model saved with --save.")],
) -> None:
    """Describe a saved model."""
    with told_errors(read=[model]):
        from posteriori.cli.predict import run_show

        run_show(model)


@app.command()
def warm(
    jobs: Annotated[
        int | None, typer.Option(help="Processes; all processors by default.", min=1)
    ] = None,
) -> None:
    """Compile all loops now, so that no later command waits for it: for images, and before a demonstration.

    Machine code is kept in the user's cache folder, or in the one that NUMBA_CACHE_DIR names, for this
    version and this kind of processor.
    """
    with told_errors():
        from posteriori.cli.warm import run_warm

        run_warm(jobs)


network = typer.Typer(
    help="Ask Bayesian networks in files: BIF, XMLBIF or UAI, also packed as .gz.",
    no_args_is_help=True,
)
app.add_typer(network, name="network")


@network.command()
def query(
    file: Annotated[Path, typer.Argument(help="A network.")],
    question: Annotated[str, typer.Argument(help='Such as "rain | wet=yes".')],
    json: Annotated[bool, typer.Option("--json", help="Print {state: probability}.")] = False,
) -> None:
    """Answer a question exactly: a line for each state."""
    with told_errors("query", read=[file]):
        from posteriori.cli.network import run_query

        run_query(file, question, as_json=json)


@network.command()
def draw(
    file: Annotated[Path, typer.Argument(help="A network.")],
    given: Annotated[str, typer.Option(help="What is known, such as wet=yes.")] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write to this file, .svg, .dot or .mmd; else SVG is printed.", dir_okay=False
        ),
    ] = None,
) -> None:
    """Draw a network: probabilities as bars, what is given shaded."""
    with told_errors("draw", read=[file], written=[out]):
        from posteriori.cli.network import run_draw

        run_draw(file, given, out)


@network.command("show")
def show_network(file: Annotated[Path, typer.Argument(help="A network.")]) -> None:
    """Say what a file of a network holds, and what exact answers take."""
    with told_errors(read=[file]):
        from posteriori.cli.network import run_show_network

        run_show_network(file)
