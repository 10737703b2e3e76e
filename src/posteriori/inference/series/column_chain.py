r"""Several series along one chain: what they say of it, and how that moves with all it is made of.

.. math:: y_{tc} = z_t^\top a_{tc} + \varepsilon_{tc},\quad \varepsilon_{tc} \sim N(0, h_t)

for independent chains :math:`a_c` of the same law. Chains are made stretch by stretch, forward and again on
the way back: memory does not grow with :math:`TD^2`, and what is made stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from posteriori.inference.series.column_recursions import gather_forward, slope_backward
from posteriori.inference.series.scalar_chain import ScalarChain
from posteriori.numerics.compilation import as_kernel_input
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
        series, many = as_kernel_input(series), series.shape[1]
        moments, log_volume = np.zeros((many, many)), 0.0
        means: list[Array] = []
        covs: list[Array] = []
        for rows, own in self._stretches():
            made = self.make(rows)
            if not means:
                means.append(np.zeros((len(made.initial_mean), many)))
                covs.append(made.start_cov(self.variances))
            state = means[-1].copy(), covs[-1].copy()
            log_volume += self._forward(made, rows, series[rows], own, state, moments)
            means.append(state[0])
            covs.append(state[1])
        require_density(log_volume)
        both = moments + np.tril(moments, -1).T
        return GatheredColumns(float(log_volume), both, np.array(means), np.array(covs))

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
        series, (_, size, many) = as_kernel_input(series), gathered.means.shape
        of_noise, of_parts = np.empty(len(series)), np.zeros(len(self.variances))
        of_emission = np.empty((len(series) if self.shaped else 0, size))
        pull, precision = np.zeros((size, many)), np.zeros((size, size))
        moved = np.zeros((size, size)), np.zeros((size, size))
        stretches = list(zip(self._stretches(), gathered.means, gathered.covs, strict=False))
        for (rows, own), mean, cov in reversed(stretches):
            made, values = self.make(rows), series[rows]
            room = np.empty((len(values), size, many)), np.empty((len(values), size, size))
            state = mean.copy(), cov.copy()
            self._forward(made, rows, values, own, state, np.zeros((many, many)), room)
            seen = (
                as_kernel_input(self.noise[rows]),
                values,
                own,
                np.diff(self.times[rows]),
                float(outputs),
                *room,
            )
            work = _room(size, many), np.empty((size, size))
            here = slice(rows.start, rows.start + own)
            slopes = of_noise[here], of_parts, of_emission[here], *moved
            slope_backward(*made.arrays, *seen, pull, precision, *work, *slopes)
        total, start = pull @ pull.T - outputs * precision, made.start
        added = 0.5 * start.weights[0] * total[start.rows, start.columns]
        np.add.at(of_parts, made.start_parts, added)
        return ColumnSlopes(of_noise, of_parts, of_emission, *moved)

    def _stretches(self) -> Iterator[tuple[slice, int]]:
        """Yield rows, each time with the first of the next ones, and how many are the stretch's own."""
        for start in range(0, len(self.noise), STRETCH):
            own = min(STRETCH, len(self.noise) - start)
            yield slice(start, min(start + own + 1, len(self.noise))), own

    def _forward(
        self,
        made: ScalarChain,
        rows: slice,
        values: Array,
        own: int,
        state: tuple[Array, Array],
        moments: Array,
        room: tuple[Array, Array] | None = None,
    ) -> float:
        """Move a state over a stretch, add to moments, and return Σ ln F."""
        size, many = state[0].shape
        kept = (np.empty((0, size, many)), np.empty((0, size, size))) if room is None else room
        seen = as_kernel_input(self.noise[rows]), values, own, *state, _room(size, many), moments
        return gather_forward(*made.arrays, self.variances, *seen, *kept)


def require_density(log_volume: float) -> None:
    """Refuse Σ ln F of values that earlier ones leave no room for."""
    if not np.isfinite(log_volume):
        raise ValueError(
            "some value is known from earlier ones to all digits, so that the chain has no density; add noise "
            "(White() in a kernel)"
        )


def _room(size: int, many: int) -> Array:
    return np.empty((max(size, 3), max(size, many)))
