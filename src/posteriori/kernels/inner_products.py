r"""Kernels that are inner products of features one can write down: :math:`k(x, z) = \phi(x)^\top\Sigma\,\phi(z)`.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, §6.2; T. Jaakkola & D. Haussler,
"Exploiting generative models in discriminative classifiers", 1999.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import comb, factorial
from typing import Any

import numpy as np

from posteriori.kernels.category_codes import category_codes
from posteriori.kernels.kernel import Kernel, Traced, check_points
from posteriori.kernels.radial import check_values
from posteriori.numerics.blocks.memory import require_memory
from posteriori.numerics.lazy import scipy_linalg
from posteriori.numerics.linalg import cholesky_jittered
from posteriori.numerics.rank import ROUNDING
from posteriori.numerics.types import Array
from posteriori.numerics.validation import nonnegative, positive, real_matrix

__all__ = ["Features", "FisherKernel", "Function", "Linear", "Overlap", "Polynomial", "White"]


@dataclass(frozen=True, eq=False, repr=False)
class Linear(Kernel):
    """k(x, z) = xᵀz: straight lines through the origin.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def evaluate(self, X: Array, Z: Array) -> Array:
        return X @ Z.T

    def traced_diagonal(self, X: Array) -> Traced:
        return Traced(np.einsum("nd,nd->n", X, X), lambda _: np.zeros(0))

    def features(self, X: Any) -> Array:
        """Return the points themselves."""
        return check_points("X", X)


@dataclass(frozen=True, eq=False, repr=False)
class Polynomial(Kernel):
    r"""Polynomials, :math:`(c + x^\top z)^M`.

    The features are all monomials of degree M, or up to M where c > 0, each with the root of its
    multinomial coefficient: of (1 + xᵀz)² in two columns 1, √2x₁, √2x₂, x₁², √2x₁x₂, x₂².

    Parameters
    ----------
    degree : int
        M >= 1.
    offset : float
        c >= 0; 0 keeps the monomials of degree M alone, and is not learned.

    Examples
    --------
    >>> k = Polynomial(degree=2, offset=1.0)
    >>> k([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    >>> k.features([[1.0, 2.0]]).round(3)
    array([[1.   , 1.414, 2.828, 1.   , 2.828, 4.   ]])
    """

    degree: int = 2
    offset: Any = 1.0

    def __post_init__(self) -> None:
        if self.degree != int(self.degree) or self.degree < 1:
            raise ValueError(f"degree must be 1, 2, …, got {self.degree!r}")
        object.__setattr__(self, "offset", nonnegative("offset", self.offset)[()])

    @property
    def _learned(self) -> tuple[str, ...]:  # type: ignore[override]  # depends on the offset
        return ("offset",) if self.offset > 0 else ()

    def traced(self, X: Array, Z: Array) -> Traced:
        return self._traced(self.offset + X @ Z.T)

    def traced_diagonal(self, X: Array) -> Traced:
        return self._traced(self.offset + np.einsum("nd,nd->n", X, X))

    def _traced(self, base: Array) -> Traced:
        def pull(W: Array) -> Array:
            slope = self.degree * self.offset * base ** (self.degree - 1)
            return np.array([np.vdot(W, slope)] if self._learned else [])

        return Traced(base**self.degree, pull)

    def features(self, X: Any) -> Array:
        """Return the monomials with the roots of their coefficients."""
        x = check_points("X", X)
        number = comb(x.shape[1] + self.degree - (self.offset == 0), self.degree)
        require_memory(
            f"{number} features of {len(x)} points", number * len(x), "use the kernel itself"
        )
        columns = [
            np.sqrt(self._coefficient(powers)) * np.prod(x ** np.array(powers), axis=1)
            for powers in self._exponents(x.shape[1])
        ]
        return np.column_stack(columns)

    def traced_features(self, X: Array) -> Traced:
        values = self.features(X)
        # a monomial has the root of c^(M − its degree)
        rest = [0.5 * (self.degree - sum(powers)) for powers in self._exponents(X.shape[1])]
        moved = values * rest
        return Traced(values, lambda W: np.array([np.vdot(W, moved)] if self._learned else []))

    def _exponents(self, columns: int) -> Iterator[tuple[int, ...]]:
        """Yield the powers of all columns in each monomial, low degrees first."""
        lowest = 0 if self.offset > 0 else self.degree
        for degree in range(lowest, self.degree + 1):
            yield from _compositions(degree, columns)

    def _coefficient(self, powers: tuple[int, ...]) -> float:
        """Return the coefficient of a monomial: multinomial, times a power of the offset."""
        rest = self.degree - sum(powers)
        count = factorial(self.degree) // factorial(rest)
        for power in powers:
            count //= factorial(power)
        return float(count * self.offset**rest)


@dataclass(frozen=True, eq=False, repr=False)
class White(Kernel):
    """Noise: σ² on the diagonal of k(X), and 0 between different points, also where they are equal.

    Parameters
    ----------
    variance : float or (Q,)
        σ² > 0, one for all points, or one for each category, whose codes 0, 1, … are the one column that
        the kernel sees: ``White([0.1, 0.4]).on([2])`` is the noise of two instruments.

    Examples
    --------
    >>> White(0.5)([[1.0], [1.0]])
    array([[0.5, 0. ],
           [0. , 0.5]])
    >>> White(0.5)([[1.0]], [[1.0]])
    array([[0.]])
    """

    _learned = ("variance",)

    variance: Any = 1.0

    def __post_init__(self) -> None:
        variance = positive("variance", self.variance)[()]
        if np.ndim(variance) > 1 or not np.size(variance):
            raise ValueError(
                f"variance must be a number or one number for each category, got shape "
                f"{np.shape(variance)}"
            )
        object.__setattr__(self, "variance", variance)

    def traced(self, X: Array, Z: Array) -> Traced:
        return Traced(np.zeros((len(X), len(Z))), lambda _: np.zeros(np.size(self.variance)))

    def traced_diagonal(self, X: Array) -> Traced:
        if np.ndim(self.variance) == 0:
            value = np.full(len(X), self.variance)
            return Traced(value, lambda w: np.array([self.variance * w.sum()]))
        count = np.size(self.variance)
        codes = category_codes(self, X, count)
        return Traced(
            self.variance[codes], lambda w: self.variance * np.bincount(codes, w, minlength=count)
        )


@dataclass(frozen=True, eq=False, repr=False)
class Features(Kernel):
    """k(x, z) = φ(x)ᵀ Σ φ(z) of given features: lines in φ with weights of covariance Σ.

    Parameters
    ----------
    phi : callable
        From points (N, D) to features (N, M).
    cov : (M, M), optional
        Σ, positive semi-definite; by default the identity.

    Examples
    --------
    >>> Features(lambda x: np.column_stack([x, x**2]))([[2.0]], [[3.0]])
    array([[42.]])
    """

    phi: Callable[[Array], Array]
    cov: Any = None

    def __post_init__(self) -> None:
        if self.cov is None:
            return
        cov = real_matrix("cov", self.cov)
        least = float(np.linalg.eigvalsh(cov)[0])
        if least < -ROUNDING * len(cov) * np.abs(cov).max():
            raise ValueError(
                f"cov must be positive semi-definite, its smallest eigenvalue is {least:.6g}"
            )
        object.__setattr__(self, "cov", cov)

    def evaluate(self, X: Array, Z: Array) -> Array:
        left, right = self._map(X), self._map(Z)
        return (left if self.cov is None else left @ self.cov) @ right.T

    def features(self, X: Any) -> Array:
        """Return φ(x)ᵀL with L Lᵀ = Σ."""
        phi = self._map(check_points("X", X))
        return phi if self.cov is None else phi @ cholesky_jittered(self.cov).lower

    def _map(self, X: Array) -> Array:
        phi = check_points("phi(X)", self.phi(X))
        if len(phi) != len(X):
            raise ValueError(
                f"phi must return a row for each of {len(X)} points, got {len(phi)} rows"
            )
        if self.cov is not None and phi.shape[1] != len(self.cov):
            raise ValueError(f"phi gives {phi.shape[1]} features and cov is of {len(self.cov)}")
        return phi


@dataclass(frozen=True, eq=False, repr=False)
class FisherKernel(Kernel):
    r"""Points are alike that would change a model alike: :math:`g(x)^\top I^{-1} g(z)`.

    g is the score, the gradient of the log density in the natural parameters, :math:`T(x) - E\,T`, and I the
    Fisher information.

    Parameters
    ----------
    member : distribution
        One member of an exponential family of numbers or vectors, such as ``Normal(0.0, variance=1.0)``.

    Examples
    --------
    >>> from posteriori import Poisson
    >>> FisherKernel(Poisson(2.0))([[2.0], [3.0]], [[5.0]])  # (x − 2)(z − 2)/2
    array([[0. ],
           [1.5]])
    """

    member: Any

    def evaluate(self, X: Array, Z: Array) -> Array:
        return self.features(X) @ self.features(Z).T

    def features(self, X: Any) -> Array:
        """Return the score in coordinates in which the information is the identity, L⁻¹g with L Lᵀ = I."""
        x = check_points("X", X)
        points = x if self.member.event_shape else x[:, 0]
        return scipy_linalg.solve_triangular(self._lower, self.member.score(points).T, lower=True).T

    @cached_property
    def _lower(self) -> Array:
        """L, the same for all points: kernels are asked for a few of them at a time."""
        return cholesky_jittered(self.member.fisher_information()).lower


@dataclass(frozen=True, eq=False, repr=False)
class Overlap(Kernel):
    """Share of columns in which two points are equal: for codes of categories.

    Examples
    --------
    >>> Overlap()([[0, 1, 2]], [[0, 1, 1]]).round(3)
    array([[0.667]])
    """

    def evaluate(self, X: Array, Z: Array) -> Array:
        equal = np.zeros((len(X), len(Z)))
        for x, z in zip(X.T, Z.T, strict=True):
            equal += np.equal.outer(x, z)
        return equal / X.shape[1]

    def traced_diagonal(self, X: Array) -> Traced:
        return Traced(np.ones(len(X)), lambda _: np.zeros(0))


@dataclass(frozen=True, eq=False, repr=False)
class Function(Kernel):
    """A kernel that a function states.

    Parameters
    ----------
    function : callable
        From points (N, D) and (M, D) to kernel values (N, M). It must be a Mercer kernel, which
        :func:`~posteriori.kernels.is_mercer` can refute.

    Examples
    --------
    >>> Function(lambda X, Z: np.minimum.outer(X[:, 0], Z[:, 0]))([[1.0], [2.0]])
    array([[1., 1.],
           [1., 2.]])
    """

    function: Callable[[Array, Array], Array]

    def evaluate(self, X: Array, Z: Array) -> Array:
        return check_values(self, self.function(X, Z), X, Z)


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to write a number as a sum of so many whole numbers >= 0, the first ones largest."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)
