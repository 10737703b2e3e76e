r"""Small tools of linear algebra: idempotence, Rayleigh quotients, power iteration, counts.

Power iteration repeats :math:`v \leftarrow A v/\|A v\|`. Expanded in eigenvectors, the components
of v decay like :math:`|\lambda_i/\lambda_1|^t` beside the leading one, so the gap between the two
largest |eigenvalues| sets the speed.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.numerics.random import as_generator
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import check_symmetric, real
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = [
    "PowerIteration",
    "deflated_eigenpairs",
    "geometric_sum",
    "is_idempotent",
    "joint_table_parameters",
    "power_iteration",
    "rayleigh_quotient",
]


class PowerIteration(NamedTuple):
    """The leading eigenpair of a symmetric matrix, as far as the iteration came.

    Attributes
    ----------
    eigenvalue : float
        Rayleigh quotient of the vector: signed, unlike the norm of ``A v``.
    eigenvector : (D,)
        Unit vector; its sign is arbitrary.
    residual : float
        ‖A v − λ v‖: some eigenvalue lies within this distance of ``eigenvalue``.
    ratio : float
        Observed decay per step, an estimate of |λ₂/λ₁|; near 1 the gap is small.
    norms : (n_iter,)
        ‖A v‖ at every step; tends to |λ₁|.
    n_iter : int
        Steps since the last restart.
    n_restarts : int
        How often a start orthogonal to the leading eigenvector was replaced.
    converged : bool
        Whether the residual met the tolerance.
    """

    eigenvalue: float
    eigenvector: Array
    residual: float
    ratio: float
    norms: Array
    n_iter: int
    n_restarts: int
    converged: bool


def power_iteration(
    a: ArrayLike,
    start: ArrayLike | None = None,
    *,
    tol: float = 1e-10,
    max_iter: int = 10_000,
    rng: Seed = None,
) -> PowerIteration:
    """Find the eigenvector of a symmetric matrix with the largest |eigenvalue|.

    An answer is checked from a second, random direction orthogonal to it: where that grows
    faster, the start was orthogonal to the leading eigenvector and the iteration restarts there.

    Parameters
    ----------
    a : array (D, D)
        Symmetric matrix.
    start : array (D,), optional
        First vector; random by default.
    tol : float
        Goal for the residual, relative to |λ|.
    max_iter : int
        Most steps of one run.
    rng : Generator, int or None
        Source of starts and restarts.

    Warns
    -----
    ConvergenceWarning
        When the tolerance was not met: usually the two largest |eigenvalues| nearly agree.

    Notes
    -----
    Cost O(D²) per step; :func:`scipy.sparse.linalg.eigsh` is the tool for large matrices.

    Examples
    --------
    >>> found = power_iteration([[2.0, 1.0], [1.0, 2.0]], [1.0, 0.0])
    >>> round(found.eigenvalue, 9), found.norms[:3].round(7)
    (3.0, array([2.236068 , 2.8635642, 2.9836955]))
    """
    matrix = check_symmetric("a", np.atleast_2d(real("a", a)))
    generator = as_generator(rng)
    size = matrix.shape[0]
    v: Array = np.asarray(
        generator.standard_normal(size) if start is None else real("start", start)
    )
    if v.shape != (size,) or not np.any(v):
        raise ValueError(f"start must be a nonzero vector of {size} entries, got {start!r}")
    found = _iterate(matrix, v, tol, max_iter)
    restarts = 0
    while size > 1 and restarts < size:
        rival = _strongest_rival(matrix, found.eigenvector, generator)
        if abs(rayleigh_quotient(matrix, rival)) <= abs(found.eigenvalue) * (1.0 + 1e-8):
            break
        restarts += 1
        found = _iterate(matrix, rival, tol, max_iter)
    if not found.converged:
        warnings.warn(
            f"power iteration stopped after {found.n_iter} steps with residual "
            f"{found.residual:.3g}: the two largest |eigenvalues| nearly agree (observed ratio "
            f"{found.ratio:.6g}), or max_iter is too small",
            ConvergenceWarning,
            stacklevel=2,
        )
    return found._replace(n_restarts=restarts)


def deflated_eigenpairs(
    a: ArrayLike,
    count: int,
    *,
    tol: float = 1e-10,
    max_iter: int = 10_000,
    rng: Seed = None,
) -> tuple[Array, Array]:
    """Find leading eigenpairs of a symmetric matrix, one after another by power iteration.

    What is found is taken out by (I − bbᵀ) A (I − bbᵀ), which is right also where b is not exact, and
    each vector is made orthogonal to those before it.

    Parameters
    ----------
    a : array (D, D)
    count : int
        At most D.
    tol, max_iter, rng
        As for :func:`power_iteration`.

    Returns
    -------
    values : (count,)
    vectors : (count, D)
        A row each. Where nothing is left of the matrix the value is 0 and the vector any.

    Examples
    --------
    >>> values, _ = deflated_eigenpairs([[2.0, 1.0], [1.0, 2.0]], 2, rng=0)
    >>> values.round(9)
    array([3., 1.])
    """
    left = check_symmetric("a", np.atleast_2d(real("a", a))).copy()
    generator, size = as_generator(rng), len(left)
    if not 1 <= count <= size:
        raise ValueError(f"count must be between 1 and {size}, got {count}")
    largest = float(np.abs(left).max())
    unit = float(np.exp2(np.frexp(largest)[1])) if largest > 0 else 1.0  # norms have squares
    left /= unit
    whole = float(np.linalg.norm(left))
    values, vectors = np.zeros(count), np.zeros((count, size))
    for i in range(count):
        start = generator.standard_normal(size)
        if exceeds_rounding(np.linalg.norm(left), whole):
            found = power_iteration(left, start, tol=tol, max_iter=max_iter, rng=generator)
            start, values[i] = found.eigenvector, found.eigenvalue
        for _ in range(2):  # the second time takes out what the first one rounded off
            start = start - (vectors[:i] @ start) @ vectors[:i]
        b = vectors[i] = start / np.linalg.norm(start)
        image = left @ b
        left = left - b[:, None] * image - image[:, None] * b + (b @ image) * b[:, None] * b
    return unit * values, vectors


def rayleigh_quotient(a: ArrayLike, v: ArrayLike) -> float:
    """Return vᵀA v / vᵀv: between the extreme eigenvalues, and one of them at its eigenvector.

    Examples
    --------
    >>> rayleigh_quotient([[2.0, 1.0], [1.0, 2.0]], [1.0, 1.0])
    3.0
    """
    a, v = np.asarray(a, dtype=np.float64), np.asarray(v, dtype=np.float64)
    length = float(v @ v)
    if not length > 0:
        raise ValueError("v must not be the zero vector")
    return float(v @ (a @ v)) / length


def is_idempotent(a: ArrayLike, tol: float = 1e-10) -> bool:
    """Tell whether A A = A, as for projections; ``tol`` is relative to the largest entry.

    Examples
    --------
    >>> b = np.array([0.6, 0.8])
    >>> is_idempotent(np.eye(2) - np.outer(b, b))
    True
    """
    a = np.asarray(a, dtype=np.float64)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"a must be a square matrix, got shape {a.shape}")
    size = max(1.0, float(np.max(np.abs(a), initial=0.0)))
    return bool(np.max(np.abs(a @ a - a), initial=0.0) <= tol * size * size)


def geometric_sum(ratio: Any, n_terms: int) -> Any:
    r"""Return :math:`\sum_{i=1}^m k^{i-1} = (k^m - 1)/(k - 1)`, and m where k = 1.

    Whole numbers stay exact at any size.

    Examples
    --------
    >>> geometric_sum(10, 4)
    1111
    """
    if n_terms < 0:
        raise ValueError(f"n_terms must not be negative, got {n_terms}")
    if isinstance(ratio, (int, np.integer)):
        k = int(ratio)
        return n_terms if k == 1 else (k**n_terms - 1) // (k - 1)
    r = float(ratio)
    if abs(r - 1.0) < 0.5:  # (e^{m ln k} − 1)/(k − 1) keeps its digits near k = 1
        return (
            float(n_terms) if r == 1.0 else float(np.expm1(n_terms * np.log1p(r - 1.0)) / (r - 1.0))
        )
    return (r**n_terms - 1.0) / (r - 1.0)


def joint_table_parameters(n_values: int, n_variables: int) -> int:
    r"""Return how many numbers a full joint table takes: :math:`K^m - 1`.

    Counted along the chain rule, variable i needs K − 1 numbers for each of the
    :math:`K^{i-1}` configurations before it: :math:`\sum_{i=1}^m K^{i-1}(K-1) = K^m - 1`.

    Examples
    --------
    >>> joint_table_parameters(10, 4)
    9999
    """
    if n_values < 1 or n_variables < 0:
        raise ValueError(
            "n_values must be at least 1 and n_variables not negative, "
            f"got {n_values} and {n_variables}"
        )
    return int(geometric_sum(n_values, n_variables)) * (n_values - 1)


def _iterate(a: Array, v: Array, tol: float, max_iter: int) -> PowerIteration:
    v = v / np.linalg.norm(v)
    norms: list[float] = []
    value, residual, previous, ratio = 0.0, np.inf, np.inf, 1.0
    for _ in range(max_iter):
        image = a @ v
        value = float(v @ image)
        previous, residual = residual, float(np.linalg.norm(image - value * v))
        size = float(np.linalg.norm(image))
        norms.append(size)
        if 0 < previous < np.inf:
            ratio = residual / previous
        if residual <= tol * size or size == 0.0:
            break
        v = image / size
    met = residual <= tol * max(norms[-1], np.finfo(float).tiny)
    return PowerIteration(value, v, residual, ratio, np.array(norms), len(norms), 0, met)


def _strongest_rival(a: Array, v: Array, rng: np.random.Generator, n_steps: int = 30) -> Array:
    """Return a direction orthogonal to ``v`` after a few steps that keep it orthogonal."""
    u = rng.standard_normal(len(v))
    for _ in range(n_steps):
        u = u - (u @ v) * v
        u = u / np.linalg.norm(u)
        image = a @ u
        size = np.linalg.norm(image)
        if size == 0.0:
            return u
        u = image / size
    return u
