"""What a posterior shows of itself."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posteriori.distributions import Bernoulli, Beta, Gamma, HalfNormal, MvNormal, Normal, Poisson
from posteriori.modeling import Chain, Model
from tests.modeling.prediction_models import Y, groups, mixture_of_unknown_kind


def test_a_posterior_shows_means_and_deviations() -> None:
    m = groups()
    m.leaf = Normal(m.mu, variance=1.0)
    post = m.infer(y=[1.0, 2.0])
    first, mu, theta, leaf = repr(post).split("\n")
    assert first == f"Posterior: log_evidence = {float(post.log_evidence):.6g} (exact)"
    assert mu.split() == [
        "mu", "Normal", f"{float(post.mu.mean):.4g}", "±", f"{float(post.mu.variance) ** 0.5:.4g}"
    ]  # fmt: skip
    assert theta.startswith("  theta  Normal (2,)  ")
    assert leaf.split(maxsplit=1) == ["leaf", "predicted: nothing below is observed"]
    assert {"mu", "theta", "leaf"} <= set(dir(post))
    assert "float64" not in repr(post)


def test_long_batches_are_cut() -> None:
    line = repr(groups().infer(y=Y)).split("\n")[2]
    assert line.count("±") == 4
    assert line.endswith(", …")


def test_states_are_shown_by_their_probabilities() -> None:
    post = mixture_of_unknown_kind().infer(y=Y[:2])
    text = repr(post)
    assert f"P(1) = {float(post.kind.probability):.4g}" in text
    best = post.z.probabilities[0].argmax()
    assert f"P({best}) = {float(post.z.probabilities[0, best]):.4g}" in text


def test_the_most_likely_point_has_the_highest_density() -> None:
    m = groups()
    m.p = Beta(2.0, 3.0)
    m.flips = Bernoulli(m.p).iid("k")
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, variance=0.5), length="t")
    m.x = Normal(m.s, variance=1.0)
    data = {"y": Y, "flips": [1, 0, 1], "x": [1.0, 2.0, 0.5]}
    best = m.infer(data).most_likely()
    assert isinstance(best["mu"], float)
    assert isinstance(best["p"], float)
    top = m.log_joint({**data, **best})
    for name, value in best.items():
        for step in (-1e-3, 1e-3):
            assert m.log_joint({**data, **best, name: value + step}) < top


def one_of_each_kind() -> Model:
    m = groups()  # normal
    m.p = Beta(2.0, 3.0)  # conjugate
    m.flips = Bernoulli(m.p).iid("k")
    m.tau = Gamma(3.0, rate=2.0)  # a common precision
    m.b = Normal(0.0, precision=m.tau)
    m.x = Normal(m.b, precision=m.tau).iid("h")
    m.rate = HalfNormal(scale=2.0)  # an integral
    m.k = Poisson(m.rate).iid("j")
    m.w = MvNormal([0.0, 0.0], cov=np.eye(2))
    m.v = Normal(m.w @ [1.0, 2.0], variance=1.0)
    m.leaf = Normal(m.mu, variance=1.0)  # predicted
    return m


DATA = {"y": Y, "flips": [1, 0, 1], "x": [1.0, 2.0, 0.5], "k": [2, 3], "v": 1.0}


@pytest.mark.parametrize("name", ["mu", "theta", "p", "tau", "b", "rate", "leaf"])
@pytest.mark.parametrize("function", [np.square, np.cos, lambda x: 1.0 / (1.0 + np.exp(-x))])
def test_expectations_are_means_of_draws(name: str, function: Callable[[Any], Any]) -> None:
    post = one_of_each_kind().infer(DATA)
    draws = function(post.sample(4000, rng=0)[name])
    error = draws.std(axis=0) / np.sqrt(len(draws))
    found = post.expect(name, function)
    assert np.shape(found) == np.shape(error)
    assert np.all(np.abs(found - draws.mean(axis=0)) < 5.0 * error)


def test_expectations_under_a_variational_belief() -> None:
    m = Model()
    m.mu = Normal(0.0, variance=4.0)
    m.tau = Gamma(3.0, rate=2.0)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    post = m.infer(x=[1.0, 2.0, 0.5], method="vmp")
    assert post.expect("mu", np.square) == pytest.approx(post.mu.mean**2 + post.mu.variance)
    assert post.expect("tau", np.log) == pytest.approx(post.tau.mean_params[0])


def test_vectors_have_no_expectation_of_this_kind() -> None:
    post = one_of_each_kind().infer(DATA)
    with pytest.raises(TypeError, match="w is not a number: average over"):
        post.expect("w", np.square)
    with pytest.raises(KeyError, match="no variable 'muu'"):
        post.expect("muu", np.square)
