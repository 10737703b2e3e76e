r"""Exact inference in linear-Gaussian chains: Kalman filter, smoother, draws of trajectories.

.. math:: s_1 \sim N(m_0, P_0),\quad s_t = A_t s_{t-1} + b_t + N(0, Q_t),\quad
          y_t = C_t s_t + d_t + N(0, R_t).

Why square roots. The covariance form subtracts (:math:`P - kc^\top P`): with a vague start,
:math:`P_0 = 10^8`, and :math:`q = r = 10^{-8}` it keeps two digits. The information form inverts
:math:`Q`: it cannot have :math:`Q` singular, and keeps four digits at :math:`q = 10^{-12}, r = 1`.
Here every covariance is a square root, changed by rotations alone, with large noise sources ahead
of small ones; the smoother adds positive terms, :math:`V_t = \Sigma_t + G_tV_{t+1}G_t^\top`, where
:math:`(G_t, \Sigma_t)` is the reversed step. One form then serves every conditioning: 11 digits
or more for :math:`q/r` from 1e-12 to 1e12 and :math:`P_0` up to 1e12, singular :math:`Q` (:math:`Q = 0`
is recursive regression) and singular :math:`R` included. Means whose innovations cancel (data near
1e8) are carried in two words.

Reference: Särkkä and Svensson, Bayesian Filtering and Smoothing (2023), chapters 6 and 12;
Kaminski, Bryson and Schmidt (1971) for the arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.inference.chains.chain_arguments import check_chain, check_series, group_patterns
from posteriori.inference.chains.chain_passes import covariances_of, draw, filter_series, smooth
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, IntArray, Seed

__all__ = [
    "ChainPosterior",
    "FilteredChain",
    "LinearGaussianChain",
    "filter_chain",
    "sample_chain_posterior",
    "smooth_chain",
]


class LinearGaussianChain(NamedTuple):
    """The parameters of a linear-Gaussian chain.

    Matrices and offsets may carry a leading time axis: of length 1 or T for emissions, and of
    length 1, T − 1 (entry t leads from step t to t + 1) or T (entry t leads to step t; the first
    is not used) for transitions. Offsets may be the number 0.

    Attributes
    ----------
    initial_mean, initial_cov : arrays (D,) and (D, D)
        m₀ and P₀ of the first state.
    transition, transition_offset, transition_cov : arrays (D, D), (D,), (D, D)
        A, b and Q; Q may be singular or zero.
    emission, emission_offset, emission_cov : arrays (P, D), (P,), (P, P)
        C, d and R; R may be singular as long as no observation is known before it is seen.
    """

    initial_mean: ArrayLike
    initial_cov: ArrayLike
    transition: ArrayLike
    transition_offset: ArrayLike
    transition_cov: ArrayLike
    emission: ArrayLike
    emission_offset: ArrayLike
    emission_cov: ArrayLike


class FilteredChain(NamedTuple):
    """What is known of each state from the data up to it.

    Attributes
    ----------
    mean, cov : arrays (..., T, D) and (..., T, D, D)
        Moments of s_t given y_1, …, y_t.
    log_predictive : array (..., T)
        ln p(y_t | y_1, …, y_{t−1}); 0 where nothing was observed.
    log_evidence : array (...)
        ln p(y), their sum.
    """

    mean: Array
    cov: Array
    log_predictive: Array
    log_evidence: Array


class ChainPosterior(NamedTuple):
    """What is known of each state from all data.

    Attributes
    ----------
    mean, cov : arrays (..., T, D) and (..., T, D, D)
        Moments of s_t given y. Series that share the covariances share their memory too.
    cross_cov : array (..., T − 1, D, D) or None
        Cov(s_{t+1}, s_t | y); None where it was not asked for.
    log_evidence : array (...)
        ln p(y), exact.
    """

    mean: Array
    cov: Array
    cross_cov: Array | None
    log_evidence: Array


def filter_chain(chain: LinearGaussianChain, y: ArrayLike) -> FilteredChain:
    """Return p(s_t | y_1, …, y_t) for every t, and the evidence.

    Parameters
    ----------
    chain : LinearGaussianChain
        Known parameters, shared by all series.
    y : array (..., T, P)
        Observations; NaN marks missing entries, whole vectors or parts of them.

    Returns
    -------
    FilteredChain

    Raises
    ------
    ValueError
        When a shape does not fit (the field is named), a covariance is not one, or a noise-free
        observation repeats what was known.

    Notes
    -----
    O(T (D³ + P D²)), O(T P D) once the covariances have settled.

    Examples
    --------
    >>> level = LinearGaussianChain(0.0, 4.0, 1.0, 0.0, 0.0, 1.0, 0.0, 2.0)
    >>> filter_chain(level, [1.0, 3.0]).cov[:, 0, 0]  # 1/(1/4 + t/2)
    array([1.33333333, 0.8       ])
    """
    series = check_series(y, _n_outputs(chain))
    arrays = check_chain(chain, series.values.shape[1])
    groups = group_patterns(series.values)
    parts = [filter_series(arrays, series.values[members]) for members in groups]
    batch = series.batch_shape
    log_predictive = _gather(groups, [part.log_predictive for part in parts], batch)
    return FilteredChain(
        _gather(groups, [part.mean for part in parts], batch),
        _gather_shared(groups, [covariances_of(part.factor) for part in parts], batch),
        log_predictive,
        log_predictive.sum(axis=-1),
    )


def smooth_chain(chain: LinearGaussianChain, y: ArrayLike, *, pairs: bool = True) -> ChainPosterior:
    """Return p(s_t | y_1, …, y_T) for every t, and the evidence.

    Parameters
    ----------
    chain : LinearGaussianChain
        Known parameters, shared by all series.
    y : array (..., T, P)
        Observations; NaN marks missing entries.
    pairs : bool
        Whether to return the covariances of neighbouring states, T D² numbers more.

    Returns
    -------
    ChainPosterior

    Notes
    -----
    O(T (D³ + P D²)) operations; holds little beside the answer. Where the chain does not depend on
    time and nothing is missing, covariances and gains settle and are computed once.

    Examples
    --------
    >>> level = LinearGaussianChain(0.0, 4.0, 1.0, 0.0, 1.0, 1.0, 0.0, 2.0)
    >>> post = smooth_chain(level, [1.0, float("nan"), 3.0])
    >>> post.mean[:, 0]
    array([1.25  , 1.6875, 2.125 ])
    """
    series = check_series(y, _n_outputs(chain))
    arrays = check_chain(chain, series.values.shape[1])
    groups, batch = group_patterns(series.values), series.batch_shape
    means, covs, crosses, evidences = [], [], [], []
    for members in groups:
        part = filter_series(arrays, series.values[members])
        evidences.append(part.log_predictive.sum(axis=-1))
        mean, cov, cross = smooth(arrays, part, pairs)
        means.append(mean)
        covs.append(cov)
        crosses.append(cross)
    return ChainPosterior(
        _gather(groups, means, batch),
        _gather_shared(groups, covs, batch),
        _gather_shared(groups, [c for c in crosses if c is not None], batch) if pairs else None,
        _gather(groups, evidences, batch),
    )


def sample_chain_posterior(
    chain: LinearGaussianChain, y: ArrayLike, size: int = 1, *, rng: Seed = None
) -> Array:
    """Draw whole trajectories from p(s_1, …, s_T | y): filter forwards, sample backwards.

    Returns
    -------
    array (size, ..., T, D)

    Examples
    --------
    >>> level = LinearGaussianChain(0.0, 4.0, 1.0, 0.0, 1.0, 1.0, 0.0, 2.0)
    >>> sample_chain_posterior(level, [1.0, 2.0, 3.0], 5, rng=0).shape
    (5, 3, 1)
    """
    series = check_series(y, _n_outputs(chain))
    n_series, n_steps = series.values.shape[:2]
    arrays = check_chain(chain, n_steps)
    states = as_generator(rng).standard_normal((size, n_series, n_steps, len(arrays.initial_mean)))
    for members in group_patterns(series.values):
        part = filter_series(arrays, series.values[members])
        states[:, members] = draw(arrays, part, states[:, members])
    return states.reshape(size, *series.batch_shape, *states.shape[2:])


def _gather(groups: list[IntArray], parts: list[Array], batch: tuple[int, ...]) -> Array:
    """Put what belongs to each series (b, ...) back in the order of the series."""
    whole = parts[0]
    if len(parts) > 1:
        whole = np.empty((sum(map(len, groups)), *whole.shape[1:]))
        for members, part in zip(groups, parts, strict=True):
            whole[members] = part
    return whole.reshape(*batch, *whole.shape[1:]) if batch else whole[0]


def _gather_shared(groups: list[IntArray], parts: list[Array], batch: tuple[int, ...]) -> Array:
    """Hand what a group shares to each of its series, without a copy where there is one group."""
    views = [
        np.broadcast_to(part, (len(members), *part.shape))
        for members, part in zip(groups, parts, strict=True)
    ]
    if len(views) == 1 and batch:
        return np.broadcast_to(parts[0], (*batch, *parts[0].shape))
    return _gather(groups, views, batch) if batch else parts[0]


def _n_outputs(chain: LinearGaussianChain) -> int:
    shape = np.shape(chain.emission)
    return shape[-2] if len(shape) >= 2 else 1
