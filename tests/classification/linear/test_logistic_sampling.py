"""Predictive probabilities of approximate posteriors beside those of long Markov chains."""

import numpy as np
import pytest
from scipy.special import expit, log_expit
from sklearn.datasets import load_breast_cancer

from posteriori.classification import BayesianLogisticRegression
from posteriori.datasets import make_two_class_hard
from tests.classification.oracles import log_joint_on_grid

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


def effective_size(x):
    """Return how many independent draws a chain is worth (Geyer's initial positive sequence)."""
    x = x - x.mean()
    spectrum = np.fft.rfft(x, 2 * len(x))
    lags = np.fft.irfft(spectrum * spectrum.conj())[: len(x)]
    lags /= lags[0]
    pairs = lags[1:-1:2] + lags[2::2][: len(lags[1:-1:2])]
    ends = int(np.argmax(pairs <= 0)) if np.any(pairs <= 0) else len(pairs)
    return len(x) / (1.0 + 2.0 * pairs[:ends].sum())


def test_the_sampler_finds_the_moments_of_quadrature():
    """Two weights: the chain agrees with a grid within five standard errors."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(8, 1)) * 2.0
    y = (rng.random(8) < expit(X[:, 0])).astype(int)
    y[:2] = [0, 1]
    model = BayesianLogisticRegression(0.5, "ep").fit(X, y)
    design, sign = model._standardization.of(X), 2.0 * y - 1.0
    prior_mean = np.array([np.log(y.mean() / (1.0 - y.mean())), 0.0])
    points, log_joint, _ = log_joint_on_grid(design, sign, np.full(2, 0.5), prior_mean, "logistic")
    weight = np.exp(log_joint - log_joint.max())
    weight /= weight.sum()
    draws = sample_weights(design, sign, 0.5, prior_mean, model._weights, 6000, rng)[500:]
    for j in range(2):
        for power in (1, 2, 3):
            f = draws[:, j] ** power
            error = f.std() / np.sqrt(effective_size(f))
            assert abs(f.mean() - weight @ points[:, j] ** power) < 5 * error


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
@pytest.mark.parametrize(("data", "steps"), [(hard, 40_000), (cancer, 150_000)])
def test_predictive_probabilities_are_near_those_of_a_long_chain(data, steps):
    """Within 0.02 of the chain, at every row and around the data; propagation on average nearest."""
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
    sizes = [effective_size(weights) for chain in chains for weights in chain.T]
    assert min(sizes) > 10_000
    means = [expit(how.of(new) @ chain.T).mean(axis=1) for chain in chains]
    assert np.abs(means[0] - means[1]).max() < 4e-3  # the chains are long enough
    truth = 0.5 * (means[0] + means[1])
    error = {kind: np.abs(fit.predict_proba(new)[:, 1] - truth) for kind, fit in fits.items()}
    for kind in KINDS:
        assert error[kind].max() < 0.02
    assert error["ep"].mean() == min(e.mean() for e in error.values())
