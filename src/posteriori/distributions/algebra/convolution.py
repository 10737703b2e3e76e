r"""Sums and products of independent numbers on grids.

.. math:: p_{x+y}(z) = \int p_x(x)\,p_y(z-x)\,dx,\qquad
          p_{xy}(z) = \int p_x(x)\,p_y(z/x)\,\frac{dx}{|x|}.

A density becomes masses of even cells, and masses convolve by the fast Fourier transform.
A product is a sum of logarithms, sign by sign: with :math:`x = \pm e^u` the singularity at 0 moves
to :math:`u\to-\infty`, where the masses vanish.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.base import has_atoms
from posteriori.distributions.composites.numeric import Numeric, NumericCounts
from posteriori.numerics.lazy import fft
from posteriori.numerics.types import Array

__all__ = [
    "Cells",
    "CountMasses",
    "cells_of",
    "convolve",
    "convolve_counts",
    "counts_of",
    "fold",
    "multiply_densities",
    "multiply_counts",
]

_TAILS = 10.0 ** np.linspace(-13.0, -2.0, 45)  # what may be cut off each side
_WEIGHT_OF_TAILS = 10.0  # moments suffer more from lost tails than probabilities do
_EDGE = 256  # cells at an end of the support whose masses come from the cdf

#: Allowance for rounding in the errors that are stated, as a part of 1.
_ROUNDING = 1e-13

#: Whole numbers that are listed: 80 MB.
_MANY = 10_000_000

#: Masses up to which sums are taken without transforms.
_DIRECT = 2_000


class Cells(NamedTuple):
    """Masses of even cells around start, start + step and so on.

    Attributes
    ----------
    start, step : float
        First node and distance of the nodes.
    masses : array (M,)
        Probability around each node.
    error : float
        Probability that was cut off, and what the masses miss of the rest.
    edge : float
        Probability of the outermost cells of the support, which does not lie at their nodes.
    """

    start: float
    step: float
    masses: Array
    error: float
    edge: float = 0.0


class CountMasses(NamedTuple):
    """Probabilities of the whole numbers from ``start`` on, and the probability left out."""

    start: int
    masses: Array
    error: float


class _Range(NamedTuple):
    """Ends of a grid, and whether each is an end of the support."""

    low: float
    high: float
    starts: bool
    ends: bool

    @property
    def width(self) -> float:
        return self.high - self.low


# -- sums --------------------------------------------------------------------------------------


def convolve(p: Any, q: Any, points: int = 100_000) -> Numeric:
    """Return the density of x + y on ``points`` even nodes; one of the two may be discrete.

    The error adds up what was cut off the tails, what the masses of the cells miss, and how
    far the density bends between nodes. Densities below 10⁻¹⁶ of the peak are rounding.

    Cost O(n ln n).
    """
    ranges, step = _common_grid((p, q), points)
    first, second = (cells_of(d, r, step) for d, r in zip((p, q), ranges, strict=True))
    total = np.maximum(_convolve_masses(first.masses, second.masses), 0.0)
    nodes = first.start + second.start + step * np.arange(float(len(total)))
    moved = _moved(first, second) + _moved(second, first)
    return _tabulate(nodes, total / step, step, first.error + second.error + moved)


def _moved(one: Cells, other: Cells) -> float:
    """Bound what moving the outermost mass by half a cell does to the sum."""
    return 0.5 * one.edge * float(np.abs(np.diff(other.masses)).sum())


def fold(p: Any, n: int, points: int = 1 << 17) -> Numeric:
    """Return the density of the sum of ``n`` independent copies, around its mean.

    The transform of the masses is raised to the n-th power; what lies beyond the window would
    come in at its other side, so the window is wide.
    """
    spread = float(np.sqrt(p.variance))
    (own,), _ = _common_grid((p,), points)
    period = 24.0 * spread * np.sqrt(n) + own.width
    step = period / points
    cells = cells_of(p, own, step)
    masses = cells.masses / cells.masses.sum()
    power = np.fft.irfft(np.fft.rfft(masses, points) ** n, points)
    middle = round(n * (float(p.mean) - cells.start) / step)
    offset = middle - points // 2
    total = np.maximum(np.roll(power, -(offset % points)), 0.0)
    nodes = n * cells.start + step * (offset + np.arange(float(points)))
    return _tabulate(nodes, total / step, step, n * (cells.error + _moved(cells, cells)))


def cells_of(p: Any, reach: _Range | None = None, step: float | None = None) -> Cells:
    """Return the masses of even cells of a single distribution of a number."""
    if reach is None or step is None:
        (reach,), step = _common_grid((p,), 100_000)
    count = int(np.ceil(reach.width / step - 1e-9)) + 1
    if has_atoms(p):
        return _cells_of_counts(p, reach, step, count)
    nodes = reach.low + step * np.arange(float(count))
    with np.errstate(over="ignore"):
        masses = step * np.exp(p.log_prob(nodes))
    masses = _mend_ends(masses, nodes - 0.5 * step, nodes + 0.5 * step, p.cdf, reach)
    outside = float(p.cdf(reach.low)) + 1.0 - float(p.cdf(nodes[-1]))
    edge = reach.starts * float(masses[0]) + reach.ends * float(masses[-2:].sum())
    lost = outside + abs(1.0 - outside - float(masses.sum()))
    return Cells(reach.low, step, masses, lost, edge)


def _cells_of_counts(p: Any, reach: _Range, step: float, count: int) -> Cells:
    """Put each atom on the two nodes beside it."""
    if hasattr(p, "points"):
        x, w, lost = np.asarray(p.points), np.asarray(p.weights), 0.0
    else:
        table = counts_of(p)
        x, w, lost = table.start + np.arange(float(len(table.masses))), table.masses, table.error
    place = (x - reach.low) / step
    left = np.clip(np.floor(place + 1e-9).astype(np.intp), 0, count - 1)
    share = np.clip(place - left, 0.0, 1.0)
    masses = np.bincount(left, w * (1.0 - share), count)
    masses += np.bincount(np.minimum(left + 1, count - 1), w * share, count)
    return Cells(reach.low, step, masses, lost)


def _mend_ends(
    masses: Array, lower: Array, upper: Array, cdf: Callable[[Any], Array], reach: _Range
) -> Array:
    """Take the cells at the ends of the support from the cdf: there the density may jump."""
    size = min(_EDGE, len(masses) // 4)
    for is_end, part in ((reach.starts, slice(0, size)), (reach.ends, slice(-size, None))):
        if is_end and size:
            masses[part] = cdf(upper[part]) - cdf(lower[part])
    return masses


def _common_grid(ps: tuple[Any, ...], points: int) -> tuple[list[_Range], float]:
    """Choose ranges and one step: what is cut off the tails weighed against the step."""
    for p in ps:
        _require_single(p)
    scales = [float(p.quantile(0.75) - p.quantile(0.25)) for p in ps if not has_atoms(p)]
    finest = min(scales, default=1.0)
    choices = [_ranges_of(p, _TAILS) for p in ps]
    widths = np.sum([[r.width for r in ranges] for ranges in choices], axis=0)
    steps = np.maximum(widths, finest) / (points - len(ps))
    best = int(np.argmin(_WEIGHT_OF_TAILS * _TAILS + 0.05 * (steps / finest) ** 2))
    step = float(steps[best])
    if any(has_atoms(p) and not hasattr(p, "points") for p in ps):
        step = 1.0 / np.ceil(1.0 / step)  # whole numbers lie on nodes
    return [ranges[best] for ranges in choices], step


def _ranges_of(p: Any, tails: Array) -> list[_Range]:
    """Return a range for each probability that may be cut off either tail."""
    low, high = float(p.quantile(0.0)), float(p.quantile(1.0))
    nears, fars = p.quantile(tails).tolist(), p.quantile(1.0 - tails).tolist()
    if has_atoms(p):
        pairs = zip(nears, fars, strict=True)
        return [_Range(max(low, a - 1.0), min(high, b + 1.0), False, False) for a, b in pairs]
    made = []
    for near, far in zip(nears, fars, strict=True):
        starts, ends = near - low <= 0.5 * (far - near), high - far <= 0.5 * (far - near)
        made.append(_Range(low if starts else near, high if ends else far, starts, ends))
    return made


def _convolve_masses(a: Array, b: Array) -> Array:
    size = len(a) + len(b) - 1
    padded = fft.next_fast_len(size, real=True)
    return fft.irfft(fft.rfft(a, padded) * fft.rfft(b, padded), padded)[:size]


def _tabulate(nodes: Array, density: Array, step: float, error: float) -> Numeric:
    bend = step * float(np.abs(np.diff(density, 2)).sum()) / 8.0
    area = step * (density.sum() - 0.5 * (density[0] + density[-1]))
    total = np.float64(min(error + bend + _ROUNDING, 1.0))
    return Numeric._from(nodes=nodes, density=density / area, error=total)


# -- products ----------------------------------------------------------------------------------


def multiply_densities(p: Any, q: Any, points: int = 1 << 18) -> Numeric:
    """Return the density of x·y on nodes that are even in ln|z|, on both sides of 0.

    Cost O(n ln n).
    """
    reaches = [_log_range(d) for d in (p, q)]
    step = sum(r.width for r in reaches) / (points - 2)
    parts = [_signed_cells(d, r, step) for d, r in zip((p, q), reaches, strict=True)]
    size = sum(len(part[0].masses) for part in parts) - 1
    padded = fft.next_fast_len(size, real=True)
    (xp, xn), (yp, yn) = ([fft.rfft(c.masses, padded) for c in part] for part in parts)
    above = np.maximum(fft.irfft(xp * yp + xn * yn, padded)[:size], 0.0) / step
    below = np.maximum(fft.irfft(xp * yn + xn * yp, padded)[:size], 0.0) / step
    w = reaches[0].low + reaches[1].low + step * np.arange(float(size))
    lost = sum(cells.error for part in parts for cells in part)
    lost += sum(_moved(a, b) + _moved(b, a) for a in parts[0] for b in parts[1])
    return _join_sides(np.exp(w), above, below, step, lost)


def _join_sides(z: Array, above: Array, below: Array, step: float, error: float) -> Numeric:
    """Make one table of densities that are known as functions of ln|z| on either side of 0."""
    nodes, density = [], []
    bend = 0.0
    for side, flip in ((below, True), (above, False)):
        if not side.sum() * step > _ROUNDING:
            continue
        first = int(np.argmax(side > _ROUNDING * side.max()))  # nearer to 0 the cells were cut
        height = side[first:] / z[first:]
        nodes.append(-z[first:][::-1] if flip else z[first:])
        density.append(height[::-1] if flip else height)
        # z² f'' = g'' − 3g' + 2g with g = z f as a function of ln z
        curve = np.abs(np.diff(side, 2)).sum() + 3.0 * step * np.abs(np.diff(side)).sum()
        bend += step * (curve + 2.0 * step) / 8.0
    error = min(error + bend + _ROUNDING, 1.0)
    return Numeric(np.concatenate(nodes), np.concatenate(density), error)


def _log_range(p: Any) -> _Range:
    """Return the range of ln|x|, down to where hardly any probability is left."""
    _require_single(p)
    (reach,) = _ranges_of(p, _TAILS[:1])
    size = max(abs(reach.low), abs(reach.high))
    steps = size * np.exp(-np.linspace(0.0, 700.0, 7001))
    within = p.cdf(steps) - p.cdf(-steps)
    inner = steps[np.argmax(within <= 1e-12)] if np.any(within <= 1e-12) else steps[-1]
    nearest = min(abs(reach.low), abs(reach.high)) if reach.low * reach.high > 0 else 0.0
    low = max(float(inner), nearest)
    return _Range(np.log(low), np.log(size), low == nearest, reach.starts or reach.ends)


def _signed_cells(p: Any, reach: _Range, step: float) -> tuple[Cells, Cells]:
    """Return masses of even cells of ln|x|, for positive and for negative x."""
    count = int(np.ceil(reach.width / step - 1e-9)) + 1
    u = reach.low + step * np.arange(float(count))
    lower, upper = np.exp(u - 0.5 * step), np.exp(u + 0.5 * step)
    made = []
    for sign in (1.0, -1.0):
        x = sign * np.exp(u)
        with np.errstate(over="ignore"):
            masses = step * np.exp(p.log_prob(x)) * np.abs(x)
        tail = _mirrored_cdf(p, sign)
        masses = _mend_ends(masses, lower, upper, tail, reach)
        inside = float(tail(np.abs(x[-1])) - tail(np.exp(reach.low)))
        whole = float(1.0 - p.cdf(0.0)) if sign > 0 else float(p.cdf(0.0))
        edge = reach.starts * float(masses[0]) + reach.ends * float(masses[-2:].sum())
        lost = whole - inside + abs(inside - float(masses.sum()))
        made.append(Cells(reach.low, step, masses, lost, edge))
    return made[0], made[1]


def _mirrored_cdf(p: Any, sign: float) -> Callable[[Any], Array]:
    return p.cdf if sign > 0 else lambda x: 1.0 - p.cdf(-np.asarray(x))


# -- whole numbers -----------------------------------------------------------------------------


def counts_of(p: Any) -> CountMasses:
    """List the probabilities of a distribution of whole numbers."""
    _require_single(p)
    low, high = (float(p.quantile(q)) for q in (1e-16, 1.0 - 1e-15))
    first, last = float(p.quantile(0.0)), float(p.quantile(1.0))
    reach = 10.0 + np.ceil(0.5 * (high - low))
    low, high = max(first, low - reach), min(last, high + reach)
    if not (low == np.floor(low) and high == np.floor(high)) or high - low > _MANY:
        raise ValueError(f"{p!r} is not a distribution of a moderate number of whole numbers")
    masses = np.exp(p.log_prob(np.arange(low, high + 1.0)))
    return CountMasses(int(low), masses, max(1.0 - float(masses.sum()), 0.0))


def convolve_counts(p: Any, q: Any) -> NumericCounts:
    """Return the distribution of the sum of two independent whole numbers."""
    a, b = counts_of(p), counts_of(q)
    short = min(len(a.masses), len(b.masses)) <= _DIRECT
    join = np.convolve if short else _convolve_masses
    masses = np.maximum(join(a.masses, b.masses), 0.0)
    return NumericCounts(a.start + b.start, masses, a.error + b.error + _ROUNDING)


def multiply_counts(p: Any, q: Any) -> NumericCounts:
    """Return the distribution of the product of two independent whole numbers."""
    a, b = counts_of(p), counts_of(q)
    x, y = (t.start + np.arange(len(t.masses)) for t in (a, b))
    if len(x) * len(y) > _MANY:
        raise ValueError("the product has too many values to list them")
    values = np.multiply.outer(x, y).ravel()
    start = int(values.min())
    if int(values.max()) - start > _MANY:
        raise ValueError("the product has too many values to list them")
    masses = np.bincount(values - start, np.multiply.outer(a.masses, b.masses).ravel())
    return NumericCounts(start, masses, a.error + b.error + _ROUNDING)


def _require_single(p: Any) -> None:
    if p.batch_shape:
        raise ValueError(
            f"numeric arithmetic takes single distributions, got batch shape {p.batch_shape}"
        )
