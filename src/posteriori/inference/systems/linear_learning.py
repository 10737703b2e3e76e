r"""Linear systems of highest likelihood, by expectation–maximisation.

Given the states, first state, steps and observations are three regressions
(:mod:`posteriori.inference.systems.chain_sums`). Each is solved by

.. math:: W = \sum E[vz^\top]\,\Big(\sum E[zz^\top]\Big)^{-1}, \qquad
          \Sigma = \tfrac1n \sum E[(v - Wz)(v - Wz)^\top],

with some columns of W kept if asked for: :math:`[A, b, B]` and Γ, :math:`[C, d, F]` and Σ,
:math:`\mu_0` and :math:`V_0`.

Reference: Bishop (2006), section 13.3.2; Ghahramani and Hinton (1996).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.ascent.expectation_maximization import EMResult, maximize_by_em
from posteriori.inference.chains.linear_gaussian_chain import LinearGaussianChain, smooth_chain
from posteriori.inference.gaps.gap_patterns import GapPatterns, gap_patterns
from posteriori.inference.systems.chain_sums import ChainSums, RegressionSums, sum_chain_moments
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "LearnedSystem",
    "SeriesGroup",
    "SystemParameters",
    "group_series",
    "learn_linear_system",
    "system_chain",
]

#: Variances are at least this part of those of the data, or of the states at the start.
_LEAST_NOISE, _LEAST_STEP, _LEAST_START = 1e-8, 1e-10, 1e-6


class SystemParameters(NamedTuple):
    """What is learned.

    Attributes
    ----------
    transition, transition_cov : (D, D + 1 + M) and (D, D)
        [A, b, B] and Γ.
    emission, emission_cov : (P, D + 1 + M) and (P, P)
        [C, d, F] and Σ.
    initial_mean, initial_cov : (D,) and (D, D)
    """

    transition: Array
    transition_cov: Array
    emission: Array
    emission_cov: Array
    initial_mean: Array
    initial_cov: Array


class SeriesGroup(NamedTuple):
    """Series of equal length, (S, T, P), their inputs (S, T, M) if any, and gaps of the rows (S T, P)."""

    y: Array
    inputs: Array | None
    patterns: GapPatterns


class LearnedSystem(NamedTuple):
    """Where learning ended, and which covariances lie at their least."""

    parameters: SystemParameters
    ascent: EMResult
    floored: tuple[str, ...]


class _Floors(NamedTuple):
    """The least variances in each coordinate, (D,), (P,) and (D,)."""

    transition: Array
    emission: Array
    initial: Array


def group_series(y: Array, lengths: IntArray, inputs: Array | None = None) -> list[SeriesGroup]:
    """Group series, given one after another (N, P), by their lengths; with inputs each is a group."""
    ends = np.cumsum(lengths)
    starts = ends - lengths
    sizes = np.unique(lengths) if inputs is None else lengths
    groups = []
    for i, length in enumerate(sizes):
        mine = starts[lengths == length] if inputs is None else starts[i : i + 1]
        rows = mine[:, None] + np.arange(length)
        given = None if inputs is None else inputs[rows]
        groups.append(SeriesGroup(y[rows], given, gap_patterns(y[rows.ravel()])))
    return groups


def learn_linear_system(
    groups: Sequence[SeriesGroup],
    start: SystemParameters,
    *,
    fixed: frozenset[str],
    diagonal: bool,
    tol: float,
    max_iter: int,
    callback: Callable[[int, float], Any] | None = None,
) -> LearnedSystem:
    """Climb the likelihood from ``start``.

    Parameters
    ----------
    groups : sequence of SeriesGroup
    start : SystemParameters
    fixed : set of str
        Names among ``transition``, ``transition_offset``, ``transition_inputs``, ``transition_cov`` and
        the same of ``emission``, ``initial_mean`` and ``initial_cov``: what is kept as it is.
    diagonal : bool
        Whether the noise of observations is independent in its columns.
    tol, max_iter, callback :
        Of :func:`maximize_by_em`.
    """
    floors: list[_Floors] = []

    def expect(parameters: SystemParameters) -> tuple[Any, float]:
        sums, value = _expect(groups, parameters)
        return (sums, parameters), value

    def maximize(expected: tuple[ChainSums, SystemParameters]) -> SystemParameters:
        if not floors:
            floors.append(_find_floors(groups, expected[0], start))
        return _maximize(*expected, fixed, diagonal, floors[0])

    def admit(parameters: SystemParameters) -> SystemParameters:
        return _raise_to_floors(parameters, fixed, diagonal, floors[0])

    found = maximize_by_em(
        expect, maximize, start, tol=tol, max_iter=max_iter, admit=admit, callback=callback
    )
    return LearnedSystem(found.parameters, found, _floored(found.parameters, fixed, floors[0]))


def system_chain(parameters: SystemParameters, inputs: Array | None = None) -> LinearGaussianChain:
    """Return the chain of one series, with inputs (T, M) if any."""
    size = len(parameters.initial_mean)
    offsets = [w[:, size] for w in (parameters.transition, parameters.emission)]
    if inputs is not None:
        weights = (parameters.transition[:, size + 1 :], parameters.emission[:, size + 1 :])
        offsets = [b + inputs @ w.T for b, w in zip(offsets, weights, strict=True)]
    return LinearGaussianChain(
        parameters.initial_mean,
        parameters.initial_cov,
        parameters.transition[:, :size],
        offsets[0],
        parameters.transition_cov,
        parameters.emission[:, :size],
        offsets[1],
        parameters.emission_cov,
    )


def _expect(groups: Sequence[SeriesGroup], parameters: SystemParameters) -> tuple[ChainSums, float]:
    total, value = None, 0.0
    for y, inputs, patterns in groups:
        posterior = smooth_chain(system_chain(parameters, None if inputs is None else inputs[0]), y)
        sums = sum_chain_moments(
            posterior,
            y,
            parameters.emission,
            parameters.emission_cov,
            inputs,
            patterns=patterns,
        )
        total = sums if total is None else total.add(sums)
        value += float(posterior.log_evidence.sum())
    assert total is not None
    return total, value


def _maximize(
    sums: ChainSums,
    now: SystemParameters,
    fixed: frozenset[str],
    diagonal: bool,
    floors: _Floors,
) -> SystemParameters:
    size = len(now.initial_mean)
    mean = now.initial_mean[:, None]
    start = _regress(sums.initial, mean, np.array(["initial_mean" not in fixed]))
    step = _regress(sums.transition, now.transition, _free("transition", now, fixed))
    seen = _regress(sums.emission, now.emission, _free("emission", now, fixed))
    covs = {
        "initial_cov": (sums.initial, start, floors.initial, False),
        "transition_cov": (sums.transition, step, floors.transition, False),
        "emission_cov": (sums.emission, seen, floors.emission, diagonal),
    }
    found = {
        name: getattr(now, name) if name in fixed or not given[0].steps else _noise(*given)
        for name, given in covs.items()
    }
    return now._replace(
        transition=step, emission=seen, initial_mean=start[:, 0].reshape(size), **found
    )


def _free(name: str, now: SystemParameters, fixed: frozenset[str]) -> Array:
    """Return which columns of [A, b, B] are learned."""
    weights = getattr(now, name)
    size = len(now.initial_mean)
    free = np.empty(weights.shape[1], dtype=bool)
    free[:size] = name not in fixed
    free[size] = f"{name}_offset" not in fixed
    free[size + 1 :] = f"{name}_inputs" not in fixed
    return free


def _regress(sums: RegressionSums, weights: Array, free: Array) -> Array:
    """Return W with its free columns at their best given the others."""
    if not free.any() or not sums.steps:
        return weights
    kept = ~free
    right = sums.across[:, free] - weights[:, kept] @ sums.regressors[np.ix_(kept, free)]
    found = weights.copy()
    found[:, free] = _solve(sums.regressors[np.ix_(free, free)], right.T).T
    return found


def _solve(squares: Array, right: Array) -> Array:
    """Solve normal equations; directions that no data have are left at 0."""
    scale = np.sqrt(np.maximum(np.diagonal(squares), np.finfo(float).tiny))
    turned = np.linalg.lstsq(squares / scale[:, None] / scale, right / scale[:, None], rcond=1e-13)
    return np.asarray(turned[0] / scale[:, None])


def _noise(sums: RegressionSums, weights: Array, floor: Array, diagonal: bool) -> Array:
    """Return Σ = (Σ E[vvᵀ] − W Σ E[zvᵀ] − Σ E[vzᵀ] Wᵀ + W Σ E[zzᵀ] Wᵀ)/n, at least the floor."""
    half = sums.across - 0.5 * weights @ sums.regressors
    rest = sums.targets - weights @ half.T - half @ weights.T
    rest = 0.5 * (rest + rest.T) / sums.steps
    return _at_least(rest, floor, diagonal)


def _at_least(cov: Array, floor: Array, diagonal: bool) -> Array:
    """Return a covariance none of whose variances, in units of the floor, is below 1."""
    if diagonal:
        return np.diag(np.maximum(np.diagonal(cov), floor))
    unit = np.sqrt(np.maximum(floor, np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(cov / unit[:, None] / unit)
    if values[0] >= 1.0:
        return cov
    root = unit[:, None] * vectors * np.sqrt(np.maximum(values, 1.0))
    return np.asarray(root @ root.T)


def _raise_to_floors(
    found: SystemParameters, fixed: frozenset[str], diagonal: bool, floors: _Floors
) -> SystemParameters:
    """Return parameters whose learned covariances are no less than their floors."""
    names = ("transition_cov", "emission_cov", "initial_cov")
    raised = {
        name: _at_least(getattr(found, name), floor, diagonal and name == "emission_cov")
        for name, floor in zip(names, floors, strict=True)
        if name not in fixed
    }
    return found._replace(**raised)


def _find_floors(
    groups: Sequence[SeriesGroup], sums: ChainSums, start: SystemParameters
) -> _Floors:
    """Return floors by the spread of the columns and of the states, no higher than the start."""
    size = len(start.initial_mean)
    states = np.diagonal(sums.emission.regressors)[:size] / max(sums.emission.steps, 1.0)
    rows = np.concatenate([group.y.reshape(-1, group.y.shape[-1]) for group in groups])
    spread = np.nanvar(rows, axis=0)
    return _Floors(
        _below(_LEAST_STEP * states, start.transition_cov),
        _below(_LEAST_NOISE * spread, start.emission_cov),
        _below(_LEAST_START * states, start.initial_cov),
    )


def _below(floor: Array, cov: Array) -> Array:
    """Lower a floor until it lies below a covariance."""
    unit = np.sqrt(floor)
    least = np.linalg.eigvalsh(cov / unit[:, None] / unit)[0]
    return np.asarray(floor * min(max(least, 0.0), 1.0))


def _floored(found: SystemParameters, fixed: frozenset[str], floors: _Floors) -> tuple[str, ...]:
    """Return the names of the covariances that reach their floors, to a thousandth."""
    parts = _parts_of_floors(found, fixed, floors)
    return tuple(name for name, least in parts.items() if least < 1.001)


def _parts_of_floors(
    found: SystemParameters, fixed: frozenset[str], floors: _Floors
) -> dict[str, float]:
    """Return the least eigenvalue of each learned covariance in units of its floor, where it has one."""
    parts = {}
    for name, floor in zip(("transition_cov", "emission_cov", "initial_cov"), floors, strict=True):
        if name not in fixed and floor.max() > 0.0:
            unit = np.sqrt(floor)
            parts[name] = float(np.linalg.eigvalsh(getattr(found, name) / unit[:, None] / unit)[0])
    return parts
