r"""The average of several densities: one more density.

.. math:: p(x) = \sum_k w_k\,p_k(x)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from posteriori.inference.gaps.gap_beliefs import GapBelief, mix_gaps
from posteriori.numerics.logspace import log_sum_exp, softmax
from posteriori.numerics.types import Array

__all__ = ["DensityAverage"]


class DensityAverage(NamedTuple):
    """Fitted densities of the same columns.

    Attributes
    ----------
    models : tuple of estimators
    weights : (K,)
    """

    models: tuple[Any, ...]
    weights: Array

    @classmethod
    def of_fitted(cls, models: Mapping[str, Pipeline], weights: Mapping[str, float]) -> Pipeline:
        """Return the average of pipelines that prepare columns alike, as a pipeline."""
        shares = np.array([weights[name] for name in models])
        encoder = next(iter(models.values()))[0]
        average = cls(tuple(model[-1] for model in models.values()), shares)
        return Pipeline([("columns", encoder), ("model", average)])

    def score_samples(self, x: Array) -> Array:
        """Return ln p of what is seen of rows, (N,)."""
        return log_sum_exp(self._log_joint(x), axis=1)

    def gap_beliefs(self, x: Array) -> tuple[GapBelief, ...]:
        """Return what is believed of the gaps of rows; models count as what is seen of a row says."""
        shares = softmax(self._log_joint(x), axis=1)
        return mix_gaps([model.gap_beliefs(x) for model in self.models], shares)

    def _log_joint(self, x: Array) -> Array:
        logs = [model.score_samples(x) for model in self.models]
        return np.stack(logs, axis=1) + np.log(self.weights)
