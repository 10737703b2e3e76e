"""Fitting candidates side by side, until all are done, the time is over, or Ctrl-C."""

from __future__ import annotations

import os
import queue
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from posteriori.analysis.cross_fitting import Stopped, Unseen, cross_fit, fit_in_parts
from posteriori.analysis.preparation import CodeColumns, NoColumns, NumberColumns
from posteriori.numerics.evidence import LogEvidence
from posteriori.selection.candidates import Candidate

__all__ = ["Outcome", "Problem", "make_pipeline", "run_candidates"]


class Problem(NamedTuple):
    """What the candidates are fitted to.

    Attributes
    ----------
    X : DataFrame
        Converted columns.
    y : (N,)
    kinds : dict from column to kind
    classes : (K,) or None
    splits : list of pairs of rows
    """

    X: pd.DataFrame
    y: Any
    kinds: dict[str, str]
    classes: Any
    splits: list[tuple[Any, Any]]


class Outcome(NamedTuple):
    """What became of one candidate.

    Attributes
    ----------
    candidate : Candidate
    model : Pipeline or None
        Fitted to all rows; None if that failed or was not reached.
    unseen : Unseen or None
    evidence : LogEvidence or None
    seconds : float
        Of all its fits.
    warnings : tuple of str
    failure : str
        Why there is no result.
    """

    candidate: Candidate
    model: Any = None
    unseen: Unseen | None = None
    evidence: LogEvidence | None = None
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    failure: str = ""

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.candidate.name


def make_pipeline(candidate: Candidate, kinds: dict[str, str]) -> Pipeline:
    """Return preparation and model of a candidate, unfitted."""
    model = candidate.make()
    if candidate.encoding == "codes":
        codes = CodeColumns(kinds)
        return Pipeline([("columns", codes), ("model", model.set_params(columns=codes.columns))])
    if candidate.encoding == "nothing":
        return Pipeline([("columns", NoColumns()), ("model", model)])
    columns = NumberColumns(kinds, basis=candidate.make_basis())
    return Pipeline([("columns", columns), ("model", model)])


def run_candidates(
    candidates: Sequence[Candidate],
    problem: Problem,
    *,
    jobs: int = 1,
    time_limit: float | None = None,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> tuple[list[Outcome], str]:
    """Fit every candidate to all rows and, for held-out predictions, to parts of them.

    Returns
    -------
    outcomes : list of Outcome
        Of the candidates that were reached.
    ended : {"", "interrupted", "time"}
        Why some were not.
    """
    waiting: queue.SimpleQueue[Candidate] = queue.SimpleQueue()
    for candidate in candidates:
        waiting.put(candidate)
    finished: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    stop = threading.Event()
    n_workers = max(1, min(jobs, len(candidates)))
    with _collect_warnings() as heard, threadpool_limits(_threads_each(n_workers)):
        for _ in range(n_workers):
            work = threading.Thread(
                target=_work, args=(waiting, finished, problem, stop, heard), daemon=True
            )
            work.start()
        return _gather(finished, len(candidates), stop, time_limit, on_outcome)


def _gather(
    finished: queue.SimpleQueue[Outcome],
    count: int,
    stop: threading.Event,
    time_limit: float | None,
    on_outcome: Callable[[Outcome], None],
) -> tuple[list[Outcome], str]:
    deadline = None if time_limit is None else time.monotonic() + time_limit
    outcomes: list[Outcome] = []
    try:
        while len(outcomes) < count:
            if deadline is not None and time.monotonic() > deadline:
                return outcomes, "time"
            try:
                outcome = finished.get(timeout=0.1)
            except queue.Empty:
                continue
            outcomes.append(outcome)
            on_outcome(outcome)
    except KeyboardInterrupt:
        return outcomes, "interrupted"
    finally:
        stop.set()
    return outcomes, ""


def _work(
    waiting: queue.SimpleQueue[Candidate],
    finished: queue.SimpleQueue[Outcome],
    problem: Problem,
    stop: threading.Event,
    heard: dict[int, list[str]],
) -> None:
    while not stop.is_set():
        try:
            candidate = waiting.get_nowait()
        except queue.Empty:
            return
        mine = heard.setdefault(threading.get_ident(), [])
        mine.clear()
        start = time.perf_counter()
        try:
            outcome = _fit(candidate, problem, stop)
        except Stopped:
            return
        except Exception as error:  # one bad candidate must not end the others
            outcome = Outcome(candidate, failure=_reason(error))
        finished.put(
            outcome._replace(
                seconds=time.perf_counter() - start, warnings=tuple(dict.fromkeys(mine))
            )
        )


def _fit(candidate: Candidate, problem: Problem, stop: threading.Event) -> Outcome:
    pipeline = make_pipeline(candidate, problem.kinds)
    unseen = cross_fit(
        pipeline, problem.X, problem.y, problem.splits, classes=problem.classes, stop=stop.is_set
    )
    if np.isnan(unseen.log_density).any():
        raise ValueError("what it predicts for some unseen rows is no number")
    if stop.is_set():
        raise Stopped
    model = fit_in_parts(pipeline, problem.X, problem.y)
    return Outcome(candidate, model, unseen, getattr(model[-1], "log_evidence_", None))


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _threads_each(workers: int) -> int | None:
    return max(1, (os.cpu_count() or 1) // workers) if workers > 1 else None


@contextmanager
def _collect_warnings() -> Iterator[dict[int, list[str]]]:
    """Keep warnings by the thread that gave them, in place of printing them."""
    heard: dict[int, list[str]] = {}

    def keep(message: Warning | str, category: Any, filename: str, lineno: int, *_: Any) -> None:
        heard.setdefault(threading.get_ident(), []).append(" ".join(str(message).split()))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = keep  # type: ignore[assignment]
        yield heard
