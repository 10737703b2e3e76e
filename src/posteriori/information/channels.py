r"""Capacity of a discrete memoryless channel by the Blahut–Arimoto algorithm.

.. math:: C = \max_{p(x)} I[x, y],\qquad
          \sum_x p(x)\,D_x \;\le\; C \;\le\; \max_x D_x,\qquad
          D_x = KL(p(y\mid x)\,\|\,p(y)).

Each step multiplies p(x) by :math:`e^{D_x}`; the two bounds enclose the capacity at every step, so
the answer comes with a certificate.

Reference: R. Blahut, "Computation of channel capacity and rate-distortion functions", 1972.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from posteriori.information.entropies import Unit, size_of_unit
from posteriori.numerics.lazy import special
from posteriori.numerics.logspace import log_softmax
from posteriori.numerics.types import Array
from posteriori.numerics.validation import probability_vector
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["ChannelCapacity", "channel_capacity"]


class ChannelCapacity(NamedTuple):
    """Capacity of a channel and its certificate.

    Attributes
    ----------
    capacity : float
        Mutual information that ``input_distribution`` achieves: at most ``gap`` below the true
        capacity.
    gap : float
        Upper bound minus ``capacity``.
    input_distribution : (K,)
        Probabilities of the inputs.
    unit : {"nats", "bits"}
        Unit of ``capacity`` and ``gap``.
    n_iter : int
        Steps taken.
    converged : bool
        Whether the gap met the tolerance.
    """

    capacity: float
    gap: float
    input_distribution: Array
    unit: str
    n_iter: int
    converged: bool


def channel_capacity(
    transition: Any, *, unit: Unit = "bits", tol: float = 1e-10, max_iter: int = 100_000
) -> ChannelCapacity:
    """Return the capacity of a channel with known transition probabilities.

    Parameters
    ----------
    transition : array (K, M)
        p(y | x): row x holds the probabilities of the outputs for input x.
    unit : {"nats", "bits"}
        Unit of the answer.
    tol : float
        Largest gap between the bounds, in ``unit``.
    max_iter : int
        Most steps.

    Warns
    -----
    ConvergenceWarning
        When the gap is larger than ``tol``; the result states it.

    Notes
    -----
    Cost O(K M) per step. Steps are lengthened as long as the lower bound rises.

    Examples
    --------
    >>> found = channel_capacity([[0.9, 0.1], [0.1, 0.9]])  # 1 − H(0.1)
    >>> round(found.capacity, 9), found.gap < 1e-10
    (0.531004406, True)
    """
    rows = np.asarray(probability_vector("transition", transition))
    if rows.ndim != 2:
        raise ValueError(f"transition must be a matrix with a row per input, got {rows.shape}")
    size = size_of_unit(unit)
    log_p, low, high, n_iter = _climb(rows, tol * size, max_iter)
    gap = max(high - low, 0.0) / size
    if gap > tol:
        warnings.warn(
            f"the capacity is known within {gap:.3g} {unit} only after {n_iter} steps; "
            "raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    p = np.exp(log_p)
    return ChannelCapacity(max(low, 0.0) / size, gap, p / p.sum(), unit, n_iter, gap <= tol)


def _climb(rows: Array, tol: float, max_iter: int) -> tuple[Array, float, float, int]:
    log_p = np.full(len(rows), -np.log(len(rows)))
    gains = _gains(rows, log_p)
    low, high = _bounds(log_p, gains)
    stride, n_iter = 1.0, 0
    while high - low > tol and n_iter < max_iter:
        n_iter += 1
        trial = log_softmax(log_p + stride * gains)
        trial_gains = _gains(rows, trial)
        trial_low, trial_high = _bounds(trial, trial_gains)
        if trial_low < low and stride > 1.0:  # too long a step: the plain one never falls
            stride = 1.0
            continue
        log_p, gains, low, high = trial, trial_gains, trial_low, trial_high
        stride *= 1.3
    return log_p, low, high, n_iter


def _gains(rows: Array, log_p: Array) -> Array:
    """Return D_x = KL(p(y | x) ‖ p(y)) for every input."""
    outputs = np.exp(log_p) @ rows
    with np.errstate(divide="ignore"):
        log_outputs = np.where(outputs > 0, np.log(outputs), 0.0)
    return -special.entr(rows).sum(axis=1) - rows @ log_outputs


def _bounds(log_p: Array, gains: Array) -> tuple[float, float]:
    return float(np.exp(log_p) @ gains), float(gains.max())
