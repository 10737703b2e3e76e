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

from posteriori.numerics.compilation import compiled_beside, compiled_into
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
    x = np.sqrt(2.0 * nu) / length * np.asarray(steps, dtype=np.float64)  # λΔ
    # F/λ: a shift, with the binomial coefficients of (d/dt + 1)^D in the last row; F/λ + I is nilpotent
    drift = np.eye(size, k=1)
    drift[-1] = [-comb(size, k) for k in range(size)]
    nilpotent = drift + np.eye(size)
    powers = np.array([np.eye(size), nilpotent, 0.5 * nilpotent @ nilpotent])[:size]
    # e^{Fs} L = e^{−s} Σ_k s^k c_k, whose outer product is e^{−2s} Σ_k s^k C_k
    columns = powers[:, :, -1]
    products = np.zeros((2 * size - 1, size, size))
    for i in range(size):
        for j in range(size):
            products[i + j] += _POWER[nu] * np.outer(columns[i], columns[j])
    made = np.empty((len(x), size * size)), np.empty((len(x), size * size))
    longest = min(_BLOCK, len(x))
    faded, integrals = np.empty((longest, size)), np.empty((longest, 2 * size - 1))
    series = np.empty(longest)
    for start in range(
        0, len(x), _BLOCK
    ):  # what is kept for a while stays in the processor's cache
        here = slice(start, start + _BLOCK)
        count = len(x[here])
        _fill_steps(x[here], np.exp(-x[here]), _RECIPROCALS, series, faded, integrals)
        # A = e^{−x} Σ_k x^k A_k and Q = Σ_k C_k ∫₀ˣ s^k e^{−2s} ds
        np.matmul(faded[:count], powers.reshape(size, -1), out=made[0][here])
        np.matmul(integrals[:count], products.reshape(2 * size - 1, -1), out=made[1][here])
    step, noise = (each.reshape(-1, size, size) for each in made)
    return MaternChain(step, noise, _EQUILIBRIUM[nu])


#: Steps that are worked on together.
_BLOCK = 2048
#: Steps in units of 1/λ above which integration by parts loses no digits.
_LARGE = 2.0
#: Covariance of (f, f'/λ, f''/λ²) in equilibrium.
_EQUILIBRIUM = {
    0.5: np.eye(1),
    1.5: np.eye(2),
    2.5: np.array([[1.0, 0.0, -1 / 3], [0.0, 1 / 3, 0.0], [-1 / 3, 0.0, 1.0]]),
}
#: Spectral density of the white noise, so that f has variance 1: 2, 4, 16/3 (times λ).
_POWER = {0.5: 2.0, 1.5: 4.0, 2.5: 16.0 / 3.0}


#: 1, 1/2, 1/3, …
_RECIPROCALS = 1.0 / np.arange(1.0, 48.0)
#: Terms of a series that are less than this part of it add nothing.
_NOTHING = 1e-17


@compiled_beside
def _fill_steps(
    x: Array, fading: Array, reciprocals: Array, series: Array, faded: Array, integrals: Array
) -> None:
    """Fill in e^{−x} x^k for k < D, and ∫₀ˣ s^k e^{−2s} ds for k < 2D − 1, for every step."""
    size, top = faded.shape[1], integrals.shape[1] - 1
    _sum_series(x, top, reciprocals, series)
    for m in range(len(x)):
        step, grown = x[m], fading[m]
        for k in range(size):
            faded[m, k] = grown
            grown *= step
        grown = fading[m] * fading[m]
        for k in range(top + 1):  # x^k e^{−2x}
            integrals[m, k] = grown
            grown *= step
        if step > _LARGE:
            _integrate_upwards(step, fading[m] * fading[m], integrals[m])
            continue
        integral = grown * reciprocals[top] * series[m]
        for k in range(top, 0, -1):  # I_{k−1} = (2 I_k + x^k e^{−2x})/k: sums of positive terms
            before = integrals[m, k]
            integrals[m, k] = integral
            integral = (2.0 * integral + before) * reciprocals[k - 1]
        integrals[m, 0] = integral


@compiled_into
def _sum_series(x: Array, k: int, reciprocals: Array, series: Array) -> None:
    """I_k = x^{k+1} e^{−2x}/(k+1) times this: Σ_j (2x)^j / ((k+2)…(k+1+j)), from the last term on."""
    longest, terms, term = 0.0, 0, 1.0
    for m in range(len(x)):
        series[m] = 1.0
        longest = max(longest, x[m])
    while term > _NOTHING:
        terms += 1
        term *= 2.0 * min(longest, _LARGE) * reciprocals[k + terms]
    for j in range(terms, 0, -1):
        factor = 2.0 * reciprocals[k + j]
        for m in range(len(x)):
            series[m] = 1.0 + factor * x[m] * series[m]


@compiled_into
def _integrate_upwards(x: float, faded: float, integrals: Array) -> None:
    """I_k = (k I_{k−1} − x^k e^{−2x})/2, which loses no digits where x is large."""
    integrals[0] = 0.5 * (1.0 - faded)
    for k in range(1, len(integrals)):
        integrals[k] = 0.5 * (k * integrals[k - 1] - integrals[k])
