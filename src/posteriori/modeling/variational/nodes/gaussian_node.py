r"""Beliefs about jointly normal variables, from the coefficients of their log density.

Coefficients of one access add to h, of two accesses to J: :math:`q(v) \propto \exp(h^T v - \tfrac12
v^T J v)`. Axes that all variables of the block share and no product mixes are handled one by one;
an axis that J does not depend on keeps length 1, so that a plate of equal precisions is one matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.modeling.beliefs.group_beliefs import GroupBelief, NormalBelief
from posteriori.modeling.binding.bound import Layout
from posteriori.modeling.binding.labelled import Axis, Table, count_of, seen, shape_of
from posteriori.modeling.binding.places import add_arrays, compact, same_members
from posteriori.modeling.contract.costs import vectors_and_numbers
from posteriori.modeling.contract.linear_forms import Expectation
from posteriori.modeling.variational.densities.addressing import arrange
from posteriori.modeling.variational.nodes.normal_node import NormalNode, along_axis
from posteriori.numerics.linalg import explicit_inverse, symmetrize
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["GaussianNode"]


class GaussianNode(NormalNode):
    """Normal variables that are believed in jointly.

    Parameters
    ----------
    names : sequence of str
    layouts : mapping
    apart : sequence of tuples of int
        Groups of axes, one of each variable, along which members do not meet.
    restart : Axis
    """

    kind = "normal"
    moves_freely = can_turn = can_be_drawn = True

    def __init__(
        self,
        names: Sequence[str],
        layouts: Mapping[str, Layout],
        apart: Sequence[tuple[int, ...]],
        restart: Axis,
    ) -> None:
        self.names = tuple(names)
        self.layouts = layouts
        self.restart = restart
        self.batch = tuple(layouts[self.names[0]].axes[group[0]] for group in apart)
        self._shared = {
            name: tuple(group[k] for group in apart) for k, name in enumerate(self.names)
        }
        self._restart = (restart,)
        self._own: dict[str, tuple[int, ...]] = {}
        self._order: dict[str, tuple[int, ...]] = {}
        self._axes = {name: layouts[name].axes for name in self.names}
        self._own_axes: dict[str, tuple[Axis, ...]] = {}
        self._lead: dict[str, tuple[Axis, ...]] = {}
        self._moments: dict[tuple[str, str], Array] = {}
        self._slices: dict[str, slice] = {}
        self._twins: dict[str, tuple[Axis, ...]] = {}
        self.size = 0
        for name in self.names:
            axes = layouts[name].axes
            own = tuple(i for i in range(len(axes)) if i not in self._shared[name])
            width = math.prod(axes[i].size for i in own)
            self._own[name] = own
            self._order[name] = self._shared[name] + own
            self._own_axes[name] = tuple(axes[i] for i in own)
            self._lead[name] = (restart, *(axes[i] for i in self._shared[name]))
            self._slices[name] = slice(self.size, self.size + width)
            self._twins[name] = tuple(Axis("twin", axes[i].size) for i in own)
            self.size += width
        self._log_det = self.fit = np.zeros(0)
        full = (restart.size, *(axis.size for axis in self.batch))  # priors may meet in a circle
        start = np.zeros((1,) * len(full) + (self.size, self.size))
        self.set(np.broadcast_to(0.0, (*full, self.size)), start)

    # -- update ------------------------------------------------------------------------------

    def update(self, messages: Iterable[tuple[tuple[Any, ...], Table]]) -> None:
        """Solve J m = h."""
        found: dict[tuple[str, ...], list[Array]] = {}
        for accesses, table in messages:
            if len(accesses) == 1:
                (a,) = accesses
                found.setdefault((a.name,), []).append(self._vector(a, table))
            else:
                a, b = accesses
                found.setdefault((a.name, b.name), []).append(self._matrix(a, b, table))
        linear, square = {}, {}
        for names, parts in found.items():
            total = add_arrays(parts, 0)
            if len(names) == 1:
                linear[names[0]] = total
            else:
                square[names[0], names[1]] = total
        self._solve(self._joint_matrix(square), self._joint_vector(linear))

    def _joint_matrix(self, blocks: Mapping[tuple[str, str], Array]) -> Array:
        """Return J, less the sum of the blocks and of their transposes."""
        if len(self.names) == 1 and blocks:
            (block,) = blocks.values()
            return -(block + np.swapaxes(block, -1, -2))
        lead = np.broadcast_shapes(*(block.shape[:-2] for block in blocks.values()))
        precision = np.zeros((*lead, self.size, self.size))
        for (a, b), block in blocks.items():
            rows, columns = self._slices[a], self._slices[b]
            precision[..., rows, columns] -= block
            precision[..., columns, rows] -= np.swapaxes(block, -1, -2)
        return precision

    def _joint_vector(self, parts: Mapping[str, Array]) -> Array:
        """Return h."""
        if len(self.names) == 1 and parts:
            (part,) = parts.values()
            return part
        lead = np.broadcast_shapes(
            (1,) * (1 + len(self.batch)), *(part.shape[:-1] for part in parts.values())
        )
        h = np.zeros((*lead, self.size))
        for name, part in parts.items():
            h[..., self._slices[name]] += part
        return h

    def _solve(self, precision: Array, h: Array) -> None:
        try:
            root = np.linalg.cholesky(precision)
        except np.linalg.LinAlgError:
            root = np.zeros_like(precision)
        pivots = root.diagonal(axis1=-2, axis2=-1)
        if not np.all(exceeds_rounding(pivots**2, precision.diagonal(axis1=-2, axis2=-1))):
            raise ValueError(
                f"the belief about {', '.join(self.names)} has become improper by rounding: precisions "
                "in its prior and in what depends on it differ by too many powers of 10, or inputs are "
                "nearly dependent; bring them nearer to one another, or centre and scale the inputs"
            )
        inverse = explicit_inverse(root)  # that of a triangle would load SciPy
        cov = np.swapaxes(inverse, -1, -2) @ inverse
        full = (self.restart.size, *[axis.size for axis in self.batch], self.size)
        mean = _apply(cov, h)
        if mean.shape != full:
            mean = np.broadcast_to(mean, full)
        self.fit = (h * mean).reshape(full[0], -1).sum(axis=1)
        self.set(mean, cov)
        self._log_det = 2.0 * np.log(pivots).sum(axis=-1)

    def set(self, mean: Array, cov: Array) -> None:
        """Take means (starts, *batch, n) and covariances (starts, *batch or 1, n, n)."""
        self.mean, self.cov, self._moments = mean, cov, {}
        self._means = {name: self._mean_table(name) for name in self.names}

    def set_centre(self, name: str, means: Array) -> None:
        """Start one variable at given means (starts, *axes), all without uncertainty."""
        axes = (self.restart, *self.layouts[name].axes)
        own = tuple(self.layouts[name].axes[i] for i in self._own[name])
        shared = tuple(self.layouts[name].axes[i] for i in self._shared[name])
        order = (self.restart, *shared, *own)
        values = np.transpose(means, [axes.index(a) for a in order])
        lead = values.shape[: 1 + len(shared)]
        mean = np.broadcast_to(self.mean, (*lead, self.size)).copy()
        mean[..., self._slices[name]] = values.reshape(*lead, -1)
        self.set(mean, np.zeros((1,) * len(lead) + (self.size, self.size)))

    def select(self, start: int) -> None:
        """Keep one start."""
        self._log_det, cov = (
            a[start : start + 1] if len(a) > 1 else a for a in (self._log_det, self.cov)
        )
        self.fit = self.fit[start : start + 1]
        self.set(self.mean[start : start + 1], cov)

    def natural(self) -> list[Array]:
        """Return weighted means and precisions."""
        precision = explicit_inverse(self.cov)
        return [np.matmul(precision, self.mean[..., None])[..., 0], precision]

    def set_natural(self, natural: Sequence[Array]) -> bool:
        """Take natural parameters; False where they are improper."""
        h, precision = natural
        try:
            self._solve(precision, h)
        except ValueError:
            return False
        return True

    def coordinates(self) -> list[Array]:
        """Return means and precisions: both move with the origin and units of the data."""
        return [self.mean, explicit_inverse(self.cov)]

    def set_coordinates(self, coordinates: Sequence[Array]) -> bool:
        """Take means and precisions; False where these are improper."""
        mean, precision = coordinates
        return self.set_natural([np.matmul(precision, mean[..., None])[..., 0], precision])

    # -- turning -----------------------------------------------------------------------------

    def transform(self, name: str, axis: int, matrix: Array) -> None:
        """Multiply all vectors along an axis by a matrix (starts, K, K).

        Along an axis that tells vectors apart they are mixed, and each keeps its own covariance only.
        """
        if axis in self._shared[name]:
            self._mix(self._shared[name].index(axis), matrix)
            return
        axes = self.layouts[name].axes
        own = self._own[name]
        full = np.broadcast_to(np.eye(self.size), (len(matrix), self.size, self.size)).copy()
        part = self._slices[name]
        full[:, part, part] = along_axis(matrix, [axes[i].size for i in own], own.index(axis))
        full = full.reshape(len(matrix), *(1,) * len(self.batch), self.size, self.size)
        mean = np.matmul(full, self.mean[..., None])[..., 0]
        cov = full @ self.cov @ np.swapaxes(full, -1, -2)
        self._log_det = self._log_det - 2.0 * np.linalg.slogdet(full)[1]
        self.set(mean, cov)

    def _mix(self, batch: int, matrix: Array) -> None:
        """Mix vectors: v_i → Σ_k M_ik v_k has the covariance Σ_k M_ik² Σ_k."""
        if len(self.names) > 1:
            raise self.cannot("be turned along an axis of several variables")
        count = self.batch[batch].size
        shape = [*self.cov.shape[: batch + 1], count, *self.cov.shape[batch + 2 :]]
        cov = np.moveaxis(np.broadcast_to(self.cov, shape), batch + 1, -1)
        mean = np.moveaxis(self.mean, batch + 1, -1)
        wide = (len(matrix), *(1,) * (mean.ndim - 3), count, count)
        back = np.swapaxes(matrix, -1, -2)
        mean = mean @ back.reshape(wide)
        cov = cov @ np.square(back).reshape(*wide[:1], 1, *wide[1:])
        self.set(np.moveaxis(mean, -1, batch + 1), np.moveaxis(cov, -1, batch + 1))
        self._log_det = -np.linalg.slogdet(self.cov)[1]

    def _vector(self, a: Any, table: Table) -> Array:
        axes = self._own_axes[a.name]
        sources = [a.places[i] for i in self._order[a.name]]
        values = arrange(table, tuple(sources), self.batch + axes, self._restart)
        return self._flat(values, axes, (count_of(axes),))

    def _matrix(self, a: Any, b: Any, table: Table) -> Array:
        axes, twins = self._own_axes[a.name], self._twins[b.name]
        sources = [a.places[i] for i in self._order[a.name]]
        sources += [b.places[i] for i in self._own[b.name]]
        values = arrange(table, tuple(sources), self.batch + axes + twins, self._restart)
        return self._flat(values, axes + twins, (count_of(axes), count_of(twins)))

    def _flat(self, values: Array, axes: tuple[Axis, ...], inner: tuple[int, ...]) -> Array:
        """Return values (starts, *batch, *inner), also where nothing depends on an inner axis."""
        cut = 1 + len(self.batch)
        full = values.shape[:cut] + shape_of(axes)
        if values.shape != full:
            values = np.broadcast_to(values, full)
        return values.reshape(full[:cut] + inner)

    # -- expectations ------------------------------------------------------------------------

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        """Return E[v] or E[v uᵀ] = m mᵀ + Cov, as a sum of products of tables."""
        if len(accesses) == 1:
            return [(self._seen_mean(accesses[0]),)]
        if len(accesses) > 2:
            raise TypeError(f"a product of {len(accesses)} of {', '.join(self.names)}")
        a, b = accesses
        if self.cov.shape[:-1] == self.mean.shape:  # each vector has its own: one product less
            return [(self._seen_block(self._second(a.name, b.name), a, b),)]
        means = (self._seen_mean(a), self._seen_mean(b))
        return [means, (self._seen_cov(a, b),)]

    def covariance(self, a: Any, b: Any) -> Expectation:
        """Return Cov[v, uᵀ]: 0 where the two see other vectors."""
        first = [a.places[i] for i in self._shared[a.name]]
        second = [b.places[i] for i in self._shared[b.name]]
        return [(self._seen_cov(a, b), *same_members(first, second))]

    def _second(self, first: str, second: str) -> Array:
        """Return E[v uᵀ], found once for all factors."""
        rows, columns = self._slices[first], self._slices[second]
        if (first, second) not in self._moments:
            products = self.mean[..., rows, None] * self.mean[..., None, columns]
            products += self.cov[..., rows, columns]
            self._moments[first, second] = products
        return self._moments[first, second]

    def _mean_table(self, name: str) -> Table:
        own = self._own_axes[name]
        values = self.mean[..., self._slices[name]]
        shape = values.shape[:-1] + shape_of(own)
        return Table(values.reshape(shape), (*self._lead[name], *own))

    def _mean_of(self, name: str) -> Table:
        return self._means[name]

    def _seen_mean(self, a: Any) -> Table:
        return seen(self._means[a.name], self._axes[a.name], a.places)

    def _seen_cov(self, a: Any, b: Any) -> Table:
        return self._seen_block(self.cov[..., self._slices[a.name], self._slices[b.name]], a, b)

    def _seen_block(self, block: Array, a: Any, b: Any) -> Table:
        """Return matrices (starts, *batch, rows, columns) as two accesses see them."""
        own, twins = self._own_axes[a.name], self._twins[b.name]
        labels = (*self._lead[a.name], *own, *twins)
        values = block.reshape(block.shape[:-2] + shape_of((*own, *twins)))
        table = seen(compact(values, labels), self._axes[a.name], a.places)
        return seen(table, twins, tuple([b.places[i] for i in self._own[b.name]]))

    def log_total(self) -> Array:
        """½ hᵀ m + ½ ln|2π Σ| for each start."""
        return 0.5 * self.fit + self._log_volume()

    def entropy(self) -> Array:
        """½ ln|2πe Σ| for each start."""
        count = self.size * count_of(self.batch)
        return self._log_volume() + 0.5 * count

    def _log_volume(self) -> Array:
        count = count_of(self.batch)
        log_det = self._log_det.reshape(len(self._log_det), -1)  # one for all, or one for each
        total = log_det.sum(axis=1) * (count / log_det.shape[1])
        volume = 0.5 * (self.size * count * LOG_2PI - total)
        return volume if len(volume) == self.restart.size else np.repeat(volume, self.restart.size)

    def unpack(self, values: Array) -> dict[str, Array]:
        """Return each variable's part of vectors (S, *batch, n), as (S, *its axes)."""
        found = {}
        for name in self.names:
            shape, order = self.layouts[name].shape, (*self._shared[name], *self._own[name])
            part = values[..., self._slices[name]].reshape(len(values), *(shape[i] for i in order))
            found[name] = np.transpose(part, (0, *(1 + order.index(i) for i in range(len(order)))))
        return found

    def splits(self) -> list[Mapping[str, tuple[int, ...]]]:
        return [self._shared]

    # -- draws -------------------------------------------------------------------------------

    def resume(self, node: GaussianNode) -> None:
        full = (self.restart.size, *node.mean.shape[1:])
        self.set(np.broadcast_to(node.mean[:1], full), node.cov[:1])

    def draw_given_others(self, rng: np.random.Generator) -> dict[str, Array]:
        root = np.linalg.cholesky(self.cov)
        noise = rng.standard_normal((*self.mean.shape, 1))
        drawn = self.mean + np.matmul(root, noise)[..., 0]
        self.set(drawn, np.zeros((1,) * (drawn.ndim - 1) + (self.size, self.size)))
        return self.unpack(drawn)

    # -- answers -----------------------------------------------------------------------------

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, Array]:
        root = np.linalg.cholesky(self.cov[0])
        noise = rng.standard_normal((size, *self.mean.shape[1:]))
        return self.unpack(self.mean[0] + np.einsum("...ij,...j->...i", root, noise))

    def joint_moments(self, names: Sequence[str]) -> tuple[Array, Array]:
        count = count_of(self.batch)
        n = self.size
        mean = self.mean[:1].reshape(-1)
        blocks = np.broadcast_to(self.cov[0], (*self.mean.shape[1:], n)).reshape(count, n, n)
        cov = np.zeros((count, n, count, n))
        cov[np.arange(count), :, np.arange(count)] = blocks
        numbers = np.arange(count * n).reshape(1, *(a.size for a in self.batch), n)
        places = self.unpack(numbers)
        order = np.concatenate([places[name].ravel() for name in names])
        return mean[order], cov.reshape(count * n, -1)[np.ix_(order, order)]

    def carried_over(self, names: tuple[str, ...]) -> list[GroupBelief]:
        """Return the belief about all variables in its own vectors, about some of them in one."""
        numbers, batch = {}, dict[str, tuple[int, ...]](self._shared)
        if names == self.names:
            mean = np.array(self.mean[0])
            cov = np.broadcast_to(self.cov[0], (*mean.shape, self.size))
            for name, part in self._slices.items():
                own = shape_of(self._own_axes[name])
                numbers[name] = np.arange(part.start, part.stop).reshape(own)
        else:
            mean, cov = self.joint_moments(names)
            batch, start = dict.fromkeys(names, ()), 0
            for name in names:
                shape = self.layouts[name].shape
                stop = start + math.prod(shape)
                numbers[name], start = np.arange(start, stop).reshape(shape), stop
        return [NormalBelief(names, mean, symmetrize(explicit_inverse(cov)), batch, numbers)]

    def describe(self) -> str:
        """Say how many vectors of what length there are."""
        count = count_of(self.batch)
        return f"normal, {vectors_and_numbers(count, self.size)}"


def _apply(cov: Array, h: Array) -> Array:
    """Return Σ h for all vectors; where they share Σ, by one product."""
    if all(n == 1 for n in cov.shape[1:-2]):
        flat = h.reshape(h.shape[0], -1, h.shape[-1])
        answer = flat @ cov.reshape(cov.shape[0], *cov.shape[-2:])
        return answer.reshape(answer.shape[0], *h.shape[1:])
    return np.matmul(cov, h[..., None])[..., 0]
