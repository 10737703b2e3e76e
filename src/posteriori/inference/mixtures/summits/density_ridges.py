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

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posteriori.numerics.lazy import special
from posteriori.numerics.logspace import log_sum_exp, softmax
from posteriori.numerics.types import Array, IntArray

__all__ = ["MixtureParts", "Ridges", "find_ridges", "join_over_dips"]

#: Places on a ridge, its ends left out.
_PLACES = 13


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
    """

    peaks: Array
    pairs: IntArray
    saddles: Array
    summits: Array


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
        return Ridges(peaks, pairs, np.empty(0), np.empty(0))
    places = _ridge_points(parts, at.log_det, pairs, tau)
    codes = [_ridge_tables(table, pairs, tau) for table in parts.tables]
    heights = at.log_heights(places, codes).reshape(len(pairs), _PLACES)
    ends = peaks[pairs]
    return Ridges(
        peaks,
        pairs,
        np.minimum(heights.min(axis=1), ends.min(axis=1)),
        np.maximum(heights.max(axis=1), ends.max(axis=1)),
    )


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
    """Return the group (K,) of each component; groups are numbered from 0 on.

    From the highest saddle down, two groups are one where the saddle between them is higher than ``dip`` times
    the lower of their summits. A valley that a component of its own fills stays a valley.

    Parameters
    ----------
    ridges : Ridges
    sizes : (K,)
        Rows of the components.
    dip : float
        From 0 to 1.
    least : float
        Rows that a group has; what is smaller joins the neighbour with the highest saddle.
    most : int
        Groups; of more, those with the shallowest dip between them are one.
    """
    joined = _Joined(list(range(len(sizes))), ridges.peaks.tolist())
    order = np.argsort(-ridges.saddles, kind="stable")
    edges = [
        (*pair, saddle, summit)
        for pair, saddle, summit in zip(
            ridges.pairs[order].tolist(),
            ridges.saddles[order].tolist(),
            ridges.summits[order].tolist(),
            strict=True,
        )
    ]
    log_dip = float(np.log(dip)) if dip > 0.0 else -np.inf
    for a, b, saddle, summit in edges:
        if joined.depth(a, b, saddle) > log_dip:
            joined.join(a, b, summit)
    while joined.n_groups > 1:
        rows = joined.rows(sizes)
        small = min(rows, key=lambda g: (rows[g], g))
        if rows[small] < least:
            a, b, _, summit = next(e for e in edges if joined.separates(e, small))
        elif joined.n_groups > most:
            apart = [e for e in edges if joined.group(e[0]) != joined.group(e[1])]
            a, b, _, summit = max(apart, key=lambda e: joined.depth(*e[:3]))
        else:
            break
        joined.join(a, b, summit)
    _, codes = np.unique([joined.group(k) for k in range(len(sizes))], return_inverse=True)
    return codes


class _Joined(NamedTuple):
    """Which component leads to which, and the log height of the summit of each group."""

    lead: list[int]
    peaks: list[float]

    def group(self, k: int) -> int:
        """Return the component that stands for the group of k."""
        while self.lead[k] != k:
            k = self.lead[k]
        return k

    def depth(self, a: int, b: int, saddle: float) -> float:
        """Return the log of saddle over lower summit; −∞ within one group."""
        a, b = self.group(a), self.group(b)
        return saddle - min(self.peaks[a], self.peaks[b]) if a != b else -np.inf

    def join(self, a: int, b: int, summit: float) -> None:
        """Make the groups of two components one."""
        a, b = self.group(a), self.group(b)
        self.peaks[a] = max(self.peaks[a], self.peaks[b], summit)
        self.lead[b] = a

    def separates(self, edge: tuple[int, int, float, float], group: int) -> bool:
        """Tell whether an edge leads from a group to another."""
        a, b = self.group(edge[0]), self.group(edge[1])
        return a != b and group in (a, b)

    def rows(self, sizes: Array) -> dict[int, float]:
        """Return the rows of each group."""
        rows: dict[int, float] = {}
        for k, size in enumerate(sizes.tolist()):
            rows[self.group(k)] = rows.get(self.group(k), 0.0) + size
        return rows

    @property
    def n_groups(self) -> int:
        """How many there are."""
        return sum(lead == k for k, lead in enumerate(self.lead))
