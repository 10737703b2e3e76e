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

from posteriori.inference.series.kalman_filter import (
    Dynamics,
    Predicted,
    State,
    filter_series_forward,
)
from posteriori.inference.series.kalman_pair import filter_pair_forward
from posteriori.inference.series.kalman_smoother import Later, NoiseSums, smooth_series_backward
from posteriori.numerics.lazy import lapack
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "Entries",
    "FilteredSeries",
    "NO_ENTRIES",
    "PassedForward",
    "ScalarChain",
    "SeriesScore",
    "SmoothedSeries",
    "filter_scalar",
    "filter_workspace",
    "nothing_later",
    "pass_forward",
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

    def dynamics(self, variance: Array, variances: Array) -> Dynamics:
        """Return what the passes take, for variances of observations, (1,) or (T,), and of the parts."""
        noise = self.noise
        of_noise = noise.rows, noise.columns, noise.weights, self.parts
        return Dynamics(self.emission, variance, *self.transition, *of_noise, variances)

    def start_cov(self, variances: Array) -> Array:
        """Return the covariance of the first state, for variances of the parts."""
        cov = np.array(self.initial_cov, dtype=np.float64)
        if len(self.start_parts):
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


class PassedForward(NamedTuple):
    """What a pass forward leaves behind."""

    chain: Dynamics
    series: Array
    filtered: Predicted
    last: State


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
    return _resolve(_run_forward(chain, variances, y, _no_views(chain), gains=False), y)


def score_scalar(chain: ScalarChain, variances: Array, y: Array) -> SeriesScore:
    """Return the likelihood and its slopes, by smoothed disturbances.

    Parameters
    ----------
    chain, variances, y
        As of :func:`filter_scalar`.
    """
    forward = _run_forward(chain, variances, y, _no_views(chain))
    filtered = _resolve(forward, y)
    return SeriesScore(filtered, *_run_backward(chain, forward, np.empty((len(y), 0))))


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
    filtered, (_, _, _, seen, reaches) = _resolve(forward, y), forward.filtered
    shown = np.broadcast_to(views, (len(y), *views.shape[1:]))
    spread = np.einsum("tvi,tvi->tv", reaches, shown)  # wᵀPw
    _run_backward(chain, forward, spread)
    return SmoothedSeries(filtered, seen[:, :, 0], np.maximum(spread, 0.0))


def _no_views(chain: ScalarChain) -> Array:
    return np.empty((0, 0, len(chain.initial_mean)))


def _run_forward(
    chain: ScalarChain, variances: Array, y: Array, views: Array, *, gains: bool = True
) -> PassedForward:
    """Filter a series beside start values without a prior, which have no values but a state each."""
    unknown = np.flatnonzero(chain.diffuse)
    size, many = len(chain.initial_mean), 1 + len(unknown)
    mean, series = np.zeros((size, many)), np.zeros((len(y), many))
    mean[:, 0], series[:, 0] = chain.initial_mean, y
    mean[unknown, np.arange(1, many)] = 1.0
    dynamics = chain.dynamics(variances[:1], variances)
    workspace = filter_workspace(len(y), size, many, views.shape[1], gains)
    return pass_forward(dynamics, series, mean, chain.start_cov(variances), views, workspace)


def filter_workspace(
    steps: int, size: int, many: int, views: int = 0, gains: bool = True
) -> Predicted:
    """Return a workspace for T steps of D states, C columns and V views, with or without all gains."""
    innovations, all_gains = np.empty((steps, many)), np.empty((steps if gains else 1, size))
    seen, reaches = np.empty((steps, views, many)), np.empty((steps, views, size))
    return Predicted(innovations, np.empty(steps), all_gains, seen, reaches)


def pass_forward(
    chain: Dynamics, series: Array, mean: Array, cov: Array, views: Array, workspace: Predicted
) -> PassedForward:
    """Filter series from the state before their first values; O(T·D·(D + E)).

    Parameters
    ----------
    chain : Dynamics
    series : (T, C)
        A row whose first value is NaN is a gap.
    mean, cov : (D, C), (D, D)
        Turned into those of the state at the last step.
    views : (0, 1 or T, V, D)
        Weights of states: of what they show of each state before its value, moments are kept.
    workspace : Predicted
        Filled in, as far as the series goes.
    """
    (steps, many), size = series.shape, len(mean)
    state = State(mean, cov, np.zeros((size + 1, max(size, many))))
    if size == 2 and many == 1 and steps >= _LONG and len(views) == 0 and len(chain.variance) == 1:
        filter_pair_forward(_as_pairs(chain), series[:, 0], state, workspace)
    else:
        filter_series_forward(chain, series, views, state, workspace)
    return PassedForward(chain, series, workspace, state)


def _as_pairs(chain: Dynamics) -> Dynamics:
    """Return a chain of two states whose matrices have all four entries, that of noise up to one variance."""
    rows, columns, parts = chain.noise_rows, chain.noise_columns, chain.noise_parts
    weights, variances = chain.noise_weights, chain.variances
    if not len(parts) or (variances[parts] != variances[parts[0]]).any():
        weights = weights * variances[parts]
        parts, variances = np.zeros(1, dtype=np.int64), np.ones(1)
    return chain._replace(
        weights=_four_entries(chain.rows, chain.columns, chain.weights),
        noise_weights=_four_entries(rows, columns, weights),
        noise_parts=parts,
        variances=variances,
    )


def _four_entries(rows: IntArray, columns: IntArray, weights: Array) -> Array:
    places = 2 * rows + columns
    if np.array_equal(places, np.arange(4)):
        return weights
    made = np.zeros((len(weights), 4))
    for e, place in enumerate(places):
        made[:, place] += weights[:, e]
    return made


def _resolve(forward: PassedForward, y: Array) -> FilteredSeries:
    """Give start values without a prior their estimates, and whiten their columns."""
    gaps = np.isnan(y)
    observed: Any = ~gaps if gaps.any() else slice(None)
    innovations, spreads, _, seen, _ = forward.filtered
    mean, cov, _ = forward.last
    log_volume = float(np.log(spreads[observed]).sum())
    if mean.shape[1] > 1:
        v = innovations[observed]
        moments = (v / spreads[observed, None]).T @ v
        root = _root_of_precision(moments[1:, 1:])
        estimate = -lapack.dpotrs(root, moments[1:, 0], lower=1)[0]
        for columns in (innovations, mean, seen):
            columns[..., 0] += columns[..., 1:] @ estimate
            columns[..., 1:] = _whiten(root, columns[..., 1:])
        log_volume += 2.0 * float(np.log(root.diagonal()).sum())
        cov = cov + mean[:, 1:] @ mean[:, 1:].T
    first = innovations[:, 0]
    v = first[observed]
    quadratic = float((v / spreads[observed]) @ v)
    return FilteredSeries(len(v), first, spreads, log_volume, quadratic, mean[:, 0], cov)


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
    chain: ScalarChain, forward: PassedForward, seen_variances: Array
) -> tuple[Array, Array]:
    """Turn what was seen into what all values say; return fit and complexity of each part."""
    dynamics, series, filtered, last = forward
    size, many = last.mean.shape
    fit, complexity = np.zeros((2, len(dynamics.variances)))
    later, sums = nothing_later(size, many), NoiseSums(fit, complexity, seen_variances)
    smooth_series_backward(dynamics, series, filtered, 1, 1.0, later, sums, None)
    if len(chain.start_parts):
        i, j, weights = chain.start.rows, chain.start.columns, chain.start.weights[0]
        pull = later.pull
        held = later.precision - pull[:, 1:] @ pull[:, 1:].T
        np.add.at(fit, chain.start_parts, weights * pull[i, 0] * pull[j, 0])
        np.add.at(complexity, chain.start_parts, weights * held[i, j])
    return fit, complexity


def nothing_later(size: int, many: int) -> Later:
    """Return what is known of D states, in C columns, after the last value."""
    wide = max(size, many)
    work, zeros = np.empty((max(size, 3), wide)), np.zeros((size + 1, wide))
    return Later(np.zeros((size, many)), np.zeros((size, size)), work, zeros)
