"""Classifiers of any family: the geometric example of the notes, and conjugate learning as oracle."""

import numpy as np
import pytest

from posteriori import Beta, Gamma, MvNormal, Normal, NormalInverseWishart, Poisson
from posteriori.classification import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from posteriori.distributions import Geometric

X = np.array([[0], [2], [0], [2], [0], [1]])
Y = np.array(["w1", "w1", "w2", "w2", "w2", "w2"])
HALF = [0.5, 0.5]


@pytest.mark.topic("002/B7")
def test_the_plugged_in_geometric_classes_of_the_notes():
    model = GenerativeClassifier(Geometric, class_prior=HALF).fit(X, Y)
    joint = np.exp(model.joint_log_prob([[1]]))[0]
    np.testing.assert_allclose(joint, [0.125, 0.5 * 12 / 49], rtol=1e-12)
    assert model.predict([[1]])[0] == "w1"
    k = np.arange(4)[:, None]
    np.testing.assert_allclose(
        2 * np.exp(model.joint_log_prob(k)),
        [[0.5, 0.5714], [0.25, 0.2449], [0.125, 0.10496], [0.0625, 0.04498]],
        atol=5e-5,
    )
    assert model.predict(k).tolist() == ["w2", "w1", "w1", "w1"]


@pytest.mark.topic("002/B9", "002/B10")
def test_the_integrated_geometric_classes_decide_otherwise():
    model = GenerativeClassifier(Geometric, Beta(1, 1), class_prior=HALF).fit(X, Y)
    assert model.posterior_[0].a == 3
    assert model.posterior_[1].b == 4
    assert model.predict([[1]])[0] == "w2"
    assert model.predict_proba([[1]])[0, 1] == pytest.approx(28 / 55, rel=1e-12)
    k = np.arange(6)[:, None]
    table = 2 * np.exp(model.joint_log_prob(k))
    np.testing.assert_allclose(
        table[:, 0], [0.5, 0.21429, 0.10714, 0.05952, 0.03571, 0.02273], atol=5e-6
    )
    np.testing.assert_allclose(
        table[:, 1], [0.55556, 0.22222, 0.10101, 0.05051, 0.02720, 0.01554], atol=5e-6
    )
    assert model.predict(k).tolist() == ["w2", "w2", "w1", "w1", "w1", "w1"]


@pytest.mark.topic("002/B10")
def test_with_many_rows_both_agree():
    many, labels = np.tile(X, (500, 1)), np.tile(Y, 500)
    plug = GenerativeClassifier(Geometric, class_prior=HALF).fit(many, labels)
    full = GenerativeClassifier(Geometric, Beta(1, 1), class_prior=HALF).fit(many, labels)
    k = np.arange(6)[:, None]
    np.testing.assert_allclose(full.predict_proba(k), plug.predict_proba(k), atol=2e-3)


def test_vectors_are_the_gaussian_discriminant():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    rows = rng.normal(size=(40, 2)) + y[:, None]
    prior = NormalInverseWishart([0.0, 0.0], 1.0, 4.0, np.eye(2))
    ours = GenerativeClassifier(MvNormal, prior).fit(rows, y)
    theirs = GaussianDiscriminant("full", prior=prior).fit(rows, y)
    np.testing.assert_allclose(ours.joint_log_prob(rows), theirs.joint_log_prob(rows), rtol=1e-10)
    assert float(ours.log_evidence_ - theirs.log_evidence_) == pytest.approx(0.0, abs=1e-9)
    drawn, label = ours.sample(5000, rng=0)
    for k in (0, 1):
        mine = drawn[label == k]
        error = mine.std(axis=0) / np.sqrt(len(mine))
        assert (np.abs(mine.mean(axis=0) - ours.posterior_[k].location) < 5 * error).all()


def test_numbers_in_several_columns_are_naive_bayes():
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    rows = rng.poisson(2.0 + y[:, None], (60, 2))
    prior = Gamma(1.0, rate=0.5)
    ours = GenerativeClassifier(Poisson, prior).fit(rows, y, sample_weight=np.arange(60) % 4)
    theirs = NaiveBayes("poisson", priors={"poisson": prior})
    theirs.fit(rows, y, sample_weight=np.arange(60) % 4)
    np.testing.assert_allclose(ours.joint_log_prob(rows), theirs.joint_log_prob(rows), rtol=1e-10)
    assert float(ours.log_evidence_ - theirs.log_evidence_) == pytest.approx(0.0, abs=1e-9)
    assert ours.sample(7, rng=0)[0].shape == (7, 2)


def test_a_function_of_the_unknown_states_what_is_known():
    model = GenerativeClassifier(lambda mu: Normal(mu, variance=1.0), Normal(0, variance=4))
    found = model.fit([[1.0], [2.0], [-1.0]], [1, 1, 0]).posterior_[1]
    assert found.mean == pytest.approx(4 / 3)


def test_wrong_choices_are_refused():
    with pytest.raises(TypeError, match="family must be a family"):
        GenerativeClassifier(lambda mu: Normal(mu, variance=1.0)).fit(X, Y)
    with pytest.raises(ValueError, match=r"whole numbers where there is a prior, got 0\.5"):
        GenerativeClassifier(Geometric, Beta(1, 1)).fit(X, Y, sample_weight=np.full(6, 0.5))
    with pytest.raises(ValueError, match="support of Geometric"):
        GenerativeClassifier(Geometric, Beta(1, 1)).fit(X - 1, Y)
