r"""Linear machines by descent along one coordinate of the dual at a time.

.. math:: \min_w\ \tfrac12|w|^2 + \sum_n\ell_n(1 - y_n(w\cdot x_n + b)), \qquad
   \ell(s) = c\max(0, s)\ \text{ or }\ c\max(0, s)^2,

has the dual :math:`\min_a \frac12|w|^2 + \frac12\sum d_na_n^2 - \sum(1 - y_nb)a_n`, :math:`w = \sum a_ny_nx_n`,
:math:`0\le a\le U`, with U = c, d = 0 for the hinge and U = ∞, d = 1/2c for its square. A step in one :math:`a_n`
costs one row. A penalised intercept is the weight of a column of ones. One that is free moves towards its place
:math:`b'`, at a price :math:`(b - b')^2/2\sigma` that vanishes when it has arrived: the weight of a column
:math:`\sqrt\sigma`, around a centre that follows (R. T. Rockafellar's proximal point).

Reference: C.-J. Hsieh & others, "A dual coordinate descent method for large-scale linear SVM", 2008.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["LinearMachine", "LinearRows", "solve_linear_machine"]

#: Centres of a free intercept at most.
_CENTRES = 200

#: Rows next to each other in memory that are visited together, the number of rows up to which each is visited alone,
#: being in the cache, and the passes after which they are too: mixed well, rows agree in fewer passes in the end.
_RUN, _FEW, _EARLY = 32, 2048, 16


class LinearRows(NamedTuple):
    """Rows that are dense, or compressed as in ``scipy.sparse.csr_array``.

    Attributes
    ----------
    values : (M,)
        Entries, row by row.
    columns : (M,), or (0,) of dense rows
        The column of each entry.
    starts : (N + 1,)
        Where each row begins.
    width : int
        D.
    """

    values: Array
    columns: IntArray
    starts: IntArray
    width: int

    @classmethod
    def of(cls, X: Any) -> LinearRows:
        """Return the rows of an array (N, D) or of a sparse matrix in CSR form."""
        if isinstance(X, np.ndarray):
            starts = np.arange(len(X) + 1) * X.shape[1]
            return cls(np.ascontiguousarray(X).ravel(), np.zeros(0, np.int64), starts, X.shape[1])
        starts, columns = X.indptr.astype(np.int64), X.indices.astype(np.int64)
        return cls(X.data.astype(np.float64), columns, starts, X.shape[1])

    def squares(self) -> Array:
        """Return |xₙ|², (N,)."""
        count = len(self.starts) - 1
        if not len(self.columns):
            x = self.values.reshape(count, self.width)
            return np.einsum("nd,nd->n", x, x)
        owner = np.repeat(np.arange(count), np.diff(self.starts))
        return np.bincount(owner, self.values**2, minlength=count)


class LinearMachine(NamedTuple):
    """A solution.

    Attributes
    ----------
    weights : (D,)
    bias : float
    dual : (N,)
        a.
    n_iter : int
        Passes over the rows: visits to rows for each of them.
    converged : bool
    """

    weights: Array
    bias: float
    dual: Array
    n_iter: int
    converged: bool


def solve_linear_machine(
    rows: LinearRows,
    y: Array,
    cost: Array,
    *,
    squared: bool,
    penalised: bool,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
) -> LinearMachine:
    """Learn a linear machine.

    Parameters
    ----------
    rows : LinearRows
    y : (N,)
        −1 or +1.
    cost : (N,)
        c > 0 of each row.
    squared : bool
        Whether the hinge is squared.
    penalised : bool
        Whether b counts in |w|², as the weight of a column of ones.
    tol : float
        Largest difference of projected gradients that remains.
    max_iter : int
        Passes over the rows at most.
    rng : Generator
        For the order of rows.
    """
    upper = np.full(len(y), np.inf) if squared else cost
    bend = 0.5 / cost if squared else np.zeros(len(y))
    squares = rows.squares()
    column = 1.0 if penalised else float(np.sqrt(squares.mean() + 1.0))
    curvature = squares + column**2 + bend  # along each a
    sides = np.column_stack([y, upper, bend, curvature])  # of one row in one place
    a, w, center = np.zeros(len(y)), np.zeros(rows.width + 1), 0.0
    seed, done, most = int(rng.integers(1, 2**31)), 0, max_iter * len(y)  # in visits to rows
    gap, moved = np.inf, np.inf
    for _ in range(1 if penalised else _CENTRES):
        visits, gap = _descend(
            rows.values, rows.columns, rows.starts, sides, a, w, center, column,
            np.empty(len(y), dtype=np.int64), tol, most - done, seed + done,
        )  # fmt: skip
        done += visits
        moved = column * float(w[-1])
        if penalised or abs(moved) <= tol or done >= most:
            break
        center += moved
    arrived = gap <= tol and (penalised or abs(moved) <= tol)
    passes = -(-done // len(y))
    return LinearMachine(w[:-1].copy(), center + column * float(w[-1]), a, passes, arrived)


@kernel(sums="free")
def _descend(
    values: Array,
    columns: IntArray,
    starts: IntArray,
    sides: Array,
    a: Array,
    w: Array,
    center: float,
    column: float,
    active: IntArray,
    tol: float,
    most: int,
    seed: int,
) -> tuple[int, float]:
    """Pass over the rows in random order until their projected gradients agree; return visits to rows and gap.

    w, whose last entry is the weight of the intercept's column, and a are changed in place. Rows at an end
    whose gradient holds them there by more than any other row still moved are left out, until the rest
    agrees: then a pass over all must agree too. ``active``, (N,), holds those that are not left out;
    ``sides``, (N, 4), y, U, d and the curvature of each row.
    """
    count, dense, last = len(a), len(columns) == 0, len(w) - 1
    visits, size, gap, low, high = 0, 0, np.inf, -np.inf, np.inf
    weights, state = w[:last], np.uint64(seed)
    while visits < most:
        whole = size == 0
        if whole:
            size = count
            for k in range(count):
                active[k] = k
        visits += size
        least, largest = np.inf, -np.inf
        # each pass begins elsewhere and goes on in strides that have no divisor in common with the number of runs
        run = _RUN if size > _FEW and (whole or visits < _EARLY * count) else 1
        runs = (size + run - 1) // run
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        start: Any = np.int64(state >> np.uint64(33)) % runs
        stride = 1 + np.int64((state >> np.uint64(7)) & np.uint64(0x3FFFFFFF)) % runs
        while _divisor(stride, runs) != 1:
            stride += 1
        stride %= runs
        for _ in range(runs):
            start += stride
            start -= runs if start >= runs else 0
            for place in range(start * run, min((start + 1) * run, size)):
                n = active[place]
                row = values[starts[n] : starts[n + 1]]
                score = center + column * w[last]
                if dense:
                    for k in range(last):
                        score += row[k] * weights[k]
                else:
                    for k in range(len(row)):
                        score += row[k] * w[columns[starts[n] + k]]
                t, upper = sides[n, 0], sides[n, 1]
                slope = t * score - 1.0 + sides[n, 2] * a[n]
                at_lower, at_upper = a[n] <= 0.0, a[n] >= upper
                if (at_lower and slope >= 0.0) or (at_upper and slope <= 0.0):
                    least, largest = min(least, 0.0), max(largest, 0.0)
                    if slope > high or slope < low:
                        active[place] = -1
                    continue
                least, largest = min(least, slope), max(largest, slope)
                new = min(max(a[n] - slope / sides[n, 3], 0.0), upper)
                step = (new - a[n]) * t
                a[n] = new
                if dense:
                    for k in range(last):
                        weights[k] += step * row[k]
                else:
                    for k in range(len(row)):
                        w[columns[starts[n] + k]] += step * row[k]
                w[last] += step * column
        if largest - least <= tol:
            if whole:
                return visits, largest - least
            size, low, high = 0, -tol, tol  # all rows again
            continue
        gap = largest - least
        low, high = (least if least < 0.0 else -np.inf), (largest if largest > 0.0 else np.inf)
        size = _without_marked(active, size)
    return visits, gap


@kernel(called="kernels")
def _without_marked(active: IntArray, size: int) -> int:
    """Move numbers that are not negative to the front; return how many there are."""
    kept = 0
    for k in range(size):
        if active[k] >= 0:
            active[kept] = active[k]
            kept += 1
    return kept


@kernel(called="kernels")
def _divisor(p: Any, q: int) -> Any:
    """Return the greatest common divisor."""
    while q:
        p, q = q, p % q
    return p
