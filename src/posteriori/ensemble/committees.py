r"""Committees: given models that predict together, with given weights.

.. math:: \hat y(x) = \sum_l w_l\,\hat y_l(x)\Big/\sum_l w_l,\qquad
          f(x) = \sum_l w_l\,h_l(x),\quad h_l(x) = \pm1

Weights that the data choose are those of :class:`posteriori.selection.ModelAverage`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import column_or_1d

from posteriori.estimators.combined_models import MeanOfModels, NamedModels, VotesOfModels
from posteriori.estimators.parameters import Constraint, check_parameters, one_of
from posteriori.estimators.weighted_fits import check_frequency
from posteriori.numerics.types import Array
from posteriori.numerics.validation import nonnegative

__all__ = ["CommitteeClassifier", "CommitteeRegressor"]


class _Committee(NamedModels):
    """Given models with given weights."""

    weights: Any
    _constraints: ClassVar[Mapping[str, Constraint]] = {}
    _remedy = "committees of classifiers are CommitteeClassifier, of regressions CommitteeRegressor"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit every model to all rows.

        Parameters
        ----------
        X : (N, D)
        y : (N,)
        sample_weight : (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out. Models that take no weights see
            repeated rows, which needs whole numbers.
        """
        check_parameters(self)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        X = X if hasattr(X, "shape") else np.asarray(X)
        frequency = None
        if sample_weight is not None:
            frequency = check_frequency(sample_weight, X)
        models = self._fit_models(X, column_or_1d(y, warn=True), frequency)
        weights = _check_weights(self.weights, len(models))
        return self._keep(models, dict(zip(models, weights.tolist(), strict=True)))


def _check_weights(weights: Any, count: int) -> Array:
    if weights is None:
        return np.ones(count)
    w = np.asarray(nonnegative("weights", weights))
    if w.shape != (count,) or not w.any():
        raise ValueError(
            f"weights must hold a number for each of {count} models, not all 0; got {weights!r}"
        )
    return w


class CommitteeRegressor(_Committee, MeanOfModels):
    """Regression that predicts the mean of given models.

    Parameters
    ----------
    models : list of (name, estimator)
    weights : (L,), optional
        At least 0; only their ratios count. Equal by default.

    Attributes
    ----------
    models_ : dict of names to fitted estimators
    weights_ : dict of names to numbers
    n_features_in_, feature_names_in_

    Notes
    -----
    ``predict_dist``, a mixture, is there where all models have a predictive distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from posteriori.regression import BayesianLinearRegressor, RobustRegressor
    >>> x = np.linspace(-1, 1, 20)[:, None]
    >>> line = ("line", BayesianLinearRegressor())
    >>> both = CommitteeRegressor([line, ("robust", RobustRegressor())]).fit(x, 2.0 * x[:, 0])
    >>> both.predict([[0.5]]).round(1)
    array([1.])
    """

    def __init__(self, models: list[tuple[str, Any]], *, weights: Any = None) -> None:
        self.models = models
        self.weights = weights


class CommitteeClassifier(_Committee, VotesOfModels):
    """Classifier that averages the probabilities of given models, or lets them vote.

    Parameters
    ----------
    models : list of (name, classifier)
    weights : (L,), optional
        At least 0; equal by default.
    vote : {"probabilities", "majority"}
        Whether probabilities of classes are averaged, or every model votes for the class that it would
        choose. The first offers ``predict_proba``, the second ``decision_function``: of two classes
        f(x) = Σ w h(x) with h = ±1.

    Attributes
    ----------
    models_ : dict of names to fitted classifiers
    weights_ : dict of names to numbers
    classes_ : (K,)
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from posteriori.classification import GaussianDiscriminant, KNeighborsClassifier, Perceptron
    >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> models = [("near", KNeighborsClassifier(1)), ("normal", GaussianDiscriminant())]
    >>> CommitteeClassifier(models).fit(x, x[:, 0] > 0).predict_proba([[2.0]]).round(2)
    array([[0.17, 0.83]])
    >>> models += [("line", Perceptron(random_state=0))]  # it has no probabilities
    >>> three = CommitteeClassifier(models, weights=[1, 1, 3], vote="majority")
    >>> three.fit(x, x[:, 0] > 0).decision_function([[-1.5], [1.5]])  # all of one opinion
    array([-5.,  5.])
    """

    _constraints = {"vote": one_of("probabilities", "majority")}

    def __init__(
        self, models: list[tuple[str, Any]], *, weights: Any = None, vote: str = "probabilities"
    ) -> None:
        self.models = models
        self.weights = weights
        self.vote = vote
