"""What is believed of a hidden Markov model, and its evidence by draws from these beliefs."""

from __future__ import annotations

import warnings
from itertools import count
from typing import Any, NamedTuple

from posteriori.estimators.approximate_posterior import Unweighed
from posteriori.inference.latent.namings import is_exchangeable
from posteriori.inference.sequences.draws.annealing import can_anneal
from posteriori.inference.sequences.draws.chain_evidence import estimate_chain_evidence
from posteriori.inference.sequences.draws.evidence_draws import DrawnEvidence
from posteriori.inference.sequences.draws.posterior_turns import ChainBelief
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Seed
from posteriori.numerics.warnings import ConvergenceWarning
from posteriori.sequence.learning.chain_fit import build_emission, build_paths, estimate_of
from posteriori.sequence.learning.emission_choice import is_alike

__all__ = ["HiddenMarkovBeliefs", "belief_of", "draw_model_evidence"]

#: Fewer effective draws than this say little about the error of an estimate.
_FEW = 20


class HiddenMarkovBeliefs(NamedTuple):
    """What is believed of the parameters of a hidden Markov model.

    Attributes
    ----------
    initial : Dirichlet
        Of the first state.
    transition : Dirichlet, a batch of K
        Of the rows of A; a tuple of K over the allowed moves where some are not.
    emission : distribution
        Of what the states emit, a batch (K,) or (K, D); by family where columns have several.
    durations : Dirichlet, a batch of K, or None
        Of the lengths of runs, where these have a table.
    """

    initial: Any
    transition: Any
    emission: Any
    durations: Any = None


def belief_of(model: Any) -> ChainBelief | Unweighed:
    """Return what was learned with draws of the posterior, where turns of paths and parameters are exact."""
    data, rows, sums = model._training
    paths, emission = build_paths(model, data, rows), build_emission(model, data, rows)
    if not can_anneal(paths, emission):
        return Unweighed.of_kind("bound")
    named = rows.labels is not None or not is_alike(model.emission_prior)
    return ChainBelief(paths, emission, sums, named or not is_exchangeable(paths))


def draw_model_evidence(model: Any, draws: int, rng: Seed, callback: Any) -> DrawnEvidence:
    """Return an estimate of the evidence of a fitted model, saying where it is weak."""
    if estimate_of(model) != "belief":
        raise ValueError('evidence needs beliefs: fit with method="variational"')
    data, rows, sums = model._training
    paths, emission = build_paths(model, data, rows), build_emission(model, data, rows)
    alike = is_alike(model.emission_prior)
    done = count(1)
    told = None if callback is None else lambda: callback(next(done), draws)
    found = estimate_chain_evidence(
        paths, emission, sums, draws, as_generator(rng), alike=alike, progress=told
    )
    if found.added:
        warnings.warn(
            f"orders of {model.n_states} states are counted by adding {found.added:.2f}, which is ln "
            f"{model.n_states}! less what beliefs do not tell apart",
            UserWarning,
            stacklevel=3,
        )
    if found.effective < min(_FEW, draws / 2):
        warnings.warn(
            f"{found.effective:.1f} of {draws} draws carry the estimate: its error is larger than "
            f"{found.error:.2g}; raise draws",
            ConvergenceWarning,
            stacklevel=3,
        )
    return found
