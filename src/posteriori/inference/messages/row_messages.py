r"""Messages of rows of factors: linear with normal noise, any quadratic, and tables of states.

All are rules for :class:`~posteriori.inference.messages.forest_order.RowFactor`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.messages.message_kernels import normal_sweep, table_sweep
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.linalg import explicit_inverse, symmetrize
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.rank import (
    exceeds_rounding,
    is_definite,
    solve_semidefinite,
    without_rounding,
)
from posteriori.numerics.types import Array

__all__ = ["NormalRows", "QuadraticRows", "TableRows", "as_logs", "from_logs"]


class NormalRows(NamedTuple):
    r"""Rows :math:`c - \sum_j K_j x_j \sim N(0, \mathrm{diag}(w)^{-1})` of E numbers each.

    Messages are weighted means ξ (S,) and precisions W (S, S).

    Attributes
    ----------
    constant, weight : (R, E)
        A weight of 0 says nothing; rows of several numbers have none.
    gains : tuple of (R, E, S_j)
    """

    constant: Array
    weight: Array
    gains: tuple[Array, ...]

    def send(self, rows: Any, slot: int, incoming: list[tuple[Array, ...]]) -> tuple[Array, Array]:
        """Return ξ = Kᵀ b and W = Kᵀ S K, where exp(bᵀu − ½uᵀSu) is known of u = K x."""
        others = [gain[rows] for j, gain in enumerate(self.gains) if j != slot]
        b, s = self._image(rows, others, incoming)
        gain = self.gains[slot][rows]
        xi = np.einsum("rei,re->ri", gain, b)
        precision = symmetrize(np.swapaxes(gain, -1, -2) @ s @ gain)
        if gain.shape[1] > 1:  # a single number has nothing to cancel
            sizes = np.einsum("rei,ref,rfi->ri", *map(np.abs, (gain, s, gain)))
            precision = without_rounding(precision, sizes)
        return xi, precision

    def total(self) -> tuple[Array, Array]:
        """Return the product of the messages of all rows to the one member that all of them see."""
        (gain,) = self.gains
        k = gain.reshape(-1, gain.shape[-1])
        weighted = k * self.weight.reshape(-1, 1)
        return (self.constant.ravel() @ weighted)[None], symmetrize(k.T @ weighted)[None]

    def sweep(self, rows: Any, slot: int, base: tuple[Array, ...]) -> tuple[Array, ...]:
        """Return the messages of rows (L, B) in paths: each gets what the one before it sent."""
        gain_in, gain_out = self.gains[1 - slot][rows], self.gains[slot][rows]
        inputs = (self.constant[rows], self.weight[rows], gain_in, gain_out)
        size = gain_out.shape[-1]
        made = np.empty((*rows.shape, size)), np.empty((*rows.shape, size, size))
        arrays = [as_kernel_input(a) for a in (*inputs, *base)]
        normal_sweep(*(*arrays, *made))
        return made

    def _image(
        self, rows: Any, others: list[Array], incoming: list[tuple[Array, ...]]
    ) -> tuple[Array, Array]:
        c, w = self.constant[rows], self.weight[rows]
        if not others:
            return w * c, _diagonal(w)
        says = w > 0  # a weight of 0 is given, not computed
        noise = np.where(says, w, 1.0)
        proper = np.ones(len(c), dtype=bool)
        for _, precision in incoming:
            proper &= is_definite(precision)
        b, s = np.zeros(c.shape), np.zeros((*c.shape, c.shape[1]))
        if proper.any():
            b[proper], s[proper] = _by_moments(c, noise, others, incoming, proper)
        if not proper.all():
            b[~proper], s[~proper] = _by_precisions(c, noise, others, incoming, ~proper)
        return b * says, s * says[..., None]


class QuadraticRows(NamedTuple):
    r"""Rows :math:`\exp(h^T v - \tfrac12 v^T J v)`, where v are equally long vectors, end to end.

    Messages are weighted means ξ (S,) and precisions W (S, S).

    Attributes
    ----------
    linear : (R, V S)
    precision : (R, V S, V S)
    size : int
        S.
    """

    linear: Array
    precision: Array
    size: int

    def send(self, rows: Any, slot: int, incoming: list[tuple[Array, ...]]) -> tuple[Array, Array]:
        """Integrate over all other vectors: ξ = h − J K⁻¹ (g + ξ'), W = J − J K⁻¹ Jᵀ."""
        h, j = self.linear[rows], self.precision[rows]
        own = np.arange(slot * self.size, (slot + 1) * self.size)
        rest = np.delete(np.arange(h.shape[1]), own)
        xi, precision = h[:, own], j[:, own[:, None], own]
        if not len(rest):
            return xi, precision
        inner = j[:, rest[:, None], rest].copy()
        pulled = h[:, rest] + np.concatenate([message[0] for message in incoming], axis=1)
        for k, (_, told) in enumerate(incoming):
            part = slice(k * self.size, (k + 1) * self.size)
            inner[:, part, part] += told
        cross = j[:, own[:, None], rest]
        solved = solve_semidefinite(inner, np.swapaxes(cross, -1, -2))  # K⁻¹ Jᵀ
        xi = xi - np.einsum("rij,ri->rj", solved, pulled)
        left = symmetrize(precision - cross @ solved)
        return xi, without_rounding(left, np.diagonal(precision, axis1=-2, axis2=-1))


def _by_moments(
    c: Array, weight: Array, gains: list[Array], incoming: list[tuple[Array, ...]], rows: Array
) -> tuple[Array, Array]:
    # S = (Σ_j K_j W_j⁻¹ K_jᵀ + N⁻¹)⁻¹,  b = S (c − Σ_j K_j m_j),  N = diag(weight)
    cov, left = _diagonal(1.0 / weight[rows]), c[rows]
    for gain, (xi, precision) in zip(gains, incoming, strict=True):
        k, w = gain[rows], precision[rows]
        left = left - (k @ np.linalg.solve(w, xi[rows][..., None]))[..., 0]
        cov = cov + k @ np.linalg.solve(w, np.swapaxes(k, -1, -2))
    s = symmetrize(explicit_inverse(cov))
    return np.einsum("ref,rf->re", s, left), s


def _by_precisions(
    c: Array, weight: Array, gains: list[Array], incoming: list[tuple[Array, ...]], rows: Array
) -> tuple[Array, Array]:
    # S = √N T √N,  b = √N (T √N c − G J⁺ ξ),  T = I − G J⁺ Gᵀ,  J = GᵀG + W,  G = √N K
    root = np.sqrt(weight[rows])
    g = root[..., None] * np.concatenate([gain[rows] for gain in gains], axis=-1)
    xi = np.concatenate([message[0][rows] for message in incoming], axis=-1)
    inner = symmetrize(np.swapaxes(g, -1, -2) @ g)
    start = 0
    for _, precision in incoming:
        stop = start + precision.shape[-1]
        inner[:, start:stop, start:stop] += precision[rows]
        start = stop
    h = np.swapaxes(solve_semidefinite(inner, np.swapaxes(g, -1, -2)), -1, -2)  # G J⁺
    values, vectors = np.linalg.eigh(np.eye(g.shape[1]) - symmetrize(h @ np.swapaxes(g, -1, -2)))
    # what the improper messages leave unknown is rounding here: take it out
    values = np.where(exceeds_rounding(values, 1.0), values, 0.0)
    across = root[..., None] * vectors
    s = (across * values[:, None, :]) @ np.swapaxes(across, -1, -2)
    told = np.einsum("rei,re->ri", vectors, np.einsum("rei,ri->re", h, xi)) * (values > 0)
    b = np.einsum("ref,rf->re", s, c[rows]) - np.einsum("rei,ri->re", across, told)
    return b, symmetrize(s)


def _diagonal(values: Array) -> Array:
    return values[..., None] * np.eye(values.shape[-1])


class TableRows(NamedTuple):
    """Log tables over the states of the variables that each row sees.

    Messages are logarithms, the largest 0, in two parts that add up: finite ones, and how often a
    state was found impossible; see :func:`as_logs`.

    Attributes
    ----------
    logs : (R or 1, K_1, ..., K_n)
    """

    logs: Array

    def send(self, rows: Any, slot: int, incoming: list[tuple[Array, ...]]) -> tuple[Array, Array]:
        """Return ln Σ f(x, u_1, …) Π μ_j(u_j)."""
        total = self.logs if len(self.logs) == 1 else self.logs[rows]
        axes = [axis for axis in range(1, total.ndim) if axis != slot + 1]
        for axis, message in zip(axes, incoming, strict=True):
            shape = [1] * total.ndim
            shape[0], shape[axis] = len(message[0]), -1
            total = total + as_logs(message).reshape(shape)
        logs = np.asarray(log_sum_exp(total, axis=tuple(axes))) if axes else total
        return from_logs(np.broadcast_to(logs, (len(rows), logs.shape[-1])))

    def sweep(self, rows: Any, slot: int, base: tuple[Array, ...]) -> tuple[Array, ...]:
        """Return the messages of rows (L, B) in paths: each gets what the one before it sent."""
        table = self.logs[None] if len(self.logs) == 1 else self.logs[rows]
        table = table if slot == 1 else np.swapaxes(table, -1, -2)
        made = tuple(np.empty((*rows.shape, table.shape[-1])) for _ in range(2))
        table_sweep(as_kernel_input(table), as_kernel_input(as_logs(base)), *made)
        return made


def as_logs(parts: tuple[Array, ...]) -> Array:
    """Return the logarithms of a message, −∞ where a state is impossible."""
    finite, impossible = parts
    return np.where(impossible > 0, -np.inf, finite)


def from_logs(logs: Array) -> tuple[Array, Array]:
    """Return the two parts of a message, its largest entry 1."""
    impossible = np.isneginf(logs)
    top = logs.max(axis=-1, keepdims=True)
    return np.where(impossible, 0.0, logs - top), impossible.astype(np.float64)
