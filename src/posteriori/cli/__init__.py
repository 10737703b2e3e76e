"""The ``posteriori`` command."""

from pathlib import Path
from typing import Annotated

import typer

from posteriori import __version__
from posteriori.cli.output import tolerate_encodings
from posteriori.cli.refusals import (
    fail,
    require_different,
    require_file,
    require_place,
    split_names,
    told_errors,
)

__all__ = ["app", "main"]

#: An option of all commands that read dates from texts.
DayFirst = Annotated[
    bool | None,
    typer.Option(
        "--day-first/--month-first", help="The order of dates such as 01/02/2020, if it is known."
    ),
]

app = typer.Typer(
    help="Probabilistic machine learning: posterior, evidence and predictions from one call.",
    no_args_is_help=True,
    add_completion=False,
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
    require_place(html)
    with told_errors("demo"):
        from posteriori.cli.demo import run_demo

        run_demo(html, seed)


@app.command()
def compare(
    data: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSON lines or Parquet, compressed or not; - reads standard input."
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            help="The column to predict; without it, --task density describes all columns together."
        ),
    ] = None,
    task: Annotated[
        str, typer.Option(help="auto, regression, classification or density.", metavar="TASK")
    ] = "auto",
    models: Annotated[
        str | None, typer.Option(help="Only these models, separated by commas.")
    ] = None,
    drop: Annotated[str, typer.Option(help="Columns to leave out, separated by commas.")] = "",
    html: Annotated[
        Path | None, typer.Option(help="Write a report to this file.", dir_okay=False)
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the model to act on to this file.", dir_okay=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random split into folds.", min=0)] = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Models fitted at a time; all processors by default.", min=1)
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which no model is waited for.", min=0.0)
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option(help="Read no more than so many rows.", min=1)
    ] = None,
    loss: Annotated[
        str,
        typer.Option(
            help="What a wrong number costs: squared, absolute or log difference.", metavar="LOSS"
        ),
    ] = "squared",
    details: Annotated[
        bool, typer.Option("--details", help="Print evidences, their kinds and groups.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print how long each model took.")
    ] = False,
    thorough: Annotated[
        bool,
        typer.Option("--thorough", help="Try costly models too, and find evidences of all."),
    ] = False,
    day_first: DayFirst = None,
) -> None:
    """Find out which model a table supports, how surely, and what it predicts.

    Ctrl-C ends the work with the ranking of the models that are done; then nothing is written, and
    the exit code is 130.
    """
    require_file(data)
    require_place(html)
    require_place(save)
    require_different((html, save), (data,))
    if target is None and task != "density":
        fail(
            "name the column to predict with --target, or describe all columns together with --task density"
        )
    if models is not None and not split_names(models):
        fail("--models names no model; leave it out to try all that suit")
    with told_errors("compare"):
        from posteriori.cli.compare import Choices, run_compare

        choices = Choices(
            data,
            target,
            task,
            split_names(models or ""),
            split_names(drop),
            html,
            save,
            seed,
            jobs,
            time_limit,
            max_rows,
            loss,
            details,
            verbose,
            thorough,
            day_first,
        )
        run_compare(choices)


@app.command()
def cluster(
    data: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSON lines or Parquet, compressed or not; - reads standard input."
        ),
    ],
    max_clusters: Annotated[
        int, typer.Option(help="The largest number of clusters that is tried.", min=1)
    ] = 10,
    clusters: Annotated[
        int | None, typer.Option(help="The number of clusters, if it is known.", min=1)
    ] = None,
    drop: Annotated[str, typer.Option(help="Columns to leave out, separated by commas.")] = "",
    html: Annotated[
        Path | None, typer.Option(help="Write a report to this file.", dir_okay=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the table with the cluster of each row, as CSV.", dir_okay=False),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Save the model of the clusters to this file.", dir_okay=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of where the search begins.", min=0)] = 0,
    day_first: DayFirst = None,
    max_rows: Annotated[
        int | None, typer.Option(help="Read no more than so many rows.", min=1)
    ] = None,
) -> None:
    """Find out how many groups the rows of a table form, and what sets them apart.

    After Ctrl-C nothing is written, and the exit code is 130.
    """
    require_file(data)
    for path in (html, out, save):
        require_place(path)
    require_different((html, out, save), (data,))
    with told_errors("cluster"):
        from posteriori.cli.cluster import ClusterChoices, run_cluster

        run_cluster(
            ClusterChoices(
                data,
                max_clusters,
                clusters,
                split_names(drop),
                html,
                out,
                save,
                seed,
                max_rows,
                day_first,
            )
        )


@app.command()
def segment(
    data: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSON lines or Parquet, compressed or not; - reads standard input."
        ),
    ],
    columns: Annotated[
        str, typer.Option(help="Columns that states are told by, separated by commas.")
    ] = "",
    time: Annotated[
        str | None, typer.Option(help="The column that rows are ordered by.", metavar="COLUMN")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="The column whose levels are series of their own.", metavar="COLUMN"),
    ] = None,
    states: Annotated[
        str, typer.Option(help="Numbers of states to try, or the number.", metavar="RANGE")
    ] = "1-8",
    out: Annotated[
        Path | None,
        typer.Option(help="Write the table with the state of each row, as CSV.", dir_okay=False),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a report to this file.", dir_okay=False)
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Save the model of the states to this file.", dir_okay=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of where the search begins.", min=0)] = 0,
    day_first: DayFirst = None,
    max_rows: Annotated[
        int | None, typer.Option(help="Read no more than so many rows.", min=1)
    ] = None,
) -> None:
    """Divide the rows of a table, in their order, into stretches that are alike.

    After Ctrl-C nothing is written, and the exit code is 130.
    """
    require_file(data)
    for path in (html, out, save):
        require_place(path)
    require_different((html, out, save), (data,))
    with told_errors("segment"):
        from posteriori.cli.segment import SegmentChoices, run_segment

        run_segment(
            SegmentChoices(
                data,
                split_names(columns),
                time,
                by,
                states,
                html,
                out,
                save,
                seed,
                max_rows,
                day_first,
            )
        )


@app.command()
def forecast(
    data: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSON lines or Parquet, compressed or not; - reads standard input."
        ),
    ],
    time: Annotated[str, typer.Option(help="The column of dates or numbers.", metavar="COLUMN")],
    value: Annotated[str, typer.Option(help="The column to forecast.", metavar="COLUMN")],
    horizon: Annotated[
        int | None, typer.Option(help="Steps to forecast; a period by default, or 6.", min=1)
    ] = None,
    period: Annotated[
        str, typer.Option(help="auto, none, or periods of seasons in steps, such as 7,365.25.")
    ] = "auto",
    by: Annotated[
        str | None,
        typer.Option(help="The column whose levels are series of their own.", metavar="COLUMN"),
    ] = None,
    inputs: Annotated[
        str, typer.Option(help="Columns of known numbers with effects, separated by commas.")
    ] = "",
    future: Annotated[
        Path | None, typer.Option(help="A table with the inputs of the steps to forecast.")
    ] = None,
    holidays: Annotated[
        str | None, typer.Option(help="A country whose holidays have effects, such as DE.")
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(help="Learn from what was before, and tell what changed.", metavar="DATE"),
    ] = None,
    models: Annotated[
        str | None, typer.Option(help="Only these models, separated by commas.")
    ] = None,
    origins: Annotated[
        int, typer.Option(help="Points in the past to forecast from; 0 ranks by evidence.", min=0)
    ] = 5,
    mass: Annotated[
        str, typer.Option(help="Probabilities of intervals, separated by commas.")
    ] = "0.8,0.95",
    out: Annotated[
        Path | None, typer.Option(help="Write the forecast to this file, as CSV.", dir_okay=False)
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a report to this file.", dir_okay=False)
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the model to this file.", dir_okay=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of random draws.", min=0)] = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Fits at a time; all processors by default.", min=1)
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which no model is waited for.", min=0.0)
    ] = None,
    day_first: DayFirst = None,
    max_rows: Annotated[
        int | None, typer.Option(help="Read no more than so many rows.", min=1)
    ] = None,
) -> None:
    """Forecast a dated column with the model that foresaw best what came, and say by how much.

    Ctrl-C ends the work with the ranking of the models that are done; then nothing is written, and
    the exit code is 130.
    """
    require_file(data)
    if future is not None:
        require_file(future)
    for path in (html, out, save):
        require_place(path)
    require_different((html, out, save), (data, *([future] if future else [])))
    if models is not None and not split_names(models):
        fail("--models names no model; leave it out to try all that suit")
    with told_errors("forecast"):
        from posteriori.cli.forecast import ForecastChoices, run_forecast

        choices = ForecastChoices(data, time, value, html, out, save, max_rows, jobs, time_limit)
        options = {
            "horizon": horizon,
            "period": period,
            "by": by,
            "inputs": split_names(inputs),
            "holidays": holidays,
            "event": event,
            "models": split_names(models or ""),
            "origins": origins,
            "mass": split_names(mass),
            "seed": seed,
            "day_first": day_first,
        }
        run_forecast(choices, future, options)


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
    require_file(model)
    require_file(data)
    require_place(out)
    require_different((out,), (model, data))
    with told_errors():
        from posteriori.cli.predict import run_predict

        run_predict(model, data, out, mass)


@app.command()
def show(
    model: Annotated[Path, typer.Argument(help="A model saved with --save.")],
) -> None:
    """Describe a saved model."""
    require_file(model)
    with told_errors():
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
    require_file(file)
    with told_errors("query"):
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
    require_file(file)
    require_place(out)
    require_different((out,), (file,))
    with told_errors("draw"):
        from posteriori.cli.network import run_draw

        run_draw(file, given, out)


@network.command("show")
def show_network(file: Annotated[Path, typer.Argument(help="A network.")]) -> None:
    """Say what a file of a network holds, and what exact answers take."""
    require_file(file)
    with told_errors():
        from posteriori.cli.network import run_show_network

        run_show_network(file)
