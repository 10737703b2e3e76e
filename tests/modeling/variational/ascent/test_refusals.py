"""Uses that cannot work, and what the answers say: the variable, the value and the remedy."""

from typing import Any

import numpy as np
import pytest

from posteriori import Categorical, Dirichlet, Gamma, MvNormal, Normal, Poisson, StudentT
from posteriori.distributions import Laplace
from posteriori.modeling import Chain, Input, Model, dot, merge
from tests.modeling.variational.cases import clusters, noise

X = noise(8)


def level(mean: float = 0.0, variance: float = 100.0) -> Model:
    m = Model()
    m.mu = Normal(mean, variance=variance)
    m.tau = Gamma(2.0, rate=1.0)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    return m


def mixture(classes: int = 3, rows: int = 3) -> Model:
    m = Model()
    m.pi = Dirichlet(np.ones(classes))
    m.mu = Normal(0.0, variance=10.0).iid(rows)
    m.z = Categorical(m.pi).iid("n")
    m.x = Normal(m.mu[m.z], variance=1.0)
    return m


# -- tables and states -----------------------------------------------------------------------


@pytest.mark.parametrize("rows", [2, 4])
def test_a_table_has_a_row_for_each_state(rows: int) -> None:
    words = (
        rf"a table with {rows} rows is indexed by z, which has 3 states, .* of x: give it 3 rows"
    )
    with pytest.raises(ValueError, match=words):
        mixture(rows=rows).infer(x=X)


def test_a_chain_keeps_its_states() -> None:
    m = Model()
    m.A = Dirichlet(np.ones(3)).iid(2)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.A[z]), length="t")
    m.mu = Normal(0.0, variance=1.0).iid(2)
    m.x = Normal(m.mu[m.z], variance=1.0)
    with pytest.raises(ValueError, match="z has 2 states at first but 3 in a later member"):
        m.infer(x=X)


# -- small parameters ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        (Gamma(1e-300, 1.0), "the shape of tau is 1e-300, too small .* at least 1e-15"),
        (Gamma(1.0, 1e-320), "the rate of tau is 1e-320, too small .* at least 1e-300"),
    ],
)
def test_priors_that_vanish_in_rounding(prior: Gamma, words: str) -> None:
    m = Model()
    m.mu = Normal(0.0, variance=100.0)
    m.tau = prior
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    with pytest.raises(ValueError, match=words):
        m.infer(x=X)


def test_a_known_variance_whose_inverse_overflows() -> None:
    m = Model()
    m.tau = Gamma(2.0, rate=1.0)
    m.w = Normal(0.0, precision=m.tau)
    m.x = Normal(m.w, variance=1e-320).iid("n")
    with pytest.raises(ValueError, match=r"the variance of x is 1e-320, .* units in which"):
        m.infer(x=X)


def test_concentrations_that_vanish_in_rounding() -> None:
    m = mixture()
    m.rest = Dirichlet(1e-20 * np.ones(2))
    m.y = Categorical(m.rest).iid("n")
    m.v = Normal(m.mu[m.y], variance=1.0)
    with pytest.raises(ValueError, match=r"concentration of rest is 1e-20, .* at least 1e-15"):
        m.infer(x=X, v=X)


def test_small_parameters_that_can_be_held() -> None:
    m = Model()
    m.mu = Normal(0.0, variance=100.0)
    m.tau = Gamma(1e-15, 1e-300)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    assert abs(m.infer(x=X).mu.mean - X.mean()) < 0.1


# -- large numbers and far priors ------------------------------------------------------------


def test_squares_overflow() -> None:
    with pytest.raises(
        ValueError, match=r"x must lie within ±1e\+150, got 1\.304e\+160; divide it"
    ):
        level().infer(x=X * 1e160)
    m = level()
    m.y = Normal(m.mu + 1e200, variance=1.0)
    with pytest.raises(ValueError, match=r"known mean of y must lie within ±1e\+100, got 1e\+200"):
        m.infer(x=X, y=0.0)


@pytest.mark.parametrize(("data", "prior"), [(1e12, 0.0), (0.0, 1e12), (0.0, 1e160), (-1e9, 0.0)])
def test_a_prior_too_far_from_its_data(data: float, prior: float) -> None:
    words = r"the prior of mu expects .* ± 10 but the data put it near .* give it a wider prior"
    with pytest.raises(ValueError, match=words):
        level(prior).infer(x=data + X)


def test_a_vector_prior_too_far_from_its_data() -> None:
    m = Model()
    m.mu = MvNormal(np.zeros(2), cov=np.eye(2))
    m.tau = Gamma(2.0, rate=1.0)
    m.x = MvNormal(m.mu, precision=m.tau * np.eye(2)).iid("n")
    with pytest.raises(ValueError, match=r"mu expects 0 ± 1 but the data put it near 1e\+10"):
        m.infer(x=noise(8, 2) + np.array([0.0, 1e10]))


def test_weights_too_far_from_their_data() -> None:
    m = Model()
    m.X = Input("n")
    m.w = Normal(0.0, variance=1.0).iid(2)
    m.tau = Gamma(2.0, rate=1.0)
    m.y = Normal(dot(m.X, m.w), precision=m.tau)
    with pytest.raises(ValueError, match=r"prior of w expects 0 ± 1 but .* near 1e\+11"):
        m.infer(X=np.column_stack([np.ones(8), X]), y=1e11 + clusters(8))


def test_far_is_not_too_far() -> None:
    """A prior 10⁵ standard deviations away is the user's to have: 10¹⁰ nats, of which 6 digits stay."""
    post = level(0.0, 1.0).infer(x=1e5 + X)
    assert abs(post.mu.mean) < 10.0  # the precision gives way, not the prior
    assert post.tau.mean == pytest.approx(6.0 / (1.0 + 0.5 * 8 * 1e10), rel=1e-3)


@pytest.mark.parametrize("s", [1e-150, 1e-100, 1e50, 1e99])
def test_huge_and_tiny_units(s: float) -> None:
    """The belief about the precision has a closed form where the mean is known."""
    post = level(0.0, 1e-12 * s**2 if s > 1 else 1e-200).infer(x=X * s)
    rate = 1.0 + 0.5 * np.sum((X * s) ** 2)
    assert post.tau.rate == pytest.approx(rate, rel=1e-6)
    assert np.isfinite(float(post.log_evidence))


# -- priors without rule -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prior", "parameter", "words"),
    [
        (Normal(1.0, variance=1.0), "precision", "give s a prior of family Gamma or Wishart"),
        (Normal(1.0, variance=1.0), "variance", "give s a prior of family InverseGamma, or let"),
        (Normal(1.0, variance=1.0), "scale", "give s a prior of family HalfNormal"),
        (Laplace(1.0, 1.0), "scale", "s is Laplace, which may be negative"),
        (Poisson(1.0), "precision", "s is Poisson, which is discrete"),
    ],
)
def test_priors_without_rule(prior: Any, parameter: str, words: str) -> None:
    m = Model()
    m.mu = Normal(0.0, variance=1.0)
    m.s = prior
    m.x = Normal(m.mu, **{parameter: m.s}).iid("n")
    with pytest.raises(TypeError, match=words):
        m.infer(x=X)


# -- few, equal and tiny data ------------------------------------------------------------------


@pytest.mark.parametrize("x", [[], [2.0], np.full(6, 3.0), [np.nan, 1.0], X * 1e-150])
@pytest.mark.parametrize("make", [level, mixture])
def test_odd_data_have_an_answer(make: Any, x: Any) -> None:
    post = make().infer(x=x)
    assert np.isfinite(float(post.log_evidence))
    assert np.all(np.isfinite(post.mu.mean))
    assert np.all(post.mu.variance > 0)


@pytest.mark.parametrize("x", [[], np.full(4, np.nan)])
@pytest.mark.parametrize("make", [level, mixture])
def test_where_all_is_missing_nothing_changes(make: Any, x: Any) -> None:
    """Mean field would be a bound below 0 even on the prior, whose variables depend on another."""
    model = make()
    post = model.infer(x=x)
    assert float(post.log_evidence) == 0.0
    assert np.all(post.mu.variance == (10.0 if make is mixture else 100.0))
    if make is mixture:
        assert post.pi == Dirichlet(np.ones(3))
        np.testing.assert_allclose(post.z.probabilities, np.full((len(x), 3), 1 / 3))
        assert post.mu == Normal(np.zeros(3), variance=10.0)
    later = post.update(x=X)
    assert float(later.log_evidence) == pytest.approx(
        float(model.infer(x=X).log_evidence), abs=1e-5
    )


def test_weights_of_missing_data_have_their_prior() -> None:
    """Without data the weight of a column is a Student t: normal, with its Gamma summed out."""
    m = Model()
    m.a = Gamma(1.5, rate=2.0).iid(2)
    m.W = Normal(0.0, precision=m.a).iid(3)
    m.z = MvNormal(np.zeros(2), cov=np.eye(2)).iid("n")
    m.x = Normal(m.W @ m.z, variance=1.0)
    post = m.infer(x=np.full((4, 3), np.nan))
    assert float(post.log_evidence) == 0.0
    assert isinstance(post.W, StudentT)
    np.testing.assert_allclose(post.W.dof, 3.0)
    np.testing.assert_allclose(post.W.scale, np.sqrt(2.0 / 1.5))


def test_merge_takes_posteriors_one_by_one() -> None:
    post = level().infer(x=X)
    with pytest.raises(TypeError, match=r"as in merge\(a, b\), got list"):
        merge([post, post])
