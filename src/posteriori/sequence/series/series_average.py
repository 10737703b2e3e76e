"""Several models of one series together, each with its share: a mixture of their forecasts."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from posteriori.distributions.composites.predictive_mixture import PredictiveMixture
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["SeriesAverage"]


class SeriesAverage:
    """A weighted average of fitted models of one series.

    Parameters
    ----------
    models : dict from name to fitted model
    weights : dict from name to float
        They sum to 1.
    """

    def __init__(self, models: dict[str, Any], weights: dict[str, float]) -> None:
        self.models = models
        self.weights = weights

    def forecast(self, horizon: int | None = None, *, time: Any = None, inputs: Any = None) -> Any:
        """Return the mixture of all forecasts, a batch."""
        made = [m.forecast(horizon, time=time, inputs=inputs) for m in self.models.values()]
        return PredictiveMixture(self._shares, made)

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
        return np.concatenate(parts)

    @property
    def _shares(self) -> Array:
        return np.array([self.weights[name] for name in self.models])
