"""What all ways to solve a linear-Gaussian model share: passes over the rows of its equations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from posteriori.inference.gaussian.equations import (
    Equation,
    Latent,
    residual,
    row_blocks,
    sum_rows,
    weighted_square,
)
from posteriori.numerics.types import Array

__all__ = ["GaussianSystem"]

#: Residuals below this share of what they were taken from have lost digits: means are refined.
_CANCELLATION = 1e-3

#: Where less than this share of Σ w c² is left, sums have lost digits: the rows are read.
_LOST = 1e-2


class GaussianSystem(ABC):
    """A factorised precision matrix J of all latents, and the rows that it came from.

    Attributes
    ----------
    shapes : mapping to Latent
    equations : sequence of Equation
    right : mapping to (count, size)
        The right-hand side that the constants of the equations make.
    largest : float
        The largest constant.
    log_det : float
        Log determinant of J.
    order : list of str
        In which order latents were eliminated.
    """

    log_det: float
    order: list[str]

    def __init__(self, shapes: Mapping[str, Latent], equations: Sequence[Equation]) -> None:
        self.shapes = shapes
        self.equations = equations
        self.right = self._zeros()
        self.largest = max((_largest(e.constant) for e in equations), default=0.0)

    @abstractmethod
    def solve(self, right: Mapping[str, Array]) -> dict[str, Array]:
        """Return J⁻¹ h."""

    @abstractmethod
    def covariances(self) -> tuple[dict[str, Array], Mapping[tuple[str, str], tuple[Array, Any]]]:
        """Return marginal covariances, and those between vectors that meet."""

    def root(self) -> Mapping[str, Array] | None:
        """Return rows B of each latent with B Bᵀ = J⁻¹, where all are one vector."""
        return None

    @abstractmethod
    def deviations(self, size: int, rng: np.random.Generator) -> dict[str, Array]:
        """Return draws about the mean, (count, size of a vector, draws)."""

    def shift(self, means: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Return what is to be added to means, or to zeros, to reach those of the posterior."""
        return self.solve(self.right if means is None else self.right_at(means))

    def best_means(self) -> tuple[dict[str, Array], float]:
        """Return the posterior means and Σ w r² there.

        Where what is left over is far smaller than what was given, sums over the rows have lost its
        digits: the rows are then read again, and the means refined.
        """
        means = self.shift()
        given, left = self.misfit_by_sums(means)
        if left > _LOST * given:
            return means, left
        misfit, left = self.misfit(means)
        before = self.largest
        for _ in range(2):
            if left > _CANCELLATION * before:
                break
            step = self.shift(means)
            means = {n: means[n] + step[n] for n in means}
            before = left
            misfit, left = self.misfit(means)
        return means, misfit

    def misfit_by_sums(self, means: Mapping[str, Array]) -> tuple[float, float]:
        """Return Σ w c² and Σ w r² without reading the rows; zeros where that is not possible."""
        return 0.0, 0.0

    def misfit(self, means: Mapping[str, Array]) -> tuple[float, float]:
        """Return Σ w r² and max |r| at given values of the latents."""
        total = largest = 0.0
        for equation in self.equations:
            for part in row_blocks(equation, self.shapes):
                left = residual(part, means)
                total += weighted_square(part, left)
                largest = max(largest, _largest(left))
        return total, largest

    def right_at(self, means: Mapping[str, Array]) -> dict[str, Array]:
        """Return the right-hand side that the residuals at given values make."""
        right = self._zeros()
        for equation in self.equations:
            for part in row_blocks(equation, self.shapes):
                self._push(right, part, residual(part, means))
        return right

    def _push(self, right: Mapping[str, Array], equation: Equation, left: Array) -> None:
        """Add Kᵀ W r to the right-hand side."""
        weighted = equation.weight * left
        for link in equation.links:
            right[link.name][...] += sum_rows(link, weighted, self.shapes[link.name].count)

    def _refuse(self, name: str) -> NoReturn:
        raise ValueError(
            f"the posterior of {name} is improper, or nearer to that than rounding: prior and data "
            "leave it undetermined; give it a narrower prior"
        )

    def _zeros(self) -> dict[str, Array]:
        return {n: np.zeros((v.count, v.size)) for n, v in self.shapes.items()}


def _largest(values: Array) -> float:
    return float(max(np.max(values, initial=0.0), -np.min(values, initial=0.0)))
