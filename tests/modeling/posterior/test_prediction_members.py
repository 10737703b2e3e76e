"""Which members of a prediction are new, against models with more rows."""

from typing import Any

import numpy as np
import pytest

from posteriori.distributions import (
    Bernoulli,
    Categorical,
    MvNormal,
    Normal,
)
from posteriori.modeling import Input, Model, dot, take
from tests.modeling.prediction_models import (
    Y,
    by_index,
    groups,
    mean,
    mixture_of_unknown_kind,
    regression,
)


def test_new_groups_are_those_of_a_longer_plate() -> None:
    post = groups().infer(y=Y)
    longer = groups().infer(y=np.append(Y, [np.nan, np.nan]))
    new = post.predict("theta", n=2)
    np.testing.assert_allclose(new.mean, longer.theta.mean[-2:], rtol=1e-12)
    np.testing.assert_allclose(new.variance, longer.theta.variance[-2:], rtol=1e-12)


def test_unknowns_are_those_of_the_data_when_nothing_is_new() -> None:
    post = groups().infer(y=Y)
    assert post.predict("theta") == post.theta
    assert post.predict("mu") == post.mu
    again = post.predict("y")
    np.testing.assert_allclose(again.mean, post.theta.mean)
    np.testing.assert_allclose(again.variance, post.theta.variance + 0.5)


def test_new_states_follow_what_was_learnt_of_their_kind() -> None:
    post = mixture_of_unknown_kind().infer(y=Y)
    kind = float(post.kind.probability)
    expected = (1.0 - kind) * np.array([0.9, 0.1]) + kind * np.array([0.2, 0.8])
    np.testing.assert_allclose(post.predict("z", n=2).probabilities, [expected] * 2)


def test_labels_are_kept() -> None:
    m = Model()
    m.z = Categorical([0.3, 0.7], labels=("rain", "sun")).iid("n")
    m.y = Normal(take([0.0, 1.0], m.z), variance=1.0)
    assert m.infer(y=Y).predict("z", n=2).labels == ("rain", "sun")


def test_a_single_row_is_a_single_prediction() -> None:
    rng = np.random.default_rng(0)
    X, row = rng.normal(size=(7, 3)), rng.normal(size=3)
    post = regression().infer(X=X, y=Y)
    one = post.predict("y", X=row)
    assert one.batch_shape == ()
    assert float(one.mean) == pytest.approx(row @ post.w.mean)
    assert float(one.variance) == pytest.approx(0.5 + row @ post.w.cov @ row)


def noisy_regression(*plates: str) -> Model:
    """The line itself is uncertain at each row."""
    m = Model()
    m.x = Input(*plates)
    m.w = Normal(0.0, variance=4.0)
    m.line = Normal(m.w * m.x, variance=0.7)
    m.y = Normal(m.line, variance=0.5)
    return m


@pytest.mark.parametrize("plates", [(), ("n",)])
@pytest.mark.parametrize("new", [[2.0], [1.0, -1.0, 3.0], np.arange(7.0) + 1.0])
def test_unknowns_under_new_inputs_are_new(plates: tuple[str, ...], new: Any) -> None:
    x = np.arange(7.0)
    post = noisy_regression(*plates).infer(x=x, y=Y)
    for name, noise in (("line", 0.7), ("y", 1.2)):
        found = post.predict(name, x=new)
        np.testing.assert_allclose(found.mean, post.w.mean * np.asarray(new))
        np.testing.assert_allclose(found.variance, post.w.variance * np.square(new) + noise)


def test_inputs_of_the_data_change_nothing() -> None:
    x = np.arange(7.0)
    post = noisy_regression("n").infer(x=x, y=Y)
    assert post.predict("line", x=list(x)) == post.line
    np.testing.assert_allclose(post.predict("y", x=x).mean, post.line.mean)


def test_a_known_index_selects_groups_of_the_data() -> None:
    post = by_index().infer(g=[0, 0, 1, 1, 2, 2, 2], y=Y)
    new = post.predict("y", g=[2, 0])
    np.testing.assert_allclose(new.mean, post.theta.mean[[2, 0]])
    np.testing.assert_allclose(new.variance, post.theta.variance[[2, 0]] + 0.5)


def test_new_inputs_keep_what_was_learnt_of_states() -> None:
    m = Model()
    m.x = Input("n")
    m.up = Bernoulli(0.5)
    m.y = Normal(take([-1.0, 1.0], m.up) * m.x, variance=1.0)
    x = np.arange(1.0, 4.0)
    post = m.infer(x=x, y=[0.4, -0.1, 0.6])
    p = float(post.up.probability)
    assert 0.6 < p < 0.99
    new = np.array([2.0, 5.0])
    np.testing.assert_allclose(post.predict("y", x=new).mean, (2.0 * p - 1.0) * new)


def test_observed_causes_may_be_given_anew() -> None:
    m = Model()
    m.x = Normal(0.0, variance=1.0).iid("n")
    m.w = Normal(0.0, variance=4.0)
    m.y = Normal(m.w * m.x, variance=0.5)
    post = m.infer(x=np.arange(7.0), y=Y)
    x = np.array([2.0, 3.0])
    new = post.predict("y", x=x)
    np.testing.assert_allclose(new.mean, post.w.mean * x)
    np.testing.assert_allclose(new.variance, post.w.variance * x**2 + 0.5)
    with pytest.raises(TypeError, match="y multiplies w and x, which are both unknown"):
        post.predict("y", n=2)
    with pytest.raises(TypeError, match="infer again with y among the data"):
        mean().infer(y=Y).predict("mu", y=[1.0])


def test_leaves_of_leaves_share_their_ancestors() -> None:
    m = Model()
    m.a = Normal(0.0, variance=1.0)
    m.y = Normal(m.a, variance=1.0)
    m.b = Normal(2.0 * m.a, variance=0.5).iid(3)
    m.c = Normal(dot([1.0, 1.0, 1.0], m.b) - m.a, variance=0.1)
    post = m.infer(y=1.0)  # a has mean 0.5 and variance 0.5
    assert float(post.c.mean) == pytest.approx(5.0 * 0.5)
    assert float(post.c.variance) == pytest.approx(25.0 * 0.5 + 3.0 * 0.5 + 0.1)


def test_rows_that_see_several_members_use_their_joint() -> None:
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid(3)
    m.y = Normal(m.theta, variance=0.5)
    m.total = Normal(dot([1.0, 2.0, 3.0], m.theta) - m.mu, variance=0.1)
    m.pair = Normal(dot([1.0, 2.0], m.theta[[2, 0]]), variance=0.1)
    m.vector = MvNormal(m.theta, cov=np.eye(3))
    post = m.infer(y=[1.0, 2.0, 4.0])
    joint = post.joint("theta", "mu")
    for name, k in (("total", [1.0, 2.0, 3.0, -1.0]), ("pair", [2.0, 0.0, 1.0, 0.0])):
        assert float(post[name].mean) == pytest.approx(np.dot(k, joint.mean))
        assert float(post[name].variance) == pytest.approx(np.dot(k, joint.cov @ k) + 0.1)
    np.testing.assert_allclose(post.vector.mean, post.theta.mean)
    np.testing.assert_allclose(post.vector.cov, joint.cov[:3, :3] + np.eye(3))
