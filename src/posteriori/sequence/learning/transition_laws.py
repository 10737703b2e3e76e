"""Laws of first states and transitions: which moves are allowed, and what is believed of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from posteriori.inference.sequences.chain_rows import ChainRows
from posteriori.inference.sequences.dirichlet_rows import DirichletRows, Estimate
from posteriori.numerics.types import Array
from posteriori.sequence.hidden_markov_chain import HiddenMarkovChain

__all__ = [
    "allowed_moves",
    "initial_law",
    "start_laws",
    "transition_law",
    "warn_of_states_never_left",
]


def allowed_moves(transitions: Any, k: int) -> Array:
    """Return which moves are allowed, (K, K): all, those to the same or later states, or as a mask says."""
    if isinstance(transitions, str):
        if transitions not in ("full", "left-to-right"):
            raise ValueError(
                f'transitions must be "full", "left-to-right" or a boolean mask, got {transitions!r}'
            )
        everything = np.ones((k, k), dtype=bool)
        return everything if transitions == "full" else np.triu(everything)
    mask = np.asarray(transitions)
    if mask.dtype != bool or mask.shape != (k, k):
        raise ValueError(
            f"transitions must be a boolean mask of shape {(k, k)}, from row to column; got "
            f"{mask.dtype} of shape {mask.shape}"
        )
    if not mask.any(axis=1).all():
        raise ValueError(
            f"state {int(np.argmin(mask.any(axis=1)))} has no allowed move in transitions; let it stay"
        )
    return mask


def initial_law(concentration: Any, k: int, estimate: Estimate) -> DirichletRows:
    """Return the law of first states; by default as that of the weights of mixtures."""
    if concentration is None:
        concentration = 1.0 / k if estimate == "belief" else 1.0
    alpha = _concentrations("initial_concentration", concentration, (k,), estimate)
    return DirichletRows(alpha, estimate)


def transition_law(
    concentration: Any, to_itself: float, allowed: Array, estimate: Estimate
) -> DirichletRows:
    """Return the law of transitions, ``to_itself`` added on the diagonal; what is not allowed stays so."""
    alpha = _concentrations("transition_concentration", concentration, allowed.shape, estimate)
    return DirichletRows(np.where(allowed, alpha + to_itself * np.eye(len(alpha)), 0.0), estimate)


def start_laws(start: HiddenMarkovChain, longest: int | None) -> tuple[Array, ...]:
    """Return π, A and, where runs have laws of their own, their lengths, of a chain to begin from.

    A plain chain has runs of geometric lengths, which are cut at the longest.

    Parameters
    ----------
    start : HiddenMarkovChain
    longest : int or None
        Rows of the longest run; None where runs have no laws of their own.
    """
    if longest is None:
        if start.durations is not None:
            raise ValueError('start has durations; take durations="table", or a start without them')
        return start.initial, start.transition
    if start.durations is not None:
        if start.durations.shape[1] != longest:
            raise ValueError(
                f"start has runs of at most {start.durations.shape[1]} rows, the model of {longest}; make "
                "max_duration the same"
            )
        return start.initial, start.transition, start.durations
    stay = np.diag(start.transition)[:, None]
    runs = np.where(stay > 0.0, stay, 0.0) ** np.arange(longest)
    moves = np.where(np.eye(len(stay), dtype=bool), 0.0, start.transition)
    left = moves.sum(axis=1, keepdims=True)
    if not left.all():
        stuck = int(np.argmin(left[:, 0]))
        raise ValueError(f"state {stuck} of start is never left, but runs end; give it a move")
    return start.initial, moves / left, runs / runs.sum(axis=1, keepdims=True)


def _concentrations(name: str, given: Any, shape: tuple[int, ...], estimate: Estimate) -> Array:
    try:
        alpha = np.broadcast_to(np.asarray(given, dtype=np.float64), shape).copy()
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be a number, or numbers of shape {shape}; got {given!r}"
        ) from None
    if not (np.isfinite(alpha).all() and (alpha > 0).all()):
        raise ValueError(f"{name} must be positive, got {given!r}")
    if estimate == "mode" and (alpha < 1).any():
        raise ValueError(
            f'{name} must be at least 1 with method="map", whose densities have no mode below; got {given!r}'
        )
    return alpha


def warn_of_states_never_left(rows: ChainRows, counts: Array) -> None:
    """Say which labelled states are never left, so that nothing is known of where they lead."""
    if rows.labels is None:
        return
    labelled = np.unique(rows.labels[rows.labels >= 0])
    stuck = [int(k) for k in labelled if counts[k].sum() == 0.0]
    if stuck:
        warnings.warn(
            f"states {stuck} are never left: their transitions are even over all allowed moves",
            UserWarning,
            stacklevel=3,
        )
