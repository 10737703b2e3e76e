"""From the parameters of an estimator to what is learned: models of emissions and paths, and their ascent."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.inference.latent.ascent import Found, learn_groups, summarize
from posteriori.inference.latent.contract import Components
from posteriori.inference.latent.namings import is_exchangeable
from posteriori.inference.sequences.chain_paths import ChainPaths
from posteriori.inference.sequences.chain_rows import ChainRows
from posteriori.inference.sequences.chain_starts import (
    ChainStarts,
    KnownChain,
    ascend_from,
    starts_of_chain,
)
from posteriori.inference.sequences.dirichlet_rows import DirichletRows, Estimate
from posteriori.inference.sequences.driven_paths import DrivenPaths, standardized_inputs
from posteriori.inference.sequences.run_laws import ParametricRuns
from posteriori.inference.sequences.run_paths import RunPaths
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array
from posteriori.sequence.chain_parameters import log_of
from posteriori.sequence.hidden_markov_chain import HiddenMarkovChain
from posteriori.sequence.learning.chain_data import ChainData
from posteriori.sequence.learning.emission_choice import Choice, choose_emission, is_alike
from posteriori.sequence.learning.transition_laws import (
    allowed_moves,
    initial_law,
    start_laws,
    transition_law,
)

__all__ = ["build_emission", "build_paths", "estimate_of", "learn_model"]

#: What is learned of parameters by each method.
_ESTIMATES: dict[str, Estimate] = {
    "variational": "belief",
    "em": "likelihood",
    "map": "mode",
    "viterbi": "likelihood",
}

#: Precision of the weights of standardized inputs: nearly none, and with a prior.
_FLAT, _HELD = 1e-6, 1.0


def estimate_of(model: Any) -> Estimate:
    """Return what the method of a model learns of parameters."""
    return _ESTIMATES[model.method]


def build_emission(model: Any, data: ChainData, rows: ChainRows) -> Components:
    """Return the model of what states emit."""
    choice = Choice(
        data.x,
        data.regressors,
        rows.frequency,
        int(model.n_states),
        estimate_of(model),
        model.covariance,
        int(model.mixture_components),
        model.symbols_,
        as_generator(model.random_state),
    )
    return choose_emission(model._places, model.emission_prior, choice)


def build_paths(model: Any, data: ChainData, rows: ChainRows) -> Any:
    """Return the model of paths."""
    k, estimate = int(model.n_states), estimate_of(model)
    allowed = allowed_moves(model.transitions, k)
    initial = initial_law(model.initial_concentration, k, estimate)
    if data.drivers is not None:
        return _driven_paths(model, rows, initial, allowed, data.drivers)
    if model.durations != "geometric":
        return _run_paths(model, rows, initial, allowed)
    alpha, to_itself = model.transition_concentration, model.self_concentration
    transition = transition_law(alpha, to_itself, allowed, estimate)
    return ChainPaths(rows, initial, transition, hard=model.method == "viterbi")


def _driven_paths(
    model: Any, rows: ChainRows, initial: DirichletRows, allowed: Array, drivers: Array
) -> DrivenPaths:
    """Return the model of paths whose transitions inputs drive."""
    if model.method == "variational":
        raise ValueError(
            'inputs to transitions have no conjugate prior: take method="em", "map" or "viterbi", not '
            '"variational"'
        )
    if model.durations != "geometric":
        raise ValueError(
            f'durations="{model.durations}" and inputs to transitions exclude one another: take '
            'durations="geometric", or inputs_to="emissions"'
        )
    held = _HELD if model.method == "map" else _FLAT
    hard = model.method == "viterbi"
    return DrivenPaths(rows, initial, allowed, *standardized_inputs(drivers), held, hard)


def _run_paths(model: Any, rows: ChainRows, initial: DirichletRows, allowed: Array) -> RunPaths:
    """Return the model of paths whose runs have laws of their own; moves lead to other states."""
    k, estimate = int(model.n_states), estimate_of(model)
    if model.durations != "table" and estimate != "likelihood":
        raise ValueError(
            f'durations="{model.durations}" is learned by method="em" or "viterbi", not "{model.method}"; '
            'durations="table" by any'
        )
    moves = allowed & ~np.eye(k, dtype=bool)
    if not moves.any(axis=1).all():
        stuck = int(np.argmin(moves.any(axis=1)))
        raise ValueError(
            f"state {stuck} leads to no other, but its runs end; allow a move, or take geometric durations"
        )
    transition = transition_law(model.transition_concentration, 0.0, moves, estimate)
    longest, hard = _longest(model, rows), model.method == "viterbi"
    if model.durations == "table":
        alpha = 1.0 if estimate == "mode" else 0.5
        law = DirichletRows(np.full((k, longest), alpha), estimate)
        return RunPaths(rows, initial, transition, law, hard)
    parametric = ParametricRuns(model.durations, k, longest)
    return RunPaths(rows, initial, transition, parametric, hard)


def _longest(model: Any, rows: ChainRows) -> int:
    """Return the rows of the longest run: as given, as of the chain to begin from, or of the data."""
    if model.max_duration is not None:
        return int(model.max_duration)
    begun = getattr(model.start, "durations", None)
    return min(100, int(rows.lengths.max())) if begun is None else int(begun.shape[1])


def learn_model(
    model: Any, paths: Any, emission: Components, data: ChainData, rows: ChainRows
) -> Found:
    """Climb from the start that was given, or from the best of several."""
    options = {"tol": model.tol, "accelerated": model.accelerated, "callback": model.callback}
    if model.start is not None:
        known = _known_chain(model, paths, data)
        likelihood = estimate_of(model) == "likelihood"
        ascent = ascend_from(
            paths, emission, known, likelihood=likelihood, max_iter=int(model.max_iter), **options
        )
        return summarize(paths, emission, ascent)
    x = data.x
    numbers = [d for d in range(x.shape[1]) if d not in model.symbols_]
    search = ChainStarts(
        int(model.n_states),
        _is_ordered(model),
        x[:, numbers] if numbers else None,
        None if numbers else np.unique(x, axis=0, return_inverse=True)[1].ravel(),
        as_generator(model.random_state),
    )
    return learn_groups(
        paths,
        emission,
        starts_of_chain(paths, emission, rows, search),
        1 if rows.all_labelled else int(model.n_init),
        int(model.max_iter),
        options,
        by_size=rows.labels is None and _may_be_named(model, paths),
    )


def _may_be_named(model: Any, paths: Any) -> bool:
    """Tell whether any order of the states would do."""
    if isinstance(paths, ChainPaths | RunPaths):
        return is_alike(model.emission_prior) and is_exchangeable(paths)
    return bool(allowed_moves(model.transitions, int(model.n_states)).all())


def _is_ordered(model: Any) -> bool:
    """Tell whether no state leads back to an earlier one."""
    allowed = allowed_moves(model.transitions, int(model.n_states))
    return len(allowed) > 1 and not np.tril(allowed, -1).any()


def _known_chain(model: Any, paths: Any, data: ChainData) -> KnownChain:
    start = model.start
    if not isinstance(start, HiddenMarkovChain) or start.n_states != model.n_states:
        raise ValueError(
            f"start must be a HiddenMarkovChain of {model.n_states} states, got {start!r}"
        )
    laws = start_laws(
        start, None if model.durations == "geometric" else _longest(model, paths.rows)
    )
    return KnownChain(tuple(map(log_of, laws)), _start_scores(start, data))


def _start_scores(start: HiddenMarkovChain, data: ChainData) -> Array:
    """Return what states of a chain to begin from say of rows, which may regress on others."""
    if getattr(start.densities, "n_regressors", 0):
        if data.regressors is None:
            raise ValueError(
                "start has an emission that regresses on inputs or lags; give these, too"
            )
        return start._scores(data.emitted)
    return start._scores(data.x)
