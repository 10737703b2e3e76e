"""What a newcomer asks wrongly is answered with what was meant."""

from collections.abc import Callable
from typing import Any

import pytest

from posteriori import Model, Normal
from posteriori.modeling.contract.options import OPTION_NAMES, OTHER_WORDS


@pytest.fixture(scope="module")
def model() -> Model:
    m = Model()
    m.theta = Normal(0, variance=1)
    m.y = Normal(m.theta, variance=1).iid("n")
    return m


WRONG: list[tuple[Callable[[Model, Any], Any], type[Exception], str]] = [
    (lambda m, p: p.summary("thet"), KeyError, "no variable 'thet'; did you mean 'theta'"),
    (lambda m, p: p.summary("Theta"), KeyError, "did you mean 'theta'"),
    (lambda m, p: p.summary("sigma"), KeyError, "no variable 'sigma'; it has theta, y"),
    (lambda m, p: p.summary(["theta"]), TypeError, r"one by one, .* got \['theta'\]"),
    (lambda m, p: p.summary("y"), KeyError, "y was observed"),
    (lambda m, p: p.summary(mass="0.9"), ValueError, "mass must be a number .* got '0.9'"),
    (lambda m, p: p.summary(mass=90), ValueError, "mass must be a number between 0 and 1, got 90"),
    (lambda m, p: p["Theta"], KeyError, "did you mean 'theta'"),
    (lambda m, p: p.thetas, AttributeError, "did you mean 'theta'"),
    (lambda m, p: p.predict("Y"), ValueError, "no variable 'Y' to predict; did you mean 'y'"),
    (lambda m, p: p.predict("y", N=2), ValueError, "no input or plate 'N'; did you mean 'n'"),
    (lambda m, p: p.update(Y=[1.0]), ValueError, "did you mean 'y'"),
    (lambda m, p: m.infer(Y=[1.0]), ValueError, "no variable or input 'Y'; did you mean 'y'"),
    (lambda m, p: m.infer(y=[1.0], max_iters=3), ValueError, "did you mean 'max_iter'"),
    (lambda m, p: m.infer(y=[1.0], algorithm="vmp"), ValueError, "no option 'algorithm': say method="),
    (lambda m, p: m.Theta, AttributeError, "did you mean 'theta'"),
    (lambda m, p: m.infer(z=[1.0]), ValueError, "no variable or input 'z'; it has theta, y"),
]  # fmt: skip


@pytest.mark.parametrize(("ask", "error", "words"), WRONG)
def test_wrong_questions_are_answered(
    model: Model, ask: Callable[[Model, Any], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ask(model, model.infer(y=[1.0, 2.0]))


def test_words_of_others_lead_to_options_that_there_are() -> None:
    assert set(OTHER_WORDS.values()) <= OPTION_NAMES
    assert OTHER_WORDS.keys().isdisjoint(OPTION_NAMES)


def test_a_model_may_have_a_variable_that_is_called_as_others_call_an_option() -> None:
    m = Model()
    m.start = Normal(0, variance=1)
    m.y = Normal(m.start, variance=1)
    assert m.infer(y=1.0).start.mean == pytest.approx(0.5)
    assert m.infer(start=1.0, y=2.0).log_evidence.kind == "exact"
