"""On public tables, the winner predicts about as well as the best scikit-learn model of its class.

The same rows, the same folds; scikit-learn's models are given every advantage of hindsight: the one
with the best held-out score is taken, and their penalties are chosen by cross-validation within the
training rows. Classes are scored by log loss, numbers by squared error.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    RidgeCV,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

from posteriori.analysis import Analysis, compare

PENALTIES = np.logspace(-3, 3, 13)


class Losses(NamedTuple):
    """Loss of every held-out row: of the analysis' winner, and of scikit-learn's best."""

    winner: str
    ours: Any
    peer: str
    theirs: Any

    @property
    def excess(self) -> float:
        """How much larger our mean loss is, in standard errors of the peer's mean loss."""
        error = self.theirs.std(ddof=1) / np.sqrt(len(self.theirs))
        return float((self.ours.mean() - self.theirs.mean()) / error)


def regressors(y: Any) -> dict[str, Any]:
    models: dict[str, Any] = {
        "least squares": make_pipeline(StandardScaler(), LinearRegression()),
        "ridge": make_pipeline(StandardScaler(), RidgeCV(PENALTIES)),
        "BayesianRidge": make_pipeline(StandardScaler(), BayesianRidge()),
        "ARD": make_pipeline(StandardScaler(), ARDRegression()),
        "Huber": make_pipeline(StandardScaler(), HuberRegressor(max_iter=2000)),
        "splines": make_pipeline(StandardScaler(), SplineTransformer(5), RidgeCV(PENALTIES)),
        "quadratic": make_pipeline(StandardScaler(), PolynomialFeatures(2), RidgeCV(PENALTIES)),
    }
    if (y > 0).all():
        models["log-linear"] = TransformedTargetRegressor(
            models["ridge"], func=np.log, inverse_func=np.exp
        )
    if (y >= 0).all():
        models["Poisson"] = make_pipeline(StandardScaler(), PoissonRegressor(alpha=1e-3))
    return models


def classifiers(classes: int) -> dict[str, Any]:
    chosen = LogisticRegressionCV(
        Cs=np.logspace(-2, 3, 6),
        cv=4,
        scoring="neg_log_loss",
        max_iter=2000,
        l1_ratios=(0.0,),
        use_legacy_attributes=False,
    )
    models: dict[str, Any] = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "logistic splines": make_pipeline(
            StandardScaler(), SplineTransformer(5), LogisticRegression(max_iter=2000)
        ),
        "LDA": LinearDiscriminantAnalysis(),
        "LDA (shrunk)": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "QDA": make_pipeline(StandardScaler(), QuadraticDiscriminantAnalysis(reg_param=0.1)),
        "naive Bayes": make_pipeline(StandardScaler(), GaussianNB()),
        "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
    }
    if classes < 5:  # slow beyond
        models["logistic (chosen penalty)"] = make_pipeline(StandardScaler(), chosen)
        models["logistic splines (chosen penalty)"] = make_pipeline(
            StandardScaler(), SplineTransformer(5), chosen
        )
    return models


def bundled(name: str) -> Callable[[], tuple[Any, Any]]:
    return lambda: getattr(datasets, f"load_{name}")(return_X_y=True)


def generated(name: str, n: int, **options: Any) -> Callable[[], tuple[Any, Any]]:
    return lambda: getattr(datasets, f"make_{name}")(n, random_state=0, **options)


def linnerud_waist() -> tuple[Any, Any]:
    exercise, body = datasets.load_linnerud(return_X_y=True)
    return exercise, body[:, 1]


TABLES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "diabetes": bundled("diabetes"),
    "linnerud": linnerud_waist,
    "friedman1": generated("friedman1", 400, noise=1.0),
    "friedman2": generated("friedman2", 400, noise=50.0),
    "friedman3": generated("friedman3", 400, noise=0.1),
    "sparse": generated("sparse_uncorrelated", 200, n_features=30),
    "linear": generated("regression", 200, n_features=20, n_informative=5, noise=20.0),
    "iris": bundled("iris"),
    "wine": bundled("wine"),
    "breast_cancer": bundled("breast_cancer"),
    "digits": bundled("digits"),
    "moons": generated("moons", 400, noise=0.25),
    "circles": generated("circles", 400, noise=0.1, factor=0.5),
    "classification": generated("classification", 400, n_features=10, n_informative=4),
    "hastie": generated("hastie_10_2", 800),
}


def compare_losses(name: str) -> Losses:
    X, y = TABLES[name]()
    table = pd.DataFrame(np.asarray(X, float), columns=[f"x{k}" for k in range(X.shape[1])])
    analysis = compare(table.assign(target=y), "target")
    peers = regressors(y) if analysis.target.task == "regression" else classifiers(len(set(y)))
    losses = {peer: losses_of(model, analysis) for peer, model in peers.items()}
    peer = min(losses, key=lambda key: losses[key].mean())
    winner = analysis.ranking.best
    return Losses(winner, winner_losses(analysis, winner), peer, losses[peer])


def winner_losses(analysis: Analysis, name: str) -> Any:
    unseen = analysis.outcomes[name].unseen
    assert unseen is not None
    if analysis.target.task == "regression":
        return (analysis.problem.y - unseen.prediction) ** 2
    return -unseen.log_density


def losses_of(model: Any, analysis: Analysis) -> Any:
    """Losses of a scikit-learn model on the rows that each fold of the analysis leaves out."""
    X, y = analysis.problem.X.to_numpy(), analysis.problem.y
    kept = np.flatnonzero(X.std(axis=0) > 0)
    losses = np.empty(len(y))
    for train, rows in analysis.problem.splits:
        fitted = clone(model).fit(X[train][:, kept], y[train])
        if analysis.target.task == "regression":
            losses[rows] = (y[rows] - fitted.predict(X[rows][:, kept])) ** 2
        else:
            p = fitted.predict_proba(X[rows][:, kept])
            chosen = p[np.arange(len(rows)), np.searchsorted(fitted.classes_, y[rows])]
            losses[rows] = -np.log(np.maximum(chosen, 1e-15))  # as scikit-learn's log_loss
    return losses


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # scikit-learn's, of constant columns and stopped solvers
@pytest.mark.parametrize("name", TABLES)
def test_winner_is_within_one_standard_error_of_the_best_scikit_learn_model(name: str) -> None:
    losses = compare_losses(name)
    assert losses.excess <= 1.0, (
        f"{losses.winner} {losses.ours.mean():.4f}, scikit-learn's {losses.peer} "
        f"{losses.theirs.mean():.4f}"
    )
