"""Calibration by simulation: weights from the prior, data from the weights, posterior ranks uniform."""

import numpy as np
import pytest
from scipy.special import expit, ndtr, softmax
from scipy.stats import norm

from posteriori.classification import BayesianLogisticRegression, ProbitRegression
from posteriori.inference.predictors.softmax_averages import contrasts

ALPHA, ROWS = 1.0, 25

CASES = [
    (BayesianLogisticRegression, "laplace", 2),
    (BayesianLogisticRegression, "variational", 2),
    (BayesianLogisticRegression, "ep", 2),
    (ProbitRegression, "laplace", 2),
    (ProbitRegression, "variational", 2),
    (ProbitRegression, "ep", 2),
    (BayesianLogisticRegression, "laplace", 3),
    (BayesianLogisticRegression, "variational", 3),
    (BayesianLogisticRegression, "ep", 3),
]


def simulate(family, classes, rng):
    """Draw rows, labels of all classes, and probabilities at one more row."""
    while True:
        x = rng.normal(size=(ROWS + 1, 2))
        w = rng.normal(size=(max(1, classes - 1), 2)) / np.sqrt(ALPHA)
        if classes == 2:
            link = ndtr if family is ProbitRegression else expit
            p = link(x @ w[0])
            p = np.column_stack([1.0 - p, p])
        else:
            p = softmax(x @ w.T @ contrasts(classes).T, axis=1)
        y = (rng.random((ROWS, 1)) >= np.cumsum(p[:-1], axis=1)[:, :-1]).sum(axis=1)
        if len(np.unique(y)) == classes:
            return x, y, w, p[-1]


def run(family, kind, classes, repeats, seed):
    """Return uniforms of the weights under their beliefs, predicted and true probabilities."""
    rng = np.random.default_rng(seed)
    uniforms, predicted, true = [], [], []
    for _ in range(repeats):
        x, y, w, p = simulate(family, classes, rng)
        model = family(ALPHA, kind, fit_intercept=False, standardize=False, tol=1e-5)
        belief = model.fit(x[:-1], y)._corrected
        uniforms.append(norm.cdf((w.ravel() - belief.mean) / np.sqrt(np.diagonal(belief.cov))))
        predicted.append(model.predict_proba(x[-1:])[0])
        true.append(p)
    return np.array(uniforms), np.array(predicted), np.array(true)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "kind", "classes"), CASES)
def test_weights_fall_where_the_posterior_expects_them(family, kind, classes):
    """Means ½ and spreads 1/12 of uniforms, coverage of 50 and 90 per cent, within five errors.

    Data with a class missing are drawn again: at 25 rows that is rare enough not to be seen.
    """
    repeats = 500
    uniforms, predicted, true = run(family, kind, classes, repeats, seed=classes)
    for u in uniforms.T:
        assert abs(u.mean() - 0.5) < 5 * np.sqrt(1 / 12 / repeats)
        assert abs(((u - 0.5) ** 2).mean() - 1 / 12) < 5 * np.sqrt(1 / 180 / repeats)
        for cover in (0.5, 0.9):
            inside = np.mean(np.abs(2 * u - 1) < cover)
            assert abs(inside - cover) < 5 * np.sqrt(cover * (1 - cover) / repeats)
    gap = predicted - true  # a posterior mean is right on average, at every level of itself
    error = np.sqrt((gap**2).mean(axis=0) / repeats)
    np.testing.assert_array_less(np.abs(gap.mean(axis=0)), 5 * error)
    slope = (gap * (predicted - predicted.mean(axis=0))).mean(axis=0)
    spread = (gap * (predicted - predicted.mean(axis=0))).std(axis=0) / np.sqrt(repeats)
    np.testing.assert_array_less(np.abs(slope), 5 * spread)


@pytest.mark.slow
def test_a_posterior_that_is_too_narrow_is_seen():
    """The augmented bound, whose covariance is too small, misses its 90 per cent by five errors."""
    uniforms, _, _ = run(BayesianLogisticRegression, "polya-gamma", 2, 1000, seed=0)
    outside = np.abs(2 * uniforms - 1) > 0.9
    assert outside.mean() > 0.1 + 5 * np.sqrt(0.1 * 0.9 / outside.size)
