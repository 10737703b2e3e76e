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

Rows that miss the same entries share their factors; patterns of equal size are factorised together.

Reference: Z. Ghahramani & M. Jordan, "Supervised learning from incomplete data via an EM approach",
1994.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from posteriori.inference.gaps.gap_patterns import GapPart, GapPatterns, parts_of
from posteriori.numerics.linalg import triangular_inverse, weighted_gram
from posteriori.numerics.rank import factor_definite
from posteriori.numerics.special import LOG_2PI, log_gamma_ratio
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "ConditionalMoments",
    "ExpectedMoments",
    "Normals",
    "SeenDistances",
    "conditional_moments",
    "draw_missing",
    "expected_moments",
    "integrated_scores",
    "normals_from_covariances",
    "normals_from_precisions",
    "respond_to_rows",
    "seen_distances",
    "seen_log_densities",
]

#: From scores (n, K) of the rows of the given numbers (n,), how much each component counts them.
Respond = Callable[[Array, IntArray], Array]


class Normals(NamedTuple):
    """K normals, by their precisions.

    Attributes
    ----------
    means : (K, D)
    precisions : (K, D, D)
    whitenings : (K, D, D)
        B with BᵀB = Λ.
    log_dets : (K,)
        ln |Λ|.
    """

    means: Array
    precisions: Array
    whitenings: Array
    log_dets: Array


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


def normals_from_covariances(means: Array, covs: Array) -> Normals:
    """Return K normals of the given means (K, D) and covariances (K, D, D)."""
    whitenings = triangular_inverse(factor_definite(covs))  # B = L⁻¹, Σ = L Lᵀ
    return _normals(means, np.swapaxes(whitenings, -1, -2) @ whitenings, whitenings)


def normals_from_precisions(means: Array, precisions: Array) -> Normals:
    """Return K normals of the given means (K, D) and precisions (K, D, D)."""
    return _normals(means, precisions, np.swapaxes(factor_definite(precisions), -1, -2))


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
        for k, done in enumerate(_complete(x, part, normals)):
            scores[part.rows, k] = log_norms[k] + _integral(done, normals, k)
    return scores


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
        for k, done in enumerate(_complete(x, part, normals)):
            found.squares[part.rows, k] = _squared(done.deviations, normals.whitenings[k])
            found.log_dets[part.rows, k] = -normals.log_dets[k] - 2.0 * done.log_roots
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
    for part in parts_of(patterns):
        completed = list(_complete(x, part, normals))
        scores = [_integral(done, normals, k).ravel() for k, done in enumerate(completed)]
        weights = respond(np.stack(scores, axis=1) + log_norms, part.rows.ravel())
        _add_moments(moments, part, completed, weights)
    return moments


def expected_moments(
    x: Array, patterns: GapPatterns, normals: Normals, weights: Array
) -> ExpectedMoments:
    """Return the sums over rows, each counted as often by component k as ``weights`` (N, K) say."""
    moments = _no_moments(normals)
    for part in parts_of(patterns):
        completed = list(_complete(x, part, normals))
        _add_moments(moments, part, completed, weights[part.rows.ravel()])
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
        shares = weights[part.rows]
        fills, spreads = [], []
        for k, done in enumerate(_complete(x, part, normals)):
            fills.append(_at_gaps(done.deviations + normals.means[k], part))
            spread = (done.roots**2).sum(axis=-2)[:, None]  # the diagonal of Λ_mm⁻¹
            if dof is not None:
                distance = _squared(done.deviations, normals.whitenings[k])
                spread = spread * _widening(distance, dof[k], x.shape[1] - part.missing.shape[1])
            spreads.append(spread)
        mean[places] = sum(shares[:, :, k, None] * fill for k, fill in enumerate(fills))
        for k, (fill, spread) in enumerate(zip(fills, spreads, strict=True)):
            variance[places] += shares[:, :, k, None] * (spread + (fill - mean[places]) ** 2)
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
        for k, done in enumerate(_complete(x, part, normals)):
            draws = _at_gaps(done.deviations + normals.means[k], part) + noise[places] @ done.roots
            mine = (labels[part.rows] == k)[:, :, None]
            filled[places] = np.where(mine, draws, filled[places])
    return filled


# -- completed rows --------------------------------------------------------------------------


class _Completed(NamedTuple):
    """Rows of a part, completed by one normal.

    Attributes
    ----------
    deviations : (G, n, D)
        d̂.
    roots : (G, M, M)
        T with TᵀT = Λ_mm⁻¹.
    log_roots : (G, 1)
        ln |T| = −½ ln |Λ_mm|.
    """

    deviations: Array
    roots: Array
    log_roots: Array


def _complete(x: Array, part: GapPart, normals: Normals) -> Iterator[_Completed]:
    """Yield the rows of a part as each of the normals completes them."""
    seen = x[part.rows]
    gaps = np.broadcast_to(part.missing[:, None], (*part.rows.shape, part.missing.shape[1]))
    corner = part.missing[:, :, None], part.missing[:, None, :]
    for mean, precision in zip(normals.means, normals.precisions, strict=True):
        d = seen - mean
        if not part.missing.size:
            yield _Completed(d, np.zeros((len(d), 0, 0)), np.zeros((len(d), 1)))
            continue
        np.put_along_axis(d, gaps, 0.0, axis=-1)
        pull = _at_gaps(_times(d, precision), part)  # Λ_mo d_o
        roots = triangular_inverse(np.linalg.cholesky(precision[corner]))
        fill = -(pull @ np.swapaxes(roots, -1, -2)) @ roots  # d̂_m = −Λ_mm⁻¹ Λ_mo d_o
        np.put_along_axis(d, gaps, fill, axis=-1)
        diagonal = np.diagonal(roots, axis1=-2, axis2=-1)
        yield _Completed(d, roots, np.log(diagonal).sum(axis=-1, keepdims=True))


def _integral(done: _Completed, normals: Normals, k: int) -> Array:
    """Return ½ M ln 2π − ½ ln |Λ_mm| − ½ d̂ᵀΛd̂, (G, n)."""
    gaps = done.roots.shape[-1]
    distance = _squared(done.deviations, normals.whitenings[k])
    return 0.5 * gaps * LOG_2PI + done.log_roots - 0.5 * distance


def _widening(distance: Array, dof: float, seen: int) -> Array:
    """Return (ν + δ²)/(ν + p − 2), the variance of Student's t beside Λ_mm⁻¹, (G, n, 1)."""
    if dof + seen <= 2.0:
        return np.full((*distance.shape, 1), np.inf)
    return ((dof + distance) / (dof + seen - 2.0))[:, :, None]


def _add_moments(
    moments: ExpectedMoments, part: GapPart, completed: list[_Completed], weights: Array
) -> None:
    """Add the rows of a part, with weights (n, K)."""
    width, gaps = moments.first.shape[1], part.missing
    places = (gaps[:, :, None] * width + gaps[:, None, :]).ravel()
    moments.total[...] += weights.sum(axis=0)
    for k, done in enumerate(completed):
        weight, flat = weights[:, k], done.deviations.reshape(-1, width)
        moments.first[k] += weight @ flat
        moments.second[k] += weighted_gram(flat, weight)
        if gaps.size:
            mass = weight.reshape(part.rows.shape).sum(axis=1)  # of each pattern
            spread = np.swapaxes(done.roots, -1, -2) @ (mass[:, None, None] * done.roots)
            added = np.bincount(places, spread.ravel(), minlength=width * width)
            moments.second[k] += added.reshape(width, width)


def _no_moments(normals: Normals) -> ExpectedMoments:
    shape = normals.means.shape
    return ExpectedMoments(np.zeros(shape[0]), np.zeros(shape), np.zeros_like(normals.precisions))


def _normals(means: Array, precisions: Array, whitenings: Array) -> Normals:
    diagonal = np.diagonal(whitenings, axis1=-2, axis2=-1)
    return Normals(means, precisions, whitenings, 2.0 * np.log(diagonal).sum(axis=-1))


def _squared(d: Array, whitening: Array) -> Array:
    """Return |B d|² on the last axis."""
    z = _times(d, whitening.T)
    return np.einsum("gni,gni->gn", z, z)


def _times(d: Array, matrix: Array) -> Array:
    """Return d times a matrix by a single product, whatever its leading axes."""
    return (d.reshape(-1, d.shape[-1]) @ matrix).reshape(d.shape)


def _at_gaps(rows: Array, part: GapPart) -> Array:
    """Return the entries of rows (G, n, D) at their gaps, (G, n, M)."""
    gaps = np.broadcast_to(part.missing[:, None], (*part.rows.shape, part.missing.shape[1]))
    return np.take_along_axis(rows, gaps, axis=-1)
