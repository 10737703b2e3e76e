"""What the model language refuses, and in which words."""

import numpy as np
import pytest

from posteriori import Gamma, MvNormal, Normal
from posteriori.modeling import Chain, Input, Model, take


def model() -> Model:
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(3), cov=np.eye(3))
    m.y = Normal(m.X @ m.w, variance=1.0)
    return m


@pytest.mark.parametrize(
    ("action", "error", "words"),
    [
        (lambda m: m.infer(z=1.0), ValueError, "no variable or input 'z'"),
        (lambda m: m.infer(y=[1.0]), ValueError, "input X is not given"),
        (lambda m: m.infer(X=np.ones((4, 3)), y=np.ones(5)), ValueError, r"\(4\).*\(5,\)"),
        (lambda m: m.infer(X=np.ones((4, 2)), y=np.ones(4)), ValueError, "length 2 and 3"),
        (lambda m: setattr(m, "infer", Normal(0.0, variance=1.0)), ValueError, "reserved"),
        (lambda m: setattr(m, "w", Normal(0.0, variance=1.0)), ValueError, "defined already"),
        (lambda m: setattr(m, "q", 3.0), TypeError, "must be a distribution"),
        (lambda m: setattr(m, "q", m.w + 1.0), TypeError, "expression"),
        (lambda m: m.q, AttributeError, "no variable or input 'q'"),
        (lambda m: bool(m.w), TypeError, "no value yet"),
        (lambda m: m.w == 1.0, TypeError, "=="),
        (lambda m: list(m.w), TypeError, "iterated"),
        (lambda m: len(m.w), TypeError, "length"),
        (lambda m: [1, 2, 3][m.w], TypeError, "take"),
        (lambda m: float(m.w), TypeError, "no value"),
        (lambda m: np.arange(3)[m.w], TypeError, "take"),
        (lambda m: np.exp(m.w), TypeError, "ufunc"),
        (lambda m: m.w / m.w, TypeError, "known number"),
        (lambda m: Normal(0.0, variance=1.0).iid("not a name"), ValueError, "plate"),
        (lambda m: Chain(1.0, lambda s: s, length=3), TypeError, "initial"),
    ],
)
def test_refusals(action, error, words) -> None:
    with pytest.raises(error, match=words):
        action(model())


def test_a_failed_call_leaves_the_model_as_it_was() -> None:
    m = model()
    before = repr(m)
    with pytest.raises(ValueError, match="reserved"):
        m.plan = Normal(0.0, variance=1.0)
    with pytest.raises(ValueError, match="no variable"):
        m.infer(nothing=1.0)
    assert repr(m) == before
    post = m.infer(X=np.eye(3), y=[1.0, 2.0, 3.0])
    np.testing.assert_allclose(post.w.mean, [0.5, 1.0, 1.5])


def test_data_of_a_single_variable_suggest_repetition() -> None:
    m = Model()
    m.mu = Normal(0.0, variance=1.0)
    m.y = Normal(m.mu, variance=1.0)
    with pytest.raises(ValueError, match=r"\.iid"):
        m.infer(y=[1.0, 2.0])


def test_several_blocks_are_refused_in_plain_words() -> None:
    m = Model()
    m.tau = Gamma(2.0, 1.0)
    m.a = Normal(0.0, variance=1.0)
    m.y = Normal(m.a, precision=m.tau).iid("n")
    with pytest.raises(TypeError, match="several blocks"):
        m.infer(y=np.ones(3))


def test_the_plan_says_what_runs() -> None:
    m = Model()
    m.a = Normal(0.0, variance=1.0)
    m.y = Normal(m.a, variance=1.0)
    m.leaf = Normal(m.a, variance=1.0)
    text = repr(m.plan(y=1.0))
    assert "a: Gaussian elimination" in text
    assert "leaf" in text.splitlines()[-1]


def test_take_of_known_codes_is_indexing() -> None:
    m = Model()
    m.theta = Normal([0.0, 1.0, 2.0], variance=1.0)
    m.y = Normal(take(m.theta, [2, 0]), variance=1.0)
    post = m.infer(y=[2.0, 0.0])
    np.testing.assert_allclose(post.theta.mean, [0.0, 1.0, 2.0])
