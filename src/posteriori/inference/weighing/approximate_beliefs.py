r"""Beliefs that approximate a posterior, checked and corrected by draws.

A belief q states one of two things beside its own draws: the true density, by which these are weighed,

.. math:: w_s \propto \frac{p(X, θ_s)}{q(θ_s)}, \qquad θ_s \sim q,

with Pareto-smoothed tails, or draws of the posterior itself. Either corrects intervals; where neither can be
had, or the weights do not settle (k̂ > 0.7), the belief's own are given, and it is said that they are too narrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np

from posteriori.inference.weighing.chain_agreement import (
    effective_sample_size,
    potential_scale_reduction,
)
from posteriori.inference.weighing.reliability import (
    LARGEST_SHAPE,
    Reliability,
    deviation_of_numbers,
    in_words,
    judge_deviations,
)
from posteriori.numerics.calculus.pareto_smoothing import smooth_weights
from posteriori.numerics.types import Array

__all__ = [
    "ApproximateBelief",
    "BeliefDraws",
    "DrawsPosterior",
    "PosteriorDraws",
    "StatesDensity",
    "WeighedDraws",
    "cautions_of",
    "weigh_belief",
]

#: Chains whose R̂ is above this have not met (A. Gelman & D. Rubin's bound).
_APART = 1.1

#: Numbers of an unknown that are compared: every so many of longer ones.
_MEMBERS = 1000


class BeliefDraws(NamedTuple):
    """Draws of a belief.

    Attributes
    ----------
    values : mapping from the name of an unknown to its draws (S, *shape)
    log_density : (S,)
        ln q of each, by the measure of ``log_joint``; not needed where the posterior is drawn from.
    inner : object
        What ``log_joint`` needs beside: the same draws in coordinates of its own.
    """

    values: Mapping[str, Array]
    log_density: Array | None = None
    inner: Any = None


class PosteriorDraws(NamedTuple):
    """Draws of a posterior by several chains.

    Attributes
    ----------
    values : mapping from the name of an unknown to its draws (C, T, *shape)
    cautions : tuple of str
        What intervals by these draws depend on.
    """

    values: Mapping[str, Array]
    cautions: tuple[str, ...] = ()


class ApproximateBelief(Protocol):
    """A belief q(θ) in the place of a posterior."""

    def draw_belief(self, size: int, rng: np.random.Generator) -> BeliefDraws:
        """Draw from q."""

    def too_narrow(self) -> tuple[str, ...]:
        """Return the unknowns that are known to be too sure of themselves, without draws."""


class StatesDensity(ApproximateBelief, Protocol):
    """Has the true density of its unknowns, all that is hidden beside them summed out."""

    def log_joint(self, drawn: BeliefDraws) -> Array:
        """Return ln p(X, θ) of all draws, (S,); -inf where one is impossible."""


class DrawsPosterior(ApproximateBelief, Protocol):
    """Has draws of the posterior itself: C chains that begin at draws of the belief."""

    def draw_posterior(self, size: int, rng: np.random.Generator) -> PosteriorDraws:
        """Return T >= 4 draws of each of C chains, C T >= size."""


class WeighedDraws(NamedTuple):
    """Draws with weights, of the posterior as far as could be had.

    Attributes
    ----------
    values : mapping to arrays (S, *shape)
    weights : (S,)
    reliability : Reliability
        What they find about the belief.
    cautions : tuple of str
        What is not to be trusted of intervals by these draws.
    """

    values: Mapping[str, Array]
    weights: Array
    reliability: Reliability
    cautions: tuple[str, ...]


def weigh_belief(belief: ApproximateBelief, size: int, rng: np.random.Generator) -> WeighedDraws:
    """Return draws of the posterior, or weighted ones of the belief, and what they find."""
    if _has(belief, "draw_posterior"):
        return _by_posterior(belief, size, rng)
    own = belief.draw_belief(size, rng)
    if not _has(belief, "log_joint") or own.log_density is None:
        raise TypeError(f"{type(belief).__name__} has neither log_joint nor draw_posterior")
    with np.errstate(all="ignore"):
        log_ratios = belief.log_joint(own) - own.log_density
    log_ratios = np.where(np.isfinite(log_ratios), log_ratios, -np.inf)
    if not np.isfinite(log_ratios).any():
        raise ValueError("no draw of the belief is possible under the model")
    log_weights, shapes = smooth_weights(log_ratios[:, None])
    weights = np.exp(log_weights[:, 0])
    found = judge_deviations(
        {name: _deviation(x, x, weights) for name, x in own.values.items()},
        khat=float(shapes[0]),
        effective_size=1.0 / float(weights @ weights),
        draws=size,
        weighed=tuple(own.values),
    )
    if (
        found.khat > LARGEST_SHAPE
    ):  # weights of a few draws are no intervals: the belief's own are said to be off
        return WeighedDraws(
            own.values, np.full(size, 1.0 / size), found, tuple(found.verdict.split("; "))
        )
    return WeighedDraws(own.values, weights, found, ())


def _by_posterior(belief: Any, size: int, rng: np.random.Generator) -> WeighedDraws:
    """Compare draws of the posterior with those of the belief."""
    chains, cautions = belief.draw_posterior(size, rng)
    believed = belief.draw_belief(max(size, 1000), rng).values
    values = {name: x.reshape(-1, *x.shape[2:]) for name, x in chains.items()}
    weights = np.full(len(next(iter(values.values()))), 1.0)
    weights /= len(weights)
    effective, apart = _agreement(chains)
    found = judge_deviations(
        {name: _deviation(believed[name], x, weights) for name, x in values.items()},
        khat=-np.inf,
        effective_size=effective,
        draws=len(weights),
    )
    said = f"draws of {', '.join(apart)} have not met: intervals are as far as they came"
    return WeighedDraws(values, weights, found, (*cautions, *((said,) if apart else ())))


def _deviation(believed: Array, found: Array, weights: Array) -> Any:
    """Compare moments of draws of the belief with those of weighted draws."""
    believed, found = _some(believed), _some(found)
    mean = weights @ found
    return deviation_of_numbers(
        (believed.mean(axis=0), believed.var(axis=0)), (mean, weights @ (found - mean) ** 2)
    )


def _some(draws: Array) -> Array:
    """Return every so many of the numbers of draws, (S, M)."""
    x = draws.reshape(len(draws), -1)
    return x[:, :: 1 + (x.shape[1] - 1) // _MEMBERS]


def _agreement(chains: Mapping[str, Array]) -> tuple[float, list[str]]:
    """Return the effective size of the unknown that moves least, and those whose chains have not met."""
    least, apart = np.inf, []
    for name, x in chains.items():
        each = np.moveaxis(x.reshape(*x.shape[:2], -1), -1, 0)[:: 1 + x[0, 0].size // 50]
        least = min(least, *(effective_sample_size(one) for one in each))
        if max(potential_scale_reduction(one) for one in each) > _APART:
            apart.append(name)
    return float(least), apart


def _has(belief: Any, name: str) -> TypeGuard[Any]:
    return hasattr(belief, name)


def cautions_of(found: Reliability) -> tuple[str, ...]:
    """Return what a check has found, as cautions."""
    return tuple(in_words(found.too_narrow, found.shifted))
