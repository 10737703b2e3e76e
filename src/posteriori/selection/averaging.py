r"""Predictions of several models together: Bayesian model averaging, and stacking.

.. math:: p(y_*\mid x_*, D) = \sum_k w_k\,p(y_*\mid x_*, D, m_k)

with :math:`w_k = p(m_k\mid D)`, or with the weights of highest held-out score,
:math:`\max_w \sum_n \ln\sum_k w_k\,p(y_n\mid D_{-n}, m_k)`.

Reference: Y. Yao, A. Vehtari, D. Simpson & A. Gelman, "Using stacking to average Bayesian
predictive distributions", 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from scipy import optimize
from sklearn.base import is_classifier
from sklearn.utils.validation import column_or_1d

from posteriori.estimators.combined_models import MeanOfModels, VotesOfModels
from posteriori.estimators.named_models import NamedModels
from posteriori.estimators.parameters import check_parameters, one_of
from posteriori.numerics.types import Array
from posteriori.selection.held_out import held_out_density
from posteriori.selection.model_set import ModelSet

__all__ = [
    "ClassifierAverage",
    "ModelAverage",
    "average",
    "stacking_weights",
    "weights_of_other_folds",
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
    >>> from posteriori.regression import BayesianLinearRegression
    >>> x = np.linspace(-1, 1, 20)[:, None]
    >>> both = ModelAverage(
    ...     [
    ...         ("line", BayesianLinearRegression()),
    ...         ("level", BayesianLinearRegression(np.inf)),
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


def stacking_weights(log_densities: Any) -> Array:
    """Return the weights on the simplex with the highest held-out log score.

    Parameters
    ----------
    log_densities : (N, K)
        Held-out log predictive density of every row under every model.

    Returns
    -------
    (K,)

    Notes
    -----
    The score is concave; at its maximum the mean of p_k/Σ w p is 1 where w_k > 0, at most 1
    elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> stacking_weights(np.log([[0.9, 0.1], [0.1, 0.9]])).round(6)
    array([0.5, 0.5])
    """
    logs = np.asarray(log_densities, dtype=np.float64)
    if logs.ndim != 2 or not logs.size or np.isnan(logs).any():
        raise ValueError(f"log_densities must be numbers of shape (N, K), got shape {logs.shape}")
    best = logs.max(axis=1, keepdims=True)
    if not np.isfinite(best).all():
        raise ValueError("some row has density 0 (or infinite) under every model")
    p = np.exp(logs - best)
    k = p.shape[1]

    def loss(w: Array) -> tuple[float, Array]:
        mixed = np.maximum(p @ w, 1e-300)
        return -float(np.log(mixed).mean()), -(p / mixed[:, None]).mean(axis=0)

    found = optimize.minimize(  # type: ignore[call-overload]  # its stubs know no dict of options
        loss,
        np.full(k, 1.0 / k),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * k,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    w = np.maximum(found.x, 0.0)
    return w / w.sum()


def weights_of_other_folds(log_densities: Array, splits: Sequence[tuple[Any, Any]]) -> Array:
    """Return for each row the stacking weights that the rows of other folds ask for, (N, K).

    An average that is scored with them has not chosen its weights by the rows that it is scored on.

    Parameters
    ----------
    log_densities : (N, K)
    splits : sequence of pairs of rows
        Those outside each fold, and those in it.
    """
    found = np.empty_like(log_densities)
    for others, rows in splits:
        found[rows] = stacking_weights(log_densities[others])
    return found
