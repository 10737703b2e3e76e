r"""Compiled passes over a chain whose covariances hold for several series at once, forward and back.

Columns are series that are seen through the same chain, each around 0; what the pass forward gathers of
them is :math:`\sum_t\ln F_t` and :math:`V^\top F^{-1}V`. The pass back follows the slope r and the
curvature −N of the log-likelihood of later values in the state, and with them how it moves with all that
the chain is made of:

.. math:: G = \sum_c r_cr_c^\top - QN,\qquad
   \frac{\partial}{\partial Q_t} = \tfrac12 G,\qquad
   \frac{\partial}{\partial h_t} = \tfrac12\Big(\sum_c u_c^2 - QD\Big),\qquad
   \frac{\partial}{\partial z_t} = \sum_c u_c\hat m_c - QP(Dz - Nk).

If every step takes a little longer, means move as :math:`dm = Fm` and covariances as
:math:`dP = FP + PF^\top + W`, so that the log-likelihood moves by :math:`\mathrm{tr}\,F\sum_c m_cr_c^\top +
\mathrm{tr}\,FPG + \tfrac12\mathrm{tr}\,WG`, with moments as they are after the step.

Reference: S. J. Koopman & N. Shephard, "Exact score for time series models in state space form", 1992.
"""

from __future__ import annotations

from math import log, nan

from posteriori.inference.series.scalar_recursions import multiply, sandwich, step_columns
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["gather_forward", "slope_backward"]


@kernel(allocates=False)
def gather_forward(
    emission: Array,
    rows: IntArray,
    columns: IntArray,
    weights: Array,
    noise_rows: IntArray,
    noise_columns: IntArray,
    noise_parts: IntArray,
    noise_weights: Array,
    variances: Array,
    variance: Array,
    series: Array,
    seen: int,
    mean: Array,
    cov: Array,
    work: Array,
    moments: Array,
    means: Array,
    covs: Array,
) -> float:
    """Turn the state (D, C), (D, D) before the first step into that after the last; return Σ ln F, or NaN.

    The first ``seen`` of the values (T, C) are there, with noise ``variance``. To ``moments`` is added
    VᵀF⁻¹V, its lower half; where there is room, ``means`` and ``covs`` keep the states before each value.
    """
    size, many = mean.shape
    gain, errors = work[0, :size], work[1]
    log_volume = 0.0
    for t in range(len(series)):
        if len(covs) > 0:
            _copy(mean, means[t])
            _copy(cov, covs[t])
        if t < seen:
            z = emission[t if len(emission) > 1 else 0]
            multiply(cov, z, gain)
            spread = variance[t]
            for i in range(size):
                spread += z[i] * gain[i]  # F = zᵀPz + h
            if not spread > 0.0:
                return nan
            log_volume += log(spread)
            share = 1.0 / spread
            for c in range(many):
                errors[c] = series[t, c]
                for i in range(size):
                    errors[c] -= z[i] * mean[i, c]  # v = y − zᵀm
                for d in range(c + 1):
                    moments[c, d] += errors[c] * errors[d] * share
            for i in range(size):
                k = gain[i] * share  # k = Pz/F
                for c in range(many):
                    mean[i, c] += k * errors[c]
                for j in range(size):
                    cov[i, j] -= k * gain[j]
            _keep_digits(z, variance[t] * share, gain, cov)
        if t < len(series) - 1:
            step_columns(rows, columns, weights[t], mean, work)
            sandwich(rows, columns, weights[t], cov, work)
            for i in range(size):  # no variance is negative, whatever rounding says
                cov[i, i] = max(cov[i, i], 0.0)
            for e in range(len(noise_rows)):  # P ← TPTᵀ + Q
                added = noise_weights[t, e] * variances[noise_parts[e]]
                cov[noise_rows[e], noise_columns[e]] += added
    return log_volume


@kernel(allocates=False)
def slope_backward(
    emission: Array,
    rows: IntArray,
    columns: IntArray,
    weights: Array,
    noise_rows: IntArray,
    noise_columns: IntArray,
    noise_parts: IntArray,
    noise_weights: Array,
    variance: Array,
    series: Array,
    seen: int,
    gaps: Array,
    outputs: float,
    means: Array,
    covs: Array,
    pull: Array,
    precision: Array,
    work: Array,
    total: Array,
    of_noise: Array,
    of_parts: Array,
    of_emission: Array,
    drift: Array,
    diffusion: Array,
) -> None:
    """Turn r (D, C) and N (D, D) before the value after the last step into those before the first.

    ``means`` and ``covs`` are those of the pass forward. Filled in are slopes in the noise (T,) and, where
    there is room, in the emission (T, D); added are those in variances of parts (P,), and of longer steps:
    to ``drift`` Σ Δ(Σ mrᵀ + PG) and to ``diffusion`` Σ ΔG.
    """
    for t in range(len(series) - 1, -1, -1):
        if t < seen:
            z = emission[t if len(emission) > 1 else 0]
            held = _absorb(
                z,
                variance[t],
                series[t],
                outputs,
                means[t],
                covs[t],
                pull,
                precision,
                work,
                of_noise,
                t,
            )
            if len(of_emission) > 0:
                _look(z, held, outputs, means[t], covs[t], pull, work, of_emission[t])
        if t > 0:
            _sum_squares(pull, precision, outputs, total)
            _lengthen(gaps[t - 1], means[t], covs[t], pull, total, drift, diffusion)
            for e in range(len(noise_rows)):
                slope = total[noise_rows[e], noise_columns[e]]
                of_parts[noise_parts[e]] += 0.5 * noise_weights[t - 1, e] * slope
            step_columns(columns, rows, weights[t - 1], pull, work)  # r ← Tᵀr
            sandwich(columns, rows, weights[t - 1], precision, work)  # N ← TᵀNT


@kernel(called="inlined")
def _absorb(
    z: Array,
    variance: float,
    values: Array,
    outputs: float,
    mean: Array,
    cov: Array,
    pull: Array,
    precision: Array,
    work: Array,
    of_noise: Array,
    t: int,
) -> float:
    """Go back over values: r ← r + z u with u = v/F − kᵀr, N likewise; return D, leave Nk and u behind."""
    size, many = pull.shape
    across, errors, gain = work[0, :size], work[1], work[2, :size]
    multiply(cov, z, gain)
    spread = variance
    for i in range(size):
        spread += z[i] * gain[i]
    held = 1.0 / spread
    for i in range(size):
        gain[i] *= 1.0 / spread
    multiply(precision, gain, across)
    for i in range(size):
        held += gain[i] * across[i]  # D = 1/F + kᵀNk
    squares = 0.0
    for c in range(many):
        error = values[c]
        for i in range(size):
            error -= z[i] * mean[i, c]
        error /= spread
        for i in range(size):
            error -= gain[i] * pull[i, c]
        for i in range(size):
            pull[i, c] += z[i] * error
        errors[c] = error
        squares += error * error
    of_noise[t] = 0.5 * (squares - outputs * held)
    for i in range(size):  # N ← (I − zkᵀ)N(I − kzᵀ) + zzᵀ/F
        for j in range(size):
            precision[i, j] += z[i] * (held * z[j] - across[j]) - across[i] * z[j]
    return held


@kernel(called="inlined")
def _look(
    z: Array,
    held: float,
    outputs: float,
    mean: Array,
    cov: Array,
    pull: Array,
    work: Array,
    slope: Array,
) -> None:
    """Σ u m̂ − QP(Dz − Nk), with m̂ = m + Pr."""
    size, many = pull.shape
    across, errors, towards = work[0, :size], work[1], work[2, :size]
    for j in range(size):
        towards[j] = -outputs * (held * z[j] - across[j])
        for c in range(many):
            towards[j] += errors[c] * pull[j, c]
    multiply(cov, towards, slope)
    for i in range(size):
        for c in range(many):
            slope[i] += errors[c] * mean[i, c]


@kernel(called="inlined")
def _sum_squares(pull: Array, precision: Array, outputs: float, total: Array) -> None:
    """G = Σ rrᵀ − QN."""
    size, many = pull.shape
    for i in range(size):
        for j in range(size):
            total[i, j] = -outputs * precision[i, j]
            for c in range(many):
                total[i, j] += pull[i, c] * pull[j, c]


@kernel(called="inlined")
def _lengthen(
    gap: float,
    mean: Array,
    cov: Array,
    pull: Array,
    total: Array,
    drift: Array,
    diffusion: Array,
) -> None:
    """Add what a step that takes longer would change."""
    size, many = pull.shape
    for i in range(size):
        for j in range(size):
            moved = 0.0
            for c in range(many):
                moved += mean[i, c] * pull[j, c]
            for k in range(size):
                moved += cov[i, k] * total[k, j]
            drift[i, j] += gap * moved
            diffusion[i, j] += gap * total[i, j]


@kernel(called="inlined")
def _keep_digits(z: Array, left: float, gain: Array, cov: Array) -> None:
    """Where one state is seen, what is left of its covariances is Ph/F: a difference would lose digits."""
    seen, alone = 0, 0
    for i in range(len(z)):
        if z[i] != 0.0:
            seen, alone = seen + 1, i
    if seen == 1:
        for j in range(len(z)):
            cov[alone, j] = cov[j, alone] = left * gain[j] / z[alone]


@kernel(called="inlined")
def _copy(matrix: Array, room: Array) -> None:
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            room[i, j] = matrix[i, j]
