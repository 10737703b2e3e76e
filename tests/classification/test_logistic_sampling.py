"""Predictive probabilities of approximate posteriors beside those of long Markov chains."""

import numpy as np
import pytest
from scipy.special import expit, log_expit
from sklearn.datasets import load_breast_cancer

from posteriori.classification import BayesianLogisticRegression
from posteriori.datasets import make_two_class_hard

KINDS = ("ep", "laplace", "variational")


def sample_weights(design, sign, precision, prior_mean, proposal, steps, rng):
    """Elliptical slice sampling of logistic weights around a normal distribution (Murray 2010).

    The target is that distribution times the ratio of the posterior to it.
    """
    centre, root = proposal.mean, np.linalg.cholesky(proposal.cov)
    inverse = np.linalg.inv(root)

    def log_ratio(w):
        scaled = inverse @ (w - centre)
        log_prior = -0.5 * precision * np.sum((w - prior_mean) ** 2)
        return log_prior + log_expit(sign * (design @ w)).sum() + 0.5 * scaled @ scaled

    offset, level = np.zeros(len(centre)), log_ratio(centre)
    draws = np.empty((steps, len(centre)))
    for step in range(steps):
        other = root @ rng.normal(size=len(centre))
        height = level + np.log(rng.random())
        angle = rng.uniform(0, 2 * np.pi)
        low, high = angle - 2 * np.pi, angle
        while True:
            there = offset * np.cos(angle) + other * np.sin(angle)
            level = log_ratio(centre + there)
            if level > height:
                break
            low, high = (angle, high) if angle < 0 else (low, angle)
            angle = rng.uniform(low, high)
        offset = there
        draws[step] = centre + offset
    return draws


def hard():
    data = make_two_class_hard(rng=0)
    x1, x2 = np.meshgrid(np.linspace(-1, 9, 25), np.linspace(-2, 8, 25))
    X = np.column_stack([data["x1"], data["x2"]])
    around = np.column_stack([x1.ravel(), x2.ravel()])
    return X, np.asarray(data["y"]).astype(int), np.concatenate([X, around])


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X, y, X


@pytest.mark.slow
@pytest.mark.topic("004/8.10")
@pytest.mark.parametrize(
    ("data", "steps", "near"), [(hard, 20_000, KINDS), (cancer, 100_000, ("ep",))]
)
def test_predictive_probabilities_are_near_those_of_a_long_chain(data, steps, near):
    """Thirty correlated columns skew the posterior: there only one approximation is as near."""
    X, y, new = data()
    fits = {kind: BayesianLogisticRegression(1.0, kind).fit(X, y) for kind in KINDS}
    how = fits["ep"]._standardization
    prior_mean = np.zeros(X.shape[1] + 1)
    prior_mean[0] = np.log(y.mean() / (1 - y.mean()))
    chains = [
        sample_weights(
            how.of(X),
            2.0 * y - 1.0,
            1.0,
            prior_mean,
            fits["ep"]._weights,
            steps,
            np.random.default_rng(seed),
        )[1000:]
        for seed in range(2)
    ]
    means = [expit(how.of(new) @ chain.T).mean(axis=1) for chain in chains]
    assert np.abs(means[0] - means[1]).max() < 4e-3  # the chains are long enough
    truth = 0.5 * (means[0] + means[1])
    error = {kind: np.abs(fit.predict_proba(new)[:, 1] - truth) for kind, fit in fits.items()}
    assert error["ep"].max() < 0.02  # around the data too
    assert error["ep"].mean() == min(e.mean() for e in error.values())
    for kind in near:
        assert error[kind][: len(X)].max() < 0.02
