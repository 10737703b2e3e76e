r"""Matérn processes as chains: a Gaussian process over time at the cost of a filter.

.. math:: k(\tau) = \sigma^2\frac{2^{1-\nu}}{\Gamma(\nu)}(\lambda\tau)^\nu K_\nu(\lambda\tau), \qquad
          \lambda = \sqrt{2\nu}/\ell,

is the first entry of the state (f, f', …) of :math:`(d/dt + \lambda)^{\nu+1/2} f = w`, white noise. Over
a step Δ, :math:`A = e^{F\Delta}` and :math:`Q = P_\infty - AP_\infty A^\top`.

Reference: J. Hartikainen & S. Särkkä, "Kalman filtering and smoothing solutions to temporal Gaussian
process regression models", 2010.
"""

from __future__ import annotations

import math
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
    made = np.empty((len(x), size, size)), np.empty((len(x), size, size))
    _fill_steps(x, powers, products, *made)
    return MaternChain(*made, _EQUILIBRIUM[nu])


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


@compiled_beside
def _fill_steps(x: Array, powers: Array, products: Array, transition: Array, noise: Array) -> None:
    """A = e^{−x} Σ_k x^k A_k and Q = Σ_k C_k ∫₀ˣ s^k e^{−2s} ds, for every step."""
    size, top = len(powers), len(products) - 1
    for m in range(len(x)):
        step, faded = x[m], math.exp(-x[m])
        for i in range(size):
            for j in range(size):
                transition[m, i, j] = noise[m, i, j] = 0.0
        grown = faded
        for k in range(size):
            for i in range(size):
                for j in range(size):
                    transition[m, i, j] += grown * powers[k, i, j]
            grown *= step
        grown = faded * faded  # x^k e^{−2x}
        for _ in range(top):
            grown *= step
        integral = _integrate_power(step, grown, faded * faded, top)
        for k in range(top, -1, -1):
            for i in range(size):
                for j in range(size):
                    noise[m, i, j] += integral * products[k, i, j]
            if k > 0:  # I_{k−1} = (2 I_k + x^k e^{−2x})/k: sums of positive terms
                integral = (2.0 * integral + grown) / k
                grown = grown / step if step > 0.0 else 0.0


@compiled_into
def _integrate_power(x: float, grown: float, faded: float, k: int) -> float:
    """∫₀ˣ s^k e^{−2s} ds = x^{k+1} e^{−2x} Σ_j (2x)^j / ((k+1)…(k+1+j)), or by parts where x is large."""
    if x > _LARGE:
        integral, power = 0.5 * (1.0 - faded), 1.0
        for i in range(1, k + 1):
            power *= x
            integral = 0.5 * (i * integral - power * faded)
        return integral
    term = grown * x / (k + 1.0)
    total, j = term, k + 1
    while term > 1e-17 * total:
        j += 1
        term *= 2.0 * x / j
        total += term
    return total
