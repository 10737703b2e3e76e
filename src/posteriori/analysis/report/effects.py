"""What the best model has learned of each input: weights with intervals, or loss when shuffled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.fitting.running import Problem
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimators.contract import (
    DrawsWeights,
    HasPosterior,
    offers,
    predictive_of,
)
from posteriori.numerics.types import Array

__all__ = ["Effects", "column_importance", "weight_effects"]

#: Draws of weights from which intervals of 90 % are read.
_DRAWS = 2_000

#: Rows that are predicted again for every shuffle.
_MOST_ROWS = 2_000

#: Shuffles of each column: their mean and range are shown.
_REPEATS = 3


class Effects(NamedTuple):
    """Numbers with intervals, one for each input.

    Attributes
    ----------
    names : list of str
    mean, low, high : (D,)
        Posterior mean and 90% interval.
    """

    names: list[str]
    mean: Array
    low: Array
    high: Array


def weight_effects(pipeline: Any) -> Effects | None:
    """Return the weights of a linear model, largest first; None if the model has no such weights."""
    final = pipeline[-1]
    names = [str(name) for name in pipeline[0].get_feature_names_out()]
    if offers(final, DrawsWeights):
        mean, draws = np.asarray(final.coef_), final.sample_weights(_DRAWS, rng=0)[:, : len(names)]
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)
        return _largest_first(Effects(names, mean, low, high))
    posterior = final.posterior_ if offers(final, HasPosterior) else None
    if not isinstance(posterior, MvNormal) or posterior.mean.ndim != 1:
        return None
    if len(posterior.mean) not in (len(names), len(names) + 1):
        return None  # several classes: a set of weights for each
    mean = np.asarray(posterior.mean)[: len(names)]
    half = 1.6449 * np.asarray(posterior.std)[: len(names)]
    return _largest_first(Effects(names, mean, mean - half, mean + half))


def column_importance(pipeline: Any, problem: Problem, seed: int) -> Effects:
    """Return how much log predictive density per row is lost when a column is shuffled.

    The mean of three shuffles of up to 2,000 rows, with their range.
    """
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(problem.y))[:_MOST_ROWS]
    X, y = problem.X.iloc[rows].reset_index(drop=True), problem.y[rows]
    full = _score(pipeline, X, y, problem.classes)
    losses = {
        name: [
            full - _score(pipeline, _shuffled(X, name, rng), y, problem.classes)
            for _ in range(_REPEATS)
        ]
        for name in X
    }
    table = np.array(list(losses.values()))
    return _largest_first(
        Effects([str(n) for n in losses], table.mean(1), table.min(1), table.max(1))
    )


def _shuffled(X: pd.DataFrame, name: Any, rng: np.random.Generator) -> pd.DataFrame:
    mixed = X[name].iloc[rng.permutation(len(X))]  # a category stays one
    return X.assign(**{name: mixed.set_axis(X.index)})


def _score(pipeline: Any, X: pd.DataFrame, y: Any, classes: Any) -> float:
    if classes is None:
        return float(np.mean(predictive_of(pipeline, X).log_prob(y)))
    p = np.asarray(pipeline.predict_proba(X))
    chosen = p[np.arange(len(y)), np.searchsorted(pipeline.classes_, y)]
    return float(np.mean(np.log(np.maximum(chosen, 1e-300))))


def _largest_first(effects: Effects) -> Effects:
    order = np.argsort(-np.abs(effects.mean), kind="stable")
    return Effects(
        [effects.names[k] for k in order],
        effects.mean[order],
        effects.low[order],
        effects.high[order],
    )
