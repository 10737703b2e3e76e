"""A hidden chain learned from rows: the best ascent, its states in order, and how it ended."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.ascent.expectation_maximization import EMResult
from posteriori.inference.sequences.chain_ascent import look_at_chain
from posteriori.inference.sequences.chain_paths import PathModel
from posteriori.inference.sequences.chain_rows import ChainRows
from posteriori.inference.sequences.chain_starts import ChainSearch, climb_chain
from posteriori.inference.sequences.emissions.emission_contract import EmissionModel, Sums
from posteriori.numerics.types import Array

__all__ = ["LearnedChain", "learn_chain", "summarize_ascent"]


class LearnedChain(NamedTuple):
    """Where the ascent has ended.

    Attributes
    ----------
    sums : tuple
        Of paths, then of emissions.
    trace : array
        The objective along the way.
    log_likelihood, objective : float
        There: ln p(x), and with priors or divergences.
    n_iter, converged
        How it ended.
    """

    sums: Sums
    trace: Array
    log_likelihood: float
    objective: float
    n_iter: int
    converged: bool


def learn_chain(
    paths: PathModel,
    emission: EmissionModel,
    rows: ChainRows,
    search: ChainSearch,
    *,
    by_size: bool,
) -> LearnedChain:
    """Learn a chain from the best of several starts.

    Parameters
    ----------
    paths : PathModel
    emission : EmissionModel
    rows : ChainRows
    search : ChainSearch
    by_size : bool
        Whether states are named by how many rows they have, the largest first.
    """
    ascent = climb_chain(paths, emission, rows, search)
    if by_size:
        order = np.argsort(-_rows_of_states(paths, emission, ascent.parameters), kind="stable")
        inside = emission.reorder(ascent.parameters[paths.n_sums :], order)
        before = paths.reorder(ascent.parameters[: paths.n_sums], order)
        ascent = ascent._replace(parameters=(*before, *inside))
    return summarize_ascent(paths, emission, ascent)


def summarize_ascent(paths: PathModel, emission: EmissionModel, ascent: EMResult) -> LearnedChain:
    """Return what an ascent has found."""
    found = look_at_chain(paths, emission, ascent.parameters)
    return LearnedChain(
        ascent.parameters,
        np.array(ascent.trace),
        found.log_likelihood,
        found.objective,
        ascent.n_iter,
        ascent.converged,
    )


def _rows_of_states(paths: PathModel, emission: EmissionModel, sums: Sums) -> Array:
    """Return how many rows each state has, (K,)."""
    view = emission.look(sums[paths.n_sums :])
    return paths.expect(sums[: paths.n_sums], view.scores).shares.sum(axis=0)
