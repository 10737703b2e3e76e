r"""The ascent over components and assignments: EM with parameters or certain groups, variational Bayes with beliefs.

.. math:: L = \sum_s w_s \ln\sum_z e^{E[\ln p(z)] + \sum_t E[\ln p(x_t\mid θ_{z_t})]}
   - \mathrm{KL}(q(\text{laws})\,\|\,p) - \sum_k \mathrm{KL}(q(θ_k)\,\|\,p).

The parameters of the ascent are the expected sums: from these follow laws or beliefs, from these the shares of
rows in groups, and from these the next sums. Each of several starts takes some steps, and the highest goes on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.ascent.expectation_maximization import EMResult, maximize_by_em
from posteriori.inference.latent.contract import Assignments, Components, Sums
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["Found", "Search", "ascend", "best_of_starts", "learn_groups", "look_at", "summarize"]

#: Steps by which a start shows where it leads, and of members that are fitted, each of them step by step.
_TRIAL, _TRIAL_FITS = 20, 4


class Search(NamedTuple):
    """How the highest end of several ascents is looked for.

    Attributes
    ----------
    n_init, trial, max_iter : int
        Starts that are tried, steps by which one shows where it leads, and steps of all together.
    options : mapping
        Further ones of :func:`maximize_by_em`, of the last ascent.
    """

    n_init: int
    trial: int
    max_iter: int
    options: Mapping[str, Any]


class Found(NamedTuple):
    """Where the ascent has ended.

    Attributes
    ----------
    sums : tuple
        Of assignments, then of components.
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


class Look(NamedTuple):
    """What rows say under some sums: the next sums, ln p(x) or its part of the bound, and the objective."""

    sums: Sums
    log_likelihood: float
    objective: float


def look_at(assignments: Assignments, components: Components, sums: Sums) -> Look:
    """Return what rows say under the laws and components of some sums."""
    scored = components.look(sums[assignments.n_sums :])
    found = assignments.expect(sums[: assignments.n_sums], scored.scores)
    value = found.log_likelihood + scored.constant
    after = (*found.sums, *scored.summarize(found.shares))
    return Look(after, value, value + found.bonus + scored.bonus)


def ascend(
    assignments: Assignments, components: Components, start: Sums, **options: Any
) -> EMResult:
    """Climb from sums; the parameters that are found are sums as well; options are those of EM."""

    def expect(sums: Sums) -> tuple[Sums, float]:
        found = look_at(assignments, components, sums)
        return found.sums, found.objective

    if not components.numeric:
        options = {**options, "accelerated": False}
    return maximize_by_em(expect, lambda sums: sums, start, **options)


def best_of_starts(
    climb: Callable[..., EMResult],
    starts: Iterator[Any],
    search: Search,
    *,
    try_start: Callable[..., EMResult] | None = None,
    is_sound: Callable[[EMResult], bool] = lambda found: True,
) -> EMResult:
    """Return the ascent from the best of several starts: the highest of sound ones after some steps goes on.

    One start is not tried. After Ctrl-C the best so far is returned.

    Parameters
    ----------
    climb : callable
        From a start and options of :func:`maximize_by_em`, an ascent.
    starts : iterator
    search : Search
    try_start : callable, optional
        Climbs in its place at first, where some of the rows are enough: its steps are none of the last ascent's.
    is_sound : callable
        Tells whether an end counts if there are others.
    """
    tried = islice(starts, search.n_init)
    if search.n_init == 1:
        return climb(next(tried), max_iter=search.max_iter, **search.options)
    steps = min(search.trial, search.max_iter)
    trials: list[EMResult] = []
    for start in tried:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # some steps are enough
            trials.append((try_start or climb)(start, max_iter=steps))
        if trials[-1].interrupted:
            break
    best = max(trials, key=lambda found: (is_sound(found), found.trace[-1]))
    if trials[-1].interrupted or (try_start is None and search.max_iter <= steps):
        return best
    if try_start is not None:
        return climb(best.parameters, max_iter=search.max_iter, **search.options)
    rest = climb(best.parameters, max_iter=search.max_iter - best.n_iter, **search.options)
    trace = (*best.trace[:-1], *rest.trace)
    return rest._replace(trace=trace, n_iter=best.n_iter + rest.n_iter)


def learn_groups(
    assignments: Assignments,
    components: Components,
    starts: Iterator[Sums],
    n_init: int,
    max_iter: int,
    options: Mapping[str, Any],
    *,
    by_size: bool,
) -> Found:
    """Learn from the best of several starts; ``by_size`` names groups by how many rows they have, most first."""
    trial = _TRIAL if components.numeric else _TRIAL_FITS

    def climb(start: Sums, **how: Any) -> EMResult:
        return ascend(assignments, components, start, **how)

    ascent = best_of_starts(climb, starts, Search(n_init, trial, max_iter, options))
    if by_size:
        n, sums = assignments.n_sums, ascent.parameters
        shares = assignments.expect(sums[:n], components.look(sums[n:]).scores).shares
        order = np.argsort(-shares.sum(axis=0), kind="stable")
        named = (*assignments.reorder(sums[:n], order), *components.reorder(sums[n:], order))
        ascent = ascent._replace(parameters=named)
    return summarize(assignments, components, ascent)


def summarize(assignments: Assignments, components: Components, ascent: EMResult) -> Found:
    """Return what an ascent has found."""
    sums = ascent.parameters
    there = look_at(assignments, components, sums)
    trace = np.array(ascent.trace)
    return Found(
        sums, trace, there.log_likelihood, there.objective, ascent.n_iter, ascent.converged
    )
