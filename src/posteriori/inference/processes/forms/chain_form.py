r"""Processes over one column as chains: evidence, gradient and predictions in linear time.

Slopes in all parameters come from one pass back. What is known of the mean's weights is integrated out as in
:mod:`~posteriori.inference.processes.dense_process`: with V the innovations of its columns H and v those of the
targets, :math:`M = I + V^\top F^{-1}V` and :math:`\hat\beta = M^{-1}V^\top F^{-1}v`.

Reference: J. Hartikainen & S. Särkkä, "Kalman filtering and smoothing solutions to temporal Gaussian
process regression models", 2010.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.processes.dense_process import (
    Moments,
    noise_slopes,
    noise_variances,
    solve_dense,
)
from posteriori.inference.processes.forms.chain_steps import ChainSteps
from posteriori.inference.processes.forms.chain_terms import ChainTerm, PlacedKernel, chain_terms
from posteriori.inference.processes.mean_effects import MeanEffects
from posteriori.inference.processes.noise_parts import summands
from posteriori.inference.processes.process_rows import ProcessRows
from posteriori.inference.series.column_chain import (
    STRETCH,
    ColumnChain,
    ColumnSlopes,
    GatheredColumns,
)
from posteriori.inference.series.matern_pair import NOTHING_SEEN, PAIR, MaternPair
from posteriori.inference.series.scalar_chain import ScalarChain, smooth_scalar
from posteriori.kernels.inner_products import Features
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["ChainForm", "ChainProcess", "is_chain"]

#: Distinct inputs from which on a chain is faster than a matrix, and states up to which it is.
_WORTH, _MOST_STATES = 256, 16


def is_chain(kernel: Kernel, rows: ProcessRows, mean: MeanEffects) -> bool:
    """Tell whether a chain is the faster way."""
    if rows.X.shape[1] != 1 or len(rows.X) < _WORTH:
        return False
    terms = chain_terms(kernel)
    if terms is None:
        return False
    states = ChainSteps(terms, rows.X).states
    return states + mean.columns(rows.X[:1]).shape[1] <= _MOST_STATES


class ChainForm(NamedTuple):
    """A chain along the distinct inputs of one column."""

    rows: ProcessRows
    mean: MeanEffects
    absolute: bool

    @property
    def account(self) -> str:
        return f"chain along {len(self.rows.X)} distinct inputs, O(N)"

    def solve(self, kernel: Kernel) -> ChainProcess:
        value = self._gather(kernel).log_evidence
        return ChainProcess(kernel, self.rows, self.mean, self.absolute, value)

    def score(self, kernel: Kernel) -> tuple[float, Array]:
        seen = self._gather(kernel)
        outputs = self.rows.y.shape[1]
        series, gathered = seen.series, seen.gathered
        if self.mean.spread:
            series = series @ seen.turn
            gathered = gathered._replace(means=gathered.means @ seen.turn)
        slopes = seen.chain.slopes(series, gathered, outputs)
        gradient = np.zeros(len(kernel.log_parameters))
        blocks = ChainSteps(seen.terms, seen.X).blocks
        for part, (term, block) in enumerate(zip(seen.terms, blocks, strict=True), start=1):
            _add_slopes(term, block, part, slopes, seen.X, gradient)
        if not self.absolute:
            own = np.empty(len(series))
            own[seen.order] = slopes.noise
            gradient += noise_slopes(kernel, self.rows, own)
        return seen.log_evidence, gradient

    def _gather(self, kernel: Kernel) -> _SeenRows:
        """Return what the rows say of a kernel."""
        rows, terms = self.rows, chain_terms(kernel)
        assert terms is not None  # is_chain was asked
        order = _sorted(rows.X[:, 0])
        X, series = rows.X[order], rows.y[order]
        n = noise_variances(kernel, rows.X, self.absolute)
        plain = rows.is_plain
        noise = (n if plain else n / rows.weight)[order]
        if self.mean.spread:
            series = np.column_stack([series - self.mean.center, self.mean.columns(X)])
        chain = _see(terms, X, noise)
        gathered = chain.gather(series)
        value, turn = _integrate_mean(gathered, len(X), rows.y.shape[1])
        value += 0.0 if plain else rows.log_constant(n)
        return _SeenRows(terms, X, order, chain, series, gathered, value, turn)


class _SeenRows(NamedTuple):
    """Rows in their order along a chain, and what they say.

    Attributes
    ----------
    terms : tuple of ChainTerm
    X : (N, 1)
        Sorted.
    order : index of the rows
    chain : ColumnChain or MaternPair
    series : (N, Q + P)
        Targets, and columns of the mean.
    gathered : GatheredColumns
    log_evidence : float
    turn : (Q + P, Q + P)
        From the series to those whose slopes are that of the evidence: what the mean leaves of targets, and
        its whitened columns, √Q of each.
    """

    terms: tuple[ChainTerm, ...]
    X: Array
    order: Any
    chain: ColumnChain | MaternPair
    series: Array
    gathered: GatheredColumns
    log_evidence: float
    turn: Array


def _sorted(x: Array) -> Any:
    """Return the order of numbers; rows that are sorted need no copy."""
    return slice(None) if (x[1:] > x[:-1]).all() else np.argsort(x, kind="stable")


def _see(terms: tuple[ChainTerm, ...], X: Array, noise: Array) -> ColumnChain | MaternPair:
    """Return the chain of terms along sorted points, seen through noise (N,)."""
    times, steps = X[:, 0], ChainSteps(terms, X)
    shaped = any(term.shaped for term in terms)
    if len(terms) == 1 and not shaped and steps.states == 2:
        (term,) = terms
        if [placed.kernel.nu for placed in term.moving] == [PAIR]:
            seen = term.features(X)[:, 0], noise, times
            return MaternPair(term.rates[0], term.variance, *seen)
    rooms = steps.rooms(min(STRETCH, len(X)))

    def make(here: slice) -> ScalarChain:
        return steps.along(X[here], rooms)

    return ColumnChain(make, steps.variances, noise, times, shaped)


def _integrate_mean(gathered: GatheredColumns, size: int, outputs: int) -> tuple[float, Array]:
    """Return ln p of Q series, the weights of the others integrated out, and the turn of both."""
    moments = gathered.moments
    of_mean = moments[outputs:, outputs:]
    lower = np.linalg.cholesky(np.eye(len(of_mean)) + of_mean)  # M = LLᵀ
    root = triangular_inverse(lower).T
    pulled = root.T @ moments[outputs:, :outputs]
    log_volume = gathered.log_volume + 2.0 * float(np.log(lower.diagonal()).sum())
    squares = float(moments[:outputs, :outputs].trace()) - float(np.vdot(pulled, pulled))
    turn = np.eye(len(moments))
    turn[outputs:, :outputs] = -root @ pulled  # −β̂
    turn[outputs:, outputs:] = np.sqrt(outputs) * root
    return -0.5 * (outputs * (size * LOG_2PI + log_volume) + squares), turn


def _add_slopes(
    term: ChainTerm, block: slice, part: int, slopes: ColumnSlopes, X: Array, gradient: Array
) -> None:
    """Add what the parameters of a term do."""
    variance, size = term.variance, term.states
    for placed in term.constants:
        gradient[placed.place] += variance * slopes.parts[part]
    for placed, rate, motion in term.motions():
        for first in range(block.start, block.stop, size):
            own = slice(first, first + size)
            moved = np.vdot(motion.drift.T, slopes.drift[own, own])
            spread = 0.5 * variance * np.vdot(motion.diffusion, slopes.diffusion[own, own])
            gradient[placed.place] -= rate * (moved + spread)  # λ falls as ℓ grows
    if term.shaped:
        term.pull(X, slopes.emission[:, block][:, ::size], gradient)


class ChainProcess(NamedTuple):
    """What is known of a function of one column after rows.

    Attributes
    ----------
    kernel : Kernel
    rows : ProcessRows
    mean : MeanEffects
    absolute : bool
    log_evidence : float
    """

    kernel: Kernel
    rows: ProcessRows
    mean: MeanEffects
    absolute: bool
    log_evidence: float

    @property
    def jitter(self) -> float:
        """A chain needs none."""
        return 0.0

    def predict(self, X: Array) -> Moments:
        """Return means and variances of the function at points."""
        made = self._of_pair(X) or self._shown(X, [None])[0]
        return Moments(self.mean.center + made.mean, made.variance)

    def effects(self, X: Array) -> list[Moments]:
        """Return moments of the mean, if there is one, and of each summand of the kernel."""
        parts: list[Any] = [chain_terms(part) for part in summands(self.kernel)]
        counts = [len(part) for part in parts]
        ends = np.cumsum([0, *counts]).tolist()
        wanted: list[Any] = [list(range(a, b)) for a, b in pairwise(ends)]
        if self.mean.spread:
            wanted = [[ends[-1]], *wanted]
        found = self._shown(X, wanted)
        if self.mean.spread:
            found[0] = Moments(self.mean.center + found[0].mean, found[0].variance)
        return found

    def covariance(self, X: Array) -> Array:
        """Return the covariance of the function's values at points, (M, M), by dense algebra."""
        return self._dense().covariance(X)

    def left_out(self) -> Moments:
        """Return moments of the mean target at each input, given all others, noise included."""
        noise = noise_variances(self.kernel, self.rows.X, self.absolute) / self.rows.weight
        if not noise.all():
            return self._dense().left_out()
        mean, variance = self.predict(self.rows.X)
        # the site of a row divided out: 1/c = 1/v − 1/n
        share = (variance / (noise - variance))[:, None]
        apart = mean + share * (mean - self.rows.y)
        return Moments(apart, noise * noise / (noise - variance))

    def _dense(self) -> Any:
        return solve_dense(self.kernel, self.rows, self.mean, self.absolute)

    def _of_pair(self, X: Array) -> Moments | None:
        r"""Return moments at points of a chain whose states are written out; None of another.

        With g the process given targets and given columns of the mean, of which no point of ``X`` is seen:
        :math:`E f = g_y + (h - g_H)\hat\beta` and :math:`V f = V g + (h - g_H)M^{-1}(h - g_H)^\top`.
        """
        rows, mean, outputs = self.rows, self.mean, self.rows.y.shape[1]
        terms = chain_terms(self.kernel)
        assert terms is not None  # is_chain was asked
        every = np.vstack([rows.X, X])
        order = np.argsort(every[:, 0], kind="stable")
        n = noise_variances(self.kernel, rows.X, self.absolute) / rows.weight
        noise = np.append(n, np.full(len(X), NOTHING_SEEN))[order]
        chain = _see(terms, every[order], noise)
        if not isinstance(chain, MaternPair):
            return None
        series = rows.y - mean.center
        if mean.spread:
            series = np.column_stack([series, mean.columns(rows.X)])
        series = np.vstack([series, np.zeros((len(X), series.shape[1]))])[order]
        gathered = chain.gather(series)
        means, variances = chain.smooth(series, gathered)
        asked = np.argsort(order)[len(rows.X) :]
        of_targets, variance = means[asked, :outputs], variances[asked]
        if mean.spread:
            _, turn = _integrate_mean(gathered, len(rows.X), outputs)
            left = mean.columns(X) - means[asked, outputs:]
            of_targets = of_targets - left @ turn[outputs:, :outputs]  # −β̂
            variance = variance + np.square(left @ turn[outputs:, outputs:]).sum(axis=1) / outputs
        return Moments(of_targets, variance)

    def _shown(self, X: Array, wanted: list[Any]) -> list[Moments]:
        """Return moments of sums of terms at points; None is the sum of all."""
        rows, terms = self.rows, chain_terms(self.kernel)
        assert terms is not None  # is_chain was asked
        if self.mean.spread:
            terms += (ChainTerm((), (), (PlacedKernel(Features(self.mean.columns), 0),)),)
        every = np.vstack([rows.X, X])
        order = np.argsort(every[:, 0], kind="stable")
        steps = ChainSteps(terms, every)
        made = steps.along(every[order])
        n = noise_variances(self.kernel, rows.X, self.absolute) / rows.weight
        level = float(n.mean())
        # of values with unlike noise each is measured in units of its own, so that all have the same
        units = np.append(np.sqrt(n / level) if level else np.ones(len(n)), np.ones(len(X)))[order]
        chain = made._replace(emission=made.emission / units[:, None])
        variances = np.append(level, steps.variances[1:])
        views = np.zeros((len(order), len(wanted), made.emission.shape[1]))
        for v, picked in enumerate(wanted):
            for block in steps.blocks if picked is None else [steps.blocks[t] for t in picked]:
                views[:, v, block] = made.emission[:, block]
        asked = np.argsort(order)[len(rows.X) :]
        means, spreads = [], np.zeros(0)
        for y in (rows.y - self.mean.center).T:
            padded = np.concatenate([y, np.full(len(X), np.nan)])[order] / units
            shown = smooth_scalar(chain, variances, padded, views)
            means.append(shown.means[asked])
            spreads = shown.variances[asked]
        stacked = np.stack(means, axis=-1)  # (M, V, Q)
        return [Moments(stacked[:, v], spreads[:, v]) for v in range(len(wanted))]
