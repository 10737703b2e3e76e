r"""Several series along one chain: what they say of it, and how that moves with all it is made of.

.. math:: y_{tc} = z_t^\top a_{tc} + \varepsilon_{tc},\quad \varepsilon_{tc} \sim N(0, h_t)

for independent chains :math:`a_c` of the same law. Chains are made stretch by stretch, forward and again on
the way back: memory does not grow with :math:`TD^2`, and what is made stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from posteriori.inference.series.kalman_filter import Predicted
from posteriori.inference.series.kalman_smoother import NoiseSums, Slopes, smooth_series_backward
from posteriori.inference.series.scalar_chain import (
    PassedForward,
    ScalarChain,
    filter_workspace,
    nothing_later,
    pass_forward,
)
from posteriori.numerics.types import Array

__all__ = [
    "STRETCH",
    "ColumnChain",
    "ColumnSlopes",
    "GatheredColumns",
    "require_density",
]

#: Steps of a stretch: what is kept of it fits into the processor's cache.
STRETCH = 8192


class GatheredColumns(NamedTuple):
    """What series say, as far as the chain is concerned.

    Attributes
    ----------
    log_volume : float
        Σ ln F.
    moments : (C, C)
        VᵀF⁻¹V of the innovations V.
    means, covs : (K, D, C), (K, D, D)
        States before each stretch, and after the last.
    """

    log_volume: float
    moments: Array
    means: Array
    covs: Array


class ColumnSlopes(NamedTuple):
    r"""Slopes of −½(Q Σ ln F + tr VᵀF⁻¹V) in what the chain is made of.

    Attributes
    ----------
    noise : (T,)
        In h.
    parts : (P,)
        In the variances of parts.
    emission : (T, D), or (0, D) where they were not asked for
    drift, diffusion : (D, D)
        Σ Δ(Σ_c mrᵀ + PG) and Σ ΔG: if each step of a chain with :math:`dP = FP + PF^\top + W` takes 1 + ε
        times as long, the slope in ε is tr(F drift) + ½ tr(W diffusion).
    """

    noise: Array
    parts: Array
    emission: Array
    drift: Array
    diffusion: Array


class _Stretch(NamedTuple):
    """Rows of a stretch with the first of the next ones, which is not seen, and how many are its own."""

    rows: slice
    own: int


class ColumnChain(NamedTuple):
    """A chain and the noise through which series are seen.

    Attributes
    ----------
    make : callable
        From at most ``STRETCH`` + 1 rows a <= t < b to their chain, whose first state is in equilibrium. A
        chain is needed until the next is made.
    variances : (P,)
        Of the parts of its noise.
    noise : (T,)
        h.
    times : (T,)
        At which values are seen, sorted.
    shaped : bool
        Whether slopes in the emission are asked for.
    """

    make: Callable[[slice], ScalarChain]
    variances: Array
    noise: Array
    times: Array
    shaped: bool

    def gather(self, series: Array) -> GatheredColumns:
        """Return what series (T, C) say; O(T·D·(D + E)).

        Raises
        ------
        ValueError
            When a value is known from earlier ones to all digits.
        """
        many = series.shape[1]
        moments, log_volume = np.zeros((many, many)), 0.0
        means: list[Array] = []
        covs: list[Array] = []
        for stretch in self._stretches():
            made, own = self.make(stretch.rows), stretch.own
            if not means:
                size = len(made.initial_mean)
                workspace = filter_workspace(self._longest, size, many, gains=False)
                means.append(np.zeros((size, many)))
                covs.append(made.start_cov(self.variances))
            state = means[-1].copy(), covs[-1].copy()
            passed = self._filter(made, series, stretch, state, workspace)
            v, spreads = workspace.innovations[:own], workspace.spreads[:own]
            with np.errstate(all="ignore"):  # of spreads that are 0: refused below
                log_volume += float(np.log(spreads).sum())
                moments += np.divide(v, spreads[:, None], out=passed.series[:own]).T @ v
            means.append(passed.last.mean)
            covs.append(passed.last.cov)
        require_density(log_volume)
        return GatheredColumns(log_volume, moments, np.array(means), np.array(covs))

    def slopes(self, series: Array, gathered: GatheredColumns, outputs: int) -> ColumnSlopes:
        """Return slopes of −½(Q Σ ln F + tr VᵀF⁻¹V).

        Parameters
        ----------
        series : (T, C)
        gathered : GatheredColumns
            Of these series.
        outputs : int
            Q, how often the volume counts.
        """
        _, size, many = gathered.means.shape
        parts, steps = len(self.variances), self._longest
        workspace = filter_workspace(steps, size, many, size)
        later = nothing_later(size, many)
        sums = NoiseSums(np.zeros(parts), np.zeros(parts), np.empty((steps, 0)))
        noise, emission = np.empty(steps), np.empty((steps if self.shaped else 0, size))
        drift, diffusion = np.zeros((2, size, size))
        of_noise = np.empty(len(series))
        of_emission = np.empty((len(series) if self.shaped else 0, size))
        stretches = list(zip(self._stretches(), gathered.means, gathered.covs, strict=False))
        for stretch, mean, cov in reversed(stretches):
            (rows, own), made = stretch, self.make(stretch.rows)
            state = mean.copy(), cov.copy()
            passed = self._filter(made, series, stretch, state, workspace)
            slopes = Slopes(noise, emission, np.diff(self.times[rows]), drift, diffusion)
            smooth_series_backward(*passed[:3], many, float(outputs), later, sums, slopes)
            here = slice(rows.start, rows.start + own)
            of_noise[here], of_emission[here] = noise[:own], emission[:own]
        of_parts = 0.5 * (sums.fit - sums.complexity)
        of_parts[0] = 0.0  # values have h instead
        total, start = later.pull @ later.pull.T - outputs * later.precision, made.start
        added = 0.5 * start.weights[0] * total[start.rows, start.columns]
        np.add.at(of_parts, made.start_parts, added)
        return ColumnSlopes(of_noise, of_parts, of_emission, drift, diffusion)

    @property
    def _longest(self) -> int:
        return min(len(self.noise), STRETCH + 1)

    def _stretches(self) -> Iterator[_Stretch]:
        for start in range(0, len(self.noise), STRETCH):
            own = min(STRETCH, len(self.noise) - start)
            yield _Stretch(slice(start, min(start + own + 1, len(self.noise))), own)

    def _filter(
        self,
        made: ScalarChain,
        series: Array,
        stretch: _Stretch,
        state: tuple[Array, Array],
        workspace: Predicted,
    ) -> PassedForward:
        """Pass over a stretch from the state before it, which becomes that before the next."""
        values = np.array(series[stretch.rows], dtype=np.float64, order="C")
        values[stretch.own :] = np.nan
        chain = made.dynamics(np.array(self.noise[stretch.rows]), self.variances)
        return pass_forward(chain, values, *state, np.empty((0, 0, len(state[0]))), workspace)


def require_density(log_volume: float) -> None:
    """Refuse Σ ln F of values that earlier ones leave no room for."""
    if not np.isfinite(log_volume):
        raise ValueError(
            "some value is known from earlier ones to all digits, so that the chain has no density; add noise "
            "(White() in a kernel)"
        )
