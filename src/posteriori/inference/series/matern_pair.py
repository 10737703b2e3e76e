r"""A Matérn process of smoothness 3/2 in one compiled pass: its two states are written out.

The passes take the same steps as the filter and the smoother of the same folder; values without weight
are rows whose noise is ``NOTHING_SEEN``. Transitions are made where they are needed, from :math:`e^{-x}` and
the integrals of each step :math:`x = \lambda\Delta`, in blocks that stay in the processor's cache; on the way
back each block is filtered once more from its first state. The filter of two states would read seven numbers
a step that are written for it alone, and keeps all steps of the series.
"""

from __future__ import annotations

from math import exp, log, nan
from typing import NamedTuple

import numpy as np

from posteriori.inference.series.column_chain import ColumnSlopes, GatheredColumns, require_density
from posteriori.inference.series.kalman_pair import sandwich_pair
from posteriori.inference.series.matern_chain import (
    RECIPROCALS,
    integrate_powers,
    step_coefficients,
)
from posteriori.numerics.compilation import as_kernel_input, kernel
from posteriori.numerics.types import Array

__all__ = ["NOTHING_SEEN", "PAIR", "MaternPair"]

#: Smoothness of a process with two states.
PAIR = 1.5
#: Noise through which nothing is seen: a power of 2, so that what is left of a covariance is all of it.
NOTHING_SEEN = 2.0**1023
#: Steps of a block.
_BLOCK = 1024
#: Products are taken into logarithms beyond these.
_SMALL, _GREAT = 1e-150, 1e150


class _Steps(NamedTuple):
    """How steps are made.

    Attributes
    ----------
    times : (T,)
    rate : float
    powers, products, reciprocals : (D, D²), (2D − 1, D²), (R,)
        What e^{−x}, x and their integrals are multiplied by.
    work : (10 + 2C, block + 1)
        Integrals of the steps of a block and the states before its values.
    """

    times: Array
    rate: float
    powers: Array
    products: Array
    reciprocals: Array
    work: Array


class _Seen(NamedTuple):
    """Series (T, C), and the emission (1 or T,) and the noise (T,) through which they are seen."""

    emission: Array
    noise: Array
    series: Array


class _Back(NamedTuple):
    """What the way back fills in, or adds to.

    Attributes
    ----------
    pull, precision : (2, C), (2, 2)
        r and N of later values.
    noise : (T,)
        Slopes in h.
    drift, diffusion : (2, 2)
        Slopes of longer steps.
    means, variances : (T or 0, C), (T or 0,)
        Of the process, given all values.
    """

    pull: Array
    precision: Array
    noise: Array
    drift: Array
    diffusion: Array
    means: Array
    variances: Array


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
        log_volume = _gather_blocks(*self._read(series), moments, means, covs)
        require_density(log_volume)
        return GatheredColumns(log_volume, moments + np.tril(moments, -1).T, means, covs)

    def slopes(self, series: Array, gathered: GatheredColumns, outputs: int) -> ColumnSlopes:
        """Return slopes, as :meth:`ColumnChain.slopes` does."""
        slope, back = self._pass_back(series, gathered, outputs, 0)
        total = back.pull @ back.pull.T - outputs * back.precision  # G before the first value
        parts = np.array([0.0, slope / self.variance + 0.5 * float(total.trace())])
        longer = back.drift / self.rate, back.diffusion / self.rate
        return ColumnSlopes(back.noise, parts, np.empty((0, 2)), *longer)

    def smooth(self, series: Array, gathered: GatheredColumns) -> tuple[Array, Array]:
        """Return means (T, C) and variances (T,) of the process, times what it is multiplied by, given series."""
        _, back = self._pass_back(series, gathered, 1, len(series))
        return back.means, back.variances

    def _pass_back(
        self, series: Array, gathered: GatheredColumns, outputs: int, shown: int
    ) -> tuple[float, _Back]:
        many = series.shape[1]
        states = gathered.means.copy(), gathered.covs.copy(), np.zeros((many, many))
        pull, (precision, drift, diffusion) = np.zeros((2, many)), np.zeros((3, 2, 2))
        kept = np.empty((shown, many)), np.empty(shown)
        back = _Back(pull, precision, np.empty(len(series)), drift, diffusion, *kept)
        return _pass_back(*self._read(series), float(outputs), *states, back), back

    def _read(self, series: Array) -> tuple[_Steps, _Seen]:
        """Return what both passes take: how steps are made, with room to work, and what is seen."""
        powers, products = step_coefficients(PAIR)
        work = np.empty((7 + 3 + 2 * series.shape[1], _BLOCK + 1))
        made = powers, self.variance * products, RECIPROCALS, work
        seen = _Seen(*(as_kernel_input(a) for a in (self.emission, self.noise, series)))
        return _Steps(as_kernel_input(self.times), self.rate, *made), seen


@kernel(sums="fused", allocates=False)
def _gather_blocks(steps: _Steps, seen: _Seen, moments: Array, means: Array, covs: Array) -> float:
    """Fill in the states before each block, from those before the first; return Σ ln F, add VᵀF⁻¹V."""
    log_volume, width = 0.0, steps.work.shape[1] - 1
    for block in range(len(means) - 1):
        here = _of_block(seen, block * width, width)
        _fill_steps(steps, block * width)
        for c in range(seen.series.shape[1]):
            means[block + 1, 0, c], means[block + 1, 1, c] = means[block, 0, c], means[block, 1, c]
        covs[block + 1, 0, 0], covs[block + 1, 0, 1] = covs[block, 0, 0], covs[block, 0, 1]
        covs[block + 1, 1, 1] = covs[block, 1, 1]
        goes_on = block < len(means) - 2
        log_volume += _filter_block(
            steps, here, goes_on, False, moments, means[block + 1], covs[block + 1]
        )
    return log_volume


@kernel(called="inlined")
def _of_block(seen: _Seen, start: int, width: int) -> _Seen:
    stop = min(start + width, len(seen.series))
    emission = seen.emission[start:stop] if len(seen.emission) > 1 else seen.emission
    return _Seen(emission, seen.noise[start:stop], seen.series[start:stop])


@kernel(called="inlined")
def _fill_steps(steps: _Steps, start: int) -> None:
    """Fill in ∫ e^{−2s}, ∫ s e^{−2s} and ∫ s² e^{−2s} of each step, x and e^{−x}: rows 0, 1, 2, 5, 6."""
    work = steps.work
    times = steps.times[start : start + work.shape[1]]
    count = len(times) - 1
    x, fading = work[5, :count], work[6, :count]
    for m in range(count):
        x[m] = steps.rate * (times[m + 1] - times[m])
    for m in range(count):
        fading[m] = exp(-x[m])
    integrate_powers(x, fading, 2, steps.reciprocals, work)


@kernel(called="inlined", sums="fused")
def _transition(powers: Array, x: float, fading: float) -> tuple[float, float, float, float]:
    """Return T = (A + xB) e^{−x} of a step."""
    return (
        (powers[0, 0] + x * powers[1, 0]) * fading,
        (powers[0, 1] + x * powers[1, 1]) * fading,
        (powers[0, 2] + x * powers[1, 2]) * fading,
        (powers[0, 3] + x * powers[1, 3]) * fading,
    )


@kernel(called="inlined", sums="fused")
def _step_noise(products: Array, low: float, mid: float, high: float) -> tuple[float, float, float]:
    """Return Q of a step, as its integrals add up."""
    return (
        products[0, 0] * low + products[1, 0] * mid + products[2, 0] * high,
        products[0, 1] * low + products[1, 1] * mid + products[2, 1] * high,
        products[0, 3] * low + products[1, 3] * mid + products[2, 3] * high,
    )


@kernel(called="inlined", sums="fused")
def _filter_block(
    made: _Steps,
    seen: _Seen,
    goes_on: bool,
    kept: bool,
    moments: Array,
    mean: Array,
    cov: Array,
) -> float:
    """Move the state over a block, and to the next where it goes on; keep all on the way if asked to."""
    powers, products, work = made.powers, made.products, made.work
    emission, variance, series = seen.emission, seen.noise, seen.series
    steps, many = series.shape
    p, q, r = cov[0, 0], cov[0, 1], cov[1, 1]
    errors = work[3]
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
            w0, w1, w2, w3 = _transition(powers, work[5, t], work[6, t])
            for c in range(many):
                a, b = mean[0, c], mean[1, c]
                mean[0, c], mean[1, c] = w0 * a + w1 * b, w2 * a + w3 * b
            u0, u1, u3 = _step_noise(products, work[0, t], work[1, t], work[2, t])
            p, q, r = sandwich_pair(w0, w1, w2, w3, p, q, r, u0, u1, u3)  # P ← TPTᵀ + Q
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
def _pass_back(
    steps: _Steps,
    seen: _Seen,
    outputs: float,
    means: Array,
    covs: Array,
    moments: Array,
    back: _Back,
) -> float:
    """Fill in what the way back asks for, and return ½ Σ tr QG; the states before blocks are used up."""
    slope, width = 0.0, steps.work.shape[1] - 1
    for block in range(len(means) - 2, -1, -1):
        start, goes_on = block * width, block < len(means) - 2
        here = _of_block(seen, start, width)
        _fill_steps(steps, start)
        _filter_block(steps, here, goes_on, True, moments, means[block], covs[block])
        slope += _pass_block_back(steps, here, goes_on, outputs, start, back)
    return slope


@kernel(called="kernels", sums="fused")
def _pass_block_back(
    made: _Steps, seen: _Seen, goes_on: bool, outputs: float, start: int, back: _Back
) -> float:
    """Go back over a block from r and N before the value after it; return ½ Σ tr QG."""
    powers, products, work = made.powers, made.products, made.work
    emission, variance, series = seen.emission, seen.noise, seen.series
    pull, precision, drift, diffusion = back.pull, back.precision, back.drift, back.diffusion
    shown = len(back.variances) > 0
    steps, many = series.shape
    n, o, s = precision[0, 0], precision[0, 1], precision[1, 1]
    slope, d00, d01, d10, d11 = 0.0, 0.0, 0.0, 0.0, 0.0
    e00, e01, e11 = 0.0, 0.0, 0.0
    for t in range(steps - 1, -1, -1):
        if t < steps - 1 or goes_on:
            x = work[5, t]
            w0, w1, w2, w3 = _transition(powers, x, work[6, t])
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
            u0, u1, u3 = _step_noise(products, work[0, t], work[1, t], work[2, t])
            slope += u0 * g00 + 2.0 * u1 * g01 + u3 * g11
            n, o, s = sandwich_pair(w0, w2, w1, w3, n, o, s, 0.0, 0.0, 0.0)  # N ← TᵀNT
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
        back.noise[start + t] = 0.5 * (squares - outputs * held)
        n, o = n + z * (z * held - 2.0 * f), o - z * g
        if shown:  # m + Pr and P − PNP, seen through z
            for c in range(many):
                moved = p * pull[0, c] + q * pull[1, c]
                back.means[start + t, c] = z * (work[10 + 2 * c, t] + moved)
            held = p * (n * p + o * q) + q * (o * p + s * q)
            back.variances[start + t] = z * z * (p - held)
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
