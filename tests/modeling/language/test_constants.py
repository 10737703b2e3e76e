"""Point masses among the variables of a model: each is the number at which it lies."""

from typing import Any

import numpy as np
import pytest

from posteriori import Gamma, MvNormal, Normal, PointMass, Poisson
from posteriori.modeling import Chain, Input, Model, Posterior

X = np.array([0.3, 1.2, 2.0])
COUNTS = [1, 0, 4]


def _one_mean(m: Model, c: Any) -> Posterior:
    m.x = Normal(c, variance=2.0).iid("n")
    return m.infer(x=X)


def _rate(m: Model, c: Any) -> Posterior:
    m.x = Poisson(c).iid("n")
    return m.infer(x=COUNTS)


def _precision(m: Model, c: Any) -> Posterior:
    m.x = Normal(0.5, precision=c).iid("n")
    return m.infer(x=X)


def _beside_an_unknown(m: Model, c: Any) -> Posterior:
    m.w = Normal(0.0, variance=3.0)
    m.x = Normal(c * m.w + c, variance=1.0).iid("n")
    return m.infer(x=X)


def _above_a_prior(m: Model, c: Any) -> Posterior:
    m.w = Gamma(c, rate=2.0)
    m.x = Poisson(m.w).iid("n")
    return m.infer(x=COUNTS)


@pytest.mark.parametrize(
    "write", [_one_mean, _rate, _precision, _beside_an_unknown, _above_a_prior]
)
def test_a_point_mass_is_the_number_at_which_it_lies(write: Any) -> None:
    named, plain = Model(), Model()
    named.c = PointMass(1.5)
    post, truth = write(named, named.c), write(plain, 1.5)
    assert float(post.log_evidence - truth.log_evidence) == 0.0
    assert post.c == PointMass(1.5)
    if "w" in plain:
        assert post.w == truth.w


def test_a_point_mass_over_a_plate_has_a_member_for_each_row() -> None:
    m = Model()
    m.mu = PointMass(1.0).iid("n")
    m.x = Normal(m.mu, variance=2.0)
    post = m.infer(x=X)
    truth = np.sum(Normal(1.0, variance=2.0).log_prob(X))
    assert float(post.log_evidence) == pytest.approx(float(truth), rel=1e-14)
    assert post.mu == PointMass(np.ones(3))
    assert post.predict("x", n=5) == Normal(np.ones(5), variance=2.0)
    assert repr(m.plan(x=X)) == "known: mu, x"
    assert "nothing below" not in repr(post)
    np.testing.assert_array_equal(post.sample(2, rng=0)["mu"], np.ones((2, 3)))


def test_vectors_and_inputs_are_constants_too() -> None:
    rows = np.column_stack([X, -X])
    m = Model()
    m.mu = PointMass([1.0, 2.0], event_ndim=1)
    m.x = MvNormal(m.mu, cov=np.eye(2)).iid("n")
    truth = np.sum(MvNormal([1.0, 2.0], cov=np.eye(2)).log_prob(rows))
    assert float(m.infer(x=rows).log_evidence) == pytest.approx(float(truth), rel=1e-14)
    m = Model()
    m.level = Input("n")
    m.mu = PointMass(m.level)
    m.x = Normal(m.mu, variance=2.0)
    truth = np.sum(Normal(X, variance=2.0).log_prob(X + 1.0))
    assert float(m.infer(x=X + 1.0, level=X).log_evidence) == pytest.approx(float(truth), rel=1e-14)


def test_data_of_a_point_mass_must_be_its_number() -> None:
    m = Model()
    m.mu = PointMass(1.0).iid("n")
    m.x = Normal(m.mu, variance=2.0)
    truth = np.sum(Normal(1.0, variance=2.0).log_prob(X))
    seen = m.infer(mu=[1.0, 1.0, 1.0], x=X)
    assert float(seen.log_evidence) == pytest.approx(float(truth), rel=1e-14)
    with pytest.raises(ValueError, match="the value of mu at n=1 is impossible"):
        m.infer(mu=[1.0, 1.5, 1.0], x=X)


def test_an_expression_of_unknowns_is_written_where_it_is_used() -> None:
    m = Model()
    m.a = Normal(0.0, variance=1.0)
    m.mu = PointMass(2.0 * m.a)
    m.x = Normal(m.mu, variance=1.0)
    with pytest.raises(TypeError, match="write the expression of a in its place"):
        m.infer(x=1.0)


def test_a_chain_that_starts_at_a_point_is_told_where_to_start() -> None:
    m = Model()
    m.z = Chain(PointMass(0.0), lambda z: Normal(z, variance=1.0), "t")
    m.x = Normal(m.z, variance=1.0)
    with pytest.raises(TypeError, match="start it at its first unknown member"):
        m.infer(x=X)
