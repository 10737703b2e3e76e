"""Fitting candidates side by side, until all are done, the time is over, or Ctrl-C.

Where they run is the business of :mod:`posteriori.analysis.fitting.workers`.
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from posteriori.analysis.fitting.workers import (
    COPIES,
    OutOfTimeError,
    beside,
    count_jobs,
    done_calls,
    in_processes,
)
from posteriori.analysis.table.wording import fixed_number
from posteriori.estimators.contract import CountsParameters, HasEvidence, offers
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.types import Array, IntArray
from posteriori.selection.candidates import Candidate
from posteriori.selection.cross_validation import join_folds

__all__ = [
    "DIED",
    "FitsPart",
    "INTERRUPTED",
    "OUT_OF_TIME",
    "Outcome",
    "Reached",
    "UNREACHED",
    "run_calls",
    "run_candidates",
    "run_in_stages",
]


#: Numbers in all inputs, times the classes beyond the first, from which on processes are worth their start.
_WORTH_PROCESSES = 300_000

#: Failures of candidates that were not waited for.
INTERRUPTED, OUT_OF_TIME = "interrupted", "not reached within the time limit"

#: The same by why a run has ended.
UNREACHED = {"time": OUT_OF_TIME, "interrupted": INTERRUPTED}

DIED = "a process that fitted it died, perhaps for lack of memory: try fewer --jobs (jobs=), or fewer rows"
#: From problem, candidate and fold (None for all rows) to what is said of the fold, or a fitted pipeline.
FitsPart = Callable[[Any, Candidate, int | None], Any]

#: From what is said of every fold, and the problem, to what is said of all of them.
JoinsParts = Callable[[list[Any], Any], Any]


class Outcome(NamedTuple):
    """What became of one candidate.

    Attributes
    ----------
    candidate : Candidate
    model : Pipeline or None
        Fitted to all rows; None if that failed or was not reached.
    unseen : Unseen or None
        Or what else is said of folds, with ``log_density``.
    evidence : LogEvidence or None
    effective_parameters : float
        How many parameters the data determine; not a number where that is not known.
    seconds : float
        Of all its fits.
    warnings : tuple of str
    failure : str
        Why there is no result.
    ends_quick : bool
        Whether all quick models are done with this one, and costly ones are to come.
    """

    candidate: Candidate
    model: Any = None
    unseen: Any = None
    evidence: LogEvidence | None = None
    effective_parameters: float = float("nan")
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    failure: str = ""
    ends_quick: bool = False

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.candidate.name


class _Part(NamedTuple):
    """One fit: what it says of a fold that it has not seen, or the model of all rows."""

    result: Any
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    failure: str = ""


def join_rows(parts: list[Any], problem: Any) -> Any:
    """Return what is said of all rows, each by the fit that has not seen it."""
    return join_folds(parts, problem.splits)


def run_candidates(
    candidates: Sequence[Candidate],
    problem: Any,
    *,
    fit: FitsPart,
    join: JoinsParts = join_rows,
    apart: bool | None = None,
    jobs: int | None = 1,
    time_limit: float | None = None,
    on_outcome: Callable[[Outcome, int, float], None] | None = None,
) -> tuple[list[Outcome], str]:
    """Fit every candidate to all rows and, for held-out predictions, to parts of them.

    Parameters
    ----------
    candidates : sequence of Candidate
    problem : Problem
        Or another one with rows ``X``, ``classes`` and ``splits``.
    fit : callable
        From problem, candidate and a fold what the candidate says of the fold, an ``Unseen``, when it is
        fitted to the other rows; for no fold a pipeline that is fitted to all rows.
    join : callable, optional
        From what is said of the folds, a list, and the problem, to what is said of all rows.
    apart : bool, optional
        Whether several fits at a time have processes of their own; by default where the table is large, and
        also for costly models of a small one where processes are copies, which start at once.
    jobs : int, optional
        Fits at a time.
    time_limit : float, optional
        Seconds after which no result is waited for.
    on_outcome : callable, optional
        Called as ``on_outcome(outcome, total, seconds_left)`` after every candidate; what the others
        need is told by their stated costs.

    Returns
    -------
    outcomes : list of Outcome
        Of the candidates that were reached.
    ended : {"", "interrupted", "time"}
        Why some were not.
    """
    several = 1 if problem.classes is None else len(problem.classes) - 1
    large = problem.X.size * several >= _WORTH_PROCESSES
    if apart is None:
        apart = large or (COPIES and not all(c.quick for c in candidates))
    start = time.monotonic()
    outcomes: list[Outcome] = []

    def keep(outcome: Outcome) -> None:
        done = {o.name for o in [*outcomes, outcome]}
        waiting = [c for c in candidates if c.name not in done]
        quick = outcome.candidate.quick and bool(waiting) and not any(c.quick for c in waiting)
        outcomes.append(outcome._replace(ends_quick=quick))
        if on_outcome is None:
            return
        to_do, all_of_it = (sum(c.cost for c in some) for some in (waiting, candidates))
        left = (time.monotonic() - start) * to_do / max(all_of_it - to_do, 1e-9)
        on_outcome(outcomes[-1], len(candidates), left)

    folds = [*range(len(problem.splits)), None]
    calls = deque(
        ((c, place), (_fit, fit, c, fold)) for c in candidates for place, fold in enumerate(folds)
    )
    parts: dict[str, dict[int, _Part]] = {c.name: {} for c in candidates}

    def take(key: tuple[Candidate, int], told: _Part | None) -> None:
        candidate, place = key
        if candidate.name not in parts:  # it has failed
            return
        part, mine = told or _Part(None, failure=DIED), parts[candidate.name]
        mine[place] = part
        if not part.failure and len(mine) < len(folds):
            return
        del parts[candidate.name]  # what they say is kept once, joined
        if part.failure:
            for call in [call for call in calls if call[0][0] is candidate]:
                calls.remove(call)
        wanted = [part] if part.failure else [mine[k] for k in range(len(folds))]
        keep(_outcome(candidate, wanted, problem, join))

    # threads that wait for one another cost more than they save on small products
    threads = None if large else 1
    ended = run_calls(
        problem, calls, take, apart=apart, jobs=jobs, threads=threads, time_limit=time_limit
    )
    return outcomes, ended


def run_calls(
    data: Any,
    calls: deque[tuple[Any, tuple[Any, ...]]],
    take: Callable[[Any, Any], None],
    *,
    apart: bool,
    jobs: int | None = 1,
    threads: int | None = 1,
    time_limit: float | None = None,
) -> str:
    """Do calls side by side, and hand on what each returns when it is done.

    Parameters
    ----------
    data : object
        What all functions ``f(data, …)`` are called with.
    calls : deque
        Keys, and functions with their other arguments; those that have not begun may be taken out.
    take : callable
        Called with the key and what was returned, None where a process has died.
    apart : bool
        Whether several at a time have processes of their own.
    jobs : int, optional
        How many at a time; as :func:`count_jobs` says.
    threads : int or None
        Of products where they have not; as many as there are processors for None.
    time_limit : float, optional
        Seconds after which no result is waited for.

    Returns
    -------
    {"", "interrupted", "time"}
        Why some were not done.
    """
    deadline = float("inf") if time_limit is None else time.monotonic() + time_limit
    count = count_jobs(jobs) if apart else 1
    workers = in_processes(data, count) if count > 1 else beside(data, threads)
    try:
        with workers as working:
            for key, told in done_calls(working, calls, count + 1, deadline):
                take(key, told)
    except OutOfTimeError:
        return "time"
    except KeyboardInterrupt:
        return "interrupted"
    return ""


def _outcome(candidate: Candidate, parts: list[_Part], problem: Any, join: JoinsParts) -> Outcome:
    told = Outcome(
        candidate,
        seconds=sum(part.seconds for part in parts),
        warnings=tuple(dict.fromkeys(text for part in parts for text in part.warnings)),
        failure=parts[0].failure,
    )
    if told.failure:
        return told
    model = parts[-1].result
    unseen = join([part.result for part in parts[:-1]], problem)
    final = model[-1]
    if offers(final, HasEvidence):
        told = told._replace(evidence=final.log_evidence_)
    if offers(final, CountsParameters):
        told = told._replace(effective_parameters=final.effective_parameters_)
    return told._replace(model=model, unseen=unseen)


def _fit(problem: Any, fit: FitsPart, candidate: Candidate, fold: int | None) -> _Part:
    """Fit a candidate to all rows, or to those outside a fold; failures become words."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True, action="always") as heard:
        try:
            part = _Part(_sound(fit(problem, candidate, fold)))
        except Exception as error:  # one bad candidate must not end the others
            part = _Part(None, failure=_reason(error))
    told = dict.fromkeys(_first_sentence(str(warning.message)) for warning in heard)
    return part._replace(seconds=time.perf_counter() - start, warnings=tuple(told))


@runtime_checkable
class _SaysDensities(Protocol):
    """What was said of rows that a fit has not seen."""

    log_density: Array


def _sound(result: Any) -> Any:
    """Return what a fit gave, unless it says nothing of some unseen rows."""
    if isinstance(result, _SaysDensities) and np.isnan(result.log_density).any():
        raise ValueError("what it predicts for some unseen rows is no number")
    return result


def _first_sentence(text: str) -> str:
    """Return what a warning says; what follows is what can be done about it in Python."""
    return " ".join(text.split()).partition(". ")[0]


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


#: Rows above which a sample is drawn, and how many it has.
_LARGE, _SAMPLE = 50_000, 20_000

#: Models of the sample, the best ones, that are fitted to all rows.
_FEW = 3

#: Share of the time that the sample may take.
_SHARE = 0.5


class Reached(NamedTuple):
    """What became of the candidates, and of which rows that is said.

    Attributes
    ----------
    problem : Problem or JointProblem
        All rows, or a sample.
    candidates : sequence of Candidate
        Those that were to be fitted to these rows.
    outcomes : sequence of Outcome
    ended : {"", "interrupted", "time"}
    notes : tuple of str
        What was done.
    drawn : (n,) or None
        Which rows the sample has.
    """

    problem: Any
    candidates: Sequence[Candidate]
    outcomes: Sequence[Outcome]
    ended: str
    notes: tuple[str, ...] = ()
    drawn: IntArray | None = None


def run_in_stages(
    problem: Any,
    candidates: Sequence[Candidate],
    seed: int,
    *,
    whole: bool = False,
    fit: FitsPart,
    jobs: int | None = 1,
    time_limit: float | None = None,
    on_outcome: Callable[[Outcome, int, float], None] | None = None,
) -> Reached:
    """Fit candidates to all rows, or, where these are many, only those that do best on a sample.

    Parameters
    ----------
    problem : Problem or JointProblem
        With rows ``X``, of which it gives ``some``.
    candidates : sequence of Candidate
    seed : int
        Draws the sample.
    whole : bool
        Whether all candidates are fitted to all rows.
    fit, jobs, time_limit, on_outcome
        As of :func:`run_candidates`; outcomes of the sample are
        told of, and then those of all rows.
    """
    start, rows = time.monotonic(), len(problem.X)

    def run(some: Sequence[Candidate], part: Any, limit: float | None) -> Reached:
        found = run_candidates(
            some, part, fit=fit, jobs=jobs, time_limit=limit, on_outcome=on_outcome
        )
        return Reached(part, some, *found)

    if whole or rows <= _LARGE or len(candidates) <= _FEW + 2:
        return run(candidates, problem, time_limit)
    drawn = np.sort(np.random.default_rng(seed).permutation(rows)[:_SAMPLE])
    first = run(
        candidates,
        problem.some(drawn, seed),
        None if time_limit is None else _SHARE * time_limit,
    )
    first = first._replace(drawn=drawn, notes=(_on_sample(first, rows),))
    if first.ended == "interrupted":
        return first
    left = None if time_limit is None else start + time_limit - time.monotonic()
    if not _best_first(first.outcomes):  # as where a column has no entry in the sample
        return run(candidates, problem, left)._replace(notes=first.notes)
    chosen = _finalists(candidates, first.outcomes)
    last = run(chosen, problem, left)
    said = [o.candidate for o in last.outcomes if o.unseen is not None]
    if not any(c.encoding != "nothing" or c.task == "density" for c in said):
        return first._replace(ended=last.ended or first.ended)
    named = ", ".join(c.words for c in chosen)
    return last._replace(notes=(*first.notes, f"of these went on to all {rows:,} rows: {named}"))


def _finalists(candidates: Sequence[Candidate], outcomes: Sequence[Outcome]) -> list[Candidate]:
    """Return what is fitted to all rows: no column, the simplest with columns, then the best, best first."""
    flat = [c for c in candidates if c.encoding == "nothing"][:1]
    simplest = [c for c in candidates if c.encoding != "nothing"][:1]
    best = [o.candidate for o in _best_first(outcomes)[:_FEW]]
    return list({c.name: c for c in (*flat, *simplest, *best)}.values())


def _best_first(outcomes: Sequence[Outcome]) -> list[Outcome]:
    held = [o for o in outcomes if o.unseen is not None]
    return sorted(held, key=lambda o: -float(o.unseen.log_density.sum()))


def _on_sample(first: Reached, rows: int) -> str:
    """Say how many rows were drawn, and how the models rank on them."""
    scores = ", ".join(
        f"{o.candidate.words} {fixed_number(float(o.unseen.log_density.mean()), 2)}"
        for o in _best_first(first.outcomes)
    )
    count = f"{len(first.outcomes)} of {len(first.candidates)} models"
    return f"{count} were ranked on {_SAMPLE:,} rows drawn from {rows:,}, by their score: {scores or 'none'}"
