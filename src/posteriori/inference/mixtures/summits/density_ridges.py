r"""Ridges of a mixture's density between its components, and which components no dip separates.

The density of a mixture has its summits and saddles on the ridges between components,

.. math:: x(\tau) = \bigl[(1-\tau)\Lambda_1 + \tau\Lambda_2\bigr]^{-1}
          \bigl[(1-\tau)\Lambda_1\mu_1 + \tau\Lambda_2\mu_2\bigr],

where :math:`(1-\tau)\ln N_1 + \tau\ln N_2` is highest. The same of columns of codes is
:math:`q_\tau \propto p_1^{1-\tau}p_2^\tau`, and the height of a component there :math:`e^{-KL(q_\tau\|p)}`,
which of normals is the density at their mean in units of that at the summit.

References: S. Ray & B. Lindsay, "The topography of multivariate normal mixtures", Annals of Statistics 33,
2005; C. Hennig, "Methods for merging Gaussian mixture components", 2010; F. Chazal et al., "Persistence-based
clustering in Riemannian manifolds", 2013.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posteriori.numerics.lazy import special
from posteriori.numerics.logspace import log_sum_exp, softmax
from posteriori.numerics.types import Array, IntArray

__all__ = ["MixtureParts", "Ridges", "find_ridges", "join_over_dips"]

#: Places on a ridge, its ends left out.
_PLACES = 13

#: Where the density has a dip, it falls below this part of both summits: less is lost between places on a ridge.
_DIPS = 0.95


class MixtureParts(NamedTuple):
    """Components.

    Attributes
    ----------
    log_weights : (K,)
    means, precisions : (K, D), (K, D, D)
        Of the columns of numbers.
    tables : sequence of (K, L)
        Probabilities of the levels of each column of codes.
    """

    log_weights: Array
    means: Array
    precisions: Array
    tables: Sequence[Array] = ()


class Ridges(NamedTuple):
    """Logarithms of heights of the density.

    Attributes
    ----------
    peaks : (K,)
        At the means.
    pairs : (E, 2)
        Components that a ridge leads between: all of them.
    saddles, summits : (E,)
        The lowest and the highest place of each ridge.
    seen : (E,)
        Saddles, raised where rows show less of a dip.
    """

    peaks: Array
    pairs: IntArray
    saddles: Array
    summits: Array
    seen: Array


def find_ridges(parts: MixtureParts) -> Ridges:
    """Follow the ridges between all components; time O(K³ D² + K² D³).

    Examples
    --------
    >>> parts = MixtureParts(np.log([0.5, 0.5]), np.array([[0.0], [4.0]]), np.ones((2, 1, 1)))
    >>> found = find_ridges(parts)
    >>> np.exp(found.saddles - found.peaks.min()).round(2)  # 2 φ(2) / (φ(0) + φ(4))
    array([0.27])
    """
    k = len(parts.log_weights)
    pairs = np.stack(np.triu_indices(k, 1), axis=1)
    tau = np.linspace(0.0, 1.0, _PLACES + 2)[1:-1]
    at = _Heights.of(parts)
    peaks = at.log_heights(parts.means, parts.tables)
    if k == 1:
        return Ridges(peaks, pairs, *np.empty((3, 0)))
    places = _ridge_points(parts, at.log_det, pairs, tau)
    codes = [_ridge_tables(table, pairs, tau) for table in parts.tables]
    heights = at.log_heights(places, codes).reshape(len(pairs), _PLACES)
    ends = peaks[pairs]
    saddles = np.minimum(heights.min(axis=1), ends.min(axis=1))
    return Ridges(peaks, pairs, saddles, np.maximum(heights.max(axis=1), ends.max(axis=1)), saddles)


class _Heights(NamedTuple):
    """ln Σ_j w_j |Λ_j|^½ exp(−½ (x − μ_j)ᵀ Λ_j (x − μ_j) − KL(q ‖ p_j))."""

    parts: MixtureParts
    roots: Array  # (K, D, D), Λ = LLᵀ
    log_det: Array  # (K,), ½ ln|Λ|

    @classmethod
    def of(cls, parts: MixtureParts) -> _Heights:
        """Factor the precisions."""
        roots = np.linalg.cholesky(parts.precisions)
        diagonal = np.diagonal(roots, axis1=1, axis2=2)
        return cls(parts, roots, np.log(diagonal).sum(axis=1))

    def log_heights(self, x: Array, codes: Sequence[Array]) -> Array:
        """Return the logarithms (P,) at places x (P, D) with q of codes (P, L)."""
        turned = np.einsum("pi,kij->pkj", x, self.roots, optimize=["einsum_path", (0, 1)])
        turned -= np.einsum("ki,kij->kj", self.parts.means, self.roots)
        terms = -0.5 * np.einsum("pkj,pkj->pk", turned, turned)
        terms += self.parts.log_weights + self.log_det
        for q, table in zip(codes, self.parts.tables, strict=True):
            terms += q @ np.log(table).T - special.xlogy(q, q).sum(axis=1, keepdims=True)
        return np.asarray(log_sum_exp(terms, axis=1))


def _ridge_points(parts: MixtureParts, log_det: Array, pairs: IntArray, tau: Array) -> Array:
    """Return places on ridges, (E M, D), evenly in τ of precisions of determinant 1: the same curve."""
    d = parts.means.shape[1]
    if d == 0:
        return np.empty((len(pairs) * len(tau), 0))
    unit = parts.precisions / np.exp(2.0 * log_det / d)[:, None, None]
    pulled = np.einsum("kij,kj->ki", unit, parts.means)
    (a, b), t = pairs.T, tau[:, None]
    matrix = (1.0 - t[..., None]) * unit[a][:, None] + t[..., None] * unit[b][:, None]
    vector = (1.0 - t) * pulled[a][:, None] + t * pulled[b][:, None]
    return np.linalg.solve(matrix, vector[..., None])[..., 0].reshape(-1, d)


def _ridge_tables(table: Array, pairs: IntArray, tau: Array) -> Array:
    (a, b), t, logs = pairs.T, tau[:, None], np.log(table)
    mixed = (1.0 - t) * logs[a][:, None] + t * logs[b][:, None]
    return softmax(mixed, axis=-1).reshape(-1, table.shape[1])


def join_over_dips(
    ridges: Ridges, sizes: Array, *, dip: float, least: float, most: int
) -> IntArray:
    r"""Return the group (K,) of each component; groups are numbered from 0 on.

    From the highest saddle down all components meet. Where the density has a dip between two groups that meet, its
    depth is ρ: the saddle that is seen, in units of the lower summit. Of J such depths the r deepest divide groups,
    with the largest r for which

    .. math:: \rho_{(r)} < \text{dip}\cdot r/J.

    A group of another shape than normal has many dips between its normals, and by chance rows show one of them;
    where rows show nearly all, a shallow one is none of chance.

    Parameters
    ----------
    ridges : Ridges
    sizes : (K,)
        Rows of the components.
    dip : float
        What a lone ρ is compared with, and the largest of all; above 1 every component is a group.
    least : float
        Rows that a group has; what is smaller when it meets another is no group.
    most : int
        Groups; of more, those with the shallowest dips between them are one.

    Notes
    -----
    The rule is that of Y. Benjamini & Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal
    Statistical Society B 57, 1995, with ρ in the place of the probability of a dip by chance.

    Examples
    --------
    >>> parts = MixtureParts(np.log([0.5, 0.5]), np.array([[0.0], [4.0]]), np.ones((2, 1, 1)))
    >>> join_over_dips(find_ridges(parts), np.array([50.0, 50.0]), dip=0.5, least=5, most=9)
    array([0, 1])
    """
    meetings = _meetings(ridges, sizes, max(dip, _DIPS), least)
    depths = np.array([depth for *_, depth in meetings])
    apart = np.argsort(depths, kind="stable")[: min(_count_apart(depths, dip), most - 1)]
    joined = _Joined.apart(ridges.peaks, sizes)
    for place, (a, b, _) in enumerate(meetings):
        if place not in apart:
            joined.join(a, b, -np.inf)
    _, codes = np.unique([joined.group(k) for k in range(len(sizes))], return_inverse=True)
    return codes


def _meetings(
    ridges: Ridges, sizes: Array, dips: float, least: float
) -> list[tuple[int, int, float]]:
    """Return two components and ρ of each meeting; ∞ where the density does not fall below this part, or of few rows."""
    joined, found = _Joined.apart(ridges.peaks, sizes), []
    order = np.argsort(-ridges.seen, kind="stable")
    heights = (ridges.saddles, ridges.summits, ridges.seen)
    rows = zip(ridges.pairs[order].tolist(), *(h[order].tolist() for h in heights), strict=True)
    for (a, b), saddle, summit, seen in rows:
        if joined.group(a) != joined.group(b):
            lower, fewer = joined.lesser(a, b)
            counts = fewer >= least and saddle < lower + math.log(dips)
            found.append((a, b, math.exp(seen - lower) if counts else math.inf))
            joined.join(a, b, summit)
    return found


def _count_apart(depths: Array, dip: float) -> int:
    """Return the largest r with ρ_(r) < dip · r/J, where J depths (K − 1,) are finite."""
    rising = np.sort(depths[np.isfinite(depths)])
    found = np.flatnonzero(rising * len(rising) < dip * np.arange(1, len(rising) + 1))
    return int(found[-1]) + 1 if len(found) else 0


class _Joined(NamedTuple):
    """Which component leads to which, and the log height of the summit and the rows of each group."""

    lead: list[int]
    peaks: list[float]
    rows: list[float]

    @classmethod
    def apart(cls, peaks: Array, sizes: Array) -> _Joined:
        """Begin with a group for every component."""
        return cls(list(range(len(sizes))), peaks.tolist(), sizes.tolist())

    def group(self, k: int) -> int:
        """Return the component that stands for the group of k."""
        while self.lead[k] != k:
            k = self.lead[k]
        return k

    def lesser(self, a: int, b: int) -> tuple[float, float]:
        """Return the log height of the lower summit and the rows of the smaller of two groups."""
        a, b = self.group(a), self.group(b)
        return min(self.peaks[a], self.peaks[b]), min(self.rows[a], self.rows[b])

    def join(self, a: int, b: int, summit: float) -> None:
        """Make the groups of two components one."""
        a, b = self.group(a), self.group(b)
        self.peaks[a] = max(self.peaks[a], self.peaks[b], summit)
        self.rows[a] += self.rows[b]
        self.lead[b] = a
