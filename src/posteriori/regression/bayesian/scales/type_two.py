r"""Hyper-parameters of highest evidence (type-II maximum likelihood, empirical Bayes).

Given :math:`\lambda = \alpha/\beta` the best noise precision is :math:`\beta = n/q(\lambda)`, so the
evidence is maximised over one number,

.. math:: L(\ln\lambda) = -\tfrac n2\Bigl(\ln\frac{2\pi q(\lambda)}n + 1\Bigr)
          + \tfrac12\sum_i\ln\frac\lambda{d_i^2+\lambda},

globally: a scan finds the highest peak and Newton's method finishes. MacKay's fixed point
:math:`\alpha \leftarrow \gamma/|m|^2,\ \beta \leftarrow (n-\gamma)/|y-Xm|^2` has the same stationary
points and comes to them slowly.

Reference: D. MacKay, "Bayesian interpolation", Neural Computation 4, 1992; C. Bishop, "Pattern
Recognition and Machine Learning", 2006, section 3.5.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning
from posteriori.regression.bayesian.scales.spectrum import Spectrum

__all__ = ["TypeTwo", "climb_by_fixed_point", "maximise_evidence", "profile_log_evidence"]

#: Step of the scan in ln λ, and how far beyond the eigenvalues it goes.
_STEP = 0.25

#: How far the scan goes below the least eigenvalue and above the largest, in ln λ.
_BELOW, _ABOVE = 30.0, 36.0

#: Steps at most, Newton’s and halvings of the bracket.
_MOST_NEWTON_STEPS = 100

#: Updates at most; then a warning names the other solver.
_MOST_FIXED_POINT_STEPS = 100_000


class TypeTwo(NamedTuple):
    """Hyper-parameters of highest evidence.

    Attributes
    ----------
    ratio : float
        λ = α/β; infinite where the evidence says that there is no signal.
    noise_precision : float
        β.
    log_evidence : float
    n_iter : int
    converged : bool
    """

    ratio: float
    noise_precision: float
    log_evidence: float
    n_iter: int
    converged: bool


def profile_log_evidence(spectrum: Spectrum, ratio: Array) -> Array:
    """Return ln p(y | λ, β) at the best β for each λ."""
    n = spectrum.rows
    fit = -0.5 * n * (LOG_2PI + np.log(spectrum.misfit(ratio) / n) + 1.0)
    return fit + spectrum.log_ratio(ratio) + spectrum.log_constant


def maximise_evidence(spectrum: Spectrum) -> TypeTwo:
    """Find the highest peak of the evidence by a scan and Newton's method."""
    if not spectrum.squares[0] > 0:
        return _finish(spectrum, np.inf, 1, True)
    seen = spectrum.squares[exceeds_rounding(spectrum.squares, spectrum.squares[0])]
    low, high = spectrum.log_ratios(
        np.log(seen[-1]) - _BELOW, np.log(seen[0] * max(spectrum.rows, 1.0)) + _ABOVE
    )
    scan = np.arange(low, high, _STEP)
    heights = profile_log_evidence(spectrum, np.exp(scan))
    best = int(np.argmax(heights))
    nothing = _finish(spectrum, np.inf, 1, True)
    if best == len(scan) - 1 or nothing.log_evidence >= heights[best]:
        return nothing
    left = float(scan[max(best - 1, 0)])
    t, n_iter = _newton(spectrum, left, float(scan[best + 1]))
    return _finish(spectrum, float(np.exp(t)), n_iter, True)


def climb_by_fixed_point(spectrum: Spectrum, tolerance: float = 1e-12) -> TypeTwo:
    """Climb the evidence by MacKay's updates from α = β = 1/var(y)."""
    ratio, n = 1.0, spectrum.rows
    for n_iter in range(1, _MOST_FIXED_POINT_STEPS + 1):
        gamma = float(spectrum.effective(ratio))
        along = np.sqrt(spectrum.squares) * spectrum.projections / (spectrum.squares + ratio)
        squares = float(along @ along)  # |m|²
        residual = float(spectrum.misfit(ratio)) - ratio * squares  # |y − Xm|²
        if not (squares > 0 and gamma < n):
            return _finish(spectrum, np.inf, n_iter, True)
        # α/β with α ← γ/|m|² and β ← (n − γ)/|y − Xm|²
        new = gamma / squares * residual / (n - gamma)
        change, ratio = abs(np.log(new / ratio)), new
        if change < tolerance:
            return _finish(spectrum, ratio, n_iter, True)
    warnings.warn(
        f"MacKay's updates still move after {n_iter} steps; use solver='newton'",
        ConvergenceWarning,
        stacklevel=2,
    )
    return _finish(spectrum, ratio, n_iter, False)


def _finish(spectrum: Spectrum, ratio: float, n_iter: int, converged: bool) -> TypeTwo:
    if np.isinf(ratio):  # all weights at the prior mean
        misfit, height = spectrum.rest + float(spectrum.projections @ spectrum.projections), 0.0
    else:
        misfit, height = float(spectrum.misfit(ratio)), float(spectrum.log_ratio(ratio))
    n = spectrum.rows
    height -= 0.5 * n * (LOG_2PI + np.log(misfit / n) + 1.0)
    return TypeTwo(ratio, n / misfit, float(height + spectrum.log_constant), n_iter, converged)


def _newton(spectrum: Spectrum, low: float, high: float) -> tuple[float, int]:
    """Return the maximum in [low, high], halving the bracket where Newton's step leaves it."""
    t = 0.5 * (low + high)
    for n_iter in range(1, _MOST_NEWTON_STEPS + 1):
        slope, curvature = _derivatives(spectrum, t)
        low, high = (t, high) if slope > 0 else (low, t)
        step = -slope / curvature if curvature < 0 else np.inf
        new = t + step if low < t + step < high else 0.5 * (low + high)
        if abs(new - t) <= 1e-15 * max(abs(t), 1.0) or not low < new < high:
            return new, n_iter
        t = new
    return t, n_iter


def _derivatives(spectrum: Spectrum, t: float) -> tuple[float, float]:
    """Return L′ and L″ at ln λ = t."""
    lam, d2, n = np.exp(t), spectrum.squares, spectrum.rows
    seen, hidden = d2 / (d2 + lam), lam / (d2 + lam)
    parts = spectrum.projections**2 * seen * hidden
    q = float(spectrum.misfit(lam))
    first, second = parts.sum() / q, (parts * (seen - hidden)).sum() / q  # q′/q and q″/q
    slope = -0.5 * n * first + 0.5 * seen.sum()
    curvature = -0.5 * n * (second - first**2) - 0.5 * (seen * hidden).sum()
    return float(slope), float(curvature)
