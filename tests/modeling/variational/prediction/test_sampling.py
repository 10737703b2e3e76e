"""Draws, modes and joint beliefs of variational posteriors."""

import itertools

import numpy as np
import pytest

from posteriori import Categorical, Chain, Gamma, Model, Normal
from posteriori.modeling import load_posterior, take
from tests.modeling.variational.small_models import CASES

DRAWS = 4000


def within_error(draws, mean, variance):
    """Tell whether averages of draws are within 5 standard errors of means."""
    error = np.sqrt(variance / len(draws))
    return np.all(np.abs(draws.mean(axis=0) - mean) <= 5 * error + 1e-12)


@pytest.mark.parametrize("case", CASES)
def test_draws_have_the_moments_of_the_beliefs(case):
    model, data = CASES[case]()
    post = model.infer(data)
    draws = post.sample(DRAWS, rng=0)
    assert list(draws) == list(post._solved.bound.latent)
    for name, values in draws.items():
        belief = post[name]
        assert values.shape == (DRAWS, *post._solved.bound.layouts[name].shape)
        if isinstance(belief, Categorical):
            states = range(belief.probabilities.shape[-1])
            names = states if belief.labels is None else belief.labels
            values = np.stack([values == k for k in names], axis=-1)
            p = belief.probabilities
            assert within_error(values, p, np.maximum(p * (1 - p), 1 / DRAWS))
            continue
        means, variances = np.asarray(belief.mean), values.var(axis=0)
        assert within_error(values, means, variances)
        if isinstance(belief, Normal):
            ratio = variances / belief.variance
            assert np.all(np.abs(ratio - 1) < 5 * np.sqrt(2 / DRAWS))


@pytest.mark.parametrize(("case", "name"), [("hidden Markov", "z"), ("linear dynamics", "s")])
def test_neighbours_of_chains_are_drawn_together(case, name):
    model, data = CASES[case]()
    post = model.infer(data)
    x = post.sample(20000, rng=1)[name].astype(float)
    node = post._solved.results[0].problem.owner[name]
    if case == "hidden Markov":
        expected = node.pairs[0][..., 1, 1]
        found = (x[:, :-1] * x[:, 1:]).mean(axis=0)
        error = np.sqrt(np.maximum(expected * (1 - expected), 1e-4) / len(x))
    else:
        mean, _, cross = node.moments()
        expected = cross[..., 0, 0]
        gone = x - mean[..., 0]
        products = gone[:, :-1] * gone[:, 1:]
        found, error = products.mean(axis=0), products.std(axis=0) / np.sqrt(len(x))
    assert np.all(np.abs(found - expected) < 5 * error)


def test_leaves_are_simulated_from_the_draws():
    m = Model()
    m.mu = Normal(0, variance=100)
    m.tau = Gamma(3, rate=3)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    m.new = Normal(m.mu, precision=m.tau).iid(3)
    post = m.infer(x=[1.0, 2.0, 4.0, 3.0])
    draws = post.sample(40000, rng=2)
    assert draws["new"].shape == (40000, 3)
    variance = post.mu.variance + post.tau.rate / (post.tau.shape - 1)
    values = draws["new"].ravel()
    assert within_error(values, post.mu.mean, values.var())
    squares = (values - post.mu.mean) ** 2
    assert abs(squares.mean() - variance) < 5 * squares.std() / np.sqrt(40000)


def test_most_likely_path_is_the_best_of_all_paths():
    rng = np.random.default_rng(3)
    m = Model()
    m.mu = Normal([-1.0, 1.0], variance=4)
    m.z = Chain(
        Categorical([0.5, 0.5]),
        lambda z: Categorical(take([[0.7, 0.3], [0.2, 0.8]], z)),
        length="t",
    )
    m.y = Normal(m.mu[m.z], variance=1)
    y = rng.normal(size=7)
    post = m.infer(y=y, method="vmp")
    node = post._solved.results[0].problem.owner["z"]
    p, pairs = node.centre("z")[0], node.pairs[0]

    def log_q(path):
        total = np.log(p[0, path[0]])
        for t, (i, j) in enumerate(itertools.pairwise(path)):
            total += np.log(pairs[t, i, j] / p[t, i])
        return total

    best = max(itertools.product(range(2), repeat=7), key=log_q)
    found = post.most_likely()
    assert tuple(found["z"]) == best
    assert np.array_equal(found["mu"], post.mu.mean)


def test_modes_of_families_and_labels():
    model, data = CASES["counts"]()
    post = model.infer(data)
    best = post.most_likely()
    assert np.allclose(best["rate"], (post.rate.shape - 1) / post.rate.rate)
    assert best["z"].tolist() == [("few", "many")[k] for k in post.z.probabilities.argmax(axis=-1)]


def test_joint_belief_of_one_group():
    model, data = CASES["groups"]()
    post = model.infer(data)
    joint = post.joint("theta", "mu")
    assert np.allclose(joint.mean, [*post.theta.mean, post.mu.mean])
    assert np.allclose(np.diag(joint.cov), [*post.theta.variance, post.mu.variance])
    draws = post.sample(20000, rng=4)
    both = (draws["mu"] - post.mu.mean)[:, None] * (draws["theta"] - post.theta.mean)
    error = both.std(axis=0) / np.sqrt(len(both))
    assert np.all(np.abs(both.mean(axis=0) - joint.cov[-1, :-1]) < 5 * error)
    with pytest.raises(ValueError, match="mu and tau are believed in independently"):
        post.joint("mu", "tau")


def test_joint_belief_of_a_batched_group():
    model, data = CASES["factors"]()
    post = model.infer(data)
    joint = post.joint("b", "W")
    assert np.allclose(joint.mean, [*post.b.mean, *post.W.mean.ravel()])
    assert np.allclose(np.diag(joint.cov), [*post.b.variance, *post.W.variance.ravel()])
    assert joint.cov[0, 6] == 0.0  # b[0] and W[1, 0] see different columns of y
    assert joint.cov[0, 4] != 0.0


def test_draws_keep_digits_far_from_zero():
    m = Model()
    m.mu = Normal(1e8, variance=100)
    m.tau = Gamma(3, rate=3)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    post = m.infer(x=1e8 + np.array([1.0, 2.0, 4.0, 3.0]))
    draws = post.sample(2000, rng=5)["mu"]
    assert within_error(draws - 1e8, post.mu.mean - 1e8, post.mu.variance)
    assert post.joint("mu").mean[0] == pytest.approx(post.mu.mean, abs=1e-6)
    assert post.most_likely()["mu"] == post.mu.mean


@pytest.mark.parametrize("case", CASES)
def test_saved_posteriors_are_read_back(case, tmp_path):
    model, data = CASES[case]()
    post = model.infer(data, method="vmp")
    post.save(tmp_path / "post")
    read = load_posterior(tmp_path / "post")
    assert float(read.log_evidence) == float(post.log_evidence)
    assert read.log_evidence.kind == "bound"
    for name in post._solved.bound.latent:
        for a, b in zip(read[name].mean_params, post[name].mean_params, strict=True):
            assert np.allclose(a, b, rtol=1e-13, atol=0)


def test_points_are_drawn_saved_and_read_back(tmp_path):
    model, data = CASES["mixture"]()
    post = model.infer(data, form={"mu": "point"})
    draws = post.sample(3, rng=0)
    post.save(tmp_path / "post")
    read = load_posterior(tmp_path / "post")
    assert np.array_equal(read.mu.mean, post.mu.mean)
    assert read.mu.event_shape == post.mu.event_shape == (2,)
    assert read.mu.batch_shape == (3,)
    assert np.array_equal(draws["mu"][1], post.mu.mean)
    assert np.array_equal(post.most_likely()["mu"], post.mu.mean)
