r"""Normal rows with gaps (NaN): densities of what is seen, moments and draws of what is not.

With a precision Λ and the deviations d = x − m of the entries that are seen (o) or missing (m),

.. math:: \ln\!\int\! e^{c - \frac12 d^T\Lambda d}\,dx_m
          = c + \tfrac{D_m}2\ln 2\pi - \tfrac12\ln|\Lambda_{mm}| - \tfrac12\hat d^T\Lambda\hat d,
          \qquad \hat d_m = -\Lambda_{mm}^{-1}\Lambda_{mo}d_o,

and given what is seen the missing entries are :math:`\mathcal N(m_m + \hat d_m, \Lambda_{mm}^{-1})`.
So a completed row :math:`m + \hat d` is all that is needed of a row with gaps: distances are sums of
squares as for whole rows, and second moments gain :math:`\Lambda_{mm}^{-1}` in the places of the
gaps. With :math:`\Lambda = \Sigma^{-1}` and c the height of the density this is the marginal density
of the seen entries, and EM.

Variational Bayes takes the gaps for unknowns beside the labels z. From
:math:`\mathbb E\ln p(x\mid\theta_k) = c_k - \tfrac12(x - m_k)^T\mathbb E[\Lambda_k](x - m_k)`, with
:math:`c_k = \tfrac12\mathbb E\ln|\Lambda_k| - \tfrac D2\ln 2\pi - \tfrac D{2\beta_k}` for a
normal–Wishart belief, the best belief about them is

.. math:: q(x_m\mid z = k) = \mathcal N\bigl(m_m + \hat d_m, \mathbb E[\Lambda_k]_{mm}^{-1}\bigr).

Its expected log density plus its entropy, :math:`\tfrac{D_m}2\ln 2\pi e
- \tfrac12\ln|\mathbb E[\Lambda_k]_{mm}|`, is the log integral above with :math:`\mathbb E[\Lambda_k]`
for Λ. With :math:`\mathbb E\ln\pi_k` added to it, responsibilities are its softmax over k, and a row
adds its log-sum-exp to the bound: nothing else speaks of the gaps.

Reference: Z. Ghahramani & M. Jordan, "Supervised learning from incomplete data via an EM approach",
1994.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from posteriori.inference.gaps.completed_rows import (
    CompletedRows,
    Normals,
    complete_rows,
    entries_at_gaps,
)
from posteriori.inference.gaps.gap_patterns import GapPart, GapPatterns, few_parts_of, parts_of
from posteriori.numerics.linalg import weighted_gram
from posteriori.numerics.special import LOG_2PI, log_gamma_ratio
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "ConditionalMoments",
    "ExpectedMoments",
    "SeenDistances",
    "conditional_moments",
    "draw_missing",
    "expected_moments",
    "integrated_scores",
    "respond_to_rows",
    "seen_distances",
    "seen_log_densities",
]

#: From scores (n, K) of the rows of the given numbers (n,), how much each component counts them.
Respond = Callable[[Array, IntArray], Array]


class ExpectedMoments(NamedTuple):
    """Weighted sums over completed rows, about the means m_k that they were completed with.

    The next mean is m + first/total, and the scatter about it second − first firstᵀ/total.

    Attributes
    ----------
    total : (K,)
        Σ r.
    first : (K, D)
        Σ r E[x − m | seen].
    second : (K, D, D)
        Σ r E[(x − m)(x − m)ᵀ | seen].
    """

    total: Array
    first: Array
    second: Array


class ConditionalMoments(NamedTuple):
    """Each entry given what is seen of its row: itself, with variance 0, where it is seen.

    Attributes
    ----------
    mean, variance : (N, D)
    """

    mean: Array
    variance: Array


class SeenDistances(NamedTuple):
    """The seen entries o of rows beside K normals.

    Attributes
    ----------
    counts : (N,)
        How many are seen.
    squares : (N, K)
        (x_o − m_o)ᵀ Σ_oo⁻¹ (x_o − m_o).
    log_dets : (N, K)
        ln |Σ_oo|.
    """

    counts: Array
    squares: Array
    log_dets: Array


def integrated_scores(x: Array, patterns: GapPatterns, normals: Normals, log_norms: Array) -> Array:
    """Return ln ∫ exp(c_k − ½ (x − m_k)ᵀ Λ_k (x − m_k)) over the missing entries, (N, K).

    Parameters
    ----------
    x : (N, D)
    patterns : GapPatterns
        Of x.
    normals : Normals
    log_norms : (K,)
        c.
    """
    scores = np.empty((len(x), len(normals.means)))
    for part in parts_of(patterns):
        for done in complete_rows(x, part, normals):
            scores[part.rows, done.normals] = _last(done.log_integrals)
    return scores + log_norms


def seen_log_densities(
    x: Array, patterns: GapPatterns, normals: Normals, dof: Array | None = None
) -> Array:
    """Return log densities of the seen entries, (N, K); 0 for rows without any.

    Parameters
    ----------
    x : (N, D)
    patterns : GapPatterns
        Of x.
    normals : Normals
    dof : (K,), optional
        Degrees of freedom: the densities are then those of Student's t with these locations, and
        with the covariances for scales.

    Examples
    --------
    >>> from posteriori.inference.gaps.completed_rows import normals_from_covariances
    >>> from posteriori.inference.gaps.gap_patterns import gap_patterns
    >>> x = np.array([[0.0, np.nan], [np.nan, np.nan]])
    >>> standard = normals_from_covariances(np.zeros((1, 2)), np.eye(2)[None])
    >>> seen_log_densities(x, gap_patterns(x), standard).round(4)
    array([[-0.9189],
           [ 0.    ]])
    """
    if dof is None:
        heights = 0.5 * (normals.log_dets - x.shape[1] * LOG_2PI)
        return integrated_scores(x, patterns, normals, heights)
    found = seen_distances(x, patterns, normals)
    half = 0.5 * found.counts[:, None]
    height = log_gamma_ratio(0.5 * dof, half) - half * np.log(dof * np.pi)
    return height - 0.5 * found.log_dets - (0.5 * dof + half) * np.log1p(found.squares / dof)


def seen_distances(x: Array, patterns: GapPatterns, normals: Normals) -> SeenDistances:
    """Return how far the seen entries of rows lie from each mean, in units of its covariance."""
    shape = (len(x), len(normals.means))
    found = SeenDistances(np.empty(len(x)), np.empty(shape), np.empty(shape))
    for part in parts_of(patterns):
        found.counts[part.rows] = x.shape[1] - part.missing.shape[1]
        for done in complete_rows(x, part, normals):
            found.squares[part.rows, done.normals] = _last(done.squares)
            log_dets = -normals.log_dets[done.normals] - 2.0 * _last(done.log_roots)
            found.log_dets[part.rows, done.normals] = log_dets
    return found


def respond_to_rows(
    x: Array, patterns: GapPatterns, normals: Normals, log_norms: Array, respond: Respond
) -> ExpectedMoments:
    """Score rows as :func:`integrated_scores` does, and sum them up, in one pass.

    Parameters
    ----------
    x : (N, D)
    patterns : GapPatterns
        Of x.
    normals : Normals
    log_norms : (K,)
    respond : callable
        Takes scores (n, K) and numbers (n,) of some rows, each row once over all calls, and returns
        how much each component counts them, (n, K).
    """
    moments = _no_moments(normals)
    for part in few_parts_of(patterns):
        completed = list(complete_rows(x, part, normals))
        scores = np.concatenate([done.log_integrals for done in completed])
        values = scores.reshape(len(scores), -1) + log_norms[:, None]
        _add_moments(moments, part, completed, respond(values.T, part.rows.ravel()).T)
    return moments


def expected_moments(
    x: Array, patterns: GapPatterns, normals: Normals, weights: Array
) -> ExpectedMoments:
    """Return the sums over rows, each counted as often by component k as ``weights`` (N, K) say."""
    moments = _no_moments(normals)
    for part in few_parts_of(patterns):
        completed = complete_rows(x, part, normals)
        _add_moments(moments, part, completed, weights[part.rows.ravel()].T)
    return moments


def conditional_moments(
    x: Array, patterns: GapPatterns, normals: Normals, weights: Array, dof: Array | None = None
) -> ConditionalMoments:
    """Return means and variances of the missing entries under a mixture.

    Parameters
    ----------
    x : (N, D)
    patterns : GapPatterns
        Of x.
    normals : Normals
    weights : (N, K)
        Probabilities of the components given what is seen of each row.
    dof : (K,), optional
        Degrees of freedom of Student's t, whose scales the covariances are; a row that lies far out
        widens what it leaves open. Where the variance of a component is infinite, so is that of entries.
    """
    mean, variance = np.array(x), np.zeros_like(x)
    for part in parts_of(patterns):
        if not part.missing.size:
            continue
        places = part.rows[:, :, None], part.missing[:, None, :]
        shares = np.moveaxis(weights[part.rows], -1, 0)[..., None]  # (K, G, n, 1)
        made = [_filled(done, part, normals, dof) for done in complete_rows(x, part, normals)]
        fills, spreads = (np.concatenate(pieces) for pieces in zip(*made, strict=True))
        mean[places] = (shares * fills).sum(axis=0)
        variance[places] = (shares * (spreads + (fills - mean[places]) ** 2)).sum(axis=0)
    return ConditionalMoments(mean, variance)


def draw_missing(
    x: Array,
    patterns: GapPatterns,
    normals: Normals,
    labels: IntArray,
    rng: np.random.Generator,
) -> Array:
    """Return rows whose missing entries are drawn given what is seen of them, (N, D).

    Parameters
    ----------
    x : (N, D)
    patterns : GapPatterns
        Of x.
    normals : Normals
    labels : (N,)
        Component of each row.
    rng : Generator
    """
    noise, filled = rng.standard_normal(x.shape), np.array(x)
    for part in parts_of(patterns):
        if not part.missing.size:
            continue
        places = part.rows[:, :, None], part.missing[:, None, :]
        for done in complete_rows(x, part, normals):
            draws = _filled(done, part, normals)[0] + noise[places] @ done.roots
            for k, draw in enumerate(draws, done.normals.start):
                mine = (labels[part.rows] == k)[:, :, None]
                filled[places] = np.where(mine, draw, filled[places])
    return filled


def _filled(
    done: CompletedRows, part: GapPart, normals: Normals, dof: Array | None = None
) -> tuple[Array, Array]:
    """Return means and variances of missing entries under each normal, (C, G, n, M)."""
    fill = entries_at_gaps(done.deviations + normals.means[done.normals, None, None], part)
    spread = (done.roots**2).sum(axis=-2)[:, :, None]  # the diagonal of Λ_mm⁻¹
    if dof is not None:
        seen = done.deviations.shape[-1] - part.missing.shape[1]
        spread = spread * _widening(done.squares, dof[done.normals], seen)
    return fill, np.broadcast_to(spread, fill.shape)


def _widening(squares: Array, dof: Array, seen: int) -> Array:
    """Return (ν + δ²)/(ν + p − 2), the variance of Student's t beside Λ_mm⁻¹, (C, G, n, 1)."""
    free = (dof + seen - 2.0)[:, None, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (dof[:, None, None] + squares) / free
    return np.where(free > 0.0, ratio, np.inf)[..., None]


def _add_moments(
    moments: ExpectedMoments, part: GapPart, completed: Iterable[CompletedRows], weights: Array
) -> None:
    """Add the rows of a part, with weights (K, rows)."""
    width, gaps = moments.first.shape[1], part.missing
    side = width + part.padded  # gaps beyond the last column are counted there, and left out
    places = (gaps[:, :, None] * side + gaps[:, None, :]).ravel()
    moments.total[...] += weights.sum(axis=1)
    for done in completed:
        weight = weights[done.normals]
        flat = done.deviations.reshape(*weight.shape, width)
        moments.first[done.normals] += (weight[:, None] @ flat)[:, 0]
        moments.second[done.normals] += weighted_gram(flat, weight)
        if gaps.size:
            mass = weight.reshape(-1, *part.rows.shape).sum(axis=-1)  # of each pattern
            spread = np.swapaxes(done.roots, -1, -2) @ (mass[..., None, None] * done.roots)
            for second, one in zip(moments.second[done.normals], spread, strict=True):
                added = np.bincount(places, one.ravel(), minlength=side * side)
                second += added.reshape(side, side)[:width, :width]


def _no_moments(normals: Normals) -> ExpectedMoments:
    shape = normals.means.shape
    return ExpectedMoments(np.zeros(shape[0]), np.zeros(shape), np.zeros_like(normals.precisions))


def _last(values: Array) -> Array:
    """Return values (C, G, n) as (G, n, C)."""
    return np.moveaxis(values, 0, -1)
