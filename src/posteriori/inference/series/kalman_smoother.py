r"""The smoother of a chain that is seen through one number a step, compiled, and slopes in all that it is made of.

The pass back follows the slope r and the curvature −N of the log-likelihood of later values in the state, and with
them how it moves with all that the chain is made of, where the volume counts Q times:

.. math:: G = \sum_c r_cr_c^\top - QN,\qquad
   \frac{\partial}{\partial Q_t} = \tfrac12 G,\qquad
   \frac{\partial}{\partial h_t} = \tfrac12\Big(\sum_c u_c^2 - QD\Big),\qquad
   \frac{\partial}{\partial z_t} = \sum_c u_c\hat m_c - QP(Dz - Nk).

If every step takes a little longer, means move as :math:`dm = Fm` and covariances as
:math:`dP = FP + PF^\top + W`, so that the log-likelihood moves by :math:`\mathrm{tr}\,F\sum_c m_cr_c^\top +
\mathrm{tr}\,FPG + \tfrac12\mathrm{tr}\,WG`, with moments as they are after the step.

References: J. Durbin & S. J. Koopman, "Time series analysis by state space methods", 2012, ch. 4–5; S. J. Koopman &
N. Shephard, "Exact score for time series models in state space form", 1992.
"""

from __future__ import annotations

from typing import NamedTuple

from posteriori.inference.series.kalman_filter import (
    Dynamics,
    Predicted,
    multiply,
    sandwich,
    step_columns,
)
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array

__all__ = ["Later", "NoiseSums", "Slopes", "smooth_series_backward"]


class Later(NamedTuple):
    """Slope r (D, C) and curvature N (D, D) of later values in the state, and workspaces, one of zeros."""

    pull: Array
    precision: Array
    work: Array
    zeros: Array


class NoiseSums(NamedTuple):
    """What the pass back adds up.

    Attributes
    ----------
    fit, complexity : (P,)
        By part, the first that of values: twice the slope of the likelihood is their difference.
    seen_variances : (T, V or 0)
        Variances of views, which become those given all values, as what was seen does.
    """

    fit: Array
    complexity: Array
    seen_variances: Array


class Slopes(NamedTuple):
    """Slopes in all that a chain is made of.

    Attributes
    ----------
    noise, emission : (T,), (T or 0, D)
        In h, and in z where there is room for it.
    gaps : (T − 1,)
        Times Δ of the steps.
    drift, diffusion : (D, D)
        Added are Σ Δ(Σ mrᵀ + PG) and Σ ΔG.
    """

    noise: Array
    emission: Array
    gaps: Array
    drift: Array
    diffusion: Array


@kernel(allocates=False)
def smooth_series_backward(
    chain: Dynamics,
    series: Array,
    filtered: Predicted,
    targets: int,
    outputs: float,
    later: Later,
    sums: NoiseSums,
    slopes: Slopes | None,
) -> None:
    """Turn what values after the last say of the state into what all values say.

    Columns from ``targets`` on belong to start values, whitened; volumes count ``outputs`` times. Where slopes are
    asked for, the pass forward has kept the states themselves, and slopes in parts stand whole in ``fit``.
    """
    steps = len(series)
    for t in range(steps - 1, -1, -1):
        if t < steps - 1:
            if slopes is not None:
                mean, cov = filtered.seen[t + 1], filtered.reaches[t + 1]
                _add_slopes(chain, t, mean, cov, outputs, later, sums.fit, slopes)
            else:
                _add_sums(chain, t, targets, outputs, later, sums)
            weights = chain.weights[t if len(chain.weights) > 1 else 0]
            step_columns(chain.columns, chain.rows, weights, later.pull, later.zeros)  # r ← Tᵀr
            sandwich(chain.columns, chain.rows, weights, later.precision, later.zeros)  # N ← TᵀNT
        if series[t, 0] == series[t, 0]:
            z = chain.emission[t if len(chain.emission) > 1 else 0]
            innovation, spread = filtered.innovations[t], filtered.spreads[t]
            held = _absorb(z, innovation, spread, filtered.gains[t], later)
            slope = _add_noise(held, targets, outputs, later, sums.fit, sums.complexity)
            if slopes is not None:
                slopes.noise[t] = slope
                if len(slopes.emission) > 0:
                    mean, cov = filtered.seen[t], filtered.reaches[t]
                    _lean(z, held, outputs, mean, cov, later, slopes.emission[t])
        for v in range(sums.seen_variances.shape[1]):
            _correct(filtered.reaches[t, v], later, filtered.seen[t, v], sums.seen_variances[t], v)


@kernel(called="inlined")
def _absorb(z: Array, innovation: Array, spread: float, gain: Array, later: Later) -> float:
    """Go back over values: r ← r + zu with u = v/F − kᵀr, N likewise; return D, leave Nk and u in the workspace."""
    pull, precision = later.pull, later.precision
    across, errors = later.work[0], later.work[1]
    size, many = pull.shape
    multiply(precision, gain, across)
    held = 1.0 / spread
    for i in range(size):
        held += gain[i] * across[i]  # D = 1/F + kᵀNk
    for c in range(many):
        errors[c] = innovation[c] / spread
    for i in range(size):
        for c in range(many):
            errors[c] -= gain[i] * pull[i, c]
    for i in range(size):  # N ← (I − zkᵀ)N(I − kzᵀ) + zzᵀ/F
        if z[i] != 0.0:
            for c in range(many):
                pull[i, c] += z[i] * errors[c]
            for j in range(size):
                precision[i, j] += z[i] * (held * z[j] - across[j])
                precision[j, i] -= across[j] * z[i]
    return held


@kernel(called="inlined")
def _add_noise(
    held: float, targets: int, outputs: float, later: Later, fit: Array, complexity: Array
) -> float:
    """Add what the noise of a value does, Σ u² and QD less Σ u² of start values; return the slope in h."""
    errors = later.work[1]
    square, volume = 0.0, outputs * held
    for c in range(targets):
        square += errors[c] * errors[c]
    for c in range(targets, later.pull.shape[1]):
        volume -= errors[c] * errors[c]
    fit[0] += square
    complexity[0] += volume
    return 0.5 * (square - volume)


@kernel(called="inlined")
def _add_sums(
    chain: Dynamics, t: int, targets: int, outputs: float, later: Later, sums: NoiseSums
) -> None:
    """Add what the noise of a step does: Σ rrᵀ, and QN less Σ rrᵀ of start values."""
    pull = later.pull
    noise = chain.noise_weights[t if len(chain.noise_weights) > 1 else 0]
    for e in range(len(chain.noise_rows)):
        i, j, part = chain.noise_rows[e], chain.noise_columns[e], chain.noise_parts[e]
        square, volume = 0.0, outputs * later.precision[i, j]
        for c in range(targets):
            square += pull[i, c] * pull[j, c]
        for c in range(targets, pull.shape[1]):
            volume -= pull[i, c] * pull[j, c]
        sums.fit[part] += noise[e] * square
        sums.complexity[part] += noise[e] * volume


@kernel(called="inlined")
def _add_slopes(
    chain: Dynamics,
    t: int,
    mean: Array,
    cov: Array,
    outputs: float,
    later: Later,
    fit: Array,
    slopes: Slopes,
) -> None:
    """Add G = Σ rrᵀ − QN of the noise of a step, and what the step would change if it took longer."""
    pull, total, gap = later.pull, later.work, slopes.gaps[t]
    size, many = pull.shape
    for i in range(size):
        for j in range(size):
            total[i, j] = -outputs * later.precision[i, j]
            for c in range(many):
                total[i, j] += pull[i, c] * pull[j, c]
    for i in range(size):
        for j in range(size):
            slopes.diffusion[i, j] += gap * total[i, j]
            for c in range(many):
                slopes.drift[i, j] += gap * mean[i, c] * pull[j, c]
        for k in range(size):
            weight = gap * cov[i, k]
            for j in range(size):
                slopes.drift[i, j] += weight * total[k, j]
    noise = chain.noise_weights[t if len(chain.noise_weights) > 1 else 0]
    for e in range(len(chain.noise_rows)):
        slope = total[chain.noise_rows[e], chain.noise_columns[e]]
        fit[chain.noise_parts[e]] += noise[e] * slope


@kernel(called="inlined")
def _lean(
    z: Array,
    held: float,
    outputs: float,
    mean: Array,
    cov: Array,
    later: Later,
    slope: Array,
) -> None:
    """Fill in the slope in the emission, Σ u m̂ − QP(Dz − Nk) with m̂ = m + Pr."""
    pull, across, errors, towards = later.pull, later.work[0], later.work[1], later.work[2]
    size, many = pull.shape
    for j in range(size):
        towards[j] = -outputs * (held * z[j] - across[j])
        for c in range(many):
            towards[j] += errors[c] * pull[j, c]
    for i in range(size):
        slope[i] = 0.0
        for j in range(size):
            slope[i] += cov[i, j] * towards[j]
        for c in range(many):
            slope[i] += errors[c] * mean[i, c]


@kernel(called="inlined")
def _correct(reach: Array, later: Later, seen: Array, variances: Array, v: int) -> None:
    """Add to a mean Pr, take from its variance PNP, and add what unknown start values leave open."""
    pull, precision = later.pull, later.precision
    size, many = pull.shape
    for i in range(size):
        for j in range(size):
            variances[v] -= reach[i] * precision[i, j] * reach[j]
    for c in range(many):
        for i in range(size):
            seen[c] += reach[i] * pull[i, c]
        if c > 0:
            variances[v] += seen[c] * seen[c]
