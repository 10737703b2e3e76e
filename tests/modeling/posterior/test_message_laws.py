"""Laws and limits: products are marginals on every model, compiled paths equal array steps."""

import numpy as np
import pytest

from posteriori import Categorical, Gamma, Input, Model, MvNormal, Normal
from posteriori.modeling import Chain, take
from tests.modeling.test_planning import GALLERY

pytestmark = pytest.mark.blas

# -- a law for all models --------------------------------------------------------------------


def numbers(belief):
    """What tells two beliefs apart, in the order of their members."""
    for names in (("probabilities",), ("probability",), ("mean", "variance")):
        if hasattr(belief, names[0]):
            return [np.ravel(getattr(belief, name)) for name in names]
    raise AssertionError(belief)


def refusal(post):
    """Why there are no messages; empty where there are."""
    try:
        post.messages()
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", GALLERY)
def test_products_of_messages_are_marginals(name):
    build, data = GALLERY[name]
    post = build().infer(data)
    why = refusal(post)
    if why:
        scaled = name.startswith("scaled") and "unknown spread" in why
        assert scaled or "close a loop" in why or "do not add to the natural parameters" in why
        return
    messages = post.messages()
    for block in post._solved.results:
        for variable in block.names:
            product, marginal = messages.product(variable), post[variable]
            if type(product) is type(marginal):  # else a vector of members taken together
                assert product.batch_shape == marginal.batch_shape
            for a, b in zip(numbers(product), numbers(marginal), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9 * np.abs(b).max())
    for edge in messages:
        for sent in (edge.to_variable, edge.to_factor):
            assert sent.batch_shape == edge.shape


def test_most_models_have_messages():
    answered = sum(not refusal(build().infer(data)) for build, data in GALLERY.values())
    assert answered >= 44


# -- long chains -----------------------------------------------------------------------------


def local_trend(y):
    A = np.array([[1.0, 1.0], [0.0, 1.0]])
    m = Model()
    m.s = Chain(
        MvNormal(np.zeros(2), cov=4.0 * np.eye(2)),
        lambda s: MvNormal(A @ s, cov=np.array([[0.2, 0.05], [0.05, 0.1]])),
        length="t",
    )
    m.y = Normal(m.s @ np.array([1.0, 0.0]), variance=0.5)
    return m.infer(y=y)


def switching(y):
    m = Model()
    m.z = Chain(
        Categorical([1.0, 0.0, 0.0]),
        lambda z: Categorical(take([[0.7, 0.3, 0.0], [0.0, 0.6, 0.4], [0.5, 0.0, 0.5]], z)),
        length="t",
    )
    m.y = Normal(take([0.0, 1.0, 2.0], m.z), variance=1.0)
    return m.infer(y=y)


def several_series(y):
    m = Model()
    m.z = Chain(
        Categorical([0.5, 0.5]).iid("b"),
        lambda z: Categorical(take([[0.9, 0.1], [0.2, 0.8]], z)),
        length="t",
    )
    m.y = Normal(take([0.0, 1.0], m.z), variance=1.0)
    return m.infer(y=np.stack([y, y[::-1]], axis=1))


@pytest.mark.parametrize("model", [local_trend, switching, several_series])
def test_compiled_paths_equal_array_steps(model, monkeypatch):
    y = np.cumsum(np.random.default_rng(5).normal(size=40)) * 0.3
    y[[7, 39]] = np.nan
    post = model(y)
    slow = post.messages()
    monkeypatch.setattr("posteriori.inference.messages.forest_order._LONG", 2)
    fast = post.messages()
    for edge in slow:
        for direction in ("to_variable", "to_factor"):
            want = getattr(edge, direction)
            got = getattr(fast[edge.factor, edge.variable], direction)
            names = (
                ("probabilities",)
                if isinstance(want, Categorical)
                else (
                    "weighted_mean",
                    "precision",
                )
            )
            for name in names:
                np.testing.assert_allclose(
                    getattr(got, name), getattr(want, name), rtol=1e-9, atol=1e-11
                )


# -- what has no messages --------------------------------------------------------------------


def test_loops_are_refused_by_name():
    m = Model()
    m.a = Normal(0.0, variance=1.0)
    m.b = Normal(0.0, variance=1.0)
    m.y = Normal(m.a + m.b * np.array([1.0, 2.0]), variance=1.0)
    with pytest.raises(ValueError, match=r"factors of y close a loop through a, b.*one variable"):
        m.infer(y=[1.0, 2.0]).messages()


def test_unknown_mean_and_precision_have_no_messages():
    m = Model()
    m.tau = Gamma(shape=2.0, rate=1.0)
    m.mu = Normal(0.0, precision=m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    with pytest.raises(TypeError, match="no messages between"):
        m.infer(y=[1.0, 2.0]).messages()


def test_missing_edges_list_those_that_are():
    m = Model()
    m.x = Normal(0.0, variance=1.0)
    m.y = Normal(m.x, variance=1.0)
    messages = m.infer(y=1.0).messages()
    with pytest.raises(KeyError, match=r"there are 'x', 'x'; 'y', 'x'"):
        messages["x", "y"]
    with pytest.raises(KeyError, match="'q'"):
        messages.product("q")


def test_messages_too_large_to_hold_are_refused_but_their_product_is_there():
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(30), cov=np.eye(30))
    m.y = Normal(m.X @ m.w, variance=1.0)
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(150_000, 30)), rng.normal(size=150_000)
    post = m.infer(X=X, y=y)
    messages = post.messages()
    with pytest.raises(MemoryError, match=r"150000 rows of y to w.*product\('w'\)"):
        messages["y", "w"].to_variable  # noqa: B018
    np.testing.assert_allclose(messages.product("w").mean, post.w.mean, atol=1e-12)
