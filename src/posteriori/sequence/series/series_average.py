r"""Several models of one series together, each with its share: a mixture of their forecasts, widened if need be.

.. math:: F'(y) = \Phi\big(\Phi^{-1}(F(y))/c\big)

Intervals of a normal distribution become c times as wide; what is positive stays so, and counts stay counts.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate, has_atoms
from posteriori.distributions.composites.predictive_mixture import PredictiveMixture
from posteriori.numerics.lazy import special
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["SeriesAverage", "Widened"]


class SeriesAverage:
    """A weighted average of fitted models of one series.

    Parameters
    ----------
    models : dict from name to fitted model
    weights : dict from name to float
        They sum to 1.
    widening : float
        Factor of the intervals.
    """

    widening = 1.0  # files of earlier versions state none

    def __init__(
        self, models: dict[str, Any], weights: dict[str, float], widening: float = 1.0
    ) -> None:
        self.models = models
        self.weights = weights
        self.widening = widening

    def forecast(self, horizon: int | None = None, *, time: Any = None, inputs: Any = None) -> Any:
        """Return the mixture of all forecasts, a batch."""
        made = [m.forecast(horizon, time=time, inputs=inputs) for m in self.models.values()]
        mixed = made[0] if len(made) == 1 else PredictiveMixture(self._shares, made)
        return mixed if self.widening == 1.0 else Widened(mixed, self.widening)

    def update(self, y: Any, time: Any = None, inputs: Any = None) -> Self:
        """Absorb later values in every model, and weigh them by how they foresaw these."""
        before = [m.log_predictive_.sum() for m in self.models.values()]
        for model in self.models.values():
            model.update(y, time, inputs)
        gained = np.array([m.log_predictive_.sum() for m in self.models.values()]) - before
        shares = self._shares * np.exp(gained - gained.max())
        self.weights = dict(zip(self.models, (shares / shares.sum()).tolist(), strict=True))
        return self

    def sample_paths(
        self,
        horizon: int | None = None,
        draws: int = 1000,
        *,
        time: Any = None,
        inputs: Any = None,
        rng: Seed = None,
    ) -> Array:
        """Return later values drawn together, (draws, H)."""
        generator = as_generator(rng)
        counts = generator.multinomial(draws, self._shares)
        parts = [
            model.sample_paths(horizon, int(count), time=time, inputs=inputs, rng=generator)
            for model, count in zip(self.models.values(), counts, strict=True)
            if count
        ]
        paths = np.concatenate(parts)
        if self.widening == 1.0:
            return paths
        return _widened_paths(paths, self.widening, generator)

    @property
    def _shares(self) -> Array:
        return np.array([self.weights[name] for name in self.models])


class Widened(Univariate):
    """A distribution whose normal levels are ``factor`` times as far from its median.

    Examples
    --------
    >>> from posteriori import Normal
    >>> Widened(Normal(0.0, variance=1.0), 1.5).quantile(0.9).round(4)
    np.float64(1.9223)
    """

    _shown = ("base", "factor")

    base: Any
    factor: float

    def __new__(cls, base: Any, factor: float) -> Self:
        self = object.__new__(cls)
        self.__dict__.update(base=base, factor=factor)
        return self

    @cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """Batch shape of what is widened."""
        shape: tuple[int, ...] = self.base.batch_shape
        return shape

    @property
    def _has_atoms(self) -> bool:  # type: ignore[override]
        return has_atoms(self.base)

    def __reduce__(self) -> tuple[Any, ...]:
        return Widened, (self.base, self.factor)

    def __repr__(self) -> str:
        return f"Widened({self.base!r}, {self.factor:.4g})"

    def _lowered(self, level: Array) -> Array:
        return np.asarray(special.ndtr(special.ndtri(level) / self.factor))

    def _cdf(self, x: Array) -> Array:
        return self._lowered(self.base.cdf(x))[()]

    def _quantile(self, q: Array) -> Array:
        found: Array = self.base.quantile(special.ndtr(self.factor * special.ndtri(q)))
        return found

    def _log_density(self, x: Array) -> Array:
        level, log_prob = self.base.cdf(x), self.base.log_prob(x)
        if self._has_atoms:
            before = np.maximum(level - np.exp(log_prob), 0.0)
            return np.log(self._lowered(level) - self._lowered(before))[()]
        z = special.ndtri(np.clip(level, 1e-300, 1.0 - 1e-16))  # φ(z/c)/(c φ(z)) f
        return (log_prob + 0.5 * (1.0 - self.factor**-2) * z**2 - np.log(self.factor))[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.quantile(rng.random(shape))


def _widened_paths(paths: Array, factor: float, rng: np.random.Generator) -> Array:
    """Return paths (S, H) whose normal levels among all are so many times as far from the median, in their order."""
    count = len(paths)
    order = np.lexsort((rng.random(paths.shape), paths), axis=0)
    levels = special.ndtr(factor * special.ndtri((np.arange(count) + 0.5) / count))
    places = np.minimum((count * levels).astype(np.int64), count - 1)
    made = np.empty_like(paths)
    np.put_along_axis(made, order, np.take_along_axis(paths, order, 0)[places], 0)
    return made
