"""Messages of normal models and chains against the integral or sum of all that lies behind a factor."""

import numpy as np
import pytest

from posteriori import Categorical, Input, Model, MvNormal, Normal
from posteriori.modeling import Chain, take
from tests.modeling.message_oracle import Piece, behind, cavity, normal_message, table_message

pytestmark = pytest.mark.blas


def log_normal(x, mean, variance):
    return -0.5 * (x - mean) ** 2 / variance


def check_normal(edge, pieces, rows):
    """Compare both messages of every row; ``rows`` are pairs (piece, scalar or scalars)."""
    for k, (piece, x) in enumerate(rows):
        one = x if isinstance(x, list) else [x]
        for message, parts in (
            (edge.to_variable, behind(pieces, piece, one[0])),
            (edge.to_factor, cavity(pieces, piece, one[0])),
        ):
            xi, w = normal_message(parts, one)
            got_xi, got_w = (np.asarray(part) for part in message.natural)
            if edge.shape:
                got_xi, got_w = got_xi.reshape(len(rows), -1)[k], got_w.reshape(len(rows), -1)[k]
            np.testing.assert_allclose(np.ravel(got_xi), xi, rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(np.ravel(got_w), np.ravel(w), rtol=1e-8, atol=1e-8)


def same_belief(product, marginal):
    np.testing.assert_allclose(product.mean.ravel(), np.ravel(marginal.mean), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(product.variance.ravel(), np.ravel(marginal.variance), rtol=1e-9)


# -- normal models -----------------------------------------------------------------------------


@pytest.mark.topic("004/3.11", "004/3.12", "004/3.31")
def test_two_sensors():
    m = Model()
    m.x = Normal(0.0, variance=4.0)
    m.y1 = Normal(2.0 * m.x + 1.0, variance=1.0)
    m.y2 = Normal(m.x, variance=2.0)
    post = m.infer(y1=1.5, y2=2.0)
    messages = post.messages()
    prior = Piece(("x",), lambda x: log_normal(x, 0.0, 4.0))
    first = Piece(("x",), lambda x: log_normal(1.5, 2.0 * x + 1.0, 1.0))
    second = Piece(("x",), lambda x: log_normal(2.0, x, 2.0))
    pieces = [prior, first, second]
    for name, piece in zip(("x", "y1", "y2"), pieces, strict=True):
        check_normal(messages[name, "x"], pieces, [(piece, "x")])
    same_belief(messages.product("x"), post.x)
    assert len(messages) == 3
    assert [(e.factor, e.variable) for e in messages] == [("x", "x"), ("y1", "x"), ("y2", "x")]


@pytest.mark.topic("004/3.26")
def test_all_three_forms_of_a_message():
    m = Model()
    m.x = Normal(0.0, variance=4.0)
    m.y = Normal(4.0 * m.x, variance=1.0)
    message = m.infer(y=2.0).messages()["y", "x"].to_variable
    assert message.natural == pytest.approx((8.0, 16.0))
    assert (message.weighted_mean, message.precision) == pytest.approx((8.0, 16.0))
    assert (message.mean, message.variance) == pytest.approx((0.5, 1 / 16))


def test_hierarchy_of_groups_with_gaps_is_lifted():
    y = np.array([[1.0, 2.0], [np.nan, 0.5], [np.nan, np.nan]])
    m = Model()
    m.mu = Normal(1.0, variance=10.0)
    m.theta = Normal(m.mu, variance=2.0).iid("g")
    m.y = Normal(m.theta, variance=1.5).iid("n")
    post = m.infer(y=y.T)
    messages = post.messages()
    prior = Piece(("mu",), lambda u: log_normal(u, 1.0, 10.0))
    groups = [Piece((g, "mu"), lambda t, u: log_normal(t, u, 2.0)) for g in range(3)]
    data = {
        (n, g): Piece(
            (g,),
            lambda t, v=y[g, n]: 0.0 if np.isnan(v) else log_normal(v, t, 1.5),
        )
        for n in range(2)
        for g in range(3)
    }
    pieces = [prior, *groups, *data.values()]
    check_normal(messages["mu", "mu"], pieces, [(prior, "mu")])
    check_normal(messages["theta", "mu"], pieces, [(p, "mu") for p in groups])
    check_normal(messages["theta", "theta"], pieces, [(p, g) for g, p in enumerate(groups)])
    check_normal(messages["y", "theta"], pieces, [(p, g) for (_, g), p in data.items()])
    same_belief(messages.product("theta"), post.theta)
    same_belief(messages.product("mu"), post.mu)


def test_groups_seen_through_an_index():
    group = np.array([1, 0, 1, 1])
    y = np.array([0.3, 2.0, -1.0, 0.7])
    m = Model()
    m.a = Normal(0.0, variance=3.0).iid(2)
    m.y = Normal(take(m.a, group), variance=0.5)
    post = m.infer(y=y)
    messages = post.messages()
    priors = [Piece((g,), lambda a: log_normal(a, 0.0, 3.0)) for g in range(2)]
    data = [
        Piece((int(g),), lambda a, v=v: log_normal(v, a, 0.5))
        for g, v in zip(group, y, strict=True)
    ]
    pieces = priors + data
    check_normal(messages["y", "a"], pieces, [(p, p.sees[0]) for p in data])
    check_normal(messages["a", "a"], pieces, [(p, p.sees[0]) for p in priors])
    same_belief(messages.product("a"), post.a)


@pytest.mark.topic("004/3.22", "004/3.32")
def test_regression_sends_messages_of_rank_one():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4, 3)), rng.normal(size=4)
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(3), cov=2.0 * np.eye(3))
    m.y = Normal(m.X @ m.w, variance=0.5)
    post = m.infer(X=X, y=y)
    messages = post.messages()
    names = ["w0", "w1", "w2"]
    prior = Piece(tuple(names), lambda *w: -0.25 * np.dot(w, w))
    data = [
        Piece(tuple(names), lambda *w, x=x, v=v: log_normal(v, np.dot(x, w), 0.5))
        for x, v in zip(X, y, strict=True)
    ]
    edge = messages["y", "w"]
    for k, piece in enumerate(data):
        xi, w = normal_message([piece], names)
        np.testing.assert_allclose(edge.to_variable.weighted_mean[k], xi, atol=1e-10)
        np.testing.assert_allclose(edge.to_variable.precision[k], w, atol=1e-10)
        rest = [prior, *(p for p in data if p is not piece)]
        xi, w = normal_message(rest, names)
        np.testing.assert_allclose(edge.to_factor.weighted_mean[k], xi, atol=1e-10)
        np.testing.assert_allclose(edge.to_factor.precision[k], w, atol=1e-10)
    assert not edge.to_variable.is_proper.any()
    np.testing.assert_allclose(messages.product("w").mean, post.w.mean, rtol=1e-10)
    np.testing.assert_allclose(messages.product("w").cov, post.w.cov, rtol=1e-9)


def test_weights_that_are_no_vector_get_messages_as_one():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(5, 2)), rng.normal(size=5)
    m = Model()
    m.X = Input()
    m.w = Normal(0.0, variance=2.0).iid(2)
    m.y = Normal(m.X @ m.w, variance=0.5)
    post = m.infer(X=X, y=y)
    messages = post.messages()
    whole = messages.product("w")
    precision = np.eye(2) / 2.0 + X.T @ X / 0.5
    np.testing.assert_allclose(whole.precision, precision, rtol=1e-12)
    np.testing.assert_allclose(whole.mean, post.w.mean, rtol=1e-10)
    np.testing.assert_allclose(whole.variance, post.w.variance, rtol=1e-10)
    np.testing.assert_allclose(messages["w", "w"].to_variable.precision[1], np.diag([0.0, 0.5]))


def test_vectors_with_missing_entries():
    cov = np.array([[1.0, 0.4], [0.4, 2.0]])
    y = np.array([[0.5, 1.0], [np.nan, 2.0], [np.nan, np.nan], [0.1, -0.3]])
    m = Model()
    m.mu = MvNormal(np.zeros(2), cov=3.0 * np.eye(2))
    m.y = MvNormal(m.mu, cov=cov).iid("n")
    post = m.infer(y=y)
    messages = post.messages()
    sent = messages["y", "mu"].to_variable
    whole = np.linalg.inv(cov)
    np.testing.assert_allclose(
        sent.precision, [whole, np.diag([0.0, 0.5]), 0.0 * cov, whole], atol=1e-12
    )
    np.testing.assert_allclose(
        sent.weighted_mean, [whole @ y[0], [0.0, 1.0], [0.0, 0.0], whole @ y[3]], atol=1e-12
    )
    back = messages["y", "mu"].to_factor
    np.testing.assert_allclose(sent.precision + back.precision, [post.mu.precision] * 4, rtol=1e-9)
    np.testing.assert_allclose(messages.product("mu").cov, post.mu.cov, rtol=1e-10)


@pytest.mark.topic("004/3.20", "004/3.21")
def test_tree_of_named_variables_with_sums():
    m = Model()
    m.a = Normal(1.0, variance=2.0)
    m.b = Normal(-1.0, variance=1.0)
    m.c = Normal(m.a - 2.0 * m.b, variance=0.5)
    m.d = Normal(3.0 * m.c + 1.0, variance=4.0)
    m.y = Normal(m.d, variance=0.1)
    m.z = Normal(m.c, variance=1.0)
    post = m.infer(y=2.0, z=0.5)
    messages = post.messages()
    pieces = {
        "a": Piece(("a",), lambda a: log_normal(a, 1.0, 2.0)),
        "b": Piece(("b",), lambda b: log_normal(b, -1.0, 1.0)),
        "c": Piece(("c", "a", "b"), lambda c, a, b: log_normal(c, a - 2.0 * b, 0.5)),
        "d": Piece(("d", "c"), lambda d, c: log_normal(d, 3.0 * c + 1.0, 4.0)),
        "y": Piece(("d",), lambda d: log_normal(2.0, d, 0.1)),
        "z": Piece(("c",), lambda c: log_normal(0.5, c, 1.0)),
    }
    everything = list(pieces.values())
    edges = [(name, x) for name, piece in pieces.items() for x in piece.sees]
    assert sorted(edges) == sorted((e.factor, e.variable) for e in messages)
    for name, x in edges:
        check_normal(messages[name, x], everything, [(pieces[name], x)])
    for name in "abcd":
        same_belief(messages.product(name), post[name])


def test_tight_couplings_keep_their_digits():
    m = Model()
    m.a = Normal(0.0, variance=1e4)
    m.b = Normal(m.a, variance=1e-12)
    m.c = Normal(m.b, variance=1e-12)
    m.y = Normal(m.c, variance=1.0)
    messages = m.infer(y=3.0).messages()
    to_a = messages["b", "a"].to_variable
    assert to_a.precision == pytest.approx(1.0 / (1.0 + 2e-12), rel=1e-14)
    assert to_a.mean == pytest.approx(3.0, rel=1e-14)
    assert messages["c", "c"].to_variable.variance == pytest.approx(1e4 + 2e-12, rel=1e-14)


# -- chains ------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 6])
def test_scalar_chain_forwards_and_backwards(length):
    y = np.random.default_rng(2).normal(size=length)
    if length > 4:
        y[3] = np.nan
    m = Model()
    m.s = Chain(Normal(0.5, variance=1.0), lambda s: Normal(0.9 * s, variance=0.4), length="t")
    m.y = Normal(2.0 * m.s, variance=0.3)
    post = m.infer(y=y)
    messages = post.messages()
    first = Piece((0,), lambda s: log_normal(s, 0.5, 1.0))
    steps = [Piece((t + 1, t), lambda s, r: log_normal(s, 0.9 * r, 0.4)) for t in range(length - 1)]
    data = [
        Piece((t,), lambda s, v=v: 0.0 if np.isnan(v) else log_normal(v, 2.0 * s, 0.3))
        for t, v in enumerate(y)
    ]
    pieces = [first, *steps, *data]
    check_normal(messages["s first", "s"], pieces, [(first, 0)])
    check_normal(messages["y", "s"], pieces, [(p, p.sees[0]) for p in data])
    if length > 1:
        check_normal(messages["s step", "s"], pieces, [(p, p.sees[0]) for p in steps])
        check_normal(messages["s step", "previous s"], pieces, [(p, p.sees[1]) for p in steps])
    same_belief(messages.product("s"), post.s)


def test_local_trend_starts_backwards_from_improper_messages():
    A = np.array([[1.0, 1.0], [0.0, 1.0]])
    Q = np.array([[0.2, 0.05], [0.05, 0.1]])
    y = np.array([0.3, 1.1, 2.4, 2.9])
    m = Model()
    m.s = Chain(
        MvNormal(np.zeros(2), cov=4.0 * np.eye(2)), lambda s: MvNormal(A @ s, cov=Q), length="t"
    )
    m.y = Normal(m.s @ np.array([1.0, 0.0]), variance=0.5)
    post = m.infer(y=y)
    messages = post.messages()
    forward = messages["s step", "s"].to_variable
    backward = messages["s step", "previous s"].to_variable
    h = np.array([[1.0, 0.0]])
    mean, cov = np.zeros(2), 4.0 * np.eye(2)
    for t in range(3):  # the Kalman filter: update, predict
        gain = cov @ h.T / (h @ cov @ h.T + 0.5)
        mean, cov = mean + gain @ (y[t] - h @ mean), cov - gain @ h @ cov
        mean, cov = A @ mean, A @ cov @ A.T + Q
        np.testing.assert_allclose(forward.mean[t], mean, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(forward.cov[t], cov, rtol=1e-9)
    for t in range(3):  # all data after t as one regression on s_t
        ahead = np.vstack([(h @ np.linalg.matrix_power(A, k)) for k in range(1, 4 - t)])
        noise = 0.5 * np.eye(3 - t)
        for i in range(3 - t):
            for j in range(3 - t):
                noise[i, j] += sum(
                    (
                        h
                        @ np.linalg.matrix_power(A, i - k)
                        @ Q
                        @ np.linalg.matrix_power(A, j - k).T
                        @ h.T
                    ).item()
                    for k in range(min(i, j) + 1)
                )
        w = ahead.T @ np.linalg.solve(noise, ahead)
        np.testing.assert_allclose(backward.precision[t], w, atol=1e-10)
        xi = ahead.T @ np.linalg.solve(noise, y[t + 1 :])
        np.testing.assert_allclose(backward.weighted_mean[t], xi, atol=1e-10)
    assert list(backward.is_proper) == [True, True, False]
    np.testing.assert_allclose(messages.product("s").mean, post.s.mean, rtol=1e-8)
    np.testing.assert_allclose(messages.product("s").cov, post.s.cov, rtol=1e-8)


@pytest.mark.topic("004/3.25")
def test_hidden_markov_with_forbidden_moves():
    move = np.array([[0.7, 0.3, 0.0], [0.0, 0.6, 0.4], [0.5, 0.0, 0.5]])
    start = np.array([0.6, 0.4, 0.0])
    see = np.array([[0.8, 0.2], [0.5, 0.5], [0.0, 1.0]])
    y = np.array([0, 1, 1, 0])
    m = Model()
    m.z = Chain(Categorical(start), lambda z: Categorical(take(move, z)), length="t")
    m.y = Categorical(take(see, m.z))
    post = m.infer(y=y)
    messages = post.messages()
    with np.errstate(divide="ignore"):
        logs = [np.log(table) for table in (start, move, see)]
    first = Piece((0,), lambda z: logs[0][z])
    steps = [Piece((t, t + 1), lambda a, b: logs[1][a, b]) for t in range(3)]
    data = [Piece((t,), lambda z, v=v: logs[2][z, v]) for t, v in enumerate(y)]
    pieces = [first, *steps, *data]
    states = dict.fromkeys(range(4), 3)

    def check(edge, rows):
        for k, (piece, x) in enumerate(rows):
            for message, parts in (
                (edge.to_variable, behind(pieces, piece, x)),
                (edge.to_factor, cavity(pieces, piece, x)),
            ):
                got = message.probabilities.reshape(len(rows), -1)[k]
                np.testing.assert_allclose(got, table_message(parts, x, states), atol=1e-12)

    check(messages["z first", "z"], [(first, 0)])
    check(messages["z step", "z"], [(p, p.sees[1]) for p in steps])
    check(messages["z step", "previous z"], [(p, p.sees[0]) for p in steps])
    check(messages["y", "z"], [(p, p.sees[0]) for p in data])
    np.testing.assert_allclose(
        messages.product("z").probabilities, post.z.probabilities, atol=1e-12
    )
