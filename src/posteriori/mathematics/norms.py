r"""Norms of vectors and matrices, and a tester of the axioms that make a function a norm.

.. math:: \|x\|_p = \Bigl(\sum_i |x_i|^p\Bigr)^{1/p}\ (p \ge 1),\qquad
          \|X\|_F = \sqrt{\textstyle\sum_{ij} |x_{ij}|^2} = \sqrt{\operatorname{tr} X^{*}X}.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["NormCheck", "frobenius_norm", "is_norm", "p_norm"]

#: Sizes of the vectors that the tester tries: axioms may fail at one scale only.
_SCALES = (1e-3, 1.0, 1e3)


@dataclass(frozen=True)
class NormCheck:
    """Outcome of testing the axioms of a norm; true where no violation was found.

    Attributes
    ----------
    ok : bool
        Whether every axiom held in every trial.
    violated : tuple of str
        Names of the axioms that failed.
    witnesses : dict
        For each failed axiom the arguments that show it.
    """

    ok: bool
    violated: tuple[str, ...]
    witnesses: dict[str, tuple[Any, ...]]

    def __bool__(self) -> bool:
        return self.ok


def p_norm(x: ArrayLike, p: float = 2.0, axis: int | None = -1) -> Array:
    r"""Return :math:`\|x\|_p` along an axis; p = 1 is the taxicab norm, 2 the Euclidean one.

    Entries are divided by the largest first, so that neither tiny nor huge ones are lost.

    Parameters
    ----------
    x : array (..., D)
        Vectors, real or complex.
    p : float
        Order, 1 <= p <= ∞; below 1 the triangle inequality fails.
    axis : int or None
        Axis of the vectors; None takes the whole array as one vector.

    Examples
    --------
    >>> float(p_norm([2.0, 3.0], 1))  # a taxi drive
    5.0
    >>> float(p_norm([2.0, 3.0]).round(6))
    3.605551
    """
    if not p >= 1:
        raise ValueError(f"p must be at least 1 for the triangle inequality to hold, got {p!r}")
    size = np.abs(np.asarray(x)).astype(np.float64)
    top = np.max(size, axis=axis, keepdims=True, initial=0.0)
    if np.isinf(p):
        return np.squeeze(top, axis=axis)[()]
    scaled = size / np.where(top > 0, top, 1.0)
    total = np.sum(scaled**p, axis=axis, keepdims=True) ** (1.0 / p)
    return np.squeeze(top * total, axis=axis)[()]


def frobenius_norm(x: ArrayLike) -> Array:
    """Return the Frobenius norm of matrices (..., M, N): the Euclidean norm of their entries."""
    x = np.asarray(x)
    if x.ndim < 2:
        raise ValueError(f"x must be a matrix, got shape {x.shape}")
    return p_norm(x.reshape(*x.shape[:-2], -1), 2.0)


def is_norm(
    norm: Callable[[Array], Any],
    shape: int | tuple[int, ...] = 3,
    *,
    over_complex: bool = False,
    n_trials: int = 200,
    tol: float = 1e-9,
    rng: Seed = 0,
) -> NormCheck:
    """Test the axioms of a norm on random vectors: a failure is proof, success is evidence.

    The axioms: values are not negative; only 0 has norm 0; ``norm(a x) = |a| norm(x)`` for every
    scalar of the field; ``norm(x + y) <= norm(x) + norm(y)``.

    Parameters
    ----------
    norm : function of an array
        The candidate.
    shape : int or tuple of int
        Shape of its argument.
    over_complex : bool
        Whether vectors and scalars are complex.
    n_trials : int
        Number of random pairs, besides unit vectors and sparse ones.
    tol : float
        Relative tolerance of the comparisons.
    rng : Generator, int or None
        Source of the vectors.

    Examples
    --------
    >>> bool(is_norm(lambda x: abs(x).sum()))
    True
    >>> is_norm(lambda x: (x**2).sum()).violated  # the squared Euclidean norm
    ('homogeneity', 'triangle inequality')
    """
    generator = as_generator(rng)
    event = (shape,) if isinstance(shape, int) else tuple(shape)
    found: dict[str, tuple[Any, ...]] = {}
    zero = np.zeros(event, dtype=np.complex128 if over_complex else np.float64)
    if not abs(norm(zero)) <= tol:
        found["definiteness"] = (zero,)
    for trial in range(n_trials):
        x = _draw(generator, event, over_complex, sparse=trial % 3 == 0)
        y = _draw(generator, event, over_complex, sparse=trial % 2 == 0)
        a = _draw(generator, (), over_complex, sparse=False)
        _test_axioms(norm, x, y, a, tol, found)
    order = ("non-negativity", "definiteness", "homogeneity", "triangle inequality")
    violated = tuple(axiom for axiom in order if axiom in found)
    return NormCheck(not violated, violated, found)


def _test_axioms(
    norm: Callable[[Array], Any],
    x: Array,
    y: Array,
    a: Array,
    tol: float,
    found: dict[str, tuple[Any, ...]],
) -> None:
    size, other, scaled, summed = (float(norm(v)) for v in (x, y, a * x, x + y))
    if size < 0:
        found.setdefault("non-negativity", (x,))
    if not abs(size) > 1e-12 * float(np.max(np.abs(x))):
        found.setdefault("definiteness", (x,))
    if not abs(scaled - abs(a) * size) <= tol * (abs(scaled) + abs(a) * abs(size)):
        found.setdefault("homogeneity", (a, x))
    if not summed <= (size + other) * (1.0 + tol):
        found.setdefault("triangle inequality", (x, y))


def _draw(rng: np.random.Generator, shape: tuple[int, ...], cplx: bool, *, sparse: bool) -> Array:
    x: Array = np.asarray(rng.standard_normal(shape))
    if cplx:
        x = x + 1j * rng.standard_normal(shape)
    if sparse and x.size > 1:
        keep = np.zeros(x.size, dtype=bool)
        keep[rng.integers(x.size)] = True
        x = np.where(keep.reshape(shape), x, 0.0)
    return x * rng.choice(_SCALES)
