"""Parameters of learning as systems and back, and what learning is given beside the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.inference.systems.linear_learning import SystemParameters, system_chain
from posteriori.inference.systems.variational_system import SystemBeliefs
from posteriori.numerics.types import Array
from posteriori.sequence.sequence_rows import SequenceTable, join_sequences
from posteriori.sequence.systems.linear_gaussian_system import LinearGaussianSystem

__all__ = [
    "as_system",
    "check_fixed",
    "check_row_inputs",
    "check_start",
    "from_system",
    "system_at_means",
]

#: What can be kept.
_NAMES = (
    "transition",
    "transition_cov",
    "emission",
    "emission_cov",
    "initial_mean",
    "initial_cov",
    "emission_offset",
)


def check_fixed(fixed: Any, start: Any) -> frozenset[str]:
    """Return the names of what is kept."""
    names = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    for name in names:
        if name not in _NAMES:
            raise ValueError(f"fixed must hold names among {', '.join(_NAMES)}; got {name!r}")
    if names and start is None:
        raise ValueError(
            f"fixed={fixed!r} keeps what start has: give start=LinearGaussianSystem(…)"
        )
    return frozenset((*names, "transition_offset"))  # the emission's offset says as much


def check_start(start: Any, n_states: int, width: int) -> LinearGaussianSystem:
    """Return a system that learning can begin with."""
    if not isinstance(start, LinearGaussianSystem):
        raise TypeError(f"start must be a LinearGaussianSystem, got {type(start).__name__}")
    if start.n_states != n_states or start.n_outputs != width:
        raise ValueError(
            f"start has {start.n_states} states and {start.n_outputs} outputs, but "
            f"n_states={n_states} and X has {width} columns"
        )
    if any(
        np.ndim(getattr(start, name)) > (1 if name.endswith("offset") else 2)
        for name in (*_NAMES, "transition_offset")
    ):
        raise ValueError("start has matrices with a time axis; learning is of constant ones")
    return start


def check_row_inputs(inputs: Any, table: SequenceTable) -> Array | None:
    """Return inputs row by row as the table has them, (N, M)."""
    if inputs is None:
        return None
    u = np.asarray(join_sequences(inputs).table, dtype=np.float64)
    u = u[:, None] if u.ndim == 1 else u
    if len(u) != table.lengths.sum() or u.ndim != 2:
        raise ValueError(
            f"inputs must have the {int(table.lengths.sum())} rows of X, got shape {u.shape}"
        )
    if not np.isfinite(u).all():
        row = int(np.argwhere(~np.isfinite(u))[0, 0])
        raise ValueError(f"inputs must be finite, row {row} is not; fill it in")
    return u


def from_system(start: LinearGaussianSystem, centre: Array, n_inputs: int) -> SystemParameters:
    """Return a system as parameters of rows from which the means have been taken."""
    d, p = start.n_states, start.n_outputs
    offsets = start.transition_offset[:, None], (start.emission_offset - centre)[:, None]
    return SystemParameters(
        np.concatenate([start.transition, offsets[0], np.zeros((d, n_inputs))], axis=1),
        start.transition_cov,
        np.concatenate([start.emission, offsets[1], np.zeros((p, n_inputs))], axis=1),
        start.emission_cov,
        start.initial_mean,
        start.initial_cov,
    )


def system_at_means(beliefs: SystemBeliefs, scale: Array) -> SystemParameters:
    """Return the system at the means of beliefs, of columns in their own units."""
    d, p = len(beliefs.transition), len(beliefs.emission)
    return SystemParameters(
        np.concatenate([beliefs.transition, np.zeros((d, 1))], axis=1),
        np.eye(d),
        np.concatenate([beliefs.emission * scale[:, None], np.zeros((p, 1))], axis=1),
        np.diag(scale**2 * beliefs.rate / beliefs.shape),
        np.zeros(d),
        np.eye(d),
    )


def as_system(parameters: SystemParameters, inputs: Array | None) -> LinearGaussianSystem:
    """Return parameters as a system, of a series with inputs (T, M) if there are any."""
    chain = system_chain(parameters, inputs)
    return LinearGaussianSystem(**chain._asdict())
