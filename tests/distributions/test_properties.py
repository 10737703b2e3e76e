"""Laws that hold for all members, on bounded and well-conditioned domains."""

import pickle

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from posteriori.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Dirichlet,
    Exponential,
    Gamma,
    InverseGamma,
    MvNormal,
    Normal,
    Poisson,
)
from posteriori.distributions.coordinates import flatten_natural, inner

reals = st.floats(-50, 50)
sizes = st.floats(0.05, 50)
shares = st.floats(0.02, 0.98)
counts = st.floats(0.5, 50)  # draws of smaller ones round to the end points
vectors = st.lists(reals, min_size=2, max_size=2)


@st.composite
def covariances(draw):
    """2×2 covariances with correlations up to 0.9."""
    a, b, r = draw(sizes), draw(sizes), draw(st.floats(-0.9, 0.9))
    cross = r * np.sqrt(a * b)
    return np.array([[a, cross], [cross, b]])


MEMBERS = {
    "Normal": st.builds(lambda m, v: Normal(m, variance=v), reals, sizes),
    "MvNormal": st.builds(lambda m, c: MvNormal(m, cov=c), vectors, covariances()),
    "Gamma": st.builds(Gamma, sizes, sizes),
    "InverseGamma": st.builds(InverseGamma, sizes, sizes),
    "Exponential": st.builds(Exponential, sizes),
    "Beta": st.builds(Beta, counts, counts),
    "Dirichlet": st.builds(Dirichlet, st.lists(counts, min_size=3, max_size=3)),
    "Bernoulli": st.builds(Bernoulli, shares),
    "Poisson": st.builds(Poisson, sizes),
    "Binomial": st.builds(Binomial, st.just(9), shares),
}
CLOSED = (
    "Normal",
    "MvNormal",
    "Gamma",
    "InverseGamma",
    "Exponential",
    "Beta",
    "Dirichlet",
    "Bernoulli",
)

every_family = pytest.mark.parametrize("name", MEMBERS)
every_closed_family = pytest.mark.parametrize("name", CLOSED)


def flat(d):
    return flatten_natural(d.natural, d._natural_ndims)


def assert_same(p, q, rtol=1e-9):
    for ours, theirs in zip(p._key(), q._key(), strict=True):
        scale = max(1.0, float(np.max(np.abs(ours))))
        np.testing.assert_allclose(theirs, ours, rtol=rtol, atol=rtol * scale)


@every_family
@given(data=st.data())
def test_natural_parameters_lead_back(name, data):
    d = data.draw(MEMBERS[name])
    assert_same(d, d.from_natural(*d.natural))


@every_family
@given(data=st.data())
def test_mean_parameters_lead_back(name, data):
    d = data.draw(MEMBERS[name])
    again = d.from_mean_params(*d.mean_params)
    # E[x²] − E[x]² costs the digits by which the mean exceeds the spread
    assert_same(d, again, 1e-9 if "Normal" in name else 1e-7)


@every_family
@given(data=st.data())
def test_kl_is_never_negative_and_0_only_for_equals(name, data):
    p, q = data.draw(MEMBERS[name]), data.draw(MEMBERS[name])
    assert p.kl(q) >= 0
    assert p.kl(p) <= 1e-14
    gap = np.max(np.abs(flat(p) - flat(q)) / (1 + np.abs(flat(p))))
    if gap > 1e-3:
        assert p.kl(q) > 0


@every_family
@given(data=st.data())
def test_kl_is_the_bregman_divergence_of_the_log_normalizer(name, data):
    p, q = data.draw(MEMBERS[name]), data.draw(MEMBERS[name])
    gap = tuple(b - a for a, b in zip(p.natural, q.natural, strict=True))
    terms = (q.log_normalizer(), p.log_normalizer(), inner(gap, p.mean_params, p._natural_ndims))
    bregman = terms[0] - terms[1] - terms[2]
    assert p.kl(q) == pytest.approx(bregman, rel=1e-9, abs=1e-11 * max(map(abs, terms)) + 1e-12)


@every_family
@given(data=st.data())
def test_entropy_is_the_normalizer_less_the_exponent(name, data):
    d = data.draw(MEMBERS[name])
    terms = (d.log_normalizer(), inner(d.natural, d.mean_params, d._natural_ndims))
    expected = terms[0] - terms[1] - d._expected_log_carrier()
    assert d.entropy() == pytest.approx(
        expected, rel=1e-9, abs=1e-11 * max(map(abs, terms)) + 1e-12
    )


@every_family
@given(data=st.data())
def test_cross_entropy_exceeds_the_entropy_by_the_divergence(name, data):
    p, q = data.draw(MEMBERS[name]), data.draw(MEMBERS[name])
    assert p.cross_entropy(q) == pytest.approx(p.entropy() + p.kl(q), rel=1e-12, abs=1e-12)
    assert p.cross_entropy(q) >= p.entropy()


@every_closed_family
@given(data=st.data())
def test_products_add_natural_parameters(name, data):
    p, q, r = (data.draw(MEMBERS[name]) for _ in range(3))
    product = p * q
    assume(np.all(product.is_proper) and np.all((product * r).is_proper))
    scale = max(1.0, np.max(np.abs(flat(p))), np.max(np.abs(flat(q))))
    np.testing.assert_allclose(flat(product), flat(p) + flat(q), rtol=1e-10, atol=1e-10 * scale)
    assert_same(product, q * p)
    assert_same((p * q) * r, p * (q * r), 1e-8)
    assert_same((p * q) / q, p, 1e-6)


def assert_multiplied(p, t):
    scale = max(1.0, np.max(np.abs(flat(p))))
    np.testing.assert_allclose(flat(p**t), t * flat(p), rtol=1e-10, atol=1e-10 * scale)


@every_closed_family
@given(data=st.data(), t=st.floats(0.1, 5.0))
def test_powers_multiply_natural_parameters(name, data, t):
    assert_multiplied(data.draw(MEMBERS[name]), t)


def test_powers_keep_the_digits_of_a_probability_near_one():
    assert_multiplied(Bernoulli(0.96875), 5.0)
    near = Bernoulli(0.96875) ** 30.0  # the probability of a 0 is 1e-45
    np.testing.assert_allclose(flat(near ** (1.0 / 30.0)), flat(Bernoulli(0.96875)), rtol=1e-14)
    again = pickle.loads(pickle.dumps(near))
    np.testing.assert_array_equal(flat(again), flat(near))
    np.testing.assert_array_equal(flat(near.iid(2)), np.stack([flat(near)] * 2))


@every_closed_family
@given(data=st.data())
def test_product_is_pointwise(name, data):
    p, q = data.draw(MEMBERS[name]), data.draw(MEMBERS[name])
    assume(np.all((p * q).is_proper))
    d, log_scale = p.product(q)
    x = p.sample(5, rng=0)
    left = p.log_prob(x) + q.log_prob(x)
    np.testing.assert_allclose(d.log_prob(x) + log_scale, left, rtol=1e-8, atol=1e-8)


@every_family
@given(data=st.data())
def test_draws_are_possible_and_fits_find_no_better_member(name, data):
    d = data.draw(MEMBERS[name])
    x = d.sample(30, rng=1)
    assert np.all(np.isfinite(d.log_prob(x)))
    assume(len(np.unique(x, axis=0)) > 1)
    fitted = Binomial.fit(x, trials=9) if name == "Binomial" else type(d).fit(x)
    assert fitted.log_prob(x).sum() >= d.log_prob(x).sum() - 1e-9 * abs(d.log_prob(x).sum())


@given(covariances(), vectors, st.floats(-3, 3))
def test_joint_density_is_marginal_times_conditional(cov, mean, z):
    joint = MvNormal(mean, cov=cov)
    x = np.array(mean) + np.sqrt(np.diag(cov)) * [z, -0.5 * z]
    marginal, conditional = joint.marginal([1]), joint.condition([1], [x[1]])
    split = marginal.log_prob(x[1:]) + conditional.log_prob(x[:1])
    assert joint.log_prob(x) == pytest.approx(split, rel=1e-10, abs=1e-10)


@given(covariances(), vectors, vectors)
def test_covariance_and_precision_form_agree(cov, mean, x):
    a, b = MvNormal(mean, cov=cov), MvNormal(mean, precision=np.linalg.inv(cov))
    assert a.log_prob(x) == pytest.approx(b.log_prob(x), rel=1e-9, abs=1e-9)
    assert a.entropy() == pytest.approx(b.entropy(), rel=1e-10, abs=1e-10)
    c, d = a.condition([0], [x[0]]), b.condition([0], [x[0]])
    np.testing.assert_allclose(c.mean, d.mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(c.cov, d.cov, rtol=1e-9)


@given(st.floats(-5, 5), sizes, st.floats(0.001, 0.999))
def test_quantiles_move_with_location_and_scale(m, v, q):
    standard = Normal(0.0, variance=1.0).quantile(q)
    assert Normal(m, variance=v).quantile(q) == pytest.approx(m + np.sqrt(v) * standard, abs=1e-10)


@given(sizes, sizes, shares)
def test_beta_is_a_dirichlet_of_two(a, b, x):
    p, q = Beta(a, b), Dirichlet([a, b])
    assert p.log_prob(x) == pytest.approx(q.log_prob([x, 1 - x]), rel=1e-9, abs=1e-9)
    assert p.entropy() == pytest.approx(q.entropy(), rel=1e-12, abs=1e-12)
    assert p.mean == pytest.approx(q.mean[0], rel=1e-12)
    assert p.variance == pytest.approx(q.variance[0], rel=1e-12)
