"""The evidence of a hidden chain: by annealing where turns are exact, elsewhere by weighing draws of beliefs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posteriori.inference.latent.contract import Sums
from posteriori.inference.latent.namings import is_exchangeable
from posteriori.inference.sequences.draws.annealing import (
    Annealed,
    Base,
    anneal,
    can_anneal,
)
from posteriori.inference.sequences.draws.evidence_draws import (
    DrawnEvidence,
    count_orders,
    draw_evidence,
)

__all__ = ["estimate_chain_evidence"]

#: Draws are so many times as many as squared walks: walks that are long spread less.
_LONGER = 3.0

#: Walks, at least and at most.
_FEWEST, _MOST = 6, 30

#: Share of what was learned that walks begin with: beliefs see one of several modes, and too well.
_HELD = 0.5

#: Where the error is larger than so many nats, walks begin also where all states are alike, with so much of the
#: rows, unless that place is lower by so many nats.
_LARGE, _EVEN, _HOPELESS = 0.1, 0.2, 30.0


def estimate_chain_evidence(
    paths: Any,
    emission: Any,
    sums: Sums,
    draws: int,
    rng: np.random.Generator,
    *,
    alike: bool,
    progress: Callable[[], Any] | None = None,
) -> DrawnEvidence:
    """Return an estimate of the evidence.

    Parameters
    ----------
    paths : ChainPaths or RunPaths
    emission : Components
        That can be drawn from.
    sums : tuple
        Where the ascent has ended: they state the beliefs.
    draws : int
        Of parameters; of walks twice as many where beliefs are far from the posterior.
    rng : Generator
    alike : bool
        Whether states have one prior of their emissions.
    progress : callable, optional
        Is called after each draw.
    """
    named = _names(paths, alike)
    if named is None or not can_anneal(paths, emission):
        return draw_evidence(paths, emission, sums, draws, rng, alike=alike, progress=progress)
    walks = int(np.clip(np.sqrt(draws / _LONGER), _FEWEST, _MOST))
    steps = max(draws // walks, 2)
    if paths.n_states == 1:  # the bound is exact
        return DrawnEvidence(Base.learned(paths, emission, sums, 1.0).bound, 0.0, draws, 0.0)
    base = Base.learned(paths, emission, sums, _HELD)
    found = anneal(base, walks, steps, rng, named=named, progress=progress)
    if found.error > _LARGE and not named:
        even = Base.even(paths, emission, _EVEN)
        if even.bound > base.bound - _HOPELESS:
            other = anneal(even, walks, steps, rng, named=named, progress=progress)
            found = _combine(found, other)
    worth = draws * found.effective / walks
    # where one walk in n would go, none of n may have gone
    return DrawnEvidence(found.value, float(np.hypot(found.error, 1.0 / walks)), worth, 0.0)


def _names(paths: Any, alike: bool) -> bool | None:
    """Tell whether the posterior has one naming of states, or all of them; None if some."""
    labels = paths.rows.labels
    if labels is not None:
        return True if len(np.unique(labels[labels >= 0])) == paths.n_states else None
    if not alike or paths.n_states == 1:
        return True
    return False if is_exchangeable(paths) else (True if count_orders(paths, alike) == 1 else None)


def _combine(one: Annealed, other: Annealed) -> Annealed:
    """Return the walks whose mean logarithm is higher, or all where that is in doubt.

    That mean is a lower bound of ln p(X), which no single weight decides: the higher of two estimates would be too
    high on average.
    """
    means, spreads = zip(*map(_mean_log, (one, other)), strict=True)
    if abs(means[0] - means[1]) > np.sqrt(sum(spreads)):
        return one if means[0] > means[1] else other
    return Annealed(*map(np.concatenate, zip(one, other, strict=True)))


def _mean_log(walks: Annealed) -> tuple[float, float]:
    """Return the mean of the logarithms of weights, and its squared error."""
    return float(walks.logs.mean()), float(walks.logs.var(ddof=1)) / len(walks.logs)
