r"""Importance weights: draws of a belief, weighed by the exact density of the model.

A belief q is the posterior if ln p(data, θ) − ln q(θ) is the same everywhere. Weights of draws of
thousands of numbers degenerate even where each number is nearly right, so that as few unknowns θ as
possible are weighed: those given which all others x have an exact method, and

.. math:: p(\text{data}, \theta) = \int p(\text{data}, x, \theta)\, dx

is the evidence of the exact blocks. Given each draw these also tell the moments of all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling.contract.conditioning import ExactParts, condition_group
from posteriori.modeling.contract.engine import Result
from posteriori.modeling.contract.weighable import Apart, Weighable
from posteriori.modeling.forms.simulation import log_prob_of_known
from posteriori.modeling.forms.state_tables import DISCRETE, state_probabilities
from posteriori.numerics.calculus.pareto_smoothing import FEWEST_DRAWS
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.types import Array

__all__ = ["Moments", "Weighed", "moments_of", "weigh"]

#: Members of an unknown that is not weighed whose moments are kept: every so many of longer ones.
_MEMBERS = 1000

#: Numbers that draws may take up together.
_MOST = 1 << 24


class Moments(NamedTuple):
    """Means and variances of the numbers of an unknown, one after another, or probabilities.

    ``variance`` is None of probabilities, of which there are ``states`` for each member.
    """

    mean: Array
    variance: Array | None
    states: int = 0


class Weighed(NamedTuple):
    """Draws of some unknowns and their log ratios, and what is exact given each draw.

    Attributes
    ----------
    log_ratios : (S,)
        ln p(data, θ) − ln q(θ).
    draws : mapping to arrays (S, *shape)
        Of the unknowns that were weighed.
    given : list of mappings to Moments
        Of each draw, those of the others.
    believed : mapping to Moments
        Of the others, as they are believed in.
    states : mapping to int
        Number of states of discrete unknowns that were weighed.
    """

    log_ratios: Array
    draws: Mapping[str, Array]
    given: Sequence[Mapping[str, Moments]]
    believed: Mapping[str, Moments]
    states: Mapping[str, int]


def weigh(
    weighable: Weighable,
    exact_parts: ExactParts,
    size: int,
    rng: np.random.Generator,
    progress: Progress,
) -> Weighed:
    """Draw from a belief and weigh each draw; Ctrl-C keeps those that were weighed already."""
    chosen = _fewest(weighable, exact_parts, rng)
    _require_memory(chosen, size)
    draws: dict[str, Array] = {}
    log_q = np.zeros(size)
    for belief in chosen:
        values, logs = belief.draw(size, rng)
        draws |= values
        log_q += logs
    log_p, given = [], list[dict[str, Moments]]()
    try:
        for s in range(size):
            values = {**weighable.points, **{name: array[s] for name, array in draws.items()}}
            density, moments = _solve(weighable, values, exact_parts)
            log_p.append(density)
            given.append(moments)
            progress.say(f"{s + 1} of {size} draws weighed")
    except KeyboardInterrupt:
        if len(given) < FEWEST_DRAWS:
            raise
    finally:
        progress.close()
    done = len(given)
    log_ratios = np.array(log_p[:done]) - log_q[:done]
    if not np.isfinite(log_ratios).any():
        raise ValueError("no draw of the belief is possible under the model")
    others = {name for moments in given for name in moments}
    return Weighed(
        log_ratios,
        {name: array[:done] for name, array in draws.items()},
        given,
        {name: moments_of(weighable.marginal(name)) for name in others},
        _states(weighable, draws),
    )


def _fewest(weighable: Weighable, exact_parts: ExactParts, rng: np.random.Generator) -> list[Apart]:
    """Return the beliefs that must be drawn: what is exact given the others is left out, if large."""
    one: dict[tuple[str, ...], dict[str, Array]] = {}  # rows in parts are not drawn without need
    kept = list(weighable.apart)
    for belief in sorted(weighable.apart, key=lambda b: (b.has_density, -b.size)):
        fewer = [other for other in kept if other is not belief]
        values = dict(weighable.points)
        for other in fewer:
            if other.names not in one:
                one[other.names] = other.draw(1, rng)[0]
            values |= {name: drawn[0] for name, drawn in one[other.names].items()}
        if fewer and exact_parts(condition_group(weighable.group, values).group) is not None:
            kept = fewer
    for belief in kept:
        if not belief.has_density:
            raise TypeError(
                f"the belief about {', '.join(belief.names)} has no density to weigh its draws by, and "
                "no exact method sums over it given the others"
            )
    return kept


def _solve(
    weighable: Weighable, values: Mapping[str, Array], exact_parts: ExactParts
) -> tuple[float, dict[str, Moments]]:
    """Return ln p(data, values), and the moments of all others given them."""
    try:
        with np.errstate(all="ignore"):
            left = condition_group(weighable.group, values).group
            found = exact_parts(left)
            if found is None:
                raise TypeError(f"not exact given {', '.join(values)}")
            parts, known = found
            total = sum(log_prob_of_known(factor, left.bound) for factor in known)
            results: list[Result] = [part.block().solve() for part in parts]
            total += sum(float(result.log_evidence) for result in results)
            moments = {n: moments_of(r.marginal(n)) for r in results for n in r.names}
    except (ValueError, np.linalg.LinAlgError, OverflowError):
        return -np.inf, {}  # impossible, or beyond what numbers can hold
    return (float(total), moments) if np.isfinite(total) else (-np.inf, {})


def moments_of(belief: Any) -> Moments:
    """Return the moments of some members of a distribution, NaN where it does not tell them."""
    if isinstance(belief, DISCRETE):
        p = state_probabilities(belief)
        return Moments(_some(p.reshape(-1, p.shape[-1])), None, p.shape[-1])
    mean = np.asarray(belief.mean, dtype=np.float64)
    try:
        variance = np.asarray(belief.variance, dtype=np.float64)
    except (AttributeError, NotImplementedError, TypeError):
        variance = np.full(mean.shape, np.nan)
    variance = variance if variance.shape == mean.shape else np.full(mean.shape, np.nan)
    return Moments(_some(mean.ravel()), _some(variance.ravel()))


def _some(values: Array) -> Array:
    """Return every so many of many members."""
    return values[:: 1 + (len(values) - 1) // _MEMBERS]


def _states(weighable: Weighable, draws: Mapping[str, Array]) -> dict[str, int]:
    found = {}
    for name in draws:
        believed = weighable.marginal(name)
        if isinstance(believed, DISCRETE):
            found[name] = moments_of(believed).states
    return found


def _require_memory(chosen: Sequence[Apart], size: int) -> None:
    numbers = sum(belief.size for belief in chosen)
    if numbers * size > _MOST:
        names = ", ".join(name for belief in chosen for name in belief.names)
        raise TypeError(
            f"{size} draws of the {numbers} numbers of {names} are too many; give draws="
            f"{max(_MOST // numbers, FEWEST_DRAWS)} or fewer"
        )
