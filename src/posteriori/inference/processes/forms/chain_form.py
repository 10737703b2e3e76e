r"""Processes over one column as chains: evidence, gradient and predictions in linear time.

Targets of noise :math:`n_iu` are divided by :math:`\sqrt{n_iu/n}`, so that all have the same noise n.
Slopes in the variances of noise and summands come from one pass back; those in lengths and other shapes
from differences of the pass forward.

Reference: J. Hartikainen & S. Särkkä, "Kalman filtering and smoothing solutions to temporal Gaussian
process regression models", 2010.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.processes.dense_process import Moments, noise_variances, solve_dense
from posteriori.inference.processes.forms.chain_terms import (
    ChainTerm,
    chain_terms,
    term_chain,
)
from posteriori.inference.processes.mean_effects import MeanEffects
from posteriori.inference.processes.noise_parts import noiseless, summands
from posteriori.inference.processes.process_rows import ProcessRows
from posteriori.inference.series.scalar_chain import (
    Entries,
    ScalarChain,
    filter_scalar,
    score_scalar,
    smooth_scalar,
)
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.types import Array

__all__ = ["ChainForm", "ChainProcess", "is_chain"]

#: Distinct inputs from which on a chain is faster than a matrix, and states up to which it is.
_WORTH, _MOST_STATES = 256, 16

#: Step of differences in logarithms.
_STEP = 1e-4


def is_chain(kernel: Kernel, rows: ProcessRows, mean: MeanEffects) -> bool:
    """Tell whether a chain is the faster way."""
    if rows.X.shape[1] != 1 or len(rows.X) < _WORTH:
        return False
    function = noiseless(kernel)
    terms = () if function is None else chain_terms(function)
    if terms is None:
        return False
    return _count_states(terms, rows.X[:1]) + mean.columns(rows.X[:1]).shape[1] <= _MOST_STATES


def _count_states(terms: tuple[ChainTerm, ...], X: Array) -> int:
    return sum(term.states * term.features(X).shape[1] for term in terms)


class _Steps(NamedTuple):
    """A chain along sorted points, and which of its states make which summand.

    Attributes
    ----------
    chain : ScalarChain
    emission : (T, D) or (1, D)
        Of the function.
    variances : (1 + C,)
        Of the noise and of the terms; that of the mean is 1, and the last.
    blocks : list of slice
        States of each term.
    """

    chain: ScalarChain
    emission: Array
    variances: Array
    blocks: list[slice]


class _Seen(NamedTuple):
    """A kernel as a chain sees it: terms, mean noise, and how the noise differs between rows."""

    terms: tuple[ChainTerm, ...]
    noise: float
    shape: Array

    def same_form(self, other: _Seen) -> bool:
        """Tell whether nothing but variances differs."""
        if not np.allclose(self.shape, other.shape, rtol=1e-9, atol=0.0):
            return False
        pairs = zip(self.terms, other.terms, strict=True)
        return all(a.moving == b.moving and a.static == b.static for a, b in pairs)

    @property
    def variances(self) -> Array:
        return np.array([self.noise, *(term.variance for term in self.terms)])


class ChainForm(NamedTuple):
    """A chain along the distinct inputs of one column."""

    rows: ProcessRows
    mean: MeanEffects
    absolute: bool

    @property
    def account(self) -> str:
        return f"chain along {len(self.rows.X)} distinct inputs, O(N)"

    def solve(self, kernel: Kernel) -> ChainProcess:
        seen = self._look(kernel)
        value = self._log_evidence(seen)
        return ChainProcess(kernel, self.rows, self.mean, self.absolute, value)

    def score(self, kernel: Kernel) -> tuple[float, Array]:
        seen, at = self._look(kernel), kernel.log_parameters
        value, slopes = self._slopes(seen)
        gradient = np.zeros(len(at))
        for j, step in enumerate(_STEP * np.eye(len(at))):
            up, down = (self._look(kernel.with_log_parameters(at + s)) for s in (step, -step))
            if seen.same_form(up):
                gradient[j] = slopes @ (up.variances - down.variances) / (2.0 * _STEP)
            else:
                rise = self._log_evidence(up) - self._log_evidence(down)
                gradient[j] = rise / (2.0 * _STEP)
        return value, gradient

    def _look(self, kernel: Kernel) -> _Seen:
        """Return what a kernel is on these rows."""
        function = noiseless(kernel)
        terms = () if function is None else chain_terms(function)
        assert terms is not None  # is_chain was asked
        n = noise_variances(kernel, self.rows.X, self.absolute)
        level = float(n.mean())
        return _Seen(terms, level, n / level if level else np.ones(len(n)))

    def _slopes(self, seen: _Seen) -> tuple[float, Array]:
        """Return ln p and its slopes in the variances of noise and terms."""
        order, steps, scale = _arrange(seen, self.rows, self.mean)
        value, slopes = self._constant(seen, scale), np.zeros(len(steps.variances))
        for y in (self.rows.y - self.mean.center)[order].T:
            score = score_scalar(steps.chain, steps.variances, y / scale)
            value += score.filtered.log_likelihood
            slopes += score.gradient
        noise = seen.noise * seen.shape
        slopes[0] += seen.shape @ self.rows.constant_slope(noise)
        return value, slopes[: 1 + len(seen.terms)]

    def _log_evidence(self, seen: _Seen) -> float:
        order, steps, scale = _arrange(seen, self.rows, self.mean)
        value = self._constant(seen, scale)
        for y in (self.rows.y - self.mean.center)[order].T:
            value += filter_scalar(steps.chain, steps.variances, y / scale).log_likelihood
        return value

    def _constant(self, seen: _Seen, scale: Array) -> float:
        """Return what scaled targets and those with equal inputs add."""
        outputs = self.rows.y.shape[1]
        constant = self.rows.log_constant(seen.noise * seen.shape)
        return constant - outputs * float(np.log(scale).sum())


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
        made = self._shown(X, [None])[0]
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

    def _shown(self, X: Array, wanted: list[Any]) -> list[Moments]:
        """Return moments of sums of terms at points; None is the sum of all."""
        form = ChainForm(self.rows, self.mean, self.absolute)
        order, steps, scale = _arrange(form._look(self.kernel), self.rows, self.mean, X)
        views = np.zeros((len(order), len(wanted), steps.emission.shape[1]))
        for v, terms in enumerate(wanted):
            blocks = steps.blocks if terms is None else [steps.blocks[t] for t in terms]
            for block in blocks:
                views[:, v, block] = steps.emission[:, block]
        asked = np.argsort(order)[len(self.rows.X) :]
        means, variances = [], np.zeros(0)
        for y in (self.rows.y - self.mean.center).T:
            padded = np.concatenate([y, np.full(len(X), np.nan)])[order] / scale
            shown = smooth_scalar(steps.chain, steps.variances, padded, views)
            means.append(shown.means[asked])
            variances = shown.variances[asked]
        stacked = np.stack(means, axis=-1)  # (M, V, Q)
        return [Moments(stacked[:, v], variances[:, v]) for v in range(len(wanted))]


def _arrange(
    seen: _Seen, rows: ProcessRows, mean: MeanEffects, new: Array | None = None
) -> tuple[Array, _Steps, Array]:
    """Return the order of rows and of further points, the chain along them, and units of the targets."""
    X = rows.X if new is None else np.vstack([rows.X, new])
    units = np.concatenate([np.sqrt(seen.shape / rows.weight), np.ones(len(X) - len(rows.X))])
    order = np.argsort(X[:, 0], kind="stable")
    scale = units[order]
    return order, _make_chain(seen, X[order], scale, mean), scale


def _make_chain(seen: _Seen, X: Array, scale: Array, mean: MeanEffects) -> _Steps:
    """Return the chain of all terms along sorted points."""
    gaps = np.diff(X[:, 0])
    features = [term.features(X) for term in seen.terms] + [mean.columns(X)]
    chains = [term_chain(term.moving, gaps) for term in seen.terms] + [term_chain((), gaps)]
    if not features[-1].shape[1]:
        features, chains = features[:-1], chains[:-1]
    emission, blocks, moves, noises, starts = [], [], [], [], []
    first = 0
    for part, (columns, chain) in enumerate(zip(features, chains, strict=True), start=1):
        size, begin = len(chain.initial_cov), first
        for column in columns.T:
            emission += [column, *[np.zeros(1)] * (size - 1)]
            moves.append((first, part, chain.transition))
            if chain.noise_cov.any():
                noises.append((first, part, chain.noise_cov))
            starts.append((first, part, chain.initial_cov[None]))
            first += size
        blocks.append(slice(begin, first))
    seen_by = _side_by_side(emission)
    transition, _ = _entries(moves, len(gaps))
    noise, parts = _entries(noises, len(gaps))
    start, start_parts = _entries(starts, 1)
    scalar = ScalarChain(
        emission=seen_by if (scale == 1.0).all() else seen_by / scale[:, None],
        transition=transition,
        noise=noise,
        parts=parts,
        initial_mean=np.zeros(first),
        initial_cov=np.zeros((first, first)),
        start=start,
        start_parts=start_parts,
        diffuse=np.zeros(first, dtype=bool),
    )
    variances = np.append(seen.variances, np.ones(len(features) - len(seen.terms)))
    return _Steps(scalar, seen_by, variances, blocks)


def _side_by_side(columns: list[Array]) -> Array:
    """Return columns (T,), or (1,) of one number for all, as a matrix with as few rows as it needs."""
    if not columns:
        return np.zeros((1, 0))
    return np.stack(np.broadcast_arrays(*columns), axis=1)


def _entries(blocks: list[tuple[int, int, Array]], steps: int) -> tuple[Entries, Array]:
    """Return blocks (T, D, D) along the diagonal as entries, and to which part each belongs."""
    rows, columns, parts, weights = [], [], [], []
    for first, part, values in blocks:
        size = values.shape[-1]
        i, j = np.divmod(np.arange(size * size), size)
        rows.append(first + i)
        columns.append(first + j)
        parts.append(np.full(size * size, part))
        weights.append(values.reshape(len(values), -1))
    if not blocks:
        empty = np.zeros(0, dtype=np.int64)
        return Entries(empty, empty, np.zeros((max(steps, 1), 0))), empty
    made = Entries(np.concatenate(rows), np.concatenate(columns), np.hstack(weights))
    return made, np.concatenate(parts)
