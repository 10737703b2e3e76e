"""One turn of a hidden chain: parameters given sums, a path given parameters, and the sums of that path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.latent.contract import Sums
from posteriori.inference.sequences.dirichlet_rows import draw_rows
from posteriori.numerics.types import Array, IntArray

__all__ = ["DrawnChain", "EmissionDraws", "draw_chain", "log_prior_of_chain", "sums_of_path"]


class EmissionDraws(NamedTuple):
    """Parameters drawn from beliefs.

    Attributes
    ----------
    scores : callable
        From the number of a draw, ln p(x_t | θ_k), (T, K).
    log_beliefs : callable
        From sums, ln q_j(θ_k) (S, K, K): what the belief about state j says of what was drawn for k.
    log_priors : callable
        To ln p(θ_k), (S, K).
    complete : callable or None
        From the number of a draw, states (T,) and how often rows count, the sums of a draw of what else is
        hidden in the rows; None where nothing is, or where beliefs would not be exact given it.
    parameters : callable or None
        To draws (S, K, ...) by name, in the units of the data; None where they have no names.
    """

    scores: Callable[[int], Array]
    log_beliefs: Callable[[Sums], Array]
    log_priors: Callable[[], Array]
    complete: Callable[[int, Array, Array | None], Sums] | None = None
    parameters: Callable[[], dict[str, Array]] | None = None


class DrawnChain(NamedTuple):
    """Logarithms of probabilities (S, ...) of each law of paths, and the emissions."""

    tables: tuple[Array, ...]
    emissions: EmissionDraws


def draw_chain(
    paths: Any, emission: Any, sums: Sums, size: int, rng: np.random.Generator
) -> DrawnChain:
    """Draw parameters from the beliefs that sums lead to."""
    laws = zip(paths.tables, sums[: paths.n_sums], strict=True)
    tables = tuple(draw_rows(law, part, size, rng) for law, part in laws)
    return DrawnChain(tables, emission.draw(sums[paths.n_sums :], size, rng))


def log_prior_of_chain(paths: Any, drawn: DrawnChain) -> Array:
    """Return ln p(θ) of all draws, (S,)."""
    logs: Array = drawn.emissions.log_priors().sum(axis=1)
    for law, table in zip(paths.tables, drawn.tables, strict=True):
        logs = logs + law.log_density(table, law.concentration)
    return logs


def sums_of_path(paths: Any, emission: Any, drawn: EmissionDraws, states: IntArray) -> Sums:
    """Return the sums of rows whose states are known, what else is hidden in them drawn as well."""
    frequency, counts = paths.rows.frequency, paths.count_paths(states)
    if drawn.complete is not None:
        return (*counts, *drawn.complete(0, states, frequency))
    shares = np.eye(paths.n_states)[states]
    shares = shares if frequency is None else shares * frequency[:, None]
    return (*counts, *emission.expected_sums(shares))
