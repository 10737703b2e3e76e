r"""The average of all candidates: one more model, weighted by what each says of unseen rows.

.. math:: p(y_n) = \sum_k w_k\,p(y_n\mid D_{-f(n)}, m_k)

with the weights of highest held-out density, of all models or, where the folds say so, only of those
near the best. The average is scored fold by fold with weights that the other folds have chosen; the one
that is kept has the weights of all rows. The number that it
predicts is the mean of the mixture, or its median where the loss asks for that, in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.analysis.fitting.running import Outcome
from posteriori.distributions.composites.predictive_mixture import PredictiveMixture
from posteriori.numerics.types import Array
from posteriori.selection.candidates import Candidate
from posteriori.selection.cross_validation import Unseen
from posteriori.selection.stacking import (
    Splits,
    log_mixed,
    weights_by_folds,
    weights_of_other_folds,
)

__all__ = ["AVERAGE", "average_outcome"]

#: The name of the average among the models.
AVERAGE = "average"

#: Models of a smaller share are left out: they cost time and change no prediction that matters.
_LEAST_SHARE = 0.01


def average_outcome(
    outcomes: Mapping[str, Outcome], splits: Splits, task: str, kind: type[Any]
) -> tuple[Outcome, dict[str, float]] | None:
    """Return the average as one more outcome, and the weights of its members.

    None where fewer than two models say something of every row.

    Parameters
    ----------
    outcomes : mapping from name to Outcome
    splits : sequence of pairs of rows
    task : str
    kind : class
        Whose ``of_fitted(models, weights)`` makes one model of several.
    """
    members = {name: o for name, o in outcomes.items() if o.unseen is not None}
    if len(members) < 2:
        return None
    logs = np.stack([_unseen(o).log_density for o in members.values()], axis=1)
    if not np.isfinite(logs.max(axis=1)).all():
        return None
    kept = _without_small(weights_by_folds(logs, splits)[None])[0]
    weights = dict(zip(members, kept.tolist(), strict=True))
    fitted = {name: members[name].model for name, share in weights.items() if share > 0.0}
    shares = _without_small(weights_of_other_folds(logs, splits))
    candidate = Candidate(
        AVERAGE,
        task,
        f"{kind.__module__}.{kind.__name__}",
        prior="those of its members",
        title="average of the models",
    )
    outcome = Outcome(
        candidate,
        model=kind.of_fitted(fitted, weights),
        unseen=_mixed([_unseen(o) for o in members.values()], logs, shares),
        seconds=sum(o.seconds for o in members.values()),
    )
    return outcome, weights


def _unseen(outcome: Outcome) -> Unseen:
    assert outcome.unseen is not None
    return outcome.unseen


def _without_small(shares: Array) -> Array:
    """Return weights (N, K) without the smallest, summing to 1 again."""
    kept = np.where(shares < _LEAST_SHARE, 0.0, shares)
    return kept / kept.sum(axis=1, keepdims=True)


def _mixed(parts: list[Unseen], logs: Array, shares: Array) -> Unseen:
    """Return what the average says: of densities and levels the weighted means."""
    levels = np.stack([part.level for part in parts], axis=1)
    points = _medians(parts, shares) if parts[0].predictive else _means(parts, shares)
    return Unseen(log_mixed(logs, shares), points, (shares * levels).sum(axis=1))


def _means(parts: list[Unseen], shares: Array) -> Array:
    """Return weighted means of what members predict, (N,) or (N, classes)."""
    predictions = np.stack([part.prediction for part in parts])
    return np.einsum("nk,kn...->n...", shares, predictions)


def _medians(parts: list[Unseen], shares: Array) -> Array:
    """Return medians of the mixtures, (N,); rows that were predicted together have the same weights."""
    found = np.empty(len(shares))
    for members in zip(*(part.predictive for part in parts), strict=True):
        rows = members[0][0]
        weights = shares[rows[0]]
        kept = np.flatnonzero(weights)
        mixture = PredictiveMixture(weights[kept], [members[k][1] for k in kept])
        found[rows] = mixture.median
    return found
