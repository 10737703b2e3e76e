"""Beliefs about a normal variable that follows itself in time: a block-tridiagonal precision."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.inference.chains.block_tridiagonal import solve_block_tridiagonal
from posteriori.modeling.binding.bound import Layout
from posteriori.modeling.binding.labelled import Axis, Run, Table, count_of, seen, shape_of
from posteriori.modeling.binding.places import add_tables, same_place
from posteriori.modeling.contract.costs import counted
from posteriori.modeling.contract.linear_forms import Expectation
from posteriori.modeling.variational.densities.addressing import collect
from posteriori.modeling.variational.nodes.normal_node import NormalNode, along_axis, times_of
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["ChainNode"]


class ChainNode(NormalNode):
    """A normal chain.

    Parameters
    ----------
    name : str
    time : int
        Which of its axes is time.
    layouts : mapping
    apart : sequence of tuples of int
        Its axes, one in each, along which members do not meet.
    restart : Axis
    """

    kind = "normal chain"
    can_turn = True

    def __init__(
        self,
        name: str,
        time: int,
        layouts: Mapping[str, Layout],
        apart: Sequence[tuple[int, ...]],
        restart: Axis,
    ) -> None:
        self.name = name
        self.names = (name,)
        self.layouts = layouts
        self.layout = layouts[name]
        self.restart = restart
        axes = self.layout.axes
        self.time = axes[time]
        self._time = time
        self._shared = tuple(i for (i,) in apart if i != time)
        self._own = tuple(i for i in range(len(axes)) if i != time and i not in self._shared)
        self.batch = tuple(axes[i] for i in self._shared)
        self.own = tuple(axes[i] for i in self._own)
        self.twins = tuple(Axis("twin", axis.size) for axis in self.own)
        self.size = count_of(self.own)
        self.arrival = Axis("step", self.time.size - 1)
        self._log_det = self.fit = np.zeros(restart.size)
        self._mean = self._cov = self._cross = Table(np.zeros(()), ())

    # -- update ------------------------------------------------------------------------------

    def update(self, messages: Iterable[tuple[tuple[Any, ...], Table]]) -> None:
        """Solve the chain whose precision and weighted mean are sums of messages."""
        series = (self.restart.size, *(axis.size for axis in self.batch))
        n, length = self.size, self.time.size
        diagonal = np.zeros((*series, length, n, n))
        coupling = np.zeros((*series, length - 1, n, n))
        h = np.zeros((*series, length, n))
        for accesses, table in messages:
            if len(accesses) == 1:
                times = times_of(accesses[0].places[self._time])
                _add(h, times, self._vector(accesses[0], table), 1)
                continue
            a, b = accesses
            first, second = (times_of(access.places[self._time]) for access in accesses)
            if first.start == second.start:
                block = self._matrix(a, b, first, table)
                _add(diagonal, first, -(block + np.swapaxes(block, -1, -2)), 2)
            else:
                early, late = (a, b) if first.start < second.start else (b, a)
                start = min(first, second, key=lambda t: t.start)
                _add(coupling, start, -self._matrix(early, late, start, table), 2)
        count = math.prod(series)
        solved = solve_block_tridiagonal(
            diagonal.reshape(count, length, n, n),
            coupling.reshape(count, length - 1, n, n),
            h.reshape(count, length, n),
        )
        self._keep(series, solved, h.reshape(count, length, n))

    def _keep(self, series: tuple[int, ...], solved: Any, h: Array) -> None:
        self._set(series, solved.mean, solved.cov, solved.cross)
        self._log_det = solved.log_det.reshape(self.restart.size, -1).sum(axis=1)
        self.fit = (h * solved.mean).reshape(self.restart.size, -1).sum(axis=1)

    def _set(self, series: tuple[int, ...], mean: Array, cov: Array, cross: Array) -> None:
        """Take means, covariances and those of neighbours of each series."""
        found = []
        for values, axis, inner in (
            (mean, self.time, self.own),
            (cov, self.time, self.own + self.twins),
            (cross, self.arrival, self.own + self.twins),
        ):
            labels = (self.restart, *self.batch, axis, *inner)
            shape = (*series, axis.size, *shape_of(inner))
            found.append(Table(values.reshape(shape), labels))
        self._mean, self._cov, self._cross = found

    def set_centre(self, name: str, mean: Array) -> None:
        """Start at given means (starts, *axes) without uncertainty."""
        axes = (self.restart, *self.layout.axes)
        order = (self.restart, *self.batch, self.time, *self.own)
        values = np.transpose(mean, [axes.index(a) for a in order])
        series = values.shape[: 1 + len(self.batch)]
        square = (self.size, self.size)
        cov, cross = (np.zeros((*series, a.size, *square)) for a in (self.time, self.arrival))
        self._set(series, values, cov, cross)

    def select(self, start: int) -> None:
        """Keep one start."""
        tables = (self._mean, self._cov, self._cross)
        self._mean, self._cov, self._cross = (
            Table(t.values[start : start + 1], t.axes) for t in tables
        )
        self._log_det, self.fit = (a[start : start + 1] for a in (self._log_det, self.fit))

    # -- turning -----------------------------------------------------------------------------

    def transform(self, name: str, axis: int, matrix: Array) -> None:
        """Multiply all vectors along an axis by a matrix (starts, K, K)."""
        sizes = [a.size for a in self.own]
        full = along_axis(matrix, sizes, self._own.index(axis))
        lead = self._mean.values.shape[: 2 + len(self.batch)]
        full = full.reshape(len(matrix), *(1,) * (len(lead) - 1), self.size, self.size)
        mean = np.matmul(full, self._mean.values.reshape(*lead, self.size, 1))
        self._mean = Table(mean.reshape(self._mean.values.shape), self._mean.axes)
        self._cov = _turned(self._cov, full, self.size)
        self._cross = _turned(self._cross, full, self.size)
        steps = self._count // self.size
        self._log_det = self._log_det - 2.0 * steps * np.linalg.slogdet(full)[1].ravel()

    def _vector(self, a: Any, table: Table) -> Array:
        times = times_of(a.places[self._time])
        places, labels = self._places(a, times)
        places += [(a.places[i], axis) for i, axis in zip(self._own, self.own, strict=True)]
        found = collect(table, places, (self.restart,))
        return self._arranged(found, (*labels, *self.own), 1)

    def _matrix(self, a: Any, b: Any, times: Run, table: Table) -> Array:
        places, labels = self._places(a, times)
        places += [(a.places[i], axis) for i, axis in zip(self._own, self.own, strict=True)]
        places += [(b.places[i], axis) for i, axis in zip(self._own, self.twins, strict=True)]
        found = collect(table, places, (self.restart,))
        return self._arranged(found, (*labels, *self.own, *self.twins), 2)

    def _places(self, a: Any, times: Run) -> tuple[list[tuple[Any, Axis]], list[Axis]]:
        places = [(a.places[i], axis) for i, axis in zip(self._shared, self.batch, strict=True)]
        labels = [self.restart, *self.batch]
        if times.label is not None:
            places.append((times.label, times.label))
            labels.append(times.label)
        return places, labels

    def _arranged(self, table: Table, labels: tuple[Axis, ...], width: int) -> Array:
        values = add_tables([table], labels)
        cut = len(labels) - width * len(self.own)
        inner = shape_of(labels[cut:])
        full = np.broadcast_to(values, values.shape[:cut] + inner)
        return full.reshape(*values.shape[:cut], *(self.size,) * width)

    # -- expectations ------------------------------------------------------------------------

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        """Return E[v] or E[v uᵀ] = m mᵀ + Cov, as a sum of products of tables."""
        if len(accesses) == 1:
            return [(self._seen_mean(accesses[0]),)]
        a, b = accesses
        return [(self._seen_mean(a), self._seen_mean(b)), (self._seen_cov(a, b),)]

    def covariance(self, a: Any, b: Any) -> Expectation:
        """Return Cov[v, uᵀ] of members at the same time."""
        place, other = (x.places[self._time] for x in (a, b))
        if not same_place(place, other):
            raise TypeError(f"several members of the chain {self.name} at once have no closed form")
        return [(self._seen_cov(a, b),)]

    def _mean_of(self, name: str) -> Table:
        return self._mean

    def _seen_mean(self, a: Any) -> Table:
        return seen(self._mean, self.layout.axes, a.places)

    def _seen_cov(self, a: Any, b: Any) -> Table:
        first, second = (times_of(x.places[self._time]) for x in (a, b))
        if first.start == second.start:
            table = seen(self._cov, (self.time,), (a.places[self._time],))
        else:
            if first.start > second.start:
                a, b, first = b, a, second
            whole = first.label is not None and first.label.size == self.arrival.size
            place = first.label if whole else a.places[self._time]
            table = seen(self._cross, (self.arrival,), (place,))
        table = seen(table, self.batch, tuple(a.places[i] for i in self._shared))
        table = seen(table, self.own, tuple(a.places[i] for i in self._own))
        return seen(table, self.twins, tuple(b.places[i] for i in self._own))

    def log_total(self) -> Array:
        """½ hᵀ m + ½ ln|2π Σ| for each start."""
        return 0.5 * (self.fit + self._count * LOG_2PI - self._log_det)

    def entropy(self) -> Array:
        """½ ln|2πe Σ| for each start."""
        return 0.5 * (self._count * (1.0 + LOG_2PI) - self._log_det)

    @property
    def _count(self) -> int:
        return self.size * self.time.size * count_of(self.batch)

    def moments(self) -> tuple[Array, Array, Array]:
        """Means (*batch, T, n), covariances and those of neighbours, of the first start."""
        lead = (*(axis.size for axis in self.batch), -1)
        square = (*lead, self.size, self.size)
        mean, cov, cross = (t.values[0] for t in (self._mean, self._cov, self._cross))
        return mean.reshape(*lead, self.size), cov.reshape(square), cross.reshape(square)

    def unpack(self, values: Array) -> dict[str, Array]:
        """Return vectors (S, *batch, T, n) along the variable's own axes."""
        order = (*self._shared, self._time, *self._own)
        part = values.reshape(len(values), *(self.layout.shape[i] for i in order))
        return {
            self.name: np.transpose(part, (0, *(1 + order.index(i) for i in range(len(order)))))
        }

    def splits(self) -> list[Mapping[str, tuple[int, ...]]]:
        shared = tuple(sorted(self._shared))
        return [{self.name: tuple(sorted((*shared, self._time)))}, {self.name: shared}]

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, Array]:
        return self.unpack(_draw_path(*self.moments(), size, rng))

    def log_prob(self, draws: Mapping[str, Any]) -> Array:
        order = (*self._shared, self._time, *self._own)
        values = np.transpose(draws[self.name], (0, *(1 + i for i in order)))
        mean, cov, cross = self.moments()
        return _log_path(values.reshape(-1, *mean.shape), mean, cov, cross)

    def describe(self) -> str:
        """Say how long the chain is."""
        return f"{counted(self.time.size, 'step')} of {counted(self.size, 'number')}"


def _turned(table: Table, matrix: Array, size: int) -> Table:
    """Return M C Mᵀ for all covariances of a table."""
    square = table.values.reshape(*table.values.shape[: matrix.ndim - 2], size, size)
    turned = matrix @ square @ np.swapaxes(matrix, -1, -2)
    return Table(turned.reshape(table.values.shape), table.axes)


def _add(target: Array, times: Run, values: Array, width: int) -> None:
    """Add to the members that a run of times names."""
    if times.label is None:
        target[(..., times.start) + (slice(None),) * width] += values
        return
    stop = times.start + times.label.size
    target[(..., slice(times.start, stop)) + (slice(None),) * width] += values


def _log_path(path: Array, mean: Array, cov: Array, cross: Array) -> Array:
    """Return the log density of paths (S, *batch, T, n), of all series together."""
    total = np.zeros(len(path))
    for t in range(mean.shape[-2]):
        away, spread = path[..., t, :] - mean[..., t, :], cov[..., t, :, :]
        if t:
            gain = np.linalg.solve(cov[..., t - 1, :, :], cross[..., t - 1, :, :])
            gone = path[..., t - 1, :] - mean[..., t - 1, :]
            away = away - _apply(np.swapaxes(gain, -1, -2), gone)
            spread = spread - np.swapaxes(gain, -1, -2) @ cross[..., t - 1, :, :]
        root = np.linalg.cholesky(spread)
        steps = np.linalg.solve(root, away[..., None])[..., 0]
        logs = -0.5 * (steps**2 + LOG_2PI) - np.log(np.diagonal(root, axis1=-2, axis2=-1))
        total += logs.reshape(len(path), -1).sum(axis=1)
    return total


def _draw_path(mean: Array, cov: Array, cross: Array, size: int, rng: np.random.Generator) -> Array:
    """Draw v_t | v_{t-1} ~ N(m_t + Gᵀ(v_{t-1} − m_{t-1}), Σ_t − GᵀC), G = Σ_{t-1}⁻¹ C."""
    path = np.empty((size, *mean.shape))
    noise: Array = np.asarray(rng.standard_normal(path.shape))
    for t in range(mean.shape[-2]):
        center, spread = np.broadcast_to(mean[..., t, :], noise[..., t, :].shape), cov[..., t, :, :]
        if t:
            gain = np.linalg.solve(cov[..., t - 1, :, :], cross[..., t - 1, :, :])
            gone = path[..., t - 1, :] - mean[..., t - 1, :]
            center = center + _apply(np.swapaxes(gain, -1, -2), gone)
            spread = spread - np.swapaxes(gain, -1, -2) @ cross[..., t - 1, :, :]
        path[..., t, :] = center + _apply(_root(spread), noise[..., t, :])
    return path


def _apply(matrix: Array, vectors: Array) -> Array:
    return np.einsum("...ij,...j->...i", matrix, vectors)


def _root(cov: Array) -> Array:
    """Return R with R Rᵀ = Σ; differences of covariances may be singular."""
    values, vectors = np.linalg.eigh(0.5 * (cov + np.swapaxes(cov, -1, -2)))
    return vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
