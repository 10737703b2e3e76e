"""What is under way while a task works: a ranking that fills, a bar, or what was tried last.

The ranking is live in a terminal, elsewhere lines on standard error. Standard output has it once, when it is
whole, so that what reads it is not disturbed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from posteriori.analysis.comparisons.verdict_words import standing
from posteriori.analysis.fitting.running import Outcome
from posteriori.analysis.ranking.ranked_outcomes import order_outcomes
from posteriori.analysis.ranking.ranked_result import Table, behind_best, telling_decimals
from posteriori.analysis.table.wording import fixed_number, short_number
from posteriori.analysis.tasks.listed import Task
from posteriori.analysis.tasks.sections import fit_columns
from posteriori.cli.output import PatientConsole, plain
from posteriori.selection.comparison import Row

__all__ = [
    "counted_progress",
    "score_of",
    "shown_progress",
    "table_so_far",
    "told_outcomes",
    "verdict_so_far",
]

#: What a task is given to be called while it works, by keyword.
Hears = dict[str, Callable[..., None]]

#: From an outcome, the number of all candidates and the seconds that the rest may take.
HearsOutcome = Callable[[Outcome, int, float], None]

#: Lines of the window that are left to what is not the ranking: heading, verdict and bar.
_OTHER_LINES = 10

_TEXT = "comparing models"


def shown_progress(console: Console, task: Task) -> AbstractContextManager[Hears]:
    """Return a context that shows what is under way, and yields what the task is to call."""
    return _PROGRESS[task.progress](console, task)


@contextmanager
def _ranking(console: Console, _: Task) -> Iterator[Hears]:
    with told_outcomes(console) as hear:
        yield {"on_outcome": hear}


@contextmanager
def _count(console: Console, task: Task) -> Iterator[Hears]:
    with counted_progress(console, task.doing) as advance:
        yield {"on_outcome": lambda _, total, left: advance(total, left)}


@contextmanager
def _tries(console: Console, task: Task) -> Iterator[Hears]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task(task.doing)

        def show(tried: Any) -> None:
            progress.update(bar, description=f"{task.doing}: {tried.words} done")

        yield {"on_tried": show}


_PROGRESS: dict[str, Callable[[Console, Task], AbstractContextManager[Hears]]] = {
    "ranking": _ranking,
    "count": _count,
    "tries": _tries,
}


# -- a bar -----------------------------------------------------------------------------------------


@contextmanager
def counted_progress(console: Console, text: str) -> Iterator[Callable[[int, float], None]]:
    """Show a bar while something is done; what is returned tells of one more of a total, and of seconds left."""
    progress, count = _counted_bar(console, text)

    def advance(total: int, remaining: float) -> None:
        count(int(progress.tasks[0].completed) + 1, total, remaining)

    with progress:
        yield advance


def _counted_bar(console: Console, text: str) -> tuple[Progress, Callable[[int, int, float], None]]:
    """Return a bar, and what sets how many of a total are done, and how many seconds the rest may take."""
    columns = (
        TextColumn(text),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    progress = Progress(*columns, console=console, transient=True)
    bar = progress.add_task("", total=None, left="")

    def count(done: int, total: int, remaining: float) -> None:
        left = f"about {remaining:.0f} s left" if remaining >= 1.0 else ""
        progress.update(bar, completed=done, total=total, left=left)

    return progress, count


# -- a ranking that fills --------------------------------------------------------------------------


def told_outcomes(console: Console) -> AbstractContextManager[HearsOutcome]:
    """Return a context that yields what is to be called after every candidate."""
    live = console.is_terminal and not console.is_dumb_terminal
    return _live(console) if live else _in_lines()


@contextmanager
def _live(console: Console) -> Iterator[HearsOutcome]:
    done: dict[str, Outcome] = {}
    shown: list[Text] = []
    first_verdict = False
    bar, count = _counted_bar(console, _TEXT)

    def hear(outcome: Outcome, total: int, left: float) -> None:
        nonlocal first_verdict
        _keep(done, outcome)
        first_verdict |= outcome.ends_quick
        shown[:] = _ranking_lines(console, list(done.values()))
        if first_verdict:
            said = verdict_so_far(list(done.values()), total)
            shown.append(Text(f"\n{plain(said)}", style="green"))
        count(len(done), total, left)

    def render() -> Group:
        return Group(*shown, bar.get_renderable())

    with Live(get_renderable=render, console=console, transient=True):
        yield hear


def _ranking_lines(console: Console, outcomes: list[Outcome]) -> list[Text]:
    """Return as much of the ranking as the window holds, from the best on."""
    lines, _ = fit_columns(*table_so_far(outcomes), console.width)
    most = max(console.height - _OTHER_LINES, 3)
    if len(lines) > most:
        lines = [*lines[:most], f"… and {len(lines) - most} more"]
    styles = ["dim", "bold", *[""] * len(lines)]
    return [
        Text(plain(line), style=style, no_wrap=True, overflow="crop")
        for line, style in zip(lines, styles, strict=False)
    ]


@contextmanager
def _in_lines() -> Iterator[HearsOutcome]:
    done: dict[str, Outcome] = {}
    aside = PatientConsole(stderr=True, highlight=False)

    def tell(text: str) -> None:
        aside.print(plain(text), markup=False, soft_wrap=True)

    def hear(outcome: Outcome, total: int, left: float) -> None:
        if _keep(done, outcome):
            tell(f"  now on all {len(outcome.unseen.log_density):,} rows:")
        took = f"{outcome.seconds:.2g} s"
        more = f", about {left:.0f} s left" if left >= 1.0 else ""
        said = f"{outcome.candidate.words}: score {score_of(outcome)} ({took}{more})"
        tell(f"  {len(done)} of {total}  {said}")
        if outcome.ends_quick:
            tell(f"  {verdict_so_far(list(done.values()), total)}")

    yield hear


def _keep(done: dict[str, Outcome], outcome: Outcome) -> bool:
    """Add an outcome; tell whether those of a sample of the rows have given way to those of all rows."""
    rows = {len(o.unseen.log_density) for o in (*done.values(), outcome) if o.unseen is not None}
    if anew := len(rows) > 1:
        done.clear()
    done[outcome.name] = outcome
    return anew


def table_so_far(outcomes: Sequence[Outcome]) -> Table:
    """Return the ranking of the models that are done, best first: score of a row, time of all fits."""
    named = {outcome.name: outcome for outcome in outcomes}
    rows: list[tuple[str, ...]] = []
    held = [o.unseen.log_density for o in outcomes if o.unseen is not None]
    decimals = telling_decimals([float(density.mean()) for density in held])
    for row in _ranked(outcomes):
        outcome = named[row.name]
        behind = "" if row.failure else behind_best(row)
        words = outcome.candidate.words
        rows.append((words, score_of(outcome, decimals), behind, short_number(row.seconds, 2)))
    return ("model", "score", "behind", "seconds"), rows


def score_of(outcome: Outcome, decimals: int = 2) -> str:
    """Return the mean log density of a row that the model has not seen, or that there is none."""
    if outcome.unseen is None:
        return "failed"
    return fixed_number(float(outcome.unseen.log_density.mean()), decimals)


def verdict_so_far(outcomes: Sequence[Outcome], total: int) -> str:
    """Say which of the models that are done predicts unseen rows best, and that more are to come."""
    names = {outcome.name: outcome.candidate.words for outcome in outcomes}
    sound = [row for row in _ranked(outcomes) if not row.failure]
    said = "none could be fitted."
    if sound:
        rows = max(len(o.unseen.log_density) for o in outcomes if o.unseen is not None)
        how = standing(sound[1:], names, rows) if len(sound) > 1 else "there is no other yet"
        said = f"“{names[sound[0].name]}” is ahead: {how}."
    return f"So far, {len(outcomes)} of {total} models (preliminary): {said}"


def _ranked(outcomes: Sequence[Outcome]) -> tuple[Row, ...]:
    """Rank by what is said of unseen rows; evidences wait for the end."""
    plain = {o.name: o._replace(evidence=None) for o in outcomes}
    held = {name: o.unseen.log_density for name, o in plain.items() if o.unseen is not None}
    return order_outcomes(plain, {}, held, "")[1].rows
