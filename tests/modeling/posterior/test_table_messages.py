"""Messages of tables and conjugate pairs against the sum or integral of what lies behind a factor."""

import numpy as np
import pytest

from posteriori import Bernoulli, Beta, Categorical, Dirichlet, Gamma, Model, Normal, Poisson
from posteriori.modeling import Chain, take
from tests.modeling.message_oracle import Piece, behind, cavity, table_message

# -- tables ------------------------------------------------------------------------------------


def test_explaining_away_with_a_deterministic_table():
    both = np.array([[0.0, 1.0], [1.0, 1.0]])  # y is on if a or b is
    m = Model()
    m.a = Bernoulli(0.1)
    m.b = Bernoulli(0.3)
    m.y = Bernoulli(m.a + m.b - m.a * m.b)
    m.c = Categorical(take([[0.2, 0.8], [0.6, 0.4]], m.b))
    post = m.infer(y=1, c=0)
    messages = post.messages()
    with np.errstate(divide="ignore"):
        logs = np.log(both)
    pieces = {
        "a": Piece(("a",), lambda a: np.log([0.9, 0.1])[a]),
        "b": Piece(("b",), lambda b: np.log([0.7, 0.3])[b]),
        "y": Piece(("a", "b"), lambda a, b: logs[a, b]),
        "c": Piece(("b",), lambda b: np.log([0.2, 0.6])[b]),
    }
    everything, states = list(pieces.values()), {"a": 2, "b": 2}
    for name, piece in pieces.items():
        for x in piece.sees:
            edge = messages[name, x]
            want = table_message(behind(everything, piece, x), x, states)
            assert edge.to_variable.probability == pytest.approx(want[1], abs=1e-14)
            want = table_message(cavity(everything, piece, x), x, states)
            assert edge.to_factor.probability == pytest.approx(want[1], abs=1e-14)
    for name in "ab":
        assert messages.product(name).probability == pytest.approx(post[name].probability)


def test_mixture_of_many_is_one_batch():
    y = np.array([0.1, 2.9, 1.4])
    m = Model()
    m.z = Categorical([0.25, 0.75]).iid("n")
    m.y = Normal(take([0.0, 3.0], m.z), variance=1.0)
    post = m.infer(y=y)
    messages = post.messages()
    weights = np.exp(-0.5 * (y[:, None] - np.array([0.0, 3.0])) ** 2)
    sent = messages["y", "z"].to_variable.probabilities
    np.testing.assert_allclose(sent, weights / weights.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(messages["y", "z"].to_factor.probabilities, [[0.25, 0.75]] * 3)
    np.testing.assert_allclose(messages.product("z").probabilities, post.z.probabilities)


@pytest.mark.topic("004/3.24")
def test_known_members_send_what_they_are():
    m = Model()
    m.z = Chain(
        Categorical([0.5, 0.5]), lambda z: Categorical(take([[0.9, 0.1], [0.2, 0.8]], z)), length=3
    )
    post = m.infer(z=[np.nan, 1, np.nan])
    messages = post.messages()
    sent = messages["z known", "z"].to_variable.probabilities
    np.testing.assert_allclose(sent, [[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]])
    np.testing.assert_allclose(
        messages.product("z").probabilities, post.z.probabilities, atol=1e-14
    )


# -- conjugate pairs ---------------------------------------------------------------------------


def test_coin_rows_send_single_counts():
    x = np.array([1.0, 0.0, np.nan, 1.0])
    m = Model()
    m.p = Beta(2.0, 3.0)
    m.x = Bernoulli(m.p).iid("n")
    post = m.infer(x=x)
    edge = post.messages()["x", "p"]
    np.testing.assert_allclose(edge.to_variable.a, [2.0, 1.0, 1.0, 2.0])  # p^x (1 − p)^(1 − x)
    np.testing.assert_allclose(edge.to_variable.b, [1.0, 2.0, 1.0, 1.0])
    np.testing.assert_allclose(edge.to_factor.a, [3.0, 4.0, 4.0, 3.0])
    np.testing.assert_allclose(edge.to_factor.b, [4.0, 3.0, 4.0, 4.0])
    assert post.messages().product("p") == post.p


def log_poisson(value, rate):
    return value * np.log(rate) - rate


def log_normal(value, precision):
    return 0.5 * np.log(precision) - 0.5 * precision * (value - 1.0) ** 2


def log_categorical(value, shares):
    return np.log(shares[..., int(value)])


@pytest.mark.parametrize("case", ["poisson", "precision", "categorical"])
def test_conjugate_messages_are_likelihoods_of_rows(case):
    m = Model()
    if case == "poisson":
        m.t = Gamma(shape=2.0, rate=1.0).iid("g")
        m.y = Poisson(m.t).iid("n")
        y, points = np.array([[3, 0], [2, 5.0], [1, 1]]), np.array([0.4, 1.3, 2.2])
        log_prob = log_poisson
    elif case == "precision":
        m.t = Gamma(shape=2.0, rate=1.0)
        m.y = Normal(1.0, precision=m.t).iid("n")
        y, points = np.array([0.3, 2.0, 1.5]), np.array([0.4, 1.3, 2.2])
        log_prob = log_normal
    else:
        m.t = Dirichlet([1.0, 2.0, 3.0])
        m.y = Categorical(m.t).iid("n")
        y = np.array([0, 2, 2.0])
        points = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]])
        log_prob = log_categorical
    post = m.infer(y=y)
    messages = post.messages()
    edge = messages["y", "t"]
    for where in np.ndindex(*y.shape):
        natural = [part[where] for part in edge.to_variable.natural]
        one = type(edge.to_variable)._from_natural(*natural)
        got = one.log_prob(points)
        want = log_prob(y[where], points)
        np.testing.assert_allclose(got - got[0], want - want[0], atol=1e-12)
    for sent, back, total in zip(
        edge.to_variable.natural, edge.to_factor.natural, post.t.natural, strict=True
    ):
        np.testing.assert_allclose(sent + back, np.broadcast_to(total, sent.shape), rtol=1e-12)
    for got, want in zip(messages.product("t").natural, post.t.natural, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
