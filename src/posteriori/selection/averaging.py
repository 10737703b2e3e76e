r"""Predictions of several models together: Bayesian model averaging, and stacking.

.. math:: p(y_*\mid x_*, D) = \sum_k w_k\,p(y_*\mid x_*, D, m_k)

with :math:`w_k = p(m_k\mid D)`, or with the weights of highest held-out score
(:mod:`posteriori.selection.stacking`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import column_or_1d

from posteriori.estimators.combined_models import MeanOfModels, NamedModels, VotesOfModels
from posteriori.estimators.parameters import check_parameters, one_of
from posteriori.selection.held_out import held_out_density
from posteriori.selection.model_set import ModelSet
from posteriori.selection.stacking import stacking_weights

__all__ = [
    "ClassifierAverage",
    "ModelAverage",
    "average",
]


class _Average(NamedModels):
    """Several models, each weighted by what the data say."""

    _constraints = {"weights": one_of("evidence", "stacking")}
    _remedy = "average classifiers by ClassifierAverage, regressions by ModelAverage"

    def __init__(
        self,
        models: list[tuple[str, Any]],
        *,
        weights: str = "evidence",
        prior: Mapping[str, float] | None = None,
    ) -> None:
        self.models = models
        self.weights = weights
        self.prior = prior

    def fit(self, X: Any, y: Any) -> Self:
        """Fit every model and weigh them.

        Parameters
        ----------
        X : (N, D)
        y : (N,)
        """
        check_parameters(self)
        y = column_or_1d(y, warn=True) if is_classifier(self) else y
        models = self._fit_models(X, y)
        if self.weights == "evidence":
            return self._keep(models, ModelSet(models, self.prior).probabilities)
        held = [held_out_density(m, X, y).pointwise for m in models.values()]
        found = stacking_weights(np.stack(held, axis=1))
        return self._keep(models, dict(zip(models, found.tolist(), strict=True)))

    @classmethod
    def of_fitted(cls, models: Mapping[str, Any], weights: Mapping[str, float]) -> Self:
        """Return the average of models that are fitted already, with weights that sum to 1."""
        shares = {name: float(weights[name]) for name in models}
        return cls([], weights="stacking")._keep(dict(models), shares)


class ModelAverage(_Average, MeanOfModels):
    """Regression that predicts with several models, each weighted by what the data say.

    Parameters
    ----------
    models : list of (name, estimator)
    weights : {"evidence", "stacking"}
        Posterior probabilities of the models, or weights of highest held-out log score.
    prior : mapping of names to numbers, optional
        Prior probabilities of the models, for "evidence"; equal by default.

    Attributes
    ----------
    models_ : dict of names to fitted estimators
    weights_ : dict of names to numbers
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from posteriori.regression import BayesianLinearRegressor
    >>> x = np.linspace(-1, 1, 20)[:, None]
    >>> both = ModelAverage(
    ...     [
    ...         ("line", BayesianLinearRegressor()),
    ...         ("level", BayesianLinearRegressor(np.inf)),
    ...     ]
    ... ).fit(x, 0.3 * x[:, 0] + np.cos(9.0 * x[:, 0]))
    >>> sorted(both.weights_)
    ['level', 'line']
    """


class ClassifierAverage(_Average, VotesOfModels):
    """Classifier that predicts with several models, each weighted by what the data say.

    Evidences of the labels given the inputs and of both together do not compare: for a mixture of
    such models take ``weights="stacking"``.

    Parameters
    ----------
    models : list of (name, classifier)
    weights, prior
        As of :class:`ModelAverage`.

    Attributes
    ----------
    models_ : dict of names to fitted classifiers
    weights_ : dict of names to numbers
    classes_ : array (K,)
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from posteriori.classification import BayesianLogisticRegression
    >>> x = np.linspace(-1, 1, 20)[:, None]
    >>> both = ClassifierAverage(
    ...     [
    ...         ("loose", BayesianLogisticRegression(0.1)),
    ...         ("tight", BayesianLogisticRegression(10.0)),
    ...     ]
    ... ).fit(x, x[:, 0] > 0.1)
    >>> both.predict([[-1.0], [1.0]])
    array([False,  True])
    """


def average(
    models: Mapping[str, Any], X: Any, y: Any, *, weights: str = "evidence", prior: Any = None
) -> ModelAverage | ClassifierAverage:
    """Fit models and average their predictions.

    Parameters
    ----------
    models : mapping of names to estimators
        All regressions, or all classifiers.
    X, y : array_like
    weights, prior
        As in :class:`ModelAverage`.

    Returns
    -------
    ModelAverage or ClassifierAverage
        Fitted.
    """
    named = list(models.items())
    kind = ClassifierAverage if any(map(is_classifier, models.values())) else ModelAverage
    return kind(named, weights=weights, prior=prior).fit(X, y)
