"""Linear-Gaussian models of many single vectors that nearly all meet: one dense precision matrix.

A sum over two thousand separate unknowns joins every pair of them. Eliminating them one by one
would handle each pair by itself; all numbers are one vector instead, with one Cholesky factor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.inference.gaussian.equations import Equation, Latent
from posteriori.inference.gaussian.system import GaussianSystem
from posteriori.numerics.lazy import lapack, scipy_linalg
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array

__all__ = ["DenseSystem"]


class DenseSystem(GaussianSystem):
    """The Cholesky factor of the precision matrix of all numbers, and solves with it."""

    def __init__(self, latents: Sequence[Latent], equations: Sequence[Equation]) -> None:
        super().__init__({latent.name: latent for latent in latents}, equations)
        self.order = [latent.name for latent in latents]
        ends = np.cumsum([latent.size for latent in latents])
        self.places = {
            v.name: slice(end - v.size, end) for v, end in zip(latents, ends, strict=True)
        }
        precision = np.zeros((ends[-1], ends[-1]))
        for equation in equations:
            self._push(self.right, equation, equation.constant)
            numbers, k = self._columns(equation)
            weighted = k * np.broadcast_to(equation.weight, (len(k),))[:, None]
            precision[np.ix_(numbers, numbers)] += weighted.T @ k
        self.lower, failed = lapack.dpotrf(precision, lower=1, clean=1)
        pivots = np.diagonal(self.lower)[: failed - 1 if failed else None] ** 2
        small = ~exceeds_rounding(pivots, np.diagonal(precision)[: len(pivots)])
        if failed or small.any():
            self._refuse(int(np.argmax(np.append(small, True))))
        self.log_det = 2.0 * float(np.log(np.diagonal(self.lower)).sum())

    def solve(self, right: Mapping[str, Array]) -> dict[str, Array]:
        h = np.concatenate([right[name][0] for name in self.order])
        mean = scipy_linalg.cho_solve((self.lower, True), h)
        return {name: mean[place][None] for name, place in self.places.items()}

    def deviations(self, size: int, rng: np.random.Generator) -> dict[str, Array]:
        noise = rng.standard_normal((len(self.lower), size))
        values = scipy_linalg.solve_triangular(self.lower, noise, lower=True, trans="T")
        return {name: values[place][None] for name, place in self.places.items()}

    def covariances(self) -> tuple[dict[str, Array], Mapping[tuple[str, str], tuple[Array, Any]]]:
        """Return marginal covariances; those between vectors are cut out when asked for."""
        inverse = self._inverse()
        own = {name: inverse[place, place][None] for name, place in self.places.items()}
        return own, _Between(inverse, self.places)

    def row_variances(self) -> list[Array]:
        """Return the posterior variance of K x of all rows, equation by equation."""
        inverse = self._inverse()
        found = []
        for equation in self.equations:
            numbers, k = self._columns(equation)
            found.append(np.einsum("ri,ri->r", k @ inverse[np.ix_(numbers, numbers)], k))
        return found

    def _columns(self, equation: Equation) -> tuple[Any, Array]:
        """Return which numbers the rows see (W,), each once, and their coefficients (R, W)."""
        found: dict[str, Array] = {}
        for link in equation.links:
            k = found.get(link.name)
            found[link.name] = link.coefficients if k is None else k + link.coefficients
        if not found:
            return np.zeros(0, dtype=np.intp), np.zeros((len(equation.constant), 0))
        places = [self.places[name] for name in found]
        numbers = np.concatenate([np.arange(p.start, p.stop) for p in places])
        return numbers, np.concatenate(list(found.values()), axis=1)

    def _inverse(self) -> Array:
        lower, _ = lapack.dpotri(self.lower, lower=1)
        return np.tril(lower) + np.tril(lower, -1).T

    def _refuse(self, number: int) -> None:
        name = next(n for n, place in self.places.items() if number < place.stop)
        raise ValueError(
            f"the posterior of {name} is improper: prior and data leave it undetermined"
        )


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
