"""The ``posteriori`` command."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from posteriori import __version__
from posteriori.cli.output import plain, tolerate_encodings

__all__ = ["app", "main"]

#: What Python says where there is no room for the stack of a thread.
_NO_THREAD = "can't start new thread"

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
    _require_place(html)
    with _told_errors():
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
) -> None:
    """Find out which model a table supports, how surely, and what it predicts.

    Ctrl-C ends the work with the ranking of the models that are done; then nothing is written, and
    the exit code is 130.
    """
    _require_file(data)
    _require_place(html)
    _require_place(save)
    _require_different((html, save), (data,))
    if target is None and task != "density":
        _fail(
            "name the column to predict with --target, or describe all columns together with --task density"
        )
    if models is not None and not _names(models):
        _fail("--models names no model; leave it out to try all that suit")
    with _told_errors():
        from posteriori.cli.compare import Choices, run_compare

        choices = Choices(
            data,
            target,
            task,
            _names(models or ""),
            _names(drop),
            html,
            save,
            seed,
            jobs,
            time_limit,
            max_rows,
            loss,
            details,
            verbose,
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
    max_rows: Annotated[
        int | None, typer.Option(help="Read no more than so many rows.", min=1)
    ] = None,
) -> None:
    """Find out how many groups the rows of a table form, and what sets them apart.

    After Ctrl-C nothing is written, and the exit code is 130.
    """
    _require_file(data)
    for path in (html, out, save):
        _require_place(path)
    _require_different((html, out, save), (data,))
    with _told_errors():
        from posteriori.cli.cluster import ClusterChoices, run_cluster

        run_cluster(
            ClusterChoices(
                data, max_clusters, clusters, _names(drop), html, out, save, seed, max_rows
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
    max_rows: Annotated[
        int | None, typer.Option(help="Read no more than so many rows.", min=1)
    ] = None,
) -> None:
    """Divide the rows of a table, in their order, into stretches that are alike.

    After Ctrl-C nothing is written, and the exit code is 130.
    """
    _require_file(data)
    for path in (html, out, save):
        _require_place(path)
    _require_different((html, out, save), (data,))
    with _told_errors():
        from posteriori.cli.segment import SegmentChoices, run_segment

        run_segment(
            SegmentChoices(data, _names(columns), time, by, states, html, out, save, seed, max_rows)
        )


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
    _require_file(model)
    _require_file(data)
    _require_place(out)
    _require_different((out,), (model, data))
    with _told_errors():
        from posteriori.cli.predict import run_predict

        run_predict(model, data, out, mass)


@app.command()
def show(
    model: Annotated[Path, typer.Argument(help="A model saved with --save.")],
) -> None:
    """Describe a saved model."""
    _require_file(model)
    with _told_errors():
        from posteriori.cli.predict import run_show

        run_show(model)


def _require_file(path: str | Path) -> None:
    """Refuse a missing file before anything heavy is loaded."""
    if str(path) == "-":
        return
    if Path(path).is_dir():
        _fail(f"{path} is a folder")
    if not Path(path).exists():
        _fail(f"{path} does not exist")


def _require_place(path: Path | None) -> None:
    """Refuse a file that could not be written, before the work is done."""
    if path is None:
        return
    try:
        special = not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        special = False
    except OSError as error:  # links that lead in a circle, a folder that may not be entered
        _fail(f"{path} cannot be written: {error.strerror}")
    if special:  # a device or a pipe is written to, not replaced
        return
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        _fail(f"{path} cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        _fail(f"{path} cannot be written: the folder {folder} is protected")


def _require_different(written: Sequence[Path | None], read: Sequence[str | Path]) -> None:
    """Refuse to write over what is read, or over what was just written."""
    taken = {Path(path).resolve() for path in read if str(path) != "-"}
    for path in written:
        if path is None or (path.exists() and not path.is_file()):
            continue
        if path.resolve() in taken:
            _fail(f"{path} is named twice: what is read and written must be different files")
        taken.add(path.resolve())


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


@contextmanager
def _told_errors() -> Iterator[None]:
    """Load what is heavy and run, and tell what goes wrong in a line instead of a traceback."""
    try:
        yield
    except OSError as error:
        _fail(f"{error.filename or 'file'}: {error.strerror or error}")
    except (ValueError, MemoryError) as error:
        _fail(str(error) or "out of memory")
    except ImportError as error:  # libraries that do not fit into memory are no defect
        _fail(f"a library cannot be loaded, for lack of memory or of the library: {error}")
    except Exception as error:
        if str(error) == _NO_THREAD:
            _fail(f"out of memory: {error}")
        what = " ".join(f"{type(error).__name__}: {error}".split())
        _fail(f"{what}. This is a defect of posteriori: please report it with the command you gave")
    except KeyboardInterrupt:
        _fail("stopped by Ctrl-C: nothing was written", code=130)


def _fail(message: str, code: int = 1) -> NoReturn:
    typer.echo(plain(f"posteriori: {message}"), err=True)
    raise typer.Exit(code)
