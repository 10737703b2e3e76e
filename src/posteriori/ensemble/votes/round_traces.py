"""What the rounds of boosting leave behind: members, steps and the traces of a fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from posteriori.ensemble.votes.rounds import Round, State
from posteriori.ensemble.votes.vote_margins import least_lead
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["Traced", "trace_rounds"]


class Traced(NamedTuple):
    """Rounds of boosting.

    Attributes
    ----------
    members : list
    numbers : (T, 6)
        Step α, error ε, loss G/N, norm ‖α‖, least margin, and over how many rows the weights are spread.
    state : State
        After the last round.
    """

    members: list[Any]
    numbers: Array
    state: State


def trace_rounds(rounds: Iterator[Round], codes: Any, n_classes: int, most: int) -> Traced:
    """Return at most so many rounds; Ctrl-C keeps those that are done.

    Parameters
    ----------
    rounds : iterator of Round
    codes : (N,)
        Places of the rows' classes.
    n_classes : int
    most : int
    """
    done: list[tuple[Any, tuple[float, ...]]] = []
    progress = Progress(None, kept="the rounds so far")
    votes = np.zeros((len(codes), n_classes)) if n_classes > 2 else None
    last: State | None = None
    try:
        for one in islice(rounds, most):
            line, last = _summarize(one, codes, votes), one.state
            done.append((one.member, line))
            progress.say(f"round {len(done)} of {most}: error {one.error:.4f}")
    except KeyboardInterrupt:
        if last is None:
            raise
        warnings.warn(
            f"boosting was stopped after {len(done)} of {most} rounds; these are kept",
            ConvergenceWarning,
            stacklevel=2,
        )
    finally:
        progress.close()
    assert last is not None
    return Traced([member for member, _ in done], np.array([line for _, line in done]), last)


def _summarize(one: Round, codes: Any, votes: Array | None) -> tuple[float, ...]:
    state = one.state
    margin = float(state.moved.min()) if votes is None else _add_and_find(one, codes, votes)
    spread = 1.0 / float(np.dot(state.weights, state.single))  # 1/Σd², with repeated rows apart
    norm = max(state.norm, np.finfo(np.float64).tiny)
    return one.step, one.error, state.loss, state.norm, margin / norm, spread


def _add_and_find(one: Round, codes: Any, votes: Array) -> float:
    """Add the votes of a round; return by how much the true class leads where it leads least."""
    votes[np.arange(len(codes)), one.predicted] += one.step
    return float(least_lead(votes, codes).min())
