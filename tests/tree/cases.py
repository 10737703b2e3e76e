"""The table of trees that laws run over, and rows for each."""

from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from posteriori.tree import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor

KINDS = ["number", "number", "categorical"]


class Case(NamedTuple):
    """A tree, the kind of its targets, and whether something is missing in its rows."""

    model: BaseEstimator
    targets: str
    gaps: bool = False


CASES = [
    Case(DecisionTreeClassifier(), "classes"),
    Case(DecisionTreeClassifier("entropy", max_leaves=6, columns=KINDS), "classes", gaps=True),
    Case(DecisionTreeClassifier("error", max_depth=3, min_samples_leaf=4), "two", gaps=True),
    Case(DecisionTreeClassifier(max_bins=6, concentration=2.0, columns=KINDS), "two"),
    Case(DecisionTreeClassifier(max_bins=None, min_gain=0.01), "classes", gaps=True),
    Case(DecisionStump(), "two"),
    Case(DecisionStump("entropy", columns=KINDS), "classes", gaps=True),
    Case(DecisionTreeRegressor(), "numbers"),
    Case(DecisionTreeRegressor(max_leaves=5, columns=KINDS), "numbers", gaps=True),
    Case(DecisionTreeRegressor(max_bins=6, min_samples_leaf=5), "numbers", gaps=True),
    Case(DecisionTreeRegressor(max_bins=None, max_depth=3, min_gain=0.02), "numbers"),
    Case(DecisionTreeRegressor("poisson", max_leaves=7), "counts", gaps=True),
    Case(DecisionTreeRegressor("poisson", max_bins=None, columns=KINDS, max_depth=4), "counts"),
]


def over(cases):
    names = [repr(case.model).replace("\n", "").replace(" ", "") for case in cases]
    return pytest.mark.parametrize("case", cases, ids=names)


def rows_of(case, size=90, seed=0):
    """Return rows of two numbers and a category with five levels, and targets that depend on them."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=(size, 2)), rng.integers(0, 5, size)])
    latent = np.where(x[:, 0] > 0, x[:, 1], -1.0) + np.isin(x[:, 2], [1, 3])
    noisy = latent + 0.4 * rng.normal(size=size)
    targets = {
        "classes": np.array(["high", "low", "mid"])[np.digitize(noisy, [-0.5, 0.7])],
        "two": np.where(noisy > 0, "yes", "no"),
        "numbers": 3.0 + noisy,
        "counts": rng.poisson(np.exp(0.5 + 0.7 * latent)).astype(float),
    }
    if case.gaps:
        x[rng.random(x.shape) < 0.1] = np.nan
    return x, targets[case.targets]


def answers(model, x):
    """Return what a tree says of rows, as numbers."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(x)
    said = model.predict_dist(x)
    return np.column_stack([said.mean, said.variance])
