"""Forecasts after the end of discrete chains: powers of the transitions, and enumeration."""

import numpy as np
import pytest

from posteriori import Bernoulli, Categorical, Normal
from posteriori.modeling import Chain, Input, Model, take
from tests.modeling.discrete_cases import shares
from tests.modeling.discrete_models import (
    MU,
    PI,
    SWITCHED,
    A,
    Y,
    hidden_markov,
)
from tests.modeling.enumeration import Unknown, enumerate_model


def test_states_move_on_by_powers_of_the_transitions() -> None:
    post = hidden_markov().infer(y=Y)
    ahead = post.predict("z", t=12)
    last = post.z.probabilities[-1]
    expected = [last @ np.linalg.matrix_power(A, k) for k in range(1, 13)]
    np.testing.assert_allclose(ahead.probabilities, expected, atol=1e-13)


def test_observations_are_mixtures_over_the_states_ahead() -> None:
    post = hidden_markov().infer(y=Y)
    ahead, states = post.predict("y", t=12), post.predict("z", t=12)
    np.testing.assert_allclose(ahead.probabilities, states.probabilities, atol=1e-13)
    np.testing.assert_allclose(ahead.mean, states.probabilities @ MU)
    x = np.linspace(-2.0, 3.0, 12)
    density = np.exp(Normal(MU, variance=1.0).log_prob(x[:, None]))
    expected = np.log(np.sum(states.probabilities * density, axis=1))
    np.testing.assert_allclose(ahead.log_prob(x), expected)


def test_inputs_describe_the_members_that_follow() -> None:
    m = Model()
    m.u, m.v = Input("t"), Input("t")
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(take(SWITCHED, m.u), z)), length="t")
    m.y = Normal(take(MU, m.z) + m.v, variance=1.0)
    v = np.array([0.1, 0.2, 0.3, 0.4])
    post = m.infer(u=[0, 1, 1, 0], v=v, y=Y)
    one = post.z.probabilities[-1] @ SWITCHED[1]
    two = one @ SWITCHED[0]
    np.testing.assert_allclose(post.predict("z", u=[1, 0]).probabilities, [one, two], atol=1e-13)
    ahead = post.predict("y", t=2, u=[1, 0], v=[5.0, 7.0])
    np.testing.assert_allclose(ahead.mean, np.array([one, two]) @ MU + [5.0, 7.0])
    again = post.predict("z", t=4, u=[0, 1, 1, 0])  # the same values as in the data
    third = post.z.probabilities[-1] @ SWITCHED[0] @ SWITCHED[1] @ SWITCHED[1]
    np.testing.assert_allclose(again.probabilities[2], third, atol=1e-13)
    with pytest.raises(ValueError, match="u must have 2 further members"):
        post.predict("z", t=2, u=[0, 1, 1, 0])
    with pytest.raises(ValueError, match="give it for the 3 new members"):
        post.predict("z", t=3)


def regime() -> Model:
    m = Model()
    m.g = Bernoulli(0.4)
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(take(SWITCHED, m.g), z)), length="t")
    m.y = Bernoulli(take([0.1, 0.5, 0.7], m.z))
    return m


def coupled() -> Model:
    m = Model()
    m.g = Chain(Bernoulli(0.3), lambda z: Bernoulli(take([0.2, 0.9], z)), length="t")
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(take(SWITCHED, m.g), z)), length="t")
    m.y = Bernoulli(take([0.1, 0.5, 0.7], m.z))
    return m


def several_series() -> Model:
    m = Model()
    m.z = Chain(Bernoulli(0.3).iid("s"), lambda z: Bernoulli(take([0.2, 0.9], z)), length="t")
    m.y = Bernoulli(take([0.1, 0.7], m.z))
    return m


@pytest.mark.parametrize(
    ("model", "y", "unknowns"),
    [
        (regime(), [1, 0], {"g": Unknown((), 2), "z": Unknown((4,), 3)}),
        (coupled(), [1], {"g": Unknown((3,), 2), "z": Unknown((3,), 3)}),
        (several_series(), [[1, 0]], {"z": Unknown((3, 2), 2)}),
    ],
)
def test_forecasts_are_sums_over_all_paths(model, y, unknowns) -> None:
    longer = np.concatenate([y, np.full((2, *np.shape(y)[1:]), np.nan)])
    wider = {**unknowns, "y": Unknown(longer.shape, 2)}
    truth = enumerate_model(model, {"y": longer}, wider).marginals
    post = model.infer(y=y)
    for name in (n for n in wider if wider[n].shape):
        ahead = post.predict(name, t=2)
        np.testing.assert_allclose(shares(ahead), truth[name][-2:], atol=1e-12)


def test_observed_states_and_labels_go_on() -> None:
    m = Model()
    labels = ("low", "middle", "high")
    m.z = Chain(Categorical(PI, labels=labels), lambda z: Categorical(take(A, z)), length="t")
    m.c = Bernoulli(take([0.1, 0.5, 0.7], m.z))
    post = m.infer(z=["low", "high"])
    ahead = post.predict("z", t=2)
    assert ahead.labels == labels
    np.testing.assert_allclose(ahead.probabilities, [A[2], A[2] @ A])
    np.testing.assert_allclose(post.predict("c", t=1).probability, [A[2] @ [0.1, 0.5, 0.7]])


def test_new_observations_of_a_chain_are_another_series() -> None:
    m = hidden_markov()
    post = m.infer(y=Y)
    new = post.predict("z", y=Y[:2] + 1.0)
    np.testing.assert_allclose(new.probabilities, m.infer(y=Y[:2] + 1.0).z.probabilities)
