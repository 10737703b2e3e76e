r"""Latent classes: columns of several kinds that are independent given a class that nobody has seen.

.. math:: p(x) = \sum_k \pi_k \prod_d p_d(x_d\mid\theta_{kd}).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.classes.column_checks import take_columns
from posteriori.inference.classes.column_features import ColumnFeatures, column_features
from posteriori.inference.classes.column_models import KINDS
from posteriori.inference.classes.gaussian_learning import LearnedClasses
from posteriori.inference.mixtures.columns.latent_ascent import (
    IMAGINED,
    LearnedFeatures,
    sum_of_features,
)
from posteriori.inference.mixtures.columns.sound_components import Shrinkable
from posteriori.numerics.types import Array

__all__ = ["ClassModel", "class_model"]


class Part(NamedTuple):
    """Columns of one kind: where they are among all, and where their features are."""

    at: Any
    features: ColumnFeatures
    here: slice
    prior: Any


class ClassModel:
    """Components whose columns are of the kinds of naive Bayes.

    Attributes
    ----------
    parts : dict
        Columns by kind.
    imagined : (F,) or None
        Features of the rows that every component has seen beside its own; None with priors.
    """

    def __init__(self, parts: Mapping[str, Part], imagined: Array | None = None) -> None:
        self.parts = parts
        self.imagined = imagined
        self.size = 1 + sum(part.features.size for part in parts.values())

    @property
    def shrinkable(self) -> Shrinkable:
        """Normal columns without a prior."""
        bounded = self.imagined is None or "normal" not in self.parts
        return Shrinkable([] if bounded else list(self.parts["normal"].at))

    def of(self, x: Array) -> Array:
        """Return t(x) of rows (B, D), a column each: (F, B)."""
        out = np.empty((self.size, len(x)))
        out[0] = 1.0
        for part in self.parts.values():
            part.features.fill(take_columns(x, part.at), out[part.here])
        return out

    def learn(self, sums: Array) -> LearnedFeatures:
        """Return what classes of given sums are like."""
        whole = sums if self.imagined is None else sums + self.imagined
        theta, log_probability, found = np.zeros(sums.shape), 0.0, {}
        for kind, part in self.parts.items():
            statistics = part.features.tally(whole[:, part.here], whole[:, 0])
            learned = KINDS[kind].learn(
                statistics, part.prior, self.imagined is None, range(len(sums))
            )
            offset, theta[:, part.here] = part.features.scores(learned)
            theta[:, 0] += offset
            log_probability += learned.log_probability
            found[kind] = learned
        if self.imagined is not None:
            return LearnedFeatures(theta, float((theta @ self.imagined).sum()), found)
        bonus = log_probability - float((theta * sums).sum())  # −KL = ln Z/Z₀ − ⟨E T, t⟩
        return LearnedFeatures(theta, bonus, found)


def class_model(
    places: Mapping[str, Any],
    x: Array,
    frequency: Array | None,
    priors: Mapping[str, Any],
    integrate: bool,
) -> ClassModel:
    """Return the model of a table, its default priors set by all rows.

    Parameters
    ----------
    places : mapping
        Columns of each kind.
    x : (N, D)
    frequency : (N,) or None
    priors : mapping
        By kind; default ones are added.
    integrate : bool
        Whether parameters have priors, or are the most likely.
    """
    parts, first = {}, 1
    for kind, at in places.items():
        features = column_features(kind, take_columns(x, at), frequency, priors.get(kind))
        here = slice(first, first + features.size)
        parts[kind] = Part(at, features, here, priors.get(kind))
        first = here.stop
    model = ClassModel(parts)
    total = sum_of_features(model, x, frequency)
    if not integrate:
        return ClassModel(parts, IMAGINED * total / total[0])
    together: Mapping[str, LearnedClasses] = model.learn(total[None]).components
    return ClassModel({k: part._replace(prior=together[k].prior) for k, part in parts.items()})
