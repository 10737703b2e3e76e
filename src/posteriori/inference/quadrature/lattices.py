r"""Integrals of a density over a few numbers as sums over a lattice.

.. math:: \int p(u)\,du \approx h^D |L| \sum_k p(m + L z_k) \prod_i \cosh(hk_i/s), \qquad
          z_{ki} = s \sinh(h k_i / s),\quad k \in Z^D,

with a root L of the covariance. The sum of equal weights converges faster than any power of the
step h for a smooth density: at h = 1 standard deviation the error of a normal one is about 10⁻⁷.
Steps grow away from the middle (by sinh), so that long tails take few points. Cells are found
outwards from the mode, each neighbour of one that matters, so ridges and skew make no difference;
sums over the even and the odd cells alone tell the error. Where the density falls on the way from a
start to the mode there may be another one: it is climbed, and cells are found outwards from there, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from posteriori.inference.quadrature.modes import LocalMode, LogDensity, climb
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = ["BEND", "Lattice", "NoFallError", "TooWideError", "integrate"]

#: Steps in standard deviations, by the number of coordinates: fine where points are few.
_STEP = {1: 0.5, 2: 0.75, 3: 1.0, 4: 1.2, 5: 1.4, 6: 1.4}
#: Beyond so many standard deviations steps grow in proportion to the distance.
BEND = 3.0
#: Cells matter whose density is less than so many nats below the highest: e⁻¹⁶ = 10⁻⁷.
_DEPTH = {1: 16.0, 2: 12.0, 3: 10.0, 4: 9.0, 5: 8.0, 6: 8.0}
#: No cell lies further from the mode than so many scales: beyond, nothing falls off.
_FAR = 40.0
#: Nats that the two halves of the cells may differ by before the step is halved.
_AGREED = 2e-3
#: A lattice whose spread is off by more than this factor is laid anew.
_MISSHAPEN = 1.6
#: Places between a start and the mode, as shares of the way, where a valley is looked for.
_ON_THE_WAY = np.array([0.0, 0.25, 0.5, 0.75])
#: Nats that the density falls by on the way if there is a valley.
_VALLEY = 1.0
#: Tops nearer than so many standard deviations are one.
_APART = 3.0
#: Nats by which the mode is above the best start if the starts tell little about where mass is.
_SURPRISE = 100.0
#: Times that a lattice is laid anew around a higher place that it came upon.
_ANEW = 3


class NoFallError(ValueError):
    """The density does not fall off along a coordinate."""

    def __init__(self, coordinate: int) -> None:
        super().__init__(f"the density does not fall off along coordinate {coordinate}")
        self.coordinate = coordinate


class TooWideError(ValueError):
    """The density has no end within the points that may be looked at."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """Points of a lattice with the density there.

    Attributes
    ----------
    origin, root : (D,), (D, D)
        Points are origin + root · z, with a lower triangular root.
    step : float
        h, in standard deviations.
    cells : (K, D) of int
    logs : (K,)
        ln p at the points.
    between : float
        What the points miss of the density between them, as seen on lines through the highest one.
    """

    origin: Array
    root: Array
    step: float
    cells: Array
    logs: Array
    between: float = 0.0

    @cached_property
    def places(self) -> Array:
        """The points in standard deviations z, (K, D)."""
        return _places(self.step * self.cells)

    @cached_property
    def points(self) -> Array:
        """The points (K, D)."""
        return self.origin + self.places @ self.root.T

    @cached_property
    def log_masses(self) -> Array:
        """Logs of density times volume of the cells."""
        volume = np.log(self.step * np.abs(np.diagonal(self.root))).sum()
        return self.logs + volume + np.log(np.cosh(self.step * self.cells / BEND)).sum(axis=1)

    @property
    def log_integral(self) -> float:
        """Log of the integral."""
        return float(log_sum_exp(self.log_masses))

    @cached_property
    def weights(self) -> Array:
        """Probabilities of the cells."""
        return np.exp(self.log_masses - self.log_integral)

    @cached_property
    def error(self) -> float:
        """What the sums over half of the cells say about that over all of them, in nats.

        Sums over cells of even and of odd k₁ + … + k_D differ by more than either from the whole;
        sums over even and odd cells of one axis have twice its step, and for a normal density an
        error ε whose fourth power is that of the whole. Its square stands for rougher ones. Where the
        density falls steeply to one side, as by the end of a range, both may agree by chance: what lines
        of finer steps tell counts too. Beyond the outermost cells lies about as much as in them.
        """
        along = sum(self._difference(self.cells[:, [i]]) ** 2 for i in range(self.cells.shape[1]))
        depth = _DEPTH[self.cells.shape[1]]
        outermost = float(self.weights[self.logs < self.logs.max() - depth].sum())
        return max(self._difference(self.cells), along / 8.0) + self.between + outermost

    def _difference(self, counted: Array) -> float:
        odd = float(self.weights[counted.sum(axis=1) % 2 == 1].sum())
        return abs(float(np.log(odd) - np.log1p(-odd))) if 0.0 < odd < 1.0 else np.inf

    def moments(self) -> tuple[Array, Array]:
        """Return the mean and the covariance."""
        mean = self.weights @ self.points
        gaps = self.points - mean
        return mean, (self.weights[:, None] * gaps).T @ gaps


def integrate(
    log_density: LogDensity, starts: Array, scales: Array, *, most: int = 10_000
) -> Lattice:
    """Return the lattice of a density.

    Parameters
    ----------
    log_density : callable
        ln p, up to a constant, at points (K, D).
    starts : (S, D)
        Points from all over where mass may be; modes near none of them may be missed.
    scales : (D,)
        How far apart different values of each coordinate are.
    most : int
        Cells at most.

    Raises
    ------
    ValueError
        When the density is 0 at all starts, does not fall off (:class:`NoFallError`), or needs
        too many cells (:class:`TooWideError`).
    """
    values = log_density(starts)
    if not np.any(np.isfinite(values)):
        raise ValueError("the density is 0 at all points where it was looked for")
    modes = _modes(log_density, starts, values, scales)
    for _ in range(_ANEW):
        lattice = _around(log_density, starts, values, modes, scales, most)
        highest = int(np.argmax(lattice.logs))
        known = max(mode.log_height for mode in modes)
        if lattice.logs[highest] < known + _VALLEY:
            break
        at, height = lattice.points[highest], float(lattice.logs[highest])
        modes.append(climb(log_density, at, height, scales))
    return lattice


def _modes(log_density: LogDensity, starts: Array, values: Array, scales: Array) -> list[LocalMode]:
    """Climb from the best start, and from those that may lead elsewhere."""
    best = int(np.argmax(values))
    mode = climb(log_density, starts[best], float(values[best]), scales)
    if mode.log_height - values[best] < _SURPRISE:
        return [mode, *_modes_beyond_valleys(log_density, starts, mode, scales)]
    found = [mode]
    for i in np.flatnonzero(np.isfinite(values)):
        if i != best:
            other = climb(log_density, starts[i], float(values[i]), scales)
            if all(_are_apart(other, known) for known in found):
                found.append(other)
    return found


def _around(
    log_density: LogDensity,
    starts: Array,
    values: Array,
    modes: list[LocalMode],
    scales: Array,
    most: int,
) -> Lattice:
    """Return a lattice that is laid by one of the modes and reaches the others."""
    size = starts.shape[1]
    seeds = np.array([*starts, *(other.at for other in modes)])
    heights = np.array([*values, *(other.log_height for other in modes)])
    others = seeds[heights > heights.max() - _DEPTH[size]]
    step = _STEP[size]
    lattice, reach = _coarse(log_density, modes, step, others, scales, most)
    lattice = _with_lines(log_density, lattice)
    while lattice.error > _AGREED and len(lattice.cells) * 2**size <= most:
        known = {tuple(2 * c): v for c, v in zip(lattice.cells, lattice.logs, strict=True)}
        step = 0.5 * step
        try:
            lattice = _filled(
                log_density, lattice.origin, lattice.root, step, known, others, reach, most
            )
        except TooWideError:  # the coarser one says how far off it is
            break
        lattice = _with_lines(log_density, lattice)
    return lattice


def _with_lines(log_density: LogDensity, lattice: Lattice) -> Lattice:
    r"""Return a lattice with what it misses between its points: of one coordinate nothing is known.

    Sums of step h miss the waves of length h, 2 |∫ p(u) exp(2πi u/h) du|: their size along a line through
    the highest point, whatever their phase, takes a quarter of the step.
    """
    if lattice.cells.shape[1] == 1:
        return lattice
    highest = lattice.cells[int(np.argmax(lattice.logs))]
    lines = [_line(lattice.cells, highest, axis) for axis in range(len(highest))]
    away = _places(lattice.step * np.concatenate(lines)) @ lattice.root.T
    logs = np.split(log_density(lattice.origin + away), np.cumsum([len(x) for x in lines])[:-1])
    missed = [
        _wave(line[:, axis], values, lattice.step)
        for axis, (line, values) in enumerate(zip(lines, logs, strict=True))
    ]
    return replace(lattice, between=float(np.sum(missed)))


def _line(cells: Array, through: Array, axis: int) -> Array:
    """Return the line of cells along an axis through one of them, by quarters of a step."""
    same = np.all(np.delete(cells == through, axis, axis=1), axis=1)
    ends = cells[same, axis].min(), cells[same, axis].max()
    at = np.arange(4 * ends[0], 4 * ends[1] + 1) / 4.0
    line = np.tile(through.astype(np.float64), (len(at), 1))
    line[:, axis] = at
    return line


def _wave(at: Array, logs: Array, step: float) -> float:
    """Return twice the share of the wave as long as a step in a density on a line."""
    mass = np.exp(logs - logs.max()) * np.cosh(step * at / BEND)
    return 2.0 * float(np.abs(mass @ np.exp(2j * np.pi * at)) / mass.sum())


def _coarse(
    log_density: LogDensity,
    modes: list[LocalMode],
    step: float,
    others: Array,
    scales: Array,
    most: int,
) -> tuple[Lattice, Array]:
    """Lay a lattice by the highest mode, or by the highest that is wide enough, and say how far."""
    tried = sorted(modes, key=lambda mode: -mode.log_height)
    for mode in tried:
        reach = _FAR * np.maximum(scales, np.diagonal(mode.root))
        try:
            lattice = _filled(log_density, mode.at, mode.root, step, {}, others, reach, most)
            break
        except TooWideError:
            if mode is tried[-1]:
                raise
    mean, cov = lattice.moments()
    is_mode = lattice.logs.max() < mode.log_height + _VALLEY
    if len(modes) == 1 and is_mode and _is_misshapen(mode, cov):
        root = np.linalg.cholesky(cov)
        lattice = _filled(log_density, mean, root, step, {}, others, reach, most)
    return lattice, reach


def _modes_beyond_valleys(
    log_density: LogDensity, starts: Array, mode: LocalMode, scales: Array
) -> list[LocalMode]:
    """Climb from where the density is highest before it falls on the way from a start to the mode."""
    ways = starts[:, None] + _ON_THE_WAY[:, None] * (mode.at - starts)[:, None]
    values = log_density(ways.reshape(-1, len(scales))).reshape(len(starts), -1)
    found: list[LocalMode] = []
    for way, heights in zip(ways, values, strict=True):
        best = np.maximum.accumulate(heights)
        falls = np.append(heights, mode.log_height)[1:] < best - _VALLEY
        if not falls.any() or not np.isfinite(best[-1]):
            continue
        before = int(np.argmax(heights[: int(np.argmax(falls)) + 1]))
        other = climb(log_density, way[before], float(heights[before]), scales)
        if all(_are_apart(other, known) for known in (mode, *found)):
            found.append(other)
    return found


def _are_apart(one: LocalMode, other: LocalMode) -> bool:
    z = np.linalg.solve(other.root, one.at - other.at)
    return bool(np.linalg.norm(z) > _APART)


def _is_misshapen(mode: LocalMode, cov: Array) -> bool:
    """Tell whether the curvature at the mode says little about the spread."""
    white = np.linalg.solve(mode.root, np.linalg.solve(mode.root, cov).T)
    widths = np.sqrt(np.maximum(np.linalg.eigvalsh(white), 1e-12))
    return bool(widths[0] < 1.0 / _MISSHAPEN or widths[-1] > _MISSHAPEN)


def _filled(
    log_density: LogDensity,
    origin: Array,
    root: Array,
    step: float,
    known: dict[tuple[int, ...], float],
    others: Array,
    reach: Array,
    most: int,
) -> Lattice:
    """Add neighbours of cells that matter until there are none."""
    size = len(origin)
    found = dict(known)
    depth = _DEPTH[size]
    seeds = np.linalg.solve(root, (others - origin).T).T
    seeds = np.rint(BEND / step * np.arcsinh(seeds / BEND)).astype(int)
    waiting = {(0,) * size, *map(tuple, seeds), *_next_to(known)} - found.keys()
    peak = max(found.values(), default=-np.inf)
    while waiting:
        cells = np.array(sorted(waiting))
        away = _places(step * cells) @ root.T
        far = np.abs(away).max(axis=0) / reach
        if far.max() > 1.0:
            raise NoFallError(int(np.argmax(far)))
        if len(found) + len(cells) > most:
            raise TooWideError(f"the density is spread over more than {most} points")
        logs = log_density(origin + away)
        found |= zip(map(tuple, cells.tolist()), logs.tolist(), strict=True)
        peak = max(peak, float(logs.max()))
        there = [tuple(c) for c, v in zip(cells.tolist(), logs, strict=True) if v > peak - depth]
        waiting = _next_to(there) - found.keys()
    kept = {cell: value for cell, value in found.items() if value > peak - depth - 4.0}
    return Lattice(origin, root, step, np.array(list(kept)), np.array(list(kept.values())))


def _places(even: Array) -> Array:
    """Return the points of an even lattice with steps that grow away from the middle."""
    return BEND * np.sinh(even / BEND)


def _next_to(cells: Iterable[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """Return the neighbours of cells along the axes."""
    return {
        (*cell[:i], cell[i] + step, *cell[i + 1 :])
        for cell in cells
        for i, step in product(range(len(cell)), (-1, 1))
    }
