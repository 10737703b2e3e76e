"""Sequences drawn from what was learned, with inputs and earlier rows that they depend on."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.inference.sequences.emissions.regression_densities import RegressionDensities
from posteriori.inference.state_chains.hidden_markov import sample_path
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, IntArray, Seed
from posteriori.numerics.validation import as_observation
from posteriori.sequence.chain_parameters import log_of
from posteriori.sequence.hidden_markov_chain import HiddenMarkovSample
from posteriori.sequence.learning.chain_data import read_inputs
from posteriori.sequence.sequence_rows import SequenceTable

__all__ = ["draw_sequence"]


def draw_sequence(
    model: Any, length: int, rng: Seed, inputs: Any, before: Any
) -> HiddenMarkovSample:
    """Draw a path and its rows from a learned model."""
    if length < 1:
        raise ValueError(f"length must be at least 1, got {length}")
    generator = as_generator(rng)
    u = _inputs_of(model, length, inputs)
    if before is not None and not model.lags:
        raise ValueError("before is for models with lags")
    emission = model.model_.emission
    if model._laws.driven is None and not isinstance(emission, RegressionDensities):
        return model.model_.sample(length, rng=generator)
    codes = _draw_path(model, length, u, generator)
    if not isinstance(emission, RegressionDensities):
        return HiddenMarkovSample(codes, model.model_.densities.sample(codes, generator))
    beside = u if model.inputs_to in ("emissions", "both") else u[:, :0]
    rows = emission.sample_rows(codes, _rows_before(model, emission, before), beside, generator)
    return HiddenMarkovSample(codes, rows)


def _draw_path(model: Any, length: int, u: Array, rng: np.random.Generator) -> IntArray:
    driven = model._laws.driven
    nothing = np.zeros((length, model.n_states))
    if driven is None:
        return np.asarray(model.model_._passes.draw(nothing, 1, rng)[0])
    laws = log_of(model._laws.initial), driven.log_transition(u)
    return np.asarray(sample_path(*laws, nothing, lengths=[length], rng=rng)[0])


def _inputs_of(model: Any, length: int, inputs: Any) -> Array:
    """Return inputs (length, P), none where the model has learned without."""
    if (inputs is None) != (not model._n_inputs):
        needs = (
            f"needs inputs=, {model._n_inputs} numbers for each of the {length} rows"
            if model._n_inputs
            else "has learned without inputs"
        )
        raise ValueError(f"the model {needs}")
    if inputs is None:
        return np.empty((length, 0))
    table = SequenceTable(None, np.array([length]), False)
    return read_inputs(inputs, table, model._n_inputs)


def _rows_before(model: Any, emission: RegressionDensities, before: Any) -> Array:
    lags, width = int(model.lags), emission.width
    if before is None:
        return np.tile(emission.units.centre[-width:], (lags, 1))
    rows = np.asarray(as_observation(before), dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 and width == 1 else rows
    if rows.shape != (lags, width) or not np.isfinite(rows).all():
        raise ValueError(
            f"before must hold {lags} whole rows of {width} columns, the oldest first; got shape {rows.shape}"
        )
    return rows
