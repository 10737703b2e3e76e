"""Plates and chains without members: the evidence is 0, marginals are empty, the rest is the prior."""

import numpy as np
import pytest

from posteriori import Categorical, Chain, Dirichlet, Gamma, Model, MvNormal, Normal, take
from posteriori.inference import forward_backward, impossible_steps, most_likely_path, sample_path

MOVES = np.array([[0.9, 0.1], [0.2, 0.8]])


def plate_of_states(m):
    m.s = Categorical([0.5, 0.5]).iid("t")
    m.y = Normal(take([0.0, 3.0], m.s), variance=1.0)


def plate_of_normals(m):
    m.s = Normal(0.0, variance=1.0).iid("t")
    m.y = Normal(m.s, variance=1.0)


def hidden_markov(m):
    m.s = Chain(Categorical([0.5, 0.5]), lambda s: Categorical(take(MOVES, s)), length="t")
    m.y = Normal(take([0.0, 3.0], m.s), variance=1.0)


def linear_gaussian(m):
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(0.9 * s, variance=0.5), length="t")
    m.y = Normal(m.s, variance=1.0)


def vectors(m):
    m.s = Chain(MvNormal(np.zeros(2), cov=np.eye(2)), lambda s: MvNormal(s, cov=np.eye(2)), "t")
    m.y = MvNormal(m.s, cov=np.eye(2))


def learned_moves(m):
    m.A = Dirichlet(np.ones(2)).iid(2)
    m.s = Chain(Categorical([0.5, 0.5]), lambda s: Categorical(take(m.A, s)), length="t")
    m.y = Normal(take([0.0, 3.0], m.s), variance=1.0)


def learned_noise(m):
    m.tau = Gamma(2.0, 1.0)
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(0.9 * s, variance=0.5), length="t")
    m.y = Normal(m.s, precision=m.tau)


KNOWN = [plate_of_states, plate_of_normals, hidden_markov, linear_gaussian, vectors]
LEARNED = [learned_moves, learned_noise]


def model_of(write):
    m = Model()
    write(m)
    return m


def data_of(write):
    return np.zeros((0, 2)) if write is vectors else []


@pytest.mark.parametrize("write", KNOWN + LEARNED)
def test_no_members_have_no_evidence_and_empty_marginals(write):
    post = model_of(write).infer(y=data_of(write))
    assert float(post.log_evidence) == 0.0
    assert post.s.batch_shape == (0,)
    assert post.sample(3, rng=0)["s"].shape[:2] == (3, 0)
    assert "log_evidence = 0" in repr(post)


@pytest.mark.parametrize("write", KNOWN)
def test_no_members_predict_no_members(write):
    predicted = model_of(write).infer(y=data_of(write)).predict("y")
    assert predicted.batch_shape == (0,)
    assert repr(predicted)


def test_what_else_there_is_keeps_its_prior():
    assert Dirichlet(np.ones((2, 2))) == model_of(learned_moves).infer(y=[]).A
    assert model_of(learned_noise).infer(y=[]).tau == Gamma(2.0, 1.0)


@pytest.mark.parametrize("write", [hidden_markov, linear_gaussian])
def test_an_observed_chain_without_steps(write):
    post = model_of(write).infer(s=[], y=[])
    assert float(post.log_evidence) == 0.0


def test_a_chain_of_length_zero_is_refused_by_name():
    with pytest.raises(ValueError, match=r"length must be a whole number >= 1 or .* got 0"):
        Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, variance=1.0), length=0)


@pytest.mark.parametrize("ask", [forward_backward, most_likely_path, sample_path, impossible_steps])
@pytest.mark.parametrize("shape", [(0, 2), (3, 0, 2), (0, 4, 2)])
def test_recursions_over_no_steps_are_refused_in_words(ask, shape):
    with pytest.raises(ValueError, match="at least one series, time step and state, got"):
        ask(np.log([0.5, 0.5]), np.log(MOVES), np.zeros(shape))
