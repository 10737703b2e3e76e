r"""Conjugate pairs of the Pareto distribution: as the prior of an upper end, and as likelihood.

A Pareto belief about the width θ of a uniform distribution stays one, since every datum
multiplies it by 1/θ and rules out widths below the datum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.conjugate.pair import Correction, NaturalPair, Pair, register
from posteriori.distributions.conjugate.predictive import Predictive
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.pareto import Pareto
from posteriori.distributions.numbers.uniform import Uniform
from posteriori.distributions.statistics import Sums
from posteriori.numerics.types import Array, number

__all__ = ["Extent", "GammaPareto", "ParetoUniform"]


@dataclass(frozen=True, slots=True)
class Extent:
    """How many data there are, how far they reach, and the constant part of the likelihood."""

    count: Array
    reach: Array
    log_carrier: Array

    def merge(self, other: Extent) -> Extent:
        """Return the statistics of both sets of data."""
        reach = np.maximum(self.reach, other.reach)
        return Extent(self.count + other.count, reach, self.log_carrier + other.log_carrier)


@register
class ParetoUniform(Pair):
    """Unknown upper end of x ~ U(l, l + cθ), with known l and c > 0 (per row, if need be)."""

    prior_family, likelihood_family = Pareto, Uniform
    unknown, needs = ("high",), ("low",)

    def check_maps(self) -> None:
        """Allow high = low + c · unknown, so that the width is proportional to the unknown."""
        high = self.conditional.unknown["high"]
        offset = number(0.0) if high.offset is None else high.offset
        if high.matrix is not None or not np.all(offset == self.known["low"]):
            raise TypeError(
                "a Pareto prior is conjugate to the width of Uniform: write "
                "lambda width: Uniform(low, low + width), or Uniform(0, high) where low is 0"
            )
        if not np.all(self._factor > 0):
            raise ValueError("the known factor of high must be positive")

    @property
    def _factor(self) -> Array:
        factor: Array | None = self.conditional.unknown["high"].factor
        return number(1.0) if factor is None else factor

    def off_support(self, x: Array) -> Any:
        """Mark what lies below the lower end."""
        return x < self.known["low"]

    def check(self, block: Array, start: int) -> None:
        """Refuse data below the lower end."""
        below = block < self.rows(self.known["low"], start, block)
        if np.any(below):
            row = int(np.argwhere(below)[0][0])
            raise ValueError(
                f"data must lie in the support of Uniform: row {start + row} is below low"
            )

    def summarize(self, block: Array, start: int = 0) -> Extent:
        """Return N, the largest (x − l)/c, and −Σ ln c."""
        c = self.rows(self._factor, start, block)
        widths = (block - self.rows(self.known["low"], start, block)) / c
        count = np.full(block.shape[1:], float(len(block)))[()]
        carrier = -np.broadcast_to(np.log(c), block.shape).sum(axis=0)
        return Extent(count, widths.max(axis=0), carrier)

    def update(self, belief: Pareto, statistics: Extent) -> Pareto:
        """Add the count to the shape, and raise the minimum to the reach of the data."""
        minimum = np.maximum(belief.minimum, statistics.reach)
        return Pareto._from(shape=belief.shape + statistics.count, minimum=minimum)

    def log_likelihood(self, theta: Any, statistics: Extent) -> Array:
        """Return −N ln θ + c, or −inf where θ is below the reach of the data."""
        value = statistics.log_carrier - statistics.count * np.log(theta)
        return np.where(theta < statistics.reach, -np.inf, value)[()]

    def predictive(self, belief: Pareto) -> Distribution:
        """Return a uniform distribution that ends in a power law."""
        return Predictive(belief, self)

    def predictive_moments(self, belief: Pareto) -> tuple[Array, Array]:
        """E[l + cθ/2] and E[(cθ)²]/12 + Var[cθ]/4; infinite where the shape is too small."""
        c = self._factor
        mean, variance = c * belief.mean, c * c * belief.variance
        finite = np.isfinite(variance)
        square = np.where(finite, variance, 0.0) + np.where(finite, mean, 0.0) ** 2
        total = np.where(finite, square / 12.0 + variance / 4.0, np.inf)[()]
        return self.known["low"] + 0.5 * mean, total

    def prediction(self, belief: Pareto) -> Array:
        """Return the most probable width, which is the least possible one."""
        return belief.minimum

    def correction(self, posterior: Pareto, statistics: Extent) -> Correction:
        """Return the view of the least possible width: only data beyond it correct it."""
        before, data = self.prior.minimum, statistics.reach
        gain = np.where(data > before, 1.0, 0.0)[()]
        error = data - before
        return Correction(before, data, gain, error, gain * error, before + gain * error)


@register
class GammaPareto(NaturalPair):
    """Unknown shape, known minimum m: each datum adds 1 to the shape and ln(x/m) to the rate."""

    prior_family, likelihood_family = Gamma, Pareto
    unknown, needs = ("shape",), ("minimum",)

    def off_support(self, x: Array) -> Any:
        """Mark what lies below the minimum."""
        return x < self.known["minimum"]

    def check(self, block: Array, start: int) -> None:
        """Refuse data below the minimum."""
        below = block < self.rows(self.known["minimum"], start, block)
        if np.any(below):
            row = int(np.argwhere(below)[0][0])
            raise ValueError(
                f"data must lie in the support of Pareto: row {start + row} is below the minimum"
            )

    def summarize(self, block: Array, start: int = 0) -> Sums:
        """Return (N, −Σ ln x/m) and −Σ ln x."""
        excess = np.log(block / self.rows(self.known["minimum"], start, block))
        count = np.full(block.shape[1:], float(len(block)))[()]
        carrier = -np.log(block).sum(axis=0)
        return Sums(number(len(block)), (count, -excess.sum(axis=0)), carrier)

    def predictive(self, belief: Gamma) -> Distribution:
        """Return the law of m exp(y), y the Lomax variable of an uncertain rate."""
        return Predictive(belief, self)

    def predictive_moments(self, belief: Gamma) -> tuple[Array, Array]:
        """Infinite: shapes below 1, whose mean is infinite, are never ruled out."""
        infinite = np.full(belief.batch_shape, np.inf)[()]
        return infinite, infinite

    def prediction(self, belief: Gamma) -> Array:
        """Return the expected ln x/m, b/(a − 1)."""
        if np.any(belief.shape <= 1):
            raise ValueError("the expected ln x/m needs a Gamma prior with shape > 1")
        return belief.rate / (belief.shape - 1.0)

    def strengths(self, statistics: Sums) -> tuple[Array, Array, Array]:
        """Weigh shape − 1 against the count."""
        count, total = statistics.sums[0], -statistics.sums[1]
        return self.prior.shape - 1.0, count, total / count
