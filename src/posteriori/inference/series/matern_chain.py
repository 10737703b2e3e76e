r"""Matérn processes as chains: a Gaussian process over time at the cost of a filter.

.. math:: k(\tau) = \sigma^2\frac{2^{1-\nu}}{\Gamma(\nu)}(\lambda\tau)^\nu K_\nu(\lambda\tau), \qquad
          \lambda = \sqrt{2\nu}/\ell,

is the first entry of the state (f, f', …) of :math:`(d/dt + \lambda)^{\nu+1/2} f = w`, white noise. Over
a step Δ, :math:`A = e^{F\Delta}` and :math:`Q = P_\infty - AP_\infty A^\top`.

Reference: J. Hartikainen & S. Särkkä, "Kalman filtering and smoothing solutions to temporal Gaussian
process regression models", 2010.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["MaternChain", "matern_chain"]

#: Smoothness ν by the number of states.
_STATES = {0.5: 1, 1.5: 2, 2.5: 3}


class MaternChain(NamedTuple):
    """A Matérn process of variance 1 as a chain; the first state is its value.

    Attributes
    ----------
    transition : (M, D, D)
        Over each of M steps.
    noise_cov : (M, D, D)
    initial_cov : (D, D)
        In equilibrium.
    """

    transition: Array
    noise_cov: Array
    initial_cov: Array


def matern_chain(nu: float, length: float, steps: Array) -> MaternChain:
    """Return the chain of a Matérn process.

    Derivatives are measured in units of λ, so that all states have variances of the order of 1.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}
        Smoothness.
    length : float
        Length scale ℓ > 0.
    steps : (M,)
        Times Δ >= 0 between values.

    Examples
    --------
    >>> chain = matern_chain(0.5, 2.0, np.array([1.0]))
    >>> chain.transition.round(6), chain.noise_cov.round(6)  # exp(−Δ/ℓ), 1 − exp(−2Δ/ℓ)
    (array([[[0.606531]]]), array([[[0.632121]]]))
    """
    if nu not in _STATES:
        raise ValueError(
            f"nu must be 0.5, 1.5 or 2.5, got {nu!r}: these have a chain of few states"
        )
    if not (np.isfinite(length) and length > 0):
        raise ValueError(f"length must be positive and finite, got {length!r}")
    size = _STATES[nu]
    x = np.sqrt(2.0 * nu) / length * np.asarray(steps, dtype=np.float64)[:, None, None]  # λΔ
    # F/λ: a shift, with the binomial coefficients of (d/dt + 1)^D in the last row; F/λ + I is nilpotent
    drift = np.eye(size, k=1)
    drift[-1] = [-comb(size, k) for k in range(size)]
    nilpotent = drift + np.eye(size)
    powers = np.eye(size) + x * nilpotent + (0.5 * x * x) * (nilpotent @ nilpotent)
    transition = np.exp(-x) * powers
    initial = _EQUILIBRIUM[nu]
    noise = initial - transition @ initial @ np.swapaxes(transition, -1, -2)
    small = x[:, 0, 0] < _SMALL
    if small.any():  # else the difference has no digits left
        noise[small] = _noise_of_small_steps(nu, nilpotent, x[small])
    return MaternChain(transition, noise, initial)


#: Steps in units of 1/λ below which the noise is integrated instead of subtracted.
_SMALL = 0.5
#: Covariance of (f, f'/λ, f''/λ²) in equilibrium.
_EQUILIBRIUM = {
    0.5: np.eye(1),
    1.5: np.eye(2),
    2.5: np.array([[1.0, 0.0, -1 / 3], [0.0, 1 / 3, 0.0], [-1 / 3, 0.0, 1.0]]),
}
#: Spectral density of the white noise, so that f has variance 1: 2, 4, 16/3 (times λ).
_POWER = {0.5: 2.0, 1.5: 4.0, 2.5: 16.0 / 3.0}


def _noise_of_small_steps(nu: float, nilpotent: Array, x: Array) -> Array:
    """Q = q ∫₀^Δ e^{Fs} L Lᵀ e^{Fᵀs} ds by Gauss–Legendre: exact to rounding for short steps."""
    nodes, weights = np.polynomial.legendre.leggauss(10)
    s = 0.5 * x * (1.0 + nodes)  # (M, 1, 10)
    last = np.eye(len(nilpotent))[:, -1]
    first, second = nilpotent @ last, nilpotent @ nilpotent @ last
    shape = last[:, None] + first[:, None] * s + second[:, None] * (0.5 * s * s)
    column = np.exp(-s) * shape  # e^{Fs} L, (M, D, 10)
    return _POWER[nu] * np.einsum("mik,mjk,k->mij", column, column, weights) * (0.5 * x)
