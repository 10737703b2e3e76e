"""Classes that no data need stay empty, and posteriors say so."""

import numpy as np

from posteriori import Categorical, Dirichlet, Model, Normal
from tests.modeling.variational.small_models import CASES


def test_empty_classes_keep_their_prior_and_are_reported():
    x = np.concatenate([np.linspace(-9, -7, 20), np.linspace(7, 9, 20)])
    m = Model()
    m.pi = Dirichlet(0.01 * np.ones(5))
    m.mu = Normal(0, variance=100).iid(5)
    m.z = Categorical(m.pi).iid("n")
    m.x = Normal(m.mu[m.z], variance=1)
    post = m.infer(x=x)
    expected = post.z.probabilities.sum(axis=0)
    empty = expected < 1e-3
    assert empty.sum() == 3
    assert np.allclose(post.mu.mean[empty], 0.0, atol=0.1)
    assert np.allclose(post.mu.variance[empty], 100.0, rtol=0.01)
    assert repr(post).splitlines()[-1] == "  2 of 5 classes of z are used"


def test_models_without_classes_say_nothing_of_them():
    model, data = CASES["regression"]()
    assert "classes" not in repr(model.infer(data))


def test_chains_of_classes():
    model, data = CASES["hidden Markov"]()
    assert repr(model.infer(data)).endswith("2 of 2 classes of z are used")
