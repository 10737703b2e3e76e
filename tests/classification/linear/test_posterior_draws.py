"""Draws of the weights of linear classifiers: what they say of the rows, and of new labels."""

import numpy as np
import pytest
from scipy.special import log_ndtr, log_softmax
from sklearn.base import clone

from posteriori.classification import BayesianLogisticRegression, ProbitRegression
from tests.classification.oracles import overlapping

MODELS = [
    (BayesianLogisticRegression(0.5), 2),
    (BayesianLogisticRegression(0.5, "variational"), 2),
    (BayesianLogisticRegression(0.5, "ep", fit_intercept=False), 2),
    (BayesianLogisticRegression(0.5), 3),
    (BayesianLogisticRegression(1.0, "ep"), 3),
    (ProbitRegression(0.5), 2),
    (ProbitRegression(0.5, "ep"), 2),
]


def fitted(estimator, classes, names=("a", "b", "c")):
    X, codes = overlapping(40, classes, seed=5)
    y = np.array(names)[codes]
    return clone(estimator).fit(X, y), X, y, codes


def raw_draws(model, size, seed):
    """Return weights of the raw columns and intercepts from the stated posterior, one row a draw."""
    k = len(model.coef_)
    points = model.corrected_posterior_.sample(size, rng=seed).reshape(size, k, -1)
    d = model.coef_.shape[1]
    intercept = points[:, :, d] if model.fit_intercept else np.zeros((size, k))
    return points[:, :, :d], intercept


@pytest.mark.parametrize(("estimator", "classes"), MODELS)
def test_log_likelihoods_are_those_of_the_stated_posterior(estimator, classes):
    """Means and spreads over two independent sets of draws agree within Monte-Carlo errors."""
    model, X, y, codes = fitted(estimator, classes)
    size = 4000
    found = model.log_likelihood_draws(X, y, size, rng=0)
    assert found.shape == (size, 40)
    weights, intercept = raw_draws(model, size, 1)
    eta = np.einsum("skd,nd->snk", weights, X) + intercept[:, None, :]
    if isinstance(model, ProbitRegression):
        expected = log_ndtr(np.where(codes == 1, 1.0, -1.0) * eta[..., 0])
    else:
        eta = np.concatenate([np.zeros_like(eta), eta], axis=2) if classes == 2 else eta
        expected = np.take_along_axis(log_softmax(eta, axis=2), codes[None, :, None], 2)[..., 0]
    for moment in (lambda a: a, lambda a: (a - expected.mean(axis=0)) ** 2):
        one, other = moment(found), moment(expected)
        error = np.sqrt((one.var(axis=0) + other.var(axis=0)) / size)
        np.testing.assert_array_less(np.abs(one.mean(axis=0) - other.mean(axis=0)), 5 * error)


@pytest.mark.parametrize(("estimator", "classes"), MODELS)
def test_new_labels_come_as_often_as_predicted(estimator, classes):
    model, X, _, _ = fitted(estimator, classes)
    size = 4000
    labels = model.sample_targets(X, size, rng=3)
    assert labels.shape == (size, 40)
    assert set(np.unique(labels)) == set(model.classes_)
    weights = model.log_likelihood_draws  # the same belief: E p(y | w) is the probability of y
    for label in model.classes_:
        log_p = weights(X, np.full(40, label), size, rng=4)
        share = (labels == label).mean(axis=0)
        p = np.exp(log_p).mean(axis=0)
        np.testing.assert_allclose(share, p, atol=5 * np.sqrt(0.5 / size))


def test_draws_of_one_seed_are_the_same_for_parts_of_the_rows():
    model, X, y, _ = fitted(*MODELS[4])
    whole = model.log_likelihood_draws(X, y, 50, rng=7)
    part = model.log_likelihood_draws(X[10:20], y[10:20], 50, rng=7)
    np.testing.assert_allclose(part, whole[:, 10:20], rtol=1e-12)


def test_labels_of_one_draw_share_their_weights():
    """Far out the predictors of all rows have one sign per draw: labels agree within draws."""
    model = BayesianLogisticRegression(1.0, fit_intercept=False).fit(
        [[1.0], [-1.0]] * 3, [0, 1] * 3
    )
    far = np.full((30, 1), 500.0)
    shares = (model.sample_targets(far, 400, rng=0) == 1).mean(axis=1)
    assert np.mean((shares < 0.1) | (shares > 0.9)) > 0.95


def test_unseen_labels_are_named():
    model, X, _, _ = fitted(*MODELS[0])
    with pytest.raises(ValueError, match=r"y holds 'z', which is none of the classes .* 'a', 'b'"):
        model.log_likelihood_draws(X[:2], ["a", "z"], 10)
