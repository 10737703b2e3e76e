r"""Series of numbers as chains: likelihood, its slope in the scales, last state, smoothed parts.

.. math:: y_t = z_t^\top a_t + \varepsilon_t, \quad \varepsilon_t \sim N(0, v_0), \qquad
          a_{t+1} = T_t a_t + \eta_t, \quad \eta_t \sim N\Big(0, \sum_p v_p W_{pt}\Big),

with sparse :math:`T_t, W_{pt}` and variances :math:`v` of the parts. Start values without a prior are
regressed on: with :math:`V` their columns among the innovations and F the spreads,

.. math:: \lim_{\kappa\to\infty} \ln p(y) + \tfrac d2\ln\kappa = -\tfrac12\Big[n\ln 2\pi +
          \sum_t\ln F_t + \ln|V^\top F^{-1}V| + \min_\delta (v+V\delta)^\top F^{-1}(v+V\delta)\Big].

References: P. de Jong, "The diffuse Kalman filter", 1991; S. J. Koopman & N. Shephard, "Exact score
for time series models in state space form", 1992.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.series.pair_recursions import filter_forward_pair
from posteriori.inference.series.scalar_recursions import (
    filter_forward_scalar,
    smooth_backward_scalar,
)
from posteriori.numerics.lazy import lapack
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "Entries",
    "FilteredSeries",
    "NO_ENTRIES",
    "ScalarChain",
    "SeriesScore",
    "SmoothedSeries",
    "filter_scalar",
    "score_scalar",
    "smooth_scalar",
]

#: Start values of which the data say less than this, relative to their own sum, are not determined.
_UNSEEN = 1e-11
#: From so many steps on two states have a pass of their own, which takes matrices, not entries.
_LONG = 1000


class Entries(NamedTuple):
    """Entries of a sparse matrix, which may differ from step to step.

    Attributes
    ----------
    rows, columns : (E,)
    weights : (1, E) or (T, E)
        Row t is that of the step from t to t + 1.
    """

    rows: IntArray
    columns: IntArray
    weights: Array

    def dense(self, size: int, t: int, factors: Array | float = 1.0) -> Array:
        """Return the matrix of a step, (size, size), its entries times ``factors``."""
        made = np.zeros((size, size))
        weights = self.weights[t if len(self.weights) > 1 else 0]
        np.add.at(made, (self.rows, self.columns), factors * weights)
        return made


#: A matrix of zeros.
NO_ENTRIES = Entries(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((1, 0)))


class ScalarChain(NamedTuple):
    """A chain that is seen through one number a step.

    Attributes
    ----------
    emission : (1, D) or (T, D)
    transition : Entries
    noise : Entries
        Of the W of all parts.
    parts : (Q,)
        To which part each entry of the noise belongs, 1, 2, …; part 0 is the noise of observations.
    initial_mean, initial_cov : (D,), (D, D)
        Of the state at the first step.
    start : Entries
        What is added to that covariance, times the variance of a part: starts in equilibrium.
    start_parts : (E,)
    diffuse : (D,) of bool
        States to which a start value without a prior is added.
    """

    emission: Array
    transition: Entries
    noise: Entries
    parts: IntArray
    initial_mean: Array
    initial_cov: Array
    start: Entries
    start_parts: IntArray
    diffuse: Array

    @property
    def arrays(
        self,
    ) -> tuple[Array, IntArray, IntArray, Array, IntArray, IntArray, IntArray, Array]:
        """Emission, transition and noise, as the passes take them."""
        noise = self.noise
        rest = noise.rows, noise.columns, self.parts, noise.weights
        return self.emission, *self.transition, *rest

    def start_cov(self, variances: Array) -> Array:
        """Return the covariance of the first state, for variances of the parts."""
        cov = np.array(self.initial_cov, dtype=np.float64)
        added = self.start.weights[0] * variances[self.start_parts]
        np.add.at(cov, (self.start.rows, self.start.columns), added)
        return cov


class FilteredSeries(NamedTuple):
    """What each value looked like from the ones before it.

    Attributes
    ----------
    n_observed : int
        How many values were observed.
    innovations, spreads : (T,), (T,)
        y_t − E[y_t | past] (of gaps: −E) and Var[y_t | past]; with start values without a prior these
        are given their estimates.
    log_volume : float
        Σ ln F_t over observed values, and ln |VᵀF⁻¹V|.
    quadratic : float
        Σ v_t²/F_t.
    mean, cov : (D,), (D, D)
        Of the state at the last step, given all values.
    """

    n_observed: int
    innovations: Array
    spreads: Array
    log_volume: float
    quadratic: float
    mean: Array
    cov: Array

    @property
    def log_likelihood(self) -> float:
        """Ln p(y), or its limit."""
        return -0.5 * (self.n_observed * LOG_2PI + self.log_volume + self.quadratic)


class SeriesScore(NamedTuple):
    """A likelihood and its slopes in the variances of parts.

    Attributes
    ----------
    filtered : FilteredSeries
    fit : (P,)
        −∂ quadratic / ∂ v_p.
    complexity : (P,)
        ∂ log_volume / ∂ v_p.
    """

    filtered: FilteredSeries
    fit: Array
    complexity: Array

    @property
    def gradient(self) -> Array:
        """∂ ln p(y) / ∂ v_p, (P,)."""
        return 0.5 * (self.fit - self.complexity)


class SmoothedSeries(NamedTuple):
    """Views of the states given all values: means and variances, (T, V)."""

    filtered: FilteredSeries
    means: Array
    variances: Array


class _Forward(NamedTuple):
    """What the pass forward leaves behind, columns for start values not yet resolved."""

    innovations: Array
    spreads: Array
    gains: Array
    mean: Array
    cov: Array
    seen: Array
    reaches: Array


def filter_scalar(chain: ScalarChain, variances: Array, y: Array) -> FilteredSeries:
    """Return predictions of each value from earlier ones, and the last state; O(T·D·(D + E)).

    Parameters
    ----------
    chain : ScalarChain
    variances : (P,)
    y : (T,)
        NaN is missing.

    Raises
    ------
    ValueError
        When the values do not determine the start values that have no prior.

    Examples
    --------
    >>> one = Entries(np.zeros(1, int), np.zeros(1, int), np.ones((1, 1)))
    >>> level = ScalarChain(
    ...     emission=np.ones((1, 1)),
    ...     transition=one,
    ...     noise=one,
    ...     parts=np.ones(1, int),
    ...     initial_mean=np.zeros(1),
    ...     initial_cov=np.eye(1),
    ...     start=NO_ENTRIES,
    ...     start_parts=np.zeros(0, int),
    ...     diffuse=np.array([True]),
    ... )
    >>> done = filter_scalar(level, np.array([1.0, 0.5]), np.array([1.0, np.nan, 2.0, 2.5]))
    >>> round(done.log_likelihood, 6), done.mean.round(6), done.cov.round(6)
    (-4.01964, array([2.115385]), array([[0.538462]]))
    """
    forward = _run_forward(chain, variances, y, np.empty((0, 0, len(chain.initial_mean))))
    return _resolve(forward, y)


def score_scalar(chain: ScalarChain, variances: Array, y: Array) -> SeriesScore:
    """Return the likelihood and its slopes, by smoothed disturbances.

    Parameters
    ----------
    chain, variances, y
        As of :func:`filter_scalar`.
    """
    forward = _run_forward(chain, variances, y, np.empty((0, 0, len(chain.initial_mean))))
    filtered = _resolve(forward, y)
    fit, complexity = np.zeros(len(variances)), np.zeros(len(variances))
    _run_backward(chain, y, forward, fit, complexity, np.empty((len(y), 0)))
    return SeriesScore(filtered, fit, complexity)


def smooth_scalar(chain: ScalarChain, variances: Array, y: Array, views: Array) -> SmoothedSeries:
    """Return what views show of the states, given all values.

    Parameters
    ----------
    chain, variances, y
        As of :func:`filter_scalar`.
    views : (1, V, D) or (T, V, D)
        Weights of the states; the identity shows the states themselves.
    """
    forward = _run_forward(chain, variances, y, np.ascontiguousarray(views, dtype=np.float64))
    filtered = _resolve(forward, y)
    shown = np.broadcast_to(views, (len(y), *views.shape[1:]))
    spread = np.einsum("tvi,tvi->tv", forward.reaches, shown)  # wᵀPw
    fit, complexity = np.zeros(len(variances)), np.zeros(len(variances))
    _run_backward(chain, y, forward, fit, complexity, spread)
    return SmoothedSeries(filtered, forward.seen[:, :, 0], np.maximum(spread, 0.0))


def _run_forward(chain: ScalarChain, variances: Array, y: Array, views: Array) -> _Forward:
    unknown = np.flatnonzero(chain.diffuse)
    size, many, steps = len(chain.initial_mean), 1 + len(unknown), len(y)
    mean = np.zeros((size, many))
    mean[:, 0] = chain.initial_mean
    mean[unknown, np.arange(1, many)] = 1.0
    made = _Forward(
        innovations=np.empty((steps, many)),
        spreads=np.empty(steps),
        gains=np.empty((steps, size)),
        mean=mean,
        cov=chain.start_cov(variances),
        seen=np.empty((steps, views.shape[1], many)),
        reaches=np.empty((steps, views.shape[1], size)),
    )
    if size == 2 and many == 1 and not len(views) and steps >= _LONG:
        matrices = chain.emission, *_as_pairs(chain, variances)
        kept_here = made.innovations, made.spreads, made.gains
        filter_forward_pair(*matrices, float(variances[0]), y, made.mean, made.cov, *kept_here)
        return made
    states = made.mean, made.cov, np.empty((max(size, 2), max(size, many)))
    kept = made.innovations, made.spreads, made.gains, made.seen, made.reaches
    filter_forward_scalar(*chain.arrays, variances, y, views, *states, *kept)
    return made


def _as_pairs(chain: ScalarChain, variances: Array) -> tuple[Array, Array, float]:
    """Return transitions, and covariances of noise up to a common factor, as rows of four entries."""
    noise, factors = chain.noise, variances[chain.parts]
    if len(factors) and (factors == factors[0]).all():
        return _four_entries(chain.transition), _four_entries(noise), float(factors[0])
    scaled = noise._replace(weights=noise.weights * factors)
    return _four_entries(chain.transition), _four_entries(scaled), 1.0


def _four_entries(entries: Entries) -> Array:
    places = 2 * entries.rows + entries.columns
    if np.array_equal(places, np.arange(4)):
        return entries.weights
    made = np.zeros((len(entries.weights), 4))
    for e, place in enumerate(places):
        made[:, place] += entries.weights[:, e]
    return made


def _resolve(forward: _Forward, y: Array) -> FilteredSeries:
    """Give start values without a prior their estimates, and whiten their columns."""
    gaps = np.isnan(y)
    observed: Any = ~gaps if gaps.any() else slice(None)
    spreads, cov = forward.spreads[observed], forward.cov
    log_volume = float(np.log(spreads).sum())
    if forward.mean.shape[1] > 1:
        v = forward.innovations[observed]
        moments = (v / spreads[:, None]).T @ v
        root = _root_of_precision(moments[1:, 1:])
        estimate = -lapack.dpotrs(root, moments[1:, 0], lower=1)[0]
        for columns in (forward.innovations, forward.mean, forward.seen):
            columns[..., 0] += columns[..., 1:] @ estimate
            columns[..., 1:] = _whiten(root, columns[..., 1:])
        log_volume += 2.0 * float(np.log(root.diagonal()).sum())
        cov = cov + forward.mean[:, 1:] @ forward.mean[:, 1:].T
    first = forward.innovations[:, 0]
    v = first[observed]
    quadratic = float((v / spreads) @ v)
    state = forward.mean[:, 0], cov
    return FilteredSeries(len(v), first, forward.spreads, log_volume, quadratic, *state)


def _root_of_precision(precision: Array) -> Array:
    """Return L of VᵀF⁻¹V = LLᵀ."""
    root, failed = lapack.dpotrf(precision, lower=1, clean=1)
    if failed or not (root.diagonal() ** 2 > _UNSEEN * precision.diagonal()).all():
        raise ValueError(
            f"the series does not determine all {len(precision)} start values; give it more values, or "
            "start values a prior (initial='proper')"
        )
    return root


def _whiten(root: Array, columns: Array) -> Array:
    """Return columns L⁻ᵀ."""
    if not columns.size:
        return columns
    flat = columns.reshape(-1, columns.shape[-1]).T
    return lapack.dtrtrs(root, flat, lower=1)[0].T.reshape(columns.shape)


def _run_backward(
    chain: ScalarChain,
    y: Array,
    forward: _Forward,
    fit: Array,
    complexity: Array,
    seen_variances: Array,
) -> None:
    size, many = forward.mean.shape
    pull, precision = np.zeros((size, many)), np.zeros((size, size))
    states = pull, precision, np.empty((max(size, 2), max(size, many)))
    seen = forward.innovations, forward.spreads, forward.gains, forward.reaches
    sums = fit, complexity, forward.seen, seen_variances
    smooth_backward_scalar(*chain.arrays, y, *seen, *states, *sums)
    if len(chain.start_parts):
        i, j, weights = chain.start.rows, chain.start.columns, chain.start.weights[0]
        held = precision - pull[:, 1:] @ pull[:, 1:].T
        np.add.at(fit, chain.start_parts, weights * pull[i, 0] * pull[j, 0])
        np.add.at(complexity, chain.start_parts, weights * held[i, j])
