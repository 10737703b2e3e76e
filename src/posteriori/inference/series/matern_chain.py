r"""Matérn processes as chains: a Gaussian process over time at the cost of a filter.

.. math:: k(\tau) = \sigma^2\frac{2^{1-\nu}}{\Gamma(\nu)}(\lambda\tau)^\nu K_\nu(\lambda\tau), \qquad
          \lambda = \sqrt{2\nu}/\ell,

is the first entry of the state (f, f', …) of :math:`(d/dt + \lambda)^{\nu+1/2} f = w`, white noise. Over
a step Δ, :math:`A = e^{F\Delta}` and :math:`Q = P_\infty - AP_\infty A^\top`. Moments
of the state after a step move with it as in time, :math:`dm = Fm\,d\Delta` and :math:`dP = (FP + PF^\top + W)\,d\Delta`.

Reference: J. Hartikainen & S. Särkkä, "Kalman filtering and smoothing solutions to temporal Gaussian
process regression models", 2010.
"""

from __future__ import annotations

from functools import cache
from math import comb, exp
from typing import NamedTuple

import numpy as np

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array

__all__ = [
    "MaternChain",
    "MaternMotion",
    "RECIPROCALS",
    "integrate_powers",
    "matern_chain",
    "matern_motion",
    "matern_rate",
    "step_coefficients",
]

#: Number of states by smoothness ν.
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


class MaternMotion(NamedTuple):
    """How the states of a Matérn process of variance 1 move, in units of time of 1/λ.

    Attributes
    ----------
    drift : (D, D)
        F.
    diffusion : (D, D)
        W, what noise adds to the covariance.
    initial_cov : (D, D)
        P in equilibrium: FP + PFᵀ + W = 0.
    """

    drift: Array
    diffusion: Array
    initial_cov: Array


@cache
def matern_motion(nu: float) -> MaternMotion:
    """Return the equation that a Matérn process of smoothness ν obeys.

    Derivatives are measured in units of λ, so that all states have variances of the order of 1.

    Examples
    --------
    >>> motion = matern_motion(1.5)
    >>> motion.drift, motion.diffusion
    (array([[ 0.,  1.],
           [-1., -2.]]), array([[0., 0.],
           [0., 4.]]))
    """
    if nu not in _STATES:
        raise ValueError(
            f"nu must be 0.5, 1.5 or 2.5, got {nu!r}: these have a chain of few states"
        )
    size = _STATES[nu]
    # a shift, with the binomial coefficients of (d/dt + 1)^D in the last row
    drift = np.eye(size, k=1)
    drift[-1] = [-comb(size, k) for k in range(size)]
    diffusion = np.zeros((size, size))
    diffusion[-1, -1] = _POWER[nu]
    return MaternMotion(drift, diffusion, _EQUILIBRIUM[nu])


def matern_rate(nu: float, length: float) -> float:
    """Return λ of a length scale ℓ > 0."""
    if not (np.isfinite(length) and length > 0):
        raise ValueError(f"length must be positive and finite, got {length!r}")
    return float(np.sqrt(2.0 * nu) / length)


def matern_chain(
    nu: float, length: float, steps: Array, workspace: Array | None = None
) -> MaternChain:
    """Return the chain of a Matérn process.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}
        Smoothness.
    length : float
        Length scale ℓ > 0.
    steps : (M,)
        Times Δ >= 0 between values.
    workspace : (2, >= M, D²), optional
        Where transitions and covariances are kept: memory that is new costs more than they do.

    Examples
    --------
    >>> chain = matern_chain(0.5, 2.0, np.array([1.0]))
    >>> chain.transition.round(6), chain.noise_cov.round(6)  # exp(−Δ/ℓ), 1 − exp(−2Δ/ℓ)
    (array([[[0.606531]]]), array([[[0.632121]]]))
    """
    powers, products = step_coefficients(nu)
    x = matern_rate(nu, length) * np.asarray(steps, dtype=np.float64)  # λΔ
    size = _STATES[nu]
    transition, noise = (np.empty((2, len(x), size * size)) if workspace is None else workspace)[
        :, : len(x)
    ]
    _fill_steps(x, RECIPROCALS, powers, products, np.empty((_TOP + 4, _BLOCK)), transition, noise)
    shape = len(x), size, size
    return MaternChain(transition.reshape(shape), noise.reshape(shape), _EQUILIBRIUM[nu])


@cache
def step_coefficients(nu: float) -> tuple[Array, Array]:
    """Return A_k of A = e^{−x} Σ_k x^k A_k, (D, D²), and C_k of Q = Σ_k C_k ∫₀ˣ s^k e^{−2s} ds, (2D − 1, D²)."""
    motion = matern_motion(nu)
    size = len(motion.drift)
    nilpotent = motion.drift + np.eye(size)
    powers = np.array([np.eye(size), nilpotent, 0.5 * nilpotent @ nilpotent])[:size]
    # the last column of e^{Fs} is e^{−s} Σ_k s^k c_k, whose outer product is e^{−2s} Σ_k s^k C_k
    columns = powers[:, :, -1]
    products = np.zeros((2 * size - 1, size, size))
    for i in range(size):
        for j in range(size):
            products[i + j] += motion.diffusion[-1, -1] * np.outer(columns[i], columns[j])
    padded = np.zeros((3, size * size)), np.zeros((_TOP + 1, size * size))
    padded[0][:size], padded[1][: 2 * size - 1] = (
        powers.reshape(size, -1),
        products.reshape(2 * size - 1, -1),
    )
    return padded


#: Steps that are worked on together.
_BLOCK = 1024
#: Highest power in the integrals of three states.
_TOP = 4
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
RECIPROCALS = 1.0 / np.arange(1.0, 48.0)
#: Terms of a series that are less than this part of it add nothing.
_NOTHING = 1e-17


@kernel(allocates=False)
def _fill_steps(
    x: Array,
    reciprocals: Array,
    powers: Array,
    products: Array,
    work: Array,
    transition: Array,
    noise: Array,
) -> None:
    """Fill in A and Q of every step, (M, D²); ``work`` has room for 8 rows."""
    for start in range(0, len(x), work.shape[1]):  # what is kept for a while stays in the cache
        here = x[start : start + work.shape[1]]
        steps, fading = len(here), work[_TOP + 3]
        for m in range(steps):
            fading[m] = exp(-here[m])
        integrate_powers(here, fading, _TOP, reciprocals, work)
        for e in range(powers.shape[1]):
            a, b, c = powers[0, e], powers[1, e], powers[2, e]
            for m in range(steps):
                transition[start + m, e] = (a + here[m] * (b + here[m] * c)) * fading[m]
            a, b, c = products[0, e], products[1, e], products[2, e]
            d, f = products[3, e], products[4, e]
            for m in range(steps):
                low = a * work[0, m] + b * work[1, m] + c * work[2, m]
                noise[start + m, e] = low + d * work[3, m] + f * work[4, m]


@kernel(called="inlined")
def integrate_powers(
    x: Array, fading: Array, top: int, reciprocals: Array, integrals: Array
) -> None:
    """Fill in ∫₀ˣ s^k e^{−2s} ds for k <= ``top``, row by row; two further rows are room to work in."""
    steps = len(x)
    grown, series = integrals[top + 1], integrals[top + 2]
    longest = _sum_series(x, top, reciprocals, series)
    for m in range(steps):  # x^k e^{−2x}
        integrals[0, m] = fading[m] * fading[m]
    for k in range(top):
        for m in range(steps):
            integrals[k + 1, m] = integrals[k, m] * x[m]
    for m in range(steps):
        grown[m] = integrals[top, m] * x[m] * reciprocals[top] * series[m]  # I_top
    for k in range(top, 0, -1):  # I_{k−1} = (2 I_k + x^k e^{−2x})/k: sums of positive terms
        for m in range(steps):
            before = integrals[k, m]
            integrals[k, m] = grown[m]
            grown[m] = (2.0 * grown[m] + before) * reciprocals[k - 1]
    for m in range(steps):
        integrals[0, m] = grown[m]
    if longest > _LARGE:
        for m in range(steps):
            if x[m] > _LARGE:
                _integrate_upwards(x[m], fading[m] * fading[m], top, integrals, m)


@kernel(called="inlined")
def _sum_series(x: Array, k: int, reciprocals: Array, series: Array) -> float:
    """I_k = x^{k+1} e^{−2x}/(k+1) times this: Σ_j (2x)^j / ((k+2)…(k+1+j)), from the last term on.

    Returns the longest step; the series is that of steps up to ``_LARGE``.
    """
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
    return longest


@kernel(called="inlined")
def _integrate_upwards(x: float, faded: float, top: int, integrals: Array, m: int) -> None:
    """I_k = (k I_{k−1} − x^k e^{−2x})/2, which loses no digits where x is large."""
    grown = faded
    integrals[0, m] = 0.5 * (1.0 - faded)
    for k in range(1, top + 1):
        grown *= x
        integrals[k, m] = 0.5 * (k * integrals[k - 1, m] - grown)
