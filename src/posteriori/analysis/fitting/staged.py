"""Large tables in two stages: all candidates on a drawn sample, then the best few on all rows.

Which models are worth their time on a million rows, some thousand tell. The simplest ones are fitted to all
rows in any case, before the best of the sample, so that a limit of time leaves a verdict.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.fitting.running import FitsPart, Outcome, run_candidates
from posteriori.analysis.table.wording import fixed_number
from posteriori.numerics.types import IntArray
from posteriori.selection.candidates import Candidate

__all__ = ["Reached", "run_in_stages"]

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
    fit: FitsPart | None = None,
    jobs: int = 1,
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
        As of :func:`posteriori.analysis.fitting.running.run_candidates`; outcomes of the sample are
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
