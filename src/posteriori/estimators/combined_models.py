r"""Several fitted models that predict together: means of numbers, and votes for classes.

.. math:: p(y\mid x) = \sum_k w_k\,p_k(y\mid x)\Big/\sum_k w_k

What is averaged are predictive distributions, so means of numbers and probabilities of classes; or
every model has w_k votes for the class that it would choose.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import RegressorMixin, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.composites.predictive_mixture import PredictiveMixture
from posteriori.distributions.counts.categorical import Categorical
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.class_probabilities import ClassProbabilities, spread_over_classes
from posteriori.estimators.contract import (
    Classifies,
    copy_columns,
    offers,
    predictive_of,
    states_distributions,
)
from posteriori.estimators.parameters import require_estimator
from posteriori.estimators.weighted_fits import fit_weighted
from posteriori.numerics.types import Array

__all__ = ["Member", "MeanOfModels", "NamedModels", "VotesOfModels", "votes_of"]


class Member(NamedTuple):
    """One of several models, as it is asked to predict.

    Attributes
    ----------
    weight : float
        w_k ≥ 0; only their ratios count in what is predicted.
    model : fitted estimator
    inputs : (N, D)
        What it predicts from.
    seen : float
        How many rows it has learned from; infinitely many if it has seen every class.
    """

    weight: float
    model: Any
    inputs: Any
    seen: float = float("inf")


class MeanOfModels(RegressorMixin, BaseEstimator):
    """Regression that predicts with several models."""

    @abstractmethod
    def _members(self, X: Any) -> Sequence[Member]:
        """Return the fitted models with what each sees of X."""

    @abstractmethod
    def _models(self) -> Iterable[Any]:
        """Return the models, fitted or not."""

    def predict(self, X: Any) -> Array:
        """Return the expected targets (N,)."""
        check_is_fitted(self)
        members = self._members(X)
        shares = _shares(members)
        return sum(
            w * np.asarray(m.model.predict(m.inputs)) for w, m in zip(shares, members, strict=True)
        )

    @available_if(lambda self: all(map(states_distributions, self._models())))
    def predict_dist(self, X: Any) -> PredictiveMixture:
        """Return the distribution of each row's target, a mixture of the models' own."""
        check_is_fitted(self)
        members = self._members(X)
        return PredictiveMixture(
            _shares(members), [predictive_of(m.model, m.inputs) for m in members]
        )


def _shares(members: Sequence[Member]) -> Array:
    weights = np.array([member.weight for member in members])
    return weights / weights.sum()


def _averages_probabilities(estimator: VotesOfModels) -> bool:
    return estimator.vote == "probabilities"


def _counts_votes(estimator: VotesOfModels) -> bool:
    return estimator.vote == "majority"


def _require_named(models: Any) -> None:
    """Refuse what is no list of names and estimators."""
    if not (isinstance(models, (list, tuple)) and all(map(_is_named, models))):
        raise TypeError(f"models must be a list of (name, estimator), got {models!r}")
    if not models:
        raise ValueError("models is empty: name at least one")
    for name, model in models:
        require_estimator(f"models[{name!r}]", model)


def _is_named(one: Any) -> bool:
    return isinstance(one, (list, tuple)) and len(one) == 2 and isinstance(one[0], str)


class VotesOfModels(ClassProbabilities):
    """Classifier that predicts with several models.

    Probabilities are averaged, or, with ``vote="majority"``, votes are counted; shares of votes are
    no probabilities and are not offered as such.
    """

    vote: str = "probabilities"

    @abstractmethod
    def _members(self, X: Any) -> Sequence[Member]:
        """Return the fitted models with what each sees of X."""

    @available_if(_averages_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes (N, K), those of the models averaged."""
        votes, total = self._count(X)
        return votes / total

    @available_if(_averages_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Return the log probabilities of the classes, (N, K)."""
        return super().predict_log_proba(X)

    @available_if(_averages_probabilities)
    def predict_dist(self, X: Any) -> Categorical:
        """Return the distribution of each row's label, a batch."""
        return super().predict_dist(X)

    @available_if(_counts_votes)
    def decision_function(self, X: Any) -> Array:
        r"""Return the votes for each class (N, K); of two :math:`\sum_k w_k h_k(x)`, (N,), h = ±1."""
        votes, _ = self._count(X)
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def predict(self, X: Any) -> Any:
        """Return the class with most votes, or the most probable one; the first of equals."""
        votes, _ = self._count(X)
        return self.classes_[votes.argmax(axis=1)]

    def _count(self, X: Any) -> tuple[Array, float]:
        """Return Σ w_k v_k, (N, K), and Σ w_k."""
        check_is_fitted(self)
        members = self._members(X)
        votes = sum(m.weight * votes_of(m, self.classes_, self.vote) for m in members)
        return np.asarray(votes), sum(m.weight for m in members)


def votes_of(member: Member, classes: Any, vote: str) -> Array:
    """Return what a model says of all classes (N, K): probabilities, or 1 for the one it chooses.

    Parameters
    ----------
    member : Member
    classes : (K,)
        All labels, sorted.
    vote : {"probabilities", "majority"}
    """
    if vote == "probabilities":
        return spread_over_classes(member.model, member.inputs, classes, member.seen)
    chosen = np.searchsorted(classes, np.asarray(member.model.predict(member.inputs)))
    return np.eye(len(classes))[chosen]


class NamedModels(BaseEstimator):
    """Several models by name, each with a weight.

    Attributes
    ----------
    models : list of (name, estimator)
    models_ : dict of names to fitted estimators
    weights_ : dict of names to numbers
    classes_ : (K,)
        Of classifiers.
    """

    models: list[tuple[str, Any]]
    models_: dict[str, Any]
    weights_: dict[str, float]
    classes_: Any

    #: What to take for regressions and for classifiers.
    _remedy: ClassVar[str]

    def _fit_models(self, X: Any, y: Any, frequency: Any = None) -> dict[str, Any]:
        """Return the models, fitted; all regressions or all classifiers, as this estimator is."""
        _require_named(self.models)
        for name, model in self.models:
            if is_classifier(model) != is_classifier(self):
                what = "classifier" if is_classifier(model) else "regression"
                raise TypeError(f"{name} is a {what}: {self._remedy}")
        models = {name: fit_weighted(clone(m), X, y, frequency) for name, m in self.models}
        copy_columns(next(iter(models.values())), self)
        return models

    def _keep(self, models: dict[str, Any], weights: dict[str, float]) -> Self:
        """Keep fitted models and their weights."""
        self.models_, self.weights_ = models, weights
        first = next(iter(models.values()))
        if offers(first, Classifies):
            self.classes_ = first.classes_
        return self

    def _members(self, X: Any) -> list[Member]:
        return [Member(w, self.models_[name], X) for name, w in self.weights_.items()]

    def _models(self) -> Iterable[Any]:
        fitted = getattr(self, "models_", None)
        return [model for _, model in self.models] if fitted is None else fitted.values()
