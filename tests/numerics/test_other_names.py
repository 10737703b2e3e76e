"""Words of the field lead to public names that exist."""

from importlib import import_module

import pytest

import posteriori
from posteriori.numerics.lazy import names_here, read_other_names


def test_every_word_leads_to_public_names():
    missing = [
        (word, name)
        for word, here in read_other_names().items()
        for room, _, name in (one.partition(".") for one in here)
        if name not in import_module(f"posteriori.{room}").__all__
    ]
    assert not missing


def test_words_of_the_field_are_known():
    words = [
        "Kalman",
        "Viterbi",
        "Baum-Welch",
        "UKF",
        "ARIMA",
        "LDA",
        "GMM",
        "DummyClassifier",
        "ANOVA",
        "AutoML",
    ]
    assert all(names_here(word) for word in words)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("kalman_filter", "sequence.LinearGaussianSystem"),
        ("XGBRegressor", "ensemble.GradientBoosting"),
        ("LGBMClassifier", "ensemble.GradientBoosting"),
        ("LassoCV", "regression.RelevanceVectorRegressor"),
        ("BaumWelch", "sequence.HiddenMarkovModel"),
        ("analyze", "analysis.compare"),
    ],
)
def test_missing_names_tell_what_to_use(asked, told):
    with pytest.raises(AttributeError, match=rf"here that is posteriori\.{told}"):
        getattr(posteriori, asked)
    assert asked not in posteriori.__all__


def test_imports_tell_it_too():
    with pytest.raises(ImportError, match=r"here that is posteriori\.sequence\.HiddenMarkovChain"):
        from posteriori.sequence import Viterbi  # noqa: F401


def test_a_room_that_has_the_name_is_told_first():
    with pytest.raises(AttributeError, match=r"posteriori\.mixture has it"):
        _ = posteriori.sequence.GaussianMixture


def test_unknown_words_have_no_name():
    assert names_here("unheard") == names_here("") == ()
