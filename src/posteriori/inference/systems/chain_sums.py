r"""What learning of a linear-Gaussian chain adds up: expected squares and products of its regressions.

The first state, each step and each observation are regressions with normal noise,

.. math:: s_1 = m_0 + e_0, \qquad s_t = [A, b, B]\,(s_{t-1}, 1, u_t) + e_t, \qquad
          y_t = [C, d, F]\,(s_t, 1, u_t) + \varepsilon_t,

and given the posterior of the states all that they can teach is :math:`\sum E[vv^\top]`,
:math:`\sum E[vz^\top]` and :math:`\sum E[zz^\top]` of targets v and regressors z. What is missing of an
observation is expected given the rest of it and the state.

Reference: Shumway and Stoffer (1982); Ghahramani and Hinton, "Parameter estimation for linear dynamical
systems" (1996).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.chains.linear_gaussian_chain import ChainPosterior
from posteriori.inference.gaps.gap_patterns import GapPatterns, gap_patterns
from posteriori.inference.systems.gap_expectations import noise_gain
from posteriori.numerics.types import Array

__all__ = ["ChainSums", "RegressionSums", "sum_chain_moments"]


class RegressionSums(NamedTuple):
    """Expected sums of a regression, over all steps.

    Attributes
    ----------
    steps : float
        How many.
    targets, across, regressors : (M, M), (M, K) and (K, K)
        Σ E[vvᵀ], Σ E[vzᵀ] and Σ E[zzᵀ].
    """

    steps: float
    targets: Array
    across: Array
    regressors: Array

    def add(self, other: RegressionSums) -> RegressionSums:
        """Return the sums of both."""
        return RegressionSums(
            self.steps + other.steps,
            self.targets + other.targets,
            self.across + other.across,
            self.regressors + other.regressors,
        )


class ChainSums(NamedTuple):
    """Sums of the first states (on the constant 1), of the steps and of the observations."""

    initial: RegressionSums
    transition: RegressionSums
    emission: RegressionSums

    def add(self, other: ChainSums) -> ChainSums:
        """Return the sums of both."""
        return ChainSums(*(a.add(b) for a, b in zip(self, other, strict=True)))


class _States(NamedTuple):
    """Moments of regressors (s, 1, u): means (N, K), and covariances (N, D, D) of the states in them."""

    mean: Array
    cov: Array

    def squares(self) -> Array:
        """Return Σ E[zzᵀ]."""
        found = self.mean.T @ self.mean
        size = self.cov.shape[-1]
        found[:size, :size] += self.cov.sum(axis=0)
        return np.asarray(found)


def sum_chain_moments(
    posterior: ChainPosterior,
    y: Array,
    emission: Array,
    emission_cov: Array,
    inputs: Array | None = None,
    *,
    patterns: GapPatterns | None = None,
) -> ChainSums:
    """Return the sums of one or several series of equal length.

    Parameters
    ----------
    posterior : ChainPosterior
        Of the states, (..., T, D), with pairs.
    y : (..., T, P)
        NaN is missing.
    emission : (P, K)
        [C, d, F], with which missing entries are expected.
    emission_cov : (P, P)
    inputs : (..., T, M), optional
        u; those of step t lead to it.
    patterns : GapPatterns, optional
        ``gap_patterns`` of the rows of y, (N, P), where they are known.

    Notes
    -----
    O(N (K² + P K)) for N rows and a step per pattern of gaps. A row without any entry does not count as an
    observation.

    Examples
    --------
    >>> from posteriori.inference import LinearGaussianChain, smooth_chain
    >>> walk = LinearGaussianChain(0.0, 1.0, 1.0, 0.0, 0.5, 1.0, 0.0, 1.0)
    >>> y = np.array([[1.0], [2.0], [1.5]])
    >>> sums = sum_chain_moments(smooth_chain(walk, y), y, np.array([[1.0, 0.0]]), np.eye(1))
    >>> sums.transition.steps, sums.transition.across[0].round(4)  # Σ E[s_t s_{t−1}], Σ E[s_t]
    (2.0, array([3.4316, 2.6875]))
    """
    assert posterior.cross_cov is not None
    size, length = posterior.mean.shape[-1], posterior.mean.shape[-2]
    mean = posterior.mean.reshape(-1, length, size)
    cov = np.broadcast_to(posterior.cov, (*posterior.mean.shape, size)).reshape(
        -1, length, size, size
    )
    known = np.ones((*mean.shape[:2], 1))
    if inputs is not None:
        known = np.concatenate([known, inputs.reshape(*mean.shape[:2], -1)], axis=2)
    rows = y.reshape(-1, y.shape[-1])
    here = _States(np.concatenate([mean, known], axis=2).reshape(len(rows), -1), _flat(cov))
    patterns = gap_patterns(rows) if patterns is None else patterns
    return ChainSums(
        _initial_sums(mean[:, 0], cov[:, 0]),
        _transition_sums(mean, cov, posterior.cross_cov, known),
        _emission_sums(here, rows, patterns, emission, emission_cov),
    )


def _initial_sums(mean: Array, cov: Array) -> RegressionSums:
    n = float(len(mean))
    total = mean.sum(axis=0)[:, None]
    return RegressionSums(n, mean.T @ mean + cov.sum(axis=0), total, np.full((1, 1), n))


def _transition_sums(mean: Array, cov: Array, cross: Array, known: Array) -> RegressionSums:
    size = mean.shape[-1]
    z = np.concatenate([mean[:, :-1], known[:, 1:]], axis=2).reshape(-1, size + known.shape[2])
    before, after = _States(z, _flat(cov[:, :-1])), mean[:, 1:].reshape(-1, size)
    across = after.T @ z
    across[:, :size] += cross.sum(axis=tuple(range(cross.ndim - 2)))
    targets = after.T @ after + _flat(cov[:, 1:]).sum(axis=0)
    return RegressionSums(float(len(z)), targets, across, before.squares())


def _emission_sums(
    here: _States, y: Array, patterns: GapPatterns, emission: Array, noise: Array
) -> RegressionSums:
    """Add up pattern by pattern, each of which misses the same entries in all its rows."""
    width, size = emission.shape
    total = RegressionSums(
        0.0, np.zeros((width, width)), np.zeros((width, size)), np.zeros((size, size))
    )
    starts = zip(patterns.offsets[:-1], patterns.offsets[1:], strict=True)
    for seen, (first, last) in zip(patterns.seen, starts, strict=True):
        if not seen.any():
            continue
        rows = slice(None) if len(patterns.seen) == 1 else patterns.order[first:last]
        z, values = _States(here.mean[rows], here.cov[rows]), y[rows][:, seen]
        seen_sums = RegressionSums(
            float(last - first), values.T @ values, values.T @ z.mean, z.squares()
        )
        total = total.add(_complete(seen_sums, seen, emission, noise))
    return total


def _complete(sums: RegressionSums, seen: Array, emission: Array, noise: Array) -> RegressionSums:
    r"""Expect the missing entries: v = [seen; H z + G seen + N(0, S)], G = R_ms R_ss⁻¹, H = C_m − G C_s."""
    if seen.all():
        return sums
    gone = ~seen
    gain = noise_gain(noise, seen)
    slope = emission[gone] - gain @ emission[seen]
    rest = noise[np.ix_(gone, gone)] - gain @ noise[np.ix_(seen, gone)]
    across = np.empty(emission.shape)
    across[seen] = sums.across
    across[gone] = slope @ sums.regressors + gain @ sums.across
    mixed = slope @ sums.across.T + gain @ sums.targets  # Σ E[v_m v_sᵀ]
    targets = np.empty(noise.shape)
    targets[np.ix_(seen, seen)] = sums.targets
    targets[np.ix_(gone, seen)], targets[np.ix_(seen, gone)] = mixed, mixed.T
    targets[np.ix_(gone, gone)] = across[gone] @ slope.T + mixed @ gain.T + sums.steps * rest
    return RegressionSums(sums.steps, targets, across, sums.regressors)


def _flat(a: Array) -> Array:
    return a.reshape(-1, *a.shape[-2:])
