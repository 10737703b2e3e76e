r"""Chains with unknown constants, a static :math:`c \sim N(m_c, V)` in every step.

.. math:: s_1 \sim N(m_0 + E_0c, P_0),\quad s_t = A_ts_{t-1} + b_t + E_tc + N(0, Q_t),\quad
          y_t = C_ts_t + d_t + F_tc + N(0, R_t).

The state :math:`(s_t, c)` of the wider chain moves with :math:`Q = 0` below, which square roots
carry without loss; its covariance holds those of the static part and between it and each state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.inference.chains.linear_gaussian_chain import ChainPosterior, LinearGaussianChain
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real

__all__ = ["StaticPosterior", "add_static_effects", "split_static_effects"]


class StaticPosterior(NamedTuple):
    """A posterior taken apart into the states and the static vector.

    Attributes
    ----------
    states : ChainPosterior
        Of s_1, …, s_T alone.
    mean, cov : arrays (..., M) and (..., M, M)
        Moments of c given y.
    state_cov : array (..., T, D, M)
        Cov(s_t, c | y).
    """

    states: ChainPosterior
    mean: Array
    cov: Array
    state_cov: Array


def add_static_effects(
    chain: LinearGaussianChain,
    cov: ArrayLike,
    *,
    mean: ArrayLike = 0.0,
    initial: ArrayLike | None = None,
    transition: ArrayLike | None = None,
    emission: ArrayLike | None = None,
) -> LinearGaussianChain:
    """Return the chain of (s_t, c), D + M wide.

    Parameters
    ----------
    chain : LinearGaussianChain
        The chain without c. All arrays may have one more leading axis, of different chains.
    cov, mean : arrays (M, M) and (M,)
        Prior of c.
    initial : array (D, M), optional
        E₀, how c enters the mean of the first state.
    transition : array (D, M) or with a leading time axis, optional
        E, how c enters each transition.
    emission : array (P, M) or with a leading time axis, optional
        F, how c enters each observation.

    Examples
    --------
    An unknown offset of a sensor, seen through a random walk:

    >>> walk = LinearGaussianChain(0.0, 1.0, 1.0, 0.0, 0.1, 1.0, 0.0, 0.5)
    >>> wider = add_static_effects(walk, 9.0, emission=[[1.0]])
    >>> np.asarray(wider.emission).tolist()
    [[[1.0, 1.0]]]
    """
    prior = np.atleast_2d(real("cov", cov))
    m0 = np.atleast_1d(np.asarray(chain.initial_mean, dtype=np.float64))
    c = _matrices(chain.emission)
    d, m = m0.shape[-1], prior.shape[-1]
    c0 = np.broadcast_to(np.asarray(real("mean", mean)), (*prior.shape[:-2], m))
    e0 = _gain("initial", initial, (d, m))
    e0 = e0[0] if initial is None or np.ndim(initial) < 3 else e0
    e, f = _gain("transition", transition, (d, m)), _gain("emission", emission, (c.shape[-2], m))
    still = np.concatenate([np.zeros((m, d)), np.eye(m)], axis=1)[None]
    p0 = np.atleast_2d(np.asarray(chain.initial_cov, dtype=np.float64))
    cross = e0 @ prior
    q = _matrices(chain.transition_cov)
    turned = np.swapaxes(cross, -1, -2)
    return LinearGaussianChain(
        _join_rows((m0 + (e0 @ c0[..., None])[..., 0])[..., None], c0[..., None])[..., 0],
        _join_rows(
            _join_columns(p0 + cross @ np.swapaxes(e0, -1, -2), cross), _join_columns(turned, prior)
        ),
        _join_rows(_join_columns(_matrices(chain.transition), e), still),
        _padded(chain.transition_offset, d, m),
        _join_rows(_join_columns(q, np.zeros((1, d, m))), np.zeros((1, m, d + m))),
        _join_columns(c, f),
        chain.emission_offset,
        chain.emission_cov,
    )


def split_static_effects(posterior: ChainPosterior, n_static: int) -> StaticPosterior:
    """Take the posterior of a chain made by :func:`add_static_effects` apart."""
    d = posterior.mean.shape[-1] - n_static
    if n_static < 1 or d < 1:
        raise ValueError(
            f"n_static must lie between 1 and {posterior.mean.shape[-1] - 1}, got {n_static}"
        )
    cross = None if posterior.cross_cov is None else posterior.cross_cov[..., :d, :d]
    states = ChainPosterior(
        posterior.mean[..., :d], posterior.cov[..., :d, :d], cross, posterior.log_evidence
    )
    last = posterior.cov[..., -1, :, :]
    return StaticPosterior(
        states, posterior.mean[..., -1, d:], last[..., d:, d:], posterior.cov[..., :d, d:]
    )


def _matrices(value: ArrayLike) -> Array:
    a = np.atleast_2d(np.asarray(value, dtype=np.float64))
    return a if a.ndim > 2 else a[None]


def _gain(name: str, value: Any, shape: tuple[int, int]) -> Array:
    if value is None:
        return np.zeros((1, *shape))
    a = _matrices(real(name, value))
    if a.shape[-2:] != shape:
        raise ValueError(f"{name} must have event shape {shape}, got {a.shape[-2:]}")
    return a


def _join_columns(left: Array, right: Array) -> Array:
    return np.concatenate(_same_length(left, right), axis=-1)


def _join_rows(top: Array, bottom: Array) -> Array:
    return np.concatenate(_same_length(top, bottom), axis=-2)


def _same_length(a: Array, b: Array) -> tuple[Array, Array]:
    try:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        lengths = f"{a.shape[-3]} and {b.shape[-3]}"
        raise ValueError(f"time axes of lengths {lengths} do not fit") from None
    return tuple(np.broadcast_to(x, lead + x.shape[-2:]) for x in (a, b))  # type: ignore[return-value]


def _padded(offset: ArrayLike, d: int, m: int) -> Array:
    a = np.asarray(offset, dtype=np.float64)
    a = np.full((1, d), float(a)) if a.ndim == 0 else np.atleast_2d(a)
    return np.concatenate([a, np.zeros((*a.shape[:-1], m))], axis=-1)
