r"""Whether a function is a kernel: :math:`\sum_{nm} c_nc_mk(x_n, x_m) \ge 0` for all points and all c.

A smallest eigenvalue below 0 refutes it, with its eigenvector for c. Points are sought where none are
given: random ones, lattices of many spacings (whose eigenvectors are waves, and so the spectrum of what
depends on x − z alone), and from some of these a descent of the smallest eigenvalue. What stands the
search is not proved to be a kernel.

Reference: J. Mercer, "Functions of positive and negative type", 1909; S. Bochner, "Vorlesungen über
Fouriersche Integrale", 1932.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from posteriori.kernels.kernel import Kernel, check_points
from posteriori.kernels.radial import RBF
from posteriori.numerics.lazy import optimize, scipy_linalg
from posteriori.numerics.random import as_generator
from posteriori.numerics.rank import ROUNDING
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import real_matrix

__all__ = ["Mercer", "is_mercer"]

#: Spacings and widths of the sets that are tried.
_SIZES = np.geomspace(0.01, 30.0, 36)

#: Points of a lattice, and of a random set, at most.
_LATTICE, _MOST_POINTS = 150, 40

#: Random sets of each size.
_DRAWS = 2

#: Sets, of all widths, from which a descent begins, and their points. Larger ones have an eigenvalue of 0
#: by rounding already, which has no slope.
_STARTS, _SMALL = 4, 3

#: On the diagonal of the Gaussian kernel that eigenvalues are measured by.
_RIDGE = 1e-8

#: Eigenvalues that a descent may ask for.
_MOST_CALLS = 150


class Mercer(NamedTuple):
    """Whether a Gram matrix, or a function of points, is positive semi-definite.

    Attributes
    ----------
    valid : bool
        False is proved by what follows; True is proved for the given points alone.
    eigenvalue : float
        The smallest one of the Gram matrix of the points.
    coefficients : (N,)
        c of length 1 with Σ cₙcₘ k(xₙ, xₘ) equal to it.
    points : (N, D) or None
        As given, or of all that were looked at those that refute most; None beside a Gram matrix
        without points.
    """

    valid: bool
    eigenvalue: float
    coefficients: Array
    points: Array | None

    def __bool__(self) -> bool:
        return self.valid


def is_mercer(kernel_or_gram: Any, X: Any = None, dimension: int = 1, *, rng: Seed = 0) -> Mercer:
    """Tell whether a kernel is one, or a Gram matrix positive semi-definite.

    Parameters
    ----------
    kernel_or_gram : Kernel or (N, N)
    X : (N, D), optional
        Points to decide on; without them a kernel is put to the test on sets that are sought.
    dimension : int
        D of the points that are sought. A function of distance can be a kernel on lines and not in
        the plane.
    rng : Generator, int or None
        For the points that are sought.

    Returns
    -------
    Mercer
        True or false by itself, with eigenvalue, coefficients and points.

    Notes
    -----
    An eigenvalue of N points counts as negative below −10⁻¹³ N max |k|: entries are right to some
    units in their last place, and so may move eigenvalues by N times as much.

    Examples
    --------
    >>> from posteriori.kernels import RBF, Radial
    >>> bool(is_mercer(RBF()))
    True
    >>> bool(is_mercer([[1.0, 2.0], [2.0, 1.0]])), is_mercer([[1.0, 2.0], [2.0, 1.0]]).eigenvalue
    (False, -1.0)
    >>> cone = Radial(lambda s: np.maximum(1.0 - np.sqrt(s), 0.0))
    >>> bool(is_mercer(cone, dimension=1)), bool(is_mercer(cone, dimension=2))
    (True, False)
    """
    if not isinstance(kernel_or_gram, Kernel):
        points = None if X is None else check_points("X", X)
        return _decide(real_matrix("gram", kernel_or_gram), points)
    if X is not None:
        return decide_on_points(kernel_or_gram, check_points("X", X))
    if dimension != int(dimension) or dimension < 1:
        raise ValueError(f"dimension must be 1, 2, …, got {dimension!r}")
    return _search(kernel_or_gram, int(dimension), as_generator(rng))


def decide_on_points(kernel: Kernel, points: Array) -> Mercer:
    """Return whether the Gram matrix of points is positive; one that is not symmetric is refused."""
    if not len(points):
        raise ValueError("X has no points, on which nothing can be decided: give at least one")
    return _decide(kernel(points), points)


def _decide(gram: Array, points: Array | None) -> Mercer:
    values, vectors = np.linalg.eigh(gram)
    valid = values[0] >= -ROUNDING * len(gram) * np.abs(gram).max()
    return Mercer(bool(valid), float(values[0]), vectors[:, 0], points)


def _search(kernel: Kernel, dimension: int, rng: np.random.Generator) -> Mercer:
    """Return the first set that refutes a kernel, or else the one with the smallest eigenvalue."""
    seen: list[Mercer] = []
    for points in _point_sets(dimension, rng):
        seen.append(decide_on_points(kernel, points))
        if not seen[-1].valid:
            return seen[-1]
    small = [found for found in seen if len(found.coefficients) == _SMALL]
    ends = [_descend(kernel, start) for start in small[:: len(small) // _STARTS + 1]]
    return min(ends, key=lambda found: (found.valid, found.eigenvalue))


def _point_sets(dimension: int, rng: np.random.Generator) -> Iterator[Array]:
    """Yield sets of points: lattices in up to three columns, signs, and random ones of many widths."""
    across = min(dimension, 3)
    side = int(_LATTICE ** (1.0 / across))
    lattice = np.array(list(product(range(side), repeat=across)), dtype=np.float64)
    lattice = np.pad(lattice - lattice.mean(axis=0), ((0, 0), (0, dimension - across)))
    for size in _SIZES:
        yield size * lattice
        for count in (_SMALL, *rng.integers(2, _MOST_POINTS, size=_DRAWS)):
            yield size * rng.standard_normal((count, dimension))
            yield size * np.unique(np.sign(rng.standard_normal((count, dimension))), axis=0)


def _descend(kernel: Kernel, start: Mercer) -> Mercer:
    """Move points so that cᵀKc falls, in units of cᵀGc of a wide Gaussian kernel: so they stay apart."""
    assert start.points is not None
    shape = start.points.shape
    beside = RBF(scale=3.0 * float(np.std(start.points)))

    def least(flat: Array) -> float:
        points = flat.reshape(shape)
        gram = kernel(points)
        unit = beside(points) + _RIDGE * np.eye(len(points))
        return float(scipy_linalg.eigh(gram, unit, eigvals_only=True)[0] / np.abs(gram).max())

    found = optimize.minimize(
        least, start.points.ravel(), method="L-BFGS-B", options={"maxfun": _MOST_CALLS}
    )
    return decide_on_points(kernel, found.x.reshape(shape))
