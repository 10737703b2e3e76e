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
from sklearn.pipeline import Pipeline

from posteriori.analysis.fitting.preparation import (
    CURVED,
    CodeColumns,
    NoColumns,
    NumberColumns,
)
from posteriori.analysis.fitting.table_problem import Problem
from posteriori.analysis.fitting.workers import (
    COPIES,
    OutOfTimeError,
    beside,
    done_calls,
    in_processes,
)
from posteriori.estimators.contract import CountsParameters, HasEvidence, TellsBends, offers
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.types import Array
from posteriori.selection.candidates import Candidate
from posteriori.selection.cross_validation import fit_in_parts, join_folds, predict_fold

__all__ = [
    "DIED",
    "INTERRUPTED",
    "OUT_OF_TIME",
    "FitsPart",
    "Outcome",
    "make_pipeline",
    "run_candidates",
]


#: Numbers in all inputs, times the classes beyond the first, from which on processes are worth their start.
_WORTH_PROCESSES = 300_000

#: Levels of a category that trees may tell apart.
_MOST_LEVELS = 1000

#: Failures of candidates that were not waited for.
INTERRUPTED, OUT_OF_TIME = "interrupted", "not reached within the time limit"

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


def make_pipeline(candidate: Candidate, kinds: dict[str, str], classes: int = 0) -> Pipeline:
    """Return preparation and model of a candidate for so many classes, unfitted."""
    basis, model = candidate.make_basis(), candidate.make()
    if candidate.encoding == "codes":
        codes = CodeColumns(kinds)
        return Pipeline([("columns", codes), ("model", model.set_params(columns=codes.columns))])
    if candidate.encoding == "mixed":
        mixed = CodeColumns(kinds, max_levels=_MOST_LEVELS)
        model.set_params(columns=mixed.asked_columns)
        return Pipeline([("columns", mixed), ("model", model)])
    if candidate.encoding == "nothing":
        return Pipeline([("columns", NoColumns()), ("model", model)])
    if offers(basis, TellsBends) and "own_scale" in model.get_params():
        curved = sum(kind in CURVED for kind in kinds.values())
        model.set_params(own_scale=list(basis.bent(curved)))
    groups = sum(kind == "category" for kind in kinds.values())
    if candidate.encoding == "groups" and groups:
        model.set_params(groups=list(range(-groups, 0)))
        outputs = max(classes - 1, 1)
        grouped = NumberColumns(kinds, basis=basis, grouped=True, outputs=outputs)
        return Pipeline([("columns", grouped), ("model", model)])
    columns = NumberColumns(kinds, basis=basis)
    return Pipeline([("columns", columns), ("model", model)])


class _Part(NamedTuple):
    """One fit: what it says of a fold that it has not seen, or the model of all rows."""

    result: Any
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    failure: str = ""


def run_candidates(
    candidates: Sequence[Candidate],
    problem: Any,
    *,
    fit: FitsPart | None = None,
    join: JoinsParts | None = None,
    apart: bool | None = None,
    jobs: int = 1,
    time_limit: float | None = None,
    on_outcome: Callable[[Outcome, int, float], None] | None = None,
) -> tuple[list[Outcome], str]:
    """Fit every candidate to all rows and, for held-out predictions, to parts of them.

    Parameters
    ----------
    candidates : sequence of Candidate
    problem : Problem
        Or another one with rows ``X``, ``classes`` and ``splits``.
    fit : callable, optional
        From problem, candidate and a fold what the candidate says of the fold, an ``Unseen``, when it is
        fitted to the other rows; for no fold a pipeline that is fitted to all rows. By default the
        target is predicted.
    join : callable, optional
        From what is said of the folds, a list, and the problem, to what is said of all rows.
    apart : bool, optional
        Whether several fits at a time have processes of their own; by default where the table is large, and
        also for costly models of a small one where processes are copies, which start at once.
    jobs : int
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
    if apart and jobs > 1:
        workers = in_processes(problem, jobs)
    else:  # threads that wait for one another cost more than they save on small products
        workers = beside(problem, None if large else 1)
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

    deadline = float("inf") if time_limit is None else start + time_limit
    folds = [*range(len(problem.splits)), None]
    calls = deque(
        ((c, place), (_fit, fit or _predict_part, c, fold))
        for c in candidates
        for place, fold in enumerate(folds)
    )
    parts: dict[str, dict[int, _Part]] = {c.name: {} for c in candidates}
    try:
        with workers as working:
            for (candidate, place), told in done_calls(working, calls, jobs + 1, deadline):
                if candidate.name not in parts:  # it has failed
                    continue
                part, mine = told or _Part(None, failure=DIED), parts[candidate.name]
                mine[place] = part
                if not part.failure and len(mine) < len(folds):
                    continue
                del parts[candidate.name]  # what they say is kept once, joined
                if part.failure:
                    for call in [call for call in calls if call[0][0] is candidate]:
                        calls.remove(call)
                wanted = [part] if part.failure else [mine[k] for k in range(len(folds))]
                keep(_outcome(candidate, wanted, problem, join or _join_rows))
    except OutOfTimeError:
        return outcomes, "time"
    except KeyboardInterrupt:
        return outcomes, "interrupted"
    return outcomes, ""


def _join_rows(parts: list[Any], problem: Any) -> Any:
    return join_folds(parts, problem.splits)


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
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            part = _Part(_sound(fit(problem, candidate, fold)))
        except Exception as error:  # one bad candidate must not end the others
            part = _Part(None, failure=_reason(error))
    told = dict.fromkeys(_first_sentence(str(warning.message)) for warning in heard)
    return part._replace(seconds=time.perf_counter() - start, warnings=tuple(told))


def _predict_part(problem: Problem, candidate: Candidate, fold: int | None) -> Any:
    classes = 0 if problem.classes is None else len(problem.classes)
    pipeline = make_pipeline(candidate, problem.kinds, classes)
    if fold is None:
        return fit_in_parts(pipeline, problem.X, problem.y)
    return predict_fold(
        pipeline, problem.X, problem.y, problem.splits[fold], problem.classes, problem.loss
    )


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
