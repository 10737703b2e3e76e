r"""The program behind every machine of wide margins, solved on working sets of rows.

.. math:: \min_u\ \tfrac12u^\top Ku + q^\top u \quad\text{with}\quad l\le u\le h,\quad
   \textstyle\sum_{i\in G}u_i = s_G \ \text{ for each group } G.

With labels :math:`y=\pm1` and :math:`u = ya` it is the dual of the support vector classifier (q = −y, sum 0); with
two coordinates for each row that of the regressor; with q = 0 that of a single class; with a group for
each class that of the ν-machines. A coordinate i stands for the row :math:`r_i` of the kernel.

A solution has a level :math:`\rho_G` in each group: :math:`g_i = (Ku + q)_i \ge\rho` unless :math:`u_i = h_i`, and
:math:`g_i\le\rho` unless :math:`u_i = l_i`. A working set holds the coordinates that violate this most, from both
sides. Their kernel rows are made in one product, the small program in them is solved pair by pair, and
one pass over the rows moves the gradient of all. Coordinates that have settled at an end are left out
until the rest is solved; then the gradient of all is made anew. Rows are kept in single precision where that
moves gradients by a few gaps at most; what it has moved them by is known, and made good before the end.

Reference: T. Joachims, "Making large-scale SVM learning practical", 1998; Z. Wen & others, "ThunderSVM",
Journal of machine learning research 19, 2018.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.margins.kernel_rows import RowCache, RowSource, gram_products
from posteriori.inference.margins.pair_steps import descend_in_pairs
from posteriori.numerics.threads import thread_count, without_blas_threads
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["MarginProgram", "MarginSolution", "solve_margin_program"]

#: Coordinates of a working set.
_WORKING = 96

#: Working sets after which settled coordinates are looked for, and the share of rows that may at most remain.
_SETTLING, _WORTH_LEAVING = 20, 0.75

#: Rounding of kept rows may move a gradient by so many times the gap before Ku is made anew, and after.
_ROUGH, _FINE = 10.0, 0.1

#: The small program is solved to this share of the gap, in so many steps for each coordinate at most.
_INNER, _STEPS = 0.1, 10


class MarginProgram(NamedTuple):
    """A quadratic program of V coordinates.

    Attributes
    ----------
    linear : (V,)
        q.
    lower, upper : (V,)
        Ends of each coordinate, one of them 0; an upper or lower end may be infinite.
    start : (V,)
        Where to begin, within the ends; its sums are those of the groups.
    row : (V,)
        Row of the kernel of each coordinate.
    group : (V,)
        Number of its group, 0, 1, …
    """

    linear: Array
    lower: Array
    upper: Array
    start: Array
    row: IntArray
    group: IntArray

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.group.max(initial=0)) + 1


class MarginSolution(NamedTuple):
    """A solution of the program.

    Attributes
    ----------
    u : (V,)
    gradient : (V,)
        g = Ku + q.
    level : (groups,)
        ρ: the mean of g over coordinates between their ends; the middle of what the others allow where
        there is none.
    gap : float
        By how much g of two coordinates that could exchange still differs, at most.
    n_iter : int
        Working sets.
    converged : bool
    """

    u: Array
    gradient: Array
    level: Array
    gap: float
    n_iter: int
    converged: bool


def solve_margin_program(
    program: MarginProgram,
    source: RowSource,
    *,
    tol: float = 1e-3,
    cache_size: float = 200.0,
    max_iter: int = 1_000_000,
) -> MarginSolution:
    """Solve a program of margins.

    Parameters
    ----------
    program : MarginProgram
    source : RowSource
        Rows of K.
    tol : float
        Gap at which to stop.
    cache_size : float
        MB of kernel rows that are kept.
    max_iter : int
        Working sets at most.

    Warns
    -----
    ConvergenceWarning
        Where the gap is larger than ``tol`` after ``max_iter`` working sets.

    Notes
    -----
    O(N) kernel values for each row that enters a working set and is not kept: a few times N × the number
    of support vectors in all.
    """
    dtype = _precision(program, source, tol)
    with without_blas_threads(), ThreadPoolExecutor(thread_count()) as pool:
        descent = _Descent(program, RowCache(source, cache_size, dtype, pool), tol)
        gap = descent.descend(max_iter)
        while not (descent.complete and descent.exact):
            descent.unshrink()
            gap = descent.descend(max_iter)
    if gap > tol:
        warnings.warn(
            f"the machine's program still has a gap of {gap:.3g} > tol={tol:g} after {max_iter} working sets; "
            "scale the columns of X alike, lower C or raise tol",
            ConvergenceWarning,
            stacklevel=3,
        )
    gradient = descent.gradient()
    levels = _levels(program, descent.u, gradient)
    return MarginSolution(descent.u, gradient, levels, gap, descent.n_iter, gap <= tol)


class _Descent:
    """Where the descent is: the coordinates that are looked at, and Ku at their rows.

    Attributes
    ----------
    active : (A,)
        The coordinates that are looked at.
    part : MarginProgram
        The program of these.
    place : (A,)
        Their columns among those of the cache.
    u : (A,)
    products : (M,)
        Ku of these columns.
    drift : float
        What rounding of the kept rows can have added to Ku since it was made.
    latest : array
        The latest working set, by places among the active.
    n_iter : int
        Working sets so far.
    """

    def __init__(self, program: MarginProgram, cache: RowCache, tol: float) -> None:
        self.program, self.cache, self.tol = program, cache, tol
        self.n_iter, self.drift = 0, 0.0
        self._rounding = _rounding(cache.source) if cache.rows.dtype == np.float32 else 0.0
        self._all = program.start.copy()  # up to date where it is not looked at
        self.u, self.products = self._all, np.zeros(0)
        self.active = np.arange(len(self.u))
        cache.columns = np.zeros(0, dtype=np.intp)
        self.unshrink()

    @property
    def complete(self) -> bool:
        """Whether all coordinates are looked at."""
        return len(self.active) == len(self._all)

    @property
    def exact(self) -> bool:
        """Whether Ku has its digits."""
        return self.drift <= _FINE * self.tol

    def gradient(self) -> Array:
        """Return g = Ku + q of the coordinates that are looked at."""
        return self.products[self.place] + self.part.linear

    def descend(self, most: int) -> float:
        """Solve small programs until the gap is closed among what is looked at; return what is left of it."""
        while True:
            g = self.gradient()
            chosen, gap = self._working_set(g)
            if gap <= self.tol or self.n_iter >= most:
                return gap
            self._improve(chosen, g, max(_INNER * gap, 0.5 * self.tol))
            self.n_iter += 1
            if self.n_iter % _SETTLING == 0:
                self._shrink()

    def unshrink(self) -> None:
        """Look at all coordinates: make Ku where it was left out or is not exact, from the rows with u ≠ 0."""
        program, cache = self.program, self.cache
        self._all[self.active] = self.u
        count = len(cache.source.diagonal)
        weights = np.bincount(program.row, self._all, minlength=count)
        known = cache.columns if self.exact else cache.columns[:0]
        support, unknown = np.flatnonzero(weights), np.setdiff1d(np.arange(count), known)
        products = np.empty(count)
        products[known] = self.products[: len(known)]
        products[unknown] = gram_products(
            cache.source, support, unknown, weights[support], cache.pool
        )
        cache.widen()
        self.drift = self.drift if self.exact else 0.0
        self._set_active(np.arange(len(self._all)), program.row, products)

    def _set_active(self, active: IntArray, place: IntArray, products: Array) -> None:
        self.active, self.place, self.products = active, place, products
        self.part = MarginProgram(*(field[active] for field in self.program))
        self.u = self._all[active]
        self.latest = np.zeros(0, dtype=np.intp)

    def _improve(self, chosen: IntArray, g: Array, gap: float) -> None:
        """Solve the program in a working set up to a gap."""
        p, cache = self.part, self.cache
        columns, back = np.unique(self.place[chosen], return_inverse=True)
        slots = cache.fetch(columns, self.n_iter)
        K = cache.rows[slots[:, None], columns][np.ix_(back, back)].astype(np.float64)
        u = self.u[chosen]
        descend_in_pairs(
            K, g[chosen], u, p.lower[chosen], p.upper[chosen], p.group[chosen], self.program.groups,
            gap, _STEPS * len(chosen),
        )  # fmt: skip
        steps = np.bincount(back, u - self.u[chosen], minlength=len(columns))
        cache.add_to(self.products, slots, steps)
        self.drift += self._rounding * float(np.abs(steps).sum())
        self.u[chosen], self.latest = u, chosen

    def _working_set(self, g: Array) -> tuple[IntArray, float]:
        """Return the worst violators of both sides, and those of the latest set that lie between their ends."""
        p, old, groups = self.part, self.latest, self.program.groups
        size = min(_WORKING, len(self.cache.rows))
        free = (self.u[old] > p.lower[old]) & (self.u[old] < p.upper[old])
        old = old[free][: max(0, size // 2 - 1)]
        share = max(1, (size - len(old)) // (2 * groups))
        chosen, gap = [old], 0.0
        can_rise, can_fall = self.u < p.upper, self.u > p.lower
        for c in range(groups):
            mine = p.group == c
            rising, falling = np.flatnonzero(can_rise & mine), np.flatnonzero(can_fall & mine)
            if len(rising) and len(falling):
                least, largest = g[rising].min(), g[falling].max()
                gap = max(gap, float(largest - least))
                chosen.append(_smallest(g, rising[g[rising] < largest], share))
                chosen.append(_smallest(-g, falling[g[falling] > least], share))
        return np.unique(np.concatenate(chosen)), gap

    def _shrink(self) -> None:
        """Leave out coordinates at an end that their gradient holds them at."""
        p, g = self.part, self.gradient()
        can_rise, can_fall = self.u < p.upper, self.u > p.lower
        stays = np.zeros(len(g), dtype=bool)
        for c in range(self.program.groups):
            mine = p.group == c
            least = g[mine & can_rise].min(initial=np.inf)
            largest = g[mine & can_fall].max(initial=-np.inf)
            # at the lower end above all that could fall, or at the upper end below all that could rise
            settled = (~can_fall & (g > largest)) | (~can_rise & (g < least))
            stays |= mine & ~settled
        kept = np.unique(self.place[stays])
        if len(kept) > _WORTH_LEAVING * len(self.cache.columns):
            return
        self._all[self.active] = self.u
        remain = np.isin(self.place, kept)
        self.cache.narrow(kept)
        place = np.searchsorted(kept, self.place[remain])
        self._set_active(self.active[remain], place, self.products[kept])


def _precision(program: MarginProgram, source: RowSource, tol: float) -> Any:
    """Return the precision in which rows are kept: single, unless some u makes that too rough."""
    most = float(np.sum(program.upper - program.lower))
    return np.float32 if _rounding(source) * most <= _ROUGH * tol else np.float64


def _rounding(source: RowSource) -> float:
    """Return by how much single precision moves a kernel value at most: none is larger than k(x, x)."""
    return 0.5 * float(np.finfo(np.float32).eps * source.diagonal.max())


def _smallest(values: Array, among: IntArray, count: int) -> IntArray:
    """Return the places of the smallest values among some."""
    if len(among) <= count:
        return among
    return among[np.argpartition(values[among], count - 1)[:count]]


def _levels(program: MarginProgram, u: Array, g: Array) -> Array:
    """Return ρ of each group."""
    can_rise, can_fall = u < program.upper, u > program.lower
    levels = np.zeros(program.groups)
    for c in range(program.groups):
        mine = program.group == c
        free = mine & can_rise & can_fall
        if free.any():
            levels[c] = g[free].mean()
            continue
        ends = g[mine & can_rise].min(initial=np.inf), g[mine & can_fall].max(initial=-np.inf)
        levels[c] = np.mean([end for end in ends if np.isfinite(end)])
    return levels
