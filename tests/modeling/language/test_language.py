"""What the model language refuses, and in which words."""

import numpy as np
import pandas as pd
import pytest

from posteriori import Bernoulli, Categorical, Gamma, MvNormal, Normal, Poisson
from posteriori.distributions import Laplace
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
        (lambda m: np.exp(m.w), TypeError, r"np\.exp cannot be applied to w: .*multiplied"),
        (lambda m: np.exp(m.w + 1.0), TypeError, r"np\.exp cannot be applied to \(w \+ 1\)"),
        (lambda m: np.maximum(0.0, m.w), TypeError, r"np\.maximum cannot be applied to w"),
        (lambda m: np.sum(m.w), TypeError, r"np\.sum cannot be applied to w"),
        (lambda m: np.add.reduce(m.w), TypeError, r"np\.add\.reduce cannot be applied to w"),
        (lambda m: np.stack([m.w, m.w]), TypeError, r"np\.stack cannot be applied to w"),
        (lambda m: np.add(np.ones(3), m.w, out=np.ones(3)), TypeError, r"np\.add cannot"),
        (lambda m: np.ones(3) == m.w, TypeError, "w has no value yet, so == cannot"),
        (lambda m: np.ones(3) < m.w, TypeError, "w has no value yet, so == cannot"),
        (lambda m: m.w > 0.0, TypeError, "w has no value yet, so < and > cannot"),
        (lambda m: m.w**2, TypeError, r"w \*\* 2 has no closed form: .*multiplied"),
        (lambda m: 2.0**m.w, TypeError, r"2\.0 \*\* w has no closed form"),
        (lambda m: abs(m.w), TypeError, r"abs\(w\) has no closed form"),
        (lambda m: m.w / m.w, TypeError, "w / w .*only known numbers can divide.*precision"),
        (lambda m: 1.0 / m.w, TypeError, "1 / w .*only known numbers can divide"),
        (lambda m: np.ones(3) / m.w, TypeError, "only known numbers can divide"),
        (lambda m: m.w / 0.0, ZeroDivisionError, "w is divided by 0"),
        (lambda m: m.w.T, AttributeError, r"w has no \.T: "),
        (lambda m: m.w.sum(), AttributeError, r"w has no \.sum: write dot\(np\.ones"),
        (lambda m: m.w.nothing, AttributeError, "no attribute 'nothing'"),
        (lambda m: pd.DataFrame(np.ones((2, 3))) @ m.w, TypeError, r"use \.to_numpy\(\)"),
        (lambda m: pd.DataFrame(np.ones((2, 3))) * m.w, TypeError, r"use \.to_numpy\(\)"),
        (lambda m: pd.Series(np.ones(3)) + m.w, TypeError, r"use \.to_numpy\(\)"),
        (lambda m: m.w * pd.Series(np.ones(3)), TypeError, r"use \.to_numpy\(\)"),
        (lambda m: Normal(0.0, variance=1.0).iid("not a name"), ValueError, "plate"),
        (lambda m: Chain(1.0, lambda s: s, length=3), TypeError, "initial"),
    ],
)
def test_refusals(action, error, words) -> None:
    with pytest.raises(error, match=words):
        action(model())


def test_arrays_on_either_side_make_the_same_expression() -> None:
    """NumPy hands its operators over, also when they are called by name."""
    m = model()
    x = np.array([1.0, 2.0, 4.0])
    pairs = [
        (x + m.w, np.add(x, m.w)),
        (x - m.w, np.subtract(x, m.w)),
        (x * m.w, np.multiply(x, m.w)),
        (x @ m.w, np.matmul(x, m.w)),
        (m.w / x, np.divide(m.w, x)),
        (-m.w, np.negative(m.w)),
        (+m.w, np.positive(m.w)),
        (np.float64(2.0) * m.w, 2.0 * m.w),
    ]
    for a, b in pairs:
        assert repr(a) == repr(b)
    m.z = Normal(x - m.w / x, variance=1.0)
    found = m.infer(X=np.eye(3), z=x).w
    np.testing.assert_allclose(found.mean, np.zeros(3), atol=1e-12)
    np.testing.assert_allclose(found.variance, 1.0 / (1.0 + x**-2))


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


def test_several_blocks_give_a_bound() -> None:
    m = Model()
    m.tau = Gamma(2.0, 1.0)
    m.a = Normal(0.0, variance=1.0)
    m.y = Normal(m.a, precision=m.tau).iid("n")
    assert m.infer(y=np.ones(3), method="vmp").log_evidence.kind == "bound"


def test_what_has_no_method_is_refused_in_plain_words() -> None:
    m = Model()
    m.a = Normal(0.0, variance=1.0).iid(8)
    m.b = Normal(0.0, variance=1.0)
    m.y = Laplace(m.a + m.b, 1.0)
    with pytest.raises(TypeError, match=r"no method for a, b together: .*Laplace"):
        m.infer(y=np.ones(8))


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


# -- models that contradict themselves or their data ---------------------------------------------


def groups() -> Model:
    m = Model()
    m.u, m.spread = Input("n"), Input("n")
    m.theta = Normal(0.0, variance=1.0).iid("n")
    m.y = Normal(m.theta * m.u, variance=m.spread)
    m.count = Poisson(m.spread)
    return m


ONES = np.ones(3)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"u": ONES, "spread": ONES, "y": np.ones(4)}, "plate 'n' has size 4 in y but size 3 in u"),
        ({"u": ONES, "spread": ONES, "y": 1.0}, r"y has plates n but its data have shape \(\)"),
        ({"u": ONES, "spread": ONES, "y": np.ones((3, 2))}, r"y has shape \(n=3\).*\.iid"),
        ({"u": ONES, "spread": [1.0, -2.0, 1.0], "y": ONES}, "variance of y must be positive"),
        (
            {"u": ONES, "spread": [1.0, -2.0, 1.0], "count": ONES},
            "parameters of count: rate must be positive, got -2",
        ),
        ({"u": ONES, "y": ONES}, "input spread is not given"),
        ({"u": ONES, "spread": ONES, "thetta": ONES}, "did you mean 'theta'"),
    ],
)
def test_data_that_do_not_fit_change_nothing(data, words) -> None:
    m = groups()
    good = {"u": ONES, "spread": ONES, "y": ONES}
    before, answer = repr(m), float(m.infer(good).log_evidence)
    with pytest.raises(ValueError, match=words):
        float(m.infer(data).log_evidence)
    assert repr(m) == before
    assert float(m.infer(good).log_evidence) == answer


def itself() -> None:
    m = Model()
    m.a = Normal(m.a, variance=1.0)


def a_cycle() -> None:
    m = Model()
    m.a = Normal(m.b, variance=1.0)
    m.b = Normal(m.a, variance=1.0)


def a_step_that_sees_the_whole_chain() -> None:
    m = Model()
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(m.s, variance=1.0), length="t")


def a_step_that_is_no_distribution() -> None:
    m = Model()
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: s + 1.0, length="t")


def a_variable_of_another_model() -> None:
    other, m = model(), Model()
    m.w = MvNormal(np.ones(3), cov=np.eye(3))
    m.y = MvNormal(other.w, cov=np.eye(3))
    m.infer(y=np.zeros(3))


def an_input_with_two_names() -> None:
    m = Model()
    m.u = Input()
    m.v = m.u


@pytest.mark.parametrize(
    ("action", "error", "words"),
    [
        (itself, AttributeError, "no variable or input 'a'"),
        (a_cycle, AttributeError, "no variable or input 'b'"),
        (a_step_that_sees_the_whole_chain, AttributeError, "no variable or input 's'"),
        (a_step_that_is_no_distribution, TypeError, "step function of s must return a distri"),
        (a_variable_of_another_model, ValueError, "w is a variable of another model"),
        (an_input_with_two_names, ValueError, "named 'u' already"),
    ],
)
def test_models_that_cannot_be(action, error, words) -> None:
    with pytest.raises(error, match=words):
        action()


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x != 1.0,
        lambda x: x < 1.0,
        lambda x: 0.0 < x < 1.0,
        lambda x: x in [0.0, x],
        lambda x: x and 1.0,
        lambda x: abs(x),
        lambda x: x**2,
        lambda x: max(x, 0.0),
    ],
)
def test_what_needs_a_value_is_refused(use) -> None:
    with pytest.raises(TypeError):
        use(model().w)


@pytest.mark.parametrize("plate", [None, "n"])
def test_states_given_by_natural_parameters_are_those_of_their_probabilities(plate):
    y = 1.0 if plate is None else np.array([1.0, 2.5])
    p = 1.0 / (1.0 + np.exp(1.2))
    families = Bernoulli.from_natural(-1.2), Categorical.from_natural([0.0, -1.2])
    found = []
    for prior in (*families, Bernoulli(p), Categorical([1.0 - p, p])):
        m = Model()
        m.z = prior if plate is None else prior.iid(plate)
        m.y = Normal(take([0.0, 3.0], m.z), variance=1.0)
        found.append(float(m.infer(y=y).log_evidence))
    np.testing.assert_allclose(found, found[-1], rtol=1e-12)


def test_densities_of_zero_and_infinity_have_no_product():
    m = Model()
    m.a, m.b = Gamma(2.0, 1.0), Gamma(0.5, 1.0)
    assert m.log_joint(a=0.0, b=1.0) == -np.inf
    assert m.log_joint(a=1.0, b=0.0) == np.inf
    with pytest.raises(ValueError, match="0 at these values and that of another infinite"):
        m.log_joint(a=0.0, b=0.0)
