"""Words of other libraries for parameters lead to ours."""

import inspect

import numpy as np
import pytest

import posteriori.distributions as rooms
from posteriori import Gamma, Normal, StudentT
from posteriori.distributions import Distribution
from posteriori.distributions.parameter_words import OTHER_WORDS
from posteriori.distributions.unknown import Unknown

FAMILY_NAMES = [
    name
    for name in dir(rooms)
    if inspect.isclass(getattr(rooms, name)) and issubclass(getattr(rooms, name), Distribution)
]

#: What SciPy, PyMC, Stan and PyTorch say, and what is said here.
SAID = [
    ("Normal", {"mu": 0.0, "sigma": 1.0}, "say mean=, scale="),
    ("Normal", {"loc": 0.0, "scale": 1.0}, "say mean="),
    ("Normal", {"mean": 0.0, "sd": 1.0}, "say scale="),
    ("StudentT", {"nu": 3.0, "mu": 0.0, "sigma": 1.0}, "say dof=, mean=, scale="),
    ("StudentT", {"df": 3.0, "scale": 1.0}, "say dof="),
    ("Gamma", {"alpha": 2.0, "beta": 3.0}, "say shape=, rate="),
    ("Gamma", {"shape": 2.0, "scale": 3.0}, "say rate=1/scale"),
    ("Gamma", {"concentration": 2.0, "rate": 3.0}, "it has shape, rate"),
    ("InverseGamma", {"alpha": 2.0, "beta": 3.0}, "say shape=, scale="),
    ("InverseGamma", {"shape": 2.0, "rate": 3.0}, "say scale="),
    ("Exponential", {"scale": 2.0}, "say rate=1/scale"),
    ("Exponential", {"lam": 2.0}, "say rate="),
    ("Poisson", {"mu": 2.0}, "say rate="),
    ("Bernoulli", {"p": 0.5}, "say probability="),
    ("Binomial", {"n": 3, "p": 0.5}, "say trials=, probability="),
    ("Multinomial", {"n": 3, "p": [0.5, 0.5]}, "say trials=, probabilities="),
    ("Categorical", {"p": [0.5, 0.5]}, "say probabilities="),
    ("Categorical", {"probs": [0.5, 0.5]}, "say probabilities="),
    ("Dirichlet", {"a": [1.0, 1.0]}, "say concentration="),
    ("Dirichlet", {"alpha": [1.0, 1.0]}, "say concentration="),
    ("Beta", {"alpha": 1.0, "beta": 1.0}, "say a=, b="),
    ("Uniform", {"lower": 0.0, "upper": 1.0}, "say low=, high="),
    ("MvNormal", {"mu": [0.0], "cov": [[1.0]]}, "say mean="),
    ("MvNormal", {"mean": [0.0], "covariance_matrix": [[1.0]]}, "say cov="),
    ("MvNormal", {"mean": [0.0], "scale": [[1.0]]}, "say cov="),
    ("Wishart", {"nu": 3.0, "V": [[1.0]]}, "say dof=, scale="),
    ("Laplace", {"mu": 0.0, "b": 1.0}, "say mean=, scale="),
    ("Cauchy", {"loc": 0.0, "scale": 1.0}, "say location="),
    ("HalfCauchy", {"beta": 1.0}, "say scale="),
    ("HalfNormal", {"sigma": 1.0}, "say scale="),
    ("VonMises", {"mu": 0.0, "kappa": 1.0}, "say mean=, concentration="),
    ("Normal", {"mean": 0.0, "scale": 1.0, "shape": 3}, ".iid(3) repeats a distribution"),
    ("Normal", {"mu": 0.0, "size": 3}, "say mean=; .iid(3) repeats a distribution"),
    (
        "Poisson",
        {"mu": 2.0, "observed": [1]},
        "say rate=; data are given to infer(…) by the name of the variable",
    ),
    ("Normal", {"meen": 0.0, "scale": 1.0}, "say mean="),
    ("Normal", {"colour": 0.0, "scale": 1.0}, "it has mean, variance, scale, precision"),
]


@pytest.mark.parametrize(("family", "given", "remedy"), SAID)
def test_words_of_others_name_the_parameter_that_is_meant(family, given, remedy):
    with pytest.raises(TypeError) as refused:
        getattr(rooms, family)(**given)
    assert str(refused.value).startswith(f"{family} has no parameter ")
    assert str(refused.value).endswith(f": {remedy}")


@pytest.mark.parametrize("word", sorted(OTHER_WORDS))
def test_every_word_is_meant_by_some_family_that_does_not_have_it(word):
    meant = {option.partition("=")[0] for option in OTHER_WORDS[word] if " " not in option}
    parameters = [set(inspect.signature(getattr(rooms, n)).parameters) for n in FAMILY_NAMES]
    assert all(any(name in known for known in parameters) for name in meant)
    assert any((meant & known or not meant) and word not in known for known in parameters)


def test_symbols_are_told_as_numbers_are():
    with pytest.raises(TypeError, match="say mean="):
        Normal(mu=Unknown(), variance=1.0)


def test_other_errors_of_constructors_stay():
    with pytest.raises(TypeError, match="name the spread"):
        Normal(0.0, 1.0)
    with pytest.raises(TypeError, match="takes 3 positional arguments but 4 were given"):
        Gamma(1.0, 2.0, 3.0)
    with pytest.raises(ValueError, match="variance must be"):
        Normal(0.0, variance=-1.0)


def test_what_is_left_out_is_named():
    with pytest.raises(TypeError, match=r"^Gamma needs rate$"):
        Gamma(2.0)
    with pytest.raises(TypeError, match=r"^Gamma needs shape, rate$"):
        Gamma()
    with pytest.raises(TypeError, match=r"^StudentT needs scale=$"):
        StudentT(3.0)


def test_signatures_are_those_of_the_families():
    assert list(inspect.signature(Gamma).parameters) == ["shape", "rate"]
    assert np.isclose(Gamma(2.0, 3.0).mean, 2 / 3)
