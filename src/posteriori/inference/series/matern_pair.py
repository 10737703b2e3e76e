r"""A Matérn process of smoothness 3/2 in one compiled pass: its two states are written out.

The passes take the same steps as the filter and the smoother of the same folder. Transitions are
made where they are needed, from :math:`e^{-x}` and the integrals of each step :math:`x = \lambda\Delta`, in blocks that
stay in the processor's cache; on the way back each block is filtered once more from its first state.
"""

from __future__ import annotations

from math import exp, log, nan
from typing import NamedTuple

import numpy as np

from posteriori.inference.series.column_chain import ColumnSlopes, GatheredColumns, require_density
from posteriori.inference.series.matern_chain import (
    RECIPROCALS,
    integrate_powers,
    step_coefficients,
)
from posteriori.numerics.compilation import as_kernel_input, kernel
from posteriori.numerics.types import Array

__all__ = ["PAIR", "MaternPair"]

#: Smoothness of a process with two states.
PAIR = 1.5
#: Steps of a block.
_BLOCK = 1024
#: Products are taken into logarithms beyond these.
_SMALL, _GREAT = 1e-150, 1e150


class MaternPair(NamedTuple):
    """A Matérn process of smoothness 3/2, times a known function, and the noise through which series are seen.

    Attributes
    ----------
    rate : float
        λ.
    variance : float
    emission : (1,) or (T,)
        What the process is multiplied by.
    noise : (T,)
        h.
    times : (T,)
        Sorted.
    """

    rate: float
    variance: float
    emission: Array
    noise: Array
    times: Array

    def gather(self, series: Array) -> GatheredColumns:
        """Return what series (T, C) say, as :meth:`ColumnChain.gather` does."""
        many, blocks = series.shape[1], -(-len(series) // _BLOCK)
        means, covs = np.zeros((blocks + 1, 2, many)), np.zeros((blocks + 1, 2, 2))
        covs[0] = self.variance * np.eye(2)
        moments = np.zeros((many, many))
        log_volume = _gather_blocks(*self._steps(series), moments, means, covs)
        require_density(log_volume)
        return GatheredColumns(log_volume, moments + np.tril(moments, -1).T, means, covs)

    def slopes(self, series: Array, gathered: GatheredColumns, outputs: int) -> ColumnSlopes:
        """Return slopes, as :meth:`ColumnChain.slopes` does."""
        many = series.shape[1]
        of_noise, parts = np.empty(len(series)), np.zeros(2)
        states = gathered.means.copy(), gathered.covs.copy(), np.zeros((many, many))
        total, drift, diffusion = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2))
        kept = np.zeros((2, many)), total, of_noise, drift, diffusion
        slope = _slope_blocks(*self._steps(series), float(outputs), *states, *kept)
        parts[1] = slope / self.variance + 0.5 * float(total.trace())
        longer = drift / self.rate, diffusion / self.rate
        return ColumnSlopes(of_noise, parts, np.empty((0, 2)), *longer)

    def _steps(
        self, series: Array
    ) -> tuple[Array, float, Array, Array, Array, Array, Array, Array, Array]:
        """Return what both passes take first: how steps are made, room to work, and what is seen."""
        powers, products = step_coefficients(PAIR)
        work = np.empty((7 + 3 + 2 * series.shape[1], _BLOCK + 1))
        made = powers, self.variance * products, RECIPROCALS, work
        seen = as_kernel_input(self.emission), as_kernel_input(self.noise), as_kernel_input(series)
        return as_kernel_input(self.times), self.rate, *made, *seen


@kernel(sums="fused", allocates=False)
def _gather_blocks(
    times: Array,
    rate: float,
    powers: Array,
    products: Array,
    reciprocals: Array,
    work: Array,
    emission: Array,
    variance: Array,
    series: Array,
    moments: Array,
    means: Array,
    covs: Array,
) -> float:
    """Fill in the states before each block, from those before the first; return Σ ln F, add VᵀF⁻¹V."""
    log_volume, width = 0.0, work.shape[1] - 1
    for block in range(len(means) - 1):
        start = block * width
        stop = min(start + width, len(times))
        _fill_steps(times[start : stop + 1], rate, reciprocals, work)
        for c in range(series.shape[1]):
            means[block + 1, 0, c], means[block + 1, 1, c] = means[block, 0, c], means[block, 1, c]
        covs[block + 1, 0, 0], covs[block + 1, 0, 1] = covs[block, 0, 0], covs[block, 0, 1]
        covs[block + 1, 1, 1] = covs[block, 1, 1]
        log_volume += _filter_block(
            powers,
            products,
            work,
            emission[start:stop] if len(emission) > 1 else emission,
            variance[start:stop],
            series[start:stop],
            stop < len(times),
            False,
            moments,
            means[block + 1],
            covs[block + 1],
        )
    return log_volume


@kernel(called="inlined")
def _fill_steps(times: Array, rate: float, reciprocals: Array, work: Array) -> None:
    """Fill in ∫ e^{−2s}, ∫ s e^{−2s} and ∫ s² e^{−2s} of each step, x and e^{−x}: rows 0, 1, 2, 5, 6."""
    steps = len(times) - 1
    x, fading = work[5, :steps], work[6, :steps]
    for m in range(steps):
        x[m] = rate * (times[m + 1] - times[m])
    for m in range(steps):
        fading[m] = exp(-x[m])
    integrate_powers(x, fading, 2, reciprocals, work)


@kernel(called="inlined", sums="fused")
def _filter_block(
    powers: Array,
    products: Array,
    work: Array,
    emission: Array,
    variance: Array,
    series: Array,
    goes_on: bool,
    kept: bool,
    moments: Array,
    mean: Array,
    cov: Array,
) -> float:
    """Move the state over a block, and to the next where it goes on; keep all on the way if asked to."""
    steps, many = series.shape
    p, q, r = cov[0, 0], cov[0, 1], cov[1, 1]
    errors = work[3]
    a0, a1, a2, a3 = powers[0, 0], powers[0, 1], powers[0, 2], powers[0, 3]
    b0, b1, b2, b3 = powers[1, 0], powers[1, 1], powers[1, 2], powers[1, 3]
    log_volume, product = 0.0, 1.0
    for t in range(steps):
        if kept:
            _keep(work, t, p, q, r, mean)
        z, h = emission[t if len(emission) > 1 else 0], variance[t]
        spread = h + z * z * p  # F = zᵀPz + h
        if not spread > 0.0:
            return nan
        share = 1.0 / spread
        k, m, left = p * z * share, q * z * share, h * share
        # P(1 − kzᵀ), whose seen entries are Ph/F: no digits are lost
        p, q, r = left * p, left * q, max(r - m * (q * z), 0.0)
        for c in range(many):
            errors[c] = series[t, c] - z * mean[0, c]
            mean[0, c] += k * errors[c]
            mean[1, c] += m * errors[c]
            for d in range(c + 1):
                moments[c, d] += errors[c] * errors[d] * share
        if _SMALL < spread < _GREAT:
            product *= spread
        else:
            log_volume += log(spread)
        if not (_SMALL < product < _GREAT):
            log_volume += log(product)
            product = 1.0
        if t < steps - 1 or goes_on:
            x, fading = work[5, t], work[6, t]
            low, mid, high = work[0, t], work[1, t], work[2, t]
            w0, w1 = (a0 + x * b0) * fading, (a1 + x * b1) * fading
            w2, w3 = (a2 + x * b2) * fading, (a3 + x * b3) * fading
            for c in range(many):
                a, b = mean[0, c], mean[1, c]
                mean[0, c], mean[1, c] = w0 * a + w1 * b, w2 * a + w3 * b
            u0 = products[0, 0] * low + products[1, 0] * mid + products[2, 0] * high
            u1 = products[0, 1] * low + products[1, 1] * mid + products[2, 1] * high
            u3 = products[0, 3] * low + products[1, 3] * mid + products[2, 3] * high
            p, q, r = (  # P ← TPTᵀ + Q, products of T beforehand: fewer steps wait for each other
                w0 * w0 * p + (2.0 * w0 * w1 * q + (w1 * w1 * r + u0)),
                w0 * w2 * p + ((w0 * w3 + w1 * w2) * q + (w1 * w3 * r + u1)),
                w2 * w2 * p + (2.0 * w2 * w3 * q + (w3 * w3 * r + u3)),
            )
    if kept:
        _keep(work, steps, p, q, r, mean)
    cov[0, 0] = p
    cov[0, 1] = cov[1, 0] = q
    cov[1, 1] = r
    return log_volume + log(product)


@kernel(called="inlined")
def _keep(work: Array, t: int, p: float, q: float, r: float, mean: Array) -> None:
    """Keep a state: rows 7, 8, 9 and, of means, those from 10 on."""
    work[7, t], work[8, t], work[9, t] = p, q, r
    for c in range(mean.shape[1]):
        work[10 + 2 * c, t], work[11 + 2 * c, t] = mean[0, c], mean[1, c]


@kernel(sums="fused", allocates=False)
def _slope_blocks(
    times: Array,
    rate: float,
    powers: Array,
    products: Array,
    reciprocals: Array,
    work: Array,
    emission: Array,
    variance: Array,
    series: Array,
    outputs: float,
    means: Array,
    covs: Array,
    moments: Array,
    pull: Array,
    total: Array,
    of_noise: Array,
    drift: Array,
    diffusion: Array,
) -> float:
    """Fill in slopes in the noise, add those of longer steps, and leave G before the first value in ``total``.

    ``total`` holds N on the way. The states before blocks are used up.
    """
    slope, width = 0.0, work.shape[1] - 1
    for block in range(len(means) - 2, -1, -1):
        start = block * width
        stop = min(start + width, len(times))
        _fill_steps(times[start : stop + 1], rate, reciprocals, work)
        here = emission[start:stop] if len(emission) > 1 else emission
        heard, values, goes_on = variance[start:stop], series[start:stop], stop < len(times)
        state = means[block], covs[block]
        _filter_block(
            powers, products, work, here, heard, values, goes_on, True, moments, state[0], state[1]
        )
        slope += _slope_block(
            powers,
            products,
            work,
            here,
            heard,
            values,
            goes_on,
            outputs,
            pull,
            total,
            of_noise[start:stop],
            drift,
            diffusion,
        )
    for i in range(2):
        for j in range(2):
            total[i, j] *= -outputs
            for c in range(series.shape[1]):
                total[i, j] += pull[i, c] * pull[j, c]
    return slope


@kernel(called="kernels", sums="fused")
def _slope_block(
    powers: Array,
    products: Array,
    work: Array,
    emission: Array,
    variance: Array,
    series: Array,
    goes_on: bool,
    outputs: float,
    pull: Array,
    precision: Array,
    of_noise: Array,
    drift: Array,
    diffusion: Array,
) -> float:
    """Go back over a block from r and N before the value after it; return ½ Σ tr QG."""
    steps, many = series.shape
    n, o, s = precision[0, 0], precision[0, 1], precision[1, 1]
    slope, d00, d01, d10, d11 = 0.0, 0.0, 0.0, 0.0, 0.0
    e00, e01, e11 = 0.0, 0.0, 0.0
    for t in range(steps - 1, -1, -1):
        if t < steps - 1 or goes_on:
            x, fading = work[5, t], work[6, t]
            low, mid, high = work[0, t], work[1, t], work[2, t]
            w0, w1 = (
                (powers[0, 0] + x * powers[1, 0]) * fading,
                (powers[0, 1] + x * powers[1, 1]) * fading,
            )
            w2, w3 = (
                (powers[0, 2] + x * powers[1, 2]) * fading,
                (powers[0, 3] + x * powers[1, 3]) * fading,
            )
            p, q, r = work[7, t + 1], work[8, t + 1], work[9, t + 1]
            g00, g01, g11 = -outputs * n, -outputs * o, -outputs * s  # G = Σ rrᵀ − QN
            for c in range(many):
                a, b = pull[0, c], pull[1, c]
                i, j = x * work[10 + 2 * c, t + 1], x * work[11 + 2 * c, t + 1]
                g00, g01, g11 = g00 + a * a, g01 + a * b, g11 + b * b
                d00, d01, d10, d11 = d00 + i * a, d01 + i * b, d10 + j * a, d11 + j * b
                pull[0, c], pull[1, c] = w0 * a + w2 * b, w1 * a + w3 * b  # r ← Tᵀr
            d00, d01 = d00 + x * (p * g00 + q * g01), d01 + x * (p * g01 + q * g11)  # Σ mrᵀ + PG
            d10, d11 = d10 + x * (q * g00 + r * g01), d11 + x * (q * g01 + r * g11)
            e00, e01, e11 = e00 + x * g00, e01 + x * g01, e11 + x * g11
            u0 = products[0, 0] * low + products[1, 0] * mid + products[2, 0] * high
            u1 = products[0, 1] * low + products[1, 1] * mid + products[2, 1] * high
            u3 = products[0, 3] * low + products[1, 3] * mid + products[2, 3] * high
            slope += u0 * g00 + 2.0 * u1 * g01 + u3 * g11
            n, o, s = (  # N ← TᵀNT
                w0 * w0 * n + (2.0 * w0 * w2 * o + w2 * w2 * s),
                w0 * w1 * n + ((w0 * w3 + w1 * w2) * o + w2 * w3 * s),
                w1 * w1 * n + (2.0 * w1 * w3 * o + w3 * w3 * s),
            )
        z, p, q = emission[t if len(emission) > 1 else 0], work[7, t], work[8, t]
        share = 1.0 / (variance[t] + z * z * p)
        k, m = p * z * share, q * z * share
        f, g = n * k + o * m, o * k + s * m  # Nk
        held = share + k * f + m * g  # D = 1/F + kᵀNk
        squares = 0.0
        for c in range(many):  # r ← r + z u with u = v/F − kᵀr
            u = (series[t, c] - z * work[10 + 2 * c, t]) * share - k * pull[0, c] - m * pull[1, c]
            pull[0, c] += z * u
            squares += u * u
        of_noise[t] = 0.5 * (squares - outputs * held)
        n, o = n + z * (z * held - 2.0 * f), o - z * g
    precision[0, 0] = n
    precision[0, 1] = precision[1, 0] = o
    precision[1, 1] = s
    drift[0, 0] += d00
    drift[0, 1] += d01
    drift[1, 0] += d10
    drift[1, 1] += d11
    diffusion[0, 0] += e00
    diffusion[0, 1] += e01
    diffusion[1, 0] += e01
    diffusion[1, 1] += e11
    return 0.5 * slope
