r"""Quantiles of mixtures over leaves: where the average of their cumulative probabilities is q.

A row lies in thousands of leaves, most of them improbable. Newton's steps are taken with the heaviest
ones, which have all but a thousandth of the probability; of the others

.. math:: F(x) \approx F(x_0) + (x - x_0)\,f(x_0)

is enough, looked up anew until x no longer moves. Their Student's t are normal in

.. math:: z = \sqrt y\left(1 + \frac1b\left(y + 3 -
          \frac{0.4y^3 + 3.3y^2 + 24y + 85.5}{0.8y^2 + 100 + b}\right)\right),\quad
          y = a\ln\left(1 + \frac{t^2}\nu\right),\ a = \nu - \tfrac12,\ b = 48a^2

but for 1.2e-6 where ν ≥ 4 (G. W. Hill, "Algorithm 395: Student's t-distribution", CACM 13, 1970): a
thousandth of that is 1.2e-9, by which levels are off at most. What the heaviest leaves are off by is
taken from their exact cumulative probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.compilation import kernel
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array, IntArray

__all__ = ["Members", "Parts", "Rise", "StudentLeaves", "search_counts", "search_numbers"]

#: Probability of the leaves of a row that are not among its heaviest, and of those that are looked up
#: last.
_LIGHT = (1e-3, 1e-5)

#: Levels and degrees of freedom for which Hill's normal deviate is near enough.
_LEAST_LEVEL, _LEAST_DOF = 1e-4, 4.0

#: Steps of a search, and how short the last one is in standard deviations: its square, by which
#: Newton's method is then off, is no more than rounding.
_MOST_STEPS, _NEAR = 200, 1e-6

#: … by how many the leaves that are not the heaviest may be looked up beside the answer: the square
#: of it, times their probability, is what levels are then off by.
_BESIDE = 1e-4


class Members(NamedTuple):
    """The leaves of some rows.

    Attributes
    ----------
    rows : slice
    start : (n + 1,)
        Where the leaves of each row begin.
    which : (m,)
        Which they are, the most probable of a row first.
    """

    rows: slice
    start: IntArray
    which: Any


class StudentLeaves(NamedTuple):
    """Probabilities of leaves and their Student's t, (K,) each; ``peak`` is the largest log density."""

    probability: Array
    dof: Array
    location: Array
    scale: Array
    peak: Array


#: Cumulative probabilities and densities at given places.
Rise = Callable[[Array], tuple[Array, Array]]


def search_numbers(
    exact: Callable[[Members], Rise], leaves: StudentLeaves, parts: Parts, level: Array
) -> Array:
    """Return quantiles (n,) of some rows.

    Parameters
    ----------
    exact : callable
        Returns what cumulative probabilities and densities given leaves have.
    leaves : StudentLeaves
    parts : Parts
        The leaves of the rows.
    level : (n,)
        Between 0 and 1.
    """
    heavy, members = parts.heaviest, parts.members
    centre, spread = _moments(leaves, heavy)
    x = centre + spread * np.clip(special.ndtri(level), -8.0, 8.0)
    if leaves.dof.min() < _LEAST_DOF or np.abs(level - 0.5).max() > 0.5 - _LEAST_LEVEL:
        x = _climb(level, x, spread, exact(heavy))
        return _climb(level, x, spread, exact(members))
    first = parts.ends[0]
    mass = parts.mass(first)
    x = _climb(
        level,
        x,
        spread,
        lambda at: _shares(parts.near(leaves, members.start[:-1], first, at), mass),
    )
    off = mass * exact(heavy)(x)[0] - parts.near(leaves, members.start[:-1], first, x)[0]
    for last in parts.ends[1:]:  # the many of the last are looked up once, or nearly so
        x = _settle(leaves, parts, last, off, level, x, spread)
    return x


def _settle(
    leaves: StudentLeaves,
    parts: Parts,
    last: IntArray,
    off: Array,
    level: Array,
    x: Array,
    spread: Array,
) -> Array:
    """Return quantiles of the leaves up to some, of which all but the heaviest follow a line."""
    first, mass = parts.ends[0], parts.mass(last)
    for _ in range(_MOST_STEPS):
        centre, (below, slope) = x, parts.near(leaves, first, last, x)

        def rise(
            at: Array, centre: Array = centre, below: Array = below, slope: Array = slope
        ) -> Any:
            sums, steep = parts.near(leaves, parts.members.start[:-1], first, at)
            return _shares((sums + off + below + (at - centre) * slope, steep + slope), mass)

        x = _climb(level, centre, spread, rise)
        if (np.abs(x - centre) <= _BESIDE * spread).all():
            break
    return x


def _shares(sums: tuple[Array, Array], mass: Array) -> tuple[Array, Array]:
    return sums[0] / mass, sums[1] / mass


class Parts:
    """The leaves of rows, cut where the others have less than 1e-3 and 1e-5 of the probability."""

    def __init__(self, members: Members, probability: Array) -> None:
        self.members = members
        self.upto = np.concatenate([[0.0], np.cumsum(probability[members.which])])
        start, end = members.start[:-1], members.start[1:]
        left = np.repeat(self.upto[end], end - start) - self.upto[:-1]
        cuts = [start + np.add.reduceat(left > cut, start, dtype=np.int64) for cut in _LIGHT]
        self.ends = (np.maximum(cuts[0], start + 1), cuts[1], end)

    @cached_property
    def heaviest(self) -> Members:
        """The first part, one leaf of each row at least."""
        rows, start, which = self.members
        counts = self.ends[0] - start[:-1]
        total = np.concatenate([[0], np.cumsum(counts)])
        place = np.arange(total[-1]) + np.repeat(start[:-1] - total[:-1], counts)
        return Members(rows, total, which[place])

    def mass(self, last: IntArray) -> Array:
        """Return the probability of the leaves up to some, (n,)."""
        return self.upto[last] - self.upto[self.members.start[:-1]]

    def near(
        self, leaves: StudentLeaves, first: Any, last: IntArray, x: Array
    ) -> tuple[Array, Array]:
        """Return Σ P(B) F_B(x) and Σ P(B) f_B(x) over leaves from some up to others, (n,)."""
        below, slope = np.zeros(len(x)), np.zeros(len(x))
        _add_students(first, last, self.members.which, leaves, x, below, slope)
        return below, slope


def _moments(leaves: StudentLeaves, members: Members) -> tuple[Array, Array]:
    """Return the mean of the locations, and the size of what lies around it, (n,) each."""
    row = np.repeat(np.arange(len(members.start) - 1), np.diff(members.start))
    p, location, scale = (
        part[members.which] for part in (leaves.probability, leaves.location, leaves.scale)
    )
    mass, unit = np.bincount(row, p), leaves.scale.max()
    centre = np.bincount(row, p * location) / mass
    gap = (location - centre[row]) / unit
    return centre, unit * np.sqrt(np.bincount(row, p * (gap**2 + (scale / unit) ** 2)) / mass)


def _climb(level: Array, x: Array, spread: Array, rise: Rise) -> Array:
    """Return where the cumulative probability reaches a level, by Newton's steps.

    A step that leaves the interval in which the answer is known to be is replaced by its middle.
    """
    low, high = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    for _ in range(_MOST_STEPS):
        below, slope = rise(x)
        gap = level - below
        low, high = np.where(gap > 0.0, x, low), np.where(gap > 0.0, high, x)
        reach = 4.0 * spread
        new = x + np.clip(gap / np.where(slope > 0.0, slope, 1e-300), -reach, reach)
        new = np.where((new < low) | (new > high), 0.5 * (low + high), new)
        near = np.abs(new - x) <= _NEAR * spread
        x = new
        if near.all():
            break
    return x


@kernel(allocates=False)
def _add_students(
    first: Any, last: Any, which: Any, leaves: StudentLeaves, x: Array, below: Array, slope: Array
) -> None:
    for n in range(len(x)):
        for k in range(first[n], last[n]):
            leaf = which[k]
            nu, p = leaves.dof[leaf], leaves.probability[leaf]
            t = (x[n] - leaves.location[leaf]) / leaves.scale[leaf]
            a = nu - 0.5
            b = 48.0 * a * a
            log = math.log(1.0 + t * t / nu)  # off by no more than √1e-16 in t
            y = a * log
            c = 0.8 * y * y + 100.0 + b
            bend = (y + 3.0) * c - (((0.4 * y + 3.3) * y + 24.0) * y + 85.5)
            z = math.sqrt(y) * (1.0 + bend / (b * c))
            tail = 0.5 * math.erfc(z * math.sqrt(0.5))
            below[n] += p * (tail if t < 0.0 else 1.0 - tail)
            slope[n] += p * math.exp(leaves.peak[leaf] - 0.5 * (nu + 1.0) * log)


# -- counts --------------------------------------------------------------------------------------


def search_counts(
    cumulative: Callable[[Members, Array], Array], parts: Parts, level: Array
) -> Array:
    """Return quantiles (n,) of some rows: the least whole numbers at which a level is reached.

    Parameters
    ----------
    cumulative : callable
        Returns cumulative probabilities of given leaves at given places.
    parts : Parts
        The leaves of the rows.
    level : (n,)
        Below 1.
    """
    near = _bisect(lambda at: cumulative(parts.heaviest, at) >= level, np.zeros(len(level)))
    return _bisect(lambda at: cumulative(parts.members, at) >= level, near)


def _bisect(enough: Callable[[Array], Any], start: Array) -> Array:
    """Return the least whole numbers >= 0 that are enough; those near ``start`` are found soon."""
    low, high = np.full(len(start), -1.0), start
    step = 1.0
    while not (done := enough(high)).all():
        low, high = np.where(done, low, high), np.where(done, high, high + step)
        step *= 2.0
    step = 1.0
    below = np.maximum(high - step, low)
    while (moving := below > low).any():  # down, in steps that double
        done = enough(below) | ~moving
        high, low = np.where(moving & done, below, high), np.where(moving & ~done, below, low)
        step *= 2.0
        below = np.where(done & moving, np.maximum(high - step, low), low)
    while (moving := (middle := np.floor(0.5 * (low + high))) > low).any():
        done = enough(middle)
        high = np.where(moving & done, middle, high)
        low = np.where(moving & ~done, middle, low)
    return high
