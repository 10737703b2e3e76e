"""Class probabilities under other priors and from several models, against the joint table."""

import numpy as np
import pytest
from scipy import stats

from posteriori import MvNormal, Normal
from posteriori.decision import class_posterior, combine_posteriors, compensate_priors, decide


@pytest.mark.topic("003/D.5")
def test_a_posterior_of_balanced_training_data_in_a_rare_disease():
    found = compensate_priors([0.8, 0.2], [0.5, 0.5], [0.01, 0.99])
    assert found[0] == pytest.approx(0.0388349515, abs=5e-11)
    np.testing.assert_allclose(compensate_priors(found, [0.01, 0.99], [0.5, 0.5]), [0.8, 0.2])


@pytest.mark.topic("003/D.6")
def test_two_models_that_agree_are_surer_than_either():
    found = combine_posteriors([[0.8, 0.2], [0.7, 0.3]])
    assert found[0] == pytest.approx(0.9032258065, abs=5e-11)


@pytest.mark.topic("003/D.6")
def test_combination_equals_the_posterior_of_the_joint_table():
    rng = np.random.default_rng(0)
    prior = rng.dirichlet(np.ones(3))
    a, b = rng.dirichlet(np.ones(4), 3), rng.dirichlet(np.ones(5), 3)  # p(a|k), p(b|k)
    joint = np.einsum("k,ka,kb->abk", prior, a, b)
    truth = joint / joint.sum(axis=-1, keepdims=True)
    given_a, given_b = joint.sum(axis=1), joint.sum(axis=0)
    given_a /= given_a.sum(axis=-1, keepdims=True)
    given_b /= given_b.sum(axis=-1, keepdims=True)
    found = combine_posteriors([given_a[:, None], given_b[None]], prior)
    np.testing.assert_allclose(found, truth, rtol=1e-12)


@pytest.mark.topic("002/A1", "002/A2")
def test_four_scorings_give_the_same_label():
    means, priors = np.array([[0.0, 0.0], [2.0, 1.0], [-1.0, 3.0]]), [0.5, 0.2, 0.3]
    classes = [MvNormal(m, cov=np.eye(2)) for m in means]
    x = np.random.default_rng(1).normal(0, 3, (200, 2))
    likelihood = np.stack([stats.multivariate_normal(m).pdf(x) for m in means], axis=1)
    joint = likelihood * priors
    posterior = class_posterior(classes, x, priors)
    np.testing.assert_allclose(posterior, joint / joint.sum(axis=1, keepdims=True), rtol=1e-9)
    label = decide(posterior).code
    np.testing.assert_array_equal(label, joint.argmax(axis=1))
    np.testing.assert_array_equal(label, (np.log(likelihood) + np.log(priors)).argmax(axis=1))


def test_points_far_from_all_classes_have_probabilities_that_sum_to_one():
    p = class_posterior([Normal(0, variance=1), Normal(1, variance=1)], [-1e5, 1e5])
    np.testing.assert_allclose(p, [[1, 0], [0, 1]])


def test_what_cannot_be_scaled_is_refused():
    with pytest.raises(ValueError, match=r"old\[0\] is 0"):
        compensate_priors([0.0, 1.0], [0.0, 1.0], [0.5, 0.5])
    with pytest.raises(ValueError, match="no class is possible"):
        compensate_priors([1.0, 0.0], [0.5, 0.5], [0.0, 1.0])
    with pytest.raises(ValueError, match="no class is possible"):
        combine_posteriors([[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="at least two"):
        class_posterior([Normal(0, variance=1)], 0.0)
    with pytest.raises(ValueError, match="points of shape"):
        class_posterior([Normal(0, variance=1), MvNormal([0.0, 0.0], cov=np.eye(2))], 0.0)
