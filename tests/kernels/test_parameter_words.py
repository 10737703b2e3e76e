"""Words of other libraries for parameters of kernels lead to ours."""

import copy
import inspect
import pickle

import pytest

from posteriori import kernels
from posteriori.kernels.parameter_words import OTHER_WORDS

#: What scikit-learn, GPflow and GPyTorch say, and what is said here.
SAID = [
    ("RBF", {"length_scale": 2.0}, "say scale="),
    ("RBF", {"lengthscale": 2.0, "variance": 4.0}, "say scale=; multiply by it, as in 4.0 * RBF()"),
    ("RBF", {"gamma": 0.5}, "say scale=1/√(2·gamma)"),
    ("Matern", {"nu": 1.5, "length_scale": 2.0}, "say scale="),
    ("Periodic", {"periodicity": 2.0}, "say period="),
    ("RationalQuadratic", {"alpha": 2.0}, "say mixing="),
    ("White", {"noise_level": 2.0}, "say variance="),
    ("Constant", {"constant_value": 2.0}, "say value="),
    ("Polynomial", {"degree": 2, "coef0": 1.0}, "say offset="),
    ("Linear", {"colour": 1.0}, "it has none"),
    ("RBF", {"colour": 1.0}, "it has scale"),
]


@pytest.mark.parametrize(("kernel", "given", "remedy"), SAID)
def test_words_of_others_name_the_parameter_that_is_meant(kernel, given, remedy):
    with pytest.raises(TypeError) as refused:
        getattr(kernels, kernel)(**given)
    assert str(refused.value).startswith(f"{kernel} has no parameter ")
    assert str(refused.value).endswith(f": {remedy}")


@pytest.mark.parametrize("word", sorted(OTHER_WORDS))
def test_every_word_is_meant_by_some_kernel_that_does_not_have_it(word):
    meant = {option.partition("=")[0] for option in OTHER_WORDS[word] if " " not in option}
    every = (getattr(kernels, name) for name in dir(kernels))
    mine = [k for k in every if inspect.isclass(k) and issubclass(k, kernels.Kernel)]
    parameters = [set(inspect.signature(kernel).parameters) for kernel in mine]
    assert all(any(name in known for known in parameters) for name in meant)
    assert any((meant & known or not meant) and word not in known for known in parameters)


def test_kernels_are_copied_as_before():
    kernel = 2.0 * kernels.RBF(scale=3.0) + kernels.White(0.1)
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert copy.deepcopy(kernel) == kernel
