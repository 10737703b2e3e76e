r"""Automatic relevance determination: a prior variance of highest evidence for every column.

With :math:`w_j \sim N(0, \sigma^2u_j)` and the noise at its best, the evidence is

.. math:: L(u) = -\tfrac n2\ln q - \tfrac12\ln|C| + \text{const},\qquad
          C = I + XUX^T,\quad q = y^TC^{-1}y.

In one coordinate its maximum has a closed form. Let s, p and q₋ be :math:`x_j^TC^{-1}x_j`,
:math:`x_j^TC^{-1}y` and :math:`y^TC^{-1}y` without column j, and a = p²/s: then
:math:`1 + u_js = (n-1)a/(q_- - a)` where that is above 1, and otherwise the column is pruned. Sweeps
over the columns settle who stays; Newton's method in :math:`\ln u` finishes. Where the noise is known, 1,
the evidence is :math:`-\tfrac12q - \tfrac12\ln|C|`, and :math:`1 + u_js = a`.

Where the columns can fit the targets perfectly (no fewer columns than rows), that evidence has no
maximum: it rises without end as columns join and the noise vanishes. Then sets of columns have a
prior, by which all numbers k of columns are equally probable and all sets of k are,

.. math:: \max_u\ L(u) - \ln\binom Dk,\qquad k = \#\{j: u_j > 0\},

and the climb begins with no column: the next one must gain :math:`\ln\frac{D-k}{k+1}` nats, which
the luckiest of D useless columns does not. It ends at a maximum far from that of no noise.

Reference: M. Tipping & A. Faul, "Fast marginal likelihood maximisation for sparse Bayesian models",
2003; D. Wipf & S. Nagarajan, "A new view of automatic relevance determination", 2008; J. Scott &
J. Berger, "Bayes and empirical-Bayes multiplicity adjustment in the variable-selection problem",
Annals of Statistics 38, 2010.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.lazy import scipy_linalg
from posteriori.numerics.rank import factor_definite
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["Relevance", "RelevanceProblem", "find_relevance", "prices_of_columns"]

#: Rounds at most; then it is said that the ascent did not converge.
_MOST_ROUNDS = 1000

#: Sweeps over the columns before each Newton step.
_SWEEPS_PER_ROUND = 2

#: A round that gains less than this in log evidence, with slopes below the next, is the last.
_GAIN = 1e-11

#: Slopes of the log evidence that count as 0.
_SLOPE = 1e-7


class RelevanceProblem(NamedTuple):
    """What the data say about the columns.

    Attributes
    ----------
    factor : (K, D)
        F, of scaled columns.
    target : (K,)
    rest : float
        Misfit that no columns can remove.
    rows : float
    log_constant : float
    prices : (D,)
        What a column must gain in log evidence to join k = 0, 1, … others.
    known_noise : bool
        Whether the noise has the variance 1; otherwise it is at its best.
    """

    factor: Array
    target: Array
    rest: float
    rows: float
    log_constant: float
    prices: Array
    known_noise: bool = False


class Relevance(NamedTuple):
    """Prior variances of highest evidence.

    Attributes
    ----------
    variances : (D,)
        u, in units of the noise variance; 0 for pruned columns.
    noise_precision : float
        β.
    log_evidence : float
    n_iter : int
    converged : bool
    """

    variances: Array
    noise_precision: float
    log_evidence: float
    n_iter: int
    converged: bool


class _State(NamedTuple):
    """What the columns say at u: no matrix has D rows and D columns.

    Attributes
    ----------
    columns : (K + M, D)
        G with GᵀG = XᵀC⁻¹X, whose columns are made when they are needed; M columns stay.
    inner : (D,)
        s, the diagonal of XᵀC⁻¹X.
    outer : (D,)
        h = XᵀC⁻¹y.
    misfit : float
        q = yᵀC⁻¹y.
    height : float
        The log evidence, less what the columns cost.
    """

    columns: Array
    inner: Array
    outer: Array
    misfit: float
    height: float


def prices_of_columns(d: int) -> Array:
    """Return what each further of D columns costs: ln C(D, k+1) − ln C(D, k), and at least 0."""
    k = np.arange(d)
    return np.maximum(np.log((d - k) / (k + 1.0)), 0.0)


def find_relevance(
    problem: RelevanceProblem, start: Array, rounds: int = _MOST_ROUNDS
) -> Relevance:
    """Climb the evidence from prior variances ``start`` (D,), for so many rounds at most.

    Warns
    -----
    ConvergenceWarning
        When variances still move after all rounds that there may be; who asks for fewer goes on later.
    """
    u, state = start.copy(), _evaluate(problem, start)
    for n_iter in range(1, rounds + 1):
        before = state.height
        for _ in range(_SWEEPS_PER_ROUND):
            u = _sweep(problem, u, state)
            state = _evaluate(problem, u)
        u, state = _newton(problem, u, state)
        if state.height - before < _GAIN * max(1.0, abs(before)) and _settled(problem, u, state):
            return _finish(problem, u, state, n_iter, True)
    if rounds == _MOST_ROUNDS:
        warnings.warn(
            f"relevances still move after {n_iter} rounds. Drop columns that repeat one another.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return _finish(problem, u, state, n_iter, False)


def _finish(
    problem: RelevanceProblem, u: Array, state: _State, n_iter: int, converged: bool
) -> Relevance:
    log_evidence = state.height + _cost(problem, u)
    return Relevance(u, _precision(problem, state.misfit), log_evidence, n_iter, converged)


def _precision(problem: RelevanceProblem, misfit: float) -> float:
    """Return the noise precision, known or at its best: how much the misfit weighs."""
    return 1.0 if problem.known_noise else problem.rows / misfit


def _cost(problem: RelevanceProblem, u: Array) -> float:
    """Return what the columns that stay cost together."""
    return float(problem.prices[: np.count_nonzero(u)].sum())


def _evaluate(problem: RelevanceProblem, u: Array) -> _State:
    """Recompute everything from u, so that rank-one updates cannot drift."""
    f, kept = problem.factor, u > 0
    # C = I + QS²Qᵀ: along Q it is 1 + s², and beside Q it is 1
    q, s, _ = scipy_linalg.svd(f[:, kept] * np.sqrt(u[kept]), full_matrices=False)
    both = np.column_stack([f, problem.target])
    along = q.T @ both
    solved = np.concatenate([along / np.hypot(1.0, s)[:, None], both - q @ along])
    columns, target = solved[:, :-1], solved[:, -1]
    misfit = problem.rest + float(target @ target)
    log_det = 2.0 * float(np.log(np.hypot(1.0, s)).sum())
    n = problem.rows
    fit = misfit if problem.known_noise else n * (LOG_2PI + np.log(misfit / n) + 1.0)
    height = -0.5 * fit - 0.5 * log_det + problem.log_constant - _cost(problem, u)
    inner = np.einsum("kd,kd->d", columns, columns)
    return _State(columns, inner, columns.T @ target, misfit, float(height))


def _sweep(problem: RelevanceProblem, u: Array, state: _State) -> Array:
    """Maximise over one column after the other, with rank-one updates of G, s, h and q."""
    columns, inner, outer = state.columns.copy(), state.inner.copy(), state.outer.copy()
    misfit = state.misfit
    new, kept = u.copy(), int(np.count_nonzero(u))
    for j in _order(problem, state):
        s_in, p_in = inner[j], outer[j]
        if not s_in > 0:
            continue
        without = 1.0 - new[j] * s_in  # 1/(1 + us)
        if not without > 0:
            continue
        s, p = s_in / without, p_in / without
        q = misfit + new[j] * p_in**2 / without
        explained = p**2 / s
        grown = _growth(problem, explained, q)
        best = (grown - 1.0) / s if grown > 1.0 else 0.0
        if not np.isfinite(best):
            continue
        kept -= int(new[j] > 0.0)
        if best > 0.0 and problem.prices[kept] > 0.0:
            best = best if _gain(problem, grown, explained, q) > problem.prices[kept] else 0.0
        kept += int(best > 0.0)
        change = best - new[j]
        if change == 0.0:
            continue
        growth = (1.0 + best * s) * without
        share, own = change / growth, columns[:, j].copy()
        column = own @ columns  # of XᵀC⁻¹X
        outer -= share * p_in * column
        misfit -= share * p_in**2
        inner -= share * column**2
        # (I − θ ggᵀ)² = I − share ggᵀ with θ = (1 − growth^(−½))/s
        columns -= np.outer((1.0 - growth**-0.5) / s_in * own, column)
        new[j] = best
    return new


def _growth(problem: RelevanceProblem, explained: float, misfit: float) -> float:
    """Return 1 + us of highest evidence for a column that explains a of the misfit without it."""
    if problem.known_noise:
        return explained
    if misfit <= explained:
        return np.inf
    return (problem.rows - 1.0) * explained / (misfit - explained)


def _gain(problem: RelevanceProblem, grown: float, explained: float, misfit: float) -> float:
    """Return L(u) − L(0) of a column: −½n ln(1 − (1 − 1/g)a/q) − ½ ln g, with g = 1 + us."""
    share = (1.0 - 1.0 / grown) * explained
    fit = -share if problem.known_noise else problem.rows * np.log1p(-share / misfit)
    return float(-0.5 * fit - 0.5 * np.log(grown))


def _order(problem: RelevanceProblem, state: _State) -> Any:
    """Return the columns in turn; those that explain most first, where joining has a price."""
    if not problem.prices.any():
        return range(len(problem.prices))
    scale = np.where(state.inner > 0.0, state.inner, 1.0)
    return np.argsort(-(state.outer**2) / scale, kind="stable")


def _slopes(problem: RelevanceProblem, state: _State) -> Array:
    """Return ∂L/∂u = ½ βh² − ½ s, where β = n/q if the noise is at its best."""
    return 0.5 * _precision(problem, state.misfit) * state.outer**2 - 0.5 * state.inner


def _newton(problem: RelevanceProblem, u: Array, state: _State) -> tuple[Array, _State]:
    """Take Newton steps in ln u of the columns that stay, as long as they climb.

    At a maximum no more columns stay than there are rows.
    """
    kept = u > 0
    for _ in range(20 if 0 < kept.sum() <= len(problem.factor) else 0):
        v, h, columns = u[kept], state.outer[kept], state.columns[:, kept]
        inner = columns.T @ columns
        slope = v * _slopes(problem, state)[kept]
        beta = _precision(problem, state.misfit)
        hessian = -beta * np.outer(h, h) * inner
        if not problem.known_noise:  # β moves with q
            pull = beta * h**2
            hessian += 0.5 / problem.rows * np.outer(pull, pull)
        hessian = np.outer(v, v) * (hessian + 0.5 * inner**2) + np.diag(slope)
        try:
            root = factor_definite(-hessian)
        except np.linalg.LinAlgError:
            return u, state
        step = np.linalg.solve(root.T, np.linalg.solve(root, slope))
        if np.abs(step).max() > 1.0:
            return u, state
        trial = u.copy()
        trial[kept] = v * np.exp(step)
        reached = _evaluate(problem, trial)
        if reached.height < state.height:
            return u, state
        u, state = trial, reached
        if np.abs(step).max() < 1e-12:
            break
    return u, state


def _settled(problem: RelevanceProblem, u: Array, state: _State) -> bool:
    """Tell whether the slopes vanish for columns that stay and do not rise for pruned ones.

    Where columns have a price, a rise may be worth less: sweeps have seen that.
    """
    slopes = _slopes(problem, state)
    rising = slopes[u == 0] > _SLOPE * state.inner[u == 0]
    free = not problem.prices.any()
    return bool(np.all(np.abs(u * slopes)[u > 0] < _SLOPE) and not (free and rising.any()))
