"""Models that are given by name and fitted to the same rows, to predict together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, clone, is_classifier

from posteriori.estimators.combined_models import Member
from posteriori.estimators.contract import Classifies, copy_columns, offers
from posteriori.estimators.weighted_fits import fit_weighted

__all__ = ["NamedModels"]


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
        if not self.models:
            raise ValueError("models is empty: name at least one")
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
