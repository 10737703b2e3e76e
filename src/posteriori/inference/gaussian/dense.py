r"""Linear-Gaussian models of single vectors that nearly all meet: one dense precision matrix.

A regression, or a sum over two thousand separate unknowns, joins every pair of numbers: all are one
vector, with one Cholesky factor of :math:`J = \sum K^T W K`. Where the columns of K are nearly
dependent, J has lost the digits that tell them apart; rows :math:`W^{1/2}[K\,c]` of few numbers are
then made triangular instead, which gives the same factor without squaring them, and the means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from posteriori.inference.gaussian.equations import (
    Equation,
    Latent,
    gram,
    residual,
    row_blocks,
    weighted_square,
)
from posteriori.inference.gaussian.ordering import FEW_NUMBERS, densify
from posteriori.inference.gaussian.system import GaussianSystem
from posteriori.numerics.lazy import scipy_linalg
from posteriori.numerics.least_squares.regression_statistics import column_norms, triangle_of
from posteriori.numerics.least_squares.safe_gram import INDEPENDENT
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array

__all__ = ["DenseSystem", "joint_moments"]

#: From so many numbers on, the routines for triangles repay the import of SciPy.
_LARGE = 100

#: Coefficients that are written out: 400 MB.
_DENSE_LIMIT = 50_000_000


class DenseSystem(GaussianSystem):
    """A triangular factor of the precision matrix of all numbers, and solves with it."""

    def __init__(self, latents: Sequence[Latent], equations: Sequence[Equation]) -> None:
        super().__init__({latent.name: latent for latent in latents}, equations)
        self.order = [latent.name for latent in latents]
        self.places: dict[str, slice] = {}
        self.size = 0
        for latent in latents:
            self.places[latent.name] = slice(self.size, self.size + latent.size)
            self.size += latent.size
        self.given = 0.0
        self.precision = self._gather()
        self.triangle: Array | None = None
        self.lower = self._factor()
        self.log_det = 2.0 * float(np.log(np.abs(np.diagonal(self.lower))).sum())

    def solve(self, right: Mapping[str, Array]) -> dict[str, Array]:
        h = np.concatenate([right[name][0] for name in self.order])
        return self._parted(self._root @ (self._root.T @ h))

    def shift(self, means: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Return what is to be added to the means, by the triangle where there is one."""
        if self.triangle is None:
            return super().shift(means)
        r = self.triangle if means is None else self._triangle(means)
        return self._parted(np.linalg.solve(r[:-1, :-1], r[:-1, -1]))

    def misfit_by_sums(self, means: Mapping[str, Array]) -> tuple[float, float]:
        """Return Σ w c² − 2 hᵀm + mᵀJm, whose error is of second order in that of m."""
        if self.triangle is not None:
            return 0.0, 0.0
        linear = sum(float(self.right[n][0] @ m[0]) for n, m in means.items())
        mean = np.concatenate([means[name][0] for name in self.order])
        return self.given, self.given - 2.0 * linear + float(mean @ self.precision @ mean)

    def deviations(self, size: int, rng: np.random.Generator) -> dict[str, Array]:
        return self._parted(self._solve_upper(rng.standard_normal((self.size, size))))

    def covariances(self) -> tuple[dict[str, Array], Mapping[tuple[str, str], tuple[Array, Any]]]:
        """Return marginal covariances; those between vectors are cut out when asked for."""
        whole = self.cov()
        own = {name: whole[place, place][None] for name, place in self.places.items()}
        return own, _Between(whole, self.places)

    def cov(self) -> Array:
        """Return J⁻¹."""
        return self._root @ self._root.T

    def root(self) -> Mapping[str, Array]:
        """Return rows B of each latent with B Bᵀ = J⁻¹."""
        return {name: self._root[place] for name, place in self.places.items()}

    def row_variances(self) -> list[Array]:
        """Return the posterior variance of K x of all rows, equation by equation."""
        found = []
        for equation in self.equations:
            numbers, k = self._columns(equation)
            found.append(((k @ self._root[numbers]) ** 2).sum(axis=1))
        return found

    # -- the factor ------------------------------------------------------------------------

    def _gather(self) -> Array:
        """Return J; keep Kᵀ W c and Σ w c²."""
        precision = np.zeros((self.size, self.size))
        for equation in self.equations:
            total: Any = 0.0
            for part in row_blocks(equation, self.shapes):
                self._push(self.right, part, part.constant)
                self.given += weighted_square(part, part.constant)
                numbers, k = self._columns(part)
                total = total + gram(k, k, part)
            one = isinstance(numbers, slice)
            precision[(numbers, numbers) if one else np.ix_(numbers, numbers)] += total
        return precision

    def _factor(self) -> Array:
        """Return lower L with L Lᵀ = J."""
        diagonal = np.diagonal(self.precision)
        try:
            lower = np.linalg.cholesky(self.precision)
        except np.linalg.LinAlgError:
            return self._careful_factor()
        left = np.diagonal(lower) ** 2
        few = self.size <= FEW_NUMBERS
        if np.all(left >= INDEPENDENT * diagonal if few else exceeds_rounding(left, diagonal)):
            return lower
        return self._careful_factor()

    def _careful_factor(self) -> Array:
        self.triangle = self._triangle()
        factor = self.triangle[:-1, :-1]
        small = ~exceeds_rounding(np.abs(np.diagonal(factor)), column_norms(factor))
        if small.any():
            number = int(np.argmax(small))
            self._refuse(next(n for n, place in self.places.items() if number < place.stop))
        return factor.T

    def _triangle(self, means: Mapping[str, Array] | None = None) -> Array:
        """Return R of all rows √w [K c], with what is left of c at the means if they are given."""

        def blocks() -> Iterator[Array]:
            for part in self._parts():
                numbers, k = self._columns(part)
                rows = np.zeros((len(k), self.size + 1))
                rows[:, numbers] = k
                rows[:, -1] = part.constant if means is None else residual(part, means)
                rows *= np.sqrt(np.broadcast_to(part.weight, (len(k),)))[:, None]
                yield rows

        return triangle_of(blocks(), self.size + 1)

    def _parts(self) -> Iterator[Equation]:
        return (part for e in self.equations for part in row_blocks(e, self.shapes))

    def _columns(self, equation: Equation) -> tuple[Any, Array]:
        """Return which numbers the rows see, each once, and their coefficients (R, W)."""
        found: dict[str, Array] = {}
        for link in equation.links:
            k = found.get(link.name)
            found[link.name] = link.coefficients if k is None else k + link.coefficients
        if not found:
            return np.zeros(0, dtype=np.intp), np.zeros((len(equation.constant), 0))
        places = [self.places[name] for name in found]
        if len(places) == 1:
            return places[0], found.popitem()[1]
        numbers = np.concatenate([np.arange(p.start, p.stop) for p in places])
        return numbers, np.concatenate(list(found.values()), axis=1)

    @cached_property
    def _root(self) -> Array:
        """L⁻ᵀ."""
        return self._solve_upper(np.eye(self.size))

    def _solve_upper(self, b: Array) -> Array:
        """Return L⁻ᵀ b."""
        if self.size == 1:
            return b / self.lower[0, 0]
        if self.size < _LARGE:
            return np.linalg.solve(self.lower.T, b)  # a triangle that stands so is not permuted
        solved: Array = scipy_linalg.solve_triangular(self.lower, b, lower=True, trans="T")
        return solved

    def _parted(self, values: Array) -> dict[str, Array]:
        return {name: values[place][None] for name, place in self.places.items()}


def joint_moments(
    latents: Sequence[Latent], equations: Sequence[Equation]
) -> tuple[Array, Array, dict[str, slice]]:
    """Return mean, covariance and places of all latents as one dense vector.

    Raises
    ------
    ValueError
        When the equations are too many to write out densely.
    """
    shapes = {latent.name: latent for latent in latents}
    numbers = sum(latent.count * latent.size for latent in latents)
    rows = sum(len(e.constant) for e in equations)
    if rows * numbers > _DENSE_LIMIT:
        raise ValueError(
            f"a joint distribution of {numbers} numbers under {rows} equations is too large to "
            "write out; ask for variables that meet in one equation"
        )
    several = {latent.name for latent in latents if latent.count > 1}
    whole = [Latent(v.name, 1, v.count * v.size) for v in latents]
    system = DenseSystem(whole, [densify(e, several, shapes) for e in equations])
    means, _ = system.best_means()
    return np.concatenate([means[v.name][0] for v in whole]), system.cov(), system.places


class _Between(Mapping[tuple[str, str], tuple[Array, Any]]):
    """Covariances between any two latents."""

    def __init__(self, cov: Array, places: Mapping[str, slice]) -> None:
        self.cov = cov
        self.places = places

    def __getitem__(self, pair: tuple[str, str]) -> tuple[Array, Any]:
        first, second = pair
        return self.cov[self.places[first], self.places[second]][None], None

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((a, b) for a in self.places for b in self.places if a != b)

    def __len__(self) -> int:
        return len(self.places) * (len(self.places) - 1)
